"""Every metric: importing the modules lets their functions claim their entries of the register."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..contracts.enums import Metric
from . import accuracy, agreement, curves, evidence, flips, floor, overcommitment, selective, slots
from .estimand import Context, Estimand
from .registry import METRICS
from .statistic import ArmTest, Statistic

MODULES = (accuracy, agreement, curves, evidence, flips, floor, overcommitment, selective, slots)
"""Where the functions of the register stand."""


@dataclass(frozen=True)
class Asked:
    """What is estimated of one model under one readout: means, what is no mean, tests of several arms."""

    means: tuple[Estimand, ...]
    statistics: tuple[Statistic, ...]
    tests: tuple[ArmTest, ...]


def asked_of(context: Context, metrics: Iterable[Metric] = tuple(Metric)) -> Asked:
    """Everything that is estimated, in the order of the register; or some metrics alone."""
    chosen = set(metrics)
    found = [item for name in Metric if name in chosen for item in METRICS[name].function(context)]
    return Asked(
        tuple(item for item in found if isinstance(item, Estimand)),
        tuple(item for item in found if isinstance(item, Statistic)),
        tuple(item for item in found if isinstance(item, ArmTest)),
    )


STRATIFIED = tuple(name for name in Metric if METRICS[name].strata)
"""Metrics that are estimated in every stratum too."""
