"""The words and images of one request, in the order that lets engines reuse work.

System, images, the stable stem, the varying options last. Nothing says in which order slices stand.
"""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_uppercase
from typing import Any

from ..config.prompt import Prompt, wording_problems
from ..contracts.enums import ArmName
from ..contracts.problems import StudyError

Message = dict[str, Any]


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
    prompt: Prompt,
    images: Sequence[str],
    options: Sequence[str],
    blind: bool = False,
    numbered: bool = False,
    mention: bool = False,
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
        Ask without images, in words that mention none, unless `mention`.
    numbered
        Number the slices by shown position, from 1: anatomical numbers would reveal a reversal.
    mention
        Of a blind request: mention the MRI that is not shown, all other words as they are.

    Raises
    ------
    StudyError
        If images, `blind` and `mention` contradict each other, the wording has an unknown placeholder,
        a blind request speaks of images, or a mention mentions none.
    """
    if blind == bool(images):
        raise StudyError(f"a request with {len(images)} images cannot be {'blind' if blind else 'asked as if it had'}")
    if mention and not blind:
        raise StudyError(f"a request with {len(images)} images cannot be a mere mention: it must be blind")
    lines = [prompt.stem]
    for symbol, option in zip(symbols_for(len(options)), options, strict=True):
        lines.append(_fill(prompt, "option_line", symbol=symbol, option=option))
    lines.append(prompt.closing)
    if blind:
        for problem in wording_problems(prompt, [ArmName.MENTION_ONLY if mention else ArmName.NO_IMAGE]):
            raise StudyError(problem)
        preamble = prompt.mention_preamble if mention else prompt.no_image_preamble
        assert preamble is not None
        content = [_text("\n".join([preamble, *lines]))]
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


def _text(text: str) -> Message:
    return {"type": "text", "text": text, "image_id": None}


def _image(image_id: str) -> Message:
    return {"type": "image", "text": None, "image_id": image_id}
