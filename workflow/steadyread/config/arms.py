"""Section `arms`: what is varied."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from ..contracts.enums import ArmName
from .base import Section


class ArmsConfig(Section):
    """What is varied."""

    enabled: Annotated[tuple[ArmName, ...], Field(min_length=1)] = tuple(ArmName)
    """The arms to ask. `base` is always among them."""

    @model_validator(mode="after")
    def _base_and_distinct(self) -> Self:
        if ArmName.BASE not in self.enabled:
            raise ValueError("arms.enabled must hold `base`: every other arm is compared with it")
        if len(set(self.enabled)) != len(self.enabled):
            raise ValueError("arms.enabled names an arm twice")
        if ArmName.MATCHED_REMOVED in self.enabled and ArmName.LESION_REMOVED not in self.enabled:
            raise ValueError("matched_removed is a control for lesion_removed: enable both")
        return self
