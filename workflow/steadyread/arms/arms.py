"""The arms that change order, options, evidence or words (PROTOCOLS S1). Pure functions over slice facts.

Each takes `SliceFacts` and returns its presentations, or raises `CaseProblem` with the reason that
keeps the case out of the arm. An arm is here (or in `blocks`, where it treats the lesion slices as a
block) and in the registry, nowhere else.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, factorial

from ..contracts.enums import ArmName, Reason
from ..contracts.problems import CaseProblem
from ..identity.seeds import permutation
from .matching import match_runs
from .presentation import ImageMode, Presentation, SliceFacts, present


def base(facts: SliceFacts) -> list[Presentation]:
    """All sampled slices in anatomical order, the options in the item's order."""
    return [present(facts)]


# --- order of the slices -----------------------------------------------------------------------


def reverse(facts: SliceFacts) -> list[Presentation]:
    """The sampled slices in reversed order.

    Raises
    ------
    CaseProblem
        NO_CHANGE where one slice is shown.
    """
    _need_two_slices(facts)
    return [present(facts, shown=facts.sampled[::-1])]


def shuffle(facts: SliceFacts) -> list[Presentation]:
    """Seeded permutations of the sampled slices, "1" to "K".

    Never the anatomical order. Different from the reversal and from each other where n! allows: the
    permutations of n slices other than those two come first, then the reversal; where they run out
    (2 and 3 slices), they come again from the first one, so that every variant has the same cases.

    Raises
    ------
    CaseProblem
        NO_CHANGE where one slice is shown.
    """
    _need_two_slices(facts)
    count = len(facts.sampled)
    anatomical, reversed_ = list(range(count)), list(range(count))[::-1]
    # All orders but the anatomical one; more than five slices have more than any K takes.
    distinct = factorial(min(count, 5)) - 1
    orders: list[list[int]] = []
    for number in range(facts.levels.shuffles):
        if number < distinct - 1:
            order, attempt = anatomical, 0
            while order in (anatomical, reversed_, *orders):
                order = permutation(count, *facts.seed_parts, ArmName.SHUFFLE, str(number + 1), 0, attempt)
                attempt += 1
        else:
            order = reversed_ if number == distinct - 1 else orders[number % distinct]
        orders.append(order)
    return [
        present(facts, variant=str(number), shown=tuple(facts.sampled[place] for place in order))
        for number, order in enumerate(orders, start=1)
    ]


# --- options and words -------------------------------------------------------------------------


def label_swap(facts: SliceFacts) -> list[Presentation]:
    """The labels moved on cyclically, UNSURE in its place; all non-trivial shifts, "shift1" and on.

    Two labels have one shift, the swap.

    Raises
    ------
    CaseProblem
        NO_CHANGE where fewer than two labels are offered.
    """
    labels = facts.labels
    if len(labels) < 2:
        raise CaseProblem(Reason.NO_CHANGE, f"{len(labels)} label(s) offered, another order needs two")
    return _shifts(facts, labels)


def label_cycle(facts: SliceFacts) -> list[Presentation]:
    """All options moved on cyclically, UNSURE too: "shift1" and on; shift 0 is base itself.

    Over base and these every option stands in every slot once (what PriDe's prior needs).

    Raises
    ------
    CaseProblem
        NO_CHANGE where one option is offered.
    """
    places = tuple(range(len(facts.options)))
    if len(places) < 2:
        raise CaseProblem(Reason.NO_CHANGE, f"{len(places)} option(s) offered, another order needs two")
    return _shifts(facts, places)


def abstain_first(facts: SliceFacts) -> list[Presentation]:
    """UNSURE as the first option, the labels after it in their order.

    Raises
    ------
    CaseProblem
        NO_CHANGE where UNSURE is not offered.
    """
    abstain = tuple(place for place in range(len(facts.options)) if place not in facts.labels)
    if not abstain:
        raise CaseProblem(Reason.NO_CHANGE, "UNSURE is not among the options")
    return [present(facts, option_order=(*abstain, *facts.labels))]


def numbered(facts: SliceFacts) -> list[Presentation]:
    """Base with its slices numbered by shown position."""
    return [present(facts, numbered=True)]


# --- evidence taken away -----------------------------------------------------------------------


def lesion_removed(facts: SliceFacts) -> list[Presentation]:
    """The sampled slices without the lesion slices.

    Raises
    ------
    CaseProblem
        NO_ANNOTATION, NO_LESION, LESION_NOT_SAMPLED; NO_SLICE_LEFT where every slice shows the lesion.
    """
    facts.need_lesion()
    _need_others(facts)
    return [present(facts, shown=facts.others)]


