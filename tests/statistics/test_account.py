"""Every case is analysed, excluded or ERROR, once; a case that is none of these stops the study."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steadyread.config.arms import ArmsConfig
from steadyread.contracts.enums import ArmName
from steadyread.contracts.files import read_rows, write_table
from steadyread.contracts.problems import StudyError
from steadyread.contracts.tables import CASES, EXCLUSIONS, FLOW, OUTCOMES, TRIALS
from steadyread.identity.digests import digest_json
from steadyread.stages.job import Files
from steadyread.statistics.account import AccountCasesSettings, account, account_cases

CASE_IDS = ["c1", "c2", "c3", "c4"]
BASE, REPEAT, SWAP, REMOVED = ArmName.BASE, ArmName.REPEAT, ArmName.LABEL_SWAP, ArmName.LESION_REMOVED
Row = dict[str, Any]


def asked(case: str, arm: ArmName = BASE, variant: str = "", draw: int = 0, model: str | None = None) -> Row:
    """A trial."""
    trial = digest_json([case, arm.value, variant, draw, model])
    return {"trial_id": trial, "case_id": case, "arm": arm.value, "draw": draw, "model_id": model}


def ended(trial: Row, status: str = "ANSWERED", readout: str = "text", model: str = "m") -> Row:
    """The outcome of a trial."""
    return {
        "trial_id": trial["trial_id"],
        "model_id": model,
        "draw": trial["draw"],
        "readout": readout,
        "outcome_status": status,
    }


def left_out(case: str, stage: str, reason: str, arm: ArmName | None = None, model: str | None = None) -> Row:
    """An exclusion."""
    return {
        "case_id": case,
        "stage": stage,
        "arm": None if arm is None else arm.value,
        "model_id": model,
        "reason": reason,
        "detail": "",
    }


def flow(exclusions: list[Row], trials: list[Row], outcomes: list[Row], arm: ArmName = BASE) -> Row:
    """The text row of model m and one arm, held against the contract."""
    rows = account(CASE_IDS, exclusions, trials, outcomes, [arm], ["m"])
    FLOW.from_rows(rows)
    [row] = [row for row in rows if row["readout"] == "text"]
    return row


def counts(row: Row) -> tuple[int, int, int, int]:
    return row["cases_in"], row["analysed"], row["excluded"], row["errors"]


def reasons(row: Row) -> list[tuple[str, str, int]]:
    return [(item["stage"], item["reason"], item["count"]) for item in row["reasons"]]


def test_each_case_is_counted_once_as_analysed_excluded_or_error() -> None:
    trials = [asked("c1"), asked("c2")]
    outcomes = [ended(trials[0], "UNPARSED"), ended(trials[1], "ERROR")]
    exclusions = [
        left_out("c3", "slice_volumes", "missing_slice"),
        left_out("c4", "compose_trials", "no_change", BASE),
        left_out("c4", "compose_trials", "no_box", REMOVED),
    ]
    row = flow(exclusions, trials, outcomes)
    assert counts(row) == (4, 1, 2, 1)
    assert reasons(row) == [("slice_volumes", "missing_slice", 1), ("compose_trials", "no_change", 1)]


@pytest.mark.parametrize("status", ["ANSWERED", "UNSURE", "REFUSED", "UNPARSED", "TRUNCATED"])
def test_every_status_but_error_is_analysed(status: str) -> None:
    trials = [asked(case) for case in CASE_IDS]
    assert counts(flow([], trials, [ended(trial, status) for trial in trials])) == (4, 4, 0, 0)


def test_an_exclusion_of_the_whole_case_comes_before_one_of_the_arm_and_an_early_stage_before_a_late_one() -> None:
    exclusions = [
        left_out("c1", "mark_lesions", "no_annotation", BASE),
        left_out("c1", "mark_lesions", "annotation_labels"),
        left_out("c1", "register_cohort", "unreadable"),
        left_out("c2", "check_cohort", "burned_in"),
        left_out("c2", "slice_volumes", "gantry_tilt"),
        left_out("c3", "compose_trials", "no_slice_left", BASE),
        left_out("c4", "compose_trials", "no_slice_left", BASE),
    ]
    row = flow(exclusions, [], [])
    assert counts(row) == (4, 0, 4, 0)
    assert reasons(row) == [
        ("register_cohort", "unreadable", 1),
        ("slice_volumes", "gantry_tilt", 1),
        ("compose_trials", "no_slice_left", 2),
    ]
    assert flow(exclusions[::-1], [], []) == row


def test_an_arms_exclusion_leaves_the_other_arms_alone() -> None:
    trials = [asked(case) for case in CASE_IDS]
    exclusions = [left_out(case, "compose_trials", "no_annotation", REMOVED) for case in CASE_IDS]
    outcomes = [ended(trial) for trial in trials]
    assert counts(flow(exclusions, trials, outcomes)) == (4, 4, 0, 0)
    assert counts(flow(exclusions, trials, outcomes, REMOVED)) == (4, 0, 4, 0)


def test_another_models_exclusion_is_not_this_ones() -> None:
    trials = [asked(case) for case in CASE_IDS]
    rows = account(
        CASE_IDS,
        [left_out("c1", "check_cohort", "too_many_images", None, "n")],
        [*trials[1:], asked("c1", model="m")],
        [ended(asked("c1", model="m")), *(ended(t, model=m) for t in trials[1:] for m in ("m", "n"))],
        [BASE],
        ["m", "n"],
    )
    assert [counts(row) for row in rows] == [(4, 4, 0, 0), (4, 3, 1, 0)]


def test_repeat_is_counted_at_draw_one_and_later_draws_count_nowhere() -> None:
    first = [asked(case) for case in CASE_IDS]
    again = [asked(case, REPEAT, draw=1) for case in CASE_IDS]
    later = [asked(case, REPEAT, draw=2) for case in CASE_IDS] + [asked("c1", BASE, draw=3)]
    outcomes = [ended(trial) for trial in first + again] + [ended(trial, "ERROR") for trial in later]
    assert counts(flow([], first + again + later, outcomes)) == (4, 4, 0, 0)
    assert counts(flow([], first + again + later, outcomes, REPEAT)) == (4, 4, 0, 0)


def test_a_case_is_an_error_of_an_arm_if_any_of_its_variants_is() -> None:
    trials = [asked(case, SWAP, variant) for case in CASE_IDS for variant in ("1", "2")]
    outcomes = [ended(trial) for trial in trials]
    outcomes[3]["outcome_status"] = "ERROR"
    assert counts(flow([], trials, outcomes, SWAP)) == (4, 3, 0, 1)


def test_a_model_has_logprob_rows_exactly_if_a_decision_was_read_from_its_log_probabilities() -> None:
    trials = [asked(case) for case in CASE_IDS]
    text = [ended(trial, model=model) for trial in trials for model in ("with", "without")]
    logprob = [ended(trial, readout="logprob", model="with") for trial in trials]
    rows = account(CASE_IDS, [], trials, text + logprob, [BASE], ["with", "without"])
    assert [(row["model"], row["readout"]) for row in rows] == [
        ("with", "text"),
        ("with", "logprob"),
        ("without", "text"),
    ]


def test_a_failed_request_is_an_error_under_both_readouts_wherever_its_rows_lie() -> None:
    trials = [asked(case) for case in CASE_IDS]
    outcomes = [ended(trials[0], "ERROR")]
    outcomes += [ended(trial, readout=readout) for trial in trials[1:] for readout in ("text", "logprob")]
    rows = account(CASE_IDS, [], trials, outcomes, [BASE], ["m"])
    assert {row["readout"]: counts(row) for row in rows} == {"text": (4, 3, 0, 1), "logprob": (4, 3, 0, 1)}


@pytest.mark.parametrize(
    ("exclusions", "trials", "answered", "message"),
    [
        ([], CASE_IDS[:3], 3, "4 cases in, 3 analysed, 0 excluded, 0 ERROR; 1 neither asked nor excluded"),
        ([], CASE_IDS, 2, "4 cases in, 2 analysed, 0 excluded, 0 ERROR; .* 2 asked without an outcome"),
        ([left_out("c1", "slice_volumes", "constant")], CASE_IDS, 4, "1 excluded as a whole but asked"),
        ([], [*CASE_IDS, "stranger"], 5, "1 asked but not in the cohort"),
        ([left_out("c4", "compose_trials", "no_lesion", REMOVED)], CASE_IDS[:3], 3, "1 neither asked nor excluded"),
    ],
)
def test_a_case_that_is_lost_or_counted_twice_stops_the_study_with_counts(
    exclusions: list[Row], trials: list[str], answered: int, message: str
) -> None:
    made = [asked(case) for case in trials]
    with pytest.raises(StudyError, match=message) as error:
        flow(exclusions, made, [ended(trial) for trial in made[:answered]])
    assert not any(case in str(error.value) for case in (*CASE_IDS, "stranger"))


FATES = ("ANSWERED", "UNSURE", "TRUNCATED", "ERROR", "whole", "arm")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(FATES), min_size=1, max_size=12))
def test_the_account_gives_back_the_fates_it_was_made_from(fates: list[str]) -> None:
    cases = [f"c{number}" for number in range(len(fates))]
    exclusions, trials, outcomes = [], [], []
    for case, fate in zip(cases, fates, strict=True):
        if fate in ("whole", "arm"):
            exclusions.append(left_out(case, "compose_trials", "no_change", None if fate == "whole" else BASE))
        else:
            trials.append(asked(case))
            outcomes.append(ended(trials[-1], fate))
    [row] = account(cases, exclusions, trials, outcomes, [BASE], ["m"])
    out, errors = fates.count("whole") + fates.count("arm"), fates.count("ERROR")
    assert counts(row) == (len(fates), len(fates) - out - errors, out, errors)


def test_the_stage_writes_the_same_account_however_its_inputs_are_split(tmp_path: Path) -> None:
    case = {
        **dict.fromkeys(CASES.schema.names),
        "annotation_kind": "none",
        "covariates": {},
        "texts": {},
        "deidentified": "yes",
        "source_digest": digest_json("s"),
    }
    write_table(tmp_path / "cases.parquet", CASES, [{**case, "case_id": c, "patient_id": c} for c in CASE_IDS])
    whole = {
        **dict.fromkeys(TRIALS.schema.names),
        "item_id": digest_json("i"),
        "cluster_id": "p",
        "variant": "",
        "replicate": 0,
        "round": 1,
        "images": [],
        "messages": [],
        "options": [],
        "symbols": [],
        "strata": {},
    }
    trials = [{**whole, **asked(c)} for c in CASE_IDS[:3]]
    outcome = {**dict.fromkeys(OUTCOMES.schema.names), "answer_kind": "choice", "scores": []}
    outcomes = [
        {**outcome, **ended(row, status)} for row, status in zip(trials, ["REFUSED", "ERROR", "UNPARSED"], strict=True)
    ]
    exclusions = [left_out("c4", "slice_volumes", "constant")]
    flows = []
    for parts in (1, 3):
        files: dict[str, list[Path]] = {}
        for name, contract, rows in (
            ("trials", TRIALS, trials),
            ("outcomes", OUTCOMES, outcomes),
            ("exclusions", EXCLUSIONS, exclusions),
        ):
            files[name] = [tmp_path / f"{name}{parts}{part}.parquet" for part in range(parts)]
            for part, path in enumerate(files[name]):
                write_table(path, contract, rows[part::parts])
        account_cases(
            Files({"cases": tmp_path / "cases.parquet", **files}),
            Files({"flow": tmp_path / "flow.parquet"}),
            AccountCasesSettings(arms=ArmsConfig(enabled=(BASE,)), models=("m",)),
            {},
        )
        flows.append(read_rows(tmp_path / "flow.parquet", FLOW))
    assert flows[0] == flows[1]
    assert [counts(row) for row in flows[0]] == [(4, 2, 1, 1)]
