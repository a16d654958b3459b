"""What the figure of calibration draws, and its caption: without any drawing library."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from ..contracts.enums import Metric, Readout
from .format import confidence_text, has_interval
from .lookup import Book, Row, only
from .names import READOUTS, SYNTHETIC

DATA_COLUMNS = (
    "model",
    "readout",
    "curve",
    "bin",
    "x",
    "y",
    "low",
    "high",
    "n",
    "estimate_status",
)
RELIABILITY, RISK, OPTIMUM, VERBAL = "reliability", "risk_coverage", "optimum", "verbal"
NOTHING = "No engine offered a confidence: there is no calibration to draw."


def calibration_data(book: Book, readout: Readout, baselines: Collection[str]) -> list[dict[str, Any]]:
    """What is drawn, of audited models that have a confidence: a row per point.

    `curve` is one of: reliability (x mean confidence of a bin, y accuracy in it), risk_coverage (x
    coverage, y selective risk), optimum (the same for a ranking that puts every wrong answer last),
    verbal (the operating point of answering where the model named a diagnosis). An interval that
    may not be shown is null here too.
    """
    rows: list[dict[str, Any]] = []
    for model in [model for model in book.models if model not in baselines]:
        bins = _rows(book, Metric.RELIABILITY, model, readout)
        risks = _rows(book, Metric.RISK_AT_COVERAGE, model, readout)
        rows += [_point(row, RELIABILITY, row["parameter"]) for row in bins]
        rows += [_point(row, RISK, row["parameter"]) for row in risks]
        if risks:
            rows += _optimum(risks[-1])
            rows += _verbal(book, model, readout)
    return rows


def _rows(book: Book, metric: Metric, model: str, readout: Readout) -> list[Row]:
    found = [
        row
        for row in book.select(metric, model=model, readout=readout.value)
        if row["value"] is not None and row["parameter"] is not None
    ]
    return sorted(found, key=lambda row: row["parameter"])


def _point(row: Row, curve: str, x: float) -> dict[str, Any]:
    known = has_interval(row)
    return {
        "model": row["model"],
        "readout": row["readout"],
        "curve": curve,
        "bin": row["variant"] if curve == RELIABILITY else None,
        "x": x,
        "y": row["value"],
        "low": row["low"] if known else None,
        "high": row["high"] if known else None,
        "n": row["n"],
        "estimate_status": row["estimate_status"],
    }


def _optimum(whole: Row) -> list[dict[str, Any]]:
    """Risk of the best ranking: 0 up to coverage 1 − e, then (c − (1 − e)) / c, for the error rate e.

    `whole` is the risk at the greatest coverage; there is no optimum where that is not 1.
    """
    if whole["parameter"] != 1:
        return []
    right = 1 - whole["value"]
    places = sorted({0.0, right, *[step / 20 for step in range(1, 21)]})
    bare = {"low": None, "high": None, "bin": None}
    return [
        {**_point(whole, OPTIMUM, place), **bare, "y": max(0.0, (place - right) / place) if place else 0.0}
        for place in places
    ]


def _verbal(book: Book, model: str, readout: Readout) -> list[dict[str, Any]]:
    coverage, accuracy = (
        only(book.select(metric, model=model, readout=readout.value))
        for metric in (Metric.COVERAGE, Metric.SELECTIVE_ACCURACY)
    )
    if coverage is None or accuracy is None or coverage["value"] is None or accuracy["value"] is None:
        return []
    point = _point(accuracy, VERBAL, coverage["value"])
    ends = {"low": None, "high": None}
    if point["low"] is not None:
        ends = {"low": 1 - point["high"], "high": 1 - point["low"]}
    return [{**point, "y": 1 - accuracy["value"], **ends}]


def calibration_caption(data: list[dict[str, Any]], readout: Readout, synthetic: bool, confidence: float | None) -> str:
    """What the figure shows, in words."""
    if not data:
        return NOTHING
    text = (
        f"Base, cases with a known label, read from {READOUTS[readout]}. Left: how often a diagnosis was right, by the "
        f"confidence it was given with, with {confidence_text(confidence)}, clustered by patient; grey bars: how many "
        "answers stand behind each point, n at its foot; dashed: confidence that can be taken at its word. Right: the "
        "risk of a wrong answer among those kept, where the surest are kept first; dashed: the best order there could "
        "be, with every wrong answer last; cross: what the model's own UNSURE comes to. Cases without a diagnosis are "
        "kept last and count as wrong. Hollow marker: no interval may be given."
    )
    return f"{SYNTHETIC} {text}" if synthetic else text
