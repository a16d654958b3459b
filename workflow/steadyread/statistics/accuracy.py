"""Accuracy where labels are known, its change under an arm, and the agreement of the readouts."""

from __future__ import annotations

from collections.abc import Iterator

from ..contracts.enums import ArmName, Denominator, Metric, Readout
from .estimand import Context, Estimand, Term, difference, over_variants
from .reading import LOST, Reading

ACCURACY_FAMILY = "accuracy_evidence_preserving"


def accuracy(context: Context) -> Iterator[Estimand]:
    """Share of cases with a known label that were answered with it; UNSURE and no answer are not right."""
    for arm in context.arms:
        yield Estimand(Metric.ACCURACY, Denominator.LABEL_KNOWN, arm, (_right(context.reading, arm),))


def accuracy_difference(context: Context) -> Iterator[Estimand]:
    """Accuracy of an arm minus base, paired; the evidence-preserving arms are one family of tests."""
    for arm in context.compared:
        yield Estimand(
            Metric.ACCURACY_DIFFERENCE,
            Denominator.LABEL_KNOWN,
            arm,
            (difference(_right(context.reading, arm), _right(context.reading, ArmName.BASE)),),
            reference_arm=ArmName.BASE,
            difference=True,
            tested=True,
            family=ACCURACY_FAMILY if arm in context.evidence_preserving else None,
        )


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


def _right(reading: Reading, arm: ArmName) -> Term:
    decision, truth = reading.arm(arm), reading.units.truth[:, None]
    known = truth >= 0
    return over_variants((decision == truth) & known, (decision >= 0) & known, (decision == LOST) & known)
