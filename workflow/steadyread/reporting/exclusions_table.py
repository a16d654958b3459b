"""Stage `exclusions_table`: every case that was left out, of what, where and why."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

from ..config.base import Section
from ..contracts.files import read_rows
from ..contracts.tables import EXCLUSIONS
from ..stages.job import Files
from .format import counted, one_line
from .markdown import markdown_escape, markdown_table
from .names import SYNTHETIC, arm_name, arm_rank, reason_name, stage_name, stage_rank
from .settings import SyntheticFlag

NOTHING = "Nothing was left out."
EVERY_ARM = "every arm"
HEADER = ("Case", "Arm", "When", "Why", "What was found")


class ExclusionsReport(Section):
    """The part of section `report` that the table needs."""

    title: str
    """Title of the study."""
    note: str | None = None
    """What a reader must know before anything else."""


class ExclusionsTableSettings(Section):
    """Settings of `exclusions_table`."""

    report: ExclusionsReport
    """Title and note."""
    cohort: SyntheticFlag
    """Whether the images are synthetic."""


@dataclass(frozen=True)
class LeftOut:
    """A case that was left out.

    Attributes
    ----------
    case_id
        The case.
    arm
        The arm it is missing from, as in every table; empty: every arm.
    stage
        What was being done when it was left out, in words.
    reason
        A word of the closed list of reasons.
    detail
        What was found and what was expected.
    """

    case_id: str
    arm: str
    stage: str
    reason: str
    detail: str

    @property
    def arm_words(self) -> str:
        """The arm in front of people."""
        return arm_name(self.arm) if self.arm else EVERY_ARM

    @property
    def why(self) -> str:
        """Reason and detail in one sentence."""
        return f"{reason_name(self.reason)}: {self.detail}" if self.detail else reason_name(self.reason)


COLUMNS = tuple(field.name for field in fields(LeftOut))


def left_out(rows: Iterable[Mapping[str, Any]]) -> list[LeftOut]:
    """What was left out, by case, arm (every arm first), stage on the data's way, reason and detail."""
    ranked = sorted(
        rows,
        key=lambda row: (
            *(row["case_id"], arm_rank(row["arm"]), stage_rank(row["stage"]), row["stage"]),
            *(row["reason"], row["detail"], row["model_id"] or ""),
        ),
    )
    # What holds for one model only says so: the columns speak of cases.
    return [
        LeftOut(
            row["case_id"],
            row["arm"] or "",
            stage_name(row["stage"]),
            row["reason"],
            row["detail"] if row["model_id"] is None else f"{row['detail']} (model {row['model_id']})",
        )
        for row in ranked
    ]


def read_left_out(path: Path) -> list[LeftOut]:
    """What a written table says was left out."""
    with open(path, encoding="utf-8", newline="") as stream:
        return [LeftOut(**{name: row[name] for name in COLUMNS}) for row in csv.DictReader(stream)]


def exclusions_table(
    inputs: Files, outputs: Files, settings: ExclusionsTableSettings, wildcards: Mapping[str, str]
) -> None:
    """Write what was left out.

    inputs: `exclusions` (all tables of the study). outputs: `csv`, `markdown`: a row per case, arm and
    reason.
    """
    found = left_out(read_rows(inputs.all("exclusions"), EXCLUSIONS))
    with open(outputs.one("csv"), "w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(astuple(item) for item in found)
    text = markdown_text(found, settings, wildcards.get("study"))
    outputs.one("markdown").write_text(text, encoding="utf-8", newline="\n")


def markdown_text(found: list[LeftOut], settings: ExclusionsTableSettings, study: str | None = None) -> str:
    """The table for people: the study, banners, how much was left out, and a row each."""
    named = f" (study {study})" if study else ""
    parts = [f"# {markdown_escape(settings.report.title + named)}: left out"]
    banners = (one_line(settings.report.note), SYNTHETIC if settings.cohort.synthetic else None)
    parts += [f"> **{markdown_escape(text)}**" for text in banners if text]
    if not found:
        return "\n\n".join([*parts, NOTHING]) + "\n"
    whole = len({item.case_id for item in found if not item.arm})
    cases = counted(len({item.case_id for item in found}), "case")
    parts.append(f"{counted(len(found), 'row')} of {cases}; {whole} of them left out of every arm.")
    rows = [(item.case_id, item.arm_words, item.stage, reason_name(item.reason), item.detail) for item in found]
    return "\n\n".join([*parts, markdown_table(HEADER, rows, len(HEADER))]) + "\n"
