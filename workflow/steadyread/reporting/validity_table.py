"""Stage `validity_table`: the tables and the figure of `snakemake validity`."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.lines import Line2D

from ..config.base import Section
from ..contracts.files import read_rows
from ..contracts.tables import VALIDITY
from ..stages.job import Files
from .figures import SOFT, figure_style, looks, new_figure, save
from .validity import markdown_text


class Drawn(Section):
    """The part of section `report` that the figure needs."""

    dpi: int = 300
    """Resolution of the raster figure."""


class ValidityTableSettings(Section):
    """Settings of `validity_table`."""

    report: Drawn
    """What is drawn."""


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
    axes.set(xlim=(0, 100), ylim=(100 * LOWEST - 0.4, 100.6), xticks=range(0, 100, 20))
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
