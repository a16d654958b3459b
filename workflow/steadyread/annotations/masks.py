"""Lesion masks as NIfTI files (or anything a volume can be read from)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..config.lesions import LesionsConfig
from ..contracts.enums import Reason
from ..contracts.problems import CaseProblem
from ..volumes.read import read_volume
from ..volumes.volume import Volume
from .grids import place_mask

_MOST_LABELS = 255
_SHOWN = 6


def load_mask(
    path: Path, lesion_labels: frozenset[int] | None, volume: Volume, lesions: LesionsConfig
) -> NDArray[np.bool_]:
    """Read a mask onto the grid of its canonical volume (RAS+).

    Parameters
    ----------
    path
        The mask's file.
    lesion_labels
        Labels that are lesion; None: every label above 0.
    volume
        The canonical volume.
    lesions
        Tolerances, and whether to resample.

    Returns
    -------
    ndarray
        Boolean, shape of the volume. All False where the mask holds nothing but 0: a case without
        a lesion.

    Raises
    ------
    CaseProblem
        ANNOTATION_UNREADABLE, ANNOTATION_LABELS (see `lesion_voxels`), ANNOTATION_OTHER_SPACE
        (see `grids.place_mask`).
    """
    try:
        read = read_volume(path, constant_ok=True).volume
    except CaseProblem as problem:
        raise CaseProblem(
            Reason.ANNOTATION_UNREADABLE, f"the mask cannot be read ({problem.reason.value}): {problem.detail}"
        ) from problem
    found = lesion_voxels(read.array, lesion_labels, lesions.label_tolerance)
    return place_mask(found, read.affine, volume, lesions.grid_tolerance_mm, lesions.resample)


def lesion_voxels(values: NDArray[Any], lesion_labels: frozenset[int] | None, tolerance: float) -> NDArray[np.bool_]:
    """The voxels whose label is lesion, once values are whole numbers up to the tolerance.

    Parameters
    ----------
    values
        Mask values of any shape and type. 0.99999997 is 1, 255 is a label like any other.
    lesion_labels
        Labels that are lesion; None: every label above 0.
    tolerance
        Largest distance from a whole number.

    Raises
    ------
    CaseProblem
        ANNOTATION_LABELS, saying what was found: values that are no labels (0.5, 1/255, NaN), more
        labels than a mask has, or other labels than the ones asked for. A mask that holds only 0 is
        no error; one that holds only labels not asked for is, since a wrong label looks the same.
    """
    labels = np.rint(values)
    if np.issubdtype(values.dtype, np.inexact):
        _check_whole(values, labels, tolerance)
    present = np.unique(labels)
    if lesion_labels is None:
        if present.size > _MOST_LABELS + 1:
            raise CaseProblem(
                Reason.ANNOTATION_LABELS,
                f"the mask holds {present.size} different values, expected at most {_MOST_LABELS} labels: it seems to "
                "be an image. Name the labels that are lesion in the column lesion_labels if it is a mask",
            )
        if present.size and present[0] < 0 and present[-1] <= 0:
            raise CaseProblem(
                Reason.ANNOTATION_LABELS,
                f"the mask holds the labels {_listed(present)}; none above 0, and whether those below are lesion is "
                "not said. Name the labels that are lesion in the column lesion_labels",
            )
        return np.asarray(labels > 0)
    if (present != 0).any() and not np.isin(present, list(lesion_labels)).any():
        raise CaseProblem(
            Reason.ANNOTATION_LABELS,
            f"the mask holds the labels {_listed(present)}, none of the lesion labels {sorted(lesion_labels)}",
        )
    return np.isin(labels, list(lesion_labels))


def _check_whole(values: NDArray[Any], labels: NDArray[Any], tolerance: float) -> None:
    # NaN and infinity fail the comparison too.
    with np.errstate(invalid="ignore"):
        whole = np.abs(values - labels) <= tolerance
    if not whole.all():
        raise CaseProblem(
            Reason.ANNOTATION_LABELS,
            f"the mask holds values that are no labels: {_listed(np.unique(values[~whole]))} in "
            f"{int((~whole).sum())} voxels. Expected whole numbers within {tolerance:g}; save the mask with whole "
            "labels, such as 0 and 1",
        )
    if not labels.any() and values.size and values.max() != values.min():
        # 1/255 lies near enough to 0 to be lost in silence: a mask scaled to the range of 8 bits.
        raise CaseProblem(
            Reason.ANNOTATION_LABELS,
            f"the mask holds several values, all within {tolerance:g} of 0: {_listed(np.unique(values))}. "
            "It seems to be scaled; save it with whole labels, such as 0 and 1",
        )


def _listed(values: NDArray[Any]) -> str:
    shown = ", ".join(f"{value:.6g}" for value in values[:_SHOWN])
    return f"{shown} … ({values.size} in all)" if values.size > _SHOWN else shown
