"""What all tests share."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steadyread.contracts.files import read_rows
from steadyread.contracts.tables import CASES, EXCLUSIONS, IMAGES, ITEMS, LESION_SLICES, SLICES
from steadyread.stages.dispatch import run_stage
from steadyread.stages.settings import local_of, settings_of

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


Rows = list[dict[str, Any]]


@pytest.fixture(scope="session")
def up_to_lesions() -> Callable[..., dict[str, Rows]]:
    """Runs a study of one shard from its cohort table to the lesion slices, through the stages.

    Called with the study, the models, the cohort's table and an empty folder; gives the rows of each
    table, and all exclusions.
    """

    def chain(study: Any, models: Any, table: Path, out: Path) -> dict[str, Rows]:
        names = ("cases", "sources", "items", "slices", "images", "lesion_slices", "out1", "out2", "out3")
        path = {name: out / f"{name}.parquet" for name in names}

        def run(name: str, inputs: dict[str, Path], outputs: dict[str, Path]) -> None:
            settings = settings_of(name, study, models)
            local = local_of(name, study, models)
            run_stage(name, inputs, outputs, settings, {"shard": "0"}, local, root=out, receipts=False)

        known = {name: path[name] for name in ("cases", "sources")}
        cut = {name: path[name] for name in ("slices", "images")}
        run("register_cohort", {"table": table}, {**known, "item_table": path["items"], "exclusions": path["out1"]})
        run("slice_volumes", known, {**cut, "exclusions": path["out2"]})
        run("mark_lesions", {**known, **cut}, {"lesion_slices": path["lesion_slices"], "exclusions": path["out3"]})
        contracts = {"cases": CASES, "items": ITEMS, "slices": SLICES, "images": IMAGES, "lesion_slices": LESION_SLICES}
        return {name: read_rows(path[name], contract) for name, contract in contracts.items()} | {
            "exclusions": read_rows([path["out1"], path["out2"], path["out3"]], EXCLUSIONS)
        }

    return chain
