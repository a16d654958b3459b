"""Generalized estimating equations: a second, unlike way to test a paired contrast (PROTOCOLS 0.7).

A marginal logistic model with exchangeable working correlation within the patient, after Liang and
Zeger, "Longitudinal data analysis using generalized linear models" (1986), by statsmodels; the
sandwich is that of Mancl and DeRouen (2001), which few patients need, with a t quantile on
patients − 1 as in the intervals of shares.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from ..contracts.enums import EstimateStatus
from .clusters import Bools, Floats
from .trial_index import Ints

GEE_METHOD = "GEE, logit, exchangeable within the patient, Mancl–DeRouen sandwich, t"
_ITERATIONS = 200


@dataclass(frozen=True)
class Side:
    """The outcomes under one of the two arms of a contrast.

    Attributes
    ----------
    event, counted
        Shape (units, variants): whether the event happened, and whether the answer counts.
    name
        What a reason calls it.
    """

    event: Bools
    counted: Bools
    name: str = "one of the arms"


@dataclass(frozen=True)
class OddsRatio:
    """Odds of the event under the first arm over the odds under the second.

    `n` are the units that have both arms, `clusters` their patients. What cannot be said is None,
    with the status and the reason.
    """

    n: int
    clusters: int
    value: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    status: EstimateStatus = EstimateStatus.OK
    reason: str | None = None


def odds_ratio(first: Side, second: Side, starts: Ints, confidence: float, needed: int) -> OddsRatio:
    """Fit the model to the units that have both arms; every variant and replicate is a row of its patient.

    Never raises for what the data are like: without variation, with separation or without
    convergence the result is undefined and says why. With fewer patients who differ than are needed
    the asymptotics of the sandwich do not hold: there is a value, and neither interval nor p.

    Parameters
    ----------
    starts
        Index of each patient's first unit, shape (patients,).
    confidence
        Of the interval.
    needed
        Patients whose paired outcomes must differ for an interval.
    """
    both: Bools = np.asarray(first.counted.any(axis=1) & second.counted.any(axis=1))
    n, clusters = int(both.sum()), int(np.logical_or.reduceat(both, starts).sum())

    def nothing(reason: str) -> OddsRatio:
        return OddsRatio(n, clusters, status=EstimateStatus.UNDEFINED, reason=reason)

    if n == 0:
        return nothing("no case counts under both arms")
    if clusters < 2:
        return nothing("one patient: no model over patients")
    apart = np.logical_or.reduceat(both & (_mean(first) != _mean(second)), starts)
    moved = int(apart.sum())
    if moved == 0:
        return nothing("no case differs between the two arms")
    outcome, exposed, patient = _rows(first, second, both, starts)
    for treated, side in ((1.0, first), (0.0, second)):
        share = float(outcome[exposed == treated].mean())
        if share in (0.0, 1.0):
            often = "never" if share == 0 else "always"
            return nothing(f"separation: the event {often} happened under {side.name}: its odds have no logarithm")
    slope, error = _fit(outcome, exposed, patient)
    if not (math.isfinite(slope) and math.isfinite(error)) or error <= 0:
        return nothing("the model did not converge to finite numbers")
    value = math.exp(slope)
    if moved < needed:
        reason = f"paired outcomes differ in {moved} of {clusters} patients, {needed} are needed"
        return OddsRatio(n, clusters, value, status=EstimateStatus.TOO_FEW_EVENTS, reason=reason)
    reach = error * float(stats.t.ppf(0.5 + confidence / 2, clusters - 1))
    p = 2 * float(stats.t.sf(abs(slope) / error, clusters - 1))
    return OddsRatio(n, clusters, value, math.exp(slope - reach), math.exp(slope + reach), p)


def _mean(side: Side) -> Floats:
    counted: Floats = (side.event & side.counted).sum(axis=1) / np.maximum(side.counted.sum(axis=1), 1)
    return counted


def _rows(first: Side, second: Side, both: Bools, starts: Ints) -> tuple[Floats, Floats, Ints]:
    """Outcome, whether it is the first arm's, and patient of every answer, patients together."""
    parts = []
    for exposed, side in ((1.0, first), (0.0, second)):
        unit, variant = np.nonzero(side.counted & both[:, None])
        parts.append((side.event[unit, variant].astype(np.float64), np.full(len(unit), exposed), unit))
    outcome, treated, unit = (np.concatenate(part) for part in zip(*parts, strict=True))
    patient = np.searchsorted(starts, unit, side="right") - 1
    order = np.argsort(patient, kind="stable")
    return outcome[order], treated[order], patient[order].astype(np.int64)


def _fit(outcome: Floats, exposed: Floats, patient: Ints) -> tuple[float, float]:
    """Log odds ratio and its standard error; NaN where there is none."""
    # Imported here: a second at import, and of all stages only one fits a model.
    from statsmodels.genmod.cov_struct import Exchangeable
    from statsmodels.genmod.families import Binomial
    from statsmodels.genmod.generalized_estimating_equations import GEE

    design = np.stack([np.ones_like(exposed), exposed], axis=1)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            model = GEE(outcome, design, groups=patient, family=Binomial(), cov_struct=Exchangeable())
            result: Any = model.fit(maxiter=_ITERATIONS, cov_type="bias_reduced")
        except (np.linalg.LinAlgError, ValueError, ArithmeticError):
            return math.nan, math.nan
        if not result.converged:
            return math.nan, math.nan
        return float(result.params[1]), float(result.bse[1])
