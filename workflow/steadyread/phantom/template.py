"""The average head that every phantom patient is a deformation of: tissue fractions in MNI space.

Grey and white matter are the ICBM152 2009a maps (Fonov et al. 2011, NeuroImage 54:313) that nilearn
carries in its wheel; the rest is drawn around them. All maps are blurred to the profile of a 5 mm
slice, so that a patient's slices are points of the maps and need no resampling of whole volumes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import as_file, files

import nibabel
import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from .fields import Field32
from .head import SPACING, Space, draw_head

ORIGIN = (-98.0, -134.0, -72.0)
"""MNI millimetres of the maps' first voxel."""
PROFILE = 5
"""Slice profile, millimetres."""
OUTSIDE = 200.0
"""Distance to the brain where the maps end, millimetres."""
NAMES = ("gm", "wm", "csf", "fat", "muscle", "marrow", "fluid", "vessel", "veins", "head", "outside")
"""The maps: fractions of tissues, `head` (within the skin), and `outside`, the signed distance to the
brain's hull in millimetres, positive outside."""
FULL = np.float32(255)


@dataclass(frozen=True)
class TissueMap:
    """One map: voxels in RAS order, millimetres between them, and what one unit of a voxel means."""

    voxels: NDArray[np.generic]
    spacing: float
    unit: float
    beyond: float

    def at(self, points: Field32) -> Field32:
        """Linear interpolation at points, MNI millimetres, shape (3, …)."""
        index = points - np.asarray(ORIGIN, dtype=np.float32).reshape(3, *[1] * (points.ndim - 1))
        if self.spacing != 1.0:
            index /= np.float32(self.spacing)
        values: Field32 = ndimage.map_coordinates(
            self.voxels, index, order=1, mode="constant", cval=self.beyond, output=np.float32
        )
        if self.unit != 1.0:
            values *= np.float32(self.unit)
        return values


@lru_cache(maxsize=1)
def template() -> dict[str, TissueMap]:
    """The maps by name, built once per process (some 2 s, some 100 MB)."""
    grey, white = _matter("gm"), _matter("wm")
    brain = (grey + white)[::2, ::2, ::2] / FULL
    space = Space.around(np.ascontiguousarray(brain), ORIGIN)
    drawn = draw_head(space)
    # The subarachnoid space is what the hull holds besides brain: found at the maps' own resolution.
    fluid = ndimage.zoom(
        drawn.pop("csf"), [n / m for n, m in zip(grey.shape, brain.shape, strict=True)],
        order=1, grid_mode=True, mode="nearest",
    )  # fmt: skip
    csf = np.clip(fluid * FULL - grey - white, 0, FULL)
    maps = {
        # 8 bits suffice: the maps are stored so, and noise is ten times as large.
        name: TissueMap(np.rint(_profiled(matter)).astype(np.uint8), 1.0, 1 / 255, 0.0)
        for name, matter in (("gm", grey), ("wm", white), ("csf", csf))
    }
    for name, fraction in drawn.items():
        blurred = ndimage.uniform_filter1d(fraction, 3, axis=2)
        maps[name] = TissueMap(np.ascontiguousarray(blurred), SPACING, 1.0, 0.0)
    maps["outside"] = TissueMap(space.outside, SPACING, 1.0, OUTSIDE)
    assert set(maps) == set(NAMES)
    return maps


def sample(name: str, points: Field32) -> Field32:
    """A map's values at points, MNI millimetres, shape (3, …)."""
    return template()[name].at(points)


def _matter(name: str) -> Field32:
    """An ICBM152 map, 0 to 255, 1 mm, RAS, read without importing nilearn's own modules."""
    # nilearn itself imports nothing; nilearn.datasets would import scikit-learn and pandas.
    source = files("nilearn") / "datasets" / "data" / f"mni_icbm152_{name}_tal_nlin_sym_09a_converted.nii.gz"
    with as_file(source) as path:
        image = nibabel.load(path)
        assert tuple(image.affine[:3, 3]) == ORIGIN, "nilearn's ICBM152 maps have moved: pin nilearn as pyproject does"
        return np.asarray(image.dataobj).astype(np.float32)


def _profiled(fraction: Field32) -> Field32:
    """A map as a slice of 5 mm shows it: averaged through the slice, a little blurred within."""
    for axis in (0, 1):
        fraction = ndimage.gaussian_filter1d(fraction, 0.6, axis=axis)
    profiled: Field32 = ndimage.uniform_filter1d(fraction, PROFILE, axis=2)
    return profiled
