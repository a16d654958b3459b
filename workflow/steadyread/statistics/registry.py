"""Which function estimates which metric. A metric is one function, and one entry in `Metric` that it claims."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ..contracts.enums import Metric
from .estimand import Context, Estimand
from .statistic import ArmTest, Statistic

Function = Callable[[Context], Iterable[Estimand | Statistic | ArmTest]]


@dataclass(frozen=True)
class Entry:
    """A metric's function, and whether it is estimated in every stratum too."""

    function: Function
    strata: bool


METRICS: dict[Metric, Entry] = {}


def metric(name: Metric, *, strata: bool = False) -> Callable[[Function], Function]:
    """Claim an entry of the register for a function.

    Parameters
    ----------
    strata
        Estimate it in every stratum as well.

    Raises
    ------
    ValueError
        If another function has claimed it.
    """

    def claim(function: Function) -> Function:
        if name in METRICS:
            raise ValueError(f"two functions claim metric {name.value}")
        METRICS[name] = Entry(function, strata)
        return function

    return claim
