"""Cochran's Q over several arms, its p by permuting the arms within patients (PROTOCOLS 0.7).

Under the null hypothesis the arms are exchangeable within a patient: all units of a patient are
relabelled together, so that units of one patient may depend on each other in any way.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..identity.seeds import generator
from .clusters import Bools, Floats
from .trial_index import Ints

EXACT_COCHRAN = "Cochran's Q, arms permuted within patients, exact"
SAMPLED_COCHRAN = "Cochran's Q, arms permuted within patients, {count} permutations"
_BLOCK = 32
_SLACK = 1e-9


@dataclass(frozen=True)
class CochranQ:
    """What the test found.

    Attributes
    ----------
    statistic
        Q; NaN where no unit's outcomes differ between arms.
    p
        1 where no patient's sums differ between arms; NaN where there is no unit or one arm.
    test
        Name of the test.
    n, patients, moving
        Units that have every arm; patients with such a unit; those whose sums differ between arms.
    """

    statistic: float
    p: float
    test: str
    n: int
    patients: int
    moving: int


@dataclass(frozen=True)
class ArmPermutations:
    """Random orders of the arms, patient by patient, shared by all models and metrics of a study.

    Drawn when first needed, for each number of arms: a function of the fields alone. Eight arms,
    5,000 patients and 1,999 permutations hold 80 MB.

    Attributes
    ----------
    patients, permutations
        How many of each.
    seed
        What the draws are a function of, plain values.
    """

    patients: int
    permutations: int
    seed: tuple[object, ...]
    _drawn: dict[int, NDArray[np.uint8]] = field(default_factory=dict, repr=False, compare=False)

    def orders(self, arms: int) -> NDArray[np.uint8]:
        """Permutations of range(arms), shape (permutations, patients, arms).

        Raises
        ------
        ValueError
            For more arms than a byte can number.
        """
        if arms > 256:
            raise ValueError(f"Cochran's Q over {arms} arms: at most 256 are supported")
        if arms not in self._drawn:
            self._drawn[arms] = _draw(self.permutations, self.patients, arms, self.seed)
        return self._drawn[arms]


def cochran_q(values: Floats, counted: Bools, starts: Ints, permutations: ArmPermutations) -> CochranQ:
    """Test the hypothesis that an outcome is as common under every arm.

    Q = (k − 1)(k Σ_j C_j² − N²) / (k Σ_ij x_ij² − Σ_i R_i²), with C_j the arms' totals, R_i the
    units' and N the total of all. For outcomes of 0 and 1, x² = x and this is Cochran (1950). Mean
    outcomes over an arm's variants may be anything in [0, 1].

    p = (1 + #{Q* ≥ Q}) / (1 + permutations); where k!^moving patterns are no more than the
    permutations, all are enumerated. Permuting a patient's arms leaves R and x² as they are, so
    that Q* ≥ Q where Σ C*² ≥ ΣC²; patients whose sums are the same under every arm never move.

    Parameters
    ----------
    values
        Outcomes x, shape (units, arms); the same arms for every unit.
    counted
        Outcomes that count, shape (units, arms); a unit takes part where it has every arm.
    starts
        Index of each patient's first unit, shape (patients,).
    permutations
        Drawn for the same patients.

    Raises
    ------
    ValueError
        If the permutations are of another number of patients.
    """
    arms = values.shape[1]
    if permutations.patients != len(starts):
        raise ValueError(f"permutations of {permutations.patients} patients, outcomes of {len(starts)}")
    whole: Bools = np.asarray(counted.all(axis=1))
    kept = np.where(whole[:, None], values, 0.0).astype(np.float64)
    n = int(whole.sum())
    if n == 0 or arms < 2:
        return CochranQ(math.nan, math.nan, SAMPLED_COCHRAN.format(count=permutations.permutations), n, 0, 0)
    sums = np.add.reduceat(kept, starts, axis=0)
    patients = int(np.logical_or.reduceat(whole, starts).sum())
    totals, rows = sums.sum(axis=0), kept.sum(axis=1)
    below = arms * (kept**2).sum() - (rows**2).sum()
    above = arms * (totals**2).sum() - totals.sum() ** 2
    statistic = (arms - 1) * above / below if below > _SLACK else math.nan
    moves = np.flatnonzero(np.ptp(sums, axis=1) > _SLACK)
    fixed = totals - sums[moves].sum(axis=0)
    if math.factorial(arms) ** min(len(moves), 64) <= permutations.permutations:
        reached, test = _exact(sums[moves], fixed, totals), EXACT_COCHRAN
    else:
        reached = _sampled(sums[moves], fixed, totals, permutations.orders(arms), moves)
        test = SAMPLED_COCHRAN.format(count=permutations.permutations)
    return CochranQ(float(statistic), reached, test, n, patients, len(moves))


def _exact(sums: Floats, fixed: Floats, totals: Floats) -> float:
    orders = np.array(list(itertools.permutations(range(sums.shape[1]))))
    columns = fixed[None, :]
    for patient in sums:
        columns = (columns[:, None, :] + patient[orders][None, :, :]).reshape(-1, sums.shape[1])
    return float(np.mean(_spread(columns) >= _spread(totals) * (1 - _SLACK) - _SLACK))


def _sampled(sums: Floats, fixed: Floats, totals: Floats, orders: NDArray[np.uint8], moves: Ints) -> float:
    flat, first = sums.ravel(), (np.arange(len(sums)) * sums.shape[1])[:, None]
    every = len(moves) == orders.shape[1]
    reached = 0
    for start in range(0, len(orders), _BLOCK):
        block = orders[start : start + _BLOCK]
        block = block if every else block[:, moves]
        # one permutation at a time: what is gathered stays in the cache
        columns = np.stack([flat.take(order + first).sum(axis=0) for order in block]) + fixed
        reached += int((_spread(columns) >= _spread(totals) * (1 - _SLACK) - _SLACK).sum())
    return (1 + reached) / (1 + len(orders))


def _spread(columns: Floats) -> Floats:
    """What Q grows with: the spread of the arms' totals; the total of all is the same in each."""
    centred = columns - columns.mean(axis=-1, keepdims=True)
    result: Floats = (centred**2).sum(axis=-1)
    return result


def _draw(permutations: int, patients: int, arms: int, seed: tuple[object, ...]) -> NDArray[np.uint8]:
    """Orders from sorted random keys. A key's last byte is its arm: keys never tie, and every sort agrees."""
    random = generator(*seed, arms)
    orders = np.empty((permutations, patients, arms), dtype=np.uint8)
    for start in range(0, permutations, _BLOCK):
        size = min(_BLOCK, permutations - start)
        keys = random.integers(1 << 24, size=(size, patients, arms), dtype=np.uint32) << np.uint32(8)
        keys |= np.arange(arms, dtype=np.uint32)
        keys.sort(axis=-1)
        orders[start : start + size] = keys.astype(np.uint8)
    return orders
