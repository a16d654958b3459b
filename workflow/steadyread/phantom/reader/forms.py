"""The prompt forms a reader is trained on: the study's own composition, template and tokens.

A form is one of: with or without UNSURE, any option order, numbered or not, 1–24 slices (PROTOCOLS
S1). Requests without images are never trained.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch

from ...config.prompt import Prompt
from ...config.words import UNSURE
from ...identity.digests import digest_json
from ...inference.rendering import chat_messages
from ...trials.messages import compose_messages, symbols_for
from ..idefics3 import AROUND, IMAGE, WHOLE
from ..lesions import LABELS

CONTENTS = (*LABELS, UNSURE)
"""What can be answered, in canonical order; a content is its place in this list."""
MAX_SLICES = 24
UNKNOWN = "image"


@dataclass(frozen=True)
class Form:
    """How a case is asked: number of images, contents in shown order, slices numbered or not."""

    count: int
    order: tuple[int, ...]
    numbered: bool = False

    def messages(self, prompt: Prompt) -> list[dict[str, Any]]:
        """The messages, as a trial holds them."""
        options = [CONTENTS[content] for content in self.order]
        return compose_messages(prompt, [UNKNOWN] * self.count, options, numbered=self.numbered)


ORDERS = tuple(itertools.permutations(range(len(CONTENTS))))
ORDERS_WITHOUT_UNSURE = tuple(itertools.permutations(range(len(LABELS))))


def forms_digest(prompt: Prompt) -> str:
    """Digest of every prompt form that is trained, word for word, and of what is answered."""
    forms = [
        Form(count, order, numbered).messages(prompt)
        for count in range(1, MAX_SLICES + 1)
        for order in (*ORDERS, *ORDERS_WITHOUT_UNSURE)
        for numbered in (False, True)
    ]
    return digest_json([forms, list(CONTENTS)])


def corpus(prompt: Prompt) -> list[str]:
    """The text of every trained form, from which the tokenizer's merges are learnt."""
    found = []
    for count in range(1, MAX_SLICES + 1):
        for order in (*ORDERS, *ORDERS_WITHOUT_UNSURE):
            for message in Form(count, order, numbered=True).messages(prompt):
                found += [f" {part['text']}" for part in message["content"] if part["type"] == "text"]
    return [*found, "System: User: Assistant: A B C D E F One patient. normal oedema"]


class Tokens:
    """Token ids of forms, as the processor makes them.

    Parameters
    ----------
    processor
        The model's processor.
    prompt
        The wording.
    """

    def __init__(self, processor: Any, prompt: Prompt) -> None:
        self._tokenizer = processor.tokenizer
        self._processor = processor
        self._prompt = prompt
        self._block = f"{AROUND}{WHOLE}{IMAGE * processor.image_seq_len}{AROUND}"
        self.image: int = self._tokenizer.convert_tokens_to_ids(IMAGE)
        self.end: int = self._tokenizer.eos_token_id
        self.pad: int = self._tokenizer.pad_token_id
        self.letters = [self.single(f" {symbol}") for symbol in symbols_for(len(CONTENTS))]
        self.of_form = lru_cache(maxsize=None)(self._of_form)

    def single(self, text: str) -> int:
        """The id of a text that is one token.

        Raises
        ------
        ValueError
            If it is several.
        """
        ids = self._tokenizer.encode(text, add_special_tokens=False)
        if len(ids) != 1:
            raise ValueError(f"{text!r} is {len(ids)} tokens of this tokenizer, expected one")
        return int(ids[0])

    def _of_form(self, form: Form) -> torch.Tensor:
        messages = chat_messages(form.messages(self._prompt))
        text = self._processor.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        ids = self._tokenizer.encode(text.replace(IMAGE, self._block), add_special_tokens=False)
        return torch.tensor(ids)

    def letter(self, form: Form, content: int) -> int:
        """The token that answers a form with a content."""
        return self.letters[form.order.index(content)]


def left_padded(rows: Sequence[torch.Tensor], pad: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows of ids as one batch, padded on the left, and its attention mask; shape (rows, longest)."""
    longest = max(len(row) for row in rows)
    ids = torch.full((len(rows), longest), pad)
    mask = torch.zeros(len(rows), longest, dtype=torch.long)
    for number, row in enumerate(rows):
        ids[number, longest - len(row) :] = row
        mask[number, longest - len(row) :] = 1
    return ids, mask
