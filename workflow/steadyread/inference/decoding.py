"""How answers are decoded: every parameter written down, for the request key and the engine alike."""

from __future__ import annotations

from typing import Any

GREEDY: dict[str, Any] = {
    "do_sample": False,
    "num_beams": 1,
    "num_return_sequences": 1,
    "temperature": 1.0,
    "top_k": 50,
    "top_p": 1.0,
    "min_length": 0,
    "repetition_penalty": 1.0,
    "no_repeat_ngram_size": 0,
    "length_penalty": 1.0,
    "use_cache": True,
}
"""Greedy decoding. The values that only sampling uses stand at their neutral defaults, so that a
snapshot's generation_config.json can slip nothing in (it may ship top_k, penalties, do_sample)."""

READOUT_VERSION = 1
"""Grows when this package reads answers off an engine in another way (option tokens, masses)."""


def decoding(max_new_tokens: int) -> dict[str, Any]:
    """The decoding parameters of a request."""
    return {**GREEDY, "max_new_tokens": max_new_tokens}
