"""Numbers for people: percent, interval, status; the same in table, figure and page.

Every number stands with its denominator n. An estimate without an interval says why.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ..contracts.enums import EstimateStatus, Metric, Unit
from .names import SPREADS, STATUSES

ABSENT = "·"
"""A cell for which there is no estimate."""

Row = Mapping[str, Any]


def percent(value: float | None, signed: bool = False) -> str:
    """A share in percent with one decimal, without the sign of percent; "–" where there is none.

    The minus sign is U+2212; zero has no sign.
    """
    if value is None:
        return "–"
    text = f"{100 * value:{'+' if signed else ''}.1f}"
    if float(text) == 0:
        text = "0.0"
    return text.replace("-", "−")


def number(value: float | None, signed: bool = False) -> str:
    """A number that is no share, with three decimals; three digits from 10 on; "–" where there is none."""
    if value is None:
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    decimals = 3 if abs(value) < 9.9995 else 1 if abs(value) < 99.95 else 0
    text = f"{value:{'+' if signed else ''}.{decimals}f}"
    if float(text) == 0:
        text = f"{0:.{decimals}f}"
    return text.replace("-", "−")


def is_number(row: Row) -> bool:
    """Whether an estimate is neither a share nor a difference of shares."""
    return Metric(row["metric"]).unit is Unit.NUMBER


def is_difference(row: Row) -> bool:
    """Whether an estimate is a difference of shares (percentage points)."""
    if is_number(row):
        return False
    return Metric(row["metric"]).unit is Unit.POINTS or row.get("reference_model") is not None


def unit_text(row: Row) -> str:
    """What an estimate is counted in: %, points, or nothing."""
    return "" if is_number(row) else "points" if is_difference(row) else "%"


def printed(row: Row, value: float | None) -> str:
    """A value in the unit of its row; what can be on either side of 0 carries a sign."""
    between = row.get("reference_model") is not None
    if is_number(row):
        return number(value, signed=between)
    return percent(value, signed=between or (is_difference(row) and Metric(row["metric"]) not in SPREADS))


def value_text(row: Row) -> str:
    """The value alone."""
    return printed(row, row["value"])


def has_interval(row: Row) -> bool:
    """Whether the estimate carries an interval that may be shown."""
    blocked = (EstimateStatus.TOO_FEW_EVENTS, EstimateStatus.UNDEFINED)
    return row["estimate_status"] not in blocked and row["low"] is not None and row["high"] is not None


def interval_text(row: Row) -> str:
    """[low, high], or nothing where the estimate has no interval to show."""
    if not has_interval(row):
        return ""
    return f"[{printed(row, row['low'])}, {printed(row, row['high'])}]"


def not_asked_twice(row: Row) -> bool:
    """Whether noise is undefined because no request was asked twice, and no error took a draw away."""
    return (
        Metric(row["metric"]) in (Metric.D_SAME, Metric.DELTA)
        and row["estimate_status"] == EstimateStatus.UNDEFINED
        and row["n_error"] == 0
        and (row["reason"] or "").startswith("no request was asked twice")
    )


def status_text(row: Row) -> str:
    """What keeps the estimate from being read as it stands, with the bounds of an incomplete one."""
    status = EstimateStatus(row["estimate_status"])
    words = STATUSES[status]
    if not_asked_twice(row):
        return "not asked twice"
    if status is EstimateStatus.OK and not has_interval(row):
        # A test has a statistic, and no interval is to be had.
        return "" if row.get("test") is not None and is_number(row) else "no interval"
    if status is EstimateStatus.INCOMPLETE:
        words += "" if has_interval(row) else ", no interval"
        words += f", {counted(row['n_error'], 'error')}"
        if row["bound_low"] is not None and row["bound_high"] is not None:
            words += f", bounds {printed(row, row['bound_low'])} to {printed(row, row['bound_high'])}"
    return words


def cell(row: Row | None, with_mark: bool = False) -> str:
    """Value [low, high] (n), the mark if wanted, and the status in words where it is not ok."""
    if row is None:
        return ABSENT
    mark = row["mark"] if with_mark else ""
    parts = [value_text(row), interval_text(row), f"({row['n']})", mark, status_text(row)]
    return " ".join(part for part in parts if part)


def sentence_value(row: Row) -> str:
    """The estimate inside a sentence: 48.9 % [41.2, 56.6], n = 180."""
    parts = [value_text(row), unit_text(row), interval_text(row)]
    text = " ".join(part for part in parts if part)
    status = status_text(row)
    return f"{text}, n = {row['n']}" + (f" ({status})" if status else "")


def probability(p: float | None) -> str:
    """A p value; "" where the estimate carries none."""
    if p is None:
        return ""
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def detectable(difference: float | None) -> str:
    """A detectable difference in points; shares cannot differ by more than 100.

    One of 0 comes from pairs that never differ: it says nothing and is left out.
    """
    if not difference:
        return ""
    return "> 100" if difference >= 1 else percent(difference)


def contrast_extras(row: Row | None) -> list[str]:
    """The further columns of a contrast: p, p (Holm) and the detectable difference in points."""
    if row is None:
        return ["", "", ""]
    return [probability(row["p"]), probability(row["p_holm"]), detectable(row["mde"])]


def confidence_text(confidence: float | None) -> str:
    """The name of the interval: "95 % interval"."""
    return "interval" if confidence is None else f"{100 * confidence:g} % interval"


def one_line(text: str | None) -> str | None:
    """A text with its white space closed up; None where it says nothing."""
    return " ".join((text or "").split()) or None


def counted(number: int, noun: str) -> str:
    """A number with its noun: 1 case, 2 cases."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def text_list(words: list[str]) -> str:
    """a, b and c."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"
