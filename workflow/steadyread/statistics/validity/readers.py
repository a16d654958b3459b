"""Readers with known answers through the study's own metrics (PROTOCOLS 0.6).

Many cohorts of each reader are asked at once. What is known exactly must come out exactly; a share
that is known in expectation must lie in the exact binomial 99.9 % range over all cohorts together,
and in each cohort's own range as often as that says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.stats import binom

from ...contracts.enums import ArmName, Denominator, Metric
from ...identity.seeds import generator
from ..accuracy import accuracy, accuracy_difference
from ..clusters import Floats
from ..estimand import Context, Estimand
from ..flips import flip_difference, flip_rate, label_swap_inconsistency, slot_following
from ..floor import d_same, delta
from ..overcommitment import overcommitment, overcommitment_difference, status_share
from ..reading import Reading
from ..trial_index import Ints
from .criteria import Row, monte_carlo_error, row, unbiased
from .grid import Cell
from .made import by_cohort, made_reading

ARMS = (
    ArmName.BASE,
    ArmName.REVERSE,
    ArmName.SHUFFLE,
    ArmName.LABEL_SWAP,
    ArmName.LESION_REMOVED,
    ArmName.MATCHED_REMOVED,
    ArmName.NO_IMAGE,
)
METRICS = (
    accuracy,
    accuracy_difference,
    flip_rate,
    flip_difference,
    label_swap_inconsistency,
    slot_following,
    overcommitment,
    overcommitment_difference,
    status_share,
    d_same,
    delta,
)
DRAWS = 2
OUTSIDE = 0.001
"""Share of cohorts that the 99.9 % range may miss."""
METHOD = "exact binomial 99.9 % range"
GBM, MET, UNSURE = 0, 1, 2

Reader = Callable[[np.random.Generator, Ints], Ints]
"""From a generator and the true labels, shape (units,), to answers of shape (draws, units, arms)."""


@dataclass(frozen=True)
class Known:
    """What theory says of one estimate of a reader.

    Attributes
    ----------
    expected
        The estimate: exactly, where it is 0 or 1 or `exact`; else the chance of each unit's event.
        For a difference, 0 in expectation. None: there is nothing to count.
    """

    metric: Metric
    expected: float | None
    arm: ArmName | None = None
    denominator: Denominator | None = None
    variant: str | None = None

    def fits(self, estimand: Estimand) -> bool:
        """Whether the estimate is one that this speaks of."""
        return (
            estimand.metric is self.metric
            and self.arm in (None, estimand.arm)
            and self.denominator in (None, estimand.denominator)
            and self.variant in (None, estimand.variant)
        )


def _same(answer: Callable[[Ints], Ints]) -> Reader:
    """One answer to whatever is shown, from the true label."""

    def reader(random: np.random.Generator, truth: Ints) -> Ints:
        del random
        return np.broadcast_to(answer(truth)[None, :, None], (DRAWS, len(truth), len(ARMS))).astype(np.int64)

    return reader


def _coin(sides: int) -> Reader:
    def reader(random: np.random.Generator, truth: Ints) -> Ints:
        return random.integers(sides, size=(DRAWS, len(truth), len(ARMS)))

    return reader


def _slot_follower(random: np.random.Generator, truth: Ints) -> Ints:
    del random
    answers = np.array([MET if arm is ArmName.LABEL_SWAP else GBM for arm in ARMS], dtype=np.int64)
    return np.broadcast_to(answers, (DRAWS, len(truth), len(ARMS))).copy()


def _evidence_blind(random: np.random.Generator, truth: Ints) -> Ints:
    """Its own chances of every answer for each case, the same whatever is shown."""
    cuts = np.sort(random.random((len(truth), 2)), axis=1)
    drawn = random.random((DRAWS, len(truth), len(ARMS)))
    result: Ints = (drawn[..., None] > cuts[:, None, :]).sum(axis=-1)
    return result


_FLIPS = (Metric.FLIP_RATE, Metric.LABEL_SWAP_INCONSISTENCY)

READERS: dict[str, tuple[Reader, tuple[Known, ...]]] = {
    "coin of two labels": (
        _coin(2),
        (
            *(Known(metric, 0.5) for metric in (*_FLIPS, Metric.ACCURACY, Metric.SLOT_FOLLOWING, Metric.D_SAME)),
            Known(Metric.OVERCOMMITMENT, 1.0),
            *(Known(metric, 0.0) for metric in (Metric.DELTA, Metric.ACCURACY_DIFFERENCE, Metric.FLIP_DIFFERENCE)),
        ),
    ),
    "coin of three options": (
        _coin(3),
        (
            *(Known(metric, 2 / 3, denominator=Denominator.ALL) for metric in (*_FLIPS, Metric.OVERCOMMITMENT)),
            *(Known(metric, 0.5, denominator=Denominator.BOTH_CATEGORICAL) for metric in _FLIPS),
            Known(Metric.D_SAME, 2 / 3),
            Known(Metric.ACCURACY, 1 / 3),
            Known(Metric.SLOT_FOLLOWING, 0.5),
            Known(Metric.STATUS_SHARE, 1 / 3, variant="UNSURE"),
            *(Known(metric, 0.0) for metric in (Metric.DELTA, Metric.OVERCOMMITMENT_DIFFERENCE)),
        ),
    ),
    "first slot": (
        _slot_follower,
        (
            Known(Metric.LABEL_SWAP_INCONSISTENCY, 1.0),
            Known(Metric.SLOT_FOLLOWING, 1.0),
            *(Known(Metric.FLIP_RATE, 0.0, arm) for arm in ARMS[1:] if arm is not ArmName.LABEL_SWAP),
            Known(Metric.ACCURACY, 0.5),
            Known(Metric.D_SAME, 0.0),
        ),
    ),
    "constant label": (
        _same(lambda truth: np.full(len(truth), GBM)),
        (
            *(Known(metric, 0.0) for metric in (*_FLIPS, Metric.SLOT_FOLLOWING, Metric.D_SAME, Metric.DELTA)),
            Known(Metric.ACCURACY, 0.5),
            Known(Metric.OVERCOMMITMENT, 1.0),
            Known(Metric.OVERCOMMITMENT_DIFFERENCE, 0.0),
        ),
    ),
    "perfect": (
        _same(lambda truth: truth),
        (
            Known(Metric.ACCURACY, 1.0),
            *(Known(metric, 0.0) for metric in (*_FLIPS, Metric.ACCURACY_DIFFERENCE, Metric.D_SAME, Metric.DELTA)),
        ),
    ),
    "always UNSURE": (
        _same(lambda truth: np.full(len(truth), UNSURE)),
        (
            *(Known(metric, 0.0, denominator=Denominator.ALL) for metric in (*_FLIPS, Metric.OVERCOMMITMENT)),
            *(Known(metric, None, denominator=Denominator.BOTH_CATEGORICAL) for metric in _FLIPS),
            Known(Metric.SLOT_FOLLOWING, None),
            Known(Metric.ACCURACY, 0.0),
            Known(Metric.STATUS_SHARE, 1.0, variant="UNSURE"),
        ),
    ),
    "blind to evidence": (
        _evidence_blind,
        (
            *(
                Known(metric, 0.0)
                for metric in (
                    Metric.OVERCOMMITMENT_DIFFERENCE,
                    Metric.FLIP_DIFFERENCE,
                    Metric.ACCURACY_DIFFERENCE,
                    Metric.DELTA,
                )
            ),
        ),
    ),
}


def reader_rows(cell: Cell, cohorts: int, seed: int) -> Iterator[Row]:
    """Every reader's known estimates over so many cohorts; half of the cases have either label.

    Labels are drawn, so that a constant reader's accuracy is a share of ½ too.
    """
    for name, (reader, known) in READERS.items():
        random = generator(seed, "reader", name)
        truth = random.integers(2, size=cohorts * cell.patients * cell.cases)
        reading = made_reading(ARMS, reader(random, truth), truth, cell.cases)
        for estimand in _estimands(reading):
            for item in known:
                if item.fits(estimand):
                    yield _row(name, estimand, item.expected, cell, cohorts)


def _estimands(reading: Reading) -> list[Estimand]:
    context = Context(reading, {reading.readout: reading}, ARMS, True, ARMS[1:4])
    return [item for metric in METRICS for item in metric(context) if isinstance(item, Estimand)]


def _row(reader: str, estimand: Estimand, expected: float | None, cell: Cell, cohorts: int) -> Row:
    quantity = _name(reader, estimand)
    if expected is None:
        counted = float(sum(term.counted.sum() for term in estimand.terms))
        return _exact(quantity, cell, cohorts, counted, 0.0, "nothing to count")
    value = float(
        sum(
            factor * (term.value[term.counted].mean() if term.counted.any() else np.nan)
            for factor, term in zip(estimand.coefficients, estimand.terms, strict=True)
        )
    )
    if len(estimand.terms) > 1 and value != expected:
        return _mean_row(quantity, estimand, cell, cohorts)
    if estimand.difference and value != expected:
        return _signs_row(quantity, estimand, value, cell, cohorts)
    if 0 < expected < 1:
        (term,) = estimand.terms
        events = by_cohort(np.where(term.counted, term.value, 0.0).round().astype(np.int64), cohorts)
        return _binomial_row(quantity, events, by_cohort(term.counted, cohorts), expected, expected, value, cell)
    return _exact(quantity, cell, cohorts, value, expected, "exact")


def _name(reader: str, estimand: Estimand) -> str:
    arm = "" if estimand.arm is None else f" {estimand.arm.value}"
    against = "" if estimand.reference_arm is None or not estimand.difference else f" − {estimand.reference_arm.value}"
    variant = "" if estimand.variant is None else f" {estimand.variant}"
    return f"{reader}: {estimand.metric.value}{arm}{against}{variant}, {estimand.denominator.value}"


def _exact(quantity: str, cell: Cell, cohorts: int, value: float, expected: float, method: str) -> Row:
    return row(
        "readers", quantity, method, cell, OUTSIDE, cohorts, value=value, expected=expected, target=expected,
        judged=True, holds=value == expected,
    )  # fmt: skip


def _signs_row(quantity: str, estimand: Estimand, value: float, cell: Cell, cohorts: int) -> Row:
    """A paired difference whose expectation is 0: of the cases that differ, half differ either way."""
    (term,) = estimand.terms
    up, down = (by_cohort(term.counted & (sign * term.value > 0), cohorts) for sign in (1, -1))
    return _binomial_row(quantity, up, up + down, 0.5, 0.0, value, cell)


def _mean_row(quantity: str, estimand: Estimand, cell: Cell, cohorts: int) -> Row:
    values: Floats = sum(
        (
            factor * term.value.reshape(cohorts, -1).mean(axis=1)
            for factor, term in zip(estimand.coefficients, estimand.terms, strict=True)
        ),
        start=np.zeros(cohorts),
    )
    return unbiased("readers", quantity, cell, float(values.sum()), float((values**2).sum()), cohorts)


def _binomial_row(
    quantity: str, events: Ints, counted: Ints, chance: float, expected: float, value: float, cell: Cell
) -> Row:
    low, high = _range(counted.sum(), chance)
    inside = bool(low <= events.sum() <= high)
    own_low, own_high = _range(counted, chance)
    outside = (float((events > own_high).mean()), float((events < own_low).mean()))
    # a cohort's own range misses at most .001, since the binomial comes in steps
    spread = sum(outside) * len(events) <= binom.ppf(1 - OUTSIDE / 2, len(events), OUTSIDE)
    return row(
        "readers", quantity, METHOD, cell, OUTSIDE, len(events), value=value, expected=expected, target=expected,
        coverage=1 - sum(outside), miss_low=outside[0], miss_high=outside[1],
        mc_error=monte_carlo_error(chance, int(counted.sum())), judged=True, holds=inside and spread,
    )  # fmt: skip


def _range(count: Ints, chance: float) -> tuple[Ints, Ints]:
    return binom.ppf(OUTSIDE / 2, count, chance), binom.ppf(1 - OUTSIDE / 2, count, chance)
