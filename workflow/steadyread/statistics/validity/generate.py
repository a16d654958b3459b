"""Made outcomes with a known share, difference and intra-class correlation.

Cases of a patient are exchangeable: with probability ICC a patient's cases all copy one draw, else
each is drawn anew. The correlation is exactly the ICC, and with two cases per patient this is the
beta-binomial law too, since an exchangeable pair of yes and no has no third parameter.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...identity.seeds import generator
from ..clusters import Bools, ClusterSums
from .grid import BATCH, Cell

STEADY = 0.5
"""Share of patients whose answers are the same in both arms: what makes the arms correlated."""


def batches(runs: int, *seed: object, size: int = BATCH) -> Iterator[tuple[int, int, np.random.Generator]]:
    """Number, runs and generator of each batch, a function of the arguments alone."""
    for number, start in enumerate(range(0, runs, size)):
        yield number, min(size, runs - start), generator(*seed, "outcomes", number)


def outcomes(cell: Cell, runs: int, random: np.random.Generator, p: float | None = None) -> Bools:
    """Whether each case has the event, shape (patients, cases, runs)."""
    # single precision: a share is off by less than one in ten million, in half the time
    own: Bools = random.random((cell.patients, cell.cases, runs), dtype=np.float32) < (cell.p if p is None else p)
    if cell.cases == 1 or cell.icc == 0:
        return own
    copied = random.random((cell.patients, 1, runs), dtype=np.float32) < cell.icc
    return np.where(copied, own[:, :1], own)


def second_arm(cell: Cell, first: Bools, random: np.random.Generator, steady: float = STEADY) -> Bools:
    """The second arm of a paired study, shape (patients, cases, runs).

    A `steady` share of patients answers as in the first arm; the others are drawn anew with a share
    that makes the difference of the arms `cell.effect`. Without an effect the arms are exchangeable
    within a patient, and the paired difference has the cell's intra-class correlation.
    """
    patients, _, runs = first.shape
    stays = random.random((patients, 1, runs), dtype=np.float32) < steady
    return np.where(stays, first, outcomes(cell, runs, random, moved_share(cell, steady)))


def moved_share(cell: Cell, steady: float = STEADY) -> float:
    """The share with the event in the second arm, among patients who are drawn anew.

    Raises
    ------
    ValueError
        If no share makes such a difference.
    """
    share = cell.p + cell.effect / (1 - steady)
    if not -1e-12 <= share <= 1 + 1e-12:
        raise ValueError(f"a difference of {cell.effect} from {cell.p} needs a share of {share}: choose a smaller one")
    return min(max(share, 0.0), 1.0)


def difference_variance(cell: Cell, steady: float = STEADY) -> float:
    """Variance of one patient's mean difference between the arms, known from how they are made."""
    second = moved_share(cell, steady)
    spread = sum(share * (1 - share) for share in (cell.p, second)) * (1 + (cell.cases - 1) * cell.icc) / cell.cases
    return (1 - steady) * (spread + (second - cell.p) ** 2) - cell.effect**2


def sums_of(values: NDArray[Any]) -> ClusterSums:
    """Sums by patient, one column a run, of values of shape (patients, cases, runs)."""
    patients, cases, runs = values.shape
    flat = values.reshape(patients * cases, runs).astype(np.float64)
    return ClusterSums.of(flat, np.ones(flat.shape, dtype=bool), np.arange(0, patients * cases, cases, dtype=np.int64))


def paired_sums(cell: Cell, runs: int, random: np.random.Generator) -> ClusterSums:
    """Sums by patient of second arm minus first, one column a run."""
    first = outcomes(cell, runs, random)
    second = second_arm(cell, first, random)
    return sums_of(second.astype(np.int8) - first.astype(np.int8))
