"""The words and images of one request, in the order that lets engines reuse work.

System, images, the stable stem, the varying options last. Nothing says in which order slices stand.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from string import ascii_uppercase
from typing import Any

from ..config.prompt import Prompt
from ..contracts.problems import StudyError

Message = dict[str, Any]

IMAGE_WORDS = re.compile(
    r"\b(images?|imaging|mri?s?|magnetic resonance|ct|scans?|slices?"
    r"|pictures?|photos?|radiograph\w*|x-?rays?|t[12]\w*)\b",
    re.IGNORECASE,
)
"""Words of the prompt that would tell a model without images that it misses some."""


def symbols_for(count: int) -> list[str]:
    """The symbols of that many options, in shown order: A, B, C …

    Raises
    ------
    StudyError
        For more options than letters.
    """
    if count > len(ascii_uppercase):
        raise StudyError(f"an item has {count} options, at most {len(ascii_uppercase)} have a letter. Offer fewer.")
    return list(ascii_uppercase[:count])


def compose_messages(
    prompt: Prompt, images: Sequence[str], options: Sequence[str], blind: bool = False, numbered: bool = False
) -> list[Message]:
    """The messages of one request, in the shape of TRIALS.messages.

    Parameters
    ----------
    prompt
        The wording.
    images
        Image ids in shown order.
    options
        Answer options in shown order.
    blind
        Ask without images, in words that mention none.
    numbered
        Number the slices by shown position, from 1: anatomical numbers would reveal a reversal.

    Raises
    ------
    StudyError
        If images and `blind` contradict each other, the wording has an unknown placeholder, or a
        blind request speaks of images.
    """
    if blind == bool(images):
        raise StudyError(f"a request with {len(images)} images cannot be {'blind' if blind else 'asked as if it had'}")
    lines = [prompt.stem]
    for symbol, option in zip(symbols_for(len(options)), options, strict=True):
        lines.append(_fill(prompt, "option_line", symbol=symbol, option=option))
    lines.append(prompt.closing)
    if blind:
        text = "\n".join([prompt.no_image_preamble, *lines])
        _check_blind(prompt)
        content = [_text(text)]
    else:
        preamble = _fill(prompt, "images_preamble", count=len(images))
        shown = [
            part
            for number, image_id in enumerate(images, start=1)
            for part in (*([_text(_fill(prompt, "slice_line", number=number))] if numbered else []), _image(image_id))
        ]
        content = [_text(preamble), *shown, _text("\n".join(lines))]
    system = [] if prompt.system is None else [{"role": "system", "content": [_text(prompt.system)]}]
    return [*system, {"role": "user", "content": content}]


def _fill(prompt: Prompt, key: str, **values: object) -> str:
    template = getattr(prompt, key)
    try:
        filled: str = template.format(**values)
    except (KeyError, IndexError, ValueError) as error:
        raise StudyError(
            f"prompt {prompt.name}: {key} has a placeholder that cannot be filled ({error}); "
            f"it may use {sorted('{' + name + '}' for name in values)}"
        ) from error
    return filled


def _check_blind(prompt: Prompt) -> None:
    parts = (prompt.system or "", prompt.no_image_preamble, prompt.stem, prompt.option_line, prompt.closing)
    found = sorted({match.group(0) for part in parts for match in IMAGE_WORDS.finditer(part)})
    if found:
        raise StudyError(
            f"prompt {prompt.name}: a request without images would say {found}. Word system, no_image_preamble, stem, "
            "option_line and closing so that they mention neither images nor MRI, or leave the arm no_image out."
        )


def _text(text: str) -> Message:
    return {"type": "text", "text": text, "image_id": None}


def _image(image_id: str) -> Message:
    return {"type": "image", "text": None, "image_id": image_id}
