"""What the decision rests on: quadrants of steadiness and reliance, and the mere mention of MRI."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..contracts.enums import ArmName, Denominator, Metric
from .agreement import Together
from .clusters import Bools, Floats
from .estimand import Context, Estimand, Term, lost_in_any
from .overcommitment import commitment
from .registry import metric
from .statistic import OfSums, Statistic

WITHOUT_EVIDENCE = (ArmName.NO_IMAGE, ArmName.LESION_REMOVED)
"""Arms that take the evidence away: all of it, or the lesion."""


@dataclass(frozen=True)
class Fourfold:
    """Cases by C, the same decision under every evidence-preserving arm, and R, another without evidence."""

    together: Together
    steady: Bools
    moves: Bools
    over: tuple[ArmName, ...]

    @classmethod
    def of(cls, context: Context, without: ArmName) -> Fourfold | None:
        """None where the study asks neither the arm nor any evidence-preserving one."""
        arms = context.asked(context.evidence_preserving)
        if without not in context.arms or not arms or not context.reading.of_arm(without):
            return None
        steady = Together.of(context.reading, arms)
        together = Together.of(context.reading, (*arms, without))
        moves = (context.reading.arm(without) != context.reading.base()).any(axis=1)
        return cls(together, steady.same(), moves, context.asked((ArmName.BASE, *arms)))

    def share(self, event: Bools, among: Bools | None = None) -> Term:
        """The share of cases with an event, of all or among some; shape (units,)."""
        term = self.together.share(event)
        return term if among is None else term.within(among | self.together.lost)


@metric(Metric.QUADRANT)
def quadrant(context: Context) -> Iterator[Estimand]:
    """Four quadrants (arXiv 2603.20985): ideal C∧R, fragile ¬C∧R, dangerous C∧¬R, worst ¬C∧¬R.

    C: the same decision over base and the evidence-preserving arms. R: the decision changes in
    no_image, and apart in lesion_removed.
    """
    for without in WITHOUT_EVIDENCE:
        found = Fourfold.of(context, without)
        if found is None:
            continue
        cells = {
            "ideal": found.steady & found.moves,
            "fragile": ~found.steady & found.moves,
            "dangerous": found.steady & ~found.moves,
            "worst": ~found.steady & ~found.moves,
        }
        for name, event in cells.items():
            yield Estimand(
                Metric.QUADRANT,
                Denominator.ALL_ARMS,
                without,
                (found.share(event),),
                reference_arm=ArmName.BASE,
                variant=name,
                over=found.over,
            )


@metric(Metric.UNMOVED_GIVEN_STEADY)
def unmoved_given_steady(context: Context) -> Iterator[Estimand]:
    """P(¬R | C): dangerous is at most 1 − flip rate by construction, this share is not."""
    yield from _unmoved(context, steady=True)


@metric(Metric.UNMOVED_GIVEN_UNSTEADY)
def unmoved_given_unsteady(context: Context) -> Iterator[Estimand]:
    """P(¬R | ¬C), to be read beside P(¬R | C)."""
    yield from _unmoved(context, steady=False)


def _unmoved(context: Context, *, steady: bool) -> Iterator[Estimand]:
    for without in WITHOUT_EVIDENCE:
        found = Fourfold.of(context, without)
        if found is not None:
            yield Estimand(
                Metric.UNMOVED_GIVEN_STEADY if steady else Metric.UNMOVED_GIVEN_UNSTEADY,
                Denominator.STEADY if steady else Denominator.UNSTEADY,
                without,
                (found.share(~found.moves, found.steady if steady else ~found.steady),),
                reference_arm=ArmName.BASE,
                over=found.over,
            )


@metric(Metric.SCAFFOLD_SHARE)
def scaffold_share(context: Context) -> Iterator[Statistic]:
    """(q_mention_only − q_no_image) / (q_base − q_no_image), q = overcommitment (arXiv 2603.28387).

    No value where the divisor's interval includes 0.
    """
    arms = (ArmName.MENTION_ONLY, ArmName.NO_IMAGE, ArmName.BASE)
    if not context.unsure or any(arm not in context.arms for arm in arms):
        return
    terms = [commitment(context.reading, arm) for arm in arms]
    counted = np.logical_and.reduce([term.counted for term in terms])
    parts = np.stack([*(np.where(counted, term.value, 0.0) for term in terms), counted.astype(np.float64)], axis=1)
    yield Statistic(
        Metric.SCAFFOLD_SHARE,
        Denominator.ALL_ARMS,
        ArmName.MENTION_ONLY,
        OfSums(parts, _scaffold, _shift),
        counted,
        lost_in_any(terms),
        reference_arm=ArmName.NO_IMAGE,
        over=context.asked(arms),
        events=counted & (terms[1].value != terms[2].value),
        both_sides=False,
        span=(-np.inf, np.inf),
        nothing="overcommitment is the same with the images as without: there is no shift to share",
    )


def _scaffold(sums: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        shift = sums[..., 2] - sums[..., 1]
        result: Floats = np.where(shift != 0, (sums[..., 0] - sums[..., 1]) / shift, np.nan)
    return result


def _shift(sums: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        result: Floats = (sums[..., 2] - sums[..., 1]) / sums[..., 3]
    return result
