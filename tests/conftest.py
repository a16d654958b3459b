"""What all tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def project() -> Path:
    """The project's root."""
    return PROJECT


@pytest.fixture(scope="session")
def realdata_root() -> Path:
    """The folder of real files.

    Set but wrong is an error, never a skip; neither set nor beside the project: the test says it
    was not run.
    """
    named = os.environ.get("STEADYREAD_REALDATA")
    root = Path(named) if named else PROJECT.parent / "shared" / "realdata"
    if not (root / "MANIFEST.sha256").is_file():
        if named:
            pytest.fail("STEADYREAD_REALDATA is set but its folder is missing or incomplete")
        pytest.skip("real files not run: no data (set STEADYREAD_REALDATA)")
    return root
