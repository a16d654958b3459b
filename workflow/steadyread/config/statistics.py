"""Section `statistics`: intervals and tests."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from .base import Section
from .comparisons import PHANTOM_READERS, Comparison


class StatisticsConfig(Section):
    """Intervals and tests (PROTOCOLS 0.7). The cluster is the patient."""

    confidence: Annotated[float, Field(gt=0.5, lt=1)] = 0.95
    """Confidence of every interval."""

    resamples: Annotated[int, Field(ge=5000)] = 5000
    """Patient-level bootstrap resamples for tables."""

    curve_resamples: Annotated[int, Field(ge=2000)] = 2000
    """Resamples for strata and for points of curves; at most `resamples`."""

    permutations: Annotated[int, Field(ge=999, le=1_000_000)] = 9999
    """Sign-flip permutations; exact enumeration is used where there are fewer."""

    arm_permutations: Annotated[int, Field(ge=999, le=100_000)] = 1999
    """Permutations of the arms within patients, for the test of several arms at once (Cochran's Q)."""

    min_patients_with_event: Annotated[int, Field(ge=1)] = 5
    """A difference needs at least this many patients whose paired outcomes differ."""

    strata: tuple[str, ...] | None = None
    """Strata to estimate the headline metrics in, by name: sequence, label, site, n_slices, n_lesion_slices,
    lesion_size, runs_matched, and the cohort's covariates. null: all of them. []: none."""

    comparisons: tuple[Comparison, ...] = (PHANTOM_READERS,)
    """Pairs of models whose differences are estimated, patient by patient, where a study asks both: a list of
    {model, reference, expected}. `expected` lists what the model's card claimed before the audit, as
    {metric, arm, side}, and may be left out."""

    @model_validator(mode="after")
    def _curves_within_tables(self) -> Self:
        if self.curve_resamples > self.resamples:
            raise ValueError(
                f"statistics.curve_resamples is {self.curve_resamples}, above statistics.resamples ({self.resamples}): "
                "strata and curves use the first of the same resamples"
            )
        return self
