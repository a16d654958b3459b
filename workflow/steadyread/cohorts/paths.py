"""Paths of a cohort's table: relative to the data root, and not out of it unless allowed."""

from __future__ import annotations

from pathlib import Path

from ..contracts.problems import StudyError

_NO_PATH = (OSError, RuntimeError, ValueError)
"""What the file system says of links that go in circles, names that are too long, NUL bytes."""


def data_root(local_root: str | None, table: Path) -> Path:
    """The folder that paths in the table are relative to: `cohort.data_root`, else the table's own.

    Raises
    ------
    StudyError
        If the folder is not there, or an environment variable in it is not set.
    """
    if local_root is None:
        return table.resolve().parent
    if "$" in local_root:
        raise StudyError("cohort.data_root names an environment variable that is not set: set it, or write the folder")
    root = Path(local_root).expanduser()
    if not root.is_dir():
        raise StudyError("cohort.data_root is not a folder on this machine. Mend it in the study's file")
    return root.resolve()


def locate(written: str, root: Path) -> Path:
    """The absolute path of a table's path, symbolic links of its folders left as they are."""
    return (root / written).absolute()


def leaves_root(path: Path, root: Path) -> bool:
    """Whether a path, or for a folder any file in it, lies outside the root once links are followed."""
    inside = root.resolve()
    try:
        links = [item for item in path.rglob("*") if item.is_symlink()] if path.is_dir() else []
        return any(not target.resolve().is_relative_to(inside) for target in [path, *links])
    except _NO_PATH:
        # It leads nowhere, so not out of the root either; `is_there` says that it is missing.
        return False


def is_there(path: Path) -> bool:
    """Whether a path is a file, or a folder that holds at least one file."""
    try:
        return path.is_file() or (path.is_dir() and any(item.is_file() for item in path.rglob("*")))
    except _NO_PATH:
        return False
