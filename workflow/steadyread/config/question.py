"""Section `question`: what is asked."""

from __future__ import annotations

from .base import Section


class QuestionConfig(Section):
    """What is asked of every case."""

    prompt: str = "diagnose_brain_mri"
    """Name of a file in config/prompts, without its ending."""

    unsure: bool = True
    """Offer UNSURE as the last answer option. Without it overcommitment is not emitted."""
