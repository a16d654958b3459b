"""What is known of a case's lesions, on the canonical grid of its volume."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

PlaneBox = tuple[tuple[float, float], tuple[float, float]]
"""A half-open box within a slice, voxels of the canonical grid: [low, high) along the two in-plane
canonical axes in ascending order. Voxel i covers [i, i + 1)."""


@dataclass(frozen=True, eq=False)
class LesionMask:
    """Lesion known voxel by voxel.

    Attributes
    ----------
    mask
        Boolean, shape of the canonical volume (RAS+ axis order).
    """

    mask: NDArray[np.bool_]


@dataclass(frozen=True)
class LesionSlices:
    """Lesion known slice by slice.

    Attributes
    ----------
    axis
        Canonical axis across which the slices are counted.
    indices
        Canonical indices along that axis of all slices that show the lesion.
    boxes
        Boxes of those slices that have any; a slice without an entry has none known.
    """

    axis: int
    indices: frozenset[int]
    boxes: Mapping[int, tuple[PlaneBox, ...]] = field(default_factory=dict)


LesionMap = LesionMask | LesionSlices
