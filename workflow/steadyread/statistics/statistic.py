"""Estimates that are no mean: functions of sums over units, and of units in order of confidence.

Both are functions of how often each patient was drawn, which is all that the bootstrap needs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, Self

import numpy as np

from .clusters import Bools, Floats
from .estimand import Quantity, Term

Function = Callable[[Floats], Floats]
"""Sums of shape (…, parts) to values of shape (…,); NaN where there is none."""


@dataclass(frozen=True)
class Statistic(Quantity):
    """A row that is a function of more than one mean.

    Attributes
    ----------
    counted
        Units in the denominator, shape (units,).
    lost
        Units in which an answer that could have counted ended in ERROR.
    events, both_sides
        Units with an event; the interval stands where enough patients have one and, where
        `both_sides`, as many have a counted unit without one. None: no such rule.
    among
        The counted units whose events say so, where those are not all: what a point of a curve covers.
    span
        Least and greatest value there is: the bounds where an answer ended in ERROR.
    mean
        Of a mean, its term: the bounds are its own, narrower than `span`.
    curve
        A point of a curve: `statistics.curve_resamples` resamples are enough.
    nothing
        Why there is no value where there is none.
    """

    source: Source
    counted: Bools
    lost: Bools
    events: Bools | None = field(default=None, kw_only=True)
    both_sides: bool = field(default=True, kw_only=True)
    among: Bools | None = field(default=None, kw_only=True)
    span: tuple[float, float] = field(default=(0.0, 1.0), kw_only=True)
    mean: Term | None = field(default=None, kw_only=True)
    curve: bool = field(default=False, kw_only=True)
    nothing: str = field(default="no case counts", kw_only=True)

    def within(self, chosen: Bools) -> Self:
        """The same over some units only; shape (units,)."""
        return replace(
            self,
            source=self.source.within(chosen),
            counted=self.counted & chosen,
            lost=self.lost & chosen,
            mean=None if self.mean is None else self.mean.within(chosen),
        )

    @property
    def judged(self) -> Bools:
        """The units that say whether there are enough events."""
        return self.counted if self.among is None else self.counted & self.among

    def bounds(self) -> tuple[float, float]:
        """Least and greatest value there could have been, had no answer ended in ERROR."""
        return self.span if self.mean is None else self.mean.bounds()


class Source(Protocol):
    """Where a statistic's values come from."""

    def within(self, chosen: Bools) -> Any:
        """The same over some units only."""


@dataclass(frozen=True)
class OfSums:
    """A function of sums.

    Attributes
    ----------
    parts
        What is added up over units, shape (units, parts).
    function
        Sums to value.
    divisor
        Of sums too: where its interval includes 0, the value is none (a ratio of differences).
    """

    parts: Floats
    function: Function
    divisor: Function | None = None

    def within(self, chosen: Bools) -> OfSums:
        """The same over some units only."""
        return replace(self, parts=np.where(chosen[:, None], self.parts, 0.0))


def ratio(sums: Floats) -> Floats:
    """The first sum over the second; NaN where the second is 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        result: Floats = np.where(sums[..., 1] > 0, sums[..., 0] / sums[..., 1], np.nan)
    return result


def mean_of(term: Term) -> OfSums:
    """The mean of a term, as a function of sums: a point of a curve, or a mean that is no share."""
    kept = term.counted.astype(np.float64)
    return OfSums(np.stack([np.where(term.counted, term.value, 0.0), kept], axis=1), ratio)


@dataclass(frozen=True)
class ArmTest(Quantity):
    """A row that tests several arms at once.

    Attributes
    ----------
    values
        Outcomes, shape (units, arms).
    counted, lost
        Outcomes that count, and those that an ERROR took away, shape (units, arms).
    """

    values: Floats
    counted: Bools
    lost: Bools
