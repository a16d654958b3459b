"""Do the tests keep their level, do families keep theirs, and is the detectable difference detected."""

from __future__ import annotations

import dataclasses
from functools import cache

import numpy as np

from ..clusters import ClusterSums, Floats
from ..multiplicity import holm
from ..permutation import MCNEMAR, SAMPLED_SIGN_FLIP, SignFlips, mcnemar_p
from ..power import POWER, minimum_detectable_difference
from .criteria import Row, found_share, rejections
from .generate import STEADY, batches, difference_variance, outcomes, paired_sums, second_arm, sums_of
from .grid import EFFECT, Cell
from .rules import Rules

LEVELS = (0.05, 0.01)
MOVED = 4
"""Arms compared with base in a family."""
LEAST_POWER = 0.75
"""What the 80 % of the detectable difference may fall to: its formula is that of a t test, corrected for steps."""
PERMUTATIONS = 1_999
"""At most so many: a permutation test keeps its level with any number, and its power hardly grows beyond."""


def level_cell(part: str, cell: Cell, rules: Rules, seed: int, runs: int) -> list[Row]:
    """How often the test of a paired difference that is nought rejects, at each level."""
    name, p = paired_p(cell, rules, seed, runs)
    return [rejections(part, "test of a difference", name, cell, level, p) for level in LEVELS]


def power_cell(part: str, cell: Cell, rules: Rules, seed: int, runs: int) -> Row:
    """How often the test of a paired difference finds the cell's effect."""
    level = LEVELS[0]
    name, p = paired_p(cell, rules, seed, runs)
    return found_share(part, "power at the effect", name, cell, level, p <= level + 1e-12)


def detectable_cell(cell: Cell, rules: Rules, seed: int, runs: int) -> Row | None:
    """How often the test finds a difference as large as the detectable one; None where there can be none so large."""
    sought = at_detectable_difference(cell, rules.confidence)
    if sought is None:
        return None
    level = 1 - rules.confidence
    name, p = paired_p(sought, rules, seed, runs)
    found = found_share(
        "detectable", "power at the detectable difference", name, sought, level, p <= level + 1e-12, LEAST_POWER
    )
    return {**found, "expected": POWER}


def at_detectable_difference(cell: Cell, confidence: float, steady: float = STEADY) -> Cell | None:
    """The cell whose effect is the detectable difference at the spread that this effect has itself."""
    groups = np.asarray([cell.patients], dtype=np.int64)
    for _ in range(200):
        try:
            variance = difference_variance(cell, steady) / cell.patients
        except ValueError:
            return None
        units = np.asarray([float(cell.patients * cell.cases)])
        effect = float(minimum_detectable_difference(np.asarray([variance]), groups, confidence, units)[0])
        if abs(effect - cell.effect) < 1e-10:
            # rounded, since the last bits of an effect must not decide which draws it gets
            return dataclasses.replace(cell, effect=round(effect, 6))
        cell = dataclasses.replace(cell, effect=effect)
    return None


def family_cell(cell: Cell, false: int, rules: Rules, seed: int, runs: int) -> Row:
    """How often Holm's correction lets any true hypothesis of a family fall.

    The family is several arms against one base; `false` of them differ by EFFECT.
    """
    any_rejected = np.zeros(runs, dtype=bool)
    done = 0
    for number, size, random in batches(runs, seed, "family", false, *cell.seed):
        base = outcomes(cell, size, random)
        columns = []
        for arm in range(MOVED):
            moved = dataclasses.replace(cell, effect=EFFECT if arm < false else 0.0)
            columns.append(second_arm(moved, base, random).astype(np.int8) - base.astype(np.int8))
        p = _sign_flip_p(cell, sums_of(np.concatenate(columns, axis=2)), rules, seed, "family", false, number)
        adjusted = np.array([holm(row) for row in p.reshape(MOVED, size).T.tolist()])
        any_rejected[done : done + size] = (adjusted[:, false:] <= LEVELS[0] + 1e-12).any(axis=1)
        done += size
    return rejections(
        "families",
        f"family of {MOVED}, {false} of them different",
        "Holm over patient sign flips",
        cell,
        LEVELS[0],
        np.where(any_rejected, 0.0, 1.0),
    )


def paired_p(cell: Cell, rules: Rules, seed: int, runs: int) -> tuple[str, Floats]:
    """Name and p of the test the product uses for a paired difference, shape (runs,).

    Exact McNemar with one case per patient, else patient sign flips.
    """
    found = []
    for number, size, random in batches(runs, seed, "test", *cell.seed):
        sums = paired_sums(cell, size, random)
        if cell.cases == 1:
            up, down = (sums.sums > 0).sum(axis=0), (sums.sums < 0).sum(axis=0)
            found.append(np.array([_mcnemar(int(a), int(b)) for a, b in zip(up, down, strict=True)]))
        else:
            found.append(_sign_flip_p(cell, sums, rules, seed, "test", number))
    name = MCNEMAR if cell.cases == 1 else SAMPLED_SIGN_FLIP.format(count=_permutations(rules))
    return name, np.concatenate(found)


def _sign_flip_p(cell: Cell, sums: ClusterSums, rules: Rules, seed: int, *parts: object) -> Floats:
    signs = SignFlips.draw(cell.patients, _permutations(rules), seed, "signs", *cell.seed, *parts)
    return signs.p_values(sums.sums)[0]


def _permutations(rules: Rules) -> int:
    return min(rules.permutations, PERMUTATIONS)


@cache
def _mcnemar(up: int, down: int) -> float:
    return mcnemar_p(up, down)
