"""The part of a study's configuration that one stage sees."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..config.loading import expand
from ..config.models_table import FolderSource, ModelsTable
from ..config.study import StudyConfig
from .registry import stage


def settings_of(
    name: str, study: StudyConfig, models: ModelsTable, wildcards: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Plain nested values of the configuration keys that matter to a stage, local keys left out."""
    spec = stage(name)
    whole = study.model_dump(mode="json")
    whole["cohort"]["synthetic"] = study.cohort.is_synthetic
    chosen: dict[str, Any] = {}
    for key in spec.settings:
        if key == "model":
            chosen["model"] = models.by_id((wildcards or {})["model"]).model_dump(mode="json")
        elif key == "models_table":
            chosen["models_table"] = [models.by_id(item).model_dump(mode="json") for item in study.models]
        elif key == "stochastic_models":
            entries = map(models.by_id, study.models)
            chosen[key] = sorted(entry.id for entry in entries if not entry.deterministic)
        else:
            _place(chosen, key, _lookup(whole, key))
    for key in spec.local:
        _drop(chosen, key)
    for entry in [chosen.get("model"), *chosen.get("models_table", [])]:
        if entry is not None:
            # What a job asks of the machine, the licence and what is refused do not change an answer.
            for key in ("resources", "licence", "phantom_only"):
                entry.pop(key, None)
            if entry["source"]["kind"] == "folder":
                entry["source"].pop("path")
    return chosen


def local_of(name: str, study: StudyConfig, models: ModelsTable) -> dict[str, str]:
    """Where things lie on this machine, for a stage: never recorded, never digested.

    The key "models" stands for the folders of models that lie on this machine, by model id.
    """
    whole = study.model_dump(mode="json")
    keys = stage(name).local
    found = {key: _lookup(whole, key) for key in keys if key != "models"}
    local = {
        key.rpartition(".")[2]: expand(value, key, study.name) for key, value in found.items() if value is not None
    }
    if "models" in keys:
        for entry in map(models.by_id, study.models):
            if isinstance(entry.source, FolderSource):
                local[entry.id] = expand(entry.source.path, f"models: {entry.id}: path", "config/models.yaml")
    return local


def _lookup(tree: Mapping[str, Any], key: str) -> Any:
    value: Any = tree
    for part in key.split("."):
        value = value[part]
    return value


def _place(tree: dict[str, Any], key: str, value: Any) -> None:
    *parents, leaf = key.split(".")
    for part in parents:
        tree = tree.setdefault(part, {})
    tree[leaf] = value


def _drop(tree: dict[str, Any], key: str) -> None:
    *parents, leaf = key.split(".")
    for part in parents:
        tree = tree.get(part, {})
    tree.pop(leaf, None)
