"""The identity of a request, computed without torch.

Equal keys mean: the same pixels, words, weights, processing, arithmetic and decoding. Caches of the
field leave out the pixels or the model and serve the clean answer for the perturbed image. File
names, folders, shard numbers, batch sizes and licences are not part of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from ..config.models_table import BaselineKind, BaselineSource, BuiltSource, HubSource
from ..contracts.problems import StudyError
from ..identity.digests import canonical_json, digest_bytes, digest_json
from .asked import AskedModel
from .baselines import ENGINE as BASELINES
from .decoding import READOUT_VERSION, decoding
from .rendering import chat_messages, render_prompt
from .snapshots import Snapshot, open_listed, resolve_snapshot

IMAGE_PROCESSOR_BACKEND = "pil"
"""Image processors of different backends differ by up to .015 in normalised pixels: pinned."""

DECODE_CONSTRAINT = "none"
"""Answers are generated freely; a grammar would be named here."""


@dataclass(frozen=True)
class ModelIdentity:
    """What every request of one model and one set of decoding parameters shares.

    Attributes
    ----------
    ingredients
        Plain values by name; each is part of the request key.
    weights_digest
        Digest of the weights, or of what defines a baseline.
    engine
        Engine and version, as it stands in responses.
    snapshot
        The weights' folder; None for a baseline.
    own_draws
        The answer depends on the trial itself (the coin): its id is part of the key.
    """

    ingredients: Mapping[str, Any]
    weights_digest: str
    engine: str
    snapshot: Snapshot | None
    own_draws: bool = False

    def prompt(self, messages: list[dict[str, Any]]) -> str:
        """The fully rendered prompt; a baseline's is its messages as JSON."""
        if self.snapshot is None:
            return canonical_json(chat_messages(messages)).decode()
        return render_prompt(self.snapshot.folder, messages)

    def request_key(self, trial: Mapping[str, Any], prompt: str) -> str:
        """The request key of a trial (a row of the trials table) with its rendered prompt."""
        return digest_json(
            {
                **self.ingredients,
                "images": list(trial["images"]),
                "prompt": prompt,
                "options": list(trial["options"]),
                "symbols": list(trial["symbols"]),
                "draw": trial["draw"],
                "trial": trial["trial_id"] if self.own_draws else None,
            }
        )


def prompt_digest(prompt: str) -> str:
    """Digest of a rendered prompt."""
    return digest_bytes(prompt.encode())


def model_identity(
    model: AskedModel,
    seed: int,
    max_new_tokens: int,
    listing: Path | None,
    local: Mapping[str, str],
    digest: Callable[[Path], str],
) -> ModelIdentity:
    """What identifies a model and how it is asked, from files and package metadata alone.

    Parameters
    ----------
    model
        The model's entry.
    seed
        The study's seed; only the coin depends on it.
    max_new_tokens
        Longest answer in tokens.
    listing
        The listing of the snapshot (built and folder models), else None.
    local
        The folders of folder models on this machine, by model id.
    digest
        Digests a weight file, see `snapshots.DigestCache`.

    Raises
    ------
    StudyError
        If the snapshot is missing, unsafe, changed or not pinned.
    """
    source = model.source
    if isinstance(source, BaselineSource):
        coin = source.baseline is BaselineKind.COIN
        defined = {"kind": source.baseline, "value": source.value, "seed": seed if coin else None}
        ingredients = {"model": model.id, "engine": BASELINES, "baseline": defined}
        return ModelIdentity(ingredients, digest_json(defined), BASELINES, None, coin)
    if isinstance(source, HubSource):
        snapshot = resolve_snapshot(model, digest)
    elif listing is None:
        stage = "build_random_model" if isinstance(source, BuiltSource) else "list_snapshot"
        raise StudyError(f"model {model.id} of source kind {source.kind} comes with no listing: run {stage} first")
    else:
        snapshot = open_listed(model, listing, local, digest)
    engine = f"transformers {metadata.version('transformers')}"
    return ModelIdentity(
        {
            "model": model.id,
            "revision": snapshot.revision,
            "weights": snapshot.weights_digest,
            "processing": snapshot.processing_digest,
            "image_processor": f"{IMAGE_PROCESSOR_BACKEND} {metadata.version('pillow')}",
            "dtype": model.dtype,
            "quantisation": model.quantisation,
            "attention": model.attention,
            "engine": engine,
            "tokenizers": metadata.version("tokenizers"),
            "torch": metadata.version("torch"),
            "device": "cpu" if model.device == "cpu" else "cuda",
            "decoding": decoding(max_new_tokens),
            "constraint": DECODE_CONSTRAINT,
            "readout": READOUT_VERSION,
        },
        snapshot.weights_digest,
        engine,
        snapshot,
    )
