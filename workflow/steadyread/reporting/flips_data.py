"""What the flips figure draws, and its caption: without any drawing library."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from ..contracts.enums import Denominator, EstimateStatus, Metric, Readout
from .format import confidence_text, has_interval
from .lookup import Book, only
from .names import READERS, READOUTS, SYNTHETIC, grouped

DENOMINATOR = Denominator.ALL
DATA_COLUMNS = (
    "model",
    "baseline",
    "readout",
    "arm",
    "metric",
    "denominator",
    "value",
    "low",
    "high",
    "bound_low",
    "bound_high",
    "n",
    "n_error",
    "estimate_status",
    "floor",
    "floor_arm",
    "floor_n",
)


def flips_data(book: Book, readout: Readout, baselines: Collection[str] = ()) -> list[dict[str, Any]]:
    """What is drawn: a row per arm and model, in the figure's order from the top.

    A baseline is drawn without interval and floor, which are null here. `floor` is d_same of the
    arm itself where it was asked twice, else of base (`floor_arm` says which). An interval that may
    not be shown is null here too.
    """
    rows: list[dict[str, Any]] = []
    found = book.select(Metric.FLIP_RATE, readout=readout.value, denominator=DENOMINATOR)
    arms = grouped(row["arm"] for row in found if row["arm"] is not None)
    for arm in [arm for _, members in arms for arm in members]:
        for model in book.models:
            row = only([item for item in found if item["arm"] == arm and item["model"] == model])
            if row is None:
                continue
            shown = {name: row[name] for name in DATA_COLUMNS if name in row}
            shown["baseline"] = "yes" if model in baselines else "no"
            if not has_interval(row) or model in baselines:
                shown |= {"low": None, "high": None}
            if row["estimate_status"] != EstimateStatus.INCOMPLETE:
                shown |= {"bound_low": None, "bound_high": None}
            floors = [
                item
                for place in (arm, "base")
                for item in book.select(Metric.D_SAME, model=model, readout=readout.value, arm=place)
                if item["value"] is not None and model not in baselines
            ]
            floor = floors[0] if floors else None
            shown |= {
                "floor": None if floor is None else floor["value"],
                "floor_arm": None if floor is None else floor["arm"],
                "floor_n": None if floor is None else floor["n"],
            }
            rows.append(shown)
    return rows


def floor_is_borrowed(row: Mapping[str, Any]) -> bool:
    """Whether the floor drawn is base's, because the arm itself was not asked twice."""
    return row["floor"] is not None and row["floor_arm"] != row["arm"]


def flips_caption(data: list[dict[str, Any]], readout: Readout, synthetic: bool, confidence: float | None) -> str:
    """What the figure shows, in words: n, denominator, interval, floor."""
    numbers = sorted({row["n"] for row in data})
    if not data:
        return "There is no flip rate to draw."
    n = f"n = {numbers[0]}" if len(numbers) == 1 else f"n = {numbers[0]} to {numbers[-1]}, at each arm or row"
    borrowed = (
        "Thin grey bar: that of the base arm, where the arm itself was not asked twice. "
        if any(floor_is_borrowed(row) for row in data)
        else ""
    )
    grey = ""
    if any(row["baseline"] == "yes" for row in data):
        grey = f"Small grey markers: {READERS}, without their intervals. "
    text = (
        f"Share of cases whose answer differs from the one to the base arm (read from {READOUTS[readout]}), "
        f"of all pairs but errors ({n}), with its {confidence_text(confidence)}, clustered by patient. "
        "Where the evidence stays, a careful reader's answer stays (low values); where it is taken away, the answer "
        "changes, to UNSURE (high values). "
        f"{grey}Grey bar: noise floor, the share of pairs of draws of the same request that disagree. "
        f"{borrowed}"
        "Hollow marker: no interval may be given. Dotted line: bounds where some responses ended in an error."
    )
    return f"{SYNTHETIC} {text}" if synthetic else text
