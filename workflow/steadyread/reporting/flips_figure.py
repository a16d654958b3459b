"""Stage `flips_figure`: how often an answer changes, by arm and model, beside the engine's own noise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.lines import Line2D

from ..contracts.enums import EstimateStatus
from ..stages.job import Files
from .figures import (
    BASELINE,
    GRID,
    INK,
    MARKERS,
    PALE,
    SOFT,
    figure_style,
    looks,
    model_handle,
    new_figure,
    save,
    write_data,
)
from .flips_data import DATA_COLUMNS, flips_data, floor_is_borrowed
from .format import confidence_text
from .lookup import Book
from .names import STATUSES, SYNTHETIC, arm_name, grouped
from .settings import FigureSettings, baselines_of, display_order

ROWS, GAP, HEAD = (0.14, 0.1), 0.1, 0.3
"""Heights in inches: of a model's row, of few models and of many; of the gap between arms; of the heading of
a group of arms."""
FEW = 4
"""So many models are few."""
LEFT, PLOT, RIGHT = 2.2, 3.5, 1.2
"""Widths in inches: of the arms' names, of the plot, of the column of n."""
FLOOR, FLOOR_WIDTHS = "#9a9a9a", {False: 3.0, True: 1.2}
"""Colour of the noise floor, and its width: the arm's own, that of base."""

Look = tuple[Any, str]


def flips_figure(inputs: Files, outputs: Files, settings: FigureSettings, wildcards: Mapping[str, str]) -> None:
    """Draw the flip rates of the readout shown first.

    inputs: `estimates`. outputs: `pdf`, `svg`, `png`, `data` (CSV: exactly what is drawn).
    """
    book = Book.read(inputs.one("estimates"), display_order(settings.models_table))
    baselines = baselines_of(settings.models_table)
    data = flips_data(book, settings.report.readout, baselines)
    write_data(outputs.one("data"), DATA_COLUMNS, data)
    audited = looks([model for model in book.models if model not in baselines])
    grey = {model: (BASELINE, marker) for model, marker in zip(baselines, MARKERS * len(baselines), strict=False)}
    with figure_style():
        figure = _draw(data, audited, grey, settings)
        save(figure, outputs.one("pdf"), outputs.one("svg"), outputs.one("png"), settings.report.dpi)


