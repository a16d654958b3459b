"""Flips against base: under four denominators, by direction, and by slot (PROTOCOLS S1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..contracts.enums import ArmName, Denominator, Metric
from .clusters import Bools
from .estimand import Context, Estimand, Term, difference, over_variants
from .reading import LOST, Reading
from .registry import metric
from .trial_index import Ints

ORDER_FAMILY = "flips_reverse_shuffle"
Side = Callable[[Ints], Bools]

FLIP_DENOMINATORS = (
    Denominator.ALL,
    Denominator.BOTH_ANSWER_SET,
    Denominator.BOTH_CATEGORICAL,
    Denominator.BASE_CORRECT,
)


@metric(Metric.FLIP_RATE, strata=True)
def flip_rate(context: Context) -> Iterator[Estimand]:
    """F = mean 1[d(arm) ≠ d(base)], draw 0, over pairs that the denominator admits."""
    for arm in context.compared:
        yield from _flips(context.reading, arm, Metric.FLIP_RATE)


@metric(Metric.FLIP_DIFFERENCE)
def flip_difference(context: Context) -> Iterator[Estimand]:
    """Flip rate of reverse minus that of shuffle, paired: is it the order that matters, or that it is another?"""
    if {ArmName.REVERSE, ArmName.SHUFFLE} <= set(context.arms):
        reading = context.reading
        terms = [flips(reading, arm, Denominator.ALL) for arm in (ArmName.REVERSE, ArmName.SHUFFLE)]
        yield Estimand(
            Metric.FLIP_DIFFERENCE,
            Denominator.ALL,
            ArmName.REVERSE,
            (difference(*terms),),
            reference_arm=ArmName.SHUFFLE,
            difference=True,
            tested=True,
            family=ORDER_FAMILY,
        )


@metric(Metric.LABEL_SWAP_INCONSISTENCY, strata=True)
def label_swap_inconsistency(context: Context) -> Iterator[Estimand]:
    """Flips of label_swap, answers mapped back to the label before they are compared (PROTOCOLS 0.5)."""
    if ArmName.LABEL_SWAP in context.compared:
        yield from _flips(context.reading, ArmName.LABEL_SWAP, Metric.LABEL_SWAP_INCONSISTENCY)


@metric(Metric.SLOT_FOLLOWING, strata=True)
def slot_following(context: Context) -> Iterator[Estimand]:
    """Share of pairs with a label in both whose answer stayed in its slot while the labels moved."""
    if ArmName.LABEL_SWAP not in context.compared:
        return
    reading = context.reading
    columns, (base,) = reading.of_arm(ArmName.LABEL_SWAP), reading.of_arm(ArmName.BASE)
    counted, lost = _admitted(reading, ArmName.LABEL_SWAP, Denominator.BOTH_CATEGORICAL)
    stayed = reading.slots[:, columns] == reading.slots[:, [base]]
    yield Estimand(
        Metric.SLOT_FOLLOWING,
        Denominator.BOTH_CATEGORICAL,
        ArmName.LABEL_SWAP,
        (over_variants(stayed, counted, lost),),
        reference_arm=ArmName.BASE,
    )


@metric(Metric.FLIP_DIRECTION)
def flip_direction(context: Context) -> Iterator[Estimand]:
    """Where flips go, each direction a share of all pairs.

    The cells over `all` add up to the flip rate. Over `label_known`, right_to_other_label,
    right_to_unsure and right_to_no_answer add up to the negative flips: another label and UNSURE
    mean different things at the bedside.
    """
    reading = context.reading
    codes = reading.codes
    truth = reading.units.truth[:, None]

    def right(decision: Ints) -> Bools:
        result: Bools = (decision == truth) & (truth >= 0)
        return result

    def wrong(decision: Ints) -> Bools:
        return codes.categorical(decision) & ~right(decision)

    def unsure(decision: Ints) -> Bools:
        return codes.answer_set(decision) & ~codes.categorical(decision)

    directions: tuple[tuple[str, Denominator, Side, Side], ...] = (
        ("label_to_other_label", Denominator.ALL, codes.categorical, codes.categorical),
        ("label_to_unsure", Denominator.ALL, codes.categorical, unsure),
        ("unsure_to_label", Denominator.ALL, unsure, codes.categorical),
        ("to_no_answer", Denominator.ALL, codes.answer_set, codes.no_answer),
        ("from_no_answer", Denominator.ALL, codes.no_answer, codes.answer_set),
        ("between_no_answers", Denominator.ALL, codes.no_answer, codes.no_answer),
        ("right_to_other_label", Denominator.LABEL_KNOWN, right, wrong),
        ("right_to_unsure", Denominator.LABEL_KNOWN, right, unsure),
        ("right_to_no_answer", Denominator.LABEL_KNOWN, right, codes.no_answer),
        ("wrong_to_right", Denominator.LABEL_KNOWN, wrong, right),
        ("wrong_to_other_label", Denominator.LABEL_KNOWN, wrong, wrong),
    )
    for arm in context.compared:
        base, other = reading.base(), reading.arm(arm)
        for name, denominator, before, after in directions:
            counted, lost = _admitted(reading, arm, denominator)
            went = before(base) & after(other) & (base != other)
            could = (before(base) | (base == LOST)) & (after(other) | (other == LOST))
            yield Estimand(
                Metric.FLIP_DIRECTION,
                denominator,
                arm,
                (over_variants(went, counted, lost, could),),
                reference_arm=ArmName.BASE,
                variant=name,
            )


def flips(reading: Reading, arm: ArmName, denominator: Denominator) -> Term:
    """Whether each unit's decision under the arm differs from base, over the denominator's pairs."""
    counted, lost = _admitted(reading, arm, denominator)
    return over_variants(reading.arm(arm) != reading.base(), counted, lost)


def _flips(reading: Reading, arm: ArmName, metric: Metric) -> Iterator[Estimand]:
    for denominator in FLIP_DENOMINATORS:
        yield Estimand(
            metric,
            denominator,
            arm,
            (flips(reading, arm, denominator),),
            reference_arm=ArmName.BASE,
        )


def _admitted(reading: Reading, arm: ArmName, denominator: Denominator) -> tuple[Bools, Bools]:
    """Pairs in the denominator, and pairs with an ERROR that might have been; shape (units, variants)."""
    base, other = reading.base(), reading.arm(arm)
    truth = reading.units.truth[:, None]
    asked = (base >= LOST) & (other >= LOST)
    before, after = base >= 0, other >= 0
    possible = asked
    if denominator is Denominator.BOTH_ANSWER_SET:
        before, after = reading.codes.answer_set(base), reading.codes.answer_set(other)
    elif denominator is Denominator.BOTH_CATEGORICAL:
        before, after = reading.codes.categorical(base), reading.codes.categorical(other)
    elif denominator is Denominator.BASE_CORRECT:
        before, possible = (base == truth) & (truth >= 0), asked & (truth >= 0)
    elif denominator is Denominator.LABEL_KNOWN:
        possible = asked & (truth >= 0)
    elif denominator is not Denominator.ALL:
        raise ValueError(f"no pairs are admitted under denominator {denominator}")
    error = (base == LOST) | (other == LOST)
    counted = possible & before & after
    lost = possible & error & (before | (base == LOST)) & (after | (other == LOST))
    return counted & ~error, lost
