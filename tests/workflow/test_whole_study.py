"""The default study, run whole: what it finds, what reruns it, and whether its receipts hold."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from steadyread.config.loading import load_study
from steadyread.contracts.enums import ArmName
from steadyread.contracts.files import read_rows
from steadyread.contracts.tables import ESTIMATES, EXCLUSIONS, FLOW, OUTCOMES, RESPONSES, TRIALS
from steadyread.stages.registry import STAGES
from steadyread.stages.replay import replay_receipt
from steadyread.stages.settings import local_of

pytestmark = [pytest.mark.workflow, pytest.mark.slow]

Rows = list[dict[str, Any]]
CUT = {"slice_volumes", "mark_lesions", "perturb_images", "compose_trials", "check_cohort"}
ASKED = {"infer", "score", "estimate", "check_sensitivity", "account_cases"}
DRAWN = {"flips_figure", "curves_figure", "calibration_figure", "flow_diagram"}
TABLES = {"exclusions_table", "main_table", "strata_table", "published_table", "sensitivity_table"}
REPORTS = {"contact_sheet", "summary"} | DRAWN | TABLES
LEDGER = "analysis_plans.jsonl"
"""Written beside the jobs: no output of one, so it has no receipt."""
SUPPLIES = {"make_phantom", "register_cohort", "build_random_model", "list_snapshot"}


@pytest.fixture(scope="module")
def study(clone):
    """The default study, finished."""
    made = clone("default")
    made.run()
    return made


@pytest.fixture(scope="module")
def estimates(study) -> Rows:
    return read_rows(study.root / "results/default/estimates/estimates.parquet", ESTIMATES)


def find(rows: Rows, model: str, metric: str, arm: str | None = None, **fields: Any) -> dict[str, Any]:
    """The one estimate that fits; text readout, all cases and no stratum unless said otherwise."""
    wanted = {"model": model, "metric": metric, "arm": arm, "readout": "text", "denominator": "all", "stratum": "all"}
    alone = [row for row in rows if row["reference_model"] is None]
    found = [row for row in alone if all(row[key] == value for key, value in {**wanted, **fields}.items())]
    assert len(found) == 1, f"{len(found)} estimates for {model} {metric} {arm} {fields}"
    return found[0]


def test_every_output_has_a_receipt_and_no_partial_file_is_left(study):
    folders = [study.root / "results" / "default", study.root / "reports", study.root / "results" / "phantom_cohort"]
    outputs = [
        path
        for folder in folders
        for path in folder.rglob("*")
        if path.is_file() and path.suffix not in (".log", ".dcm", ".gz") and "files" not in path.parts
    ]
    plain = [path for path in outputs if not path.name.endswith(".receipt.json") and path.name != LEDGER]
    assert len(plain) > 30
    assert [path for path in plain if not Path(f"{path}.receipt.json").is_file()] == []
    assert [path for path in outputs if ".part" in path.name or path.suffix == ".tmp"] == []


def test_a_second_run_does_nothing(study):
    assert "Nothing to be done" in study.run()


def test_the_times_of_files_do_not_matter(study):
    """A clone gives every file a new time."""
    for path in [*(study.root / "workflow").rglob("*.py"), *(study.root / "config").rglob("*")]:
        os.utime(path)
    assert study.planned() == {}


@pytest.fixture
def edited(study):
    """Edits a module of the clone's package and puts it back afterwards."""
    before: dict[Path, str] = {}

    def edit(module: str, old: str, new: str) -> None:
        path = study.root / "workflow" / "steadyread" / module
        before.setdefault(path, path.read_text())
        assert old in path.read_text(), f"{module} does not hold {old!r}"
        path.write_text(path.read_text().replace(old, new, 1))

    yield edit
    for path, text in before.items():
        path.write_text(text)


def test_a_comment_a_docstring_or_a_line_break_reruns_nothing(study, edited):
    edited("slicing/window.py", '"""', '"""Another word. ')
    edited(
        "slicing/volumes.py", "from __future__ import annotations\n", "from __future__ import annotations\n# why\n\n"
    )
    edited("slicing/lesions.py", "read_rows(inputs.one(", "read_rows(\n        inputs.one(")
    assert study.planned() == {}


def test_an_edit_in_slicing_reruns_slicing_and_what_follows_and_nothing_else(study, edited):
    edited("slicing/window.py", "np.", "(np).asarray and np.")
    planned = set(study.planned())
    assert planned - {"default", "total"} == CUT | ASKED | REPORTS
    assert not planned & SUPPLIES


def test_an_edit_in_reporting_reruns_reports_and_nothing_else(study, edited):
    edited("reporting/main_table.py", "def main_table", "EDITED = True\n\n\ndef main_table")
    assert set(study.planned()) - {"default", "total"} == {"main_table", "summary"}


def test_an_edit_of_a_template_reruns_the_summary(study, edited):
    edited("reporting/templates/summary.html.j2", "<html", "<html data-edited")
    assert set(study.planned()) - {"default", "total"} == {"summary"}


def test_a_setting_reruns_the_stages_that_see_it(study):
    planned = set(study.planned("--config", "report={dpi: 100}"))
    assert planned - {"default", "total"} == DRAWN | {"summary"}
    assert "infer" not in set(study.planned("--config", "statistics={resamples: 6000}"))


def test_another_deterministic_model_asks_itself_and_nobody_else(study):
    models = "[random-idefics3, constant-label, constant-slot-1, coin-2, coin-3]"
    planned = study.planned("--config", f"models={models}")
    assert not {"compose_trials", "infer", "score"} & set(planned)


# --- oracles (PROTOCOLS 0.6) -------------------------------------------------------------------


