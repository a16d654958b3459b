"""Accuracy where labels are known, its change under an arm, and the agreement of the readouts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..contracts.enums import ArmName, Denominator, Metric, Readout
from .clusters import Floats
from .estimand import Context, Estimand, Term, difference, lost_in_any, over_variants
from .reading import LOST, Reading
from .registry import metric
from .statistic import ArmTest, OfSums, Statistic

ACCURACY_FAMILY = "accuracy_evidence_preserving"


@metric(Metric.ACCURACY, strata=True)
def accuracy(context: Context) -> Iterator[Estimand]:
    """Share of cases with a known label that were answered with it; UNSURE and no answer are not right."""
    for arm in context.arms:
        yield Estimand(Metric.ACCURACY, Denominator.LABEL_KNOWN, arm, (right(context.reading, arm),))


@metric(Metric.ACCURACY_DIFFERENCE, strata=True)
def accuracy_difference(context: Context) -> Iterator[Estimand]:
    """Accuracy of an arm minus base, paired; the evidence-preserving arms are one family of tests."""
    for arm in context.compared:
        yield Estimand(
            Metric.ACCURACY_DIFFERENCE,
            Denominator.LABEL_KNOWN,
            arm,
            (difference(right(context.reading, arm), right(context.reading, ArmName.BASE)),),
            reference_arm=ArmName.BASE,
            difference=True,
            tested=True,
            family=ACCURACY_FAMILY if arm in context.evidence_preserving else None,
        )


@metric(Metric.READOUT_AGREEMENT)
def readout_agreement(context: Context) -> Iterator[Estimand]:
    """Share of responses whose text and log-probabilities give the same decision; a row of readout text."""
    other = context.readings.get(Readout.LOGPROB)
    if context.reading.readout != Readout.TEXT or other is None:
        return
    for arm in context.arms:
        text, logprob = context.reading.arm(arm), other.arm(arm)
        asked = (text >= LOST) & (logprob >= LOST)
        error = (text == LOST) | (logprob == LOST)
        yield Estimand(
            Metric.READOUT_AGREEMENT,
            Denominator.ALL,
            arm,
            (over_variants(text == logprob, asked & ~error, asked & error),),
        )


@metric(Metric.ACCURACY_SWING)
def accuracy_swing(context: Context) -> Iterator[Statistic]:
    """Greatest minus least accuracy over base and the slice orders, over cases that have all of them.

    After Facet-Probe (arXiv 2606.26079). A greatest minus a least is above 0 by chance alone: its
    bootstrap interval does not shrink to 0 where nothing swings.
    """
    arms = context.asked((ArmName.BASE, *context.slice_order))
    if len(arms) < 2:
        return
    terms = [right(context.reading, arm) for arm in arms]
    counted = np.logical_and.reduce([term.counted for term in terms])
    values = np.stack([np.where(counted, term.value, 0.0) for term in terms], axis=1)
    yield Statistic(
        Metric.ACCURACY_SWING,
        Denominator.ALL_ARMS_KNOWN,
        None,
        OfSums(np.concatenate([values, counted[:, None]], axis=1), _swing),
        counted,
        lost_in_any(terms),
        over=arms,
        parameter=float(len(arms)),
        events=np.asarray(np.ptp(values, axis=1) > 0),
        both_sides=False,
        nothing="no case with a known label was answered under every one of the arms",
    )


def _swing(sums: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = sums[..., :-1] / sums[..., -1:]
    return np.asarray(shares.max(axis=-1) - shares.min(axis=-1))


@metric(Metric.COCHRAN_Q)
def cochran_q(context: Context) -> Iterator[ArmTest]:
    """Cochran's Q: is a case as often right under base and every evidence-preserving arm?"""
    arms = context.asked((ArmName.BASE, *context.evidence_preserving))
    if len(arms) < 2:
        return
    terms = [right(context.reading, arm) for arm in arms]
    yield ArmTest(
        Metric.COCHRAN_Q,
        Denominator.ALL_ARMS_KNOWN,
        None,
        *(np.stack([getattr(term, name) for term in terms], axis=1) for name in ("value", "counted", "lost")),
        over=arms,
        parameter=float(len(arms)),
    )


def right(reading: Reading, arm: ArmName) -> Term:
    """Whether each unit's answer under an arm is its known label; mean over the arm's variants."""
    decision, truth = reading.arm(arm), reading.units.truth[:, None]
    known = truth >= 0
    return over_variants((decision == truth) & known, (decision >= 0) & known, (decision == LOST) & known)
