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

from .clusters import Bools
from .trial_index import Units

MOST_LEVELS = 8
"""Distinct values up to which a stratum stands as it is; more numbers are cut in thirds."""
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Stratum:
    """Its name, name=value, and the units in it, shape (units,)."""

    name: str
    units: Bools


def strata_of(units: Units, names: Sequence[str] | None = None) -> list[Stratum]:
    """The strata of a study, by name and value; those that hold every case or none are none.

    Numbers of more than MOST_LEVELS distinct values are cut at their thirds over the study's cases;
    so many distinct words (an id, a free text) say nothing and are left out, which is logged.

    Parameters
    ----------
    names
        Which of the trials' strata to use; all where None.
    """
    known = sorted({name for facts in units.strata for name in facts})
    chosen = known if names is None else [name for name in known if name in names]
    strange = sorted(set(names or ()) - set(known))
    if strange:
        _LOG.warning("no case carries strata %s of statistics.strata; the cases carry %s", strange, known)
    found = []
    for name in chosen:
        values = [facts.get(name) for facts in units.strata]
        levels = _levels(name, values)
        for label, members in levels.items():
            mask = np.array(members, dtype=bool)
            if mask.any() and not mask.all():
                found.append(Stratum(f"{name}={label}", mask))
    return found


def _levels(name: str, values: Sequence[str | None]) -> Mapping[str, list[bool]]:
    distinct = sorted({value for value in values if value is not None})
    numbers = [_number(value) for value in distinct]
    if None not in numbers and len(distinct) > MOST_LEVELS:
        return _thirds([None if value is None else _number(value) for value in values])
    if len(distinct) > MOST_LEVELS:
        _LOG.warning("stratum %s has %d distinct values and is left out: group them", name, len(distinct))
        return {}
    ordered = distinct if None in numbers else sorted(distinct, key=float)
    return {level: [value == level for value in values] for level in ordered}


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
