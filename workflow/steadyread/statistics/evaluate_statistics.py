"""From statistics (`statistic`) to rows of the estimates table: value, bootstrap interval, status."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .bootstrap import BLOCK, distinct
from .clusters import Bools, Floats, membership
from .cochran import cochran_q
from .evaluate import Draws
from .ranking import OfRanking, Ranking, Working
from .rows import NOTHING, WHOLE, blank, bootstrapped, judge, plain, too_few
from .statistic import ArmTest, OfSums, Statistic
from .trial_index import Ints, Units

Rows = list[dict[str, Any]]
RANKED_BLOCK = 32
"""Resamples of an order of units weighed at a time."""


def evaluate_statistics(statistics: Sequence[Statistic], units: Units, draws: Draws, stratum: str = WHOLE) -> Rows:
    """Estimate every statistic of one reading, in order.

    The patients' sums of all statistics are columns of one matrix, and statistics of one order of
    units share its working points, so that each block of resamples is weighed once.
    """
    book = _Book(statistics, units)
    rows: Rows = []
    intervals: list[int] = []
    for number, item in enumerate(statistics):
        row = blank(item, stratum)
        row["n"], row["clusters"] = int(item.counted.sum()), _patients(item.counted, units)
        row["n_error"] = int(item.lost.sum())
        value = book.value(number)
        row["value"] = None if math.isnan(value) or not row["n"] else value
        if row["n_error"]:
            row["bound_low"], row["bound_high"] = item.bounds()
        if row["value"] is not None:
            reason = _too_few(item, units, draws.rules.min_patients_with_event)
            if reason:
                too_few(row, reason)
            if not reason or _has_divisor(item):
                intervals.append(number)
        rows.append(row)
    small = draws.rules.curve_resamples
    for group, count in (
        ([n for n in intervals if statistics[n].curve or stratum != WHOLE], small),
        ([n for n in intervals if not statistics[n].curve and stratum == WHOLE], len(draws.resamples.weights)),
    ):
        for number, resampled, divisor in book.resampled(group, draws.resamples.weights[:count]):
            row = rows[number]
            if row["reason"] is None:
                bootstrapped(row, resampled, draws.rules.confidence)
            if divisor is not None:
                _guard(row, divisor, draws.rules.confidence)
    for item, row in zip(statistics, rows, strict=True):
        judge(row, row["reason"] if row["value"] is None and row["reason"] else item.nothing)
    return [plain(row) for row in rows]


def evaluate_pairs(pairs: Sequence[tuple[Statistic, Statistic]], units: Units, draws: Draws) -> Rows:
    """Two models' statistics, the first minus the second, patients drawn together for both.

    Each over its own counted units: n and the number of patients are the smaller of the two. The
    interval stands where enough patients have an event for one model and not for the other.
    """
    books = [_Book([pair[side] for pair in pairs], units) for side in (0, 1)]
    rows: Rows = []
    for number, (first, second) in enumerate(pairs):
        row = blank(first, WHOLE)
        both = (first, second)
        row["n"] = min(int(item.counted.sum()) for item in both)
        row["clusters"] = min(_patients(item.counted, units) for item in both)
        row["n_error"] = int((first.lost | second.lost).sum())
        value = books[0].value(number) - books[1].value(number)
        row["value"] = value if row["n"] and math.isfinite(value) else None
        if row["n_error"]:
            (low, high), (least, greatest) = first.bounds(), second.bounds()
            row["bound_low"], row["bound_high"] = low - greatest, high - least
        if row["value"] is not None:
            apart = _patients(_apart(first, second), units)
            if apart < draws.rules.min_patients_with_event:
                too_few(
                    row, f"the two models differ in {apart} patients, {draws.rules.min_patients_with_event} are needed"
                )
        rows.append(row)
    for curve in (True, False):
        numbers = [n for n, row in enumerate(rows) if row["value"] is not None and pairs[n][0].curve is curve]
        numbers = [n for n in numbers if rows[n]["reason"] is None or _has_divisor(pairs[n][0])]
        weights = (draws.curve_resamples if curve else draws.resamples).weights
        for one, two in zip(*(book.resampled(numbers, weights) for book in books), strict=True):
            row = rows[one[0]]
            if row["reason"] is None:
                bootstrapped(row, one[1] - two[1], draws.rules.confidence)
            for _, _, divisor in (one, two):
                if divisor is not None and row["value"] is not None:
                    _guard(row, divisor, draws.rules.confidence)
    for (first, _), row in zip(pairs, rows, strict=True):
        judge(row, row["reason"] if row["value"] is None and row["reason"] else first.nothing)
    return [plain(row) for row in rows]


def evaluate_tests(tests: Sequence[ArmTest], units: Units, draws: Draws) -> Rows:
    """Test several arms at once; the value is the test's statistic, which has no interval."""
    rows: Rows = []
    for item in tests:
        row = blank(item, WHOLE)
        found = cochran_q(item.values, item.counted, units.starts, draws.arm_orders)
        row["n"], row["clusters"] = found.n, found.patients
        row["n_error"] = int((item.lost.any(axis=1) & (item.counted | item.lost).all(axis=1)).sum())
        if not math.isnan(found.statistic):
            row["value"], row["test"], row["p"] = found.statistic, found.test, found.p
        if row["n_error"]:
            # greatest where one arm is always right and the others never are
            row["bound_low"], row["bound_high"] = 0.0, float((len(item.over) - 1) * (found.n + row["n_error"]))
        nobody = NOTHING[item.denominator].format(arms=", ".join(item.arms))
        judge(row, "no case is right under one of the arms and wrong under another" if found.n else nobody)
        rows.append(plain(row))
    return rows


