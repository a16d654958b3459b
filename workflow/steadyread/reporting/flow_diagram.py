"""Stage `flow_diagram`: where every case went (after the CONSORT diagram), arm by arm."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
from .format import text_list
from .names import READOUTS, arm_name, arm_rank, reason_name

Row = Mapping[str, Any]
DATA_COLUMNS = ("model", "readout", "arm", "cases_in", "analysed", "errors", "excluded", "stage", "reason", "count")


class FlowDiagramSettings(Section):
    """Settings of `flow_diagram`."""

    report: ReportConfig
    """What is drawn."""


@dataclass(frozen=True)
class ArmFlow:
    """The account of one arm; `reasons` are (stage, reason, count), the common ones left out."""

    arm: str
    analysed: int
    errors: int
    reasons: tuple[tuple[str, str, int], ...]


@dataclass(frozen=True)
class Flow:
    """The account of cases that some models share.

    Attributes
    ----------
    models
        The models it holds for.
    cases_in
        Cases registered.
    common
        (stage, reason, count) left out of every arm.
    arms
        What happened to the others, arm by arm in display order.
    """

    models: tuple[str, ...]
    cases_in: int
    common: tuple[tuple[str, str, int], ...]
    arms: tuple[ArmFlow, ...]

    @property
    def eligible(self) -> int:
        """Cases left after what is left out of every arm."""
        return self.cases_in - sum(count for _, _, count in self.common)


def flows_of(rows: Sequence[Row], readout: Readout) -> list[Flow]:
    """The accounts of a readout; models with equal accounts share one, the most common first."""
    by_model: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: (row["model"], arm_rank(row["arm"]))):
        if row["readout"] == readout.value:
            by_model.setdefault(row["model"], []).append(row)
    accounts: dict[tuple[Any, ...], list[str]] = {}
    for model, own in by_model.items():
        accounts.setdefault(_account(own), []).append(model)
    ranked = sorted(accounts.items(), key=lambda item: (-len(item[1]), item[1]))
    return [Flow(tuple(models), *account) for account, models in ranked]


def _account(rows: Sequence[Row]) -> tuple[int, tuple[tuple[str, str, int], ...], tuple[ArmFlow, ...]]:
    counts = [Counter({(item["stage"], item["reason"]): item["count"] for item in row["reasons"]}) for row in rows]
    # A whole case is left out of every arm; what one arm alone suffers is missing from another.
    common = counts[0]
    for other in counts[1:]:
        common = common & other
    arms = tuple(
        ArmFlow(
            row["arm"],
            row["analysed"],
            row["errors"],
            tuple((stage, reason, n) for (stage, reason), n in (own - common).items()),
        )
        for row, own in zip(rows, counts, strict=True)
    )
    return rows[0]["cases_in"], tuple((stage, reason, n) for (stage, reason), n in common.items()), arms


def reasons_text(reasons: Sequence[tuple[str, str, int]], errors: int = 0) -> list[str]:
    """Lines such as "2 no lesion (compose_trials)"."""
    lines = [f"{count} {reason_name(reason)} ({stage})" for stage, reason, count in reasons]
    return lines + ([f"{errors} error{'' if errors == 1 else 's'} of the machine"] if errors else [])


def differences(flows: Sequence[Flow]) -> list[str]:
    """How the other accounts differ from the first, in sentences; none where the models agree."""
    sentences = []
    for flow in flows[1:]:
        usual = {item.arm: item for item in flows[0].arms}
        parts = []
        for item in flow.arms:
            if usual.get(item.arm) != item:
                why = "; ".join(reasons_text(item.reasons, item.errors))
                parts.append(f"{arm_name(item.arm)}: {item.analysed} analysed" + (f" ({why})" if why else ""))
        if flow.common != flows[0].common:
            why = "; ".join(reasons_text(flow.common)) or "none"
            parts.insert(0, f"left out of every arm: {why}")
        sentences.append(
            f"{text_list(list(flow.models))} differ{'s' if len(flow.models) == 1 else ''}: {', '.join(parts)}."
        )
    return sentences


def flow_caption(flows: Sequence[Flow], readout: Readout) -> str:
    """What the diagram shows, in words."""
    if not flows:
        return "There is no account of cases to draw."
    first = flows[0]
    whom = f"{len(first.models)} model{'' if len(first.models) == 1 else 's'} ({', '.join(first.models)})"
    text = (
        f"Account of the {first.cases_in} cases, read from {READOUTS[readout]}: {first.eligible} were left after "
        f"exclusions from every arm. Holds for {whom}."
    )
    return " ".join([text, *differences(flows)])


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
    sides = [_side(item, flow.eligible) for item in flow.arms]
    notes = [line for text in [_whom(flows), *differences(flows)] for line in wrap(text, 104)]
    tall = _tall(["", ""])
    rows = [max(_tall([""]), _tall(lines) if lines else 0.0) for lines in sides]
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
    for item, lines, row in zip(flow.arms, sides, rows, strict=True):
        centre, height_left = top + row / 2, _tall([""])
        _line(axes, TRUNK, centre, INDENT, centre, arrow=True)
        label = f"{arm_name(item.arm)}: n = {item.analysed}"
        _box(axes, INDENT, centre - height_left / 2, LEFT + 0.15 - INDENT, height_left, [label], bold=True)
        if lines:
            _line(axes, LEFT + 0.15, centre, MIDDLE, centre, arrow=True)
            _box(axes, MIDDLE, centre - _tall(lines) / 2, WIDTH - MIDDLE - 0.08, _tall(lines), lines)
        last = centre
        top += row + SPACE
    _line(axes, TRUNK, trunk, TRUNK, last)
    for number, text in enumerate(notes):
        axes.text(0.08, top + LINE * (number + 0.5), text, va="center", fontsize=7, color=SOFT)
    return figure


def _whom(flows: Sequence[Flow]) -> str:
    models = flows[0].models
    if len(flows) == 1:
        return f"The same for all models ({len(models)})." if len(models) > 1 else f"Model: {models[0]}."
    return f"Drawn for {text_list(list(models))}."


def _side(item: ArmFlow, eligible: int) -> list[str]:
    lines = reasons_text(item.reasons, item.errors)
    return [f"Not analysed: {eligible - item.analysed}", *lines] if lines else []


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
