"""How far a derived image lies from its parent (PROTOCOLS 0.10)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from skimage.metrics import peak_signal_noise_ratio, structural_similarity

from ..contracts.problems import StudyError
from .transforms import Pixels

DATA_RANGE = 255
"""Fixed for every image: a range taken from the image would hide a loss of contrast."""


@dataclass(frozen=True)
class Severity:
    """Structural similarity (7 × 7 windows), PSNR in dB, largest change in grey values."""

    ssim: float
    psnr: float
    max_abs_delta: float


def measure(parent: Pixels, derived: Pixels) -> Severity:
    """Measure the achieved severity on 8-bit intensities.

    Parameters
    ----------
    parent, derived
        uint8, same shape (height, width), sides at least 7.

    Raises
    ------
    StudyError
        If shape or type differ, or no pixel does.
    """
    if parent.shape != derived.shape or parent.dtype != np.uint8 or derived.dtype != np.uint8:
        raise StudyError(
            f"a derived image is {derived.dtype} {derived.shape}, its parent {parent.dtype} {parent.shape}; "
            "expected uint8 of the same shape. Mend the transform."
        )
    delta = float(np.abs(derived.astype(np.int16) - parent.astype(np.int16)).max())
    if delta == 0:
        raise StudyError(
            "a perturbation changed no pixel: the arm would repeat its reference. "
            "Leave the arm out (arms.enabled) or exclude the case."
        )
    return Severity(
        ssim=float(structural_similarity(parent, derived, data_range=DATA_RANGE)),
        psnr=float(peak_signal_noise_ratio(parent, derived, data_range=DATA_RANGE)),
        max_abs_delta=delta,
    )
