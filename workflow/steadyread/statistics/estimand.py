"""What an estimate is an estimate of: means over units, and combinations of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from ..contracts.enums import ArmName, Denominator, Mark, Metric
from .clusters import Bools, Floats
from .reading import Reading


@dataclass(frozen=True)
class Term:
    """A mean over units (items).

    Attributes
    ----------
    value
        The unit's value where `counted`, shape (units,).
    counted
        Units in the denominator.
    lost
        Units in which an answer that could have counted ended in ERROR. A unit of several variants
        may be counted and lost at once.
    low, high
        Least and greatest value a unit could have had, had nothing been lost.
    """

    value: Floats
    counted: Bools
    lost: Bools
    low: Floats
    high: Floats

    def within(self, chosen: Bools) -> Term:
        """The same over some units only; shape (units,)."""
        return replace(self, counted=self.counted & chosen, lost=self.lost & chosen)

    def bounds(self) -> tuple[float, float]:
        """Least and greatest mean there could have been, had nothing been lost; NaN where no unit could count."""
        possible = self.counted | self.lost
        if not possible.any():
            return math.nan, math.nan
        return float(self.low[possible].mean()), float(self.high[possible].mean())


def over_variants(value: Any, counted: Any, lost: Any, most: Any = 1.0) -> Term:
    """The mean over an arm's variants and replicates within each unit (PROTOCOLS: mean over k, over shifts).

    Parameters
    ----------
    value, counted, lost
        Arrays of shape (units, variants); value lies in [0, 1].
    most
        Greatest value a lost answer could have had, scalar or (units, variants).
    """
    counted, lost = np.asarray(counted, dtype=bool), np.asarray(lost, dtype=bool)
    total = np.where(counted, value, 0.0).sum(axis=1)
    number, missing = counted.sum(axis=1), lost.sum(axis=1)
    best = np.where(lost, most, 0.0).sum(axis=1)
    with np.errstate(invalid="ignore"):
        whole = np.maximum(number + missing, 1)
        return Term(
            value=total / np.maximum(number, 1),
            counted=number > 0,
            lost=missing > 0,
            low=total / whole,
            high=(total + best) / whole,
        )


def once(value: Any, counted: Bools, lost: Bools) -> Term:
    """A term of one answer a unit, its value in [0, 1]; all arguments of shape (units,)."""
    return over_variants(np.asarray(value)[:, None], counted[:, None], lost[:, None])


def difference(first: Term, second: Term) -> Term:
    """The paired difference over units that have both."""
    possible = (first.counted | first.lost) & (second.counted | second.lost)
    return Term(
        value=first.value - second.value,
        counted=first.counted & second.counted,
        lost=possible & (first.lost | second.lost),
        low=first.low - second.high,
        high=first.high - second.low,
    )


_MARKS = {
    (Metric.FLIP_RATE, Denominator.ALL, ArmName.REVERSE): Mark.PAPER,
    (Metric.FLIP_RATE, Denominator.ALL, ArmName.LABEL_SWAP): Mark.PAPER,
    (Metric.LABEL_SWAP_INCONSISTENCY, Denominator.ALL, ArmName.LABEL_SWAP): Mark.PAPER,
    (Metric.OVERCOMMITMENT, Denominator.ALL, ArmName.LESION_REMOVED): Mark.PAPER,
}
"""The quantities that arXiv 2608.04885 publishes; its text, and with it its denominator, is not public:
`all` stands for it. Everything else is ours [O]."""


def lost_in_any(terms: Sequence[Term]) -> Bools:
    """Units that would have every term, had no answer of theirs ended in ERROR; shape (units,)."""
    possible = np.logical_and.reduce([term.counted | term.lost for term in terms])
    result: Bools = possible & np.logical_or.reduce([term.lost for term in terms])
    return result


@dataclass(frozen=True)
class Quantity:
    """What a row of the estimates table is about.

    Attributes
    ----------
    arm
        The arm it is about; None where it is about several at once (`over`).
    reference_arm
        The arm it is compared with.
    variant
        The variant, direction, status, quadrant or bin it is about.
    parameter
        The same as a number: level, position, slot, coverage, risk, c, or how many arms.
    over
        The arms that a metric of several arms is computed from, in the study's order.
    """

    metric: Metric
    denominator: Denominator
    arm: ArmName | None
    reference_arm: ArmName | None = field(default=None, kw_only=True)
    variant: str | None = field(default=None, kw_only=True)
    parameter: float | None = field(default=None, kw_only=True)
    over: tuple[ArmName, ...] = field(default=(), kw_only=True)

    @property
    def arms(self) -> list[str]:
        """The arms it is computed from."""
        found = (*self.over, *(arm for arm in (self.reference_arm, self.arm) if arm is not None))
        return [arm.value for arm in dict.fromkeys(found)]

    @property
    def mark(self) -> Mark:
        """Whose definition it is."""
        if self.arm is None:
            return Mark.OWN
        return _MARKS.get((self.metric, self.denominator, self.arm), Mark.OWN)


@dataclass(frozen=True)
class Estimand(Quantity):
    """A row that is Σ coefficient · mean of term.

    Attributes
    ----------
    coefficients
        One per term.
    difference
        A paired contrast (bootstrap interval, events counted) rather than a share (Wilson).
    tested
        Whether it carries a p (PROTOCOLS 0.7 lists which do); needs a single term.
    null
        The value of each unit under the hypothesis that is tested.
    family
        Name of the family Holm's correction runs over, None for an exploratory p.
    own_units
        The terms are two models', each over the units that its own answers admit: n is the smaller
        number of the two, and an event is what `evaluate` says of such terms.
    nothing
        Why there is no value where there is none; None: what the denominator says.
    """

    terms: tuple[Term, ...]
    coefficients: tuple[float, ...] = field(default=(1.0,), kw_only=True)
    difference: bool = field(default=False, kw_only=True)
    tested: bool = field(default=False, kw_only=True)
    null: float = field(default=0.0, kw_only=True)
    family: str | None = field(default=None, kw_only=True)
    own_units: bool = field(default=False, kw_only=True)
    nothing: str | None = field(default=None, kw_only=True)

    def within(self, chosen: Bools) -> Self:
        """The same over some units only; shape (units,)."""
        return replace(self, terms=tuple(term.within(chosen) for term in self.terms))


@dataclass(frozen=True)
class Context:
    """What a metric may look at: one model under one readout, and what the study asked.

    Attributes
    ----------
    reading
        The model's decisions under this readout.
    readings
        The same model under every readout it has.
    arms
        Enabled arms in the study's order, without `repeat`, which belongs to the floor.
    unsure
        Whether UNSURE was offered.
    evidence_preserving
        Arms of the closed list of PROTOCOLS 0.3.
    slice_order
        Those of them that move slices and nothing else.
    seed
        Seed of the study, for what is drawn here (PriDe's patients, folds).
    """

    reading: Reading
    readings: Mapping[str, Reading]
    arms: tuple[ArmName, ...]
    unsure: bool
    evidence_preserving: tuple[ArmName, ...]
    slice_order: tuple[ArmName, ...] = ()
    seed: int = 0

    @property
    def compared(self) -> tuple[ArmName, ...]:
        """Arms that are compared with base."""
        return tuple(arm for arm in self.arms if arm is not ArmName.BASE)

    def asked(self, arms: tuple[ArmName, ...]) -> tuple[ArmName, ...]:
        """Those of some arms that any case was asked under, in the study's order.

        An arm that no case has (a cohort without annotation has no lesion arm) would leave every metric
        of several arms without a case.
        """
        return tuple(arm for arm in self.arms if arm in arms and self.reading.of_arm(arm))
