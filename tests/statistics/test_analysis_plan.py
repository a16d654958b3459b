"""The ledger of plans says what was planned before any answer was seen, and what changed since."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from steadyread.config.loading import load_study
from steadyread.contracts.problems import StudyError
from steadyread.stages.dispatch import run_stage
from steadyread.stages.job import Files
from steadyread.stages.plan import Plan as Workflow
from steadyread.stages.replay import replay_receipt
from steadyread.statistics import plan_ledger
from steadyread.statistics.analysis_plan import changes, plan_analysis
from steadyread.statistics.plan_ledger import LEDGER, PlanLedger, plan_settings, read_ledger
from steadyread.statistics.plan_words import PlanAnalysisSettings

MODELS = ["random-idefics3", "coin-2"]


class Study:
    """A study in an empty folder: opened again and again, as runs do."""

    def __init__(self, project: Path, root: Path) -> None:
        self.project, self.root = project, root
        self.results = root / "results" / "default"

    def workflow(self, **given) -> Workflow:
        study, models = load_study({"models": MODELS, **given}, root=self.project)
        return Workflow(study, models, self.root)

    def open(self, **given) -> PlanLedger:
        return PlanLedger.open(self.workflow(**given))

    def run(self, *stages: str, **given) -> PlanLedger:
        ledger = self.open(**given)
        ledger.record(stages or ("infer", "estimate", "plan_analysis"))
        return ledger

    def answer(self) -> None:
        path = self.results / "responses" / "coin-2" / "0" / "responses.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()

    def account(self, **given) -> dict:
        return self.open(**given).params(None)

    @property
    def lines(self) -> list[dict]:
        path = self.results / LEDGER
        return [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []


@pytest.fixture
def store(tmp_path, monkeypatch):
    """The store of answers, empty."""
    folder = tmp_path / "store"
    monkeypatch.setenv("STEADYREAD_STORE", str(folder))
    return folder


@pytest.fixture
def study(project, tmp_path, store):
    return Study(project, tmp_path / "project")


OTHER = {"statistics": {"confidence": 0.9}}
THIRD = {"statistics": {"confidence": 0.8}}


def test_looking_writes_nothing(study):
    """A dry run opens the ledger and records nothing."""
    assert study.account()["in_force"]["answers"] == "none"
    assert not study.root.exists()


@pytest.mark.parametrize("stages", [(), ("train_readers",), ("make_phantom", "compose_trials", "check_cohort")])
def test_a_run_that_neither_asks_nor_estimates_writes_no_plan(study, stages):
    study.open().record(stages)
    assert not study.root.exists()


@pytest.mark.parametrize("stage", ["infer", "score", "estimate", "plan_analysis"])
def test_a_run_that_asks_or_estimates_writes_the_plan_before_it_starts(study, stage):
    study.run("register_cohort", stage)
    (line,) = study.lines
    assert line["answers"] == "none"
    assert line["settings"]["statistics"]["confidence"] == 0.95
    assert line["settings"]["models"] == MODELS
    assert line["settings"]["primary_readout"] == "text"
    assert {"accuracy", "flip_rate", "overcommitment"} <= set(line["settings"]["metrics"])


def test_what_a_report_is_told_is_the_same_before_and_after_the_line_is_written(study):
    before = study.account()
    ledger = study.run()
    assert ledger.params(None) == before
    study.answer()
    assert study.account() == before


def test_the_same_plan_is_written_once(study):
    study.run()
    study.answer()
    study.run()
    assert len(study.lines) == 1


def test_a_plan_that_was_kept_has_one_digest(study):
    study.run()
    study.answer()
    account = study.account()
    assert account["in_force"] == account["before_inference"]
    assert account["tried"] == []


def test_a_change_before_inference_is_no_change(study):
    study.run()
    study.run(**OTHER)
    study.answer()
    account = study.account(**OTHER)
    assert len(study.lines) == 2
    assert account["in_force"] == account["before_inference"]
    assert account["tried"] == []


def test_a_change_after_inference_shows_both_plans(study):
    first = study.run().lines[-1].digest
    study.answer()
    study.run(**OTHER)
    account = study.account(**OTHER)
    assert account["before_inference"]["digest"] == first != account["in_force"]["digest"]
    assert (account["before_inference"]["answers"], account["in_force"]["answers"]) == ("none", "in_study")
    assert changes(account["before_inference"]["settings"], account["in_force"]["settings"]) == [
        {"setting": "statistics.confidence", "before": 0.95, "now": 0.9}
    ]


def test_a_plan_that_was_tried_and_left_again_stays_in_the_account(study):
    study.run()
    study.answer()
    tried = study.run(**OTHER).lines[-1].digest
    study.run(**THIRD)
    study.run()
    account = study.account()
    assert account["in_force"]["digest"] == account["before_inference"]["digest"]
    digests = [item["digest"] for item in account["tried"]]
    assert (digests[0], len(digests)) == (tried, 2)


def test_answers_that_were_there_before_the_first_plan_are_recognised(study):
    study.answer()
    study.run()
    account = study.account()
    assert account["before_inference"] is None
    assert account["in_force"]["answers"] == "in_study"


def put_in_store(store: Path, model: str) -> None:
    folder = store / "requests" / model
    folder.mkdir(parents=True)
    (folder / "a.jsonl").write_text("{}\n")


def test_answers_in_the_store_are_recognised(study, store):
    put_in_store(store, "random-idefics3")
    study.run()
    assert study.account()["before_inference"]["answers"] == "in_store"


@pytest.mark.parametrize("model", ["coin-2", "phantom-reader"])
def test_answers_that_tell_this_study_nothing_do_not_count(study, store, model):
    """Readers with known answers, and models that it does not ask."""
    put_in_store(store, model)
    study.run()
    assert study.account()["before_inference"]["answers"] == "none"


def test_removing_the_answers_does_not_make_a_later_plan_an_early_one(study, store):
    first = study.run().lines[-1].digest
    study.answer()
    put_in_store(store, "random-idefics3")
    (study.results / "responses" / "coin-2" / "0" / "responses.parquet").unlink()
    study.run(**OTHER)
    account = study.account(**OTHER)
    assert account["before_inference"]["digest"] == first
    assert account["in_force"]["answers"] == "in_store"


def test_a_change_of_the_code_that_estimates_is_a_change_of_the_plan(study, monkeypatch):
    study.run()
    study.answer()
    monkeypatch.setattr(plan_ledger, "code_digest", lambda name: "0" * 32)
    study.run()
    account = study.account()
    assert account["in_force"]["digest"] == account["before_inference"]["digest"]
    assert account["in_force"]["code"] != account["before_inference"]["code"]


@pytest.mark.parametrize(
    ("given", "changed"),
    [
        ({"seed": 1}, {"seed"}),
        ({"report": {"readout": "logprob"}}, {"primary_readout"}),
        ({"models": ["coin-2"]}, {"models"}),
        ({"arms": {"enabled": ["base", "reverse"]}}, {"arms.enabled"}),
        ({"statistics": {"resamples": 6000}}, {"statistics.resamples"}),
        ({"report": {"dpi": 100, "title": "Other"}, "shards": 3}, set()),
    ],
    ids=lambda item: "-".join(item) or "nothing" if isinstance(item, dict) else "",
)
def test_the_plan_is_what_numbers_depend_on_and_nothing_else(study, given, changed):
    found = changes(plan_settings(study.workflow()), plan_settings(study.workflow(**given)))
    assert {item["setting"] for item in found} == changed


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("change", ["settings", "answers", "removed", "garbled"])
def test_a_ledger_that_was_changed_by_hand_stops_the_run(study, place, change):
    study.run()
    study.answer()
    study.run(**OTHER)
    study.run(**THIRD)
    path = study.results / LEDGER
    lines = path.read_text().splitlines()
    line = json.loads(lines[place])
    if change == "settings":
        line["settings"]["statistics"]["confidence"] = 0.99
    lines[place] = json.dumps({**line, "answers": "in_store"} if change == "answers" else line)
    if change == "removed":
        del lines[place]
    if change == "garbled":
        lines[place] = lines[place][:-5]
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(StudyError, match=r"results/default/analysis_plans\.jsonl: line \d"):
        read_ledger(path)
    with pytest.raises(SystemExit, match="put the file back"):
        study.open()


def test_times_are_in_the_ledger_and_in_no_digest(study):
    line = study.run().lines[-1]
    assert study.lines[0]["written"] == line.written
    assert "written" not in json.dumps(study.account())
    assert line.model_copy(update={"written": "2001-01-01"}).line_digest == line.line_digest


def made(study, folder: Path, **given) -> dict:
    outputs = {"plan": folder / "plan.json"}
    plan_analysis(Files({}), Files(outputs), PlanAnalysisSettings.model_validate(study.account(**given)), {})
    return json.loads(outputs["plan"].read_text())


def test_the_stage_says_what_changed(study, tmp_path):
    study.run()
    study.answer()
    study.run(**OTHER)
    account = made(study, tmp_path, **OTHER)
    assert account["changed"] == [{"setting": "statistics.confidence", "before": 0.95, "now": 0.9}]
    assert account["code_changed"] is False


def test_without_any_plan_the_stage_refuses(tmp_path):
    with pytest.raises(StudyError, match="no analysis plan"):
        plan_analysis(Files({}), Files({"plan": tmp_path / "p.json"}), PlanAnalysisSettings(), {})


def test_its_receipt_replays_although_the_ledger_has_grown(study, tmp_path):
    study.run()
    study.answer()
    root = study.root
    settings = study.account()
    run_stage("plan_analysis", {}, {"plan": root / "plan.json"}, settings, {"study": "default"}, root=root)
    study.run(**OTHER)
    assert replay_receipt(root / "plan.json.receipt.json", tmp_path / "again", root).holds


def test_a_list_or_an_empty_mapping_counts_as_one_setting():
    assert changes({"a": [1, 2], "b": {}}, {"a": [2, 1], "b": {"c": None}, "d": 1.0}) == [
        {"setting": "a", "before": [1, 2], "now": [2, 1]},
        {"setting": "b", "before": {}, "now": None},
        {"setting": "d", "before": None, "now": 1.0},
    ]
