"""Fetching hub models: the only place that talks to the hub, and what it read goes into a lock file.

No commit and no digest is written that was not read from the hub or from the fetched files.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import yaml

from ..config.models_lock import LockedModel, ModelsLock, read_lock
from ..config.models_table import HubSource, ModelEntry
from ..contracts.problems import StudyError
from ..contracts.publishing import publish
from .snapshots import PROCESSING, WEIGHTS, describe_snapshot

_HEADER = "# Written by `steadyread fetch-models`: commits and digests as read from the hub. Do not edit.\n"
_COMMIT = re.compile(r"[0-9a-f]{40}")


class Hub(Protocol):
    """The part of huggingface_hub.HfApi that is used."""

    def model_info(self, repo_id: str, *, revision: str | None = None) -> Any:
        """Facts about a repository; `.sha` is the commit."""
        ...

    def snapshot_download(self, repo_id: str, *, revision: str, allow_patterns: Sequence[str]) -> str:
        """Download files into the local cache; returns the snapshot's folder."""
        ...


def fetch_model(entry: ModelEntry, lock_path: Path, hub: Hub | None = None) -> LockedModel:
    """Fetch a hub model's safetensors, configuration and tokenizer, and pin it in the lock file.

    Parameters
    ----------
    entry
        A model of source kind `hub`. A revision in the entry is kept; null takes the newest commit.
    lock_path
        The lock file, written whole or not at all; other models' entries stay.
    hub
        The hub; by default huggingface_hub.HfApi().

    Returns
    -------
    LockedModel
        The lock's entry: repository, revision, digest of each weight file by name.

    Raises
    ------
    StudyError
        If the model is no hub model, is not found, or has no safetensors.
    """
    source = entry.source
    if not isinstance(source, HubSource):
        raise StudyError(f"model {entry.id} is of source kind {source.kind}: only hub models are fetched")
    if hub is None:
        from huggingface_hub import HfApi

        hub = HfApi()
    try:
        commit = str(hub.model_info(source.repository, revision=source.revision).sha)
    except OSError as error:  # the hub's errors are OSErrors
        raise StudyError(
            f"model {entry.id}: the hub refused {source.repository} ({type(error).__name__}). Check the name, the "
            "network, and for a gated model that its terms are accepted and `hf auth login` was run"
        ) from error
    if not _COMMIT.fullmatch(commit):
        raise StudyError(f"model {entry.id}: the hub named revision {commit!r}, expected a 40-digit commit")
    folder = Path(hub.snapshot_download(source.repository, revision=commit, allow_patterns=[*WEIGHTS, *PROCESSING]))
    listing = describe_snapshot(folder, f"{source.repository} at {commit}")
    pinned = LockedModel(
        repository=source.repository,
        revision=commit,
        weights={item["name"]: item["digest"] for item in listing["files"] if item["role"] == "weights"},
    )
    _write_lock(lock_path, ModelsLock(models={**read_lock(lock_path).models, entry.id: pinned}))
    return pinned


def _write_lock(path: Path, lock: ModelsLock) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(_HEADER)
            yaml.safe_dump(lock.model_dump(mode="json"), stream, sort_keys=True)
        publish(Path(temporary), path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
