"""What the figure of curves draws, and its caption: without any drawing library."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from ..contracts.enums import EstimateStatus, Metric, Readout
from .format import confidence_text, has_interval
from .lookup import Book
from .names import READOUTS, SYNTHETIC

DATA_COLUMNS = (
    "model",
    "baseline",
    "readout",
    "metric",
    "denominator",
    "level",
    "parameter",
    "value",
    "low",
    "high",
    "bound_low",
    "bound_high",
    "n",
    "n_error",
    "estimate_status",
)


@dataclass(frozen=True)
class Curve:
    """A panel: the metric whose points it holds, its title, and what its axes say."""

    metric: Metric
    title: str
    across: str
    up: str


REMOVED, PLACE = "lesion slices removed, %", "place of the lesion slices in the stack, %"
CURVES = (
    Curve(Metric.DOSE_RESPONSE, "Letting go as the lesion goes", REMOVED, "a diagnosis is named, %"),
    Curve(Metric.DOSE_FLIPS, "Answers changed as the lesion goes", REMOVED, "answers that changed, %"),
    Curve(Metric.POSITION_ACCURACY, "Right, lesion slices moved", PLACE, "right, %"),
    Curve(Metric.POSITION_FLIPS, "Answers changed, lesion slices moved", PLACE, "answers that changed, %"),
)
NOTHING = "No arm was asked at several levels: no curve to draw (arms remove_fraction and roi_at)."


def curves_data(book: Book, readout: Readout, baselines: Collection[str]) -> list[dict[str, Any]]:
    """What is drawn: a row per curve, model and level, from the lowest level.

    `level` is the arm's level by name, `parameter` the same as a number. An interval that may not be
    shown is null here too, and so is that of a baseline, which is drawn without.
    """
    rows: list[dict[str, Any]] = []
    for curve in CURVES:
        found = book.select(curve.metric, readout=readout.value)
        for model in book.models:
            own = [row for row in found if row["model"] == model and row["parameter"] is not None]
            for row in sorted(own, key=lambda row: row["parameter"]):
                shown = {name: row.get(name) for name in DATA_COLUMNS}
                shown |= {"level": row["variant"], "baseline": "yes" if model in baselines else "no"}
                if not has_interval(row) or model in baselines:
                    shown |= {"low": None, "high": None}
                if row["estimate_status"] != EstimateStatus.INCOMPLETE:
                    shown |= {"bound_low": None, "bound_high": None}
                rows.append(shown)
    return rows


def drawn_curves(data: list[dict[str, Any]]) -> list[Curve]:
    """The panels that have a point."""
    with_points = {row["metric"] for row in data if row["value"] is not None}
    return [curve for curve in CURVES if curve.metric in with_points]


def curves_caption(data: list[dict[str, Any]], readout: Readout, synthetic: bool, confidence: float | None) -> str:
    """What the figure shows, in words: n, denominator, interval, what is missing."""
    curves = drawn_curves(data)
    if not curves:
        return NOTHING
    numbers = sorted({row["n"] for row in data if row["value"] is not None})
    n = f"n = {numbers[0]}" if len(numbers) == 1 else f"n = {numbers[0]} to {numbers[-1]}"
    missing = [curve.title for curve in CURVES if curve not in curves]
    grey = " Thin grey lines: readers with known answers, without intervals." if _has(data, baseline="yes") else ""
    text = (
        f"Shares by level, read from {READOUTS[readout]}, of the cases answered on base and at every level ({n}; "
        f"right: of those whose label is known), with {confidence_text(confidence)}, clustered by patient. At 0 % of "
        "the lesion slices removed stands base. "
        f"Hollow marker: no interval may be given.{grey}"
        + (f" Not asked in this study: {'; '.join(missing)}." if missing else "")
    )
    return f"{SYNTHETIC} {text}" if synthetic else text


def _has(data: list[dict[str, Any]], **wanted: Any) -> bool:
    return any(all(row[key] == value for key, value in wanted.items()) for row in data)
