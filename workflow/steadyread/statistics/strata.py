"""Strata: the cases of one sequence, one label, one third of lesion sizes, and so on.

Which case is in which is said by what its trials carry (`TRIALS.strata`): the study's own facts and
the cohort's covariates.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..contracts.problems import StudyError
from .clusters import Bools
from .trial_index import Units

MOST_LEVELS = 8
"""Distinct values up to which a stratum stands as it is; more numbers are cut in thirds."""
LEAST_PATIENTS = 5
"""Patients that each value of a number needs to stand as it is."""
OWN = ("sequence", "label", "site", "n_slices", "n_lesion_slices", "lesion_size", "runs_matched")
"""Strata that the study derives itself; whether cases carry them depends on the cohort and the arms."""
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Stratum:
    """Its name, name=value, and the units in it, shape (units,)."""

    name: str
    units: Bools


def strata_of(units: Units, names: Sequence[str] | None = None) -> list[Stratum]:
    """The strata of a study, by name and value; those that hold every case or none are none.

    Numbers of more than MOST_LEVELS distinct values, or of values that few patients share, are cut at
    their thirds over the study's cases; so many distinct words (an id, a free text) say nothing and
    are left out, which is logged.

    Parameters
    ----------
    names
        Which of the trials' strata to use; all where None.

    Raises
    ------
    StudyError
        If a name is neither the study's own nor carried by any case.
    """
    known = sorted({name for facts in units.strata for name in facts})
    chosen = known if names is None else [name for name in known if name in names]
    strange = sorted(set(names or ()) - {*known, *OWN})
    if strange:
        raise StudyError(f"statistics.strata names {strange}, which no case carries; the cases carry {known}")
    found = []
    for name in chosen:
        values = [facts.get(name) for facts in units.strata]
        levels = _levels(name, values, units)
        for label, members in levels.items():
            mask = np.array(members, dtype=bool)
            if mask.any() and not mask.all():
                found.append(Stratum(f"{name}={label}", mask))
    return found


def _levels(name: str, values: Sequence[str | None], units: Units) -> Mapping[str, list[bool]]:
    distinct = sorted({value for value in values if value is not None})
    numbers = [_number(value) for value in distinct]
    if None in numbers:
        if len(distinct) > MOST_LEVELS:
            _LOG.warning("stratum %s has %d distinct values and is left out: group them", name, len(distinct))
            return {}
        return {level: [value == level for value in values] for level in distinct}
    levels = {level: [value == level for value in values] for level in sorted(distinct, key=float)}
    shared = [np.logical_or.reduceat(np.array(members), units.starts).sum() for members in levels.values()]
    if len(distinct) > MOST_LEVELS or (len(distinct) > 3 and min(shared) < LEAST_PATIENTS):
        return _thirds([None if value is None else _number(value) for value in values])
    return levels


def _number(value: str) -> float | None:
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _thirds(values: Sequence[float | None]) -> Mapping[str, list[bool]]:
    """Lowest, middle and highest third; equal values stay together, so thirds may be uneven or missing."""
    known = [value for value in values if value is not None]
    first, second = (float(np.quantile(known, part, method="inverted_cdf")) for part in (1 / 3, 2 / 3))
    bounds = {
        f"lowest third (to {first:g})": (-math.inf, first),
        f"middle third (to {second:g})": (first, second),
        f"highest third (above {second:g})": (second, math.inf),
    }
    return {
        label: [value is not None and low < value <= high for value in values] for label, (low, high) in bounds.items()
    }