def _draw(
    data: list[dict[str, Any]], audited: Mapping[str, Look], grey: Mapping[str, Look], settings: FigureSettings
) -> Any:
    groups = grouped(row["arm"] for row in data)
    rows = {arm: [item for item in data if item["arm"] == arm] for _, members in groups for arm in members}
    row = ROWS[len(audited) > FEW]
    tall = {arm: row * _lines(own) + GAP for arm, own in rows.items()}
    body = max(sum(HEAD + sum(tall[arm] for arm in members) for _, members in groups), 0.6)
    handles = _handles(data, audited, grey)
    key = 0.17 * -(-len(handles) // 3) + 0.1
    above, below = (0.3 if settings.cohort.synthetic else 0.06), 0.5 + key
    width, height = LEFT + PLOT + RIGHT, above + body + below
    figure = new_figure(width, height)
    axes = figure.add_axes((LEFT / width, below / height, PLOT / width, body / height))
    # The y axis is in inches from the top, so that rows keep their height in every study.
    axes.set(xlim=(-2, 102), ylim=(body, 0), yticks=[], xticks=range(0, 101, 20))
    interval = confidence_text(settings.statistics.confidence)
    axes.set_xlabel(f"answers that changed, % of all pairs but errors, with {interval}")
    axes.xaxis.grid(True, color=GRID, linewidth=0.5)
    axes.set_axisbelow(True)
    for side in ("left", "right", "top"):
        axes.spines[side].set_visible(False)
    axes.tick_params(axis="x", bottom=True, length=3, width=0.6)
    top = 0.0
    for title, members in groups:
        axes.axhspan(
            top + 0.03, top + HEAD - 0.05, xmin=-LEFT / PLOT, xmax=1 + RIGHT / PLOT, color=PALE, linewidth=0,
            clip_on=False, zorder=3,
        )  # fmt: skip
        axes.text(
            (0.06 - LEFT) / PLOT, top + HEAD / 2 - 0.01, title, transform=axes.get_yaxis_transform(), weight="bold",
            va="center", zorder=4,
        )  # fmt: skip
        top += HEAD
        for arm in members:
            _draw_arm(axes, arm, rows[arm], top, row, {**audited, **grey})
            top += tall[arm]
    if not data:
        axes.text(50, body / 2, "no flip rate to draw", ha="center", va="center", color=SOFT)
    figure.legend(
        handles=handles, loc="lower center", bbox_to_anchor=(0.5, 0.02 / height), ncols=3, frameon=False, fontsize=7,
    )  # fmt: skip
    if settings.cohort.synthetic:
        figure.text(0.5, 1 - 0.15 / height, SYNTHETIC, ha="center", va="center", weight="bold", fontsize=7)
    return figure


def _lines(rows: list[dict[str, Any]]) -> int:
    """Rows of an arm: one per audited model, and one for all baselines."""
    models = [row["baseline"] for row in rows]
    return models.count("no") + ("yes" in models)


def _draw_arm(
    axes: Any, arm: str, rows: list[dict[str, Any]], top: float, tall: float, appearance: Mapping[str, Look]
) -> None:
    beside = axes.get_yaxis_transform()
    models = [row for row in rows if row["baseline"] == "no"]
    middle = top + tall * _lines(rows) / 2
    axes.text((0.16 - LEFT) / PLOT, middle, arm_name(arm), transform=beside, va="center")
    texts = [
        f"n = {row['n']}" + (f", {status}" if (status := STATUSES[EstimateStatus(row["estimate_status"])]) else "")
        for row in models
    ]
    # n stands once where it is the same for every model.
    once = len(set(texts)) == 1
    places = [middle] if once else [top + tall * (place + 0.5) for place in range(len(models))]
    for text, y in zip(texts[:1] if once else texts, places, strict=True):
        axes.text(1.015, y, text, transform=beside, va="center", fontsize=6, color=SOFT)
    for place, row in enumerate(models):
        _draw_row(axes, row, top + tall * (place + 0.5), tall, appearance[row["model"]])
    for row in rows:
        if row["baseline"] == "yes" and row["value"] is not None:
            axes.plot(
                [100 * row["value"]], [top + tall * (len(models) + 0.5)], marker=appearance[row["model"]][1],
                markersize=3, color=BASELINE, linestyle="none", clip_on=False, zorder=3,
            )  # fmt: skip


def _draw_row(axes: Any, row: Mapping[str, Any], y: float, tall: float, look: Look) -> None:
    colour, marker = look
    if row["floor"] is not None:
        axes.plot(
            [100 * row["floor"]] * 2, [y - 0.45 * tall, y + 0.45 * tall], color=FLOOR,
            linewidth=FLOOR_WIDTHS[floor_is_borrowed(row)], solid_capstyle="butt",
        )  # fmt: skip
    if row["bound_low"] is not None and row["bound_high"] is not None:
        axes.plot([100 * row["bound_low"], 100 * row["bound_high"]], [y, y], color=INK, linewidth=0.8, linestyle=":")
    known = row["low"] is not None and row["high"] is not None
    if known:
        axes.plot([100 * row["low"], 100 * row["high"]], [y, y], color=colour, linewidth=1.4, solid_capstyle="butt")
    if row["value"] is not None:
        axes.plot(
            [100 * row["value"]], [y], marker=marker, markersize=4.5, markerfacecolor=colour if known else "white",
            markeredgecolor=INK if known else colour, markeredgewidth=0.5 if known else 1.1, linestyle="none",
            clip_on=False, zorder=4,
        )  # fmt: skip


def _handles(data: list[dict[str, Any]], audited: Mapping[str, Look], grey: Mapping[str, Look]) -> list[Line2D]:
    shown = {row["model"] for row in data}
    handles = [model_handle(model, look) for model, look in audited.items() if model in shown]
    handles += [
        Line2D([], [], linestyle="none", marker=marker, markersize=3, color=colour, label=model)
        for model, (colour, marker) in grey.items()
        if model in shown
    ]
    handles += [
        Line2D([], [], linestyle="none", marker="o", markersize=4.5, markerfacecolor="white",
               markeredgecolor=SOFT, label="no interval"),
        Line2D([], [], linestyle="none", marker="|", markersize=9, markeredgewidth=FLOOR_WIDTHS[False], color=FLOOR,
               label="noise floor"),
    ]  # fmt: skip
    if any(row["bound_low"] is not None for row in data):
        handles.append(Line2D([], [], color=INK, linewidth=0.8, linestyle=":", label="bounds with errors"))
    if any(floor_is_borrowed(row) for row in data):
        handles.append(
            Line2D([], [], linestyle="none", marker="|", markersize=9, markeredgewidth=FLOOR_WIDTHS[True], color=FLOOR,
                   label="noise floor of base: arm not asked twice")
        )  # fmt: skip
    return handles
