"""Section `phantom`: the cohort that the workflow makes itself."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from .base import Section

PHANTOM_LABELS = ("GBM", "MET")
"""Diagnoses of the phantom's patients."""


class PhantomConfig(Section):
    """The phantom cohort, used where `cohort.table` is left out."""

    patients: Annotated[int, Field(ge=6, le=9998, multiple_of=2)] = 90
    """Number of patients, even; half have a GBM, half have MET, and each has T1CE and T2."""

    site_effects: bool = False
    """True: the two sites' scanners differ in contrast, noise and bias field; anatomy does not."""

    lesion_scale: Annotated[float, Field(ge=0.5, le=2)] = 1.0
    """Factor on the volume of the lesions; those that would take half of the slices are drawn anew."""

    mirrored: bool = False
    """True: anatomy and lesions are mirrored left to right; the capsule on the right temple is not."""
