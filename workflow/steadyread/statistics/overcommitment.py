"""Overcommitment: a categorical diagnosis where there is nothing to base it on; shares of statuses."""

from __future__ import annotations

from collections.abc import Iterator

from ..config.comparisons import COMMITMENT_ARMS
from ..contracts.enums import ArmName, Denominator, Metric, OutcomeStatus
from .clusters import Bools
from .estimand import Context, Estimand, Term, difference, over_variants
from .reading import LOST, Reading
from .registry import metric

SHARES = (OutcomeStatus.UNSURE, OutcomeStatus.REFUSED, OutcomeStatus.UNPARSED, OutcomeStatus.TRUNCATED)
HEADLINE_FAMILY = "overcommitment_matched_lesion"


def share_of(reading: Reading, arm: ArmName, event: Bools) -> Term:
    """The share of an arm's responses with an event, ERROR left out and bounded.

    Parameters
    ----------
    event
        Shape (units, variants of the arm).
    """
    decision = reading.arm(arm)
    return over_variants(event, decision >= 0, decision == LOST)


@metric(Metric.OVERCOMMITMENT, strata=True)
def overcommitment(context: Context) -> Iterator[Estimand]:
    """OC = mean 1[CATEGORICAL] per arm, where UNSURE was offered."""
    if not context.unsure:
        return
    for arm in COMMITMENT_ARMS:
        if arm in context.arms:
            yield Estimand(Metric.OVERCOMMITMENT, Denominator.ALL, arm, (commitment(context.reading, arm),))


@metric(Metric.OVERCOMMITMENT_DIFFERENCE, strata=True)
def overcommitment_difference(context: Context) -> Iterator[Estimand]:
    """OC(matched_removed) − OC(lesion_removed), the headline, and ΔOC = OC(base) − OC(lesion_removed).

    Both over cases that have both arms. A reader that needs the lesion lets go where it is gone and
    not where as much else is gone.
    """
    if not context.unsure or ArmName.LESION_REMOVED not in context.arms:
        return
    for arm, tested in ((ArmName.MATCHED_REMOVED, True), (ArmName.BASE, False)):
        if arm in context.arms:
            yield Estimand(
                Metric.OVERCOMMITMENT_DIFFERENCE,
                Denominator.ALL,
                arm,
                (difference(commitment(context.reading, arm), commitment(context.reading, ArmName.LESION_REMOVED)),),
                reference_arm=ArmName.LESION_REMOVED,
                difference=True,
                tested=tested,
                family=HEADLINE_FAMILY if tested else None,
            )


@metric(Metric.STATUS_SHARE)
def status_share(context: Context) -> Iterator[Estimand]:
    """Share of each status other than ANSWERED among an arm's responses."""
    codes = context.reading.codes
    for arm in context.arms:
        for status in SHARES:
            event = context.reading.arm(arm) == codes.of(status)
            yield Estimand(
                Metric.STATUS_SHARE,
                Denominator.ALL,
                arm,
                (share_of(context.reading, arm, event),),
                variant=status.value,
            )


def commitment(reading: Reading, arm: ArmName) -> Term:
    """Whether each unit's answer under an arm is a label; mean over the arm's variants."""
    return share_of(reading, arm, reading.codes.categorical(reading.arm(arm)))
