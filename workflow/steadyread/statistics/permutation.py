"""Tests of paired contrasts: patient-level sign flips; exact McNemar with one case per patient.

Under the null hypothesis the two arms are exchangeable within a patient, so that the sign of the
patient's summed difference is a fair coin (PROTOCOLS 0.7).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

from ..identity.seeds import generator
from .clusters import Floats

EXACT_SIGN_FLIP = "patient sign flip, exact"
SAMPLED_SIGN_FLIP = "patient sign flip, {count} permutations"
MCNEMAR = "exact McNemar"
BINOMIAL = "exact binomial"
_BLOCK = 512
_SLACK = 1e-9


@dataclass(frozen=True)
class SignFlips:
    """Random signs, shape (permutations, patients), values −1 and 1, shared by all contrasts of a study."""

    signs: NDArray[np.int8]

    @classmethod
    def draw(cls, patients: int, permutations: int, *seed: object) -> SignFlips:
        """Draw signs, a function of the arguments alone."""
        random = generator(*seed)
        bits = random.integers(2, size=(permutations, patients), dtype=np.int8)
        return cls((2 * bits - 1).astype(np.int8))

    def p_values(self, differences: Floats) -> tuple[Floats, list[str]]:
        """Two-sided p of the hypothesis that no arm of a contrast is favoured.

        All 2^k sign patterns are enumerated where the k patients with a non-zero difference have no
        more patterns than there are permutations; else p = (1 + #{|T*| ≥ |T|}) / (1 + permutations).

        Parameters
        ----------
        differences
            Patients' summed differences, shape (patients, contrasts).

        Returns
        -------
        p of shape (contrasts,) and the name of each test.
        """
        observed = np.abs(differences.sum(axis=0))
        count = len(self.signs)
        moving = (differences != 0).sum(axis=0)
        exact = moving < count.bit_length()  # 2^k ≤ count, without overflow
        p = np.empty(differences.shape[1])
        for column in np.flatnonzero(exact):
            moved = differences[:, column][differences[:, column] != 0]
            totals = np.abs(_all_signs(len(moved)) @ moved)
            p[column] = np.mean(totals >= observed[column] - _SLACK)
        sampled = np.flatnonzero(~exact)
        if len(sampled):
            matrix = np.ascontiguousarray(differences[:, sampled])
            reached = np.zeros(len(sampled))
            for start in range(0, count, _BLOCK):
                totals = np.abs(self.signs[start : start + _BLOCK].astype(np.float64) @ matrix)
                reached += (totals >= observed[sampled] - _SLACK).sum(axis=0)
            p[sampled] = (1 + reached) / (1 + count)
        names = [EXACT_SIGN_FLIP if item else SAMPLED_SIGN_FLIP.format(count=count) for item in exact]
        return p, names


@cache
def _all_signs(patients: int) -> Floats:
    patterns = np.arange(1 << patients)[:, None] >> np.arange(patients)[None, :]
    return (2 * (patterns & 1) - 1).astype(np.float64)


def mcnemar_p(up: int, down: int) -> float:
    """Exact two-sided McNemar p from the two numbers of discordant pairs; 1 where there is none."""
    return 1.0 if up + down == 0 else float(binomtest(up, up + down, 0.5).pvalue)
