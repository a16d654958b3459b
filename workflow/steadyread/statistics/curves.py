"""Curves over the levels of an arm: share of lesion slices removed, position of the lesion slices.

All points of a curve run over the same cases, those that have base and every level; each has a
bootstrap interval where enough patients have the event and enough have not (PROTOCOLS 0.7).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..arms.registry import ARMS
from ..contracts.enums import ArmName, Denominator, Metric
from .clusters import Bools
from .estimand import Context, Term
from .reading import LOST, Reading
from .registry import metric
from .statistic import Statistic, mean_of
from .trial_index import Ints


@dataclass(frozen=True)
class Level:
    """One level of an arm: its variant, the number it stands for, and the decisions, shape (units,)."""

    variant: str
    parameter: float
    decisions: Ints


@metric(Metric.DOSE_RESPONSE)
def dose_response(context: Context) -> Iterator[Statistic]:
    """Overcommitment by the share of lesion slices removed; 0 is base, 1 is lesion_removed."""
    if not context.unsure:
        return
    for level, counted, lost in _points(context, _doses(context)):
        event = context.reading.codes.categorical(level.decisions)
        unknown = level.decisions == LOST
        yield _point(Metric.DOSE_RESPONSE, ArmName.REMOVE_FRACTION, level, event, counted, lost, unknown)


@metric(Metric.DOSE_FLIPS)
def dose_flips(context: Context) -> Iterator[Statistic]:
    """Flip rate against base by the share of lesion slices removed."""
    for level, counted, lost in _points(context, _doses(context)):
        if level.parameter > 0:
            yield _flips(context, Metric.DOSE_FLIPS, ArmName.REMOVE_FRACTION, level, counted, lost)


@metric(Metric.POSITION_ACCURACY)
def position_accuracy(context: Context) -> Iterator[Statistic]:
    """Accuracy by the relative position of the lesion slices among the others, from 0 (first) to 1 (last)."""
    truth = context.reading.units.truth
    for level, counted, lost in _points(context, _levels(context, ArmName.ROI_AT)):
        known = truth >= 0
        event = (level.decisions == truth) & known
        yield _point(
            Metric.POSITION_ACCURACY, ArmName.ROI_AT, level, event, counted & known, lost & known,
            level.decisions == LOST, denominator=Denominator.ALL_ARMS_KNOWN,
        )  # fmt: skip


@metric(Metric.POSITION_FLIPS)
def position_flips(context: Context) -> Iterator[Statistic]:
    """Flip rate against base by the relative position of the lesion slices."""
    for level, counted, lost in _points(context, _levels(context, ArmName.ROI_AT)):
        yield _flips(context, Metric.POSITION_FLIPS, ArmName.ROI_AT, level, counted, lost)


def _doses(context: Context) -> list[Level]:
    levels = _levels(context, ArmName.REMOVE_FRACTION)
    if not levels:
        return []
    reading = context.reading
    levels.insert(0, Level("0", 0.0, reading.base()[:, 0]))
    if ArmName.LESION_REMOVED in context.arms and all(level.parameter != 1 for level in levels):
        columns = reading.of_arm(ArmName.LESION_REMOVED)
        if columns:
            levels.append(Level("1", 1.0, reading.decisions[:, columns[0]]))
    return levels


def _levels(context: Context, arm: ArmName) -> list[Level]:
    """The levels of an arm by rising parameter; none where it is not asked."""
    number = ARMS[arm].parameter
    if arm not in context.arms or number is None:
        return []
    reading: Reading = context.reading
    columns = sorted(reading.of_arm(arm), key=lambda column: number(reading.columns[column].variant))
    return [
        Level(reading.columns[column].variant, number(reading.columns[column].variant), reading.decisions[:, column])
        for column in columns
    ]


def _points(context: Context, levels: list[Level]) -> Iterator[tuple[Level, Bools, Bools]]:
    """Each level with the cases that count at all of them, and those that an ERROR took away."""
    if not levels:
        return
    every = np.stack([context.reading.base()[:, 0], *[level.decisions for level in levels]], axis=1)
    asked, error = (every >= LOST).all(axis=1), (every == LOST).any(axis=1)
    for level in levels:
        yield level, asked & ~error, asked & error


def _flips(context: Context, name: Metric, arm: ArmName, level: Level, counted: Bools, lost: Bools) -> Statistic:
    base = context.reading.base()[:, 0]
    unknown = (level.decisions == LOST) | (base == LOST)
    return _point(name, arm, level, level.decisions != base, counted, lost, unknown)


def _point(
    name: Metric,
    arm: ArmName,
    level: Level,
    event: Bools,
    counted: Bools,
    lost: Bools,
    unknown: Bools,
    denominator: Denominator = Denominator.ALL_ARMS,
) -> Statistic:
    """A point of a curve; `unknown` says where a lost answer hides the event at this very level."""
    value = event.astype(np.float64)
    low, high = np.where(unknown, 0.0, value), np.where(unknown, 1.0, value)
    term = Term(value, counted, lost, low, high)
    return Statistic(
        name,
        denominator,
        arm,
        mean_of(term),
        counted,
        lost,
        mean=term,
        reference_arm=ArmName.BASE,
        variant=level.variant,
        parameter=level.parameter,
        events=event,
        curve=True,
        nothing="no case was answered on base and at every level",
    )
