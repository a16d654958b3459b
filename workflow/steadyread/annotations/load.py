"""Reading an annotation of any kind onto its volume."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ..config.lesions import LesionsConfig
from ..contracts.enums import AnnotationKind, Reason
from ..contracts.problems import CaseProblem
from ..volumes.loaded import LoadedVolume
from .lesion_map import LesionMap, LesionMask
from .masks import load_mask
from .options import AnnotationOptions
from .slice_tables import listed_slices, load_slice_table


def load_annotation(
    kind: AnnotationKind,
    path: Path | str,
    options: Mapping[str, str],
    reference: LoadedVolume,
    lesions: LesionsConfig,
    case_id: str | None = None,
) -> LesionMap:
    """What an annotation says of a volume.

    Parameters
    ----------
    kind
        Mask, SEG or slice table.
    path
        The annotation's file; not read where the slices stand in the options (`index`).
    options
        The options of the case's row in sources, as texts.
    reference
        The volume.
    lesions
        Tolerances, and whether to resample.
    case_id
        The case, for a slice table that serves several.

    Raises
    ------
    CaseProblem
        ANNOTATION_UNREADABLE, ANNOTATION_LABELS, ANNOTATION_OTHER_SPACE or ANNOTATION_AMBIGUOUS.
    """
    path = Path(path)
    try:
        parsed = AnnotationOptions.parse(options)
    except ValueError as error:
        raise CaseProblem(Reason.ANNOTATION_AMBIGUOUS, str(error)) from error
    if kind is AnnotationKind.MASK:
        return LesionMask(load_mask(path, parsed.lesion_labels, reference.volume, lesions))
    if kind is AnnotationKind.SEG:
        from .dicom_seg import load_seg

        return LesionMask(load_seg(path, parsed.segments, reference, lesions))
    if kind is AnnotationKind.SLICE_TABLE:
        if parsed.index is not None:
            return listed_slices(parsed, reference)
        return load_slice_table(path, parsed, reference, case_id)
    raise CaseProblem(Reason.ANNOTATION_UNREADABLE, "the case has no annotation to load")
