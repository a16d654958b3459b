"""The patient-clustered paired bootstrap: one matrix of weights for every statistic of a study.

Row b of the weights says how often each patient is drawn in resample b. All arms and models share
the weights, which is what pairs them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..identity.seeds import generator
from .clusters import Floats

BOOTSTRAP = "patient bootstrap, percentile"
_BLOCK = 512


@dataclass(frozen=True)
class Resamples:
    """Bootstrap weights: `weights` has shape (resamples, patients), each row sums to patients."""

    weights: NDArray[np.uint8] | NDArray[np.uint16]

    @classmethod
    def draw(cls, patients: int, resamples: int, *seed: object) -> Resamples:
        """Draw weights, multinomial with equal chances, a function of the arguments alone.

        Patients are drawn with replacement and counted, which is many times faster than numpy's
        multinomial and the same law.
        """
        random = generator(*seed)
        rows = []
        for start in range(0, resamples, _BLOCK):
            size = min(_BLOCK, resamples - start)
            drawn = random.integers(patients, size=(size, patients)) + patients * np.arange(size)[:, None]
            rows.append(np.bincount(drawn.ravel(), minlength=size * patients).reshape(size, patients))
        largest = max(int(block.max()) for block in rows)
        kind = np.uint8 if largest <= 255 else np.uint16
        return cls(np.concatenate([block.astype(kind) for block in rows]))

    def ratios(self, sums: Floats, counts: Floats) -> Floats:
        """Resampled means.

        Parameters
        ----------
        sums, counts
            Arrays of shape (patients, columns).

        Returns
        -------
        Array of shape (resamples, columns); NaN where a resample holds no counted unit.
        """
        columns = sums.shape[1]
        both = np.ascontiguousarray(np.concatenate([sums, counts], axis=1))
        result = np.empty((len(self.weights), columns))
        for start in range(0, len(self.weights), _BLOCK):
            block = self.weights[start : start + _BLOCK].astype(np.float64) @ both
            with np.errstate(invalid="ignore", divide="ignore"):
                result[start : start + _BLOCK] = block[:, :columns] / block[:, columns:]
        return result


def percentile_interval(resampled: Floats, value: float, confidence: float) -> tuple[float, float, int]:
    """Percentile interval of one statistic, widened where needed to hold the estimate itself.

    Returns
    -------
    low, high, resamples
        The number of resamples that had units to count; the limits are NaN where there is none.
    """
    valid = resampled[np.isfinite(resampled)]
    if not len(valid):
        return float("nan"), float("nan"), 0
    low, high = np.quantile(valid, [0.5 - confidence / 2, 0.5 + confidence / 2])
    return min(float(low), value), max(float(high), value), len(valid)
