"""What a study of this size could have seen."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .clusters import Floats
from .rates import t_quantile

POWER = 0.8


def minimum_detectable_difference(
    variance: Floats, clusters: NDArray[np.int64], confidence: float, power: float = POWER
) -> Floats:
    """Smallest true difference that a two-sided test finds with the given power, per column.

    max(k · SE, k² / (G + k²)), k = t_{1 − α/2, G − 1} + t_{power, G − 1} [O]. SE is the clustered
    standard error at the observed discordance. The second term is where all discordant patients
    point one way, δ = k √(δ(1 − δ) / G): it bounds what G patients can show when few or none were
    seen to differ and the SE says nothing.

    Parameters
    ----------
    variance
        Clustered variance of the difference, shape (columns,).
    clusters
        Patients G, shape (columns,).
    """
    k = t_quantile(0.5 + confidence / 2, clusters) + t_quantile(power, clusters)
    with np.errstate(invalid="ignore"):
        result: Floats = np.fmax(k * np.sqrt(variance), k**2 / (clusters + k**2))
    return result
