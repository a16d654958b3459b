"""Prompts are files of their own, versioned: config/prompts/<name>.yaml."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import yaml
from pydantic import Field, ValidationError

from ..contracts.enums import Mark
from ..contracts.problems import StudyError
from .base import Section


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
