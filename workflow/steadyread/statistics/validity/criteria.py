"""What a cell must reach, and the row that says whether it does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..clusters import Bools, Floats
from .grid import Cell

FEW_PATIENTS = 90
"""Below so many patients an interval may fall short of its confidence by 3 points, else by 2."""
ERRORS = 2.0
"""Monte-Carlo standard errors by which a cell may miss its criterion."""
RARE = 0.1
"""Where fewer of the runs report an interval, its coverage among them is shown and not judged: the few that
pass the rule of minimum events are those whose estimate is far from the truth, whatever the interval."""
SURE = 3.290526731491926
"""Standard errors of the 99.9 % range, for what must be unbiased in every one of many cells."""

Row = dict[str, Any]


def coverage_target(patients: int, confidence: float) -> float:
    """The least coverage: .92 below 90 patients, else .93, for intervals of 95 %."""
    return confidence - (0.03 if patients < FEW_PATIENTS else 0.02)


def monte_carlo_error(probability: float, runs: int) -> float:
    """Standard error of a share of so many runs."""
    return float(np.sqrt(probability * (1 - probability) / runs))


def row(part: str, quantity: str, method: str, cell: Cell, level: float, runs: int, **found: Any) -> Row:
    """A row of the table VALIDITY, not judged unless `found` says so."""
    blank = dict.fromkeys(
        ("coverage", "miss_low", "miss_high", "mean_width", "rejected", "value", "expected", "target", "mc_error")
    )
    return {
        "part": part,
        "quantity": quantity,
        "method": method,
        "patients": cell.patients,
        "cases_per_patient": cell.cases,
        "icc": cell.icc,
        "p": cell.p,
        "effect": cell.effect,
        "level": round(level, 12),
        "runs": runs,
        "reported_share": 1.0,
        **blank,
        "judged": False,
        "holds": True,
        **{key: round(value, 12) if isinstance(value, float) else value for key, value in found.items()},
    }


@dataclass
class Coverage:
    """Counts intervals that hold the truth, over batches of runs.

    Attributes
    ----------
    truth
        What is estimated.
    """

    truth: float
    runs: int = 0
    reported: int = 0
    below: int = 0
    above: int = 0
    width: float = 0.0
    total: float = 0.0

    def add(self, runs: int, low: Floats, high: Floats, values: Floats) -> None:
        """Add the intervals that were reported in a batch of `runs`; `values` are all estimates."""
        self.runs += runs
        self.reported += len(low)
        # the last bit of a limit must not decide
        self.below += int((low > self.truth + 1e-12).sum())
        self.above += int((high < self.truth - 1e-12).sum())
        self.width += float((high - low).sum())
        self.total += float(values.sum())

    def row(self, part: str, quantity: str, method: str, cell: Cell, confidence: float, judged: bool = True) -> Row:
        """The cell's row; a cell that (almost) never reports an interval is not judged."""
        target = coverage_target(cell.patients, confidence)
        found: Row = {"reported_share": self.reported / self.runs, "value": self.total / self.runs}
        if self.reported:
            coverage = 1 - (self.below + self.above) / self.reported
            error = monte_carlo_error(target, self.reported)
            judged = judged and self.reported >= RARE * self.runs
            found |= {
                "coverage": coverage,
                "miss_low": self.below / self.reported,
                "miss_high": self.above / self.reported,
                "mean_width": self.width / self.reported,
                "target": target if judged else None,
                "mc_error": error,
                "judged": judged,
                "holds": not judged or coverage >= target - ERRORS * error,
            }
        return row(part, quantity, method, cell, 1 - confidence, self.runs, expected=self.truth, **found)


def rejections(part: str, quantity: str, method: str, cell: Cell, level: float, p: Floats) -> Row:
    """Whether a test whose hypothesis is true keeps its level; p of shape (runs,)."""
    rejected = float(np.mean(p <= level + 1e-12))
    error = monte_carlo_error(level, len(p))
    return row(
        part, quantity, method, cell, level, len(p), rejected=rejected, target=level, mc_error=error, judged=True,
        holds=rejected <= level + ERRORS * error,
    )  # fmt: skip


def found_share(
    part: str, quantity: str, method: str, cell: Cell, level: float, rejected: Bools, least: float | None = None
) -> Row:
    """How often a test finds a true difference; judged against `least` where it is given."""
    share = float(rejected.mean())
    found: Row = {"rejected": share, "mc_error": monte_carlo_error(share, len(rejected))}
    if least is not None:
        error = monte_carlo_error(least, len(rejected))
        found |= {"target": least, "mc_error": error, "judged": True, "holds": share >= least - ERRORS * error}
    return row(part, quantity, method, cell, level, len(rejected), **found)


def unbiased(part: str, quantity: str, cell: Cell, total: float, squares: float, runs: int) -> Row:
    """Whether estimates whose expectation is 0 average to 0, within the 99.9 % range of that average."""
    mean = total / runs
    error = float(np.sqrt(max(squares / runs - mean**2, 0.0) / runs))
    return row(
        part, quantity, "mean of the estimates", cell, 0.001, runs, value=mean, expected=0.0, target=0.0,
        mc_error=error, judged=True, holds=abs(mean) <= SURE * error + 1e-12,
    )  # fmt: skip
