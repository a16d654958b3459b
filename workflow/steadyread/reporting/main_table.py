"""Stage `main_table`: one table per study, for machines (CSV) and people (Markdown, LaTeX).

The CSV holds every estimate in full precision; the table for people is laid out in `panels`.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from pathlib import Path

from ..config.base import Section
from ..config.report import ReportConfig
from ..contracts.tables import ESTIMATES
from ..stages.job import Files
from .format import one_line
from .latex import latex_document
from .lookup import Book
from .markdown import markdown_escape, markdown_table
from .names import SYNTHETIC
from .panels import Panel, notes_of, panels_of, texts_of
from .settings import IntervalConfidence, SyntheticFlag


class MainTableSettings(Section):
    """Settings of `main_table`."""

    report: ReportConfig
    """What is drawn."""
    cohort: SyntheticFlag
    """Whether the images are synthetic."""
    statistics: IntervalConfidence
    """The confidence of the intervals."""


def csv_text(book: Book) -> str:
    """Every estimate with every column, full precision; lists joined by "+", null empty."""
    stream = io.StringIO()
    names = ESTIMATES.schema.names
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(names)
    for row in book.all_rows:
        writer.writerow(["+".join(row[name]) if name == "arms" else row[name] for name in names])
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
    book = Book.read(inputs.one("estimates"))
    synthetic, banner = settings.cohort.synthetic, one_line(settings.report.note)
    panels = panels_of(book, settings.report.readout)
    notes = notes_of(book, panels, synthetic, settings.statistics.confidence)
    _write(outputs.one("csv"), csv_text(book))
    _write(outputs.one("markdown"), markdown_text(settings.report.title, panels, notes, synthetic, banner))
    _write(outputs.one("latex"), latex_document(settings.report.title, panels, notes, banner))


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")
