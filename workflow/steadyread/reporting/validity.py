"""Do the intervals hold: what `snakemake validity` found, in words and tables, and its section in every page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..statistics.validity.criteria import ERRORS, RARE
from ..statistics.validity.record import Recorded, read_record, summarise
from ..statistics.validity.simulated import simulated_digest
from .format import percent
from .markdown import markdown_table

HEADER = ("What", "Method", "Patients", "Cells", "Judged", "Worst", "Held to", "Missed")
MEASURES = {
    "coverage": "Coverage of intervals: the least",
    "level": "Rejections of what is true: the most",
    "power": "True differences found: the least",
    "value": "Known answers: the furthest from what is expected",
}
_ABSENT = "–"


@dataclass(frozen=True)
class ValiditySection:
    """The section "Do the intervals hold?" of a study's page.

    Attributes
    ----------
    sentences
        What it comes to.
    tables
        Title and lines of each measure's table; cells as `header` names them.
    current
        Whether the code of the study's statistics is the one that was simulated.
    """

    sentences: tuple[str, ...]
    header: tuple[str, ...]
    tables: tuple[tuple[str, tuple[tuple[str, ...], ...]], ...]
    current: bool


def validity_section(record: Sequence[Recorded] | None = None, digest: str | None = None) -> ValiditySection:
    """What the page of any study says, from the record in the package.

    Parameters
    ----------
    record, digest
        The record and the digest of the present code; by default the package's own.
    """
    found = read_record() if record is None else record
    present = simulated_digest() if digest is None else digest
    if not found:
        return ValiditySection(
            ("The intervals and tests of this version were not simulated: run snakemake validity.",), HEADER, (), False
        )
    current = all(row.digest == present for row in found)
    return ValiditySection(sentences_of(found, current), HEADER, tables_of(found), current)


def sentences_of(found: Sequence[Recorded], current: bool) -> tuple[str, ...]:
    """What the record comes to, in words."""
    judged, missed = sum(row.judged for row in found), sum(row.missed for row in found)
    runs = max(row.runs for row in found)
    outcome = "every one is kept" if not missed else f"{missed} are missed"
    sentences = [
        f"The intervals and tests were tried on simulated studies whose truth is known, {runs:,} of each kind: of "
        f"{judged} criteria {outcome}, each less {ERRORS:g} Monte-Carlo standard errors.",
        f"Bootstrap intervals are judged where at least {percent(RARE)} % of the simulated studies report one; where "
        "events are rarer, those few that pass the rule of minimum events are too far from the truth, and are shown "
        "and not judged.",
    ]
    short = [row for row in found if row.quantity.startswith("Δ") and row.measure == "coverage" and row.patients < 45]
    sentences += [
        f"Intervals of Δ (the effect above noise) hold the truth in {percent(row.worst)} % of studies of "
        f"{row.patients} patients, not in {percent(1 - row.level)} %: too narrow with so few."
        for row in short
    ]
    sentences.append(
        "The code that made this study's intervals and tests is the code that was simulated."
        if current
        else "The code has changed since it was simulated: run snakemake validity and record it anew."
    )
    return tuple(sentences)


def tables_of(found: Iterable[Recorded]) -> tuple[tuple[str, tuple[tuple[str, ...], ...]], ...]:
    """A table for each measure: its title and its lines."""
    listed = list(found)
    tables = []
    for measure, title in MEASURES.items():
        lines = tuple(_line(row) for row in listed if row.measure == measure)
        if lines:
            tables.append((title, lines))
    return tuple(tables)


def markdown_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """The worst cell of each kind, for people."""
    found = summarise(rows, "")
    parts = ["# Do the intervals hold?", ""]
    for title, lines in tables_of(found):
        parts += [f"## {title}", "", markdown_table(HEADER, lines, 2), ""]
    parts.append(
        f"Shares in percent. A cell may miss its criterion by {ERRORS:g} Monte-Carlo standard errors. Bootstrap "
        f"intervals are judged where at least {percent(RARE)} % of the runs report one. Every cell, with both tails "
        "and the mean width: validity.csv; what is simulated, and why: docs/validity.md."
    )
    return "\n".join(parts) + "\n"


def _line(row: Recorded) -> tuple[str, ...]:
    quantity = f"{row.quantity}, level {row.level:g}" if row.measure == "level" else row.quantity
    worst = f"{row.worst:+.5f}".replace("-", "−") if row.measure == "value" else percent(row.worst)
    return (
        quantity,
        row.method,
        str(row.patients),
        str(row.cells),
        str(row.judged),
        _ABSENT if row.worst != row.worst else worst,
        _ABSENT if row.target is None else percent(row.target),
        str(row.missed) if row.judged else _ABSENT,
    )
