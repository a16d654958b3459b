"""From a model's text to one outcome status and, where it chose, a label (PROTOCOLS 0.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..contracts.enums import FinishReason, OutcomeStatus


@dataclass(frozen=True)
class ParsedAnswer:
    """What a text says.

    Attributes
    ----------
    status
        The one status the response ends with.
    label
        The chosen option's text, "UNSURE" for the abstain option; null unless a choice was made.
    slot
        Shown slot of the label, from 0; null where the label is not among the shown options.
    """

    status: OutcomeStatus
    label: str | None = None
    slot: int | None = None


def parse_choice(
    text: str,
    options: Sequence[str],
    symbols: Sequence[str],
    synonyms: Mapping[str, Sequence[str]],
    finish_reason: FinishReason,
) -> ParsedAnswer:
    """Read one choice from a text. A pure function of its arguments; it never raises for any text."""
    raise NotImplementedError
