"""Stage `simulate_validity`: one part of the proof that the statistics hold."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping

from ...contracts.files import write_table
from ...contracts.problems import StudyError
from ...contracts.tables import VALIDITY
from ...stages.job import Files
from .cochran import cochran_rows
from .criteria import Row
from .grid import EFFECT, MIRRORED, NOISE_PATIENTS, PARTS, PATIENTS, RUNS, Cell, cells
from .intervals import curve_cell, difference_cell, share_cell
from .levels import detectable_cell, family_cell, level_cell, power_cell
from .noise import noise_cell
from .readers import reader_rows
from .rules import Rules, SimulateValiditySettings

_LOG = logging.getLogger(__name__)

COHORTS_SHARE = 10
"""A tenth of the runs is enough for the readers: each cohort has many cases."""


def simulate_validity(
    inputs: Files, outputs: Files, settings: SimulateValiditySettings, wildcards: Mapping[str, str]
) -> None:
    """Simulate one part of the grid.

    outputs: `cells` (table VALIDITY). wildcards: `part`, one of `grid.PARTS`.

    Raises
    ------
    StudyError
        If there is no such part. A criterion that is missed raises nothing here: the table is
        written first, `check_validity` judges.
    """
    rows = list(simulate(wildcards["part"], settings.statistics, settings.seed))
    missed = sum(not row["holds"] for row in rows)
    _LOG.info("part %s: %d cells, %d miss their criterion", wildcards["part"], len(rows), missed)
    write_table(outputs.one("cells"), VALIDITY, rows)


def simulate(part: str, rules: Rules, seed: int, runs: int = RUNS) -> Iterator[Row]:
    """The rows of one part, a function of the arguments alone.

    Raises
    ------
    StudyError
        If there is no such part.
    """
    if part not in PARTS:
        raise StudyError(f"there is no part {part!r} of the simulation, expected one of {list(PARTS)}")
    kind, _, patients = part.partition("_")
    sizes = (int(patients),) if patients else PATIENTS
    if kind == "shares":
        yield from (share_cell(cell, rules, seed, runs) for cell in cells(sizes, MIRRORED))
    elif kind in ("nulls", "effects"):
        effect = EFFECT if kind == "effects" else 0.0
        yield from (difference_cell(part, cell, rules, seed, runs) for cell in cells(sizes, effect=effect))
    elif kind == "curves":
        yield from (curve_cell(part, cell, rules, seed, runs) for cell in cells(sizes))
    elif kind == "levels":
        for cell in cells(sizes):
            yield from level_cell(part, cell, rules, seed, runs)
        yield from (power_cell(part, cell, rules, seed, runs) for cell in cells(sizes, (0.2,), EFFECT))
    elif kind == "cochran":
        for cell in _clustered(sizes, (0.1,), (0.0, 0.5)):
            yield from cochran_rows(cell, seed, runs)
    elif kind == "detectable":
        for cell in cells(sizes, (0.05, 0.1, 0.2, 0.3, 0.5)):
            row = detectable_cell(cell, rules, seed, runs)
            if row is not None:
                yield row
    elif kind == "families":
        for cell in _clustered(sizes, (0.2,), (0.3,)):
            yield from (family_cell(cell, false, rules, seed, runs) for false in (0, 2))
    elif kind == "noise":
        for cell in [*cells(NOISE_PATIENTS, (0.5,), cases=(1,)), *_clustered(NOISE_PATIENTS, (0.5,), (0.5,))]:
            yield from noise_cell(cell, rules, seed, runs)
    else:
        yield from reader_rows(Cell(PATIENTS[0], 2, 0.0, 0.5), max(runs // COHORTS_SHARE, 1), seed)


def _clustered(patients: tuple[int, ...], shares: tuple[float, ...], correlations: tuple[float, ...]) -> list[Cell]:
    """Cells of one case per patient where the correlation is 0, else of two."""
    return [cell for cell in cells(patients, shares) if cell.icc in correlations and (cell.icc > 0 or cell.cases == 1)]
