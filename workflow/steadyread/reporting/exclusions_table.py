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
from .markdown import markdown_table
from .names import arm_name, arm_rank, reason_name, stage_name, stage_rank

NOTHING = "Nothing was left out."
EVERY_ARM = "every arm"
HEADER = ("Case", "Arm", "When", "Why", "What was found")


class ExclusionsTableSettings(Section):
    """Settings of `exclusions_table`: none."""


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
    outputs.one("markdown").write_text(markdown_text(found), encoding="utf-8", newline="\n")


def markdown_text(found: list[LeftOut]) -> str:
    """The table for people."""
    rows = [(item.case_id, item.arm_words, item.stage, reason_name(item.reason), item.detail) for item in found]
    return f"# Left out\n\n{markdown_table(HEADER, rows, len(HEADER)) if rows else NOTHING}\n"
