"""Responses of readers with known answers become the outcomes that must follow."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steadyread.answers.score import ScoreSettings, confidence, decide, outcomes, score
from steadyread.config.question import QuestionConfig
from steadyread.contracts.enums import OutcomeStatus
from steadyread.contracts.files import read_rows, write_table
from steadyread.contracts.problems import StudyError
from steadyread.contracts.tables import OUTCOMES, RESPONSES, TRIALS
from steadyread.identity.digests import digest_json
from steadyread.stages.job import Files

SHOWN = ("GBM", "MET", "UNSURE")
SWAPPED = ("MET", "GBM", "UNSURE")
LIKELY = [-0.1, -3.0, -4.0]
Row = dict[str, Any]


def trial(name: str, options: tuple[str, ...] = SHOWN, label: str | None = "GBM", **changes: Any) -> Row:
    """A trial under the made-up name `name`."""
    return {
        **dict.fromkeys(TRIALS.schema.names),
        "trial_id": digest_json(name),
        "item_id": digest_json("item"),
        "case_id": "c1",
        "cluster_id": "p1",
        "arm": "base",
        "variant": "",
        "replicate": 0,
        "draw": 0,
        "round": 1,
        "images": [],
        "messages": [],
        "options": list(options),
        "symbols": list("ABCDEFGH"[: len(options)]),
        "strata": {} if label is None else {"label": label},
        **changes,
    }


def response(name: str, text: str = "A", logprobs: list[float] | None = None, **changes: Any) -> Row:
    """The response to that trial."""
    return {
        **dict.fromkeys(RESPONSES.schema.names),
        "trial_id": digest_json(name),
        "request_key": digest_json(["key", name]),
        "draw": 0,
        "model_id": "m",
        "text": text,
        "option_logprobs": logprobs,
        "mass_outside_options": None if logprobs is None else 0.25,
        "images_seen": 0,
        "finish_reason": "stop",
        "engine": "e",
        "prompt_digest": digest_json("p"),
        "weights_digest": digest_json("w"),
        **changes,
    }


def failed(name: str) -> Row:
    return response(name, "", finish_reason="error", error="out of memory")


def read(trials: list[Row], responses: list[Row]) -> dict[tuple[str, str], Row]:
    """Outcomes by trial and readout, held against the contract."""
    rows = outcomes(trials, responses, {})
    OUTCOMES.from_rows(rows)
    return {(row["trial_id"], row["readout"]): row for row in rows}


def one(options: tuple[str, ...] = SHOWN, label: str | None = "GBM", **answer: Any) -> tuple[Row, Row]:
    """Both outcomes of one response."""
    found = read([trial("t", options, label)], [response("t", **answer)])
    return found[digest_json("t"), "text"], found[digest_json("t"), "logprob"]


def test_a_reader_bound_to_the_first_slot_changes_its_label_when_the_labels_swap() -> None:
    for text in ("A", "(A).", "The answer is A."):
        straight = one(SHOWN, text=text, logprobs=LIKELY)
        swapped = one(SWAPPED, text=text, logprobs=LIKELY)
        assert [row["label"] for row in straight] == ["GBM", "GBM"]
        assert [row["label"] for row in swapped] == ["MET", "MET"]
        assert {row["slot"] for row in (*straight, *swapped)} == {0}


def test_a_reader_bound_to_a_label_keeps_it_and_changes_its_slot() -> None:
    straight = one(SHOWN, text="GBM", logprobs=[-0.1, -3, -4])
    swapped = one(SWAPPED, text="GBM", logprobs=[-3, -0.1, -4])
    assert {row["label"] for row in (*straight, *swapped)} == {"GBM"}
    assert [row["slot"] for row in (*straight, *swapped)] == [0, 0, 1, 1]


def test_the_third_slot_is_the_abstain_option_before_and_after_the_swap() -> None:
    for options in (SHOWN, SWAPPED):
        for row in one(options, text="C", logprobs=[-5, -5, -0.1]):
            assert (row["outcome_status"], row["label"], row["slot"]) == ("UNSURE", "UNSURE", 2)


def test_log_probabilities_answer_where_the_text_does_not() -> None:
    text, logprob = one(text="The slices show a brain.", logprobs=LIKELY)
    assert (text["outcome_status"], text["label"], text["confidence"]) == ("UNPARSED", None, None)
    assert (logprob["outcome_status"], logprob["label"]) == ("ANSWERED", "GBM")


def test_text_and_log_probabilities_may_disagree_and_each_has_its_own_confidence() -> None:
    text, logprob = one(text="B", logprobs=[math.log(0.6), math.log(0.3), math.log(0.1)])
    assert (text["label"], logprob["label"]) == ("MET", "GBM")
    assert text["confidence"] == pytest.approx(0.3)
    assert logprob["confidence"] == pytest.approx(0.6)
    assert text["mass_outside_options"] == logprob["mass_outside_options"] == 0.25


def test_an_exact_tie_falls_to_the_same_label_in_every_slot() -> None:
    for options in (SHOWN, SWAPPED, ("UNSURE", "MET", "GBM")):
        assert decide(options, [-1.0, -1.0, -1.0]).label == "GBM"
    assert decide(("MET", "UNSURE", "GBM"), [-1.0, -1.0, -2.0]).label == "MET"


@given(st.permutations(range(4)), st.lists(st.sampled_from([-3.0, -2.0, -1.0, -math.inf]), min_size=4, max_size=4))
def test_the_decision_follows_the_content_however_the_options_are_shown(order: list[int], values: list[float]) -> None:
    labels = ["d", "b", "UNSURE", "a"]
    straight = decide(labels, values)
    shown = decide([labels[k] for k in order], [values[k] for k in order])
    assert (straight.status, straight.label) == (shown.status, shown.label)
    assert confidence(straight.slot, values) == pytest.approx(confidence(shown.slot, [values[k] for k in order]))


@given(st.lists(st.floats(-700, 0), min_size=2, max_size=6))
def test_confidences_over_all_options_sum_to_one_and_the_decision_has_the_largest(values: list[float]) -> None:
    shares = [confidence(slot, values) or 0.0 for slot in range(len(values))]
    labels = [f"label{k}" for k in range(len(values))]
    assert math.fsum(shares) == pytest.approx(1)
    assert shares[decide(labels, values).slot or 0] == max(shares)


@given(st.lists(st.floats(-50, 0), min_size=3, max_size=3), st.floats(-20, 20))
def test_what_lies_outside_the_options_does_not_change_the_confidence(values: list[float], shift: float) -> None:
    assert confidence(1, values) == pytest.approx(confidence(1, [value + shift for value in values]))


@pytest.mark.parametrize("broken", [[math.nan, -1.0, -2.0], [math.inf, -1.0, -2.0], [-math.inf] * 3])
def test_an_overflow_is_the_machines_fault_and_no_decision(broken: list[float]) -> None:
    assert decide(SHOWN, broken).status is OutcomeStatus.ERROR
    assert confidence(0, broken) is None


def test_a_model_without_log_probabilities_has_no_logprob_rows() -> None:
    found = read([trial("t"), trial("u")], [response("t"), failed("u")])
    assert sorted(readout for _, readout in found) == ["text", "text"]


def test_a_failed_request_is_an_error_under_each_readout_the_model_offers() -> None:
    found = read([trial("t"), trial("u")], [response("t", logprobs=LIKELY), failed("u")])
    for readout in ("text", "logprob"):
        row = found[digest_json("u"), readout]
        assert (row["outcome_status"], row["label"], row["scores"]) == ("ERROR", None, [])


def test_a_response_that_lost_its_log_probabilities_is_an_error_under_that_readout_alone() -> None:
    found = read([trial("t"), trial("u")], [response("t", logprobs=LIKELY), response("u")])
    assert found[digest_json("u"), "text"]["outcome_status"] == "ANSWERED"
    assert found[digest_json("u"), "logprob"]["outcome_status"] == "ERROR"


@pytest.mark.parametrize(
    ("text", "value"), [("A", 1.0), ("B", 0.0), ("C", 0.0), ("I can't provide a diagnosis.", 0.0), ("hm", 0.0)]
)
def test_every_decision_is_scored_against_a_known_label(text: str, value: float) -> None:
    found = one(text=text, logprobs=LIKELY)[0]
    assert found["scores"] == [{"key": "label", "metric": "correct", "value": value}]


def test_nothing_is_scored_where_the_label_is_unknown() -> None:
    assert all(row["scores"] == [] for row in one(label=None, text="A", logprobs=LIKELY))


def test_an_answer_cut_at_the_limit_is_truncated() -> None:
    assert (
        one(text="The lesion in the left", logprobs=LIKELY, finish_reason="length")[0]["outcome_status"] == "TRUNCATED"
    )


def test_a_response_without_its_trial_and_a_trial_without_its_response_stop_with_counts() -> None:
    with pytest.raises(StudyError, match="1 responses without their trial and draw, 0 trials"):
        outcomes([trial("t")], [response("t"), response("u")], {})
    with pytest.raises(StudyError, match="0 responses without their trial and draw, 2 trials"):
        outcomes([trial("t"), trial("u"), trial("v")], [response("t")], {})
    with pytest.raises(StudyError, match="1 responses without their trial and draw, 1 trials"):
        outcomes([trial("t", draw=1)], [response("t", draw=0)], {})


def test_trials_of_other_models_ask_nothing_of_this_one() -> None:
    trials = [trial("t"), trial("u", model_id="other"), trial("v", model_id="m")]
    found = read(trials, [response("t"), response("v")])
    assert {key for key, _ in found} == {digest_json("t"), digest_json("v")}


def test_responses_of_two_models_are_refused() -> None:
    with pytest.raises(StudyError, match="expected those of 'm' alone"):
        outcomes([trial("t")], [response("t"), response("t", model_id="n")], {}, "m")


def test_log_probabilities_of_another_number_of_options_are_refused() -> None:
    with pytest.raises(StudyError, match="2 option log-probabilities, its trial shows 3"):
        outcomes([trial("t")], [response("t", logprobs=[-1.0, -2.0])], {})


def run(folder: Path, project: Path, trials: list[list[Row]], responses: list[Row], name: str) -> list[Row]:
    """The stage itself over files: shards of trials, one file of responses."""
    shards = [folder / f"{name}{number}.parquet" for number in range(len(trials))]
    for path, rows in zip(shards, trials, strict=True):
        write_table(path, TRIALS, rows)
    write_table(folder / "responses.parquet", RESPONSES, responses)
    inputs = Files(
        {
            "trials": shards,
            "responses": folder / "responses.parquet",
            "prompt": project / "config" / "prompts" / "diagnose_brain_mri.yaml",
        }
    )
    outputs = Files({"outcomes": folder / "outcomes.parquet"})
    score(inputs, outputs, ScoreSettings(question=QuestionConfig()), {"model": "m", "group": "0"})
    return read_rows(folder / "outcomes.parquet", OUTCOMES)


def test_the_stage_reads_the_prompts_synonyms_and_no_number_depends_on_the_shards(
    tmp_path: Path, project: Path
) -> None:
    trials = [trial("t"), trial("u", SWAPPED), trial("v")]
    responses = [response("t", "Glioblastoma."), response("u", "brain metastases"), response("v", "undetermined")]
    together = run(tmp_path, project, [trials], responses, "one")
    apart = run(tmp_path, project, [[trials[2]], [trials[0]], [], [trials[1]]], responses[::-1], "more")
    assert {row["label"] for row in together} == {"GBM", "MET", "UNSURE"}
    assert together == apart


def test_the_prompt_of_another_question_is_refused(tmp_path: Path, project: Path) -> None:
    inputs = Files(
        {"prompt": project / "config" / "prompts" / "diagnose_brain_mri.yaml", "trials": [], "responses": []}
    )
    settings = ScoreSettings(question=QuestionConfig(prompt="another"))
    with pytest.raises(StudyError, match=r"question\.prompt is 'another'"):
        score(inputs, Files({"outcomes": tmp_path / "o.parquet"}), settings, {"model": "m"})
