"""The register of metrics. A metric is one function from a reading to its estimands, and one entry."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..contracts.enums import Metric
from .accuracy import accuracy, accuracy_difference, readout_agreement
from .estimand import Context, Estimand
from .flips import flip_direction, flip_rate, label_swap_inconsistency, slot_following
from .floor import d_cross, d_same, delta
from .overcommitment import overcommitment, overcommitment_difference, status_share

METRICS: dict[Metric, Callable[[Context], Iterable[Estimand]]] = {
    Metric.ACCURACY: accuracy,
    Metric.ACCURACY_DIFFERENCE: accuracy_difference,
    Metric.FLIP_RATE: flip_rate,
    Metric.FLIP_DIRECTION: flip_direction,
    Metric.LABEL_SWAP_INCONSISTENCY: label_swap_inconsistency,
    Metric.SLOT_FOLLOWING: slot_following,
    Metric.OVERCOMMITMENT: overcommitment,
    Metric.OVERCOMMITMENT_DIFFERENCE: overcommitment_difference,
    Metric.STATUS_SHARE: status_share,
    Metric.D_SAME: d_same,
    Metric.D_CROSS: d_cross,
    Metric.DELTA: delta,
    Metric.READOUT_AGREEMENT: readout_agreement,
}


def estimands_of(context: Context) -> list[Estimand]:
    """Everything that is estimated of one model under one readout."""
    return [estimand for metric in METRICS.values() for estimand in metric(context)]
