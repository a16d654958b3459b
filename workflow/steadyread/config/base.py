"""What all configuration models share: closed, frozen, described."""

from __future__ import annotations

import typing
from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator


class Section(BaseModel):
    """A configuration section: unknown keys are refused, values are frozen, fields described."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _true_is_no_number(cls, data: Any) -> Any:
        """YAML's yes and true would pass as the number 1."""
        if isinstance(data, dict):
            for name, field in cls.model_fields.items():
                if isinstance(data.get(name), bool) and not _holds_bool(field.annotation):
                    raise ValueError(f"{name} is {str(data[name]).lower()}, which is no value for it")
        return data


def _holds_bool(annotation: Any) -> bool:
    return annotation is bool or annotation is Any or any(map(_holds_bool, typing.get_args(annotation)))
