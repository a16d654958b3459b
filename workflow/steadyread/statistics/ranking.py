"""Cases in order of confidence: risk–coverage and what is read from it (PROTOCOLS S1, selective prediction).

All non-ERROR cases with a known label: those with a label by falling confidence, the rest as one
tied block at the end, not right. Cases of equal confidence are one working point. After Geifman and
El-Yaniv (arXiv 1705.08500) for AURC, and Traub et al. (arXiv 2407.01032) for AUGRC.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .clusters import Bools, Floats
from .trial_index import Ints


@dataclass(frozen=True)
class Working:
    """The working points of each resample, shape (resamples, points).

    Attributes
    ----------
    coverage
        k/N, rising to 1.
    risk
        Selective risk Σ(1 − a)/k; points that a resample holds no case up to have the risk of its
        first point.
    generalised
        Σ(1 − a)/N.
    held
        Points that the resample holds any case up to.
    """

    coverage: Floats
    risk: Floats
    generalised: Floats
    held: Bools

    def aurc(self) -> Floats:
        """Area under (coverage, risk), trapezoids; the risk of the first point holds from coverage 0.

        A single working point, a reader that is always as sure, has its error rate.
        """
        return _area(self.coverage, self.risk, self.coverage[:, 0] * self.risk[:, 0])

    def augrc(self) -> Floats:
        """Area under (coverage, generalised risk), trapezoids from (0, 0)."""
        return _area(self.coverage, self.generalised, self.coverage[:, 0] * self.generalised[:, 0] / 2)

    def risk_at(self, coverage: float) -> Floats:
        """Selective risk at the first working point that covers so much."""
        reached = self.coverage >= coverage - 1e-9
        first = np.argmax(reached, axis=1)
        result: Floats = self.risk[np.arange(len(first)), first]
        return result

    def coverage_at(self, risk: float) -> Floats:
        """Largest coverage with a selective risk of at most so much; 0 where no working point has it.

        NaN where a resample holds no case: it says nothing of coverage.
        """
        allowed = self.held & (self.risk <= risk + 1e-12)
        largest = np.where(allowed, self.coverage, 0.0).max(axis=1)
        result: Floats = np.where(self.held[:, -1], largest, np.nan)
        return result


def _area(x: Floats, y: Floats, first: Floats) -> Floats:
    result: Floats = first + ((y[:, 1:] + y[:, :-1]) / 2 * np.diff(x, axis=1)).sum(axis=1)
    return result


@dataclass(frozen=True)
class Ranking:
    """Units in order of falling confidence.

    Attributes
    ----------
    order
        Indices of the counted units in that order.
    wrong
        1 where the unit at that place is not right.
    ends
        Last place of each working point, ascending.
    size
        Units there are, counted or not.
    """

    order: Ints
    wrong: NDArray[np.uint8]
    ends: Ints
    size: int

    @classmethod
    def of(cls, confidence: Floats, categorical: Bools, right: Bools, counted: Bools) -> Ranking:
        """Order the counted units; all arguments have shape (units,)."""
        units = np.flatnonzero(counted)
        score = np.where(categorical[units], confidence[units], -1.0)
        order = np.argsort(-score, kind="stable")
        units, score = units[order], score[order]
        last = np.flatnonzero(np.append(score[1:] != score[:-1], True)) if len(score) else np.empty(0, np.int64)
        wrong = np.where(categorical[units] & right[units], 0, 1).astype(np.uint8)
        return cls(units, wrong, last.astype(np.int64), len(counted))

    @cached_property
    def key(self) -> bytes:
        """Equal for equal orders, whose working points are the same."""
        return b"".join((self.order.tobytes(), self.wrong.tobytes(), self.ends.tobytes()))

    def points(self, weights: NDArray[Any], patient: Ints | None = None) -> Working:
        """Working points where each unit counts as often as its patient.

        Parameters
        ----------
        weights
            How often each patient was drawn, shape (resamples, patients).
        patient
            Each unit's patient, shape (units,); None: each unit is one.
        """
        own = weights[:, self.order if patient is None else patient[self.order]]
        number = np.cumsum(own, axis=1, dtype=np.float64)[:, self.ends]
        errors = np.cumsum(own * self.wrong, axis=1, dtype=np.float64)[:, self.ends]
        total = number[:, -1:]
        held = number > 0
        with np.errstate(invalid="ignore", divide="ignore"):
            risk = errors / number
            first = np.take_along_axis(risk, np.argmax(held, axis=1)[:, None], axis=1)
            return Working(number / total, np.where(held, risk, first), errors / total, held)

    def covered(self, coverage: float) -> Bools:
        """Units up to the first working point that covers so much, shape (units,)."""
        result = np.zeros(self.size, dtype=bool)
        if len(self.ends):
            reached = (self.ends + 1) / len(self.order) >= coverage - 1e-9
            result[self.order[: self.ends[np.argmax(reached)] + 1]] = True
        return result

    def within(self, chosen: Bools) -> Ranking:
        """The same over some units only."""
        kept = chosen[self.order]
        group = np.searchsorted(self.ends, np.arange(len(self.order)))[kept]
        ends = np.flatnonzero(np.append(group[1:] != group[:-1], True)) if kept.any() else np.empty(0, np.int64)
        return Ranking(self.order[kept], self.wrong[kept], ends.astype(np.int64), self.size)


@dataclass(frozen=True)
class OfRanking:
    """A function of working points: where a ranked statistic's values come from."""

    ranking: Ranking
    read: Callable[[Working], Floats]

    def within(self, chosen: Bools) -> OfRanking:
        """The same over some units only."""
        return OfRanking(self.ranking.within(chosen), self.read)