def _guard(row: dict[str, Any], divisor: Floats, confidence: float) -> None:
    """A ratio has no value where the interval of its divisor includes 0."""
    low, high = np.nanquantile(divisor, [0.5 - confidence / 2, 0.5 + confidence / 2])
    if low <= 0 <= high:
        for key in ("value", "low", "high", "resamples", "interval_method"):
            row[key] = None
        row["reason"] = "the difference it is a share of is not told from 0: its interval includes 0"


def _apart(first: Statistic, second: Statistic) -> Bools:
    """Units with an event for one model and not for the other; where there are no events, with other parts."""
    if first.events is not None and second.events is not None:
        return np.asarray((first.judged & first.events) != (second.judged & second.events))
    assert isinstance(first.source, OfSums) and isinstance(second.source, OfSums)
    return np.asarray((first.source.parts != second.source.parts).any(axis=1))


def _has_divisor(item: Statistic) -> bool:
    """Whether its value stands only where its divisor is told from 0, be there an interval or not."""
    return isinstance(item.source, OfSums) and item.source.divisor is not None


def _too_few(item: Statistic, units: Units, needed: int) -> str | None:
    if _patients(item.counted, units) < 2:
        return "one patient: no interval over patients"
    if item.events is None:
        return None
    having = _patients(item.judged & item.events, units)
    if having < needed:
        return f"{having} patients have an event, {needed} are needed"
    without = _patients(item.judged & ~item.events, units)
    if item.both_sides and without < needed:
        return f"{without} patients are without an event, {needed} are needed"
    return None


def _patients(chosen: Bools, units: Units) -> int:
    """Patients with any of some units."""
    return int(np.logical_or.reduceat(chosen, units.starts).sum()) if len(units.starts) else 0


class _Book:
    """The sums and orders that a list of statistics needs, each made once."""

    def __init__(self, statistics: Sequence[Statistic], units: Units) -> None:
        self._statistics = statistics
        self._patient: Ints = np.repeat(
            np.arange(units.patients), np.diff([*units.starts.tolist(), len(units.item_ids)])
        )
        self._patients = units.patients
        self._members = membership(units.starts, len(units.item_ids))
        self._totals: dict[bytes, Working] = {}

    def value(self, number: int) -> float:
        """The value over the units as they are."""
        source = self._statistics[number].source
        if not self._statistics[number].counted.any():
            return math.nan
        if isinstance(source, OfSums):
            return float(source.function(source.parts.sum(axis=0)))
        assert isinstance(source, OfRanking)
        key = source.ranking.key
        if key not in self._totals:
            self._totals[key] = source.ranking.points(np.ones((1, self._patients), np.uint8), self._patient)
        return float(source.read(self._totals[key])[0])

    def resampled(self, numbers: Sequence[int], weights: Any) -> Iterator[tuple[int, Floats, Floats | None]]:
        """Number, resampled values and resampled divisors of some statistics; weights (resamples, patients)."""
        sums = [n for n in numbers if isinstance(self._statistics[n].source, OfSums)]
        ranked = [n for n in numbers if n not in sums]
        found = {n: np.empty(len(weights)) for n in numbers}
        divisors = {n: np.empty(len(weights)) for n in sums if self._of_sums(n).divisor is not None}
        every, place = self._columns(sums)
        columns, column = distinct(every)
        readers = self._readers(ranked)
        for start in range(0, len(weights) if sums else 0, BLOCK):
            block = weights[start : start + BLOCK].astype(np.float64)
            rows = slice(start, start + len(block))
            totals = (block @ columns)[:, column]
            for n in sums:
                source = self._of_sums(n)
                own = totals[:, place[id(source.parts)]]
                found[n][rows] = source.function(own)
                if source.divisor is not None:
                    divisors[n][rows] = source.divisor(own)
        for ranking, reads in readers:
            # so few at a time that their working points stay in the processor's cache
            for start in range(0, len(weights), RANKED_BLOCK):
                points = ranking.points(weights[start : start + RANKED_BLOCK], self._patient)
                for n, read in reads:
                    found[n][start : start + RANKED_BLOCK] = read(points)
        for n in numbers:
            yield n, found[n], divisors.get(n)

    def _of_sums(self, number: int) -> OfSums:
        source = self._statistics[number].source
        assert isinstance(source, OfSums)
        return source

    def _columns(self, numbers: Sequence[int]) -> tuple[Floats, dict[int, slice]]:
        """The patients' sums, side by side, and which columns belong to which parts."""
        place: dict[int, slice] = {}
        blocks: list[Floats] = []
        width = 0
        for number in numbers:
            parts = self._of_sums(number).parts
            if id(parts) not in place:
                place[id(parts)] = slice(width, width + parts.shape[1])
                blocks.append(self._members @ parts)
                width += parts.shape[1]
        return (np.concatenate(blocks, axis=1) if blocks else np.empty((0, 0))), place

    def _readers(self, numbers: Sequence[int]) -> list[tuple[Ranking, list[tuple[int, Callable[[Working], Floats]]]]]:
        found: dict[bytes, tuple[Ranking, list[tuple[int, Callable[[Working], Floats]]]]] = {}
        for number in numbers:
            source = self._statistics[number].source
            assert isinstance(source, OfRanking)
            found.setdefault(source.ranking.key, (source.ranking, []))[1].append((number, source.read))
        return list(found.values())
