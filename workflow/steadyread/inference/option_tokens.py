"""Which tokens stand for an answer option's symbol, and how likely each option is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..contracts.problems import StudyError

_SPACED = ("{}", " {}")
_PIECES = ("{}", "▁{}", "Ġ{}")


def option_tokens(tokenizer: Any, symbols: Sequence[str]) -> list[list[int]]:
    """Token ids of each symbol, with and without a leading space.

    Whether a model begins its answer with "A" or " A" depends on its template and tokenizer, and
    both mean option A: their probabilities add up. The vocabulary's own spellings (sentencepiece
    "▁A", byte-level "ĠA") are looked up besides what encoding gives, since sentencepiece puts a space
    before every text it encodes.

    Raises
    ------
    StudyError
        If a symbol is no single token, or two symbols share one.
    """
    vocabulary = tokenizer.get_vocab()
    found: list[list[int]] = []
    for symbol in symbols:
        ids = {vocabulary[piece.format(symbol)] for piece in _PIECES if piece.format(symbol) in vocabulary}
        for text in _SPACED:
            encoded = tokenizer.encode(text.format(symbol), add_special_tokens=False)
            if len(encoded) == 1:
                ids.add(encoded[0])
        ids = {token for token in ids if tokenizer.decode([token]).strip() == symbol}
        if not ids:
            raise StudyError(
                f"the option symbol {symbol!r} is no single token of this model's tokenizer: its first answer token "
                "says nothing about the options; use letters as symbols"
            )
        found.append(sorted(ids))
    everything = [token for ids in found for token in ids]
    if len(set(everything)) != len(everything):
        raise StudyError(f"option symbols {list(symbols)} share a token in this model's tokenizer; use other symbols")
    return found


def option_logprobs(logits: Any, tokens: Sequence[Sequence[int]]) -> tuple[tuple[float, ...] | None, float | None]:
    """Log-probabilities of the options from the logits of the first answer token.

    Parameters
    ----------
    logits
        Tensor of shape (vocabulary,).
    tokens
        Token ids per option.

    Returns
    -------
    tuple
        Natural logarithms of P(option) renormalised over the options, in order, and the
        probability that falls on no option. Both None where the numbers overflowed (NaN): they say
        nothing then, and least of all that no mass lies outside.
    """
    import torch

    logp = torch.log_softmax(logits.to(torch.float64), dim=-1)
    per_option = torch.stack([torch.logsumexp(logp[list(ids)], dim=0) for ids in tokens])
    inside = torch.logsumexp(per_option, dim=0)
    if not bool(torch.isfinite(inside)):
        return None, None
    outside = min(1.0, max(0.0, -math.expm1(min(0.0, float(inside)))))
    return tuple(float(value) + 0.0 for value in per_option - inside), outside
