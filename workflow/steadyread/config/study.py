"""A whole study's configuration: one model per top-level key."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, ValidationInfo, field_validator, model_validator

from ..contracts.enums import ArmName
from .arms import ArmsConfig
from .base import Section
from .cohort import CohortConfig
from .inference import InferenceConfig
from .lesions import LesionsConfig
from .models_table import MODEL_ID
from .phantom import PhantomConfig
from .question import QuestionConfig
from .report import ReportConfig
from .slicing import SlicingConfig
from .statistics import StatisticsConfig
from .words import OnBadCase

RESERVED = ("phantom_cohort", "phantom_readers", "models", "logs", "validity")

KNOWN_ANSWERS = ("constant-label", "constant-slot-1", "constant-slot-2", "constant-slot-3", "coin-2", "coin-3")
DEFAULT_MODELS = ("phantom-reader", "phantom-reader-steady", *KNOWN_ANSWERS)
OWN_DATA_MODELS = ("random-idefics3", *KNOWN_ANSWERS)
"""Of a study with a cohort of its own that names no models: the phantom readers read the phantom alone."""


class StudyConfig(Section):
    """A study. Every key has a default; a study file states what differs."""

    study: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_]{0,63}$")] = "default"
    """Name of the study; its results lie in results/<study>, its report in reports/<study>."""

    seed: Annotated[int, Field(ge=0)] = 20260805
    """Seed of every drawn permutation, removal and repeat; draws depend on it and on names alone."""

    limit: Annotated[int, Field(ge=1)] | None = None
    """Use only this many patients, balanced over labels, as a study of its own (<study>-limitN)."""

    shards: Annotated[int, Field(ge=1, le=10000)] = 2
    """Patients are spread over this many shards; no number depends on it."""

    on_bad_case: OnBadCase = OnBadCase.EXCLUDE
    """`exclude`: leave a bad case out with its reason. `stop`: end the run at the first one."""

    cohort: CohortConfig = CohortConfig()
    """Where the cases come from."""

    phantom: PhantomConfig = PhantomConfig()
    """The cohort that the workflow makes itself."""

    slicing: SlicingConfig = SlicingConfig()
    """How a volume becomes 8-bit slices."""

    lesions: LesionsConfig = LesionsConfig()
    """When a slice shows the lesion."""

    question: QuestionConfig = QuestionConfig()
    """What is asked."""

    arms: Annotated[ArmsConfig, Field(validate_default=True)] = ArmsConfig()
    """What is varied."""

    models: Annotated[tuple[Annotated[str, Field(pattern=MODEL_ID)], ...], Field(min_length=1)] = DEFAULT_MODELS
    """Ids of the models to audit, from config/models.yaml. Default where `cohort.table` is set: random-idefics3
    in place of the phantom readers, which read the phantom alone."""

    inference: InferenceConfig = InferenceConfig()
    """How models are asked."""

    statistics: StatisticsConfig = StatisticsConfig()
    """Intervals and tests."""

    report: ReportConfig = ReportConfig()
    """What is drawn."""

    @model_validator(mode="before")
    @classmethod
    def _models_of_own_data(cls, content: Any) -> Any:
        cohort = content.get("cohort") if isinstance(content, dict) else None
        own = isinstance(cohort, dict) and cohort.get("table") is not None
        return {**content, "models": list(OWN_DATA_MODELS)} if own and "models" not in content else content

    @field_validator("arms")
    @classmethod
    def _unsure_first_where_it_is_offered(cls, value: ArmsConfig, info: ValidationInfo) -> ArmsConfig:
        """What the configuration shows is what is asked (PROTOCOLS S1)."""
        question = info.data.get("question")
        return value if question is None or question.unsure else value.without(ArmName.ABSTAIN_FIRST)

    @field_validator("study")
    @classmethod
    def _not_reserved(cls, value: str) -> str:
        if value in RESERVED:
            raise ValueError(f"{value!r} is a folder of results/ itself; choose another name")
        return value

    @property
    def name(self) -> str:
        """Name of the result tree: the study, or <study>-limitN."""
        return self.study if self.limit is None else f"{self.study}-limit{self.limit}"
