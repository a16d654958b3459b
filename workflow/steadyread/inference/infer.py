"""Stage `infer`: trials → responses. Asks a model what the journal does not know yet."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from ..config.base import Section
from ..contracts.enums import FinishReason
from ..contracts.files import read_rows, read_table, write_table
from ..contracts.problems import StudyError
from ..contracts.tables import IMAGES, RESPONSES, TRIALS
from ..stages.job import Files
from ..stages.progress import progress
from .asked import AskedModel
from .backend import Answer, AskSettings, Request, open_backend
from .journal import Journal, journal_folder
from .keys import ModelIdentity, model_identity, prompt_digest
from .snapshots import DigestCache

_LOG = logging.getLogger("steadyread.inference")
_BATCH = 16
"""Answers per write to the journal: at most so many are lost when a job is killed."""

T = TypeVar("T")


class AskedInference(Section):
    """The part of section `inference` that changes an answer."""

    max_new_tokens: int
    """Longest answer in tokens."""


class InferSettings(Section):
    """What the stage is told."""

    seed: int
    """The study's seed; the coin draws from it."""
    model: AskedModel
    """The model's entry."""
    inference: AskedInference
    """How it is asked."""


def infer(
    inputs: Files,
    outputs: Files,
    settings: InferSettings,
    wildcards: Mapping[str, str],
    local: Mapping[str, str] | None = None,
) -> None:
    """Answer the trials of a group of shards with one model.

    Reads `gate` (its presence says that the cohort may be asked about), `trials`, `images` and
    `derived` (one file per shard), and `listing` (of a built or a folder model; none for hub models and
    baselines). `local` says where folder models lie. Writes `responses`, one row per trial that all
    models share or that is this model's own. The rows are the same whatever the batch, the order,
    the shards or what the journal knew.

    Raises
    ------
    StudyError
        If a trial holds more images than the model takes, an image is missing, the model cannot be
        loaded, or nothing it was asked could be answered.
    """
    model = settings.model
    _check_gate(inputs)
    trials = [row for row in read_rows(inputs.all("trials"), TRIALS) if row["model_id"] in (None, model.id)]
    _check_image_counts(model, trials)
    listing = inputs.all("listing")[0] if inputs.get("listing") else None
    folder = journal_folder(model.id)
    max_new = settings.inference.max_new_tokens
    identity = model_identity(
        model, settings.seed, max_new, listing, local or {}, DigestCache(folder / "file_digests.json")
    )
    prompts = {row["trial_id"]: identity.prompt(row["messages"]) for row in trials}
    keys = {row["trial_id"]: identity.request_key(row, prompts[row["trial_id"]]) for row in trials}
    answers: dict[str, Answer] = {}
    with Journal(folder) as journal:
        for key in keys.values():
            known = journal.get(key)
            if known is not None:
                answers[key] = known
        # Requests with the same images stand together, so that a backend can reuse their prefix.
        pending = {keys[row["trial_id"]]: row for row in trials if keys[row["trial_id"]] not in answers}
        ordered = sorted(pending.items(), key=lambda item: (item[1]["images"], prompts[item[1]["trial_id"]], item[0]))
        distinct = len(answers) + len(ordered)
        _LOG.info(
            "%d trials make %d distinct requests: %d answers are in the journal, %d are to be asked",
            len(trials),
            distinct,
            len(answers),
            len(ordered),
        )
        if ordered:
            pngs = _load_images([*inputs.all("images"), *inputs.get("derived", [])], ordered)
            requests = [_request(row, key, prompts[row["trial_id"]], pngs) for key, row in ordered]
            answers.update(_ask(requests, settings, identity, journal))
    write_table(
        outputs.one("responses"),
        RESPONSES,
        (_row(row, model, identity, keys, prompts, answers) for row in trials),
    )


def _ask(
    requests: Sequence[Request], settings: InferSettings, identity: ModelIdentity, journal: Journal
) -> dict[str, Answer]:
    folder = None if identity.snapshot is None else identity.snapshot.folder
    backend = open_backend(AskSettings(settings.model, settings.seed, settings.inference.max_new_tokens, folder))
    answered: dict[str, Answer] = {}
    stream = progress(backend.answer(requests), f"requests to {settings.model.id}", len(requests))
    pairs = zip((request.key for request in requests), stream, strict=True)
    for batch in _batches(pairs, _BATCH):
        journal.append(batch)
        answered.update(batch)
    failed = [answer.error for answer in answered.values() if answer.finish_reason is FinishReason.ERROR]
    if failed:
        _LOG.warning("%d of %d requests failed, the first with: %s", len(failed), len(answered), failed[0])
    if len(failed) == len(answered):
        raise StudyError(
            f"model {settings.model.id}: none of {len(failed)} requests could be answered; the first failed with: "
            f"{failed[0]}"
        )
    return answered


def _row(
    trial: Mapping[str, Any],
    model: AskedModel,
    identity: ModelIdentity,
    keys: Mapping[str, str],
    prompts: Mapping[str, str],
    answers: Mapping[str, Answer],
) -> dict[str, Any]:
    trial_id = trial["trial_id"]
    return {
        "trial_id": trial_id,
        "request_key": keys[trial_id],
        "draw": trial["draw"],
        "model_id": model.id,
        "engine": identity.engine,
        "prompt_digest": prompt_digest(prompts[trial_id]),
        "weights_digest": identity.weights_digest,
        **answers[keys[trial_id]].to_plain(),
    }


def _request(trial: Mapping[str, Any], key: str, prompt: str, pngs: Mapping[str, bytes]) -> Request:
    return Request(
        trial_id=trial["trial_id"],
        case_id=trial["case_id"],
        draw=trial["draw"],
        messages=trial["messages"],
        image_ids=tuple(trial["images"]),
        images=tuple(pngs[image_id] for image_id in trial["images"]),
        options=tuple(trial["options"]),
        symbols=tuple(trial["symbols"]),
        prompt=prompt,
        key=key,
    )


def _load_images(files: Iterable[Path], pending: Iterable[tuple[str, Mapping[str, Any]]]) -> dict[str, bytes]:
    """PNG files by image id, of the images that are asked about and no others.

    Shards are read one by one: two of them may hold the same pixels.
    """
    wanted = {image_id for _, row in pending for image_id in row["images"]}
    found: dict[str, bytes] = {}
    for file in files:
        table = read_table(file, IMAGES, ["image_id", "png"])
        table = table.filter(pc.is_in(table["image_id"], value_set=pa.array(sorted(wanted), pa.string())))
        found.update(zip(table["image_id"].to_pylist(), table["png"].to_pylist(), strict=True))
    missing = sorted(wanted - set(found))
    if missing:
        raise StudyError(
            f"{len(missing)} images of the trials are in none of the image tables, the first is {missing[0]}; "
            "trials and images do not belong together: compose the trials again"
        )
    return found


def _check_image_counts(model: AskedModel, trials: Iterable[Mapping[str, Any]]) -> None:
    most = max((len(row["images"]) for row in trials), default=0)
    if model.max_images is not None and most > model.max_images:
        raise StudyError(
            f"model {model.id} takes at most {model.max_images} images per request, a trial has {most}; "
            f"set slicing.max_slices to {model.max_images} or less (slices are never silently cut)"
        )


def _check_gate(inputs: Files) -> None:
    if not inputs.one("gate").is_file():
        raise StudyError("the cohort has not passed its gate (trials/gate.json): run check_cohort before infer")


def _batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch
