"""Which estimates stand in the table's lists, contrasts and numbers of the whole reader, and their titles.

A metric that nobody placed elsewhere is a number of the whole reader: a new one needs no line here.
"""

from __future__ import annotations

from ..contracts.enums import ArmName, Denominator, Metric, Unit
from .compared import FLIP_DENOMINATORS
from .lookup import Book, Row
from .names import DENOMINATORS, arm_rank, contrast_name

CONTRASTS = (
    Metric.LABEL_SWAP_INCONSISTENCY,
    Metric.SLOT_FOLLOWING,
    Metric.FIRST_SLOT,
    Metric.RSTD,
    Metric.DEBIASED_DIFFERENCE,
    Metric.FLIP_DIFFERENCE,
    Metric.OVERCOMMITMENT_DIFFERENCE,
    Metric.ACCURACY_DIFFERENCE,
)
"""Metrics of the panel of contrasts, in its order."""

BY_ARM = frozenset(
    {
        *(Metric.FLIP_RATE, Metric.OVERCOMMITMENT, Metric.D_SAME, Metric.DELTA, Metric.ACCURACY),
        *(Metric.KAPPA, Metric.D_CROSS, Metric.FLIP_DIRECTION, Metric.STATUS_SHARE, Metric.READOUT_AGREEMENT),
    }
)
"""Metrics with tables of their own, a row or a column per arm."""

CURVES = frozenset(
    {
        *(Metric.DOSE_RESPONSE, Metric.DOSE_FLIPS, Metric.POSITION_ACCURACY, Metric.POSITION_FLIPS),
        *(Metric.RELIABILITY, Metric.RISK_AT_COVERAGE),
    }
)
"""Metrics that are points of curves: they stand in figures."""

OF_ONE_ARM = frozenset(
    {
        *(Metric.LABEL_SWAP_INCONSISTENCY, Metric.SLOT_FOLLOWING, Metric.FIRST_SLOT, Metric.RSTD),
        *(Metric.SLOT_PRIOR, Metric.OBSERVED_ACCURACY, Metric.DEBIASED_ACCURACY, Metric.DEBIASED_DIFFERENCE),
        *(Metric.SCAFFOLD_SHARE, Metric.COVERAGE, Metric.SELECTIVE_ACCURACY, Metric.ECE, Metric.AURC, Metric.AUGRC),
        *(Metric.COVERAGE_AT_RISK, Metric.EFFECTIVE_RELIABILITY),
    }
)
"""Metrics whose name says which arm they are about."""


def placed_elsewhere(metric: Metric) -> bool:
    """Whether a metric has a place of its own, so that it is not listed with the whole reader's numbers."""
    return metric in CONTRASTS or metric in BY_ARM or metric in CURVES


def contrast_rows(book: Book, model: str, readout: str) -> list[Row]:
    """The estimates of the panel of contrasts for one model, in display order."""
    rows: list[Row] = []
    for metric in CONTRASTS:
        found = [
            row
            for row in book.select(metric, model=model, readout=readout)
            if metric is not Metric.LABEL_SWAP_INCONSISTENCY or row["denominator"] in FLIP_DENOMINATORS
        ]
        headline = metric is Metric.OVERCOMMITMENT_DIFFERENCE
        rows += sorted(
            found,
            key=lambda row: (
                -arm_rank(row["reference_arm"]) if headline else 0,
                -arm_rank(row["arm"]) if headline else arm_rank(row["arm"]),
                row["variant"] is not None,
                row["variant"] or "",
                _rank(row),
            ),
        )
    return rows


def single_rows(book: Book, model: str, readout: str) -> list[Row]:
    """Every estimate of one model that stands nowhere else: in the order of the register."""
    return [
        row
        for metric in Metric
        if not placed_elsewhere(metric)
        for row in in_lines(book.select(metric, model=model, readout=readout))
    ]


def in_lines(rows: list[Row]) -> list[Row]:
    """Rows of one metric by arm, number, variant and denominator."""
    return sorted(
        rows,
        key=lambda row: (
            arm_rank(row["arm"]),
            arm_rank(row["reference_arm"]),
            -1.0 if row["parameter"] is None else row["parameter"],
            row["variant"] or "",
            _rank(row),
        ),
    )


def _rank(row: Row) -> int:
    return list(Denominator).index(Denominator(row["denominator"]))


def row_title(row: Row) -> str:
    """What an estimate is about: metric, arms, what it is at, unit, denominator, mark."""
    metric = Metric(row["metric"])
    name = metric.label if metric in OF_ONE_ARM else contrast_name(metric, row["arm"], row["reference_arm"])
    what = {Unit.SHARE: "% of", Unit.POINTS: "points of", Unit.NUMBER: "over"}[metric.unit]
    denominator = DENOMINATORS[Denominator(row["denominator"])]
    return f"{', '.join([name, *at_text(row)])}, {what} {denominator} [{row['mark']}]"


def at_text(row: Row) -> list[str]:
    """The variant and the number an estimate is at, in words; nothing where it has neither."""
    metric, parameter = Metric(row["metric"]), row["parameter"]
    variant = [row["variant"].replace("_", " ")] if row["variant"] else []
    if parameter is None or row["variant"] is not None:
        return variant
    if row["arm"] is None:
        return [f"K = {parameter:g}"]
    if metric is Metric.COVERAGE_AT_RISK:
        return [f"risk at most {100 * parameter:g} %"]
    if metric is Metric.RISK_AT_COVERAGE:
        return [f"coverage {100 * parameter:g} %"]
    if metric is Metric.EFFECTIVE_RELIABILITY:
        return [f"c = {parameter:g}"]
    if row["arm"] == ArmName.LABEL_CYCLE and metric is Metric.SLOT_PRIOR:
        return [f"slot {parameter:g}"]
    return [f"at {parameter:g}"]
