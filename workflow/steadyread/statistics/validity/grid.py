"""The published grid of the simulation and its parts.

Imports nothing heavy: the workflow asks it when it is parsed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

RUNS = 20_000
"""Simulated studies of each cell."""
BATCH = 500
"""Studies that share bootstrap weights or signs; fresh ones for each batch."""

SHARES = (0.02, 0.05, 0.08, 0.1, 0.2, 0.3, 0.5)
MIRRORED = (*SHARES, *(round(1 - share, 2) for share in reversed(SHARES[:-1])))
PATIENTS = (45, 90, 500)
CLUSTERS = ((1, 0.0), (2, 0.0), (2, 0.3), (2, 0.5))
"""Cases per patient with their intra-class correlation; one case per patient has none."""
EFFECT = 0.1
"""The difference between two arms where there is one."""
NOISE_PATIENTS = (12, *PATIENTS)

PARTS = (
    *(f"effects_{patients}" for patients in reversed(PATIENTS)),
    *(f"nulls_{patients}" for patients in reversed(PATIENTS)),
    *(f"curves_{patients}" for patients in reversed(PATIENTS)),
    *(f"levels_{patients}" for patients in reversed(PATIENTS)),
    "cochran",
    "detectable",
    "families",
    "noise",
    "shares",
    "readers",
)
"""The parts that run as jobs of their own, the longest first."""


@dataclass(frozen=True)
class Cell:
    """One kind of study that is simulated over and over.

    Attributes
    ----------
    patients, cases
        Patients, and cases of each.
    icc
        Correlation of two cases of one patient.
    p
        Share of cases with the event (in the first of two arms).
    effect
        True difference, second arm minus first.
    """

    patients: int
    cases: int
    icc: float
    p: float
    effect: float = 0.0

    @property
    def seed(self) -> tuple[float, ...]:
        """What tells its draws from those of other cells."""
        return (self.patients, self.cases, self.icc, self.p, self.effect)


def cells(
    patients: Sequence[int], shares: Sequence[float] = SHARES, effect: float = 0.0, cases: Sequence[int] = (1, 2)
) -> Iterator[Cell]:
    """The grid: every number of patients, kind of cluster and share."""
    for count in patients:
        for size, icc in CLUSTERS:
            if size in cases:
                for share in shares:
                    yield Cell(count, size, icc, share, effect)
