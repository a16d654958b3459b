"""Section `arms`: what is varied."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, field_validator, model_validator

from ..contracts.enums import ArmName
from .base import Section

Share = Annotated[float, Field(ge=0, le=1)]


class ArmsConfig(Section):
    """What is varied."""

    enabled: Annotated[tuple[ArmName, ...], Field(min_length=1)] = tuple(ArmName)
    """The arms to ask. `base` is always among them; `abstain_first` is left out where UNSURE is not offered."""

    shuffles: Annotated[int, Field(ge=1, le=5)] = 1
    """Permutations of the slices that arm `shuffle` asks, each a variant: 1, 2 and so on."""

    fractions: Annotated[tuple[Annotated[float, Field(gt=0, le=1)], ...], Field(min_length=1)] = (0.5,)
    """Shares of the lesion slices that arm `remove_fraction` takes away, ascending, each a variant. The slices
    of a smaller share are among those of a larger one."""

    positions: Annotated[tuple[Share, ...], Field(min_length=1)] = (0.5,)
    """Where arm `roi_at` puts the lesion slices among the others, ascending, each a variant: 0 in front of all,
    1 behind all."""

    margin: Annotated[int, Field(ge=1)] = 1
    """Sampled slices on each side of the lesion that arm `lesion_removed_margin` takes away with it."""

    @field_validator("fractions", "positions")
    @classmethod
    def _ascending(cls, values: tuple[float, ...]) -> tuple[float, ...]:
        if list(values) != sorted(set(values)):
            raise ValueError(f"must be ascending and distinct, found {list(values)}")
        return values

    @model_validator(mode="after")
    def _base_and_distinct(self) -> Self:
        if ArmName.BASE not in self.enabled:
            raise ValueError("arms.enabled must hold `base`: every other arm is compared with it")
        if len(set(self.enabled)) != len(self.enabled):
            raise ValueError("arms.enabled names an arm twice")
        if ArmName.MATCHED_REMOVED in self.enabled and ArmName.LESION_REMOVED not in self.enabled:
            raise ValueError("matched_removed is a control for lesion_removed: enable both")
        return self

    def without(self, arm: ArmName) -> ArmsConfig:
        """The same section without an arm."""
        return self.model_copy(update={"enabled": tuple(name for name in self.enabled if name is not arm)})
