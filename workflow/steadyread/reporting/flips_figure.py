"""Stage `flips_figure`: how often an answer changes, by arm and model, beside the engine's own noise."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from typing import Any

from matplotlib.lines import Line2D

from ..config.base import Section
from ..config.report import ReportConfig
from ..contracts.enums import EstimateStatus
from ..stages.job import Files
from .figures import INK, PALE, SOFT, figure_style, looks, new_figure, save
from .flips_data import DATA_COLUMNS, flips_data, floor_is_borrowed
from .format import confidence_text
from .lookup import Book
from .names import STATUSES, SYNTHETIC, arm_name, in_order
from .settings import IntervalConfidence, ListedModel, SyntheticFlag, display_order

ROW, HEAD, GAP = 0.17, 0.24, 0.06
"""Heights in inches: of a model's row, of an arm's heading, of the gap between arms."""
PLOT, RIGHT, LETTER = 3.8, 1.2, 0.064
"""Widths in inches: of the plot, of the column of n, of a letter of a model's name."""


FLOOR, FLOOR_WIDTHS = "#9a9a9a", {False: 3.0, True: 1.2}
"""Colour of the noise floor, and its width: the arm's own, that of base."""


class FlipsFigureSettings(Section):
    """Settings of `flips_figure`."""

    report: ReportConfig
    """What is drawn."""
    cohort: SyntheticFlag
    """Whether the images are synthetic."""
    statistics: IntervalConfidence
    """Names the confidence of the intervals, where it is handed over."""
    models_table: tuple[ListedModel, ...]
    """The study's models, in its order."""


def flips_figure(inputs: Files, outputs: Files, settings: FlipsFigureSettings, wildcards: Mapping[str, str]) -> None:
    """Draw the flip rates of the readout shown first.

    inputs: `estimates`. outputs: `pdf`, `svg`, `png`, `data` (CSV: exactly what is drawn).
    """
    readout = settings.report.readout
    book = Book.read(inputs.one("estimates"), display_order(settings.models_table))
    data = flips_data(book, readout)
    with open(outputs.one("data"), "w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, DATA_COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(data)
    confidence = settings.statistics.confidence
    _draw(data, looks(book.models), settings, confidence, outputs)


def _draw(
    data: list[dict[str, Any]],
    appearance: Mapping[str, tuple[Any, str]],
    settings: FlipsFigureSettings,
    confidence: float | None,
    outputs: Files,
) -> None:
    arms = in_order(row["arm"] for row in data)
    heights = [HEAD + GAP + ROW * sum(row["arm"] == arm for row in data) for arm in arms]
    body = max(sum(heights), 0.6)
    borrowed = any(floor_is_borrowed(row) for row in data)
    above, below = (0.34 if settings.cohort.synthetic else 0.1), (0.92 if borrowed else 0.75)
    left = 0.3 + LETTER * max([22, *[len(row["model"]) for row in data]])
    width, height = left + PLOT + RIGHT, above + body + below
    with figure_style():
        figure = new_figure(width, height)
        axes = figure.add_axes((left / width, below / height, PLOT / width, body / height))
        # The y axis is in inches from the top, so that rows keep their height in every study.
        axes.set(xlim=(-2, 102), ylim=(body, 0), yticks=[], xticks=range(0, 101, 20))
        axes.set_xlabel(f"answers that changed, % of all pairs but errors, with {confidence_text(confidence)}")
        axes.xaxis.grid(True, color="#dddddd", linewidth=0.5)
        axes.set_axisbelow(True)
        for side in ("left", "right", "top"):
            axes.spines[side].set_visible(False)
        axes.tick_params(axis="x", bottom=True, length=3, width=0.6)
        top = 0.0
        for number, (arm, tall) in enumerate(zip(arms, heights, strict=True)):
            if number % 2 == 0:
                axes.axhspan(
                    top, top + tall, xmin=-left / PLOT, xmax=1 + RIGHT / PLOT, color=PALE, linewidth=0, clip_on=False,
                    zorder=0,
                )  # fmt: skip
            axes.text(
                (0.05 - left) / PLOT, top + HEAD / 2 + 0.02, arm_name(arm), transform=axes.get_yaxis_transform(),
                weight="bold", va="center",
            )  # fmt: skip
            for place, row in enumerate(item for item in data if item["arm"] == arm):
                _draw_row(axes, row, top + HEAD + ROW * (place + 0.5), appearance[row["model"]])
            top += tall
        if not data:
            axes.text(50, body / 2, "no flip rate to draw", ha="center", va="center", color=SOFT)
        _key(figure, height, borrowed)
        if settings.cohort.synthetic:
            figure.text(0.5, 1 - 0.17 / height, SYNTHETIC, ha="center", va="center", weight="bold", fontsize=7)
        save(figure, outputs.one("pdf"), outputs.one("svg"), outputs.one("png"), settings.report.dpi)


def _draw_row(axes: Any, row: Mapping[str, Any], y: float, look: tuple[Any, str]) -> None:
    colour, marker = look
    beside = axes.get_yaxis_transform()
    axes.text(-0.02, y, row["model"], transform=beside, ha="right", va="center", fontsize=7)
    status = STATUSES[EstimateStatus(row["estimate_status"])]
    axes.text(
        1.015, y, f"n = {row['n']}" + (f", {status}" if status else ""), transform=beside, va="center", fontsize=6,
        color=SOFT,
    )  # fmt: skip
    if row["floor"] is not None:
        x = 100 * row["floor"]
        axes.plot(
            [x, x],
            [y - 0.45 * ROW, y + 0.45 * ROW],
            color=FLOOR,
            linewidth=FLOOR_WIDTHS[floor_is_borrowed(row)],
            solid_capstyle="butt",
        )
    if row["bound_low"] is not None and row["bound_high"] is not None:
        axes.plot([100 * row["bound_low"], 100 * row["bound_high"]], [y, y], color=INK, linewidth=0.8, linestyle=":")
    if row["low"] is not None and row["high"] is not None:
        axes.plot([100 * row["low"], 100 * row["high"]], [y, y], color=colour, linewidth=1.4, solid_capstyle="butt")
    if row["value"] is not None:
        face = colour if row["low"] is not None else "white"
        axes.plot(
            [100 * row["value"]], [y], marker=marker, markersize=4.5, markerfacecolor=face,
            markeredgecolor=INK if row["low"] is not None else colour, markeredgewidth=0.5 if face is colour else 1.1,
            linestyle="none", clip_on=False, zorder=4,
        )  # fmt: skip


def _key(figure: Any, height: float, borrowed: bool) -> None:
    handles = [
        Line2D([], [], color=SOFT, linewidth=1.4, marker="o", markersize=4.5, label="value and interval"),
        Line2D([], [], linestyle="none", marker="o", markersize=4.5, markerfacecolor="white",
               markeredgecolor=SOFT, label="no interval"),
        Line2D([], [], linestyle="none", marker="|", markersize=9, markeredgewidth=FLOOR_WIDTHS[False], color=FLOOR,
               label="noise floor"),
        Line2D([], [], color=INK, linewidth=0.8, linestyle=":", label="bounds with errors"),
    ]  # fmt: skip
    if borrowed:
        handles.append(
            Line2D([], [], linestyle="none", marker="|", markersize=9, markeredgewidth=FLOOR_WIDTHS[True], color=FLOOR,
                   label="noise floor of base: arm not asked twice")
        )  # fmt: skip
    figure.legend(
        handles=handles, loc="lower center", bbox_to_anchor=(0.5, 0.06 / height), ncols=3 if borrowed else 4,
        frameon=False, fontsize=7,
    )  # fmt: skip
