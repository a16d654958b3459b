"""Masks on another grid than their volume's: the same lattice, the same space, or neither.

Works in voxel indices throughout, so that flipped, permuted, oblique and slightly sheared storage
need no case of their own. All affines are voxel index to RAS millimetres.
"""

from __future__ import annotations

import logging
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..contracts.enums import Reason
from ..contracts.problems import CaseProblem
from ..volumes.volume import Volume

Affine = NDArray[np.floating[Any]]
_LOG = logging.getLogger("steadyread.annotations")
_SAMPLES = 16
_LEAST_OVERLAP = 0.5


def place_mask(
    mask: NDArray[np.bool_], affine: Affine, volume: Volume, tolerance_mm: float, resample: bool
) -> NDArray[np.bool_]:
    """Bring a mask onto a volume's grid.

    A mask on the volume's lattice (any axis order, any part of it, corners within the tolerance) is
    copied voxel by voxel. Another grid of the same space is resampled by nearest neighbour.

    Parameters
    ----------
    mask, affine
        Boolean array of any shape (i, j, k) with its affine.
    volume
        The volume.
    tolerance_mm
        Largest distance between corner voxels that counts as none.
    resample
        Whether another grid may be resampled.

    Returns
    -------
    ndarray
        Boolean, shape of the volume.

    Raises
    ------
    CaseProblem
        ANNOTATION_OTHER_SPACE, with the sizes: the extents do not match, no lesion voxel falls into
        the volume, or another grid while resampling is off.
    """
    overlap = _overlap(mask.shape, affine, volume)
    if overlap < _LEAST_OVERLAP:
        raise CaseProblem(
            Reason.ANNOTATION_OTHER_SPACE,
            f"the mask ({_size(mask.shape, affine)}) and the volume ({_size(volume.shape, volume.affine)}) share "
            f"{overlap:.0%} of the smaller one's extent, expected at least {_LEAST_OVERLAP:.0%}: the mask belongs to "
            "another image or lost its position",
        )
    placement = _on_lattice(mask.shape, affine, volume, tolerance_mm)
    if placement is not None:
        placed = _copied(mask, placement, volume.shape)
    elif _lost_its_position(mask.shape, affine, volume):
        raise CaseProblem(
            Reason.ANNOTATION_OTHER_SPACE,
            f"the mask has the volume's matrix ({_size(mask.shape, affine)}) but an identity affine, as a file that "
            "lost its position has: save it with the affine of its image",
        )
    elif resample:
        _LOG.info("a mask on another grid is resampled: %s to %s", mask.shape, volume.shape)
        placed = _resampled(mask, affine, volume)
    else:
        raise CaseProblem(
            Reason.ANNOTATION_OTHER_SPACE,
            f"the mask ({_size(mask.shape, affine)}) is not on the grid of the volume "
            f"({_size(volume.shape, volume.affine)}); set lesions.resample: true to resample it",
        )
    if mask.any() and not placed.any():
        raise CaseProblem(
            Reason.ANNOTATION_OTHER_SPACE,
            f"none of the {int(mask.sum())} lesion voxels of the mask ({_size(mask.shape, affine)}) falls into the "
            f"volume ({_size(volume.shape, volume.affine)})",
        )
    return placed


def is_on_grid(shape: tuple[int, ...], affine: Affine, volume: Volume, tolerance_mm: float) -> bool:
    """Whether a mask's voxels are the volume's, in any axis order, and none lies outside it."""
    placement = _on_lattice(shape, affine, volume, tolerance_mm)
    if placement is None:
        return False
    ends = np.array([[0, 0, 0, 1], [*(count - 1 for count in shape), 1]]) @ placement.T
    return bool((ends >= 0).all() and (ends < np.array(volume.shape)).all())


def _lost_its_position(shape: tuple[int, ...], affine: Affine, volume: Volume) -> bool:
    """Whether a mask has its volume's matrix and the affine that arrays saved without one get."""
    return sorted(shape) == sorted(volume.shape) and bool(np.array_equal(np.abs(affine), np.eye(4)))


