"""What a square of a slice shows, from the phantom's own masks: the words a reader learns to see."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..idefics3 import Architecture
from ..lesions import LABELS, OEDEMA
from .cases import TUMOUR

WORDS = (*LABELS, "oedema", "normal")
"""Findings: tumour by its kind, oedema without tumour, neither."""
SWOLLEN, NORMAL = len(LABELS), len(LABELS) + 1

PATCH_TUMOUR, PATCH_OEDEMA = 4 / 64, 12 / 64
TOKEN_TUMOUR, TOKEN_OEDEMA = 5 / 1024, 24 / 1024
"""Least share of a patch, and of an image token's square, that a finding covers."""

Ints = NDArray[np.int64]


def patch_findings(masks: NDArray[np.uint8], kind: Ints, size: Architecture) -> Ints:
    """The finding of each patch.

    Parameters
    ----------
    masks
        (slices, height, width), multiples of the patch.
    kind
        (slices,), place in LABELS; −1 where the mask holds no tumour.

    Returns
    -------
    (slices, height / patch, width / patch), places in WORDS.
    """
    return _findings(masks, kind, size.patch, PATCH_TUMOUR, PATCH_OEDEMA)


def token_findings(masks: NDArray[np.uint8], kind: Ints, size: Architecture) -> Ints:
    """The finding inside each image token's square, (slices, tokens), row by row."""
    found = _findings(masks, kind, size.patch * size.shuffle, TOKEN_TUMOUR, TOKEN_OEDEMA)
    return found.reshape(len(masks), -1)


def _findings(masks: NDArray[np.uint8], kind: Ints, square: int, tumour: float, oedema: float) -> Ints:
    count, height, width = masks.shape
    squares = masks.reshape(count, height // square, square, width // square, square)
    shows_tumour = (squares == TUMOUR).mean(axis=(2, 4)) >= tumour
    shows_oedema = (squares == OEDEMA).mean(axis=(2, 4)) >= oedema
    found = np.where(shows_oedema, SWOLLEN, NORMAL)
    return np.where(shows_tumour, np.maximum(kind, 0)[:, None, None], found).astype(np.int64)
