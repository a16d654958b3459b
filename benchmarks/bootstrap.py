"""The patient bootstrap against scipy.stats.bootstrap over the same statistics."""

from __future__ import annotations

import numpy as np
from scipy import stats

from steadyread.identity.seeds import generator
from steadyread.statistics.bootstrap import Resamples, percentile_interval

from .measure import Ratio, compare

PATIENTS, STATISTICS, RESAMPLES, SCIPY_STATISTICS = 90, 500, 5000, 20


def run() -> list[Ratio]:
    """500 paired differences of 90 patients, 5,000 resamples; scipy on 20 of them, scaled."""
    values = generator("benchmark", "bootstrap").integers(-1, 2, size=(PATIENTS, STATISTICS)).astype(np.float64)
    ones = np.ones_like(values)

    def ours() -> list[tuple[float, float, int]]:
        resampled = Resamples.draw(PATIENTS, RESAMPLES, "benchmark").ratios(values, ones)
        means = values.mean(axis=0)
        return [percentile_interval(resampled[:, k], float(means[k]), 0.95) for k in range(STATISTICS)]

    def scipys() -> object:
        return [
            stats.bootstrap(
                (values[:, k],), np.mean, n_resamples=RESAMPLES, method="percentile", rng=np.random.default_rng(k)
            )
            for k in range(SCIPY_STATISTICS)
        ]

    note = (
        f"{STATISTICS} statistics, {PATIENTS} patients, {RESAMPLES} resamples; "
        f"scipy timed on {SCIPY_STATISTICS}, scaled"
    )
    scale = STATISTICS / SCIPY_STATISTICS
    return [compare("patient bootstrap", "scipy.stats.bootstrap", ours, scipys, rounds=3, scale=scale, note=note)]
