"""The intensity window of a volume and the explicit conversion to 8 bits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..config.slicing import WindowConfig
from ..contracts.enums import Reason
from ..contracts.problems import CaseProblem


@dataclass(frozen=True)
class Window:
    """What is shown as black (low) and as white (high), in the volume's own values; low < high."""

    low: float
    high: float


def window_of(array: NDArray[Any], config: WindowConfig) -> Window:
    """One window for a whole volume: percentiles of its finite voxels that are not background.

    Background is the most frequent finite value on the volume's six faces, the smallest of several,
    and every voxel that holds exactly it: the zeros around a head, and the constant, often negative,
    around a skull-stripped z-scored brain. In air with noise this drops one value of many and
    changes nothing. Where the percentiles of the rest coincide, the window spans all finite values.

    Parameters
    ----------
    array
        Shape (i, j, k), any real type; may hold NaN and infinities.

    Raises
    ------
    CaseProblem
        CONSTANT if the finite voxels hold fewer than two values.
    """
    background = _background(array)
    keep = array != background
    if array.dtype.kind == "f":
        keep &= np.isfinite(array)
    voxels = array[keep]
    if background is None or voxels.size == 0:
        raise CaseProblem(Reason.CONSTANT, "the finite voxels hold fewer than two values; expected an image")
    # Bounds first: the percentiles may reorder the voxels in place.
    lowest, highest = min(float(voxels.min()), background), max(float(voxels.max()), background)
    percentiles = np.percentile(voxels, [config.low_percentile, config.high_percentile], overwrite_input=True)
    low, high = (float(value) for value in percentiles)
    return Window(low, high) if low < high else Window(lowest, highest)


def to_uint8(pixels: NDArray[Any], window: Window) -> NDArray[np.uint8]:
    """Map low … high to 0 … 255 linearly, cut off outside, rounded to the nearest (ties to even).

    NaN becomes 0, −∞ 0 and +∞ 255. Computed in float64, never cast before it is cut off.
    """
    scaled = (pixels.astype(np.float64) - window.low) * (255.0 / (window.high - window.low))
    np.clip(scaled, 0.0, 255.0, out=scaled)
    np.nan_to_num(scaled, copy=False, nan=0.0)
    return np.rint(scaled, out=scaled).astype(np.uint8)


def _background(array: NDArray[Any]) -> float | None:
    # Indexed as views: take() would first copy an array that is not contiguous, as canonical ones are.
    turned = [np.moveaxis(array, axis, 0) for axis in range(3)]
    faces = np.concatenate([view[end].ravel() for view in turned for end in (0, -1)])
    if faces.dtype.kind == "f":
        faces = faces[np.isfinite(faces)]
        if faces.size == 0:
            finite = array[np.isfinite(array)]
            return float(finite.min()) if finite.size else None
    values, counts = np.unique(faces, return_counts=True)
    return float(values[np.argmax(counts)])
