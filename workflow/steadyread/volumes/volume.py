"""A volume: an array and the affine that places it, which always move together.

The frame is RAS+ throughout: millimetres, x to the patient's right, y to the front, z to the head.
highdicom.Volume was weighed: it speaks LPS and refuses affines that are orthogonal only up to
rounding, as many NIfTI files have them; nibabel.orientations does the work here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from nibabel import orientations
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True)
class AxisMapping:
    """How the axes of a canonical volume came from the axes of the array it was made of.

    Attributes
    ----------
    axes
        For each canonical axis, the source axis it was.
    flipped
        For each canonical axis, whether it runs against its source axis.
    shape
        Shape of the canonical array.
    """

    axes: tuple[int, int, int]
    flipped: tuple[bool, bool, bool]
    shape: tuple[int, int, int]

    def source_index(self, axis: int, index: int) -> int:
        """The index, along its source axis, of canonical index `index` on canonical axis `axis`."""
        return self.shape[axis] - 1 - index if self.flipped[axis] else index

    def canonical_axis(self, source_axis: int) -> int:
        """The canonical axis that a source axis became."""
        return self.axes.index(source_axis)


@dataclass(frozen=True, eq=False)
class Volume:
    """A 3-D array with its affine. Neither can be written to through the volume.

    Attributes
    ----------
    array
        Shape (i, j, k).
    affine
        4 × 4, voxel index to millimetres, RAS+.

    Raises
    ------
    ValueError
        If the array is not 3-D or the affine is not a finite, invertible 4 × 4 matrix.
    """

    array: Array
    affine: NDArray[np.float64]

    def __post_init__(self) -> None:
        affine = np.array(self.affine, dtype=np.float64)
        if self.array.ndim != 3 or affine.shape != (4, 4):
            raise ValueError(
                f"expected a 3-D array and a 4 × 4 affine, found {self.array.ndim}-D and shape {affine.shape}"
            )
        if not np.isfinite(affine).all() or abs(np.linalg.det(affine[:3, :3])) < 1e-12:
            raise ValueError("the affine is not finite or not invertible")
        view = self.array.view()
        view.flags.writeable = False
        affine.flags.writeable = False
        object.__setattr__(self, "array", view)
        object.__setattr__(self, "affine", affine)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Shape of the array."""
        i, j, k = self.array.shape
        return i, j, k

    @property
    def spacing(self) -> tuple[float, float, float]:
        """Distance between neighbouring voxels along each array axis, mm."""
        x, y, z = np.sqrt((self.affine[:3, :3] ** 2).sum(axis=0)).tolist()
        return x, y, z

    @property
    def axis_codes(self) -> tuple[str, str, str]:
        """Where each array axis points, nearest anatomical direction: ("R", "A", "S") if canonical."""
        i, j, k = orientations.aff2axcodes(self.affine)
        return i, j, k

    def normal(self, axis: int) -> NDArray[np.float64]:
        """Unit normal (RAS) of the slices across `axis`, pointing the way their index grows."""
        step = self.affine[:3, axis]
        first, second = (self.affine[:3, other] for other in range(3) if other != axis)
        normal = np.cross(first, second)
        normal = normal / np.linalg.norm(normal)
        return normal if normal @ step > 0 else -normal

    def position_mm(self, axis: int, index: int) -> float:
        """Position (RAS mm) of a slice along its own normal; all of its voxels share it.

        The normal is taken towards the patient's right, front or head, whichever is nearest, so the
        number does not depend on the order in which an axis is stored.
        """
        normal = self.normal(axis)
        if normal[np.argmax(np.abs(normal))] < 0:
            normal = -normal
        return float(normal @ (self.affine[:3, 3] + index * self.affine[:3, axis]))

    def canonical(self) -> tuple[Volume, AxisMapping]:
        """The same volume with its axes in the nearest RAS+ order, by flips and a permutation only.

        Returns
        -------
        tuple
            The canonical volume (a view: no voxel is copied or changed) and where its axes came from.
        """
        orientation = orientations.io_orientation(self.affine)
        array = orientations.apply_orientation(self.array, orientation)
        affine = self.affine @ orientations.inv_ornt_aff(orientation, self.shape)
        targets = orientation[:, 0].astype(int).tolist()
        x, y, z = (targets.index(axis) for axis in range(3))
        mapping = AxisMapping(
            (x, y, z),
            (bool(orientation[x, 1] < 0), bool(orientation[y, 1] < 0), bool(orientation[z, 1] < 0)),
            array.shape,
        )
        return Volume(array, affine), mapping
