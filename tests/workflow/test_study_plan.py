"""A tiny study, run whole: its plan is written before inference, and a later change is never hidden."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from steadyread.reporting.plan import PlanSection, plan_section
from steadyread.stages.replay import replay_receipt

pytestmark = [pytest.mark.workflow, pytest.mark.slow]

TINY = ("--config", "limit=2", "models=[constant-label, coin-2]", "arms={enabled: [base, reverse, label_swap]}")
OTHER = (*TINY, "statistics={confidence: 0.9}")
FOLLOWS = {"estimate", "plan_analysis", "main_table", "published_table", "flips_figure", "summary"}


@pytest.fixture(scope="module")
def study(clone):
    """A study of two patients and two readers with known answers, finished."""
    made = clone("planned")
    made.run(*TINY)
    return made


def ledger(study) -> list[dict]:
    path = study.root / "results/default-limit2/analysis_plans.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()]


def section(study) -> PlanSection:
    return plan_section(study.root / "results/default-limit2/analysis_plan.json")


def started(path: Path) -> str:
    return json.loads(Path(f"{path}.receipt.json").read_text())["started"]


def test_the_plan_is_written_before_the_first_model_is_asked(study):
    (line,) = ledger(study)
    responses = sorted((study.root / "results/default-limit2/responses").rglob("responses.parquet"))
    assert len(responses) == 2
    assert line["written"] <= min(started(path) for path in responses)
    assert line["answers"] == "none"
    assert section(study).kept


def test_a_second_run_does_and_writes_nothing(study):
    assert "Nothing to be done" in study.run(*TINY)
    assert len(ledger(study)) == 1


def test_a_dry_run_of_another_plan_writes_nothing(study):
    planned = set(study.planned(*OTHER)) - {"default", "total"}
    assert planned >= FOLLOWS
    assert not planned & {"compose_trials", "infer", "score"}
    assert len(ledger(study)) == 1


def test_a_plan_changed_after_inference_asks_nobody_and_is_reported_with_both_digests(study, tmp_path):
    before = section(study).plans[0].settings
    responses = sorted((study.root / "results/default-limit2/responses").rglob("responses.parquet"))
    asked = [started(path) for path in responses]
    study.run(*OTHER)
    assert [started(path) for path in responses] == asked
    assert [line["answers"] for line in ledger(study)] == ["none", "in_study"]
    found = section(study)
    assert not found.kept
    assert {plan.name: plan.settings for plan in found.plans}["written before inference"] == before
    assert len({plan.settings for plan in found.plans}) == 2
    assert found.changes == (("statistics.confidence", "0.95", "0.9"),)
    receipt = study.root / "results/default-limit2/analysis_plan.json.receipt.json"
    assert replay_receipt(receipt, tmp_path, study.root).holds
    assert study.planned(*OTHER) == {}


def test_a_study_begun_anew_has_one_plan(study):
    shutil.rmtree(study.root / "results/default-limit2")
    study.run(*OTHER)
    assert len(ledger(study)) == 1
    assert section(study).kept
    assert len(section(study).plans) == 1
