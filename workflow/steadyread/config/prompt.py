"""Prompts are files of their own, versioned: config/prompts/<name>.yaml."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path
from typing import Annotated

import yaml
from pydantic import Field, ValidationError

from ..contracts.enums import SLICE_ORDER_ARMS, ArmName, Mark
from ..contracts.problems import StudyError
from .base import Section

IMAGE_WORDS = re.compile(
    r"\b(images?|imaging|mri?s?|magnetic resonance|ct|scans?|slices?"
    r"|pictures?|photos?|radiograph\w*|x-?rays?|t[12]\w*)\b",
    re.IGNORECASE,
)
"""Words that tell a model of images: none may stand where it is to be blind, one must where the mention counts."""

PLACE_WORDS = re.compile(
    r"\b(left|right|first|second|third|middle|last|next|previous|consecutive|anatomical order"
    r"|(slice|image|picture)s? (no\.? |number )?\d+)\b",
    re.IGNORECASE,
)
"""Words that name a place in the stack of slices, or a side: what they ask about moves with the slices."""

PLACE_ARMS = (*SLICE_ORDER_ARMS, ArmName.ROI_AT)
"""Arms that move slices to other places."""


class Prompt(Section):
    """The wording of a question. It never says anything about the order of the slices."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9_]+$")]
    """Name of the prompt, that of its file."""
    version: Annotated[int, Field(ge=1)]
    """Grows with every change of wording."""
    mark: Mark
    """Where the wording comes from; ours is O."""
    system: str | None = None
    """System message, if any."""
    images_preamble: str
    """Text before the images; `{count}` is their number."""
    slice_line: str = "Slice {number}:"
    """Text before each image where slices are numbered; `{number}` is the shown position, from 1."""
    no_image_preamble: str
    """Text in place of the images; mentions neither images nor MRI."""
    mention_preamble: str | None = None
    """Text in place of the images in arm mention_only; mentions the MRI. Needed where that arm is asked."""
    stem: str
    """The question, the same in every arm."""
    option_line: str
    """One answer option; `{symbol}` and `{option}` are filled in."""
    closing: str
    """Last line."""
    synonyms: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """Other words for a label or for UNSURE that an answer may use."""


def load_prompt(path: Path | str) -> Prompt:
    """Read a prompt file.

    Raises
    ------
    StudyError
        Naming file, key and what was expected.
    """
    path = Path(path)
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        prompt = Prompt.model_validate(content)
    except (OSError, yaml.YAMLError, ValidationError) as error:
        raise StudyError(f"prompt {path.name}: {error}") from error
    if prompt.name != path.stem:
        raise StudyError(f"prompt {path.name}: its `name` is {prompt.name!r}, expected {path.stem!r}")
    return prompt


def wording_problems(prompt: Prompt, arms: Collection[ArmName]) -> list[str]:
    """What the wording of a prompt forbids some arms to ask, a sentence each; empty where nothing is wrong.

    A request without images must not speak of them (no_image), the mention must (mention_only), and a
    question about a place or a side changes its answer where slices move (PROTOCOLS 0.8): every item of a
    study asks the same, so the arms are refused as a whole.

    Parameters
    ----------
    prompt
        The wording.
    arms
        The arms that are asked.
    """
    said = (prompt.system or "", prompt.stem, prompt.option_line, prompt.closing)
    problems = []
    found = _words(IMAGE_WORDS, *said, prompt.no_image_preamble)
    if ArmName.NO_IMAGE in arms and found:
        problems.append(
            f"prompt {prompt.name}: a request without images would say {found}. Word system, no_image_preamble, stem, "
            "option_line and closing so that they mention neither images nor MRI, or leave the arm no_image out."
        )
    if ArmName.MENTION_ONLY in arms and not _words(IMAGE_WORDS, prompt.mention_preamble or ""):
        problems.append(
            f"prompt {prompt.name}: mention_preamble is {prompt.mention_preamble!r}, expected words that mention the "
            'MRI, such as "A brain MRI of one patient."; write them, or leave the arm mention_only out.'
        )
    moving = [arm.value for arm in PLACE_ARMS if arm in arms]
    found = _words(PLACE_WORDS, *said, prompt.images_preamble)
    if moving and found:
        problems.append(
            f"prompt {prompt.name}: it names a place or a side ({found}), whose answer changes where slices move. "
            f"Word it otherwise, or leave out the arms {', '.join(moving)}."
        )
    return problems


def _words(pattern: re.Pattern[str], *texts: str) -> list[str]:
    return sorted({match.group(0) for text in texts for match in pattern.finditer(text)})
