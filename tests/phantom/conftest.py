"""A phantom cohort of twelve patients, written once for all tests of the room."""

from __future__ import annotations

from pathlib import Path

import pytest

from steadyread.config.phantom import PhantomConfig
from steadyread.phantom.design import PhantomCase, plan
from steadyread.phantom.truth import CaseTruth, phantom_truth
from steadyread.stages.dispatch import run_stage

SEED = 20260805
TWELVE = PhantomConfig(patients=12)


@pytest.fixture(scope="session")
def cases() -> tuple[PhantomCase, ...]:
    return plan(SEED, TWELVE)


@pytest.fixture(scope="session")
def truth() -> dict[str, CaseTruth]:
    return phantom_truth(SEED, TWELVE)


@pytest.fixture(scope="session")
def cohort(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder that holds cohort.tsv and files/."""
    folder = tmp_path_factory.mktemp("phantom_cohort")
    run_stage(
        "make_phantom",
        {},
        {"table": folder / "cohort.tsv", "files": folder / "files", "recorded": folder / "recorded.json"},
        {"seed": SEED, "phantom": TWELVE.model_dump(mode="json")},
        {},
        root=folder,
        receipts=False,
    )
    return folder
