"""Stage `published_table`: published numbers beside ours, compared only where a study may (PROTOCOLS 0.11)."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..config.base import Section
from ..config.models_table import Family
from ..config.published import AUDITED, MAXIMUM, Published, PublishedConfig, read_published
from ..contracts.enums import Metric, Readout
from ..stages.job import Files
from .format import ABSENT, cell, confidence_text, has_interval, one_line, text_list
from .lookup import Book, Row
from .markdown import markdown_escape, markdown_table
from .names import MARKS_NOTE, SYNTHETIC, arm_name
from .settings import IntervalConfidence, ListedModel, SyntheticFlag, display_order

ORIENTATION = "for orientation"
INSIDE, ABOVE, BELOW = "inside our interval", "above our interval", "below our interval"
HEADER = ("What", "Published", "Whose model", "Mark", "Ours, %", "Which of ours", "Published is")
CSV_OURS = ("our_model", "our_value", "our_low", "our_high", "our_n", "our_patients", "our_status")
CSV_SAID = ("compared", "verdict", "synthetic")


class PublishedReport(Section):
    """The part of section `report` that the table needs."""

    title: str
    """Title of the study."""
    note: str | None = None
    """What a reader must know before any number."""
    published: PublishedConfig = PublishedConfig()
    """What of this study is what was published."""


class PublishedTableSettings(Section):
    """Settings of `published_table`."""

    report: PublishedReport
    """Titles, and what the study declares."""
    cohort: SyntheticFlag
    """Whether the images are synthetic."""
    statistics: IntervalConfidence
    """Confidence of our intervals."""
    models_table: tuple[ListedModel, ...]
    """The study's models, in its order."""


@dataclass(frozen=True)
class Beside:
    """A published number and the estimate of ours that stands beside it.

    Attributes
    ----------
    published
        The number.
    ours
        Our estimate: same arm, metric, denominator and part of the cohort, readout text; None where
        there is none. Of a maximum over models, that of the audited model with the largest value.
    compared
        Whether the study declares that cohort and model are the published ones.
    verdict
        Where the published value lies against our interval; empty where they are not compared, or
        ours has no interval.
    """

    published: Published
    ours: Row | None
    compared: bool
    verdict: str

    @property
    def what(self) -> str:
        """Metric, arm and part of the cohort in words."""
        row = self.published
        name = Metric(row.metric).label
        words = [name if row.arm is None else f"{name}: {arm_name(row.arm)}"]
        return ", ".join([*words, *([row.stratum.replace("=", " ")] if row.stratum else [])])

    @property
    def whose(self) -> str:
        """The published model, or of how many it is what."""
        return ", ".join(text for text in (self.published.model, self.published.aggregate) if text)

    @property
    def which(self) -> str:
        """Which of our models stands beside it."""
        if self.ours is None:
            return ABSENT
        largest = self.published.aggregate == MAXIMUM
        return f"{self.ours['model']} (our largest)" if largest else str(self.ours["model"])

    @property
    def said(self) -> str:
        """The verdict, or that there is none."""
        if self.ours is None:
            return ABSENT
        return self.verdict or ("not compared: ours has no interval" if self.compared else ORIENTATION)

    @property
    def texts(self) -> list[str]:
        """The cells of a line for people."""
        row = self.published
        ours = cell(self.ours)
        return [self.what, row.printed, self.whose, row.mark.value, ours, self.which, self.said]


@dataclass(frozen=True)
class PublishedSection:
    """What the summary page shows.

    Attributes
    ----------
    header, lines
        The table.
    notes
        How to read it; a sentence each.
    sources
        Where the numbers are printed, with what must be known of them; (source, notes).
    compared
        Whether any number is compared with ours.
    """

    header: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]
    sources: tuple[tuple[str, tuple[str, ...]], ...]
    compared: bool


