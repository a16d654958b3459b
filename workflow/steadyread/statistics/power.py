"""What a study of this size could have seen, and how many patients it takes to see so much."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from .clusters import Floats
from .rates import t_quantile, wilson

POWER = 0.8
MOST_PATIENTS = 10_000_000
"""More than this are not planned for."""


def minimum_detectable_difference(
    variance: Floats, clusters: NDArray[np.int64], confidence: float, units: Floats, power: float = POWER
) -> Floats:
    """Smallest true difference that a two-sided test finds with the given power, per column.

    max(k · SE, k² / (G + k²)) + 1/n, k = t_{1 − α/2, G − 1} + t_{power, G − 1} [O]. SE is the
    clustered standard error at the observed discordance. The second term is where all discordant
    patients point one way, δ = k √(δ(1 − δ) / G): it bounds what G patients can show when few or none
    were seen to differ and the SE says nothing. One unit of n is the continuity correction: the tests
    are exact and move in steps, and without it exact McNemar finds the difference in 72 % at 45
    patients (`snakemake validity`).

    Parameters
    ----------
    variance
        Clustered variance of the difference, shape (columns,).
    clusters
        Patients G, shape (columns,).
    units
        Units n, shape (columns,); infinite for an outcome that is no share.
    """
    k = t_quantile(0.5 + confidence / 2, clusters) + t_quantile(power, clusters)
    with np.errstate(invalid="ignore", divide="ignore"):
        result: Floats = np.fmax(k * np.sqrt(variance), k**2 / (clusters + k**2)) + 1 / np.asarray(units)
    return result


@dataclass(frozen=True)
class Design:
    """What is assumed of a study that is planned.

    Attributes
    ----------
    cases
        Cases per patient, m.
    icc
        Intra-class correlation ρ of the outcome within the patient.
    confidence, power
        Of the two-sided test (α = 1 − confidence) and of finding a true difference.

    Raises
    ------
    ValueError
        If one of them is out of its range.
    """

    cases: float = 1.0
    icc: float = 0.0
    confidence: float = 0.95
    power: float = POWER

    def __post_init__(self) -> None:
        if not 1 <= self.cases < math.inf:
            raise ValueError(f"{self.cases:g} cases per patient: a finite number of at least 1 is expected")
        if not 0 <= self.icc <= 1:
            raise ValueError(f"intra-class correlation {self.icc:g}: expected within [0, 1]")
        if not 0 < self.confidence < 1:
            # People give the test's level, and its complement is none of their words.
            raise ValueError(f"alpha {1 - self.confidence:g}: expected between 0 and 1")
        if not 0.5 <= self.power < 1:
            raise ValueError(f"power {self.power:g}: expected at least 0.5 and below 1")

    @property
    def design_effect(self) -> float:
        """1 + (m − 1)ρ (Kish 1965)."""
        return 1 + (self.cases - 1) * self.icc

    @property
    def per_patient(self) -> float:
        """Independent cases that a patient is worth: m over the design effect."""
        return self.cases / self.design_effect


def patients_needed(difference: float, discordance: float, design: Design) -> int:
    """Fewest patients that find a true paired difference of two shares with the design's power.

    A case's paired difference is 1, 0 or −1: with a share d of pairs that differ and a mean of δ its
    variance is d − δ², and v = (d − δ²) · (1 + (m − 1)ρ) / m is that of a patient's mean. The test
    that flips signs takes v + δ² for the variance, since under its hypothesis δ is 0. Hence
    t_{1 − α/2} √((v + δ²) / G) + t_{power} √(v / G) ≤ δ: with one case per patient and normal
    quantiles this is Connor's formula for McNemar's test (Biometrics 43:207, 1987).

    Parameters
    ----------
    difference
        δ, between 0 and 1.
    discordance
        d, share of cases whose two outcomes differ, at least δ.

    Raises
    ------
    ValueError
        If the difference is not within (0, discordance], or no number of patients is enough.
    """
    _check_discordance(discordance)
    if not 0 < difference <= discordance:
        raise ValueError(
            f"a difference of {100 * difference:g} points with a discordance of {discordance:g}: expected above 0 and "
            f"at most the discordance, {100 * discordance:g} points, since only cases whose two outcomes differ make a "
            "difference"
        )
    return _fewest(lambda patients: _margin(difference, patients, discordance, design) >= 0)


def detectable_difference(patients: int, discordance: float, design: Design) -> float | None:
    """Smallest true paired difference of two shares that so many patients find: `patients_needed` turned round.

    None where it would be greater than the discordance: then no difference can be found.

    Raises
    ------
    ValueError
        For fewer than two patients, or a discordance out of (0, 1].
    """
    _check_patients(patients)
    _check_discordance(discordance)
    if _margin(discordance, patients, discordance, design) < 0:
        return None
    return float(brentq(_margin, 0.0, discordance, args=(patients, discordance, design), xtol=1e-12))


def _margin(difference: float, patients: int, discordance: float, design: Design) -> float:
    """By how much a difference exceeds what is found with the design's power."""
    variance = (discordance - difference**2) / design.per_patient
    reach = float(t_quantile(0.5 + design.confidence / 2, patients)) * math.sqrt(variance + difference**2)
    also = float(t_quantile(design.power, patients)) * math.sqrt(variance)
    return difference - (reach + also) / math.sqrt(patients)


def precision(patients: int, share: float, design: Design) -> float:
    """How far a share's interval reaches to its farther side: Wilson, effective n = G m / (1 + (m − 1)ρ), t on G − 1.

    Wilson's interval is not symmetric: half its width would be kept on one side only.

    Raises
    ------
    ValueError
        For fewer than two patients, or a share out of [0, 1].
    """
    _check_patients(patients)
    if not 0 <= share <= 1:
        raise ValueError(f"share {share:g}: expected within [0, 1]")
    quantile = t_quantile(0.5 + design.confidence / 2, patients)
    low, high = wilson(share, patients * design.per_patient, quantile)
    return float(np.maximum(high - share, share - low))


def patients_for_precision(half_width: float, share: float, design: Design) -> int:
    """Fewest patients whose interval of a share reaches no further than half_width, to either side.

    Raises
    ------
    ValueError
        If the half width is not within (0, 0.5), or no number of patients is enough.
    """
    if not 0 < half_width < 0.5:
        raise ValueError(f"an interval of ± {100 * half_width:g} points: expected above 0 and below 50")
    return _fewest(lambda patients: precision(patients, share, design) <= half_width)


def _check_patients(patients: int) -> None:
    if patients < 2:
        raise ValueError(f"{patients} patients: at least 2 are expected")


def _check_discordance(discordance: float) -> None:
    if not 0 < discordance <= 1:
        raise ValueError(f"discordance {discordance:g}: expected above 0 and at most 1")


def _fewest(enough: Callable[[int], bool]) -> int:
    """The least number from 2 on that is enough, where every greater one is too."""
    high = 2
    while not enough(high):
        if high >= MOST_PATIENTS:
            raise ValueError(f"not even {MOST_PATIENTS} patients are enough")
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
