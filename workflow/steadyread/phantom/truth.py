"""What is true of the phantom, as acquired: nothing here reads a file or knows a file format."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..config.phantom import PhantomConfig
from .design import PhantomCase, plan


@dataclass(frozen=True)
class CaseTruth:
    """What is true of one case.

    Attributes
    ----------
    case_id, patient_id, label
        As the cohort's table says.
    slices
        Number of slices.
    lesion_slices
        Indices, feet to head, of the slices that show core or enhancing rim.
    boxes
        For each of those, one box per lesion: [x0, y0, x1, y1) in millimetres from the displayed
        slice's top left corner (radiological: the patient's right is on the left, the front on top).
    extent_mm
        Width and height of the displayed slice, millimetres.
    area_mm2
        For each lesion slice, the area of core and enhancing rim.
    marker_mm
        The capsule on the right temple: (x, y) in the display as above, for each slice well through it.
    centre_mm
        The middle of the head, (x, y) in the display as above, the same in every slice.
    """

    case_id: str
    patient_id: str
    label: str
    slices: int
    lesion_slices: tuple[int, ...]
    boxes: dict[int, tuple[tuple[float, float, float, float], ...]]
    extent_mm: tuple[float, float]
    area_mm2: dict[int, float]
    marker_mm: dict[int, tuple[float, float]]
    centre_mm: tuple[float, float]

    def boxes_px(self, k: int, size: int) -> list[tuple[float, float, float, float]]:
        """Boxes of slice k in a stored square image: scaled to fit, square millimetres, centred."""
        return [
            (*self.to_px((box[0], box[1]), size), *self.to_px((box[2], box[3]), size)) for box in self.boxes.get(k, ())
        ]

    def to_px(self, point_mm: tuple[float, float], size: int) -> tuple[float, float]:
        """A point of the displayed slice in pixels of the stored square image."""
        scale = size / max(self.extent_mm)
        x, y = ((value - extent / 2) * scale + size / 2 for value, extent in zip(point_mm, self.extent_mm, strict=True))
        return x, y


def phantom_truth(seed: int, options: PhantomConfig) -> dict[str, CaseTruth]:
    """The truth of every case of the phantom cohort of a seed, by case_id."""
    return {case.case_id: case_truth(case) for case in plan(seed, options)}


def case_truth(case: PhantomCase) -> CaseTruth:
    """The truth of one case."""
    columns, rows, slices = case.grid.shape
    across, along, _ = case.grid.spacing
    acquired = case.acquisition()
    boxes: dict[int, tuple[tuple[float, float, float, float], ...]] = {}
    areas: dict[int, float] = {}
    marker: dict[int, tuple[float, float]] = {}
    for k in range(slices):
        each = [lesion[:, :, k] for lesion in acquired.lesions if lesion[:, :, k].any()]
        if each:
            found = [_box(mask) for mask in each]
            boxes[k] = tuple(sorted((x0 * across, y0 * along, x1 * across, y1 * along) for x0, y0, x1, y1 in found))
            areas[k] = float(np.any(each, axis=0).sum()) * across * along
        capsule = acquired.capsule[:, :, k]
        if capsule.any():
            i, j = (float(index.mean()) for index in np.nonzero(capsule))
            marker[k] = ((columns - 0.5 - i) * across, (rows - 0.5 - j) * along)
    # Both displayed axes run against the grid's: a head that lies to the right of the stack's middle
    # lies further to the left in the display.
    shift = case.grid.axes.T @ (acquired.middle - np.asarray(case.grid.centre))
    return CaseTruth(
        case_id=case.case_id,
        patient_id=case.patient_id,
        label=case.label,
        slices=slices,
        lesion_slices=tuple(boxes),
        boxes=boxes,
        extent_mm=(columns * across, rows * along),
        area_mm2=areas,
        marker_mm=marker,
        centre_mm=(columns * across / 2 - float(shift[0]), rows * along / 2 - float(shift[1])),
    )


def _box(mask: NDArray[np.bool_]) -> tuple[int, int, int, int]:
    """Bounding box in displayed pixels of a slice stored (right, front): both axes run against the display."""
    columns, rows = mask.shape
    i, j = np.nonzero(mask)
    return (columns - 1 - int(i.max()), rows - 1 - int(j.max()), columns - int(i.min()), rows - int(j.min()))
