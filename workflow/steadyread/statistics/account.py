"""Stage `account_cases`: every case in is analysed, excluded or ERROR (DESIGN, exclusions).

Per model, readout and arm. A case counts once:

* **analysed**: it has trials of the arm at the arm's first draw (`repeat`: draw 1, every other arm:
  draw 0), and all of them, over variants and replicates, have an outcome other than ERROR;
* **ERROR**: any of these outcomes is ERROR;
* **excluded**: it has no such trial and an exclusion says why: one of the whole case before one of
  the arm, the earliest stage first, then the reason first in the alphabet.

An arm's exclusion beside trials of that arm (one of several variants left out) leaves the case analysed.
A case that is none of these, or that was excluded as a whole and asked all the same, stops the study.
A readout that a model never offered (no outcome but ERROR in log-probabilities) has no rows.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..arms.registry import ARMS
from ..config.arms import ArmsConfig
from ..config.base import Section
from ..contracts.enums import ArmName, OutcomeStatus, Readout
from ..contracts.files import read_table, write_table
from ..contracts.problems import StudyError
from ..contracts.tables import CASES, EXCLUSIONS, FLOW, OUTCOMES, TRIALS
from ..stages.job import Files

Row = Mapping[str, Any]
EXCLUDING_STAGES = ("register_cohort", "slice_volumes", "mark_lesions", "compose_trials", "infer")
"""Stages that leave cases out, in the order of the data's way; the first that does so counts."""
_STAGE_ORDER = {name: number for number, name in enumerate(EXCLUDING_STAGES)}
_TRIAL_COLUMNS = ("trial_id", "case_id", "arm", "draw", "model_id")
_OUTCOME_COLUMNS = ("trial_id", "model_id", "draw", "readout", "outcome_status")


class AccountCasesSettings(Section):
    """What stage `account_cases` sees of the configuration."""

    arms: ArmsConfig
    """The arms to account for."""
    models: tuple[str, ...]
    """Ids of the study's models."""


def account_cases(inputs: Files, outputs: Files, settings: AccountCasesSettings, wildcards: Mapping[str, str]) -> None:
    """Write the account of cases.

    Inputs: `cases`, `exclusions` (all stages), `trials` (all shards), `outcomes` (all models and
    groups). Output: `flow`.

    Raises
    ------
    StudyError
        If cases in ≠ analysed + excluded + ERROR for a model, readout and arm: with counts.
    """
    cases = read_table(inputs.one("cases"), CASES, ["case_id"])["case_id"].to_pylist()
    exclusions = read_table(inputs.all("exclusions"), EXCLUSIONS).to_pylist()
    trials = read_table(inputs.all("trials"), TRIALS, _TRIAL_COLUMNS).to_pylist()
    outcomes = read_table(inputs.all("outcomes"), OUTCOMES, _OUTCOME_COLUMNS).to_pylist()
    rows = account(cases, exclusions, trials, outcomes, settings.arms.enabled, settings.models)
    write_table(outputs.one("flow"), FLOW, rows)


def account(
    cases: Sequence[str],
    exclusions: Sequence[Row],
    trials: Sequence[Row],
    outcomes: Sequence[Row],
    arms: Sequence[ArmName],
    models: Sequence[str],
) -> list[dict[str, Any]]:
    """Flow rows from rows of cases (ids), exclusions, trials and outcomes."""
    statuses: dict[tuple[str, str], dict[tuple[str, int], str]] = defaultdict(dict)
    for row in outcomes:
        statuses[row["model_id"], row["readout"]][row["trial_id"], row["draw"]] = row["outcome_status"]
    rows = []
    for model in models:
        asked = _asked(trials, model)
        reasons = _reasons(exclusions, model)
        for readout in offered_readouts(outcomes, model):
            for arm in arms:
                found = {**_failed(statuses[model, Readout.TEXT.value]), **statuses[model, readout.value]}
                rows.append(_flow_row(cases, asked.get(arm.value, {}), reasons, found, (model, readout, arm)))
    return rows


