"""The register of arms: one entry per `ArmName`. A new arm is one function and one entry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..contracts.enums import SLICE_ORDER_ARMS, ArmName, Mark
from . import arms, blocks
from .presentation import Presentation, SliceFacts

PROTOCOL_EVIDENCE_PRESERVING: tuple[str, ...] = (
    "reverse",
    "shuffle",
    "roi_first",
    "roi_last",
    "label_swap",
    "label_cycle",
    "abstain_first",
)
"""The closed list of PROTOCOLS 0.3: every slice and every option is still there, elsewhere."""


@dataclass(frozen=True)
class Arm:
    """One arm.

    Attributes
    ----------
    name
        Its name.
    function
        Presents an item, or raises CaseProblem.
    mark
        Where its definition comes from (PROTOCOLS S1).
    reference
        The arm it is compared with; None for base itself.
    control_of
        The arm whose effect it is the control of, if any.
    needs_lesions
        Whether it needs an annotated lesion.
    draw
        The draw its trials start at: `repeat` is base asked again, draw 1.
    may_equal_base
        Whether a presentation that is base itself counts: by construction for `repeat`, at the level
        that happens to be base for a curve. Every other arm is then left out (NO_CHANGE).
    parameter
        The number that a variant's text stands for (share removed, relative position, slices of
        margin); None where variants are names alone.
    """

    name: ArmName
    function: Callable[[SliceFacts], list[Presentation]]
    mark: Mark
    reference: ArmName | None = ArmName.BASE
    control_of: ArmName | None = None
    needs_lesions: bool = False
    draw: int = 0
    may_equal_base: bool = False
    parameter: Callable[[str], float] | None = None

    @property
    def evidence_preserving(self) -> bool:
        """Whether the protocol lists it as showing the same arms."""
        return self.name.value in PROTOCOL_EVIDENCE_PRESERVING

    @property
    def order_only(self) -> bool:
        """Whether it changes the order of the slices and nothing else."""
        return self.name in SLICE_ORDER_ARMS


_ARMS = (
    Arm(ArmName.BASE, arms.base, Mark.PAPER, reference=None),
    Arm(ArmName.REVERSE, arms.reverse, Mark.PAPER),
    Arm(ArmName.SHUFFLE, arms.shuffle, Mark.THIRD_PARTY),
    Arm(ArmName.ROI_FIRST, blocks.roi_first, Mark.THIRD_PARTY, needs_lesions=True),
    Arm(ArmName.ROI_LAST, blocks.roi_last, Mark.THIRD_PARTY, needs_lesions=True),
    Arm(ArmName.LABEL_SWAP, arms.label_swap, Mark.PAPER),
    Arm(ArmName.LABEL_CYCLE, arms.label_cycle, Mark.OWN),
    Arm(ArmName.ABSTAIN_FIRST, arms.abstain_first, Mark.OWN),
    Arm(ArmName.LESION_REMOVED, arms.lesion_removed, Mark.PAPER, needs_lesions=True),
    Arm(
        ArmName.LESION_REMOVED_MARGIN,
        arms.lesion_removed_margin,
        Mark.OWN,
        needs_lesions=True,
        parameter=float,
    ),
    Arm(
        ArmName.REMOVE_FRACTION,
        arms.remove_fraction,
        Mark.OWN,
        needs_lesions=True,
        may_equal_base=True,
        parameter=float,
    ),
    Arm(ArmName.ROI_AT, blocks.roi_at, Mark.OWN, needs_lesions=True, may_equal_base=True, parameter=float),
    Arm(ArmName.REPEAT, arms.base, Mark.OWN, draw=1, may_equal_base=True),
    Arm(
        ArmName.MATCHED_REMOVED,
        arms.matched_removed,
        Mark.OWN,
        control_of=ArmName.LESION_REMOVED,
        needs_lesions=True,
    ),
    Arm(ArmName.ROI_SLICES, blocks.roi_slices, Mark.THIRD_PARTY, needs_lesions=True),
    Arm(ArmName.ROI_CROPS, blocks.roi_crops, Mark.THIRD_PARTY, needs_lesions=True),
    Arm(ArmName.NO_IMAGE, arms.no_image, Mark.OWN),
    Arm(ArmName.BLANK_IMAGE, arms.blank_image, Mark.OWN),
    Arm(ArmName.MENTION_ONLY, arms.mention_only, Mark.OWN),
    Arm(ArmName.NUMBERED, arms.numbered, Mark.OWN),
)

ARMS: dict[ArmName, Arm] = {arm.name: arm for arm in _ARMS}

EVIDENCE_PRESERVING: tuple[ArmName, ...] = tuple(arm.name for arm in _ARMS if arm.evidence_preserving)
"""Arms over which multi-arm metrics are computed (PROTOCOLS 0.3)."""
