"""Section `inference`: how models are asked."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from .base import Section


class InferenceConfig(Section):
    """How models are asked. Decoding is greedy; sampling parameters are explicit and recorded."""

    max_new_tokens: Annotated[int, Field(ge=1)] = 16
    """Longest answer in tokens; an answer cut there is TRUNCATED."""

    groups: Annotated[int, Field(ge=1)] = 1
    """Jobs per model; each loads the weights once and answers its share of the shards."""

    stochastic_draws: Annotated[int, Field(ge=2)] = 5
    """Times each request is asked of an engine that is not deterministic."""

    repeat_share: Annotated[float, Field(ge=0, le=1)] = 0.05
    """Share of each arm's trials asked twice of a deterministic engine (seeded), besides `repeat`."""
