"""Stage `strata_table`: the headline numbers of the cases of one sequence, one label, one third of lesion sizes."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

from ..config.base import Section
from ..config.report import ReportConfig
from ..contracts.enums import Metric, Readout
from ..contracts.tables import ESTIMATES
from ..stages.job import Files
from .findings import HEADLINES, find
from .format import cell, confidence_text, one_line
from .lookup import Book, Row, only
from .markdown import markdown_escape, markdown_table
from .names import READOUTS, SYNTHETIC
from .page_tables import PageTable
from .settings import IntervalConfidence, ListedModel, SyntheticFlag, display_order

STRATA = {
    "lesion_size": "lesion size in ml",
    "n_slices": "slices shown",
    "n_lesion_slices": "lesion slices shown",
    "runs_matched": "other slices removed in runs as long as the lesion's",
}
"""Strata whose key is not a word for people."""
WHOLE = "all cases"
NOTHING = (
    "There are no strata: none was asked for, every case is alike in what was asked for, or there are too many values "
    "to stand apart."
)
MEANING = (
    "The same numbers for some of the cases only. Strata carry no test: of many, some differ by chance, and most hold "
    "too few patients to tell. A stratum may be confounded: its cases may differ from the others in more than its name "
    "says. In the phantom, for one, the size of the lesion goes with the label, since metastases are smaller than "
    "glioblastomas."
)


class StrataTableSettings(Section):
    """Settings of `strata_table`."""

    report: ReportConfig
    """Title, and the readout shown."""
    cohort: SyntheticFlag
    """Whether the images are synthetic."""
    statistics: IntervalConfidence
    """The confidence of the intervals."""
    models_table: tuple[ListedModel, ...]
    """The study's models, in its order."""


def strata_table(inputs: Files, outputs: Files, settings: StrataTableSettings, wildcards: Mapping[str, str]) -> None:
    """Write the estimates by stratum.

    inputs: `estimates`. outputs: `csv` (every estimate of every stratum, full precision), `markdown`
    (headline numbers, one readout).
    """
    book = Book.read(inputs.one("estimates"), display_order(settings.models_table))
    _write_csv(book, outputs.one("csv"))
    outputs.one("markdown").write_text(markdown_text(book, settings), encoding="utf-8", newline="\n")


def _write_csv(book: Book, path: Path) -> None:
    rank = {stratum: number for number, stratum in enumerate(book.strata)}
    place = {model: number for number, model in enumerate(book.models)}
    rows = [row for row in book.all_rows if row["stratum"] in rank and row["reference_model"] is None]
    rows.sort(key=lambda row: (place[row["model"]], rank[row["stratum"]]))
    names = ESTIMATES.schema.names
    with open(path, "w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(names)
        writer.writerows(["+".join(row[name]) if name == "arms" else row[name] for name in names] for row in rows)


def stratum_name(stratum: str) -> str:
    """A stratum in words: lesion size in ml: lowest third (to 3.2)."""
    name, _, value = stratum.partition("=")
    return f"{STRATA.get(name, name.replace('_', ' '))}: {value}"


def strata_tables(book: Book, readout: Readout) -> list[PageTable]:
    """A table per model: a line for all cases, then one per stratum, headline numbers as columns."""
    strata = book.strata
    if not strata:
        return []
    books = [(WHOLE, book), *[(stratum_name(stratum), book.within(stratum)) for stratum in strata]]
    header = ("Cases", "n", *[item.title for item in HEADLINES], "ReAcc, %", "ReCon, %")
    return [
        PageTable(model, header, tuple((name, *_cells(within, model, readout)) for name, within in books))
        for model in book.models
        if any(find(book, item, model, readout) for item in HEADLINES)
    ]


def _rows(book: Book, model: str, readout: Readout) -> list[Row | None]:
    several = [only(book.select(metric, model=model, readout=readout.value)) for metric in (Metric.REACC, Metric.RECON)]
    return [*[find(book, item, model, readout) for item in HEADLINES], *several]


def _cells(book: Book, model: str, readout: Readout) -> list[str]:
    """n, the most cases any of the numbers is of, and the numbers."""
    rows = _rows(book, model, readout)
    return [str(max((row["n"] for row in rows if row is not None), default=0)), *map(cell, rows)]


def markdown_text(book: Book, settings: StrataTableSettings) -> str:
    """The tables for people in Markdown, one per model."""
    readout = settings.report.readout
    parts = [f"# {markdown_escape(settings.report.title)}: by stratum"]
    banner = one_line(settings.report.note)
    parts += [
        f"> **{markdown_escape(text)}**" for text in (banner, SYNTHETIC if settings.cohort.synthetic else "") if text
    ]
    tables = strata_tables(book, readout)
    if not tables:
        return "\n\n".join([*parts, NOTHING]) + "\n"
    interval = confidence_text(settings.statistics.confidence)
    parts.append(f"{MEANING} Read from {READOUTS[readout]}; a cell reads: value [{interval}] (n).")
    for table in tables:
        parts.append(f"**{markdown_escape(table.title)}**\n\n{markdown_table(table.header, table.lines, words=1)}")
    return "\n\n".join(parts) + "\n"
