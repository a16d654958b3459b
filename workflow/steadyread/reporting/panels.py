"""The table for people, panels per readout: a row per model and arm, per contrast, per number of the whole
reader, and models compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..config.comparisons import Comparison
from ..contracts.enums import Denominator, Metric, Readout
from .compared import compared_of, pair_name
from .format import cell, contrast_extras, detectable, probability
from .lines import contrast_rows, row_title, single_rows
from .lookup import Book, Row, only
from .names import DENOMINATORS, READOUTS, arm_name


@dataclass(frozen=True)
class Column:
    """A column of panel A: a metric under one denominator (None: the metric's own)."""

    title: str
    metric: Metric
    denominator: Denominator | None = None


COLUMNS = (
    Column("Flip rate", Metric.FLIP_RATE, Denominator.ALL),
    Column("Flip rate", Metric.FLIP_RATE, Denominator.BOTH_CATEGORICAL),
    Column("Overcommitment", Metric.OVERCOMMITMENT),
    Column("Noise floor d_same", Metric.D_SAME),
    Column("Δ above noise", Metric.DELTA),
    Column("Accuracy", Metric.ACCURACY),
)


@dataclass(frozen=True)
class Line:
    """A line of a panel: its model or pair of models, what it is about, its estimates (None: there is
    none), and what stands behind them."""

    model: str
    title: str
    cells: tuple[Row | None, ...]
    extras: tuple[str, ...] = ()


@dataclass(frozen=True)
class Panel:
    """A panel for one readout.

    `contrasts`: a line has a long title and one estimate (contrasts, numbers of the whole reader, models
    compared). `claims`: its last column holds words, what
    was claimed and whether it held. `mixed` are the estimates of a line (by place) whose cells carry
    their own mark, since the column's marks differ.
    """

    readout: str
    title: str
    header: tuple[str, ...]
    lines: tuple[Line, ...]
    contrasts: bool = False
    claims: bool = False
    mixed: frozenset[int] = frozenset()


def panels_of(book: Book, first: Readout, comparisons: Sequence[Comparison] = ()) -> list[Panel]:
    """The panels of all readouts, the one to show first ahead."""
    panels: list[Panel] = []
    for readout in book.readouts(first):
        about = READOUTS[Readout(readout)]
        by_arm = _arm_lines(book, readout)
        if by_arm:
            header = ("Model", "Arm", *[_column_title(book, readout, column) for column in COLUMNS])
            mixed = frozenset(
                place for place, column in enumerate(COLUMNS) if len(_marks_of(book, readout, column)) > 1
            )
            panels.append(Panel(readout, f"Arms, read from {about}", header, tuple(by_arm), mixed=mixed))
        contrasts = [
            Line(model, row_title(row), (row,), tuple(contrast_extras(row)))
            for model in book.models
            for row in contrast_rows(book, model, readout)
        ]
        if contrasts:
            header = ("Model", "Contrast", "Estimate", "p", "p (Holm)", "Detectable, points")
            panels.append(Panel(readout, f"Contrasts, read from {about}", header, tuple(contrasts), contrasts=True))
        singles = [
            Line(model, row_title(row), (row,), (probability(row["p"]),))
            for model in book.models
            for row in single_rows(book, model, readout)
        ]
        if singles:
            header = ("Model", "Of the whole reader", "Estimate", "p")
            panels.append(Panel(readout, f"Whole reader, read from {about}", header, tuple(singles), contrasts=True))
        panels += _compared(book, Readout(readout), comparisons)
    return panels


def _compared(book: Book, readout: Readout, comparisons: Sequence[Comparison]) -> list[Panel]:
    """The panel of two models compared; none where nothing was."""
    found = list(compared_of(book, readout, comparisons))
    claims = any(claimed for _, claimed, _ in found)
    lines = tuple(
        Line(
            pair_name(item),
            f"{compared.title} [{compared.row['mark']}]",
            (compared.row,),
            (detectable(compared.row["mde"]), *([compared.claim_text] if claims else [])),
        )
        for item, claimed, others in found
        for compared in [*claimed, *others]
    )
    header = ("Model − reference", "What is compared", "Difference, points", "Detectable, points")
    whole = (*header, "Claimed before the audit") if claims else header
    title = f"Compared, read from {READOUTS[readout]}"
    return [Panel(readout.value, title, whole, lines, contrasts=True, claims=claims)] if lines else []


def _arm_lines(book: Book, readout: str) -> list[Line]:
    lines = []
    for model in book.models:
        for arm in book.arms(model, readout):
            cells = tuple(
                only(book.select(column.metric, model=model, readout=readout, denominator=column.denominator, arm=arm))
                for column in COLUMNS
            )
            if any(cells):
                lines.append(Line(model, arm_name(arm), cells))
    return lines


def _column_title(book: Book, readout: str, column: Column) -> str:
    rows = book.select(column.metric, readout=readout, denominator=column.denominator)
    of = sorted({DENOMINATORS[Denominator(row["denominator"])] for row in rows})
    marks = _marks_of(book, readout, column)
    unit = "points" if column.metric is Metric.DELTA else "%"
    share = f" of {' / '.join(of)}" if of and column.metric is not Metric.DELTA else ""
    return f"{column.title}, {unit}{share}" + (f" [{marks[0]}]" if len(marks) == 1 else "")


def _marks_of(book: Book, readout: str, column: Column) -> list[str]:
    rows = book.select(column.metric, readout=readout, denominator=column.denominator)
    return sorted({row["mark"] for row in rows})


def texts_of(panel: Panel) -> list[list[str]]:
    """The cells of a panel as text, a list per line."""
    lines = []
    for line in panel.lines:
        texts = [line.model, line.title, *[cell(row, place in panel.mixed) for place, row in enumerate(line.cells)]]
        lines.append([*texts, *line.extras])
    return lines
