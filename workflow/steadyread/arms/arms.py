"""The arms: what is varied (PROTOCOLS S1). Pure functions over slice indices and options.

Each takes `SliceFacts` and returns its presentations, or raises `CaseProblem` with the reason that
keeps the case out of the arm. An arm is here and in the registry, nowhere else.
"""

from __future__ import annotations

from ..contracts.enums import ArmName, Reason
from ..contracts.problems import CaseProblem
from .matching import match_runs
from .presentation import ImageMode, Presentation, SliceFacts, present


def base(facts: SliceFacts) -> list[Presentation]:
    """All sampled slices in anatomical order, the options in the item's order."""
    return [present(facts)]


def reverse(facts: SliceFacts) -> list[Presentation]:
    """The sampled slices in reversed order.

    Raises
    ------
    CaseProblem
        NO_CHANGE where one slice is shown.
    """
    if len(facts.sampled) < 2:
        raise CaseProblem(Reason.NO_CHANGE, "one slice has no other order")
    return [present(facts, shown=facts.sampled[::-1])]


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
    presentations = []
    for shift in range(1, len(labels)):
        order = list(range(len(facts.options)))
        for slot, place in zip(labels, labels[shift:] + labels[:shift], strict=True):
            order[slot] = place
        presentations.append(present(facts, variant=f"shift{shift}", option_order=tuple(order)))
    return presentations


def lesion_removed(facts: SliceFacts) -> list[Presentation]:
    """The sampled slices without the lesion slices.

    Raises
    ------
    CaseProblem
        NO_ANNOTATION, NO_LESION, LESION_NOT_SAMPLED; NO_SLICE_LEFT where every slice shows the lesion.
    """
    lesion = set(_need_lesion(facts))
    shown = tuple(index for index in facts.sampled if index not in lesion)
    if not shown:
        raise CaseProblem(Reason.NO_SLICE_LEFT, f"all {len(lesion)} sampled slices show the lesion")
    return [present(facts, shown=shown)]


def matched_removed(facts: SliceFacts) -> list[Presentation]:
    """The sampled slices without as many seeded non-lesion slices, in runs of the same lengths.

    The control for lesion_removed: as much is taken away, but not the evidence.

    Raises
    ------
    CaseProblem
        NO_ANNOTATION, NO_LESION, LESION_NOT_SAMPLED; TOO_FEW_NONLESION where no non-lesion slice
        would be left (|R| > |S without R| - 1).
    """
    lesion = _need_lesion(facts)
    others = len(facts.sampled) - len(lesion)
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
    """No image at all: what the options alone suggest."""
    return [present(facts, shown=(), image_mode=ImageMode.NONE)]


def blank_image(facts: SliceFacts) -> list[Presentation]:
    """As many images as base, all mid-grey."""
    return [present(facts, image_mode=ImageMode.BLANK)]


def _need_lesion(facts: SliceFacts) -> tuple[int, ...]:
    if facts.lesion_flags is None:
        raise CaseProblem(Reason.NO_ANNOTATION, "the case has no lesion annotation")
    if not facts.lesion_slices_in_volume:
        raise CaseProblem(Reason.NO_LESION, "the annotation marks no slice of the volume")
    if not facts.lesion:
        raise CaseProblem(
            Reason.LESION_NOT_SAMPLED,
            f"none of the {facts.lesion_slices_in_volume} lesion slices is among the {len(facts.sampled)} sampled",
        )
    return facts.lesion
