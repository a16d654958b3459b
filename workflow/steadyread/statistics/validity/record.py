"""Records in the package what the simulation found: `python -m steadyread.statistics.validity.record results/validity`.

Every study's page says from the record whether the intervals hold, and whether the code is still the
one that was simulated, without simulating again.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from ...contracts.files import read_rows
from ...contracts.problems import StudyError
from ...contracts.tables import VALIDITY
from .grid import PARTS

RECORD = Path(__file__).parent / "recorded.csv"
INTERVALS = ("share", "difference", "curve point", "Δ of a noise reader")


@dataclass(frozen=True)
class Recorded:
    """The worst cell of one quantity, method and number of patients.

    Attributes
    ----------
    judged, missed
        Cells that were held to a criterion, and those that missed it.
    worst, target
        Worst coverage (of an interval), share of rejections (of a test), power or distance from what
        is expected, over the judged cells, or over all where none is; and what it was held to.
    least_reported
        Least share of runs that report an interval.
    digest
        Of the simulated code.
    """

    measure: str
    quantity: str
    method: str
    patients: int
    level: float
    cells: int
    judged: int
    missed: int
    worst: float
    target: float | None
    least_reported: float
    runs: int
    digest: str


def summarise(rows: Iterable[Mapping[str, Any]], digest: str) -> list[Recorded]:
    """The worst cell of every quantity, method, number of patients and level; readers together."""
    groups: dict[tuple[str, str, str, int, float], list[Mapping[str, Any]]] = {}
    for row in rows:
        measure = measure_of(row)
        quantity = "readers with known answers" if row["part"] == "readers" else row["quantity"]
        method = "exact and binomial" if row["part"] == "readers" else row["method"]
        groups.setdefault((measure, quantity, method, row["patients"], row["level"]), []).append(row)
    return [_recorded(key, members, digest) for key, members in sorted(groups.items())]


def measure_of(row: Mapping[str, Any]) -> str:
    """What a cell measures: coverage, level, power or value."""
    if row["part"] == "readers":
        return "value"
    if row["coverage"] is not None or (row["quantity"] in INTERVALS and row["method"] != "mean of the estimates"):
        return "coverage"
    if row["rejected"] is not None:
        return "power" if row["quantity"].startswith("power") else "level"
    return "value"


def _recorded(key: tuple[str, str, str, int, float], rows: Sequence[Mapping[str, Any]], digest: str) -> Recorded:
    measure, quantity, method, patients, level = key
    judged = [row for row in rows if row["judged"]]
    chosen = judged or list(rows)
    if measure == "coverage":
        found = [row["coverage"] for row in chosen if row["coverage"] is not None]
        worst = min(found, default=float("nan"))
    elif measure == "value":
        worst = max((row["value"] - row["expected"] for row in chosen), key=abs)
    else:
        shares = [row["rejected"] for row in chosen]
        worst = max(shares) if measure == "level" else min(shares)
    return Recorded(
        measure=measure,
        quantity=quantity,
        method=method,
        patients=patients,
        level=level,
        cells=len(rows),
        judged=len(judged),
        missed=sum(not row["holds"] for row in rows),
        worst=round(worst, 6),
        target=judged[0]["target"] if judged and measure != "value" else None,
        least_reported=min(row["reported_share"] for row in rows),
        runs=min(row["runs"] for row in rows),
        digest=digest,
    )


def write_record(rows: Iterable[Recorded], path: Path = RECORD) -> None:
    """Write the record as CSV."""
    with open(path, "w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, [field.name for field in fields(Recorded)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)


def read_record(path: Path = RECORD) -> list[Recorded]:
    """What was recorded; nothing where nothing was."""
    if not path.is_file():
        return []
    kinds: dict[str, Any] = {"patients": int, "cells": int, "judged": int, "missed": int, "runs": int}
    kinds |= dict.fromkeys(("level", "worst", "least_reported"), float)
    kinds["target"] = lambda text: float(text) if text else None
    with open(path, encoding="utf-8", newline="") as stream:
        return [
            Recorded(**{name: kinds.get(name, str)(value) for name, value in row.items()})
            for row in csv.DictReader(stream)
        ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Record the results of a run of `snakemake validity`.

    Raises
    ------
    StudyError
        If a part of the simulation is not there.
    """
    from .simulated import simulated_digest

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path, help="folder of the simulation's parts: results/validity")
    folder = parser.parse_args(arguments).results
    files = [folder / f"{part}.parquet" for part in PARTS]
    absent = [file.name for file in files if not file.is_file()]
    if absent:
        raise StudyError(f"the simulation lacks {absent}: run `snakemake validity`")
    write_record(summarise(read_rows(files, VALIDITY), simulated_digest()))


if __name__ == "__main__":
    main()
