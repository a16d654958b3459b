"""Section `statistics`: intervals and tests."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from .base import Section
from .comparisons import PHANTOM_READERS, Comparison


class StatisticsConfig(Section):
    """Intervals and tests (PROTOCOLS 0.7). The cluster is the patient."""

    confidence: Annotated[float, Field(gt=0.5, lt=1)] = 0.95
    """Confidence of every interval."""

    resamples: Annotated[int, Field(ge=5000)] = 5000
    """Patient-level bootstrap resamples for tables."""

    permutations: Annotated[int, Field(ge=999)] = 9999
    """Sign-flip permutations; exact enumeration is used where there are fewer."""

    min_patients_with_event: Annotated[int, Field(ge=1)] = 5
    """A difference needs at least this many patients whose paired outcomes differ."""

    comparisons: tuple[Comparison, ...] = (PHANTOM_READERS,)
    """Pairs of models whose differences are estimated, patient by patient, where a study asks both: a list of
    {model, reference, expected}. `expected` lists what the model's card claimed before the audit, as
    {metric, arm, side}, and may be left out."""
