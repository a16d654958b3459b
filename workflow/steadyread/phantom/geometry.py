"""Where a phantom's voxels lie: an acquisition grid, oblique or not, in RAS millimetres."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

FloatArray = NDArray[np.float64]
Box = tuple[slice, slice, slice]


@dataclass(frozen=True, eq=False)
class Lattice:
    """Points at origin + steps @ index.

    Attributes
    ----------
    origin
        RAS millimetres of index (0, 0, 0), shape (3,).
    steps
        Millimetres (RAS) from one index to the next, one column per axis, shape (3, 3).
    shape
        Number of points along each axis.
    """

    origin: FloatArray
    steps: FloatArray
    shape: tuple[int, int, int]

    def points(self) -> NDArray[np.float32]:
        """RAS millimetres of all points, shape (3, *shape)."""
        first, second, third = (
            self.steps[:, axis, None] * np.arange(self.shape[axis])[None, :]
            + (self.origin[:, None] if axis == 0 else 0)
            for axis in range(3)
        )
        points = first[:, :, None, None] + second[:, None, :, None] + third[:, None, None, :]
        return points.astype(np.float32)

    @property
    def normal(self) -> FloatArray:
        """Unit vector (RAS) through the slices, shape (3,)."""
        return np.asarray(self.steps[:, 2] / np.linalg.norm(self.steps[:, 2]), dtype=np.float64)

    def index_of(self, point: FloatArray) -> FloatArray:
        """The fractional index of a point, RAS millimetres, shape (3,)."""
        return np.asarray(np.linalg.solve(self.steps, point - self.origin), dtype=np.float64)

    def around(self, point: FloatArray, reach: float) -> Box:
        """The part of the lattice within a distance (mm) of a point along each axis; may be empty."""
        middle = self.index_of(point)
        half = reach / np.linalg.norm(self.steps, axis=0)
        starts = [int(np.clip(np.ceil(value), 0, n)) for value, n in zip(middle - half, self.shape, strict=True)]
        stops = [int(np.clip(np.floor(value) + 1, 0, n)) for value, n in zip(middle + half, self.shape, strict=True)]
        first, second, third = (slice(start, max(start, stop)) for start, stop in zip(starts, stops, strict=True))
        return first, second, third

    def part(self, box: Box) -> Lattice:
        """The lattice of a box of this one."""
        starts = np.array([side.start for side in box], dtype=float)
        first, second, third = (side.stop - side.start for side in box)
        return Lattice(self.origin + self.steps @ starts, self.steps, (first, second, third))

    def moved(self, offset: FloatArray) -> Lattice:
        """The lattice moved by millimetres (RAS)."""
        return Lattice(self.origin + offset, self.steps, self.shape)

    def mirrored(self) -> Lattice:
        """The mirror image in the plane x = 0, the first axis reversed so that it runs right again."""
        mirror = np.array([-1.0, 1.0, 1.0])
        steps = self.steps * mirror[:, None]
        origin = self.origin * mirror + steps[:, 0] * (self.shape[0] - 1)
        return Lattice(origin, steps * np.array([-1.0, 1.0, 1.0]), self.shape)


@dataclass(frozen=True)
class Grid:
    """Axial slices of a head, as a scanner would cut them.

    Axis 0 runs to the patient's right, axis 1 to the front, axis 2 to the head (RAS+), each within
    the tilt of the stack.

    Attributes
    ----------
    shape
        Voxels along right, front, head.
    spacing
        Millimetres between voxel centres along the same axes.
    centre
        RAS millimetres of the stack's centre.
    tilt
        Degrees the stack is turned about the R, A and S axes, in that order.
    """

    shape: tuple[int, int, int]
    spacing: tuple[float, float, float]
    centre: tuple[float, float, float]
    tilt: tuple[float, float, float] = (0.0, 0.0, 0.0)

    @property
    def axes(self) -> FloatArray:
        """Unit vectors (RAS) of the three axes, one per column, shape (3, 3)."""
        matrix: FloatArray = Rotation.from_euler("xyz", self.tilt, degrees=True).as_matrix()
        return matrix

    @property
    def affine(self) -> FloatArray:
        """Voxel indices to RAS millimetres, shape (4, 4)."""
        matrix = np.eye(4)
        matrix[:3, :3] = self.axes * np.asarray(self.spacing)
        middle = (np.asarray(self.shape) - 1) / 2
        matrix[:3, 3] = np.asarray(self.centre) - matrix[:3, :3] @ middle
        return matrix

    @property
    def lattice(self) -> Lattice:
        """The voxel centres."""
        affine = self.affine
        return Lattice(affine[:3, 3], affine[:3, :3], self.shape)

    def slice_points(self, k: int) -> FloatArray:
        """RAS millimetres of the voxel centres of slice k, shape (right, front, 3)."""
        steps = [(np.arange(n) - (n - 1) / 2) * d for n, d in zip(self.shape, self.spacing, strict=True)]
        right, front = np.meshgrid(steps[0], steps[1], indexing="ij")
        local = np.stack([right, front, np.full_like(right, steps[2][k])], axis=-1)
        points: FloatArray = local @ self.axes.T + np.asarray(self.centre)
        return points
