"""Section `lesions`: when a slice shows the lesion."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from .base import Section


class LesionsConfig(Section):
    """When a slice counts as showing the lesion."""

    min_area_mm2: Annotated[float, Field(ge=0)] = 0.0
    """A slice is a lesion slice where more than this area is annotated; 0 means any voxel."""

    grid_tolerance_mm: Annotated[float, Field(gt=0, le=1)] = 0.01
    """A mask whose corners lie within this distance of its volume's corners is on the same grid."""

    label_tolerance: Annotated[float, Field(gt=0, lt=0.5)] = 0.01
    """Mask values this near to an integer count as that integer (0.99999997 is 1)."""

    resample: bool = True
    """Resample a mask on another grid of the same space (nearest neighbour). False: refuse it."""
