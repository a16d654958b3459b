"""The register of arms: one entry per `ArmName`. A new arm is one function and one entry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..contracts.enums import ArmName, Mark
from . import arms
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
    """

    name: ArmName
    function: Callable[[SliceFacts], list[Presentation]]
    mark: Mark
    reference: ArmName | None = ArmName.BASE
    control_of: ArmName | None = None
    needs_lesions: bool = False
    draw: int = 0

    @property
    def evidence_preserving(self) -> bool:
        """Whether the protocol lists it as showing the same evidence."""
        return self.name.value in PROTOCOL_EVIDENCE_PRESERVING


_ARMS = (
    Arm(ArmName.BASE, arms.base, Mark.PAPER, reference=None),
    Arm(ArmName.REPEAT, arms.base, Mark.OWN, draw=1),
    Arm(ArmName.REVERSE, arms.reverse, Mark.PAPER),
    Arm(ArmName.LABEL_SWAP, arms.label_swap, Mark.PAPER),
    Arm(ArmName.LESION_REMOVED, arms.lesion_removed, Mark.PAPER, needs_lesions=True),
    Arm(
        ArmName.MATCHED_REMOVED,
        arms.matched_removed,
        Mark.OWN,
        control_of=ArmName.LESION_REMOVED,
        needs_lesions=True,
    ),
    Arm(ArmName.NO_IMAGE, arms.no_image, Mark.OWN),
    Arm(ArmName.BLANK_IMAGE, arms.blank_image, Mark.OWN),
)

ARMS: dict[ArmName, Arm] = {arm.name: arm for arm in _ARMS}

EVIDENCE_PRESERVING: tuple[ArmName, ...] = tuple(arm.name for arm in _ARMS if arm.evidence_preserving)
"""Arms over which multi-arm metrics are computed (PROTOCOLS 0.3), restricted to arms that exist."""
