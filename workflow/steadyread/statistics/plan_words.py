"""What a plan of analysis is made of. Imports nothing heavy: the ledger is opened while the workflow is parsed."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field

from ..config.base import Section

Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]


class KnownAnswers(StrEnum):
    """Which answers there were when a plan was written."""

    NONE = "none"
    """No answer of this study, and none of its models in the store."""
    IN_STORE = "in_store"
    """No answer of this study, but the store held answers of its models, to whatever study."""
    IN_STUDY = "in_study"
    """Answers of this study."""


class PlanMark(Section):
    """A plan by its digests."""

    digest: Digest
    """Digest of the settings."""
    code: Digest
    """Digest of the code that estimates, without comments and docstrings."""


class Plan(PlanMark):
    """A plan as it was written."""

    answers: KnownAnswers
    """Which answers there were then."""
    settings: dict[str, Any]
    """What estimates depend on: seed, labels, options, arms, models, statistics, metrics, the primary readout."""

    @property
    def identity(self) -> tuple[str, str]:
        """Both digests."""
        return self.digest, self.code


class PlanAnalysisSettings(Section):
    """What the ledger says; all of it is null or empty where there is no ledger."""

    in_force: Plan | None = None
    """The plan that the estimates follow: the last one."""
    before_inference: Plan | None = None
    """The last plan that was written before this study had an answer; null: there is none."""
    tried: tuple[PlanMark, ...] = ()
    """Other plans that were followed once there were answers, in their order."""
