"""Intervals of shares: Wilson with an effective n (PROTOCOLS 0.7).

After Dean and Pagano, "Evaluating confidence interval methods for binomial proportions in clustered
surveys" (2015): the score interval with n divided by the design effect and a t quantile. Plain
Wilson covers 88–90 % at an intra-class correlation of .5.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from .clusters import ClusterSums, Floats

WILSON = "Wilson, effective n, t"


def t_quantile(probability: float, clusters: ArrayLike) -> Floats:
    """Quantile of Student's t on clusters − 1 degrees of freedom; NaN for fewer than two clusters."""
    freedom = np.asarray(clusters, dtype=np.float64) - 1
    return np.where(freedom >= 1, stats.t.ppf(probability, np.maximum(freedom, 1)), np.nan)


def design_effect(sums: ClusterSums, unit_variance: Floats) -> Floats:
    """How much clustering inflates the variance of a mean, per column.

    The linearised cluster variance over unit_variance / n, within [1, mean cluster size]; 1 where
    the unit variance is 0 (a share of 0 or 1).

    Parameters
    ----------
    unit_variance
        Variance of one unit, shape (columns,): p̂(1 − p̂) for a share.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = sums.cluster_variance * sums.n / unit_variance
        mean_size = sums.n / sums.clusters
    usable = np.isfinite(ratio) & (unit_variance > 1e-15)
    return np.where(usable, np.clip(np.where(usable, ratio, 1.0), 1.0, np.where(usable, mean_size, 1.0)), 1.0)


def wilson(share: ArrayLike, n: ArrayLike, quantile: ArrayLike) -> tuple[Floats, Floats]:
    """Wilson's score interval for given shares, (effective) n and quantile of the standardised error.

    Any shapes that broadcast. A share of 0 has the lower limit 0, of 1 the upper limit 1.
    """
    p, size, z = (np.asarray(item, dtype=np.float64) for item in (share, n, quantile))
    with np.errstate(invalid="ignore", divide="ignore"):
        shrink = 1 + z**2 / size
        centre = (p + z**2 / (2 * size)) / shrink
        half = z * np.sqrt(p * (1 - p) / size + z**2 / (4 * size**2)) / shrink
        # minimum and maximum keep NaN (no interval) and mend the last bit at shares of 0 and 1
        low = np.minimum(np.maximum(centre - half, 0.0), p)
        high = np.maximum(np.minimum(centre + half, 1.0), p)
    return low, high


def share_intervals(sums: ClusterSums, confidence: float) -> tuple[Floats, Floats, Floats, Floats]:
    """Intervals of clustered shares.

    Returns
    -------
    low, high, design_effect, n_effective
        Arrays of shape (columns,); low and high are NaN for fewer than two patients.
    """
    share = sums.mean
    effect = design_effect(sums, share * (1 - share))
    effective = sums.n / effect
    low, high = wilson(share, effective, t_quantile(0.5 + confidence / 2, sums.clusters))
    return low, high, effect, effective
