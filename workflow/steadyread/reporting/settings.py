"""Parts of the configuration that several reports need."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import BaseModel, ConfigDict

from ..config.base import Section
from ..config.comparisons import Comparison
from ..config.models_table import Family
from ..config.report import ReportConfig


class SyntheticFlag(Section):
    """The part of section `cohort` that reports need."""

    synthetic: bool
    """True where the images were made, not acquired."""


class IntervalConfidence(Section):
    """The part of section `statistics` that reports need."""

    confidence: float
    """Confidence of every interval."""


class TableStatistics(IntervalConfidence):
    """The part of section `statistics` that tables need."""

    comparisons: tuple[Comparison, ...] = ()
    """The pairs of models that are compared, and what was claimed of them."""


class ListedSource(BaseModel):
    """Of where a model comes from, the kind; the rest is let go."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    kind: str
    """`hub`, `folder`, `built` (random weights) or `baseline`."""


class ListedModel(BaseModel):
    """Of an entry of the models table, what says where a report lists the model; the rest is let go."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    id: str
    """Name of the model."""
    family: Family
    """Architecture, or `baseline`."""
    source: ListedSource | None = None
    """Where it comes from; None where nobody said."""

    @property
    def trained(self) -> bool:
        """Whether it has weights that were trained: not built at random, no reader with known answers."""
        built = self.source is not None and self.source.kind == "built"
        return self.family is not Family.BASELINE and not built


class FigureSettings(Section):
    """Settings of every figure that is drawn from estimates."""

    report: ReportConfig
    """What is drawn."""
    cohort: SyntheticFlag
    """Whether the images are synthetic."""
    statistics: IntervalConfidence
    """The confidence of the intervals."""
    models_table: tuple[ListedModel, ...]
    """The study's models, in its order."""


def display_order(models: Iterable[ListedModel]) -> list[str]:
    """Ids in the order of every table and figure: as the study lists them, readers with known answers last."""
    return [model.id for model in sorted(models, key=lambda model: model.family is Family.BASELINE)]


def baselines_of(models: Iterable[ListedModel]) -> list[str]:
    """Ids of the readers with known answers; none where there is no other model, which are then shown as models."""
    models = list(models)
    found = [model.id for model in models if model.family is Family.BASELINE]
    return found if len(found) < len(models) else []
