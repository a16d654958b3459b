"""Stage `sensitivity_table`: the tested contrasts beside their second test, and whether the two agree."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..config.base import Section
from ..contracts.enums import Denominator, EstimateStatus, Readout
from ..contracts.files import read_rows
from ..contracts.tables import SENSITIVITY
from ..stages.job import Files
from .format import counted, probability
from .markdown import markdown_escape, markdown_table
from .names import DENOMINATORS, READOUTS, STATUSES, SYNTHETIC, arm_rank, contrast_name
from .settings import ListedModel, SyntheticFlag, display_order

Row = Mapping[str, Any]

HEADER = ("Model", "Contrast", "Odds ratio", "p of the model", "p of the test", "Agree")
NOTHING = "No contrast carries a p."
MEANING = (
    "The same contrasts, tested in a second way: a marginal logistic model (generalized estimating equations with "
    "exchangeable correlation within the patient). An odds ratio above 1 says that the event is likelier under the "
    "first arm. The test of the main table is the primary one; this one rests on large numbers of patients."
)


class SensitivityTableSettings(Section):
    """Settings of `sensitivity_table`."""

    cohort: SyntheticFlag
    """Whether the images are synthetic."""
    models_table: tuple[ListedModel, ...]
    """The study's models, in its order."""


@dataclass(frozen=True)
class SensitivityLine:
    """One contrast under one readout, as text.

    `agrees` is "yes", "no", or why there is nothing to compare.
    """

    readout: Readout
    model: str
    contrast: str
    odds_ratio: str
    p: str
    p_primary: str
    agrees: str

    @property
    def texts(self) -> tuple[str, ...]:
        """The cells under HEADER."""
        return self.model, self.contrast, self.odds_ratio, self.p, self.p_primary, self.agrees


def sensitivity_lines(rows: Iterable[Row], order: Sequence[str]) -> list[SensitivityLine]:
    """The table for people: by readout (text first), model in the study's order, metric and arm.

    Parameters
    ----------
    rows
        Of the sensitivity table.
    order
        Model ids in the order in which models are listed.
    """
    rank = {model: number for number, model in enumerate(order)}
    ordered = sorted(
        rows,
        key=lambda row: (
            list(Readout).index(Readout(row["readout"])),
            rank.get(row["model"], len(rank)),
            row["model"],
            row["metric"],
            arm_rank(row["arm"]),
            arm_rank(row["reference_arm"]),
            list(Denominator).index(Denominator(row["denominator"])),
            row["variant"] or "",
        ),
    )
    return [
        SensitivityLine(
            Readout(row["readout"]),
            row["model"],
            _contrast(row),
            _ratio(row),
            probability(row["p"]),
            probability(row["p_primary"]),
            _agrees(row),
        )
        for row in ordered
    ]


def worth_showing(rows: Iterable[Row]) -> list[Row]:
    """What stands in front of people: contrasts with an odds ratio, and those the primary test found."""
    return [row for row in rows if row["odds_ratio"] is not None or row["p_primary"] <= row["level"]]


def agreement_sentence(rows: Sequence[Row]) -> str:
    """How many contrasts the two tests agree on, at which level."""
    compared = [row for row in rows if row["agrees"] is not None]
    if not rows:
        return NOTHING
    if not compared:
        return f"Of {counted(len(rows), 'tested contrast')} none could be fitted."
    agreeing = sum(row["agrees"] for row in compared)
    rest = len(rows) - len(compared)
    left = f" {counted(rest, 'further contrast')} could not be fitted." if rest else ""
    return (
        f"At level {compared[0]['level']:g} the two tests agree on {agreeing} of "
        f"{counted(len(compared), 'contrast')}.{left}"
    )


def counted_sentence(rows: Sequence[Row], readout: Readout) -> str:
    """How many contrasts of one readout the two tests agree on: the same in the file and on the page."""
    own = [row for row in rows if row["readout"] == readout.value]
    return f"Read from {READOUTS[readout]}: {agreement_sentence(own)}" if own else NOTHING


def sensitivity_table(
    inputs: Files, outputs: Files, settings: SensitivityTableSettings, wildcards: Mapping[str, str]
) -> None:
    """Write the sensitivity analysis.

    inputs: `sensitivity`. outputs: `csv` (every column, full precision), `markdown`.
    """
    rows = read_rows(inputs.one("sensitivity"), SENSITIVITY)
    with open(outputs.one("csv"), "w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, SENSITIVITY.schema.names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    text = markdown_text(rows, display_order(settings.models_table), settings.cohort.synthetic)
    outputs.one("markdown").write_text(text, encoding="utf-8", newline="\n")


def markdown_text(rows: Sequence[Row], order: Sequence[str], synthetic: bool) -> str:
    """The table for people in Markdown, a part per readout."""
    parts = ["# Sensitivity analysis of the tests", *([f"> **{SYNTHETIC}**"] if synthetic else []), MEANING]
    lines = sensitivity_lines(worth_showing(rows), order)
    readouts = [readout for readout in Readout if any(row["readout"] == readout.value for row in rows)]
    parts += [] if readouts else [NOTHING]
    for readout in readouts:
        shown = [line.texts for line in lines if line.readout is readout]
        parts.append(f"**{markdown_escape(counted_sentence(rows, readout))}**")
        parts += [markdown_table(HEADER, shown, words=2)] if shown else []
    reasons = Counter(row["reason"] for row in rows if row["reason"])
    if reasons:
        told = [
            f"- {markdown_escape(reason)}: {counted(number, 'contrast')}" for reason, number in sorted(reasons.items())
        ]
        parts.append("\n".join(["What could not be fitted, or not to the end; the CSV lists every contrast:\n", *told]))
    return "\n\n".join(parts) + "\n"


def _contrast(row: Row) -> str:
    name = contrast_name(row["metric"], row["arm"], row["reference_arm"])
    variant = f", {row['variant']}" if row["variant"] else ""
    return f"{name}{variant}, of {DENOMINATORS[Denominator(row['denominator'])]}"


def _ratio(row: Row) -> str:
    if row["odds_ratio"] is None:
        return "–"
    limits = "" if row["low"] is None else f" [{row['low']:.2f}, {row['high']:.2f}]"
    return f"{row['odds_ratio']:.2f}{limits} ({row['n']})"


def _agrees(row: Row) -> str:
    if row["agrees"] is None:
        return STATUSES[EstimateStatus(row["estimate_status"])]
    return "yes" if row["agrees"] else "no"
