"""Do the intervals cover: shares, paired differences, points of a curve."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..bootstrap import BOOTSTRAP, Resamples, percentile_intervals
from ..clusters import Bools, ClusterSums
from ..rates import WILSON, share_intervals
from .criteria import Coverage, Row
from .generate import batches, outcomes, paired_sums, sums_of
from .grid import Cell
from .rules import Rules


def share_cell(cell: Cell, rules: Rules, seed: int, runs: int) -> Row:
    """Coverage of the interval of a share."""
    found = Coverage(cell.p)
    for _, size, random in batches(runs, seed, "share", *cell.seed):
        sums = sums_of(outcomes(cell, size, random))
        low, high, _, _ = share_intervals(sums, rules.confidence)
        found.add(size, low, high, sums.mean)
    return found.row("shares", "share", WILSON, cell, rules.confidence)


def difference_cell(part: str, cell: Cell, rules: Rules, seed: int, runs: int) -> Row:
    """Coverage of the interval of a paired difference, where one is reported."""
    found = Coverage(cell.effect)
    for number, size, random in batches(runs, seed, "difference", *cell.seed):
        sums = paired_sums(cell, size, random)
        weights = Resamples.draw(cell.patients, rules.resamples, seed, "difference", *cell.seed, number)
        _bootstrap(found, sums, patients_who_differ(sums) >= rules.min_patients_with_event, weights, rules)
    return found.row(part, "difference", BOOTSTRAP, cell, rules.confidence)


def curve_cell(part: str, cell: Cell, rules: Rules, seed: int, runs: int) -> Row:
    """Coverage of the interval of a curve's point, a share with a bootstrap interval, where one is reported."""
    found = Coverage(cell.p)
    for number, size, random in batches(runs, seed, "curve", *cell.seed):
        sums = sums_of(outcomes(cell, size, random))
        weights = Resamples.draw(cell.patients, rules.curve_resamples, seed, "curve", *cell.seed, number)
        _bootstrap(found, sums, patients_on_both_sides(sums) >= rules.min_patients_with_event, weights, rules)
    return found.row(part, "curve point", BOOTSTRAP, cell, rules.confidence)


def patients_who_differ(sums: ClusterSums) -> NDArray[np.int64]:
    """Patients in whom any paired outcome differs, per column: sums may cancel, squares do not."""
    found: NDArray[np.int64] = (sums.squares > 0).sum(axis=0)
    return found


def patients_on_both_sides(sums: ClusterSums) -> NDArray[np.int64]:
    """Patients with a case that has the event, or with one that has not, whichever are fewer; per column."""
    found: NDArray[np.int64] = np.minimum((sums.sums > 0).sum(axis=0), (sums.sums < sums.counts).sum(axis=0))
    return found


def _bootstrap(found: Coverage, sums: ClusterSums, reported: Bools, weights: Resamples, rules: Rules) -> None:
    values = sums.mean
    runs = len(values)
    # every case counts in every run, so one column of counts serves all
    resampled = weights.ratios(sums.sums[:, reported], sums.counts[:, :1])
    low, high, _ = percentile_intervals(resampled, values[reported], rules.confidence)
    found.add(runs, low, high, values)
