"""Stage `check_sensitivity`: every tested contrast once more, by generalized estimating equations.

Which contrasts are tested is read off the estimates: a new one is covered as soon as it carries a p
and `OUTCOMES` says what its event is.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from ..config.base import Section
from ..contracts.enums import ArmName, Denominator, EstimateStatus, Metric, Unit
from ..contracts.files import read_rows, read_table, write_table
from ..contracts.tables import CASES, ESTIMATES, OUTCOMES, SENSITIVITY, TRIALS
from ..stages.job import Files
from .accuracy import right
from .estimand import Term
from .flips import flips
from .gee import GEE_METHOD, OddsRatio, Side, odds_ratio
from .overcommitment import share_of
from .reading import OUTCOME_COLUMNS, Reading, readings_of
from .trial_index import CASE_COLUMNS, TRIAL_COLUMNS, index_trials

_LOG = logging.getLogger(__name__)
_DIGITS = 8
"""Decimals kept: the fit is iterative, and the order in which a library adds shows beyond them."""


def _right(reading: Reading, arm: ArmName, denominator: Denominator) -> Term:
    del denominator
    return right(reading, arm)


def _committed(reading: Reading, arm: ArmName, denominator: Denominator) -> Term:
    del denominator
    return share_of(reading, arm, reading.codes.categorical(reading.arm(arm)))


OUTCOMES_OF: Mapping[Metric, Callable[[Reading, ArmName, Denominator], Term]] = {
    Metric.ACCURACY_DIFFERENCE: _right,
    Metric.FLIP_DIFFERENCE: flips,
    Metric.OVERCOMMITMENT_DIFFERENCE: _committed,
}
"""The event that each side of a tested contrast is a mean of."""


class CohortLabels(Section):
    """The part of section `cohort` that matters here."""

    labels: tuple[str, ...]
    """The diagnostic labels in canonical order."""


class SensitivityStatistics(Section):
    """The part of section `statistics` that matters here."""

    confidence: float
    """Confidence of every interval; its complement is the level."""
    min_patients_with_event: int
    """Patients whose paired outcomes must differ."""


class CheckSensitivitySettings(Section):
    """What the stage depends on."""

    cohort: CohortLabels
    """The labels."""
    models: tuple[str, ...]
    """The models that were asked."""
    statistics: SensitivityStatistics
    """Confidence, and when there are too few events."""


def check_sensitivity(
    inputs: Files, outputs: Files, settings: CheckSensitivitySettings, wildcards: Mapping[str, str]
) -> None:
    """Fit a marginal model to every contrast that carries a p.

    Parameters
    ----------
    inputs
        `cases`, `trials` (all shards), `outcomes` (all models and groups), `estimates`.
    outputs
        `sensitivity`.

    Raises
    ------
    StudyError
        If trials and outcomes do not belong together, or a model was not asked.
    """
    rows = sensitivity_rows(
        read_table(inputs.all("trials"), TRIALS, TRIAL_COLUMNS),
        read_table(inputs.all("cases"), CASES, CASE_COLUMNS),
        read_table(inputs.all("outcomes"), OUTCOMES, OUTCOME_COLUMNS),
        read_rows(inputs.all("estimates"), ESTIMATES),
        settings,
        wildcards["study"],
    )
    write_table(outputs.one("sensitivity"), SENSITIVITY, rows)


def sensitivity_rows(
    trials: pa.Table,
    cases: pa.Table,
    outcomes: pa.Table,
    estimates: Iterable[Mapping[str, Any]],
    settings: CheckSensitivitySettings,
    study: str,
) -> list[dict[str, Any]]:
    """The rows of the sensitivity table; tables need only the columns that are read, in any order."""
    contrasts = contrasts_with_p(estimates)
    if not contrasts:
        return []
    index = index_trials(trials, cases, settings.cohort.labels)
    rows = []
    for model, readings in readings_of(index, outcomes, settings.models):
        for row in contrasts:
            if row["model"] == model:
                found = _fitted(row, readings[row["readout"]], settings.statistics)
                rows.append(_row(study, row, found, 1 - settings.statistics.confidence))
        _LOG.info("the tested contrasts of model %s are fitted", model)
    return rows


def contrasts_with_p(estimates: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Differences between two arms, of one model over the whole cohort, that carry a p."""
    return [
        row
        for row in estimates
        if row["p"] is not None
        and row["stratum"] == "all"
        and row["reference_model"] is None
        and None not in (row["arm"], row["reference_arm"])
        and Metric(row["metric"]).unit is Unit.POINTS
    ]


def _fitted(row: Mapping[str, Any], reading: Reading, rules: SensitivityStatistics) -> OddsRatio:
    event = OUTCOMES_OF.get(Metric(row["metric"]))
    if event is None or row["variant"] is not None:
        reason = f"no event is defined for {row['metric']}" + (f", {row['variant']}" if row["variant"] else "")
        return OddsRatio(row["n"], row["clusters"], status=EstimateStatus.UNDEFINED, reason=reason)
    denominator = Denominator(row["denominator"])
    first, second = (_side(reading, ArmName(row[name]), denominator, event) for name in ("arm", "reference_arm"))
    found = odds_ratio(first, second, reading.units.starts, rules.confidence, rules.min_patients_with_event)
    if row["n_error"] and found.status is not EstimateStatus.UNDEFINED:
        also = f"; {found.reason}" if found.reason else ""
        reason = f"answers of {row['n_error']} cases ended in an ERROR and are left out{also}"
        return replace(found, status=EstimateStatus.INCOMPLETE, reason=reason)
    return found


def _side(
    reading: Reading,
    arm: ArmName,
    denominator: Denominator,
    event: Callable[[Reading, ArmName, Denominator], Term],
) -> Side:
    """An arm's outcomes, each variant and replicate apart: a mean over one variant is its outcome."""
    terms = [event(_alone(reading, column), arm, denominator) for column in reading.of_arm(arm)]
    if not terms:
        nothing = np.zeros((len(reading.units.item_ids), 1), dtype=bool)
        return Side(nothing, nothing, arm.value)
    happened, counted = (
        np.stack(parts, axis=1) for parts in ([t.value > 0.5 for t in terms], [t.counted for t in terms])
    )
    return Side(happened, counted, arm.value)


def _alone(reading: Reading, column: int) -> Reading:
    """The same reading with base and one more presentation."""
    kept = sorted({*reading.of_arm(ArmName.BASE), column})
    return replace(
        reading,
        columns=tuple(reading.columns[number] for number in kept),
        option_logprobs={},
        **{
            name: getattr(reading, name)[:, kept]
            for name in ("decisions", "slots", "draws", "lost_draws", "confidence", "places")
        },
    )


def _row(study: str, row: Mapping[str, Any], found: OddsRatio, level: float) -> dict[str, Any]:
    copied = ("model", "readout", "metric", "denominator", "arm", "variant", "reference_arm")
    return {
        "study": study,
        **{name: row[name] for name in copied},
        "n": found.n,
        "clusters": found.clusters,
        "odds_ratio": _rounded(found.value),
        "low": _rounded(found.low),
        "high": _rounded(found.high),
        "p": _rounded(found.p),
        "p_primary": row["p"],
        "level": _rounded(level),
        "agrees": None if found.p is None else (found.p <= level) == (row["p"] <= level),
        "estimate_status": found.status.value,
        "reason": found.reason,
        "method": GEE_METHOD,
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, _DIGITS)
