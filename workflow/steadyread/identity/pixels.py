"""The identity of an image is its decoded pixels, never its file."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .digests import digest_bytes


def image_digest(pixels: NDArray[np.uint8], mode: str) -> str:
    """Digest decoded pixels: dtype, shape, mode and bytes.

    Parameters
    ----------
    pixels
        Array of shape (height, width) for mode "L" or (height, width, 3) for mode "RGB".
    mode
        Pillow's name of the colour mode.
    """
    data = np.ascontiguousarray(pixels)
    shape = ",".join(str(side) for side in data.shape)
    return digest_bytes(data.dtype.str.encode(), shape.encode(), mode.encode(), data.tobytes())
