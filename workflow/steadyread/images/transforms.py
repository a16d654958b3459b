"""Transforms that derive one image from another, and the register of them.

A transform is a pure function of pixels (uint8, shape (height, width), greyscale as every stored
slice); the derived image has the same shape.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..contracts.enums import ArmName, TransformName
from ..identity.digests import canonical_json
from .crops import crop, crop_parameters

Pixels = NDArray[np.uint8]

MID_GREY = 128
"""Not 0 after normalisation: Idefics3 drops images whose normalised pixels are all exactly 0.0."""


def blank(pixels: Pixels, value: int = MID_GREY) -> Pixels:
    """A uniform image of the same size.

    Parameters
    ----------
    pixels
        uint8, (height, width).
    value
        Grey value, 0 to 255.
    """
    return np.full_like(pixels, value)


@dataclass(frozen=True)
class Transform:
    """One transform.

    Attributes
    ----------
    name
        Its name.
    function
        Pixels and parameters to pixels.
    arms
        The arms that show its images.
    levels
        Parameters by severity, from 1, of a transform that is done to every sampled slice.
    around_boxes
        Whether it is done once for every lesion box of a sampled slice instead, without levels.
    """

    name: TransformName
    function: Callable[..., Pixels]
    arms: frozenset[ArmName]
    levels: Mapping[int, Mapping[str, int | float | str]] = field(default_factory=dict)
    around_boxes: bool = False


_TRANSFORMS = (
    Transform(TransformName.BLANK, blank, frozenset({ArmName.BLANK_IMAGE}), {1: {"value": MID_GREY}}),
    Transform(TransformName.CROP, crop, frozenset({ArmName.ROI_CROPS}), around_boxes=True),
)

TRANSFORMS: dict[TransformName, Transform] = {transform.name: transform for transform in _TRANSFORMS}


def transforms_for(arms: tuple[ArmName, ...]) -> list[Transform]:
    """The transforms that the enabled arms need, in the register's order."""
    return [transform for transform in TRANSFORMS.values() if transform.arms & set(arms)]


def blank_parameters() -> str:
    """The parameters of the one blank of an image, as the images table holds them."""
    return parameters_text(TRANSFORMS[TransformName.BLANK].levels[1])


def box_parameters(box: Sequence[float]) -> str:
    """The parameters of the crop around a box, as the images table holds them."""
    return parameters_text(crop_parameters(box))


def parameters_text(parameters: Mapping[str, object]) -> str:
    """Parameters as canonical JSON."""
    return canonical_json(parameters).decode()
