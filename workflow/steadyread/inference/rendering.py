"""The fully rendered prompt, without torch: the snapshot's chat template over the trial's messages."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..contracts.problems import StudyError


def chat_messages(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A trial's messages as chat templates expect them; images are marked, not held."""
    return [
        {
            "role": message["role"],
            "content": [
                {"type": "image"} if part["type"] == "image" else {"type": "text", "text": part["text"]}
                for part in message["content"]
            ],
        }
        for message in messages
    ]


def render_prompt(folder: Path, messages: Sequence[Mapping[str, Any]]) -> str:
    """Render a prompt as the model's processor would, in jinja2's sandbox.

    Parameters
    ----------
    folder
        The snapshot; its chat_template.jinja (or what stood for it before) is used.
    messages
        The trial's messages.

    Raises
    ------
    StudyError
        If the snapshot has no chat template, or one that asks for today's date.
    """
    # transformers' own sandboxed renderer; this module of it imports no torch.
    from transformers.utils.chat_template_utils import render_jinja_template

    template, tokens = _template(folder)
    prompts, _ = render_jinja_template(
        conversations=[chat_messages(messages)], chat_template=template, add_generation_prompt=True, **tokens
    )
    return str(prompts[0])


@lru_cache(maxsize=8)
def _template(folder: Path) -> tuple[str, dict[str, str]]:
    tokenizer = _json(folder / "tokenizer_config.json")
    template = None
    if (folder / "chat_template.jinja").is_file():
        template = (folder / "chat_template.jinja").read_text(encoding="utf-8")
    elif (folder / "chat_template.json").is_file():
        template = _json(folder / "chat_template.json").get("chat_template")
    else:
        template = tokenizer.get("chat_template")
    if not isinstance(template, str):
        raise StudyError(
            "the snapshot has no chat template (chat_template.jinja): expected an instruction-tuned model; a model "
            "without one cannot be asked in its own format"
        )
    if "strftime_now" in template:
        raise StudyError(
            "the snapshot's chat template asks for today's date, so that no answer could be repeated; put a fixed "
            "date into its chat_template.jinja and use it as a folder model"
        )
    return template, _named_tokens(tokenizer, _json(folder / "special_tokens_map.json"))


def _named_tokens(*configs: Mapping[str, Any]) -> dict[str, str]:
    """Named special tokens (bos_token, image_token …) of a tokenizer's files, the later file first."""
    tokens: dict[str, str] = {}
    for config in configs:
        extra = config.get("extra_special_tokens")
        named = {**(extra if isinstance(extra, dict) else {}), **config}
        for name, value in named.items():
            text = value.get("content") if isinstance(value, Mapping) else value
            if name.endswith("_token") and isinstance(text, str):
                tokens.setdefault(name, text)
    return tokens


def _json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    content = json.loads(path.read_text(encoding="utf-8"))
    return content if isinstance(content, dict) else {}
