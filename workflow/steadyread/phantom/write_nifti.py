"""Writes phantom volumes and masks as NIfTI-1, in any axis order, with the same bytes every time."""

from __future__ import annotations

import gzip
from pathlib import Path

import nibabel
import numpy as np
from nibabel.orientations import axcodes2ornt, inv_ornt_aff, ornt_transform
from numpy.typing import NDArray

from .geometry import FloatArray

SCANNER_ANATOMICAL = 1
"""NIfTI's code for coordinates of the scanner."""


def to_stored(array: NDArray[np.generic], affine: FloatArray, axcodes: str) -> tuple[NDArray[np.generic], FloatArray]:
    """Reorder an array in RAS+ axis order to the axis order of a file.

    Parameters
    ----------
    array, affine
        Voxels and their RAS affine (mm), axes nearest to R, A, S.
    axcodes
        nibabel's axis codes of the stored array, such as "LPS" or "PSR".

    Returns
    -------
    tuple
        The stored array and its affine.
    """
    change = ornt_transform(axcodes2ornt("RAS"), axcodes2ornt(axcodes))
    return nibabel.apply_orientation(array, change), affine @ inv_ornt_aff(change, array.shape)


def write_nifti(path: Path, array: NDArray[np.generic], affine: FloatArray, axcodes: str) -> None:
    """Write an array in RAS+ axis order as a .nii.gz stored in another order; sform and qform agree."""
    stored, stored_affine = to_stored(array, affine, axcodes)
    image = nibabel.Nifti1Image(np.ascontiguousarray(stored), stored_affine)
    image.header.set_xyzt_units("mm")
    image.set_sform(stored_affine, SCANNER_ANATOMICAL)
    image.set_qform(stored_affine, SCANNER_ANATOMICAL)
    path.parent.mkdir(parents=True, exist_ok=True)
    # No name and no time in the gzip header, so that the same voxels give the same file.
    path.write_bytes(gzip.compress(image.to_bytes(), compresslevel=6, mtime=0))
