"""Stage `score`: responses → outcomes, one row per response and readout (PROTOCOLS 0.1, 0.2, 0.5).

Decisions this stage takes:

* `text` is the parsed answer (`parse_choice`); `logprob` the option with the largest log-probability.
  Exactly equal log-probabilities are decided by content, never by slot: the label first in sorted order.
* A model offers log-probabilities if any response of the file has them. Then every response gets a
  logprob row, so that the account of cases holds: ERROR where the request failed, and ERROR where this
  one came without usable log-probabilities (the engine's fault, not an answer). Else none does.
* `confidence` is the probability of the decision, renormalised over all shown options; null where
  nothing was decided, the decision was not shown, or no log-probabilities came.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..config.base import Section
from ..config.prompt import load_prompt
from ..config.question import QuestionConfig
from ..config.words import UNSURE
from ..contracts.enums import AnswerKind, FinishReason, OutcomeStatus, Readout
from ..contracts.files import read_rows, read_table, write_table
from ..contracts.problems import StudyError
from ..contracts.tables import OUTCOMES, RESPONSES, TRIALS
from ..stages.job import Files
from .parse import ParsedAnswer, parse_choice

Row = Mapping[str, Any]
_TRIAL_COLUMNS = ("trial_id", "model_id", "draw", "options", "symbols", "strata")
_FAILED = ParsedAnswer(OutcomeStatus.ERROR)


class ScoreSettings(Section):
    """What stage `score` sees of the configuration."""

    question: QuestionConfig
    """What was asked; its prompt names the synonyms."""


def score(inputs: Files, outputs: Files, settings: ScoreSettings, wildcards: Mapping[str, str]) -> None:
    """Write the outcomes of one model's responses.

    Inputs: `trials` (the group's shards), `responses` (one model), `prompt`. Output: `outcomes`.

    Raises
    ------
    StudyError
        If a response answers no trial, a trial of this model has no response, or the prompt is not
        the question's: with counts.
    """
    prompt = load_prompt(inputs.one("prompt"))
    if prompt.name != settings.question.prompt:
        raise StudyError(f"prompt {prompt.name!r} was handed over, but question.prompt is {settings.question.prompt!r}")
    trials = read_table(inputs.all("trials"), TRIALS, _TRIAL_COLUMNS).to_pylist()
    responses = read_rows(inputs.all("responses"), RESPONSES)
    write_table(outputs.one("outcomes"), OUTCOMES, outcomes(trials, responses, prompt.synonyms, wildcards.get("model")))


def outcomes(
    trials: Sequence[Row], responses: Sequence[Row], synonyms: Mapping[str, Sequence[str]], model: str | None = None
) -> list[dict[str, Any]]:
    """Outcome rows of one model's responses.

    `model` is its id; left out, it is the one that the responses name.
    """
    by_id = match(trials, responses, model)
    offered = any(row["option_logprobs"] is not None for row in responses)
    rows: list[dict[str, Any]] = []
    for response in responses:
        trial = by_id[response["trial_id"]]
        rows += _rows(trial, response, synonyms, offered)
    return rows


def match(trials: Sequence[Row], responses: Sequence[Row], model: str | None) -> dict[str, Row]:
    """The trials of this model by id, after checking that trials and responses belong together.

    Raises
    ------
    StudyError
        With the counts of responses without a trial, trials without a response, other models.
    """
    named = {row["model_id"] for row in responses}
    model = next(iter(named)) if model is None and len(named) == 1 else model
    if named - {model}:
        raise StudyError(f"responses of {len(named)} model(s) {sorted(named)}, expected those of {model!r} alone")
    by_id = {row["trial_id"]: row for row in trials if row["model_id"] in (None, model)}
    asked = {(row["trial_id"], row["draw"]) for row in by_id.values()}
    answered = {(row["trial_id"], row["draw"]) for row in responses}
    if asked != answered:
        raise StudyError(
            f"model {model!r}: {len(asked)} trials and {len(answered)} responses do not match: "
            f"{len(answered - asked)} responses without their trial and draw, {len(asked - answered)} trials "
            "without a response. The responses belong to other trials: run `infer` again for this group."
        )
    for row in responses:
        given, shown = row["option_logprobs"], by_id[row["trial_id"]]["options"]
        if given is not None and len(given) != len(shown):
            raise StudyError(
                f"model {model!r}: a response has {len(given)} option log-probabilities, its trial shows "
                f"{len(shown)} options. They must stand in shown order, one each: mend the backend."
            )
    return by_id


def decide(options: Sequence[str], logprobs: Sequence[float] | None) -> ParsedAnswer:
    """The option with the largest log-probability; ERROR where there is none to compare.

    Exact ties go to the label first in sorted order. NaN and +inf (an overflow in half precision)
    are no log-probabilities.
    """
    if logprobs is None or not _usable(logprobs):
        return _FAILED
    best = max(logprobs)
    label = min(option for option, value in zip(options, logprobs, strict=True) if value == best)
    status = OutcomeStatus.UNSURE if label == UNSURE else OutcomeStatus.ANSWERED
    return ParsedAnswer(status, label, list(options).index(label))


def confidence(slot: int | None, logprobs: Sequence[float] | None) -> float | None:
    """Probability of the decision in [0, 1], renormalised over all shown options; null if not offered."""
    if slot is None or logprobs is None or not _usable(logprobs):
        return None
    best = max(logprobs)
    weights = [math.exp(value - best) for value in logprobs]
    return weights[slot] / math.fsum(weights)


def _usable(logprobs: Sequence[float]) -> bool:
    return not any(math.isnan(value) or value == math.inf for value in logprobs) and max(logprobs) > -math.inf


def _rows(trial: Row, response: Row, synonyms: Mapping[str, Sequence[str]], offered: bool) -> Iterator[dict[str, Any]]:
    failed = response["error"] is not None
    text = (
        _FAILED
        if failed
        else parse_choice(
            response["text"], trial["options"], trial["symbols"], synonyms, FinishReason(response["finish_reason"])
        )
    )
    yield _row(trial, response, Readout.TEXT, text)
    if offered:
        decision = _FAILED if failed else decide(trial["options"], response["option_logprobs"])
        yield _row(trial, response, Readout.LOGPROB, decision)


def _row(trial: Row, response: Row, readout: Readout, answer: ParsedAnswer) -> dict[str, Any]:
    reference = dict(trial["strata"]).get("label")
    counted = reference is not None and answer.status is not OutcomeStatus.ERROR
    return {
        "trial_id": response["trial_id"],
        "model_id": response["model_id"],
        "draw": response["draw"],
        "readout": readout.value,
        "outcome_status": answer.status.value,
        "answer_kind": AnswerKind.CHOICE.value,
        "label": answer.label,
        "slot": answer.slot,
        "box": None,
        "value": None,
        "option_logprobs": response["option_logprobs"],
        "confidence": confidence(answer.slot, response["option_logprobs"]),
        "mass_outside_options": response["mass_outside_options"],
        # Every status but ERROR is a decision; only the right label is right.
        "scores": [{"key": "label", "metric": "correct", "value": float(answer.label == reference)}] if counted else [],
    }
