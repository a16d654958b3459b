"""Do the intervals hold: the tables and the figure of `snakemake validity`, and its section in every study's page."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.lines import Line2D

from ..config.base import Section
from ..contracts.files import read_rows
from ..contracts.tables import VALIDITY
from ..stages.job import Files
from ..statistics.validity.criteria import ERRORS, RARE
from ..statistics.validity.record import Recorded, read_record, summarise
from ..statistics.validity.simulated import simulated_digest
from .figures import SOFT, figure_style, looks, new_figure, save
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


class Drawn(Section):
    """The part of section `report` that the figure needs."""

    dpi: int = 300
    """Resolution of the raster figure."""


class ValidityTableSettings(Section):
    """Settings of `validity_table`."""

    report: Drawn
    """What is drawn."""


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


def validity_table(
    inputs: Files, outputs: Files, settings: ValidityTableSettings, wildcards: Mapping[str, str]
) -> None:
    """Write and draw what the simulation found, whether or not it holds.

    inputs: `cells` (all parts). outputs: `csv` (every cell), `markdown` (the worst of each kind),
    `pdf`, `svg`, `png` (coverage).
    """
    rows = read_rows(inputs.all("cells"), VALIDITY)
    with open(outputs.one("csv"), "w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, VALIDITY.schema.names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    outputs.one("markdown").write_text(markdown_text(rows), encoding="utf-8", newline="\n")
    with figure_style():
        figure = _draw(rows)
        save(figure, outputs.one("pdf"), outputs.one("svg"), outputs.one("png"), settings.report.dpi)


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


PANELS = {
    "shares": "share",
    "nulls": "difference of 0",
    "effects": "difference of 10 points",
    "curves": "point of a curve",
}
"""Parts of the simulation and what they estimate: a row of panels each."""
LOWEST = 0.86
"""Coverage below this is drawn at the edge."""


def _draw(rows: Sequence[Mapping[str, Any]]) -> Any:
    shown = [row for row in rows if row["part"].partition("_")[0] in PANELS]
    sizes = sorted({row["patients"] for row in shown}) or [0]
    looks_of = looks(sorted({_cluster(row) for row in shown}))
    wide, tall = 2.1 * len(sizes) + 0.9, 1.45 * len(PANELS) + 1.0
    figure = new_figure(wide, tall)
    grid = figure.subplots(len(PANELS), len(sizes), squeeze=False, sharex=True, sharey=True)
    figure.subplots_adjust(left=0.85 / wide, right=0.98, top=1 - 0.3 / tall, bottom=0.8 / tall, hspace=0.25, wspace=0.1)
    for line, (part, what) in zip(grid, PANELS.items(), strict=True):
        line[0].set_ylabel(f"{what}\ncoverage, %", fontsize=7)
        for axes, patients in zip(line, sizes, strict=True):
            own = [row for row in shown if row["part"].startswith(part) and row["patients"] == patients]
            _panel(axes, own, looks_of)
    for axes, patients in zip(grid[0], sizes, strict=True):
        axes.set_title(f"{patients} patients", fontsize=8)
    for axes in grid[-1]:
        axes.set_xlabel("share with the event, %", fontsize=7)
    handles = [
        Line2D([], [], color=colour, marker=marker, markersize=4, linewidth=1, label=name)
        for name, (colour, marker) in looks_of.items()
    ]
    handles.append(
        Line2D([], [], color=SOFT, marker="o", markersize=4, markerfacecolor="white", linestyle="none",
               label="rarely reported, not judged")
    )  # fmt: skip
    figure.legend(handles=handles, loc="lower center", ncols=3, frameon=False, fontsize=7)
    return figure


def _cluster(row: Mapping[str, Any]) -> str:
    return "1 case each" if row["cases_per_patient"] == 1 else f"{row['cases_per_patient']} each, ICC {row['icc']:g}"


def _panel(axes: Any, rows: Sequence[Mapping[str, Any]], looks_of: Mapping[str, tuple[Any, str]]) -> None:
    axes.set(xlim=(0, 100), ylim=(100 * LOWEST - 0.4, 100.6))
    axes.tick_params(labelsize=7, length=2)
    for confidence in {1 - row["level"] for row in rows}:
        axes.axhline(100 * confidence, color="#cccccc", linewidth=0.8)
    for target in {row["target"] for row in rows if row["target"] is not None}:
        axes.axhline(100 * target, color=SOFT, linewidth=0.8, linestyle="--")
    for name, (colour, marker) in looks_of.items():
        own = [row for row in rows if _cluster(row) == name and row["coverage"] is not None]
        own.sort(key=lambda row: row["p"])
        for judged, face in ((True, colour), (False, "white")):
            points = [row for row in own if row["judged"] is judged]
            axes.plot(
                [100 * row["p"] for row in points], [100 * max(row["coverage"], LOWEST) for row in points],
                marker=marker, markersize=3.5, color=colour, markerfacecolor=face, markeredgecolor=colour,
                linewidth=0.9 if judged else 0, clip_on=False,
            )  # fmt: skip
