"""Stage `flow_diagram`: where every case went (after the CONSORT diagram), arm by arm."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import Any

from matplotlib.patches import FancyBboxPatch

from ..config.base import Section
from ..config.report import ReportConfig
from ..contracts.enums import Readout
from ..contracts.files import read_rows
from ..contracts.tables import FLOW
from ..stages.job import Files
from .figures import INK, PALE, SOFT, figure_style, new_figure, save
from .flow_account import Flow, alike, differences, flows_of, reasons_text, side_text, whom_text
from .names import READOUTS, arm_rank

DATA_COLUMNS = ("model", "readout", "arm", "cases_in", "analysed", "errors", "excluded", "stage", "reason", "count")


class FlowDiagramSettings(Section):
    """Settings of `flow_diagram`."""

    report: ReportConfig
    """What is drawn."""


def flow_diagram(inputs: Files, outputs: Files, settings: FlowDiagramSettings, wildcards: Mapping[str, str]) -> None:
    """Draw the account of cases for the readout shown first.

    inputs: `flow`. outputs: `pdf`, `svg`, `png`, `data` (CSV: a row per model, arm and reason).
    """
    rows = read_rows(inputs.one("flow"), FLOW)
    readout = settings.report.readout
    with open(outputs.one("data"), "w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(DATA_COLUMNS)
        for row in sorted(rows, key=lambda row: (row["model"], arm_rank(row["arm"]))):
            if row["readout"] == readout.value:
                own = [row[name] for name in DATA_COLUMNS[:7]]
                for item in row["reasons"] or [{"stage": "", "reason": "", "count": 0}]:
                    writer.writerow([*own, item["stage"], item["reason"], item["count"]])
    with figure_style():
        figure = _draw(flows_of(rows, readout), readout)
        save(figure, outputs.one("pdf"), outputs.one("svg"), outputs.one("png"), settings.report.dpi)


LINE, PAD, SPACE = 0.145, 0.07, 0.13
"""Inches: height of a line of text, padding inside a box, space between boxes."""
LEFT, MIDDLE, WIDTH = 2.75, 3.3, 6.9
"""Inches: right edge of the boxes at the left, left edge of those at the right, the figure's width."""
TRUNK, INDENT = 0.16, 0.34


def _tall(lines: Sequence[str]) -> float:
    return LINE * max(1, len(lines)) + 2 * PAD


def _draw(flows: Sequence[Flow], readout: Readout) -> Any:
    if not flows:
        figure = new_figure(WIDTH, 0.8)
        figure.text(0.5, 0.5, f"no case was read from {READOUTS[readout]}", ha="center", va="center", color=SOFT)
        return figure
    flow = flows[0]
    common = [f"Left out of every arm: {flow.cases_in - flow.eligible}", *reasons_text(flow.common)]
    groups = alike(flow.arms)
    boxes = [_arms_text(names, item.analysed) for item, names in groups]
    sides = [side_text(item, flow.eligible) for item, _ in groups]
    notes = [line for text in [whom_text(flows), *differences(flows)] for line in wrap(text, 104)]
    tall = _tall(["", ""])
    rows = [max(_tall(box), _tall(lines) if lines else 0.0) for box, lines in zip(boxes, sides, strict=True)]
    first_gap = max(0.45, _tall(common) + 2 * SPACE)
    height = 0.1 + tall + first_gap + tall + SPACE + sum(rows) + SPACE * len(rows) + LINE * len(notes) + 0.15
    figure = new_figure(WIDTH, height)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, WIDTH), ylim=(height, 0))
    axes.axis("off")
    top = 0.1
    _box(axes, 0.08, top, LEFT - 0.08, tall, ["Cases registered", f"n = {flow.cases_in}"], bold=True)
    bottom = top + tall
    _line(axes, TRUNK + 0.6, bottom, TRUNK + 0.6, bottom + first_gap, arrow=True)
    middle = bottom + first_gap / 2
    _line(axes, TRUNK + 0.6, middle, MIDDLE, middle, arrow=True)
    _box(axes, MIDDLE, middle - _tall(common) / 2, WIDTH - MIDDLE - 0.08, _tall(common), common)
    top = bottom + first_gap
    _box(axes, 0.08, top, LEFT - 0.08, tall, ["Left for the arms", f"n = {flow.eligible}"], bold=True)
    trunk = top + tall
    top = trunk + SPACE
    for box, lines, row in zip(boxes, sides, rows, strict=True):
        centre = top + row / 2
        _line(axes, TRUNK, centre, INDENT, centre, arrow=True)
        _box(axes, INDENT, centre - _tall(box) / 2, LEFT + 0.15 - INDENT, _tall(box), box, bold=True)
        if lines:
            _line(axes, LEFT + 0.15, centre, MIDDLE, centre, arrow=True)
            _box(axes, MIDDLE, centre - _tall(lines) / 2, WIDTH - MIDDLE - 0.08, _tall(lines), lines)
        last = centre
        top += row + SPACE
    _line(axes, TRUNK, trunk, TRUNK, last)
    for number, text in enumerate(notes):
        axes.text(0.08, top + LINE * (number + 0.5), text, va="center", fontsize=7, color=SOFT)
    return figure


def _arms_text(names: Sequence[str], analysed: int) -> list[str]:
    """What stands in the box of the arms that share an account: n, then their names."""
    several = f" in each of {len(names)} arms" if len(names) > 1 else ""
    return [f"n = {analysed}{several}", *names]


def _box(axes: Any, x: float, y: float, width: float, height: float, lines: Sequence[str], bold: bool = False) -> None:
    axes.add_patch(
        FancyBboxPatch(
            (x, y), width, height, boxstyle="round,pad=0,rounding_size=0.04", facecolor=PALE if bold else "white",
            edgecolor=SOFT, linewidth=0.7,
        )
    )  # fmt: skip
    for number, text in enumerate(lines):
        axes.text(
            x + PAD + 0.03, y + PAD + LINE * (number + 0.5), text, va="center", fontsize=8 if bold else 7.5,
            weight="bold" if bold and number == 0 else "normal", color=INK,
        )  # fmt: skip


def _line(axes: Any, x0: float, y0: float, x1: float, y1: float, arrow: bool = False) -> None:
    axes.annotate(
        "", (x1, y1), (x0, y0),
        arrowprops={"arrowstyle": "-|>" if arrow else "-", "linewidth": 0.8, "color": SOFT, "shrinkA": 0, "shrinkB": 0,
                    "mutation_scale": 7},
    )  # fmt: skip
