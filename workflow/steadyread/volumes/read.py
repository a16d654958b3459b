"""Reading one volume from disk: a NIfTI file, one classic DICOM series, or an archive of one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from ..contracts.enums import Reason
from ..contracts.problems import CaseProblem
from ..identity.digests import digest_bytes, digest_file
from .archive import opened
from .dicom_series import read_series
from .loaded import LoadedVolume
from .nifti import read_nifti
from .volume import Array

__all__ = ["LoadedVolume", "digest_source", "read_volume"]

NIFTI_SUFFIXES = (".nii", ".nii.gz")


def read_volume(path: Path | str, *, constant_ok: bool = False) -> LoadedVolume:
    """Read a volume and bring it into RAS+ axis order.

    Parameters
    ----------
    path
        A NIfTI file (.nii, .nii.gz), a DICOM file or a folder holding one classic series, or an
        archive of such a folder (.tar, .tar.gz, .tar.xz, .tar.bz2, .zip).
    constant_ok
        Accept a volume of one single value (a mask without a lesion), which is refused otherwise.

    Raises
    ------
    CaseProblem
        With the reason why these files are not one usable volume.
    """
    with opened(path) as source:
        files = _files(source)
        nifti = [item for item in files if item.name.lower().endswith(NIFTI_SUFFIXES)]
        if nifti and len(files) > 1:
            raise CaseProblem(
                Reason.UNSUPPORTED_FORMAT,
                f"a folder with {len(nifti)} NIfTI file(s) among {len(files)} files; name the file itself",
            )
        loaded = read_nifti(nifti[0]) if nifti else read_series(files)
    nonfinite, constant = _census(loaded.volume.array)
    if constant and not constant_ok:
        raise CaseProblem(Reason.CONSTANT, "all finite voxels hold one value")
    return replace(loaded, nonfinite=nonfinite)


def digest_source(path: Path | str) -> str:
    """Digest the raw bytes of a file (an archive is a file), or of all files below a folder.

    A folder's digest depends on its files' contents alone: names, order and nesting do not count.

    Raises
    ------
    CaseProblem
        MISSING_FILE if there is nothing at the path.
    """
    path = Path(path)
    if path.is_file():
        return digest_file(path)
    if not path.is_dir():
        raise CaseProblem(Reason.MISSING_FILE, "there is no file or folder where the case says it lies")
    return digest_bytes(b"folder", *sorted(digest_file(item).encode() for item in _files(path)))


def _files(source: Path) -> list[Path]:
    if source.is_file():
        return [source]
    files = sorted(item for item in source.rglob("*") if item.is_file())
    if not files:
        raise CaseProblem(Reason.MISSING_FILE, "the folder holds no file")
    return files


def _census(array: Array) -> tuple[int, bool]:
    """Number of voxels that are not finite, and whether all others hold one value."""
    low, high = array.min(), array.max()
    if array.dtype.kind != "f" or (np.isfinite(low) and np.isfinite(high)):
        return 0, bool(low == high)
    finite = array[np.isfinite(array)]
    return array.size - finite.size, finite.size == 0 or bool(finite.min() == finite.max())
