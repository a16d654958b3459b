"""Parts of the configuration that several reports need."""

from __future__ import annotations

from ..config.base import Section


class SyntheticFlag(Section):
    """The part of section `cohort` that reports need."""

    synthetic: bool
    """True where the images were made, not acquired."""


class IntervalConfidence(Section):
    """The part of section `statistics` that reports need."""

    confidence: float
    """Confidence of every interval."""
