"""Knowing when: calibration and selective prediction on base (PROTOCOLS S1).

Confidence is the probability of the decision, renormalised over all shown options. Where an engine
offers none there are no rows but those of the verbal operating point.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from ..contracts.enums import ArmName, Denominator, Metric
from .clusters import Bools, Floats
from .estimand import Context, Estimand, Term, once
from .ranking import OfRanking, Ranking, Working
from .reading import LOST
from .registry import metric
from .statistic import OfSums, Statistic, mean_of
from .trial_index import Units

BINS = 10
RISKS = (0.01, 0.05, 0.1, 0.2)
COVERAGES = tuple(step / 10 for step in range(1, 11))
COSTS = (1, 10)
"""c of effective reliability: what a wrong answer costs, where a right one earns 1."""
TEST = "test"
"""The split on which thresholds are tried; every other split tells them."""


@dataclass(frozen=True)
class Base:
    """The answers on base of cases with a known label, shape (units,) each."""

    known: Bools
    counted: Bools
    lost: Bools
    categorical: Bools
    right: Bools
    confidence: Floats

    @classmethod
    def of(cls, context: Context) -> Base:
        """Gather them; a label without a confidence is the least sure of the labels."""
        reading = context.reading
        (column,) = reading.of_arm(ArmName.BASE)
        decision, truth = reading.decisions[:, column], reading.units.truth
        known = truth >= 0
        counted = known & (decision >= 0)
        return cls(
            known,
            counted,
            known & (decision == LOST),
            counted & reading.codes.categorical(decision),
            counted & (decision == truth),
            reading.confidence[:, column],
        )

    @property
    def sure(self) -> Bools:
        """Answers with a label that carry a confidence."""
        result: Bools = self.categorical & np.isfinite(self.confidence)
        return result


@metric(Metric.COVERAGE)
def coverage(context: Context) -> Iterator[Estimand]:
    """Verbal UNSURE as an operating point: the share of cases with a known label that got a diagnosis."""
    base = Base.of(context)
    yield _share(Metric.COVERAGE, Denominator.LABEL_KNOWN, base.categorical, base.counted, base.lost)


@metric(Metric.SELECTIVE_ACCURACY)
def selective_accuracy(context: Context) -> Iterator[Estimand]:
    """Verbal UNSURE as an operating point: accuracy among the diagnoses; metric accuracy counts abstention wrong."""
    base = Base.of(context)
    yield _share(Metric.SELECTIVE_ACCURACY, Denominator.ANSWERED_KNOWN, base.right, base.categorical, base.lost)


def _share(name: Metric, denominator: Denominator, event: Bools, counted: Bools, lost: Bools) -> Estimand:
    return Estimand(name, denominator, ArmName.BASE, (once(event, counted, lost),))


@metric(Metric.ECE)
def ece(context: Context) -> Iterator[Statistic]:
    """Expected calibration error: Σ_b n_b/N · |accuracy_b − mean confidence_b| over 10 bins of equal width.

    Over answers with a label and a confidence. The error of a finite sample is above 0 by chance alone.
    """
    base = Base.of(context)
    if not base.sure.any():
        return
    held = np.stack([base.sure & (_bins(base) == number) for number in range(BINS)], axis=1)
    confidence = np.where(base.sure, base.confidence, 0.0)[:, None] * held
    yield Statistic(
        Metric.ECE,
        Denominator.ANSWERED_KNOWN,
        ArmName.BASE,
        OfSums(np.concatenate([confidence, held & base.right[:, None], held], axis=1).astype(np.float64), _ece),
        base.sure,
        base.lost,
        events=base.sure & ~base.right,
    )


def _ece(sums: Floats) -> Floats:
    confidence, right, held = (sums[..., part * BINS : (part + 1) * BINS] for part in range(3))
    with np.errstate(invalid="ignore", divide="ignore"):
        result: Floats = np.abs(right - confidence).sum(axis=-1) / held.sum(axis=-1)
    return result


@metric(Metric.BRIER)
def brier(context: Context) -> Iterator[Statistic]:
    """Brier score: mean (confidence − 1[right])² over answers with a label and a confidence (Brier 1950)."""
    base = Base.of(context)
    if base.sure.any():
        confidence = np.where(base.sure, base.confidence, 0.0)
        term = once((confidence - base.right) ** 2, base.sure, base.lost)
        yield Statistic(
            Metric.BRIER,
            Denominator.ANSWERED_KNOWN,
            ArmName.BASE,
            mean_of(term),
            base.sure,
            base.lost,
            mean=term,
            events=base.sure & ~base.right,
        )


@metric(Metric.RELIABILITY)
def reliability(context: Context) -> Iterator[Statistic]:
    """Accuracy of the answers in each bin of confidence; `parameter` is the bin's mean confidence."""
    base = Base.of(context)
    bins = _bins(base)
    for number in range(BINS):
        held = base.sure & (bins == number)
        if held.any():
            term = once(base.right, held, base.lost)
            yield Statistic(
                Metric.RELIABILITY,
                Denominator.ANSWERED_KNOWN,
                ArmName.BASE,
                mean_of(term),
                held,
                base.lost,
                mean=term,
                variant=f"{number / BINS:.1f} to {(number + 1) / BINS:.1f}",
                parameter=float(base.confidence[held].mean()),
                events=held & ~base.right,
                curve=True,
            )


