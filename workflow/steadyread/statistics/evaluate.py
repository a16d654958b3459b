"""From estimands to rows of the estimates table: means, intervals, tests, bounds, statuses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..config.statistics import StatisticsConfig
from ..contracts.enums import Denominator, EstimateStatus, Metric
from .bootstrap import BOOTSTRAP, Resamples, percentile_interval
from .clusters import Bools, ClusterSums, Floats
from .estimand import Estimand, Term
from .permutation import MCNEMAR, SignFlips, mcnemar_p
from .power import minimum_detectable_difference
from .rates import WILSON, design_effect, share_intervals
from .trial_index import Units

_DIGITS = 12
"""Decimals kept: the order in which a linear-algebra library adds shows beyond them."""

_LATER = (
    *("value", "low", "high", "interval_method", "n_effective", "design_effect", "resamples"),
    *("bound_low", "bound_high", "test", "family", "p", "p_holm", "q_bh", "mde", "reason"),
)

_NOTHING = {
    Denominator.ALL: "no case was answered under {arms}",
    Denominator.BOTH_ANSWER_SET: "no case has a label or UNSURE in both of {arms}",
    Denominator.BOTH_CATEGORICAL: "no case has a label in both of {arms}",
    Denominator.BASE_CORRECT: "no case with a known label that base got right was answered under {arms}",
    Denominator.LABEL_KNOWN: "no case with a known label was answered under {arms}",
    Denominator.PAIRS_OF_DRAWS: "no request was asked twice under one of: {arms} (see inference.repeat_share)",
}


@dataclass(frozen=True)
class Draws:
    """The random draws that all estimates of a study share, and the rules they are used under."""

    rules: StatisticsConfig
    resamples: Resamples
    signs: SignFlips

    @classmethod
    def of(cls, rules: StatisticsConfig, patients: int, seed: int) -> Draws:
        """Draw for a study of so many patients; a function of the arguments alone."""
        return cls(
            rules,
            Resamples.draw(patients, rules.resamples, seed, "bootstrap"),
            SignFlips.draw(patients, rules.permutations, seed, "sign_flip"),
        )


def evaluate(estimands: Sequence[Estimand], units: Units, draws: Draws) -> list[dict[str, Any]]:
    """Estimate every estimand of one reading, in order.

    All means are taken at once as columns of one patients × terms matrix.

    Returns
    -------
    Rows of the estimates table without study, model and readout; `p_holm` and `q_bh` still null.
    """
    terms = list({id(term): term for estimand in estimands for term in estimand.terms}.values())
    if not terms:
        return []
    place = {id(term): column for column, term in enumerate(terms)}
    values = np.stack([term.value for term in terms], axis=1)
    counted = np.stack([term.counted for term in terms], axis=1)
    sums = ClusterSums.of(values, counted, units.starts)
    columns = _Columns(sums, draws.rules.confidence)
    resampled = _resampled(estimands, sums, place, draws)
    tests = _tests(estimands, sums, values, place, draws)
    rows = []
    for number, estimand in enumerate(estimands):
        chosen = [place[id(term)] for term in estimand.terms]
        row = _blank(estimand)
        _describe(row, estimand, columns, chosen)
        if estimand.difference:
            _spread(row, estimand, columns, chosen)
            if estimand.own_units:
                moved = _patients_apart(values, counted, units, chosen)
            else:
                moved = _patients_with_event(sums, chosen)
            _contrast(row, estimand, resampled.get(number), moved, draws.rules)
        else:
            _share(row, columns, chosen[0])
        if number in tests and row["value"] is not None:
            row["test"], row["p"] = tests[number]
            row["family"] = estimand.family
        _judge(row, estimand)
        rows.append({key: _plain(value) for key, value in row.items()})
    return rows


class _Columns:
    """Everything that is computed for all columns at once."""

    def __init__(self, sums: ClusterSums, confidence: float) -> None:
        self.sums = sums
        self.confidence = confidence
        self.n = sums.n
        self.clusters = sums.clusters
        self.mean = sums.mean
        self.low, self.high, self.effect, self.effective = share_intervals(sums, confidence)
        self.paired_effect = design_effect(sums, sums.unit_variance)
        self.mde = minimum_detectable_difference(sums.cluster_variance, sums.clusters, confidence)


def _blank(estimand: Estimand) -> dict[str, Any]:
    return {
        "reference_model": None,
        "arm": estimand.arm.value,
        "variant": estimand.variant,
        "parameter": None,
        "reference_arm": None if estimand.reference_arm is None else estimand.reference_arm.value,
        "arms": estimand.arms,
        "stratum": "all",
        "metric": estimand.metric.value,
        "denominator": estimand.denominator.value,
        **dict.fromkeys(_LATER),
        "estimate_status": EstimateStatus.OK.value,
        "mark": estimand.mark.value,
    }


def _describe(row: dict[str, Any], estimand: Estimand, columns: _Columns, chosen: list[int]) -> None:
    """Value, counts and the bounds that ERROR leaves."""
    # Of several terms the first says how many there are, except where two models count for themselves.
    counting = chosen if estimand.own_units else chosen[:1]
    row["n"] = int(columns.n[counting].min())
    row["clusters"] = int(columns.clusters[counting].min())
    row["n_error"] = int(np.logical_or.reduce([term.lost for term in estimand.terms]).sum())
    pairs = list(zip(estimand.coefficients, chosen, strict=True))
    value = sum(factor * columns.mean[column] for factor, column in pairs)
    row["value"] = None if math.isnan(value) else value
    if row["n_error"]:
        bounds = [_bounds(term) for term in estimand.terms]
        sides = [
            sum(
                factor * (bound[side] if factor > 0 else bound[1 - side])
                for factor, bound in zip(estimand.coefficients, bounds, strict=True)
            )
            for side in (0, 1)
        ]
        row["bound_low"], row["bound_high"] = sides


def _bounds(term: Term) -> tuple[float, float]:
    possible = term.counted | term.lost
    if not possible.any():
        return math.nan, math.nan
    return float(term.low[possible].mean()), float(term.high[possible].mean())


def _share(row: dict[str, Any], columns: _Columns, column: int) -> None:
    if row["value"] is None:
        return
    row["design_effect"], row["n_effective"] = columns.effect[column], columns.effective[column]
    if row["clusters"] < 2:
        _too_few(row, "one patient: no interval over patients")
        return
    row["low"], row["high"], row["interval_method"] = columns.low[column], columns.high[column], WILSON


def _spread(row: dict[str, Any], estimand: Estimand, columns: _Columns, chosen: list[int]) -> None:
    """Design effect and detectable difference; Δ, whose means run over unlike cases, has neither."""
    if row["value"] is None or row["metric"] == Metric.DELTA:
        return
    if not estimand.own_units:
        row["design_effect"] = columns.paired_effect[chosen[0]]
        row["n_effective"] = row["n"] / row["design_effect"]
        row["mde"] = columns.mde[chosen[0]]
        return
    variance = columns.sums.combined_variance(chosen, estimand.coefficients)
    groups = np.asarray([row["clusters"]])
    row["mde"] = minimum_detectable_difference(np.asarray([variance]), groups, columns.confidence)[0]


def _contrast(
    row: dict[str, Any], estimand: Estimand, resampled: Floats | None, moved: int, rules: StatisticsConfig
) -> None:
    if row["value"] is None or resampled is None:
        return
    needed = rules.min_patients_with_event
    if moved < needed or row["clusters"] < 2:
        whose = "the two models differ in" if estimand.own_units else "paired outcomes differ in"
        of = "" if estimand.own_units else f" of {row['clusters']}"
        _too_few(row, f"{whose} {moved}{of} patients, {needed} are needed")
        return
    low, high, valid = percentile_interval(resampled, row["value"], rules.confidence)
    row["low"], row["high"], row["resamples"], row["interval_method"] = low, high, valid, BOOTSTRAP


def _too_few(row: dict[str, Any], reason: str) -> None:
    row["estimate_status"], row["reason"] = EstimateStatus.TOO_FEW_EVENTS.value, reason


def _judge(row: dict[str, Any], estimand: Estimand) -> None:
    """The status that weighs most: undefined, then incomplete, then too few events."""
    if row["value"] is None:
        row["estimate_status"] = EstimateStatus.UNDEFINED.value
        row["reason"] = _NOTHING[estimand.denominator].format(arms=", ".join(estimand.arms))
        if row["n_error"]:
            row["reason"] += f"; {_errors(row['n_error'])}"
    elif row["n_error"]:
        also = f"; {row['reason']}" if row["reason"] else ""
        row["estimate_status"] = EstimateStatus.INCOMPLETE.value
        row["reason"] = f"{_errors(row['n_error'])}: the bounds say what could have been{also}"


def _errors(count: int) -> str:
    return f"{count} case{'' if count == 1 else 's'} with an ERROR"


def _resampled(
    estimands: Sequence[Estimand], sums: ClusterSums, place: dict[int, int], draws: Draws
) -> dict[int, Floats]:
    """Bootstrap replicates of every difference, by its number."""
    wanted = {number: estimand for number, estimand in enumerate(estimands) if estimand.difference}
    columns = sorted({place[id(term)] for estimand in wanted.values() for term in estimand.terms})
    if not columns:
        return {}
    ratios = draws.resamples.ratios(sums.sums[:, columns], sums.counts[:, columns])
    local = {column: number for number, column in enumerate(columns)}
    return {
        number: np.asarray(
            sum(
                factor * ratios[:, local[place[id(term)]]]
                for factor, term in zip(estimand.coefficients, estimand.terms, strict=True)
            )
        )
        for number, estimand in wanted.items()
    }


def _tests(
    estimands: Sequence[Estimand], sums: ClusterSums, values: Floats, place: dict[int, int], draws: Draws
) -> dict[int, tuple[str, float]]:
    """Name and p of every tested contrast, by its number.

    Exact McNemar where every patient has one unit with an outcome of yes or no, else sign flips.
    """
    found: dict[int, tuple[str, float]] = {}
    clustered: list[tuple[int, int]] = []
    for number, estimand in enumerate(estimands):
        if not estimand.tested:
            continue
        (term,) = estimand.terms
        column = place[id(term)]
        kept = values[term.counted, column]
        if sums.counts[:, column].max() <= 1 and np.isin(kept, (-1.0, 0.0, 1.0)).all():
            found[number] = MCNEMAR, mcnemar_p(int((kept > 0).sum()), int((kept < 0).sum()))
        else:
            clustered.append((number, column))
    if clustered:
        p, names = draws.signs.p_values(sums.sums[:, [column for _, column in clustered]])
        found.update({number: (name, float(q)) for (number, _), name, q in zip(clustered, names, p, strict=True)})
    return found


def _patients_with_event(sums: ClusterSums, chosen: list[int]) -> int:
    """Patients in whom any paired outcome differs (sums may cancel, squares do not)."""
    moved = (sums.squares[:, chosen] > 0).any(axis=1)
    return int(moved.sum())


def _patients_apart(values: Floats, counted: Bools, units: Units, chosen: list[int]) -> int:
    """Patients in whom two models' outcomes differ, where each model counts units of its own.

    A patient differs in the events where a unit's value, 0 if not counted, is not the same for both
    models, and in the rest where one minus the value is not. The smaller number counts: models that
    never have the event are not told apart by how many units they could have had it in, nor are
    models that always have it. Over the same units this is the number of paired outcomes that differ.
    """
    kept = counted[:, chosen]
    event, rest = (np.where(kept, part, 0.0) for part in (values[:, chosen], 1 - values[:, chosen]))
    apart = [np.logical_or.reduceat(part[:, 0] != part[:, 1], units.starts).sum() for part in (event, rest)]
    return int(min(apart))


def _plain(value: Any) -> Any:
    """Python numbers, rounded; NaN as null."""
    if isinstance(value, (float, np.floating)):
        return None if math.isnan(value) else round(float(value), _DIGITS) + 0.0
    return value.item() if isinstance(value, np.generic) else value
