"""Stage `curves_figure`: what answers do as less of the lesion is left, and as it moves through the stack."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.lines import Line2D

from ..contracts.enums import EstimateStatus
from ..stages.job import Files
from .curves_data import DATA_COLUMNS, NOTHING, Curve, curves_data, drawn_curves
from .figures import (
    BASELINE,
    INK,
    figure_style,
    looks,
    model_handle,
    new_figure,
    plain_axes,
    save,
    say,
    write_data,
)
from .lookup import Book
from .names import READERS, SYNTHETIC
from .settings import FigureSettings, baselines_of, display_order

WIDTH, PANEL, GAP, LEFT = 6.9, 2.0, 0.75, 0.66
"""Inches: the figure's width, a panel's height, the space between panels, the space left of them."""
SPREAD = 9.0
"""How far apart, in percent of the axis, the first and the last of many models stand at a level."""


def curves_figure(inputs: Files, outputs: Files, settings: FigureSettings, wildcards: Mapping[str, str]) -> None:
    """Draw dose–response and position curves of the readout shown first.

    inputs: `estimates`. outputs: `pdf`, `svg`, `png`, `data` (CSV: exactly what is drawn). A study
    without levels gets a figure that says so.
    """
    book = Book.read(inputs.one("estimates"), display_order(settings.models_table))
    baselines = baselines_of(settings.models_table)
    data = curves_data(book, settings.report.readout, baselines)
    write_data(outputs.one("data"), DATA_COLUMNS, data)
    with figure_style():
        figure = _draw(data, looks([model for model in book.models if model not in baselines]), settings)
        save(figure, outputs.one("pdf"), outputs.one("svg"), outputs.one("png"), settings.report.dpi)


def _draw(data: list[dict[str, Any]], appearance: Mapping[str, Any], settings: FigureSettings) -> Any:
    curves = drawn_curves(data)
    if not curves:
        return say(NOTHING)
    lines = -(-len(curves) // 2)
    above = 0.46 if settings.cohort.synthetic else 0.25
    drawn = [model for model in appearance if any(row["model"] == model for row in data)]
    grey = any(row["baseline"] == "yes" for row in data)
    key = 0.2 * -(-(len(drawn) + grey) // 3) + 0.1
    height = above + lines * (PANEL + GAP) - 0.2 + key
    figure = new_figure(WIDTH, height)
    wide = (WIDTH - 2 * LEFT - 0.15) / 2
    for number, curve in enumerate(curves):
        left = LEFT + (number % 2) * (wide + LEFT)
        bottom = height - above - (number // 2) * (PANEL + GAP) - PANEL
        axes = figure.add_axes((left / WIDTH, bottom / height, wide / WIDTH, PANEL / height))
        _panel(axes, curve, [row for row in data if row["metric"] == curve.metric], appearance)
    handles = [model_handle(model, appearance[model]) for model in drawn]
    handles += [Line2D([], [], color=BASELINE, linewidth=0.8, label=READERS)] if grey else []
    figure.legend(
        handles=handles, loc="lower center", bbox_to_anchor=(0.5, 0.02 / height), ncols=min(3, len(handles)),
        frameon=False, fontsize=7,
    )  # fmt: skip
    if settings.cohort.synthetic:
        figure.text(0.5, 1 - 0.13 / height, SYNTHETIC, ha="center", va="center", weight="bold", fontsize=7)
    return figure


def _panel(axes: Any, curve: Curve, rows: list[dict[str, Any]], appearance: Mapping[str, Any]) -> None:
    levels = sorted({row["parameter"] for row in rows})
    plain_axes(axes, curve.across, curve.up)
    axes.set(xlim=(-6, 106), ylim=(-4, 104), yticks=range(0, 101, 25), xticks=[100 * level for level in levels])
    axes.set_title(curve.title, fontsize=8, weight="bold", loc="left")
    models = list(dict.fromkeys(row["model"] for row in rows))
    step = min(1.8, SPREAD / max(1, len(appearance) - 1))
    for model in models:
        own = [row for row in rows if row["model"] == model and row["value"] is not None]
        # Models stand beside each other at a level, so that none hides another.
        shift = 0.0 if model not in appearance else step * (list(appearance).index(model) - (len(appearance) - 1) / 2)
        places, values = [100 * row["parameter"] + shift for row in own], [100 * row["value"] for row in own]
        if model not in appearance:
            marker = "." if len(own) == 1 else None
            axes.plot(places, values, color=BASELINE, linewidth=0.8, marker=marker, markersize=3, zorder=2)
            continue
        colour, marker = appearance[model]
        axes.plot(places, values, color=colour, linewidth=1.2, zorder=3)
        for row, x, y in zip(own, places, values, strict=True):
            known = row["low"] is not None
            if known:
                axes.plot([x, x], [100 * row["low"], 100 * row["high"]], color=colour, linewidth=0.9, zorder=3)
            if row["bound_low"] is not None and row["estimate_status"] == EstimateStatus.INCOMPLETE:
                ends = [100 * row["bound_low"], 100 * row["bound_high"]]
                axes.plot([x, x], ends, color=INK, linewidth=0.8, linestyle=":", zorder=2)
            axes.plot(
                [x], [y], marker=marker, markersize=4.5, markerfacecolor=colour if known else "white",
                markeredgecolor=INK if known else colour, markeredgewidth=0.5 if known else 1.1, linestyle="none",
                clip_on=False, zorder=4,
            )  # fmt: skip