def _bins(base: Base) -> Floats:
    """Bin of each answer: [0, .1), …, [.9, 1]."""
    scaled = np.floor(np.where(base.sure, base.confidence, 0.0) * BINS + 1e-9)
    return np.minimum(scaled, BINS - 1)


@metric(Metric.AURC)
def aurc(context: Context) -> Iterator[Statistic]:
    """Area under risk–coverage; e + (1 − e) ln(1 − e) at best, for an error rate e."""
    yield from _ranked(context, Metric.AURC, Working.aurc)


@metric(Metric.AUGRC)
def augrc(context: Context) -> Iterator[Statistic]:
    """Area under generalised risk–coverage; e²/2 at best."""
    yield from _ranked(context, Metric.AUGRC, Working.augrc)


@metric(Metric.RISK_AT_COVERAGE)
def risk_at_coverage(context: Context) -> Iterator[Statistic]:
    """Selective risk at the first working point of so much coverage; the risk–coverage curve."""
    for value in COVERAGES:
        yield from _ranked(context, Metric.RISK_AT_COVERAGE, partial(Working.risk_at, coverage=value), value, value)


@metric(Metric.COVERAGE_AT_RISK)
def coverage_at_risk(context: Context) -> Iterator[Statistic]:
    """C@r: the largest coverage with a selective risk of at most r."""
    for value in RISKS:
        yield from _ranked(context, Metric.COVERAGE_AT_RISK, partial(Working.coverage_at, risk=value), value)


def _ranked(
    context: Context,
    name: Metric,
    read: Callable[[Working], Floats],
    parameter: float | None = None,
    covering: float | None = None,
) -> Iterator[Statistic]:
    """A statistic of the order; of a point of the curve, the cases it covers say whether events are enough."""
    base = Base.of(context)
    if not base.sure.any():
        return
    confidence = np.where(base.sure, base.confidence, 0.0)
    ranking = Ranking.of(confidence, base.categorical, base.right, base.counted)
    yield Statistic(
        name,
        Denominator.LABEL_KNOWN,
        ArmName.BASE,
        OfRanking(ranking, read),
        base.counted,
        base.lost,
        parameter=parameter,
        events=base.counted & ~base.right,
        among=None if covering is None else ranking.covered(covering),
        span=(0.0, 0.5) if name is Metric.AUGRC else (0.0, 1.0),
        curve=covering is not None,
    )


