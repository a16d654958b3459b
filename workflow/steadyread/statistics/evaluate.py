"""From estimands to rows of the estimates table: means, intervals, tests, bounds, statuses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..config.statistics import StatisticsConfig
from ..contracts.enums import Metric
from .bootstrap import Resamples
from .clusters import Bools, ClusterSums, Floats
from .cochran import ArmPermutations
from .estimand import Estimand
from .permutation import BINOMIAL, MCNEMAR, SignFlips, mcnemar_p
from .power import minimum_detectable_difference
from .rates import WILSON, design_effect, share_intervals
from .rows import NOTHING, WHOLE, blank, bootstrapped, judge, plain, too_few
from .trial_index import Units


@dataclass(frozen=True)
class Draws:
    """The random draws that all estimates of a study share, and the rules they are used under."""

    rules: StatisticsConfig
    resamples: Resamples
    signs: SignFlips
    arm_orders: ArmPermutations

    @cached_property
    def curve_resamples(self) -> Resamples:
        """The first resamples, as many as strata and curves have."""
        return Resamples(self.resamples.weights[: self.rules.curve_resamples])

    @classmethod
    def of(cls, rules: StatisticsConfig, patients: int, seed: int) -> Draws:
        """Draw for a study of so many patients; a function of the arguments alone."""
        return cls(
            rules,
            Resamples.draw(patients, rules.resamples, seed, "bootstrap"),
            SignFlips.draw(patients, rules.permutations, seed, "sign_flip"),
            ArmPermutations(patients, rules.arm_permutations, (seed, "arms")),
        )


def evaluate(estimands: Sequence[Estimand], units: Units, draws: Draws, stratum: str = WHOLE) -> list[dict[str, Any]]:
    """Estimate every estimand of one reading, in order.

    All means are taken at once as columns of one patients × terms matrix. A stratum other than the
    whole carries no p: its estimands are the whole's over some units (`Estimand.within`), and there
    `statistics.curve_resamples` resamples are drawn.

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
    whole = stratum == WHOLE
    resampled = _resampled(estimands, sums, place, draws.resamples if whole else draws.curve_resamples)
    tests = _tests(estimands, sums, values, place, units, draws) if whole else {}
    rows = []
    for number, estimand in enumerate(estimands):
        chosen = [place[id(term)] for term in estimand.terms]
        row = blank(estimand, stratum)
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
        judge(row, estimand.nothing or NOTHING[estimand.denominator].format(arms=", ".join(estimand.arms)))
        rows.append(plain(row))
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
        self.mde = minimum_detectable_difference(sums.cluster_variance, sums.clusters, confidence, sums.n)


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
        bounds = [term.bounds() for term in estimand.terms]
        sides = [
            sum(
                factor * (bound[side] if factor > 0 else bound[1 - side])
                for factor, bound in zip(estimand.coefficients, bounds, strict=True)
            )
            for side in (0, 1)
        ]
        row["bound_low"], row["bound_high"] = sides


def _share(row: dict[str, Any], columns: _Columns, column: int) -> None:
    if row["value"] is None:
        return
    row["design_effect"], row["n_effective"] = columns.effect[column], columns.effective[column]
    if row["clusters"] < 2:
        too_few(row, "one patient: no interval over patients")
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
    groups, units = np.asarray([row["clusters"]]), np.asarray([row["n"]])
    row["mde"] = minimum_detectable_difference(np.asarray([variance]), groups, columns.confidence, units)[0]


def _contrast(
    row: dict[str, Any], estimand: Estimand, resampled: Floats | None, moved: int, rules: StatisticsConfig
) -> None:
    if row["value"] is None or resampled is None:
        return
    needed = rules.min_patients_with_event
    if moved < needed or row["clusters"] < 2:
        whose = "the two models differ in" if estimand.own_units else "paired outcomes differ in"
        of = "" if estimand.own_units else f" of {row['clusters']}"
        too_few(row, f"{whose} {moved}{of} patients, {needed} are needed")
        return
    bootstrapped(row, resampled, rules.confidence)


def _resampled(
    estimands: Sequence[Estimand], sums: ClusterSums, place: dict[int, int], resamples: Resamples
) -> dict[int, Floats]:
    """Bootstrap replicates of every difference, by its number."""
    wanted = {number: estimand for number, estimand in enumerate(estimands) if estimand.difference}
    columns = sorted({place[id(term)] for estimand in wanted.values() for term in estimand.terms})
    if not columns:
        return {}
    ratios = resamples.ratios(sums.sums[:, columns], sums.counts[:, columns])
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
    estimands: Sequence[Estimand],
    sums: ClusterSums,
    values: Floats,
    place: dict[int, int],
    units: Units,
    draws: Draws,
) -> dict[int, tuple[str, float]]:
    """Name and p of every tested contrast, by its number.

    Exact McNemar (of a share against its null: exact binomial) where every patient has one unit with
    an outcome of yes or no, else sign flips.
    """
    found: dict[int, tuple[str, float]] = {}
    clustered: list[tuple[int, int]] = []
    shifted: dict[int, Floats] = {}
    for number, estimand in enumerate(estimands):
        if not estimand.tested:
            continue
        (term,) = estimand.terms
        column = place[id(term)]
        kept = values[term.counted, column] - estimand.null
        if estimand.null:
            shifted[number] = ClusterSums.of(
                (values - estimand.null)[:, [column]], term.counted[:, None], units.starts
            ).sums
        if sums.counts[:, column].max() <= 1 and np.isin(np.abs(kept), (0.0, estimand.null or 1.0)).all():
            name = BINOMIAL if estimand.null else MCNEMAR
            found[number] = name, mcnemar_p(int((kept > 0).sum()), int((kept < 0).sum()))
        else:
            clustered.append((number, column))
    if clustered:
        columns = [shifted.get(number, sums.sums[:, [column]]) for number, column in clustered]
        p, names = draws.signs.p_values(np.concatenate(columns, axis=1))
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