def _size(shape: tuple[int, ...], affine: Affine) -> str:
    spacing = np.linalg.norm(affine[:3, :3], axis=0)
    return f"{' × '.join(map(str, shape))} voxels of {' × '.join(f'{step:.3g}' for step in spacing)} mm"


def _overlap(shape: tuple[int, ...], affine: Affine, volume: Volume) -> float:
    """Share of the smaller extent that lies within the other, from a lattice of sample points."""
    there = np.linalg.inv(volume.affine) @ affine
    return max(_inside(shape, there, volume.shape), _inside(volume.shape, np.linalg.inv(there), shape))


def _inside(shape: tuple[int, ...], to_other: Affine, other: tuple[int, ...]) -> float:
    fractions = (np.arange(_SAMPLES) + 0.5) / _SAMPLES
    axes = [fractions * count - 0.5 for count in shape]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    mapped = points @ to_other[:3, :3].T + to_other[:3, 3]
    # A hair's breadth more than the extent: rounding must not empty a one-slice volume.
    within = (mapped >= -0.5 - 1e-6) & (mapped <= np.array(other) - 0.5 + 1e-6)
    return float(within.all(axis=1).mean())


def _on_lattice(
    shape: tuple[int, ...], affine: Affine, volume: Volume, tolerance_mm: float
) -> NDArray[np.int64] | None:
    """The map from mask voxels to volume voxels as whole numbers (3 × 4), or None."""
    exact = np.linalg.inv(volume.affine) @ affine
    whole = np.rint(exact)
    turn = np.abs(whole[:3, :3])
    if turn.max() > 1 or (turn.sum(axis=0) != 1).any() or (turn.sum(axis=1) != 1).any():
        return None
    corners = np.array([[*corner, 1] for corner in product(*[(0, count - 1) for count in shape])])
    apart = (corners @ (exact - whole).T)[:, :3] @ volume.affine[:3, :3].T
    if np.linalg.norm(apart, axis=1).max() > tolerance_mm:
        return None
    return whole[:3].astype(np.int64)


def _copied(mask: NDArray[np.bool_], placement: NDArray[np.int64], shape: tuple[int, int, int]) -> NDArray[np.bool_]:
    turn, shift = placement[:, :3], placement[:, 3]
    sources = np.abs(turn).argmax(axis=1)
    signs = turn.sum(axis=1)
    turned = mask.transpose(sources)[tuple(slice(None, None, int(sign)) for sign in signs)]
    placed = np.zeros(shape, dtype=np.bool_)
    into: list[slice] = []
    from_: list[slice] = []
    for axis in range(3):
        count = turned.shape[axis]
        start = int(shift[axis]) - (count - 1 if signs[axis] < 0 else 0)
        low, high = max(start, 0), min(start + count, shape[axis])
        into.append(slice(low, max(low, high)))
        from_.append(slice(low - start, max(low, high) - start))
    placed[tuple(into)] = turned[tuple(from_)]
    return placed


def _resampled(mask: NDArray[np.bool_], affine: Affine, volume: Volume) -> NDArray[np.bool_]:
    import SimpleITK as sitk

    # In index space: SimpleITK refuses directions that are orthonormal only up to rounding.
    back = np.linalg.inv(affine) @ volume.affine
    transform = sitk.AffineTransform(3)
    transform.SetMatrix(back[:3, :3].ravel().tolist())
    transform.SetTranslation(back[:3, 3].tolist())
    # SimpleITK's arrays run (z, y, x): the transpose makes its index (i, j, k).
    image = sitk.GetImageFromArray(np.ascontiguousarray(mask.T.astype(np.uint8)))
    zero, one = (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)
    identity = np.eye(3).ravel().tolist()
    out = sitk.Resample(
        image, volume.shape, transform, sitk.sitkNearestNeighbor, zero, one, identity, 0, sitk.sitkUInt8
    )
    return np.asarray(sitk.GetArrayFromImage(out).T > 0)
