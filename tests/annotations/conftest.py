"""Volumes and masks written as plain files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
import pytest
from nibabel.orientations import axcodes2ornt, inv_ornt_aff, ornt_transform

from steadyread.volumes.loaded import LoadedVolume
from steadyread.volumes.read import read_volume

Writer = Callable[..., Path]


@pytest.fixture
def write_nifti(tmp_path: Path) -> Writer:
    """Write an array in RAS+ axis order as NIfTI stored in another order."""

    def write(name: str, array: np.ndarray[Any, Any], affine: np.ndarray[Any, Any], axcodes: str = "RAS") -> Path:
        change = ornt_transform(axcodes2ornt("RAS"), axcodes2ornt(axcodes))
        stored = np.ascontiguousarray(nibabel.apply_orientation(array, change))
        nibabel.save(nibabel.Nifti1Image(stored, affine @ inv_ornt_aff(change, array.shape)), tmp_path / name)
        return tmp_path / name

    return write


@pytest.fixture
def volume_of(write_nifti: Writer) -> Callable[..., LoadedVolume]:
    """A volume of a shape, with voxels that all differ, read from a file in some storage order."""

    def make(shape: tuple[int, int, int], affine: np.ndarray[Any, Any], axcodes: str = "RAS") -> LoadedVolume:
        values = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
        return read_volume(write_nifti(f"volume_{axcodes}.nii.gz", values, affine, axcodes))

    return make
