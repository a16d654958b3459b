"""The geometry of shown slices, shared by images and lesion marking.

Everything here is radiological: axial and coronal slices show the patient's right on the image's
left, axial slices have the front at the top, sagittal slices have the front on the left, the head is
up in sagittal and coronal slices. Slice index k runs feet to head (axial), right to left (sagittal),
back to front (coronal).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy import ndimage

from ..config.slicing import PlaneChoice
from ..contracts.enums import Plane
from ..volumes.loaded import LoadedVolume
from ..volumes.volume import Volume

PLANES = (Plane.SAGITTAL, Plane.CORONAL, Plane.AXIAL)
"""The plane of the slices across canonical axes 0, 1, 2."""

EIGHT_NEIGHBOURS = np.ones((3, 3), dtype=bool)


def slice_axis(loaded: LoadedVolume, choice: PlaneChoice) -> tuple[int, Plane]:
    """The canonical axis across which slices are cut, and the name of their plane."""
    axis = loaded.native_axis if choice is PlaneChoice.NATIVE else PLANES.index(Plane(choice.value))
    return axis, PLANES[axis]


def canonical_index(axis: int, k: int, count: int) -> int:
    """Slice index k as an index along the canonical (RAS+) axis; it is its own inverse.

    Only the sagittal index runs against its axis: right to left, while canonical x grows to the right.
    """
    return count - 1 - k if axis == 0 else k


def displayed(array: NDArray[Any], axis: int, k: int) -> NDArray[Any]:
    """Slice k across a canonical axis of a canonical array, as it is shown: a 2-D view (row, column)."""
    index = canonical_index(axis, k, array.shape[axis])
    # Columns grow to the patient's left (or back), rows to the back (or feet): against both axes.
    cut = tuple(index if other == axis else slice(None, None, -1) for other in range(3))
    return array[cut].T


def display_spacing(volume: Volume, axis: int) -> tuple[float, float]:
    """(row, column) spacing in mm of a displayed slice across a canonical axis."""
    column, row = (volume.spacing[other] for other in range(3) if other != axis)
    return row, column


def slice_position_mm(volume: Volume, axis: int, k: int) -> float:
    """Position (RAS mm) of slice k of a canonical volume along the slice normal."""
    return volume.position_mm(axis, canonical_index(axis, k, volume.shape[axis]))


def slice_source_index(loaded: LoadedVolume, axis: int, k: int) -> int:
    """Index of slice k in the file's own order."""
    return loaded.source_index(axis, canonical_index(axis, k, loaded.volume.shape[axis]))


@dataclass(frozen=True)
class Fit:
    """How a displayed slice is fitted into the square stored image.

    Millimetres become square, the longer side fills the image, the rest is padded evenly (the odd
    pixel goes below or to the right).

    Attributes
    ----------
    shape
        (rows, columns) of the displayed slice.
    spacing
        (row, column) spacing in mm.
    size
        Side of the stored image in pixels.
    """

    shape: tuple[int, int]
    spacing: tuple[float, float]
    size: int

    @cached_property
    def scaled(self) -> tuple[int, int]:
        """(height, width) of the slice within the stored image, pixels."""
        extent = [count * step for count, step in zip(self.shape, self.spacing, strict=True)]
        height, width = (max(1, round(self.size * side / max(extent))) for side in extent)
        return height, width

    @cached_property
    def offset(self) -> tuple[int, int]:
        """(top, left): where the slice begins within the stored image, pixels."""
        height, width = self.scaled
        return (self.size - height) // 2, (self.size - width) // 2

    def apply_image(self, pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Scale an 8-bit slice (Pillow's bilinear filter, antialiased, no overshoot) and pad it with 0."""
        self._expect(pixels, np.dtype(np.uint8))
        height, width = self.scaled
        scaled = Image.fromarray(np.ascontiguousarray(pixels)).resize((width, height), Image.Resampling.BILINEAR)
        return self._padded(np.asarray(scaled))

    def apply_mask(self, mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Scale a mask by nearest neighbour; no connected component (8 neighbours) vanishes.

        A component that nearest neighbour would lose is kept as the stored pixels that its native
        pixels' centres fall into.
        """
        self._expect(mask, np.dtype(np.bool_))
        height, width = self.scaled
        rows, columns = self.shape
        row_of = ((2 * np.arange(height) + 1) * rows) // (2 * height)
        column_of = ((2 * np.arange(width) + 1) * columns) // (2 * width)
        labels, count = ndimage.label(mask, structure=EIGHT_NEIGHBOURS)
        nearest = labels[np.ix_(row_of, column_of)]
        scaled = nearest > 0
        lost = np.setdiff1d(np.arange(1, count + 1), nearest)
        if lost.size:
            row, column = np.nonzero(np.isin(labels, lost))
            scaled[((2 * row + 1) * height) // (2 * rows), ((2 * column + 1) * width) // (2 * columns)] = True
        return self._padded(scaled)

    def map_box(self, box: Sequence[float]) -> list[float]:
        """A box [x0, y0, x1, y1) in displayed native pixels as a box in stored pixels."""
        (height, width), (top, left), (rows, columns) = self.scaled, self.offset, self.shape
        x0, y0, x1, y1 = box
        across, down = width / columns, height / rows
        return [left + x0 * across, top + y0 * down, left + x1 * across, top + y1 * down]

    def _expect(self, array: NDArray[Any], dtype: np.dtype[Any]) -> None:
        if array.shape != self.shape or array.dtype != dtype:
            raise ValueError(f"expected {dtype} of shape {self.shape}, found {array.dtype} of shape {array.shape}")

    def _padded(self, scaled: NDArray[Any]) -> NDArray[Any]:
        (height, width), (top, left) = self.scaled, self.offset
        stored = np.zeros((self.size, self.size), dtype=scaled.dtype)
        stored[top : top + height, left : left + width] = scaled
        return stored