@metric(Metric.EFFECTIVE_RELIABILITY)
def effective_reliability(context: Context) -> Iterator[Statistic]:
    """Φ_c: 1 for a right answer, −c for a wrong one, 0 for none; answers below a threshold are withheld.

    After Whitehead et al. (arXiv 2204.13631). The threshold is the best one on other patients: on
    every split but `test` where the cohort has such a split (the rest is then tried), else on the
    other half of the patients, and the other way round. Of equally good thresholds the highest.
    Where the others told nothing, there is no threshold, and the cases do not count. The interval is
    that of the thresholds as they are.
    """
    base = Base.of(context)
    if not base.sure.any():
        return
    tried = _folds(context.reading.units, context.seed)
    for cost in COSTS:
        term, lost = _reliable(base, tried, float(cost))
        yield Statistic(
            Metric.EFFECTIVE_RELIABILITY,
            Denominator.LABEL_KNOWN,
            ArmName.BASE,
            mean_of(term),
            term.counted,
            lost,
            parameter=float(cost),
            events=term.counted & (term.value != 0),
            both_sides=False,
            mean=term,
            nothing="no case with a known label was answered in a half whose threshold the other half tells",
        )


def _reliable(base: Base, tried: list[tuple[Bools, Bools]], cost: float) -> tuple[Term, Bools]:
    """What each case earns at the threshold that other cases tell, and where an answer was lost.

    A lost answer among those that tell a threshold may have moved it either way: the answers it is
    tried on may then be given or withheld.
    """
    gain = np.where(base.right, 1.0, np.where(base.categorical, -cost, 0.0))
    value, low, high = np.zeros(len(gain)), np.zeros(len(gain)), np.zeros(len(gain))
    counted, missing, lost = (np.zeros(len(gain), dtype=bool) for _ in range(3))
    for test, telling in tried:
        if not (telling & (base.counted | base.lost)).any():
            continue
        threshold = _threshold(base, telling & base.counted, cost)
        answered = base.categorical & (np.where(base.sure, base.confidence, 0.0) >= threshold)
        own = test & base.counted
        value = np.where(own & answered, gain, value)
        moved = bool((telling & base.lost).any())
        low = np.where(own, np.minimum(gain, 0.0) if moved else value, low)
        high = np.where(own, np.maximum(gain, 0.0) if moved else value, high)
        low, high = (np.where(test & base.lost, end, side) for end, side in ((-cost, low), (1.0, high)))
        told = bool((telling & base.counted).any())
        counted |= own & told
        missing |= test & base.lost | own & ~np.asarray(told)
        lost |= (test | telling) & base.lost
    return Term(value, counted, missing, low, high), lost


def _threshold(base: Base, telling: Bools, cost: float) -> float:
    """Confidence above which answering pays on some units; infinite where answering never does."""
    sure = telling & base.categorical
    confidence = np.where(base.sure, base.confidence, 0.0)[sure]
    gain = np.where(base.right[sure], 1.0, -cost)
    order = np.argsort(-confidence, kind="stable")
    confidence, total = confidence[order], np.cumsum(gain[order])
    if not len(confidence):
        return np.inf
    best, threshold = 0.0, np.inf
    for place in np.flatnonzero(np.append(confidence[1:] != confidence[:-1], True)):
        if total[place] > best + 1e-12:
            best, threshold = float(total[place]), float(confidence[place])
    return threshold


def _folds(units: Units, seed: int) -> list[tuple[Bools, Bools]]:
    """(units a threshold is tried on, units that tell it)."""
    test = np.array([split == TEST for split in units.splits])
    other = np.array([split not in (None, TEST) for split in units.splits])
    if test.any() and other.any():
        return [(test, other)]
    order = units.drawn(seed, "folds")
    half = np.zeros(units.patients, dtype=bool)
    half[order[::2]] = True
    first = np.repeat(half, np.diff([*units.starts.tolist(), len(units.item_ids)]))
    return [(first, ~first), (~first, first)]