@pytest.mark.parametrize("readout", ["text", "logprob"])
def test_a_constant_label_never_flips(estimates, readout):
    for arm in set(ArmName) - {ArmName.BASE, ArmName.REPEAT}:
        assert find(estimates, "constant-label", "flip_rate", arm.value, readout=readout)["value"] == 0


@pytest.mark.parametrize("readout", ["text", "logprob"])
@pytest.mark.parametrize(("model", "share"), [("constant-slot-1", 1), ("constant-slot-2", 1), ("constant-slot-3", 0)])
def test_a_constant_slot_flips_on_every_swap_of_the_labels_it_points_at(estimates, model, share, readout):
    row = find(estimates, model, "label_swap_inconsistency", "label_swap", readout=readout)
    assert row["value"] == share
    assert row["n"] == 24
    assert find(estimates, model, "flip_rate", "reverse", readout=readout)["value"] == 0
    if share:
        following = find(estimates, model, "slot_following", "label_swap", denominator="both_categorical")
        assert following["value"] == 1


@pytest.mark.parametrize(("model", "share"), [("coin-2", 1 / 2), ("coin-3", 2 / 3)])
def test_a_coin_flips_as_often_as_a_coin_does(estimates, model, share):
    row = find(estimates, model, "label_swap_inconsistency", "label_swap")
    low, high = stats.binom.interval(0.999, row["n"], share)
    assert low <= row["value"] * row["n"] <= high


def test_who_always_names_a_label_is_fully_overcommitted_and_who_never_does_is_not(estimates):
    assert find(estimates, "constant-slot-1", "overcommitment", "lesion_removed")["value"] == 1
    assert find(estimates, "constant-slot-3", "overcommitment", "lesion_removed")["value"] == 0


@pytest.mark.parametrize("readout", ["text", "logprob"])
def test_the_floor_of_a_local_model_is_exactly_zero(estimates, readout):
    row = find(estimates, "random-idefics3", "d_same", "base", readout=readout, denominator="pairs_of_draws")
    assert row["value"] == 0
    assert row["n"] == 24


def test_and_not_because_it_always_says_the_same(estimates, study):
    outcomes = read_rows(sorted((study.root / "results/default/outcomes/random-idefics3").rglob("*.parquet")), OUTCOMES)
    decided = {row["label"] for row in outcomes if row["readout"] == "logprob" and row["label"] != "UNSURE"}
    assert decided == {"GBM", "MET"}
    flips = find(estimates, "random-idefics3", "flip_rate", "reverse", readout="logprob")
    assert flips["value"] > 0


def test_a_repeated_request_was_asked_twice_and_not_served_from_the_first(study):
    trials = read_rows(sorted((study.root / "results/default/trials/r1").rglob("trials.parquet")), TRIALS)
    repeats = [row for row in trials if row["arm"] == "repeat"]
    assert len(repeats) == 24
    journal = [
        json.loads(line)
        for file in (study.store / "requests" / "random-idefics3").rglob("*.jsonl")
        for line in file.read_text().splitlines()
    ]
    asked = {line["key"] for line in journal}
    responses = read_rows(
        sorted((study.root / "results/default/responses/random-idefics3").rglob("*.parquet")), RESPONSES
    )
    key = {row["trial_id"]: row["request_key"] for row in responses}
    assert set(key.values()) == asked
    for row in repeats:
        assert key[row["trial_id"]] != key[row["parent_trial_id"]]


def test_every_case_is_analysed_or_excluded_with_a_reason(study):
    flow = read_rows(study.root / "results/default/estimates/flow.parquet", FLOW)
    assert {row["arm"] for row in flow} == {arm.value for arm in ArmName}
    assert all(row["cases_in"] == 24 for row in flow)
    found = read_rows(sorted((study.root / "results/default").rglob("*xclusions.parquet")), EXCLUSIONS)
    # the phantom's slice tables list lesion slices without boxes; a lesion may lie at an end already
    left_out = {(row["arm"], row["reason"]) for row in found}
    assert ("roi_crops", "no_box") in left_out
    assert left_out <= {("roi_crops", "no_box"), ("roi_first", "no_change"), ("roi_last", "no_change")}


def test_figures_carry_the_synthetic_banner(study):
    said = "made, not acquired"
    assert said in (study.root / "reports/default/summary.html").read_text()
    assert said in (study.root / "reports/default/figures/flips.svg").read_text()
    assert said in (study.root / "reports/default/tables/main.md").read_text()


def test_the_notebook_follows_a_case_to_a_flip(study):
    study.run("notebook")
    text = (study.root / "reports/default/walkthrough.ipynb").read_text()
    assert "image/png" in text
    assert '"output_type": "error"' not in text
    assert str(study.root) not in text


def test_the_receipt_of_every_stage_replays(study, tmp_path, monkeypatch):
    monkeypatch.chdir(study.root)
    monkeypatch.setenv("STEADYREAD_STORE", str(tmp_path / "store"))
    receipts: dict[str, Path] = {}
    for path in sorted(study.root.rglob("*.receipt.json")):
        receipts.setdefault(json.loads(path.read_text())["stage"], path)
    # Training the readers and simulating the statistics are opt-ins of minutes, no part of a study.
    apart = {"train_readers", "simulate_validity", "validity_table", "check_validity"}
    assert set(receipts) == set(STAGES) - apart
    config, models = load_study({}, root=study.root)
    for stage, path in receipts.items():
        found = replay_receipt(path, tmp_path / stage, study.root, local_of(stage, config, models))
        assert found.holds, f"{stage}: {found}"
        assert found.notes == []


def test_snakemake_s_own_report_is_built(study):
    study.run("--report", "reports/report.zip")
    assert (study.root / "reports" / "report.zip").stat().st_size > 100_000
