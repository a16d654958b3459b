"""Section `slicing`: how a volume becomes 8-bit slices."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, model_validator

from .base import Section


class PlaneChoice(StrEnum):
    """The plane slices are cut in."""

    NATIVE = "native"
    AXIAL = "axial"
    SAGITTAL = "sagittal"
    CORONAL = "coronal"


class SubsampleRule(StrEnum):
    """How slices are chosen where a volume has more than `max_slices`."""

    EVEN = "even"


class WindowConfig(Section):
    """The intensity window, one per volume, over finite voxels."""

    low_percentile: Annotated[float, Field(ge=0, lt=100)] = 0.5
    """Percentile shown as black, computed over voxels that are not background."""

    high_percentile: Annotated[float, Field(gt=0, le=100)] = 99.5
    """Percentile shown as white."""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.low_percentile >= self.high_percentile:
            raise ValueError("low_percentile must be below high_percentile")
        return self


class SlicingConfig(Section):
    """How a volume becomes 8-bit slices. Display is radiological: the patient's right on the left."""

    plane: PlaneChoice = PlaneChoice.NATIVE
    """`native` is the plane the volume was acquired in (its largest spacing, axial where isotropic)."""

    size: Annotated[int, Field(ge=16, le=2048)] = 224
    """Side of the square stored image in pixels; the slice is scaled to fit and padded with black."""

    max_slices: Annotated[int, Field(ge=1)] = 24
    """At most this many slices of a case are shown to a model, in every arm."""

    subsample: SubsampleRule = SubsampleRule.EVEN
    """`even`: indices round((i + 1/2) n / max_slices - 1/2), i = 0 … max_slices - 1."""

    window: WindowConfig = WindowConfig()
    """The intensity window."""
