"""The kind of an annotation, where the table leaves it out."""

from __future__ import annotations

from pathlib import Path

from ..contracts.enums import AnnotationKind

_MASK_ENDINGS = (".nii", ".nii.gz")
_TABLE_ENDINGS = (".tsv", ".csv")


def infer_kind(path: Path) -> AnnotationKind | None:
    """NIfTI is a mask, TSV and CSV are slice tables, DICOM of modality SEG is a segmentation.

    Returns
    -------
    AnnotationKind or None
        None where the file may be several things or nothing known.
    """
    name = path.name.casefold()
    if name.endswith(_MASK_ENDINGS):
        return AnnotationKind.MASK
    if name.endswith(_TABLE_ENDINGS):
        return AnnotationKind.SLICE_TABLE
    return AnnotationKind.SEG if _modality(path) == "SEG" else None


def _modality(path: Path) -> str | None:
    from pydicom import dcmread
    from pydicom.errors import InvalidDicomError

    files = sorted(item for item in path.rglob("*") if item.is_file()) if path.is_dir() else [path]
    if len(files) != 1:
        return None
    try:
        return str(dcmread(files[0], stop_before_pixels=True, specific_tags=["Modality"]).get("Modality", ""))
    except (InvalidDicomError, OSError, EOFError, ValueError, KeyError, AttributeError, NotImplementedError):
        return None
