"""What the simulation depends on: the rules under which a study's numbers are made."""

from __future__ import annotations

from ...config.base import Section


class Rules(Section):
    """Of section `statistics`, what intervals and tests depend on."""

    confidence: float = 0.95
    """Confidence of every interval."""
    resamples: int = 5000
    """Bootstrap resamples of a difference."""
    curve_resamples: int = 2000
    """Bootstrap resamples of a curve's point."""
    permutations: int = 9999
    """Permutations of a test."""
    min_patients_with_event: int = 5
    """Patients with an event that an interval needs."""


class SimulateValiditySettings(Section):
    """Settings of `simulate_validity`."""

    seed: int
    """Seed of the study."""
    statistics: Rules
    """The rules."""
