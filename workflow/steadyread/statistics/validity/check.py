"""Stage `check_validity`: fails where a criterion is missed, once the table is written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ...config.base import Section
from ...contracts.files import read_rows
from ...contracts.problems import StudyError
from ...contracts.tables import VALIDITY
from ...stages.job import Files

SHOWN = 20
"""Cells that are named; the table has all."""


class CheckValiditySettings(Section):
    """Settings of `check_validity`: none."""


def check_validity(
    inputs: Files, outputs: Files, settings: CheckValiditySettings, wildcards: Mapping[str, str]
) -> None:
    """Check that every cell keeps its criterion.

    inputs: `cells` (all parts), `table` (the table for people, so that it is there whatever comes of
    this). outputs: `verdict` (JSON).

    Raises
    ------
    StudyError
        Naming the cells that miss their criterion.
    """
    rows = read_rows(inputs.all("cells"), VALIDITY)
    missed = [row for row in rows if not row["holds"]]
    if missed:
        named = [f"  {described(row)}" for row in missed[:SHOWN]]
        more = [f"  and {len(missed) - SHOWN} more"] if len(missed) > SHOWN else []
        raise StudyError(
            "\n".join(
                [
                    f"{len(missed)} of {sum(row['judged'] for row in rows)} criteria are missed "
                    "(reports/validity/validity.csv has all):",
                    *named,
                    *more,
                    "Find out why before any number of a study is trusted: docs/validity.md",
                ]
            )
        )
    verdict = {"judged": sum(row["judged"] for row in rows), "shown": len(rows), "missed": 0}
    outputs.one("verdict").write_text(json.dumps(verdict, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def described(row: Mapping[str, Any]) -> str:
    """A cell in one line: what it is, what was found, what was expected."""
    where = f"{row['quantity']} ({row['method']}), {row['patients']} patients, {row['cases_per_patient']} case(s) each"
    where += f", ICC {row['icc']:g}, p {row['p']:g}, effect {row['effect']:g}, level {row['level']:g}"
    names = ("coverage", "rejected", "value")
    found = next((f"{name} {row[name]:.4f}" for name in names if row[name] is not None), "nothing")
    return f"{where}: {found}, expected {row['target']:.4f}, Monte-Carlo error {row['mc_error'] or 0:.4f}"
