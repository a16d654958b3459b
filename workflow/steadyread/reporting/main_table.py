"""Stage `main_table`: one table per study, for machines (CSV) and people (Markdown, LaTeX).

The CSV holds every estimate over the whole cohort in full precision; the table for people is laid out in `panels`.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..config.base import Section
from ..config.comparisons import Comparison
from ..config.report import ReportConfig
from ..contracts.tables import ESTIMATES
from ..stages.job import Files
from .compared import claims_by_row
from .format import one_line
from .latex import latex_document
from .lookup import Book
from .markdown import markdown_escape, markdown_table
from .names import SYNTHETIC
from .notes import notes_of
from .panels import Panel, panels_of, texts_of
from .settings import ListedModel, SyntheticFlag, TableStatistics, display_order


class MainTableSettings(Section):
    """Settings of `main_table`."""

    report: ReportConfig
    """What is drawn."""
    cohort: SyntheticFlag
    """Whether the images are synthetic."""
    statistics: TableStatistics
    """The confidence of the intervals, and what is compared."""
    models_table: tuple[ListedModel, ...]
    """The study's models, in its order."""


def csv_text(book: Book, comparisons: Sequence[Comparison] = ()) -> str:
    """Every estimate over the whole cohort with every column, full precision; lists joined by "+", null empty.

    Strata have a table of their own. Two columns more say which side was claimed of a difference
    between two models before the audit, and whether that held (yes, not shown, contradicted).
    """
    claims = claims_by_row(book, comparisons)
    place = {model: number for number, model in enumerate(book.models)}
    stream = io.StringIO()
    names = ESTIMATES.schema.names
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([*names, "claimed", "claim_held"])
    rows = sorted(book.whole_rows, key=lambda row: (row["reference_model"] is not None, place.get(row["model"], -1)))
    for row in rows:
        found = claims.get(id(row))
        claim = ["", ""] if found is None else [found.claim, found.held]
        writer.writerow([*["+".join(row[name]) if name == "arms" else row[name] for name in names], *claim])
    return stream.getvalue()


def markdown_text(title: str, panels: list[Panel], notes: list[str], synthetic: bool, banner: str | None = None) -> str:
    """The table in Markdown (pipe tables), with banners and notes."""
    parts = [f"# {markdown_escape(title)}: main table"]
    if banner:
        parts.append(f"> **{markdown_escape(banner)}**")
    if synthetic:
        parts.append(f"> **{SYNTHETIC}**")
    for number, panel in enumerate(panels):
        heading = f"**{chr(ord('A') + number)}. {markdown_escape(panel.title)}**"
        parts.append(f"{heading}\n\n{markdown_table(panel.header, texts_of(panel), words=2)}")
    if not panels:
        parts.append("There are no estimates.")
    # The banner stands above already.
    parts.append("\n".join(f"- {markdown_escape(note)}" for note in notes if note != SYNTHETIC))
    return "\n\n".join(parts) + "\n"


def main_table(inputs: Files, outputs: Files, settings: MainTableSettings, wildcards: Mapping[str, str]) -> None:
    """Write the study's main table.

    inputs: `estimates`. outputs: `csv` (all numbers), `markdown`, `latex` (booktabs, longtable).
    """
    book = Book.read(inputs.one("estimates"), display_order(settings.models_table))
    comparisons = settings.statistics.comparisons
    synthetic, banner = settings.cohort.synthetic, one_line(settings.report.note)
    panels = panels_of(book, settings.report.readout, comparisons)
    notes = notes_of(book, panels, synthetic, settings.statistics.confidence)
    _write(outputs.one("csv"), csv_text(book, comparisons))
    _write(outputs.one("markdown"), markdown_text(settings.report.title, panels, notes, synthetic, banner))
    _write(outputs.one("latex"), latex_document(settings.report.title, panels, notes, banner))


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")
