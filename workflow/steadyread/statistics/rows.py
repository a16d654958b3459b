"""Rows of the estimates table: what is said before a number is known, statuses, and plain values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..contracts.enums import Denominator, EstimateStatus
from .bootstrap import BOOTSTRAP, percentile_interval
from .clusters import Floats
from .estimand import Quantity

WHOLE = "all"
"""The stratum that is the whole cohort."""

_DIGITS = 12
"""Decimals kept: the order in which a linear-algebra library adds shows beyond them."""

_STILL = 1e-12
_LATER = (
    *("value", "low", "high", "interval_method", "n_effective", "design_effect", "resamples"),
    *("bound_low", "bound_high", "test", "family", "p", "p_holm", "q_bh", "mde", "reason"),
)

_NO_PRIOR = "no slot prior: fewer than 20 patients, or log-probabilities of every shift were not offered"

NOTHING = {
    Denominator.ALL: "no case was answered under {arms}",
    Denominator.BOTH_ANSWER_SET: "no case has a label or UNSURE in both of {arms}",
    Denominator.BOTH_CATEGORICAL: "no case has a label in both of {arms}",
    Denominator.BASE_CORRECT: "no case with a known label that base got right was answered under {arms}",
    Denominator.LABEL_KNOWN: "no case with a known label was answered under {arms}",
    Denominator.PAIRS_OF_DRAWS: "no request was asked twice under one of: {arms} (see inference.repeat_share)",
    Denominator.ALL_ARMS: "no case was answered under every one of {arms}",
    Denominator.ALL_ARMS_KNOWN: "no case with a known label was answered under every one of {arms}",
    Denominator.SLOT_FOLLOWED: "no answer stayed in the first or second slot while the labels moved",
    Denominator.STEADY: "no case that has {arms} was decided alike under those that show the same",
    Denominator.UNSTEADY: "no case that has {arms} was decided otherwise under one that shows the same",
    Denominator.ANSWERED_KNOWN: "no case with a known label was answered with a label under {arms}",
    Denominator.HELD_OUT_KNOWN: _NO_PRIOR,
    Denominator.CALIBRATION: _NO_PRIOR,
}
"""Why an estimate is undefined, by denominator."""


def blank(about: Quantity, stratum: str) -> dict[str, Any]:
    """A row without its numbers."""
    return {
        "reference_model": None,
        "arm": None if about.arm is None else about.arm.value,
        "variant": about.variant,
        "parameter": about.parameter,
        "reference_arm": None if about.reference_arm is None else about.reference_arm.value,
        "arms": about.arms,
        "stratum": stratum,
        "metric": about.metric.value,
        "denominator": about.denominator.value,
        **dict.fromkeys(_LATER),
        "estimate_status": EstimateStatus.OK.value,
        "mark": about.mark.value,
    }


def too_few(row: dict[str, Any], reason: str) -> None:
    """Mark a row whose interval would not hold."""
    row["estimate_status"], row["reason"] = EstimateStatus.TOO_FEW_EVENTS.value, reason


def bootstrapped(row: dict[str, Any], resampled: Floats, confidence: float) -> None:
    """The percentile interval of a row; none where no resample moved the value.

    Such an interval would have no width: all patients agree, or the statistic has reached its end.
    That is no certainty, since patients who were not drawn may differ.
    """
    low, high, valid = percentile_interval(resampled, row["value"], confidence)
    if high - low < _STILL:
        too_few(row, "no resample moved it: the patients do not differ in what it counts")
        return
    row["low"], row["high"], row["resamples"], row["interval_method"] = low, high, valid, BOOTSTRAP


def judge(row: dict[str, Any], nothing: str) -> None:
    """The status that weighs most: undefined, then incomplete, then too few events."""
    if row["value"] is None:
        row["estimate_status"] = EstimateStatus.UNDEFINED.value
        row["reason"] = nothing
        if row["n_error"]:
            row["reason"] += f"; {_errors(row['n_error'])}"
    elif row["n_error"]:
        also = f"; {row['reason']}" if row["reason"] else ""
        row["estimate_status"] = EstimateStatus.INCOMPLETE.value
        row["reason"] = f"{_errors(row['n_error'])}: the bounds say what could have been{also}"


def _errors(count: int) -> str:
    return f"{count} case{'' if count == 1 else 's'} with an ERROR"


def plain(row: dict[str, Any]) -> dict[str, Any]:
    """Python numbers, rounded; NaN as null."""
    return {key: _plain(value) for key, value in row.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, (float, np.floating)):
        return None if math.isnan(value) else round(float(value), _DIGITS) + 0.0
    return value.item() if isinstance(value, np.generic) else value
