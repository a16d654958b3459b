"""The notes of the main table: how to read a cell, what is missing and why, power, marks."""

from __future__ import annotations

from collections.abc import Sequence

from ..contracts.enums import LESION_ARMS, ArmName, EstimateStatus, Metric, Readout
from .format import confidence_text, counted, detectable, not_asked_twice, number, percent
from .lookup import Book, Row, only
from .names import LESION_MEANS, MARKS_NOTE, SYNTHETIC, arm_name, in_words
from .panels import Panel
from .understood import misunderstood_note


def notes_of(book: Book, panels: Sequence[Panel], synthetic: bool, confidence: float | None) -> list[str]:
    """The table's notes: how to read a cell, what is missing and why, power, marks."""
    shown = [row for panel in panels for line in panel.lines for row in line.cells if row is not None]
    notes = [SYNTHETIC] if synthetic else []
    notes += [note for note in (misunderstood_note(book, readout) for readout in _readouts(panels)) if note]
    if any(row["arm"] in LESION_ARMS for row in shown):
        notes.append(LESION_MEANS)
    notes.append(
        f"A cell reads: value [{confidence_text(confidence)}] (n), n being the number its header names. "
        "Shares in percent, differences in percentage points, other numbers as they are. "
        "A letter behind a cell or in brackets: whose definition it is. A dot: not defined for this arm. "
        "The cluster of every interval is the patient."
    )
    notes += several_arms(shown)
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
    for readout in _readouts(panels):
        notes += [note for note in scaffold_notes(book, readout, book.models) if note not in notes]
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


def scaffold_notes(book: Book, readout: Readout, models: Sequence[str]) -> list[str]:
    """What the scaffold share is a share of, and for whom it is not to be read as one."""
    rows = [
        row
        for row in book.select(Metric.SCAFFOLD_SHARE, readout=readout.value)
        if row["value"] is not None and row["model"] in models
    ]
    if not rows:
        return []
    wrong = [f"{row['model']} ({why})" for row in rows for why in [_no_share(book, readout, row)] if why]
    note = "Scaffold share: of the shift base − no image in how often a diagnosis is named, the part made by words."
    return [note + (f" Not to be read as a share: {'; '.join(wrong)}." if wrong else "")]


def _no_share(book: Book, readout: Readout, row: Row) -> str:
    """Why a scaffold share is none; "" where it is one."""
    base, blind = (
        only(book.select(Metric.OVERCOMMITMENT, model=row["model"], readout=readout.value, arm=arm.value))
        for arm in (ArmName.BASE, ArmName.NO_IMAGE)
    )
    values = [item["value"] for item in (base, blind) if item is not None and item["value"] is not None]
    if len(values) == 2 and values[0] < values[1]:
        return (
            f"it named a diagnosis more often without any image than with the slices: the shift is "
            f"{percent(values[0] - values[1], signed=True)} points"
        )
    return "" if 0 <= row["value"] <= 1 else f"{number(row['value'])} lies outside 0 to 1"


def several_arms(shown: Sequence[Row]) -> list[str]:
    """Which arms the metrics of several arms are computed from, each list once; what K is."""
    lists: dict[tuple[str, ...], list[str]] = {}
    for row in shown:
        if row["arm"] is not None and len(row["arms"]) <= 2:
            continue
        # Beside base and the arms that keep the evidence, a quadrant has the arm that takes it away.
        own = row["arm"] is not None and row["reference_arm"] == ArmName.BASE
        arms = tuple(arm for arm in row["arms"] if not (own and arm == row["arm"]))
        name = Metric(row["metric"]).label + (" (and the arm named with it)" if own else "")
        names = lists.setdefault(arms, [])
        if name not in names:
            names.append(name)
    notes = [
        f"Over {counted(len(arms), 'arm')} at once ({'; '.join(arm_name(arm) for arm in arms)}): {'; '.join(names)}."
        for arms, names in lists.items()
    ]
    if any(row["arm"] is None and row["parameter"] is not None for row in shown):
        notes.append(
            "K: how many presentations of a case, base among them, such a number is computed from, an arm of several "
            "levels being several; for accuracy swing and Cochran's Q how many arms. What must hold under every one, "
            "or happen under any, depends on K."
        )
    return notes


def _comparison_notes(panels: Sequence[Panel], confidence: float | None) -> list[str]:
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


def _readouts(panels: Sequence[Panel]) -> list[Readout]:
    return [Readout(name) for name in dict.fromkeys(panel.readout for panel in panels)]


def _not_asked_twice(shown: Sequence[Row]) -> list[str]:
    cells = sum(not_asked_twice(row) for row in shown)
    if not cells:
        return []
    return [
        f"Not asked twice, {counted(cells, 'cell')}: a model that cannot vary is asked again on base "
        "and on a share of the other arms only (inference.repeat_share); its noise there was not measured."
    ]


def _undefined(shown: Sequence[Row]) -> list[str]:
    reasons: dict[str, list[str]] = {}
    for row in shown:
        if row["estimate_status"] == EstimateStatus.UNDEFINED and not not_asked_twice(row):
            reasons.setdefault(Metric(row["metric"]).label, []).append(row["reason"])
    notes = []
    for name, found in sorted(reasons.items()):
        distinct = list(dict.fromkeys(found))
        more = f"; {len(distinct) - 2} more reasons stand in the CSV" if len(distinct) > 2 else ""
        cells = "cell" if len(found) == 1 else "cells"
        notes.append(f"Undefined: {name}, {len(found)} {cells}: {in_words('; '.join(distinct[:2]))}{more}.")
    return notes
