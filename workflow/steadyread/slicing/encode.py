"""8-bit images as PNG bytes and as rows of the images table."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from ..identity.pixels import image_digest


def png_bytes(pixels: NDArray[np.uint8]) -> bytes:
    """Encode an 8-bit greyscale image, shape (height, width); nothing but pixels is written.

    Raises
    ------
    ValueError
        For any other type or shape: Pillow would clamp 16-bit values instead of scaling them.
    """
    if pixels.dtype != np.uint8 or pixels.ndim != 2:
        raise ValueError(f"expected a 2-D uint8 array, found {pixels.dtype} of shape {pixels.shape}")
    buffer = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(pixels)).save(buffer, format="PNG")
    return buffer.getvalue()


def pixels_of_png(png: bytes) -> NDArray[np.uint8]:
    """Decode what `png_bytes` encoded: shape (height, width), uint8."""
    with Image.open(io.BytesIO(png)) as image:
        if image.mode != "L":
            raise ValueError(f"expected an 8-bit greyscale PNG, found mode {image.mode}")
        return np.array(image, dtype=np.uint8)


def image_row(pixels: NDArray[np.uint8]) -> dict[str, Any]:
    """A slice as it was cut, as a row of the images table."""
    height, width = pixels.shape
    return {
        "image_id": image_digest(pixels, "L"),
        "parent_id": None,
        "transform": "none",
        "parameters": "{}",
        "severity": 0,
        "ssim": None,
        "psnr": None,
        "max_abs_delta": None,
        "box": None,
        "width": width,
        "height": height,
        "png": png_bytes(pixels),
    }
