"""What all configuration models share: closed, frozen, described."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """A configuration section: unknown keys are refused, values are frozen, fields described."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)
