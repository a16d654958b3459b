"""Tables of the summary page: a line per model with numbers as columns, or a line per arm with models as columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from ..contracts.enums import ArmName, Denominator, EstimateStatus, Metric, Readout
from .curves_data import CURVES
from .format import ABSENT, cell, not_asked_twice, percent, probability, unit_text
from .lines import at_text
from .lookup import Book, Row, only
from .names import arm_name, in_order, in_words


@dataclass(frozen=True)
class PageTable:
    """A table as text.

    Attributes
    ----------
    title
        What stands above it.
    header, lines
        Cells; the first `words` columns hold words, the others numbers.
    reasons
        Why cells are undefined, each reason once.
    """

    title: str
    header: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]
    words: int = 1
    reasons: tuple[str, ...] = ()

    @property
    def groups(self) -> list[list[tuple[str, ...]]]:
        """The lines in groups that share their first cell, where a second cell of words tells them apart."""
        if self.words < 2:
            return [list(self.lines)]
        return [list(group) for _, group in groupby(self.lines, key=lambda line: line[0])]


@dataclass(frozen=True)
class Fold:
    """Tables that are folded away under one title."""

    title: str
    tables: tuple[PageTable, ...]


def folds(tables: Iterable[PageTable]) -> list[Fold]:
    """Each table folded by itself, under its own title."""
    return [Fold(table.title, (table,)) for table in tables]


@dataclass(frozen=True)
class PageColumn:
    """A column: what stands above it, and which estimate of a model stands in it.

    `readout` is that of the page where None. K and the unit are added to the title.
    """

    title: str
    metric: Metric
    denominator: Denominator | None = None
    arm: ArmName | None = None
    reference: ArmName | None = None
    variant: str | None = None
    parameter: float | None = None
    readout: Readout | None = None

    def rows(self, book: Book, readout: Readout) -> list[Row]:
        """The estimates of all models that stand in it."""
        found = book.select(
            self.metric,
            readout=(self.readout or readout).value,
            denominator=self.denominator,
            arm=None if self.arm is None else self.arm.value,
            reference_arm=None if self.reference is None else self.reference.value,
        )
        wanted = {"variant": self.variant, "parameter": self.parameter}
        return [row for row in found if all(value is None or row[key] == value for key, value in wanted.items())]

    def heading(self, rows: Sequence[Row]) -> str:
        """Its title with K, where all have the same, and the unit."""
        several = {row["parameter"] for row in rows if row["arm"] is None} - {None}
        parts = [self.title, *([f"K = {several.pop():g}"] if len(several) == 1 else []), unit_text(rows[0])]
        return ", ".join(part for part in parts if part)


def by_model(book: Book, readout: Readout, title: str, columns: Iterable[PageColumn]) -> list[PageTable]:
    """A table of a line per model; columns without any estimate are left out, and a table without columns."""
    found = [(column, rows) for column in columns if (rows := column.rows(book, readout))]
    models = book.ordered(row["model"] for _, rows in found for row in rows)
    if not found:
        return []
    lines = tuple(
        (model, *[_with_p(only([row for row in rows if row["model"] == model])) for _, rows in found])
        for model in models
    )
    header = ("Model", *[column.heading(rows) for column, rows in found])
    return [PageTable(title, header, lines, reasons=_reasons(row for _, rows in found for row in rows))]


def _reasons(rows: Iterable[Row]) -> tuple[str, ...]:
    """Why estimates are undefined, each reason once; noise that was not asked for says so in its cell."""
    undefined = [row for row in rows if row["estimate_status"] == EstimateStatus.UNDEFINED and not not_asked_twice(row)]
    return tuple(sorted({in_words(row["reason"]) for row in undefined}))


def _with_p(row: Row | None) -> str:
    p = "" if row is None else probability(row["p"])
    return cell(row) + (f", p {p}" if p.startswith("<") else f", p = {p}" if p else "")


def by_arm(
    book: Book, readout: Readout, metric: Metric, title: str, arms: Iterable[str] | None = None
) -> list[PageTable]:
    """A table of a line per arm and a column per model; none where there is no estimate."""
    found = [row for row in book.select(metric, readout=readout.value) if row["arm"] is not None]
    shown = [arm for arm in in_order(row["arm"] for row in found) if arms is None or arm in arms]
    models = book.ordered(row["model"] for row in found)
    held: dict[tuple[str, str], list[Row]] = {}
    for row in found:
        held.setdefault((row["arm"], row["model"]), []).append(row)
    lines = tuple((arm_name(arm), *[cell(only(held.get((arm, model), []))) for model in models]) for arm in shown)
    return [PageTable(title, ("Arm", *models), lines, reasons=_reasons(found))] if lines else []


def points(book: Book, readout: Readout, metric: Metric, title: str) -> list[PageTable]:
    """A table of a line per model and a column per point of a curve; none where there is no estimate."""
    found = [row for row in book.select(metric, readout=readout.value) if row["parameter"] is not None]
    # A bin's mean confidence differs between models: its name does not.
    places = {
        key: at_text(row)
        for row in sorted(found, key=lambda row: row["parameter"])
        for key in [row["variant"] or row["parameter"]]
    }
    lines = tuple(
        (model, *[cell(only(_at(found, model, key))) for key in places])
        for model in book.ordered(row["model"] for row in found)
    )
    return [PageTable(title, ("Model", *[", ".join(text) for text in places.values()]), lines)] if lines else []


def _at(rows: Sequence[Row], model: str, key: str | float) -> list[Row]:
    return [row for row in rows if row["model"] == model and (row["variant"] or row["parameter"]) == key]


def curve_tables(book: Book, readout: Readout, metrics: Iterable[Metric]) -> list[PageTable]:
    """The numbers of some curves."""
    titles = {curve.metric: f"{curve.title}: {curve.up}, by {curve.across}" for curve in CURVES}
    return [
        table
        for metric in metrics
        for table in points(book, readout, metric, titles.get(metric, f"{metric.label.capitalize()}, %"))
    ]


DIRECTIONS = {
    "label_to_other_label": "Diagnosis → other diagnosis",
    "label_to_unsure": "Diagnosis → UNSURE",
    "unsure_to_label": "UNSURE → diagnosis",
    "wrong_to_right": "Wrong → right",
    "right_to_other_label": "Right → other diagnosis",
    "right_to_unsure": "Right → UNSURE",
    "right_to_no_answer": "Right → no answer",
}
"""Directions of flips in front of people; the others stand in the CSV."""
NEGATIVE = ("right_to_other_label", "right_to_unsure", "right_to_no_answer")
"""The cells that add up to the negative flips: right under base, and not right under the arm."""


def directions(book: Book, readout: Readout) -> list[Fold]:
    """Where flips go, a table per model and a line per arm: another diagnosis apart from UNSURE.

    The last column is the sum of the three before it.
    """
    found = book.select(Metric.FLIP_DIRECTION, readout=readout.value)
    index = {(row["model"], row["arm"], row["variant"]): row for row in found}
    header = ("Arm", *DIRECTIONS.values(), "Right → anything else, sum of the three")
    tables = []
    for model in book.ordered(row["model"] for row in found):
        lines = []
        for arm in in_order(row["arm"] for row in found if row["model"] == model):
            rows = {name: index.get((model, arm, name)) for name in DIRECTIONS}
            lines.append((arm_name(arm), *map(cell, rows.values()), _sum([rows[name] for name in NEGATIVE])))
        tables.append(PageTable(model, header, tuple(lines)))
    title = "Where flips go, % of all pairs; from right and wrong: of pairs whose label is known"
    return [Fold(title, tuple(tables))] if tables else []


def _sum(rows: Sequence[Row | None]) -> str:
    known = [row for row in rows if row is not None and row["value"] is not None]
    if not known or len(known) < len(rows):
        return ABSENT
    return f"{percent(sum(row['value'] for row in known))} ({known[0]['n']})"
