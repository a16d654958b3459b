"""The patient bootstrap against scipy.stats.bootstrap over the same statistics."""

from __future__ import annotations

import numpy as np
from scipy import stats

from steadyread.identity.seeds import generator
from steadyread.statistics.bootstrap import Resamples, percentile_intervals

from .measure import Ratio, compare

PATIENTS, STATISTICS, RESAMPLES, SCIPY_STATISTICS = 5000, 500, 10_000, 20
"""As many statistics as 25 models × 20 arms have flip rates, of the patients of `estimates`."""


def run() -> list[Ratio]:
    """500 paired differences, weights drawn anew each time; scipy on 20 of them, scaled."""
    values = generator("benchmark", "bootstrap").integers(-1, 2, size=(PATIENTS, STATISTICS)).astype(np.float64)
    ones = np.ones_like(values)

    def ours() -> object:
        resampled = Resamples.draw(PATIENTS, RESAMPLES, "benchmark").ratios(values, ones)
        return percentile_intervals(resampled, values.mean(axis=0), 0.95)

    def scipys() -> object:
        return [
            stats.bootstrap(
                (values[:, k],),
                np.mean,
                n_resamples=RESAMPLES,
                batch=500,
                method="percentile",
                rng=np.random.default_rng(k),
            )
            for k in range(SCIPY_STATISTICS)
        ]

    note = (
        f"{STATISTICS} statistics, {PATIENTS} patients, {RESAMPLES} resamples; "
        f"scipy timed on {SCIPY_STATISTICS}, scaled"
    )
    scale = STATISTICS / SCIPY_STATISTICS
    return [compare("patient bootstrap", "scipy.stats.bootstrap", ours, scipys, rounds=3, scale=scale, note=note)]