def lesion_removed_margin(facts: SliceFacts) -> list[Presentation]:
    """The sampled slices without the lesion slices and m sampled slices on each side; variant is m.

    Oedema reaches further than the annotated lesion.

    Raises
    ------
    CaseProblem
        NO_ANNOTATION, NO_LESION, LESION_NOT_SAMPLED; NO_SLICE_LEFT where nothing is left.
    """
    lesion = set(facts.need_lesion())
    margin = facts.levels.margin
    places = [place for place, index in enumerate(facts.sampled) if index in lesion]
    shown = tuple(
        index
        for place, index in enumerate(facts.sampled)
        if all(abs(place - lesion_place) > margin for lesion_place in places)
    )
    if not shown:
        raise CaseProblem(
            Reason.NO_SLICE_LEFT,
            f"all {len(facts.sampled)} sampled slices show the lesion or lie within {margin} of one that does",
        )
    return [present(facts, variant=str(margin), shown=shown)]


def remove_fraction(facts: SliceFacts) -> list[Presentation]:
    """The sampled slices without ceil(f |R|) of the lesion slices, for each share f; variant is f.

    One seeded order of the lesion slices per item: what a smaller share takes, a larger one takes too.

    Raises
    ------
    CaseProblem
        As lesion_removed, at every share, so that all levels have the same cases.
    """
    lesion = facts.need_lesion()
    _need_others(facts)
    order = permutation(len(lesion), *facts.seed_parts, ArmName.REMOVE_FRACTION, "", 0)
    presentations = []
    for share in facts.levels.fractions:
        removed = {lesion[place] for place in order[: ceil(exact(share) * len(lesion))]}
        shown = tuple(index for index in facts.sampled if index not in removed)
        presentations.append(present(facts, variant=level_name(share), shown=shown))
    return presentations


def matched_removed(facts: SliceFacts) -> list[Presentation]:
    """The sampled slices without as many seeded non-lesion slices, in runs of the same lengths.

    The control for lesion_removed: as much is taken away, but not the evidence.

    Raises
    ------
    CaseProblem
        NO_ANNOTATION, NO_LESION, LESION_NOT_SAMPLED; TOO_FEW_NONLESION where no non-lesion slice
        would be left (|R| > |S without R| - 1).
    """
    lesion = facts.need_lesion()
    others = len(facts.others)
    if len(lesion) > others - 1:
        raise CaseProblem(
            Reason.TOO_FEW_NONLESION,
            f"{len(lesion)} lesion slices and {others} others are sampled, expected more others than lesion slices",
        )
    assert facts.lesion_flags is not None
    places, matched = match_runs(facts.lesion_flags, (*facts.seed_parts, ArmName.MATCHED_REMOVED, "", 0))
    removed = {facts.sampled[place] for place in places}
    shown = tuple(index for index in facts.sampled if index not in removed)
    return [present(facts, shown=shown, runs_matched=matched)]


def no_image(facts: SliceFacts) -> list[Presentation]:
    """No image at all, and no word of one: what the options alone suggest."""
    return [present(facts, shown=(), image_mode=ImageMode.NONE)]


def mention_only(facts: SliceFacts) -> list[Presentation]:
    """No image, but words that mention the MRI: what the mere mention does (scaffold effect)."""
    return [present(facts, shown=(), image_mode=ImageMode.MENTION)]


def blank_image(facts: SliceFacts) -> list[Presentation]:
    """As many images as base, all mid-grey."""
    return [present(facts, image_mode=ImageMode.BLANK)]


# --- what they share ---------------------------------------------------------------------------


def level_name(level: float) -> str:
    """The variant of a level, as short as it reads back exactly: 0, 0.25, 1."""
    return repr(float(level)).removesuffix(".0")


def exact(share: float) -> Fraction:
    """A share as it was written: 0.1 × 30 is 3 slices, not 3 and a bit."""
    return Fraction(repr(share))


def _shifts(facts: SliceFacts, moved: tuple[int, ...]) -> list[Presentation]:
    presentations = []
    for shift in range(1, len(moved)):
        order = list(range(len(facts.options)))
        for slot, place in zip(moved, moved[shift:] + moved[:shift], strict=True):
            order[slot] = place
        presentations.append(present(facts, variant=f"shift{shift}", option_order=tuple(order)))
    return presentations


def _need_two_slices(facts: SliceFacts) -> None:
    if len(facts.sampled) < 2:
        raise CaseProblem(Reason.NO_CHANGE, "one slice has no other order")


def _need_others(facts: SliceFacts) -> None:
    if not facts.others:
        raise CaseProblem(Reason.NO_SLICE_LEFT, f"all {len(facts.sampled)} sampled slices show the lesion")
