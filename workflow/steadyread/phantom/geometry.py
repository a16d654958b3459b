"""Where a phantom's voxels lie: an acquisition grid, oblique or not, in RAS millimetres."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

FloatArray = NDArray[np.float64]


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

    def slice_points(self, k: int) -> FloatArray:
        """RAS millimetres of the voxel centres of slice k, shape (right, front, 3)."""
        steps = [(np.arange(n) - (n - 1) / 2) * d for n, d in zip(self.shape, self.spacing, strict=True)]
        right, front = np.meshgrid(steps[0], steps[1], indexing="ij")
        local = np.stack([right, front, np.full_like(right, steps[2][k])], axis=-1)
        points: FloatArray = local @ self.axes.T + np.asarray(self.centre)
        return points
