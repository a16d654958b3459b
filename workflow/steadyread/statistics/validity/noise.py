"""The effect above the engine's own noise, Δ, of a reader that is noise and nothing else.

Each case has its own chance of either label, the same whatever is shown: Δ is 0 for every case.
"""

from __future__ import annotations

import numpy as np

from ...contracts.enums import ArmName
from ..bootstrap import BOOTSTRAP, Resamples, percentile_intervals
from ..clusters import ClusterSums
from ..estimand import Term
from ..floor import disagreement_across, disagreement_within
from .criteria import Coverage, Row, unbiased
from .generate import batches
from .grid import Cell
from .made import made_reading
from .rules import Rules

DRAWS = 5
"""Draws of each request of a stochastic engine (PROTOCOLS 0.3)."""
ARMS = (ArmName.BASE, ArmName.REVERSE)
_COEFFICIENTS = (1.0, -0.5, -0.5)


def noise_cell(cell: Cell, rules: Rules, seed: int, runs: int) -> list[Row]:
    """Bias and coverage of Δ.

    The cell's ICC is the share of patients whose cases have one chance in common; its p is the mean
    of the chances, which are uniform.
    """
    found, squares = Coverage(0.0), 0.0
    for number, size, random in batches(runs, seed, "noise", *cell.seed):
        columns = [_sums(term, cell, size) for term in _terms(cell, size, random)]
        weights = Resamples.draw(cell.patients, rules.resamples, seed, "noise", *cell.seed, number)
        values = sum(factor * sums.mean for factor, sums in zip(_COEFFICIENTS, columns, strict=True))
        resampled = sum(
            factor * weights.ratios(sums.sums, sums.counts[:, :1])
            for factor, sums in zip(_COEFFICIENTS, columns, strict=True)
        )
        differs = np.any([sums.squares > 0 for sums in columns], axis=0).sum(axis=0)
        reported = differs >= rules.min_patients_with_event
        low, high, _ = percentile_intervals(
            np.asarray(resampled)[:, reported], np.asarray(values)[reported], rules.confidence
        )
        found.add(size, low, high, np.asarray(values))
        squares += float((np.asarray(values) ** 2).sum())
    return [
        unbiased("noise", "Δ of a noise reader", cell, found.total, squares, runs),
        found.row("noise", "Δ of a noise reader", BOOTSTRAP, cell, rules.confidence, judged=False),
    ]


def _terms(cell: Cell, runs: int, random: np.random.Generator) -> tuple[Term, Term, Term]:
    """d_cross, d_same of base and of the arm; units are run by run, patient by patient."""
    chance = random.random((runs, cell.patients, cell.cases), dtype=np.float32)
    if cell.cases > 1 and cell.icc > 0:
        common = random.random((runs, cell.patients, 1), dtype=np.float32) < cell.icc
        chance = np.where(common, chance[:, :, :1], chance)
    units = chance.size
    drawn = random.random((DRAWS, units, len(ARMS)), dtype=np.float32) < chance.reshape(units, 1)
    reading = made_reading(ARMS, drawn.astype(np.int64), np.full(units, -1, dtype=np.int64), cell.cases)
    return (
        disagreement_across(reading, ArmName.REVERSE),
        disagreement_within(reading, ArmName.BASE),
        disagreement_within(reading, ArmName.REVERSE),
    )


def _sums(term: Term, cell: Cell, runs: int) -> ClusterSums:
    def columns(values: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(values.reshape(runs, cell.patients * cell.cases).T)

    starts = np.arange(0, cell.patients * cell.cases, cell.cases, dtype=np.int64)
    return ClusterSums.of(columns(term.value), columns(term.counted), starts)