def published_table(
    inputs: Files, outputs: Files, settings: PublishedTableSettings, wildcards: Mapping[str, str]
) -> None:
    """Write the published numbers of the audited study beside ours.

    inputs: `estimates`, `published` (TSV). outputs: `csv` (full precision), `markdown`.
    """
    book = Book.read(inputs.one("estimates"), display_order(settings.models_table))
    published = read_published(inputs.one("published"))
    models = settings.models_table
    lines = beside_published(book, published, audited_of(models), settings.report.published, untrained_of(models))
    synthetic, banner = settings.cohort.synthetic, one_line(settings.report.note)
    section = section_of(lines, settings.statistics.confidence)
    _write(outputs.one("csv"), csv_text(lines, synthetic))
    _write(outputs.one("markdown"), markdown_text(settings.report.title, section, synthetic, banner))


def audited_of(models: Sequence[ListedModel]) -> list[str]:
    """Ids of the models that are audited: readers with known answers are left out."""
    return [model.id for model in models if model.family is not Family.BASELINE]


def untrained_of(models: Sequence[ListedModel]) -> list[str]:
    """Ids of the audited models whose weights are random: none of them is anybody's largest."""
    return [model.id for model in models if model.family is not Family.BASELINE and not model.trained]


def beside_published(
    book: Book,
    published: Sequence[Published],
    audited: Sequence[str],
    declared: PublishedConfig,
    untrained: Collection[str] = (),
) -> list[Beside]:
    """Every published number of the audited study, with each of ours that stands beside it.

    A number of a model that the study declares to have stands beside that model alone, a maximum over
    models beside our maximum, over those that were trained, any other beside every audited model.
    """
    lines: list[Beside] = []
    for row in published:
        if row.study != AUDITED:
            continue
        theirs = [model for model in audited if row.model is not None and declared.models.get(model) == row.model]
        ours = _estimates(book, row, theirs or audited)
        if row.aggregate == MAXIMUM:
            ours = _largest([item for item in ours if item["model"] not in untrained])
        # Nobody published which models a range or a maximum is over: such a number is never compared.
        same = declared.cohort is not None and row.cohort == declared.cohort and bool(theirs) and row.aggregate is None
        if not ours:
            lines.append(Beside(row, None, same, ""))
        lines += [Beside(row, estimate, same, _verdict(row, estimate) if same else "") for estimate in ours]
    return lines


def _estimates(book: Book, row: Published, models: Sequence[str]) -> list[Row]:
    """Ours for a published number: one row a model, in display order."""
    if row.arm is None:
        return []
    wanted = {
        "reference_model": None,
        "variant": None,
        "readout": Readout.TEXT.value,
        "arm": row.arm,
        "metric": row.metric,
        "denominator": row.denominator,
        "stratum": row.stratum or "all",
    }
    found = [
        item
        for item in book.all_rows
        if item["model"] in models
        and item["reference_arm"] in (None, "base")
        and all(item[key] == value for key, value in wanted.items())
    ]
    order = book.ordered(item["model"] for item in found)
    return sorted(found, key=lambda item: order.index(item["model"]))


def _largest(rows: Sequence[Row]) -> list[Row]:
    known = [row for row in rows if row["value"] is not None]
    return [max(known, key=lambda row: row["value"])] if known else []


def _verdict(published: Published, ours: Row) -> str:
    """Where the published value or range lies against our interval."""
    if not has_interval(ours):
        return ""
    low, high = published.ends
    if low is not None and low > ours["high"]:
        return ABOVE
    if high is not None and high < ours["low"]:
        return BELOW
    return INSIDE


def published_section(
    book: Book,
    published: Path,
    models: Sequence[ListedModel],
    declared: PublishedConfig,
    confidence: float | None,
) -> PublishedSection:
    """The section of the summary page.

    Parameters
    ----------
    published
        The file of published numbers.
    models
        The study's models.
    declared
        What of the study is what was published (`report.published`).
    """
    found = read_published(published)
    return section_of(beside_published(book, found, audited_of(models), declared, untrained_of(models)), confidence)


