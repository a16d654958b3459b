"""Sums by patient, from which every mean, variance and resample is made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def membership(starts: NDArray[np.int64], units: int) -> sparse.csr_array:
    """Which unit belongs to which cluster: a matrix of (clusters, units) that adds units up by cluster.

    Several times faster than numpy's reduceat on many columns.

    Parameters
    ----------
    starts
        Index of each cluster's first unit.
    """
    return sparse.csr_array((np.ones(units), np.arange(units), np.append(starts, units)), (len(starts), units))


@dataclass(frozen=True)
class ClusterSums:
    """Per patient and column: the sum of a value, of its square, and the number of units counted.

    Attributes
    ----------
    sums, squares, counts
        Arrays of shape (clusters, columns).
    """

    sums: Floats
    squares: Floats
    counts: Floats

    @classmethod
    def of(cls, values: Floats, counted: Bools, starts: NDArray[np.int64]) -> ClusterSums:
        """Add units up by cluster.

        Parameters
        ----------
        values, counted
            Arrays of shape (units, columns), units sorted by cluster; values count where `counted`.
        starts
            Index of each cluster's first unit.
        """
        kept = np.where(counted, values, 0.0)
        members = membership(starts, len(kept))
        return cls(members @ kept, members @ kept**2, members @ counted.astype(np.float64))

    @property
    def n(self) -> Floats:
        """Units counted, per column."""
        total: Floats = self.counts.sum(axis=0)
        return total

    @property
    def clusters(self) -> NDArray[np.int64]:
        """Patients with at least one unit counted, per column."""
        present: NDArray[np.int64] = (self.counts > 0).sum(axis=0)
        return present

    @property
    def mean(self) -> Floats:
        """Mean over counted units, NaN where there is none."""
        with np.errstate(invalid="ignore", divide="ignore"):
            result: Floats = self.sums.sum(axis=0) / self.n
        return result

    @property
    def unit_variance(self) -> Floats:
        """Variance over counted units, as if each were a patient (divided by n)."""
        with np.errstate(invalid="ignore", divide="ignore"):
            result: Floats = np.maximum(self.squares.sum(axis=0) / self.n - self.mean**2, 0.0)
        return result

    @property
    def cluster_variance(self) -> Floats:
        """Sampling variance of the mean where patients are drawn, linearised ratio estimator.

        G/(G − 1) · Σ_g (y_g − p̂ m_g)² / n², with y_g and m_g the sum and count of patient g. NaN
        for fewer than two patients.
        """
        groups = self.clusters
        with np.errstate(invalid="ignore", divide="ignore"):
            residuals = self.sums - self.mean * self.counts
            result: Floats = np.where(groups > 1, groups / (groups - 1.0), np.nan) * (residuals**2).sum(0) / self.n**2
        return result

    def combined_variance(self, columns: Sequence[int], coefficients: Sequence[float]) -> float:
        """Sampling variance of Σ coefficient · mean of column where patients are drawn, linearised.

        As `cluster_variance`, with the residuals of all columns added up within each patient; the
        groups G are the patients that any of the columns counts.
        """
        chosen = list(columns)
        groups = int((self.counts[:, chosen] > 0).any(axis=1).sum())
        if groups < 2:
            return float("nan")
        with np.errstate(invalid="ignore", divide="ignore"):
            residuals = (self.sums - self.mean * self.counts)[:, chosen] / self.n[chosen]
        return groups / (groups - 1) * float(((residuals @ np.asarray(coefficients)) ** 2).sum())
