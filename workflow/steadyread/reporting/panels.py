"""The table for people, panels per readout: a row per model and arm, a row per contrast, and models compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..config.comparisons import Comparison
from ..contracts.enums import LESION_ARMS, Denominator, EstimateStatus, Metric, Readout
from .compared import FLIP_DENOMINATORS, compared_of, pair_name
from .format import cell, confidence_text, contrast_extras, counted, detectable, not_asked_twice
from .lookup import Book, Row, only
from .names import (
    DENOMINATORS,
    LESION_MEANS,
    MARKS,
    READOUTS,
    SYNTHETIC,
    arm_name,
    arm_rank,
    contrast_name,
)
from .understood import misunderstood_note


@dataclass(frozen=True)
class Column:
    """A column of panel A: a metric under one denominator (None: the metric's own)."""

    title: str
    metric: Metric
    denominator: Denominator | None = None


COLUMNS = (
    Column("Flip rate", Metric.FLIP_RATE, Denominator.ALL),
    Column("Flip rate", Metric.FLIP_RATE, Denominator.BOTH_CATEGORICAL),
    Column("Overcommitment", Metric.OVERCOMMITMENT),
    Column("Noise floor d_same", Metric.D_SAME),
    Column("Δ above noise", Metric.DELTA),
    Column("Accuracy", Metric.ACCURACY),
)

CONTRASTS = (
    Metric.LABEL_SWAP_INCONSISTENCY,
    Metric.SLOT_FOLLOWING,
    Metric.OVERCOMMITMENT_DIFFERENCE,
    Metric.ACCURACY_DIFFERENCE,
)


@dataclass(frozen=True)
class Line:
    """A line of a panel: its model or pair of models, what it is about, its estimates (None: there is
    none), and what stands behind them."""

    model: str
    title: str
    cells: tuple[Row | None, ...]
    extras: tuple[str, ...] = ()


@dataclass(frozen=True)
class Panel:
    """A panel for one readout.

    `contrasts`: a line has a long title and one estimate. `claims`: its last column holds words, what
    was claimed and whether it held. `mixed` are the estimates of a line (by place) whose cells carry
    their own mark, since the column's marks differ.
    """

    readout: str
    title: str
    header: tuple[str, ...]
    lines: tuple[Line, ...]
    contrasts: bool = False
    claims: bool = False
    mixed: frozenset[int] = frozenset()


def panels_of(book: Book, first: Readout, comparisons: Sequence[Comparison] = ()) -> list[Panel]:
    """The panels of all readouts, the one to show first ahead."""
    panels: list[Panel] = []
    for readout in book.readouts(first):
        about = READOUTS[Readout(readout)]
        by_arm = _arm_lines(book, readout)
        if by_arm:
            header = ("Model", "Arm", *[_column_title(book, readout, column) for column in COLUMNS])
            mixed = frozenset(
                place for place, column in enumerate(COLUMNS) if len(_marks_of(book, readout, column)) > 1
            )
            panels.append(Panel(readout, f"Arms, read from {about}", header, tuple(by_arm), mixed=mixed))
        contrasts = _contrast_lines(book, readout)
        if contrasts:
            header = ("Model", "Contrast", "Estimate", "p (Holm)", "Detectable, points")
            panels.append(Panel(readout, f"Contrasts, read from {about}", header, tuple(contrasts), contrasts=True))
        panels += _compared(book, Readout(readout), comparisons)
    return panels


def _compared(book: Book, readout: Readout, comparisons: Sequence[Comparison]) -> list[Panel]:
    """The panel of two models compared; none where nothing was."""
    found = list(compared_of(book, readout, comparisons))
    claims = any(claimed for _, claimed, _ in found)
    lines = tuple(
        Line(
            pair_name(item),
            f"{compared.title} [{compared.row['mark']}]",
            (compared.row,),
            (detectable(compared.row["mde"]), *([compared.claim_text] if claims else [])),
        )
        for item, claimed, others in found
        for compared in [*claimed, *others]
    )
    header = ("Model − reference", "What is compared", "Difference, points", "Detectable, points")
    whole = (*header, "Claimed before the audit") if claims else header
    title = f"Compared, read from {READOUTS[readout]}"
    return [Panel(readout.value, title, whole, lines, contrasts=True, claims=claims)] if lines else []


def _arm_lines(book: Book, readout: str) -> list[Line]:
    lines = []
    for model in book.models:
        for arm in book.arms(model, readout):
            cells = tuple(
                only(book.select(column.metric, model=model, readout=readout, denominator=column.denominator, arm=arm))
                for column in COLUMNS
            )
            if any(cells):
                lines.append(Line(model, arm_name(arm), cells))
    return lines


def _column_title(book: Book, readout: str, column: Column) -> str:
    rows = book.select(column.metric, readout=readout, denominator=column.denominator)
    of = sorted({DENOMINATORS[Denominator(row["denominator"])] for row in rows})
    marks = _marks_of(book, readout, column)
    unit = "points" if column.metric is Metric.DELTA else "%"
    share = f" of {' / '.join(of)}" if of and column.metric is not Metric.DELTA else ""
    return f"{column.title}, {unit}{share}" + (f" [{marks[0]}]" if len(marks) == 1 else "")


def _marks_of(book: Book, readout: str, column: Column) -> list[str]:
    rows = book.select(column.metric, readout=readout, denominator=column.denominator)
    return sorted({row["mark"] for row in rows})


def contrast_rows(book: Book, model: str, readout: str) -> list[Row]:
    """The estimates of panel B for one model, in display order."""
    rows: list[Row] = []
    for metric in CONTRASTS:
        found = [
            row
            for row in book.select(metric, model=model, readout=readout)
            if metric is not Metric.LABEL_SWAP_INCONSISTENCY or row["denominator"] in FLIP_DENOMINATORS
        ]
        rows += sorted(
            found,
            key=lambda row: (
                -arm_rank(row["reference_arm"]) if metric is Metric.OVERCOMMITMENT_DIFFERENCE else 0,
                -arm_rank(row["arm"]) if metric is Metric.OVERCOMMITMENT_DIFFERENCE else arm_rank(row["arm"]),
                row["variant"] is not None,
                row["variant"] or "",
                list(Denominator).index(row["denominator"]),
            ),
        )
    return rows


def contrast_title(row: Row) -> str:
    """What a row of panel B is about: metric, arms, unit, denominator, mark."""
    metric = Metric(row["metric"])
    if metric in (Metric.LABEL_SWAP_INCONSISTENCY, Metric.SLOT_FOLLOWING):
        name, unit = metric.label, "%"
    else:
        name, unit = contrast_name(row["metric"], row["arm"], row["reference_arm"]), "points"
    variant = f", {row['variant']}" if row["variant"] else ""
    return f"{name}{variant}, {unit} of {DENOMINATORS[Denominator(row['denominator'])]} [{row['mark']}]"


def _contrast_lines(book: Book, readout: str) -> list[Line]:
    return [
        Line(model, contrast_title(row), (row,), tuple(contrast_extras(row)))
        for model in book.models
        for row in contrast_rows(book, model, readout)
    ]


def notes_of(book: Book, panels: list[Panel], synthetic: bool, confidence: float | None) -> list[str]:
    """The table's notes: how to read a cell, what is missing and why, power, marks."""
    shown = [row for panel in panels for line in panel.lines for row in line.cells if row is not None]
    notes = [SYNTHETIC] if synthetic else []
    notes += [note for note in (misunderstood_note(book, readout) for readout in _readouts(panels)) if note]
    if any(row["arm"] in LESION_ARMS for row in shown):
        notes.append(LESION_MEANS)
    notes.append(
        f"A cell reads: value [{confidence_text(confidence)}] (n), n being the number its header names. "
        "Shares in percent, differences in percentage points. "
        "A letter behind a cell or in brackets: whose definition it is. A dot: not defined for this arm. "
        "The cluster of every interval is the patient."
    )
    methods = sorted({row["interval_method"] for row in shown if row["interval_method"]})
    if methods:
        resamples = sorted({row["resamples"] for row in shown if row["resamples"]})
        span = " to ".join(str(item) for item in dict.fromkeys([*resamples[:1], *resamples[-1:]]))
        drawn = f"; resamples of patients: {span}" if span else ""
        notes.append(f"Intervals: {'; '.join(methods)}{drawn}.")
    if any(row["reference_model"] is not None for row in shown):
        notes += _comparison_notes(panels, confidence)
    if any(row["metric"] == Metric.DELTA for row in shown):
        notes.append(
            "Δ estimates half a squared distance between answer distributions, which is never below zero: an interval "
            "below zero, which is common with few patients, is the engine's noise and no effect."
        )
    if any(row["estimate_status"] == EstimateStatus.TOO_FEW_EVENTS for row in shown):
        notes.append("Too few events: too few patients differ for an interval to hold; the value stands alone.")
    if any(row["estimate_status"] == EstimateStatus.INCOMPLETE for row in shown):
        notes.append(
            "Incomplete: some responses ended in an error of the machine; "
            "the bounds take all of them for the worst and for the best, and the value, over complete pairs, may "
            "lie outside them."
        )
    notes += _not_asked_twice(shown) + _undefined(shown)
    powers = sorted(row["mde"] for row in shown if row["mde"])
    if powers:
        ends = dict.fromkeys([detectable(powers[0]), detectable(powers[-1])])
        none = " Where it is above 100, no difference could have been found." if powers[-1] >= 1 else ""
        notes.append(
            "Detectable: the smallest difference this study had the power to detect, per contrast; "
            f"here {' to '.join(ends)} points.{none}"
        )
    return [*notes, MARKS_NOTE] if shown else notes


MARKS_NOTE = (
    "Marks, whose definition a number is: " + "; ".join(f"[{mark}] {text}" for mark, text in MARKS.items()) + "."
)
"""The four marks explained, in one line."""


def _comparison_notes(panels: list[Panel], confidence: float | None) -> list[str]:
    """How to read the differences between two models."""
    notes = [
        "Compared: the first model's number minus the second's, over the cases that count for both, with patients "
        "drawn together for both. Of pairs with a label in both, each model keeps its own, since its answers decide "
        "which they are; n is then the smaller of the two numbers."
    ]
    if any(panel.claims for panel in panels):
        notes.append(
            "Claimed: what the first model's card said before the audit. A claim held where the whole interval lies on "
            "the claimed side of 0, and is contradicted where it lies on the other; one that was not shown is not "
            "disproved."
        )
    if confidence is not None:
        notes.append(
            "The interval of each comparison stands for itself, however many there are: of 100 differences that are "
            f"none, about {100 * (1 - confidence):.3g} would leave out 0 by chance."
        )
    return notes


def _readouts(panels: list[Panel]) -> list[Readout]:
    return [Readout(name) for name in dict.fromkeys(panel.readout for panel in panels)]


def _not_asked_twice(shown: list[Row]) -> list[str]:
    cells = sum(not_asked_twice(row) for row in shown)
    if not cells:
        return []
    return [
        f"Not asked twice, {counted(cells, 'cell')}: a model that cannot vary is asked again on base "
        "and on a share of the other arms only (inference.repeat_share); its noise there was not measured."
    ]


def _undefined(shown: list[Row]) -> list[str]:
    reasons: dict[str, list[str]] = {}
    for row in shown:
        if row["estimate_status"] == EstimateStatus.UNDEFINED and not not_asked_twice(row):
            reasons.setdefault(Metric(row["metric"]).label, []).append(row["reason"])
    notes = []
    for name, found in sorted(reasons.items()):
        distinct = list(dict.fromkeys(found))
        more = f"; {len(distinct) - 2} more reasons stand in the CSV" if len(distinct) > 2 else ""
        cells = "cell" if len(found) == 1 else "cells"
        notes.append(f"Undefined: {name}, {len(found)} {cells}: {'; '.join(distinct[:2])}{more}.")
    return notes


def texts_of(panel: Panel) -> list[list[str]]:
    """The cells of a panel as text, a list per line."""
    lines = []
    for line in panel.lines:
        texts = [line.model, line.title, *[cell(row, place in panel.mixed) for place, row in enumerate(line.cells)]]
        lines.append([*texts, *line.extras])
    return lines
