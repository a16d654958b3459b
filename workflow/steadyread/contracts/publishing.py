"""Nothing is lost: a finished file becomes visible whole. Imports nothing heavy, as the workflow's parsing needs it."""

from __future__ import annotations

import os
from pathlib import Path


def publish(temporary: Path, path: Path) -> None:
    """Make a finished file visible under its name: fsync, permissions by umask, rename, fsync."""
    with open(temporary, "rb") as handle:
        os.fsync(handle.fileno())
    mask = os.umask(0)
    os.umask(mask)
    os.chmod(temporary, 0o666 & ~mask)
    os.replace(temporary, path)
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
