"""config/models.lock.yaml: revisions and weight digests that were read from the hub, never typed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import yaml
from pydantic import Field, ValidationError

from ..contracts.problems import StudyError
from .base import Section
from .models_table import HubSource, ModelEntry, ModelsTable

LOCK_FILE = Path("config") / "models.lock.yaml"


class LockedModel(Section):
    """What was fetched of one model."""

    repository: str
    """Owner and name on the hub."""
    revision: Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]
    """The 40-digit commit."""
    weights: dict[str, str]
    """Digest of each weight file by name."""


class ModelsLock(Section):
    """The file config/models.lock.yaml."""

    models: dict[str, LockedModel] = Field(default_factory=dict)
    """What was fetched, by model id."""


def read_lock(path: Path) -> ModelsLock:
    """Read the lock; no file is an empty lock."""
    if not path.is_file():
        return ModelsLock()
    try:
        return ModelsLock.model_validate(yaml.safe_load(path.read_text()) or {})
    except (yaml.YAMLError, ValidationError) as error:
        raise StudyError(f"{path.name}: {error}. It is written by `steadyread fetch-models`, not by hand.") from error


def apply_lock(table: ModelsTable, root: Path) -> ModelsTable:
    """The table with revisions from the lock where an entry has none.

    Raises
    ------
    StudyError
        Where table and lock name different repositories or revisions.
    """
    lock = read_lock(root / LOCK_FILE)
    return ModelsTable(models=tuple(_locked(entry, lock) for entry in table.models))


def _locked(entry: ModelEntry, lock: ModelsLock) -> ModelEntry:
    source, locked = entry.source, lock.models.get(entry.id)
    if not isinstance(source, HubSource) or locked is None:
        return entry
    if source.repository != locked.repository or source.revision not in (None, locked.revision):
        raise StudyError(
            f"model {entry.id}: models.yaml names {source.repository}@{source.revision}, the lock "
            f"{locked.repository}@{locked.revision}. Fetch it again: steadyread fetch-models {entry.id}"
        )
    return entry.model_copy(update={"source": source.model_copy(update={"revision": locked.revision})})
