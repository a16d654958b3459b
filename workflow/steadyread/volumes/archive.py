"""Archives of a DICOM folder, unpacked into a temporary folder for as long as they are read."""

from __future__ import annotations

import lzma
import stat
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO

from ..contracts.enums import Reason
from ..contracts.problems import CaseProblem

TAR_SUFFIXES = (".tar", ".tar.gz", ".tgz", ".tar.xz", ".txz", ".tar.bz2", ".tbz2")
ZIP_SUFFIXES = (".zip",)
SIZE_LIMIT = 8 << 30
"""Bytes that one archive may unpack to."""
FILE_LIMIT = 100_000
"""Files that one archive may hold."""
_KEPT_SUFFIXES = (".nii.gz", ".nii")
_CHUNK = 1 << 20


def is_archive(path: Path) -> bool:
    """Whether a file's name says that it is an archive `opened` unpacks."""
    return path.name.lower().endswith(TAR_SUFFIXES + ZIP_SUFFIXES)


@contextmanager
def opened(path: Path | str) -> Iterator[Path]:
    """The file or folder itself, or, for an archive, a temporary folder with its regular files.

    The archive's folders are flattened and its files numbered in the archive's order, so that no
    name from an archive ever becomes a path; only .nii and .nii.gz are kept as suffixes. The
    temporary folder is gone when the context ends.

    Raises
    ------
    CaseProblem
        If the path does not exist, or the archive cannot be read, is too large, or holds a link, an
        absolute name or one that climbs out of the archive.
    """
    path = Path(path)
    if not path.exists():
        raise CaseProblem(Reason.MISSING_FILE, "there is no file or folder where the case says it lies")
    if path.is_dir() or not is_archive(path):
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="steadyread-") as folder:
        target = Path(folder)
        try:
            _unpack(path, target)
        except EOFError as error:
            raise CaseProblem(Reason.TRUNCATED_FILE, "the archive ends too early") from error
        except (tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, OSError, RuntimeError) as error:
            # The error's own text may hold a path.
            raise CaseProblem(Reason.UNREADABLE, f"the archive cannot be unpacked ({type(error).__name__})") from error
        yield target


def _unpack(path: Path, target: Path) -> None:
    left = SIZE_LIMIT
    for number, (name, source) in enumerate(_members(path)):
        if number >= FILE_LIMIT:
            raise CaseProblem(Reason.UNREADABLE, f"the archive holds more than {FILE_LIMIT} files")
        lowered = name.lower()
        suffix = next((item for item in _KEPT_SUFFIXES if lowered.endswith(item)), "")
        with source, open(target / f"{number:06d}{suffix}", "wb") as copy:
            while chunk := source.read(_CHUNK):
                left -= len(chunk)
                if left < 0:
                    raise CaseProblem(Reason.UNREADABLE, f"the archive unpacks to more than {SIZE_LIMIT >> 30} GiB")
                copy.write(chunk)


def _members(path: Path) -> Iterator[tuple[str, IO[bytes]]]:
    """(name, opened content) of each regular file of an archive."""
    if path.name.lower().endswith(ZIP_SUFFIXES):
        with zipfile.ZipFile(path) as archive:
            for info in archive.infolist():
                _refuse_unsafe(info.filename, stat.S_ISLNK(info.external_attr >> 16))
                if not info.is_dir():
                    yield info.filename, archive.open(info)
        return
    with tarfile.open(path) as tar:
        for member in tar:
            _refuse_unsafe(member.name, not (member.isreg() or member.isdir()))
            content = tar.extractfile(member) if member.isreg() else None
            if content is not None:
                yield member.name, content
        # tarfile takes an archive that was cut between two files for a whole one.
        end = tar.fileobj
        if end is not None:
            end.seek(tar.offset)
            if end.read(tarfile.BLOCKSIZE) != bytes(tarfile.BLOCKSIZE):
                raise EOFError


def _refuse_unsafe(name: str, is_special: bool) -> None:
    parts = PurePosixPath(name.replace("\\", "/"))
    if is_special:
        raise CaseProblem(Reason.UNREADABLE, "the archive holds a link or a device; expected files and folders only")
    if parts.is_absolute() or ".." in parts.parts or name[1:2] == ":":
        raise CaseProblem(Reason.UNREADABLE, "the archive holds a name that leads out of it")
