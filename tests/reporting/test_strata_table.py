"""Strata stand in a table of their own, each beside all cases."""

from __future__ import annotations

import csv

import pytest

from steadyread.contracts.enums import Readout
from steadyread.reporting.lookup import Book
from steadyread.reporting.strata_table import NOTHING, StrataTableSettings, strata_table, strata_tables
from steadyread.stages.job import Files

SETTINGS = StrataTableSettings.model_validate(
    {
        "report": {"title": "An audit"}, "cohort": {"synthetic": True}, "statistics": {"confidence": 0.95},
        "models_table": [],
    }
)  # fmt: skip
NAMES = (
    "sequence=T2",
    "n_slices=24",
    "n_slices=9",
    "lesion_size=lowest third (to 5)",
    "lesion_size=highest third (above 9)",
)


@pytest.fixture
def rows(estimate):
    flips = [
        estimate(arm="reverse", reference_arm="base", stratum=stratum, value=0.1 + number / 100, low=0.0, high=0.6)
        for number, stratum in enumerate(("all", *NAMES))
    ]
    return [
        *flips,
        estimate(metric="recon", denominator="all_arms", arm=None, arms=["base", "reverse"], stratum=NAMES[0]),
    ]


@pytest.fixture
def made(tmp_path, put):
    def make(rows):
        outputs = {"csv": tmp_path / "strata.csv", "markdown": tmp_path / "strata.md"}
        strata_table(Files({"estimates": put("estimates", rows)}), Files(outputs), SETTINGS, {})
        return {name: path.read_text(encoding="utf-8") for name, path in outputs.items()}

    return make


def test_strata_follow_all_cases_thirds_from_the_lowest_and_numbers_by_size(rows):
    (table,) = strata_tables(Book(rows), Readout.TEXT)
    assert [line[0] for line in table.lines] == [
        "all cases", "lesion size in ml: lowest third (to 5)", "lesion size in ml: highest third (above 9)",
        "slices shown: 9", "slices shown: 24", "sequence: T2",
    ]  # fmt: skip
    assert table.header[1] == "n"
    assert {line[1] for line in table.lines} == {"24"}
    assert table.lines[0][2].startswith("10.0 ")
    assert table.lines[-1][2].startswith("11.0 ")


def test_the_csv_holds_every_stratum_and_no_whole(made, rows):
    texts = made(rows)
    parsed = list(csv.DictReader(texts["csv"].splitlines()))
    assert {row["stratum"] for row in parsed} == set(NAMES)
    assert len(parsed) == len(NAMES) + 1
    assert "50.0 [40.0, 60.0] (24)" in texts["markdown"]
    assert "Synthetic images" in texts["markdown"]


def test_a_study_without_strata_says_so(made, study):
    texts = made(study())
    assert NOTHING in texts["markdown"]
    assert len(texts["csv"].splitlines()) == 1
