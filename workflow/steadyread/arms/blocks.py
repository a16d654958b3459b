"""Arms that treat the lesion slices R as a block: moved among the others, or shown alone (PROTOCOLS S1).

Pure functions over slice facts, as in `arms`. Within a block slices keep their anatomical order.
"""

from __future__ import annotations

from fractions import Fraction
from math import floor

from ..contracts.enums import Reason
from ..contracts.problems import CaseProblem
from .arms import exact, level_name
from .presentation import Box, ImageMode, Presentation, SliceFacts, present


def roi_first(facts: SliceFacts) -> list[Presentation]:
    """The lesion slices, then the others.

    Raises
    ------
    CaseProblem
        NO_ANNOTATION, NO_LESION, LESION_NOT_SAMPLED. Where R is in front already, this is base:
        composing leaves the case out (NO_CHANGE).
    """
    return [present(facts, shown=facts.need_lesion() + facts.others)]


def roi_last(facts: SliceFacts) -> list[Presentation]:
    """The slices without lesion, then the lesion slices.

    Raises
    ------
    CaseProblem
        As roi_first.
    """
    return [present(facts, shown=facts.others + facts.need_lesion())]


def roi_at(facts: SliceFacts) -> list[Presentation]:
    """The lesion slices as a block at relative positions among the others; variant is the position p.

    The block stands after round(p |S without R|) of the others, halves rounded up; 0 is roi_first, 1 is
    roi_last. A position that happens to be the anatomical one counts.

    Raises
    ------
    CaseProblem
        NO_ANNOTATION, NO_LESION, LESION_NOT_SAMPLED; NO_CHANGE where every slice shows the lesion.
    """
    lesion, others = facts.need_lesion(), facts.others
    if not others:
        raise CaseProblem(
            Reason.NO_CHANGE, f"all {len(lesion)} sampled slices show the lesion: there is no other position"
        )
    presentations = []
    for position in facts.levels.positions:
        before = floor(exact(position) * len(others) + Fraction(1, 2))
        shown = others[:before] + lesion + others[before:]
        presentations.append(present(facts, variant=level_name(position), shown=shown))
    return presentations


def roi_slices(facts: SliceFacts) -> list[Presentation]:
    """The lesion slices alone.

    Raises
    ------
    CaseProblem
        NO_ANNOTATION, NO_LESION, LESION_NOT_SAMPLED. Where every slice shows the lesion, this is base:
        composing leaves the case out (NO_CHANGE).
    """
    return [present(facts, shown=facts.need_lesion())]


def roi_crops(facts: SliceFacts) -> list[Presentation]:
    """A crop around every lesion component of every lesion slice, feet to head, and nothing else.

    No more crops than base shows slices: of more, the largest boxes are kept (ties: the first), since
    no arm shows a model more images than base does.

    Raises
    ------
    CaseProblem
        NO_ANNOTATION, NO_LESION, LESION_NOT_SAMPLED; NO_BOX where a sampled lesion slice has no box.
    """
    lesion = set(facts.need_lesion())
    of_slices = dict(zip(facts.sampled, facts.boxes or ((),) * len(facts.sampled), strict=True))
    without = sum(not of_slices[index] for index in lesion)
    if without:
        raise CaseProblem(Reason.NO_BOX, f"{without} of {len(lesion)} sampled lesion slices have no lesion box")
    crops = [(index, box) for index in facts.lesion for box in of_slices[index]]
    largest = sorted(range(len(crops)), key=lambda place: -_area(crops[place][1]))[: len(facts.sampled)]
    kept = [crops[place] for place in sorted(largest)]
    return [
        present(
            facts,
            shown=tuple(index for index, _ in kept),
            image_mode=ImageMode.CROPS,
            boxes=tuple(box for _, box in kept),
        )
    ]


def _area(box: Box) -> float:
    x0, y0, x1, y1 = box
    return (x1 - x0) * (y1 - y0)
