"""What an arm is given of a case, and what it shows of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from ..config.words import UNSURE
from ..contracts.enums import Reason
from ..contracts.problems import CaseProblem

PLAIN = ""
"""Variant of an arm that has one form only."""


class ImageMode(StrEnum):
    """What stands in the place of a shown slice."""

    SLICES = "slices"
    NONE = "none"
    MENTION = "mention"
    BLANK = "blank"
    CROPS = "crops"


Box = tuple[float, float, float, float]
"""[x0, y0, x1, y1) in pixels of the stored slice."""


@dataclass(frozen=True)
class Levels:
    """The levels at which arms are asked (section `arms` of the configuration, without the list of arms).

    Attributes
    ----------
    shuffles
        Permutations of `shuffle`.
    fractions
        Shares of the lesion slices that `remove_fraction` takes away, in (0, 1].
    positions
        Relative positions of the lesion block in `roi_at`, in [0, 1].
    margin
        Sampled slices on each side that `lesion_removed_margin` takes away with the lesion.
    """

    shuffles: int = 1
    fractions: tuple[float, ...] = (0.5,)
    positions: tuple[float, ...] = (0.5,)
    margin: int = 1


@dataclass(frozen=True)
class SliceFacts:
    """What an arm may know of an item: facts about slices and options, no pixels.

    Attributes
    ----------
    sampled
        Indices of the sampled slices in anatomical order (S of PROTOCOLS S1).
    lesion_flags
        For each sampled slice whether it shows the lesion; None where the case is not annotated.
    lesion_slices_in_volume
        Number of lesion slices in the whole volume, sampled or not; None where not annotated.
    options
        The item's answer options in the item's own order, UNSURE last where it is offered.
    seed_parts
        (study seed, item id): what every draw of the item starts from.
    boxes
        For each sampled slice the boxes of its lesion, one per component; empty where none is known.
    levels
        The levels of the arms that have several.
    """

    sampled: tuple[int, ...]
    lesion_flags: tuple[bool, ...] | None
    lesion_slices_in_volume: int | None
    options: tuple[str, ...]
    seed_parts: tuple[object, ...]
    boxes: tuple[tuple[Box, ...], ...] | None = None
    levels: Levels = Levels()

    def __post_init__(self) -> None:
        if not self.sampled or list(self.sampled) != sorted(set(self.sampled)):
            raise ValueError(f"sampled slices must be at least one, distinct and ascending, found {self.sampled}")
        if (self.lesion_flags is None) != (self.lesion_slices_in_volume is None):
            raise ValueError("lesion flags and the number of lesion slices are both given or both None")
        if self.lesion_flags is not None:
            if len(self.lesion_flags) != len(self.sampled):
                raise ValueError(f"{len(self.lesion_flags)} lesion flags for {len(self.sampled)} sampled slices")
            if sum(self.lesion_flags) > (self.lesion_slices_in_volume or 0):
                raise ValueError("more lesion slices among the sampled slices than in the whole volume")
        if self.boxes is not None and len(self.boxes) != len(self.sampled):
            raise ValueError(f"lesion boxes of {len(self.boxes)} slices for {len(self.sampled)} sampled slices")

    @property
    def lesion(self) -> tuple[int, ...]:
        """Indices of the sampled lesion slices (R of PROTOCOLS S1); empty where not annotated."""
        flags = self.lesion_flags or (False,) * len(self.sampled)
        return tuple(index for index, flag in zip(self.sampled, flags, strict=True) if flag)

    @property
    def others(self) -> tuple[int, ...]:
        """Indices of the sampled slices that are no lesion slices (S without R)."""
        lesion = set(self.lesion)
        return tuple(index for index in self.sampled if index not in lesion)

    def need_lesion(self) -> tuple[int, ...]:
        """R, where an arm cannot do without.

        Raises
        ------
        CaseProblem
            NO_ANNOTATION, NO_LESION (annotated, none marked), LESION_NOT_SAMPLED.
        """
        if self.lesion_flags is None:
            raise CaseProblem(Reason.NO_ANNOTATION, "the case has no lesion annotation")
        if not self.lesion_slices_in_volume:
            raise CaseProblem(Reason.NO_LESION, "the annotation marks no slice of the volume")
        if not self.lesion:
            raise CaseProblem(
                Reason.LESION_NOT_SAMPLED,
                f"none of the {self.lesion_slices_in_volume} lesion slices is among the {len(self.sampled)} sampled",
            )
        return self.lesion

    @property
    def labels(self) -> tuple[int, ...]:
        """Places of the diagnostic labels in the item's options: all but UNSURE."""
        return tuple(place for place, option in enumerate(self.options) if option != UNSURE)


@dataclass(frozen=True)
class Presentation:
    """One way of showing an item: a row of the manifest (PROTOCOLS 0.4).

    Attributes
    ----------
    variant, replicate
        The form of the arm and its random realisation.
    shown
        Slice indices in shown order; a slice of which several crops are shown stands there as often.
    removed
        Sampled slice indices that are not shown, ascending.
    option_order
        For each shown slot the option's place in the item's own list.
    image_mode
        Whether a shown slice is the slice itself, a blank image or a crop of it, or nothing is shown,
        with words that mention the MRI or without.
    runs_matched
        Whether the removed slices form runs of the same lengths as the lesion slices; None where
        the arm does not match runs.
    boxes
        For each shown slice the box that is cropped; None where no crops are shown.
    numbered
        Whether the slices are numbered by shown position.
    """

    variant: str
    replicate: int
    shown: tuple[int, ...]
    removed: tuple[int, ...]
    option_order: tuple[int, ...]
    image_mode: ImageMode = ImageMode.SLICES
    runs_matched: bool | None = None
    boxes: tuple[Box, ...] | None = None
    numbered: bool = False


def present(
    facts: SliceFacts,
    *,
    variant: str = PLAIN,
    shown: tuple[int, ...] | None = None,
    option_order: tuple[int, ...] | None = None,
    image_mode: ImageMode = ImageMode.SLICES,
    runs_matched: bool | None = None,
    boxes: tuple[Box, ...] | None = None,
    numbered: bool = False,
) -> Presentation:
    """The base presentation with what an arm changes; what is not shown counts as removed."""
    order = facts.sampled if shown is None else shown
    return Presentation(
        variant=variant,
        replicate=0,
        shown=order,
        removed=tuple(index for index in facts.sampled if index not in set(order)),
        option_order=tuple(range(len(facts.options))) if option_order is None else option_order,
        image_mode=image_mode,
        runs_matched=runs_matched,
        boxes=boxes,
        numbered=numbered,
    )
