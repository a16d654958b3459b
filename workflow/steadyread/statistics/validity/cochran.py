"""Does Cochran's Q keep its level, and how often does it find a difference."""

from __future__ import annotations

import dataclasses

import numpy as np

from ..clusters import Bools, Floats
from ..cochran import SAMPLED_COCHRAN, ArmPermutations, cochran_q
from .criteria import Row, found_share, rejections
from .generate import batches, outcomes, second_arm
from .grid import EFFECT, Cell
from .levels import LEVELS

ARMS = 4
PERMUTATIONS = 99
"""A permutation test keeps its level with any number of them; these are enough for .05 and .01."""


def cochran_rows(cell: Cell, seed: int, runs: int) -> list[Row]:
    """Level where the arms are alike, power where one of them differs by EFFECT."""
    name = SAMPLED_COCHRAN.format(count=PERMUTATIONS)
    alike = _p(cell, seed, runs)
    apart = dataclasses.replace(cell, effect=EFFECT)
    found = _p(apart, seed, max(runs // 10, 1))
    return [
        *(rejections("cochran", f"test of {ARMS} arms", name, cell, level, alike) for level in LEVELS),
        found_share(
            "cochran", f"power, one of {ARMS} arms differs", name, apart, LEVELS[0], found <= LEVELS[0] + 1e-12
        ),
    ]


def _p(cell: Cell, seed: int, runs: int) -> Floats:
    found = []
    for number, size, random in batches(runs, seed, "cochran", *cell.seed):
        arms = _arms(cell, size, random)
        starts = np.arange(0, cell.patients * cell.cases, cell.cases, dtype=np.int64)
        counted = np.ones((cell.patients * cell.cases, ARMS), dtype=bool)
        permutations = ArmPermutations(cell.patients, PERMUTATIONS, (seed, "cochran", *cell.seed, number))
        found += [cochran_q(values, counted, starts, permutations).p for values in arms]
    return np.asarray(found)


def _arms(cell: Cell, runs: int, random: np.random.Generator) -> Floats:
    """Outcomes of the arms, shape (runs, units, arms); each repeats a hidden one for some of the patients.

    Hidden, since an arm that the others are made from would not be exchangeable with them.
    """
    hidden = outcomes(cell, runs, random)
    alike = dataclasses.replace(cell, effect=0.0)
    arms: list[Bools] = [second_arm(cell if arm == 0 else alike, hidden, random) for arm in range(ARMS)]
    stacked = np.stack(arms, axis=3).reshape(cell.patients * cell.cases, runs, ARMS)
    return np.ascontiguousarray(stacked.transpose(1, 0, 2), dtype=np.float64)
