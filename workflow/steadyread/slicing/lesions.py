"""Stage `mark_lesions`: which slices show the lesion, where, and where the patient is.

Every slice of a usable case has its row, sampled or not: subsampling comes later and never decides
whether a slice shows the lesion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy import ndimage
from skimage.filters import threshold_otsu

from ..annotations.lesion_map import LesionMap, LesionMask, LesionSlices, PlaneBox
from ..annotations.load import load_annotation
from ..annotations.options import digest_inline
from ..config.base import Section
from ..config.lesions import LesionsConfig
from ..config.slicing import SlicingConfig
from ..config.words import OnBadCase
from ..contracts.enums import AnnotationKind, Reason
from ..contracts.files import read_rows, read_table, write_table
from ..contracts.problems import CaseProblem
from ..contracts.tables import CASES, EXCLUSIONS, IMAGES, LESION_SLICES, SLICES, SOURCES
from ..stages.job import ExclusionLog, Files
from ..stages.progress import progress
from ..volumes.loaded import LoadedVolume
from ..volumes.read import digest_source, read_volume
from .display import EIGHT_NEIGHBOURS, Fit, canonical_index, display_spacing, displayed, slice_axis

Row = Mapping[str, Any]


class MarkLesionsSettings(Section):
    """What marking lesions depends on."""

    shards: int = 1
    """Number of shards; the slices handed over are those of one."""
    on_bad_case: OnBadCase = OnBadCase.EXCLUDE
    """What happens to a case whose annotation cannot be used."""
    slicing: SlicingConfig = SlicingConfig()
    """Plane and size of the stored slices."""
    lesions: LesionsConfig = LesionsConfig()
    """When a slice counts as showing the lesion."""


def mark_lesions(inputs: Files, outputs: Files, settings: MarkLesionsSettings, wildcards: Mapping[str, str]) -> None:
    """Mark the lesion slices of the cases whose slices are handed over.

    A case whose annotation cannot be used is left out of the arms that need it, with its reason.
    """
    cases = {row["case_id"]: row for row in read_rows(inputs.one("cases"), CASES)}
    sources = {(row["case_id"], row["role"]): row for row in read_rows(inputs.one("sources"), SOURCES)}
    slices: dict[str, list[Row]] = {}
    for row in read_rows(inputs.one("slices"), SLICES):
        slices.setdefault(row["case_id"], []).append(row)
    foregrounds = _foreground_boxes(inputs.one("images"))
    log = ExclusionLog("mark_lesions", settings.on_bad_case)
    rows: list[dict[str, Any]] = []
    for case_id in progress(sorted(slices), "cases with lesions marked", total=len(slices)):
        try:
            marked = _case_marks(cases[case_id], sources, len(slices[case_id]), settings)
        except CaseProblem as problem:
            # The slices are what they were; only what needs the lesion suffers.
            log.add_to_lesion_arms(case_id, problem)
            marked = _unknown(len(slices[case_id]))
        for cut, mark in zip(slices[case_id], marked, strict=True):
            # A null image_id (a slice that was not sampled) has no foreground.
            box = foregrounds.get(cut["image_id"])
            rows.append({"case_id": case_id, "index": cut["index"], **mark, "foreground_box": box})
    write_table(outputs.one("lesion_slices"), LESION_SLICES, rows)
    write_table(outputs.one("exclusions"), EXCLUSIONS, log.rows)


def slice_marks(
    lesions: LesionMap, loaded: LoadedVolume, slicing: SlicingConfig, min_area_mm2: float
) -> list[dict[str, Any]]:
    """What each slice shows of a lesion, in the order of the slice index k.

    Parameters
    ----------
    lesions
        The lesion on the canonical grid of the volume.
    loaded
        The volume.
    slicing
        Plane and size of the stored slices.
    min_area_mm2
        A slice shows the lesion where more than this area is annotated.

    Returns
    -------
    list of dict
        is_lesion, lesion_area_mm2 and lesion_boxes (stored pixels, one per connected component of
        the slice, 8 neighbours, by rows of their upper left corner) of each slice. From slice tables
        the area is null, and boxes are null where the table gives none for a lesion slice.

    Raises
    ------
    CaseProblem
        ANNOTATION_AMBIGUOUS where slices are listed across another axis than they are cut.
    """
    axis, plane = slice_axis(loaded, slicing.plane)
    volume = loaded.volume
    count = volume.shape[axis]
    spacing = display_spacing(volume, axis)
    column_axis, row_axis = (other for other in range(3) if other != axis)
    fit = Fit((volume.shape[row_axis], volume.shape[column_axis]), spacing, slicing.size)
    if isinstance(lesions, LesionMask):
        area = spacing[0] * spacing[1]
        return [_mask_mark(displayed(lesions.mask, axis, k), area, fit, min_area_mm2) for k in range(count)]
    if lesions.axis != axis and lesions.indices:
        raise CaseProblem(
            Reason.ANNOTATION_AMBIGUOUS,
            f"the lesion slices are numbered across another axis than the slices are cut ({plane.value}); "
            "set slicing.plane to the plane that was annotated",
        )
    return [_listed_mark(canonical_index(axis, k, count), lesions, fit) for k in range(count)]


def foreground_box(pixels: NDArray[np.uint8]) -> list[float] | None:
    """The box of what stands out from the background of a stored slice (Otsu's threshold) [O].

    Parameters
    ----------
    pixels
        Shape (height, width).

    Returns
    -------
    list or None
        [x0, y0, x1, y1) in pixels; None where the slice holds one value only.
    """
    if pixels.min() == pixels.max():
        return None
    above = pixels > min(float(threshold_otsu(pixels)), float(pixels.max()) - 0.5)
    (rows, columns) = ndimage.find_objects(above.astype(np.uint8))[0]
    return [float(columns.start), float(rows.start), float(columns.stop), float(rows.stop)]


def _case_marks(
    case: Row, sources: Mapping[tuple[str, str], Row], count: int, settings: MarkLesionsSettings
) -> list[dict[str, Any]]:
    kind = AnnotationKind(case["annotation_kind"])
    if kind is AnnotationKind.NONE:
        return _unknown(count)
    case_id = case["case_id"]
    annotation = sources[case_id, "annotation"]
    if "index" not in annotation["options"]:
        _check_unchanged(annotation, digest_source(annotation["path"]), "annotation")
    else:
        _check_unchanged(annotation, digest_inline(annotation["options"]), "annotation")
    source = sources[case_id, "volume"]
    _check_unchanged(source, digest_source(source["path"]), "volume")
    loaded = read_volume(source["path"])
    lesions = load_annotation(kind, Path(annotation["path"]), annotation["options"], loaded, settings.lesions, case_id)
    marks = slice_marks(lesions, loaded, settings.slicing, settings.lesions.min_area_mm2)
    if len(marks) != count:
        raise CaseProblem(Reason.CHANGED_SINCE_REGISTERED, f"the volume has {len(marks)} slices where {count} were cut")
    return marks


def _unknown(count: int) -> list[dict[str, Any]]:
    return [{"is_lesion": None, "lesion_area_mm2": None, "lesion_boxes": None} for _ in range(count)]


def _check_unchanged(source: Row, digest: str, what: str) -> None:
    if digest != source["digest"]:
        raise CaseProblem(
            Reason.CHANGED_SINCE_REGISTERED, f"the {what} is not the one that was registered; register the cohort again"
        )


def _mask_mark(shown: NDArray[np.bool_], pixel_area: float, fit: Fit, min_area_mm2: float) -> dict[str, Any]:
    area = float(np.count_nonzero(shown)) * pixel_area
    is_lesion = area > min_area_mm2
    boxes: list[list[float]] = []
    if is_lesion:
        labels, _ = ndimage.label(shown, structure=EIGHT_NEIGHBOURS)
        for rows, columns in ndimage.find_objects(labels):
            boxes.append(fit.map_box((columns.start, rows.start, columns.stop, rows.stop)))
    return {"is_lesion": is_lesion, "lesion_area_mm2": area, "lesion_boxes": boxes}


def _listed_mark(index: int, lesions: LesionSlices, fit: Fit) -> dict[str, Any]:
    if index not in lesions.indices:
        return {"is_lesion": False, "lesion_area_mm2": None, "lesion_boxes": []}
    boxes = [fit.map_box(_displayed_box(box, fit.shape)) for box in lesions.boxes.get(index, ())]
    return {"is_lesion": True, "lesion_area_mm2": None, "lesion_boxes": boxes or None}


def _displayed_box(box: PlaneBox, shape: tuple[int, int]) -> Sequence[float]:
    """[x0, y0, x1, y1) in displayed native pixels: both displayed axes run against the canonical ones."""
    (column_low, column_high), (row_low, row_high) = box
    rows, columns = shape
    return columns - column_high, rows - row_high, columns - column_low, rows - row_low


def _foreground_boxes(images: Path) -> dict[str | None, list[float] | None]:
    found: dict[str | None, list[float] | None] = {}
    table = read_table(images, IMAGES, ["image_id", "png"])
    for image_id, png in zip(table["image_id"].to_pylist(), table["png"].to_pylist(), strict=True):
        with Image.open(BytesIO(png)) as picture:
            found[image_id] = foreground_box(np.asarray(picture.convert("L")))
    return found