def section_of(lines: Sequence[Beside], confidence: float | None) -> PublishedSection:
    """The table for people, with its notes."""
    sources: dict[str, list[str]] = {}
    for line in lines:
        sources.setdefault(line.published.where, []).append(line.published.note or "")
    # A note that another one holds already is said once.
    said = {
        source: [note for note in dict.fromkeys(notes) if not any(note in other for other in notes if other != note)]
        for source, notes in sources.items()
    }
    return PublishedSection(
        HEADER,
        tuple(tuple(line.texts) for line in lines),
        tuple(notes_of(lines, confidence)),
        tuple((source, tuple(filter(None, notes))) for source, notes in said.items()),
        any(line.compared for line in lines),
    )


def notes_of(lines: Sequence[Beside], confidence: float | None) -> list[str]:
    """How to read the table."""
    interval = confidence_text(confidence)
    notes = [
        f"Ours: value [{interval}] (n), read from the answer's text, in the same arm, metric and denominator. Readers "
        "with known answers are left out.",
    ]
    if lines and all(line.ours is None for line in lines):
        notes.append("None of ours stands here: no model but readers with known answers was asked under these arms.")
    if any(line.published.aggregate == MAXIMUM for line in lines):
        notes.append(
            "Maximum over models: the largest of the published models, named by nobody, beside the largest of the "
            "audited models of this study that were trained (random weights are left out). The largest of several is "
            "large by chance too, and the more so the more there are; its interval is that of the one model and does "
            "not say so. It is never compared."
        )
    if any(line.compared for line in lines):
        models = text_list(sorted({str(line.published.model) for line in lines if line.compared}))
        notes.append(
            f"Compared, since this study declares the published cohort and model ({models}): where the published "
            "value lies against our interval. What the published value's own interval is was not published, so a "
            "value just outside ours contradicts nothing."
        )
    if any(not line.compared for line in lines):
        notes.append(
            "For orientation: this study does not declare that cohort and model are the published ones, and its "
            "question is worded otherwise. Such numbers may differ for many reasons and are not compared."
        )
    if any(line.published.n is None for line in lines):
        notes.append("Where no n stands with a published number, none was published.")
    if lines:
        notes.append(MARKS_NOTE)
    return notes


def csv_text(lines: Sequence[Beside], synthetic: bool) -> str:
    """A line per published number and estimate of ours; published numbers as printed, ours as shares."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    columns = tuple(Published.model_fields)
    writer.writerow([*columns, *CSV_OURS, *CSV_SAID])
    for line in lines:
        theirs = line.published.model_dump(mode="json")
        ours: Row = line.ours or {}
        names = ("model", "value", "low", "high", "n", "clusters", "estimate_status")
        values = [ours.get(name) for name in names]
        if line.ours is not None and not has_interval(line.ours):
            values[2:4] = [None, None]
        said = ["yes" if line.compared else "no", line.verdict, "yes" if synthetic else "no"]
        writer.writerow([*[theirs[column] for column in columns], *values, *said])
    return stream.getvalue()


def markdown_text(title: str, section: PublishedSection, synthetic: bool, banner: str | None = None) -> str:
    """The table in Markdown, with banners and notes."""
    parts = [f"# {markdown_escape(title)}: published beside ours"]
    parts += [f"> **{markdown_escape(text)}**" for text in (banner, SYNTHETIC if synthetic else None) if text]
    parts.append(markdown_table(section.header, section.lines, words=len(section.header)))
    parts.append("\n".join(f"- {markdown_escape(note)}" for note in section.notes))
    sources = [f"- {markdown_escape(' '.join([f'{source}.', *notes]))}" for source, notes in section.sources]
    parts.append("Sources:\n\n" + "\n".join(sources))
    return "\n\n".join(parts) + "\n"


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")
