"""Reading one volume from disk: a NIfTI file, one classic DICOM series, or an archive of one."""

from __future__ import annotations

from pathlib import Path

from ..identity.digests import digest_bytes, digest_file
from .loaded import LoadedVolume

__all__ = ["LoadedVolume", "digest_source", "read_volume"]


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
    raise NotImplementedError


def digest_source(path: Path | str) -> str:
    """Digest the raw bytes of a file (an archive is a file), or of all files below a folder.

    A folder's digest depends on its files' contents alone: names, order and nesting do not count.
    """
    path = Path(path)
    if not path.is_dir():
        return digest_file(path)
    return digest_bytes(b"folder", *sorted(digest_file(item).encode() for item in path.rglob("*") if item.is_file()))
