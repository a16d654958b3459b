"""A tiny Idefics3 with random weights, built from a seed and loaded like any model of the hub.

It has learnt nothing. Its use: every mechanism of a real model runs (chat template, tokenizer, image
tokens, log-probabilities), its answers are exactly repeatable, and its decisions hang on images,
slice order and option order, so that the pipeline's rates are not 0 by construction.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..config.base import Section
from ..config.models_table import BuiltSource
from ..contracts.problems import StudyError
from ..identity.seeds import generator
from ..inference.asked import AskedModel
from ..inference.snapshots import describe_snapshot, write_listing
from ..stages.job import Files
from .idefics3 import Architecture, build_model, build_processor, save

SIZE = Architecture(
    side=64,
    patch=16,
    shuffle=2,
    vision_width=64,
    vision_layers=2,
    text_width=64,
    text_layers=3,
    text_hidden=128,
    key_value_heads=4,
    vocabulary=440,
)
LETTERS = "ABC"
LETTER_GAIN, END_GAIN = 6.0, 5.0
"""Output rows of the answer letters and of the end are longer than others, so that a share of the
generated texts is a letter: the text readout would else never see an answer."""

CORPUS = (
    "Slices of a brain MRI of one patient. Which diagnosis is most likely? Answer with one letter.",
    "System: User: Assistant: One patient. The answer is A. The answer is B. The answer is C.",
    "A. GBM B. MET C. UNSURE D. E. F. glioblastoma metastasis unsure cannot be determined",
    *(f"{count} slices of a brain MRI of one patient:" for count in range(1, 25)),
)
"""The study's own wording, from which the tokenizer's merges are learnt."""


class RandomModelSettings(Section):
    """What the model is built from."""

    model: AskedModel
    """The model's entry, of source kind `built`."""


def build_random_model(
    inputs: Files, outputs: Files, settings: RandomModelSettings, wildcards: Mapping[str, str]
) -> None:
    """Build the model of an entry of source kind `built` and list its files.

    Writes `snapshot`, a folder as `save_pretrained` writes it (safetensors only), and `listing`, JSON:
    model id, files with digests, and a revision that is the digest of the weights. The same seed
    gives the same bytes.

    Raises
    ------
    StudyError
        If the entry is of another source kind.
    """
    source = settings.model.source
    if not isinstance(source, BuiltSource):
        raise StudyError(f"model {settings.model.id} is of source kind {source.kind}: only `built` models are built")
    folder = outputs.one("snapshot")
    write_random_model(folder, source.seed)
    write_listing(outputs.one("listing"), settings.model.id, describe_snapshot(folder, settings.model.id))


def write_random_model(folder: Path, seed: int) -> None:
    """Write processor and weights into a folder."""
    import torch
    from transformers import logging

    logging.disable_progress_bar()
    processor = build_processor(SIZE, CORPUS)
    tokenizer = processor.tokenizer
    # The library initialises from the global stream: forked, so that nobody else's draws move.
    with torch.random.fork_rng(devices=[]):
        model = build_model(SIZE, processor)
    with torch.no_grad():
        for name, tensor in model.named_parameters():
            tensor.copy_(torch.from_numpy(_draw(name, tuple(tensor.shape), seed)))
        spoken = [tokenizer.encode(f" {letter}", add_special_tokens=False)[0] for letter in LETTERS]
        model.lm_head.weight[spoken] *= LETTER_GAIN
        model.lm_head.weight[tokenizer.eos_token_id] *= END_GAIN
    save(folder, model, processor)


def _draw(name: str, shape: tuple[int, ...], seed: int) -> NDArray[np.float32]:
    """Draw one weight, a function of its name and the seed.

    Norms stay 1 and biases 0. Matrices have unit gain (deviation 1/√inputs); some are larger, so that
    attention picks out tokens instead of averaging them all, and what it picks outweighs the token's
    own embedding: else the last token of the template, the same in every prompt, decides alone.
    """
    if len(shape) < 2:
        return np.full(shape, 0.0 if name.endswith("bias") else 1.0, np.float32)
    gain = next((gain for part, gain in _GAINS if part in name), 1.0)
    drawn = generator("random model", seed, name).standard_normal(shape)
    return (gain / math.sqrt(math.prod(shape[1:])) * drawn).astype(np.float32)


_GAINS = (
    ("text_model.embed_tokens", 1.0),
    ("modality_projection", 2.0),
    ("vision_model", 2.0),
    ("self_attn.q_proj", 3.5),
    ("self_attn.k_proj", 3.5),
    ("text_model.layers", 2.0),
    ("lm_head", 2.0),
)
"""Gain over unit variance by part of the model; see `_draw`."""