def _failed(statuses: Mapping[tuple[str, int], str]) -> dict[tuple[str, int], str]:
    """Failed requests fail under every readout, also where none of a file's requests came through."""
    return {key: status for key, status in statuses.items() if status == OutcomeStatus.ERROR.value}


def offered_readouts(outcomes: Iterable[Row], model: str) -> tuple[Readout, ...]:
    """The readouts of a model: text always, log-probabilities where any decision was read from them."""
    read = any(
        row["model_id"] == model
        and row["readout"] == Readout.LOGPROB.value
        and row["outcome_status"] != OutcomeStatus.ERROR.value
        for row in outcomes
    )
    return (Readout.TEXT, Readout.LOGPROB) if read else (Readout.TEXT,)


def _asked(trials: Iterable[Row], model: str) -> dict[str, dict[str, list[tuple[str, int]]]]:
    """arm → case → (trial, draw) of this model at the arm's first draw."""
    asked: dict[str, dict[str, list[tuple[str, int]]]] = defaultdict(lambda: defaultdict(list))
    for row in trials:
        if row["model_id"] in (None, model) and row["draw"] == ARMS[ArmName(row["arm"])].draw:
            asked[row["arm"]][row["case_id"]].append((row["trial_id"], row["draw"]))
    return asked


def _reasons(exclusions: Iterable[Row], model: str) -> dict[tuple[str, str | None], tuple[str, str]]:
    """(case, arm or None for all) → (stage, reason), the earliest stage's."""
    found: dict[tuple[str, str | None], tuple[str, str]] = {}
    for row in sorted(exclusions, key=lambda row: (_stage_rank(row["stage"]), row["reason"])):
        if row["model_id"] in (None, model):
            found.setdefault((row["case_id"], row["arm"]), (row["stage"], row["reason"]))
    return found


def _stage_rank(stage: str) -> tuple[int, str]:
    return (_STAGE_ORDER.get(stage, len(_STAGE_ORDER)), stage)


def _flow_row(
    cases: Sequence[str],
    asked: Mapping[str, Sequence[tuple[str, int]]],
    reasons: Mapping[tuple[str, str | None], tuple[str, str]],
    statuses: Mapping[tuple[str, int], str],
    names: tuple[str, Readout, ArmName],
) -> dict[str, Any]:
    model, readout, arm = names
    analysed = errors = unasked = unanswered = contradicted = 0
    excluded: Counter[tuple[str, str]] = Counter()
    for case in cases:
        whole = reasons.get((case, None))
        found = [statuses.get(key) for key in asked.get(case, ())]
        if found:
            contradicted += whole is not None
            if None in found:
                unanswered += 1
            elif OutcomeStatus.ERROR.value in found:
                errors += 1
            else:
                analysed += 1
        elif reason := whole or reasons.get((case, arm.value)):
            excluded[reason] += 1
        else:
            unasked += 1
    strangers = len(set(asked) - set(cases))
    if unasked or unanswered or contradicted or strangers:
        raise StudyError(
            f"the account of cases does not hold for model {model!r}, readout {readout.value}, arm {arm.value}: "
            f"{len(cases)} cases in, {analysed} analysed, {excluded.total()} excluded, {errors} ERROR; "
            f"{unasked} neither asked nor excluded, {unanswered} asked without an outcome, "
            f"{contradicted} excluded as a whole but asked, {strangers} asked but not in the cohort. "
            "A stage lost or added cases: rerun from register_cohort, and report it if it stays."
        )
    return {
        "model": model,
        "readout": readout.value,
        "arm": arm.value,
        "cases_in": len(cases),
        "analysed": analysed,
        "excluded": excluded.total(),
        "errors": errors,
        "reasons": [
            {"stage": stage, "reason": reason, "count": count}
            for (stage, reason), count in sorted(
                excluded.items(), key=lambda item: (_stage_rank(item[0][0]), item[0][1])
            )
        ],
    }
