"""How many answers were understood at all: a flip between answers that nobody understood is no flip."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..contracts.enums import ArmName, Denominator, Metric, OutcomeStatus, Readout
from .format import ABSENT, percent, text_list
from .lookup import Book
from .names import READOUTS

ENOUGH = 0.95
"""Below this share of understood base answers, the reader is told before any other number [O]."""
LOST = (OutcomeStatus.REFUSED, OutcomeStatus.UNPARSED, OutcomeStatus.TRUNCATED)
"""Endings that say neither a label nor UNSURE; errors of the machine are in no denominator."""


@dataclass(frozen=True)
class Understood:
    """The share of base answers that named a label or UNSURE, of all but errors; n answers."""

    share: float
    n: int

    @property
    def too_few(self) -> bool:
        """Whether the reader must be told first; shares carry twelve decimals."""
        return self.share < ENOUGH - 1e-9

    @property
    def text(self) -> str:
        """The share in percent, n behind it."""
        return f"{percent(self.share)} ({self.n})"


def understood(book: Book, model: str, readout: Readout) -> Understood | None:
    """What was understood of a model's base answers; None where there are no shares of endings."""
    rows: dict[str, Mapping[str, Any]] = {
        row["variant"]: row
        for row in book.select(
            Metric.STATUS_SHARE,
            model=model,
            readout=readout.value,
            denominator=Denominator.ALL,
            arm=ArmName.BASE.value,
        )
    }
    lost = [rows.get(status.value) for status in LOST]
    values = [row["value"] for row in lost if row is not None and row["value"] is not None]
    if len(values) < len(LOST):
        return None
    share = min(max(1 - sum(values), 0.0), 1.0)
    return Understood(share, min(row["n"] for row in lost if row is not None))


def understood_cell(book: Book, model: str, readout: Readout) -> str:
    """The cell of the headline table."""
    found = understood(book, model, readout)
    return ABSENT if found is None else found.text


def misunderstood_sentence(book: Book, model: str, readout: Readout) -> str | None:
    """What must be said before a model's other numbers; None where enough was understood."""
    found = understood(book, model, readout)
    if found is None or not found.too_few:
        return None
    how = f"Only {percent(found.share)} %" if found.share > 0 else "None (0.0 %)"
    return (
        f"{how} of its base answers were understood, n = {found.n}: a flip below may be a change between answers "
        "that nobody understood."
    )


def misunderstood_note(book: Book, readout: Readout) -> str | None:
    """The same for a table, of all models it holds for."""
    found = {model: understood(book, model, readout) for model in book.models}
    whose = [f"{model} {item.text}" for model, item in found.items() if item is not None and item.too_few]
    if not whose:
        return None
    return (
        f"Base answers understood in less than {100 * ENOUGH:g} %, read from {READOUTS[readout]}: {text_list(whose)}; "
        "a flip there may be a change between answers that nobody understood."
    )
