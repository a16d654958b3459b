"""What is asked under one presentation of an item, and what identifies and freezes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..arms.presentation import ImageMode, Presentation
from ..arms.registry import ARMS
from ..contracts.enums import ArmName, Reason
from ..contracts.problems import CaseProblem
from ..identity.digests import digest_json
from .draws import Draw
from .views import CaseView

Row = dict[str, Any]


@dataclass(frozen=True)
class Request:
    """What is asked under one presentation of an item."""

    presentation: Presentation
    images: list[str]
    options: list[str]
    messages: list[dict[str, Any]]

    def same_as(self, other: Request) -> bool:
        """Whether a model would get the very same request."""
        return (self.images, self.options, self.messages) == (other.images, other.options, other.messages)


def check_changed(name: ArmName, requests: list[Request], base: Request, view: CaseView) -> None:
    """Leave the case out of an arm that would ask of it what base asks, or whose crops are the slices themselves.

    Raises
    ------
    CaseProblem
        NO_CHANGE.
    """
    if name is ArmName.BASE or ARMS[name].may_equal_base:
        return
    if any(request.same_as(base) for request in requests):
        raise CaseProblem(Reason.NO_CHANGE, "the arm shows the case exactly as base does")
    for request in requests:
        slices = [view.image_of[index] for index in request.presentation.shown]
        if request.presentation.image_mode is ImageMode.CROPS and request.images == slices:
            raise CaseProblem(
                Reason.NO_CHANGE, f"all {len(slices)} lesion boxes reach, with their margin, around the whole slice"
            )


def trial_id(item_id: str, draw: Draw, request: Request) -> str:
    """The identity of a trial: what is asked, under which name, for which time, of whom."""
    shown = request.presentation
    return digest_json(
        [
            item_id,
            draw.arm,
            shown.variant,
            shown.replicate,
            draw.number,
            draw.model_id,
            request.messages,
            request.images,
            request.options,
        ]
    )


def manifest_row(item_id: str, arm: ArmName, shown: Presentation) -> Row:
    """A row of the manifests table."""
    return {
        "item_id": item_id,
        "arm": arm.value,
        "variant": shown.variant,
        "replicate": shown.replicate,
        "shown_indices": list(shown.shown),
        "removed_indices": list(shown.removed),
        "option_order": list(shown.option_order),
        "runs_matched": shown.runs_matched,
    }
