"""Crops: the part of a stored slice around a box, at the size of the slice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image

MARGIN = 0.5
"""Tissue shown around a box, as a share of its longer side, on each side."""
LEAST = 0.15
"""Least side of a crop, as a share of the image's."""


def crop_window(box: Sequence[float], size: int, margin: float = MARGIN) -> tuple[int, int, int]:
    """(left, top, side) of the square around a box that a crop shows, pixels, within the image.

    Parameters
    ----------
    box
        [x0, y0, x1, y1) in stored pixels.
    size
        Side of the square stored image.
    """
    x0, y0, x1, y1 = box
    side = max(x1 - x0, y1 - y0) * (1 + 2 * margin)
    side = min(size, max(round(side), round(LEAST * size), 1))
    left, top = (round((low + high - side) / 2) for low, high in ((x0, x1), (y0, y1)))
    return min(max(left, 0), size - side), min(max(top, 0), size - side), side


def crop_parameters(box: Sequence[float]) -> Mapping[str, list[float] | float]:
    """What identifies a crop of an image beside the image: one picture may be in two cases with other boxes."""
    return {"box": [float(edge) for edge in box], "margin": MARGIN, "least": LEAST}


def box_in_crop(box: Sequence[float], size: int, margin: float = MARGIN) -> list[float]:
    """Where a box lies in its own crop: [x0, y0, x1, y1) in pixels of the crop, which is as large as the image.

    Parameters
    ----------
    box, size
        As for `crop_window`.
    """
    left, top, side = crop_window(box, size, margin)
    scale = size / side
    places = (edge - start for edge, start in zip(box, (left, top, left, top), strict=True))
    return [min(max(place * scale, 0.0), float(size)) for place in places]


def crop(pixels: NDArray[np.uint8], box: Sequence[float], margin: float = MARGIN) -> NDArray[np.uint8]:
    """The square around a box, scaled to the size of the image (Pillow's bilinear filter).

    Parameters
    ----------
    pixels
        uint8, (size, size), a stored slice.
    box
        [x0, y0, x1, y1) in stored pixels.
    """
    size = len(pixels)
    left, top, side = crop_window(box, size, margin)
    part = Image.fromarray(np.ascontiguousarray(pixels[top : top + side, left : left + side]))
    return np.asarray(part.resize((size, size), Image.Resampling.BILINEAR))
