"""Stage `calibration_figure`: whether confidence can be taken at its word, and whether it tells right from wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.lines import Line2D

from ..stages.job import Files
from .calibration_data import DATA_COLUMNS, NOTHING, OPTIMUM, RELIABILITY, RISK, VERBAL, calibration_data
from .figures import INK, SOFT, figure_style, looks, new_figure, plain_axes, save, say, write_data
from .lookup import Book
from .names import SYNTHETIC
from .settings import FigureSettings, baselines_of, display_order

WIDTH, PANEL, GAP, LEFT, TOP = 6.9, 2.1, 0.85, 0.66, 0.22
"""Inches: the figure's width, a panel's height, the space between models, left of panels, above all."""
BARS = 18
"""Height of the tallest bar of counts, in percent of the axis."""


def calibration_figure(inputs: Files, outputs: Files, settings: FigureSettings, wildcards: Mapping[str, str]) -> None:
    """Draw reliability diagrams and risk–coverage curves of the readout shown first, a line per model.

    inputs: `estimates`. outputs: `pdf`, `svg`, `png`, `data` (CSV: exactly what is drawn). A study
    whose engines offer no confidence gets a figure that says so.
    """
    book = Book.read(inputs.one("estimates"), display_order(settings.models_table))
    baselines = baselines_of(settings.models_table)
    data = calibration_data(book, settings.report.readout, baselines)
    write_data(outputs.one("data"), DATA_COLUMNS, data)
    with figure_style():
        figure = _draw(data, looks([model for model in book.models if model not in baselines]), settings)
        save(figure, outputs.one("pdf"), outputs.one("svg"), outputs.one("png"), settings.report.dpi)


def _draw(data: list[dict[str, Any]], appearance: Mapping[str, Any], settings: FigureSettings) -> Any:
    models = [model for model in appearance if any(row["model"] == model for row in data)]
    if not models:
        return say(NOTHING)
    above = TOP + (0.22 if settings.cohort.synthetic else 0)
    height = above + len(models) * (PANEL + GAP) - 0.35
    figure = new_figure(WIDTH, height)
    wide = (WIDTH - 2 * LEFT - 0.15) / 2
    for number, model in enumerate(models):
        bottom = height - above - number * (PANEL + GAP) - PANEL
        own = [row for row in data if row["model"] == model]
        for place, draw in enumerate((_reliability, _risk)):
            left = LEFT + place * (wide + LEFT)
            axes = figure.add_axes((left / WIDTH, bottom / height, wide / WIDTH, PANEL / height))
            axes.set(xlim=(-2, 102), ylim=(-2, 102), xticks=range(0, 101, 20), yticks=range(0, 101, 20))
            draw(axes, own, appearance[model])
            axes.set_title(model if place == 0 else "", fontsize=8, weight="bold", loc="left")
    if settings.cohort.synthetic:
        figure.text(0.5, 1 - 0.13 / height, SYNTHETIC, ha="center", va="center", weight="bold", fontsize=7)
    return figure


def _reliability(axes: Any, rows: list[dict[str, Any]], look: tuple[Any, str]) -> None:
    plain_axes(axes, "confidence, %", "right, %")
    axes.plot([0, 100], [0, 100], color=SOFT, linewidth=0.8, linestyle="--", zorder=2)
    points = [row for row in rows if row["curve"] == RELIABILITY]
    most = max((row["n"] for row in points), default=1)
    for row in points:
        middle = 100 * float(row["bin"].split(" to ")[0]) + 5
        axes.bar(middle, BARS * row["n"] / most, width=9, color="#e3e3df", linewidth=0, zorder=1)
        axes.text(middle, 1, str(row["n"]), ha="center", va="bottom", fontsize=6, color=SOFT, zorder=5)
        _mark(axes, row, look)


def _risk(axes: Any, rows: list[dict[str, Any]], look: tuple[Any, str]) -> None:
    plain_axes(axes, "answers kept, surest first, %", "wrong among them, %")
    best = [row for row in rows if row["curve"] == OPTIMUM]
    _line(axes, best, color=SOFT, linewidth=0.8, linestyle="--")
    points = [row for row in rows if row["curve"] == RISK]
    _line(axes, points, color=look[0], linewidth=1.2)
    for row in points:
        _mark(axes, row, look)
    for row in rows:
        if row["curve"] == VERBAL:
            if row["low"] is not None:
                ends = [100 * row["low"], 100 * row["high"]]
                axes.plot([100 * row["x"]] * 2, ends, color=INK, linewidth=0.9, zorder=5)
            axes.plot(
                [100 * row["x"]], [100 * row["y"]], marker="X", markersize=7, markerfacecolor="white",
                markeredgecolor=INK, markeredgewidth=1.0, linestyle="none", clip_on=False, zorder=6,
            )  # fmt: skip
    axes.legend(
        handles=[
            Line2D([], [], color=look[0], linewidth=1.2, marker=look[1], markersize=4, label="by confidence"),
            Line2D([], [], color=SOFT, linewidth=0.8, linestyle="--", label="the best order there could be"),
            Line2D([], [], linestyle="none", marker="X", markersize=6, markerfacecolor="white", markeredgecolor=INK,
                   label="its own UNSURE"),
        ],
        loc="upper left", frameon=False, fontsize=6.5, borderaxespad=0.1,
    )  # fmt: skip


def _line(axes: Any, rows: list[dict[str, Any]], **look: Any) -> None:
    axes.plot([100 * row["x"] for row in rows], [100 * row["y"] for row in rows], **look)


def _mark(axes: Any, row: Mapping[str, Any], look: tuple[Any, str]) -> None:
    colour, marker = look
    known = row["low"] is not None
    if known:
        axes.plot([100 * row["x"]] * 2, [100 * row["low"], 100 * row["high"]], color=colour, linewidth=1.0, zorder=3)
    axes.plot(
        [100 * row["x"]], [100 * row["y"]], marker=marker, markersize=4.5, linestyle="none", clip_on=False, zorder=4,
        markerfacecolor=colour if known else "white", markeredgecolor=INK if known else colour,
        markeredgewidth=0.5 if known else 1.1,
    )  # fmt: skip
