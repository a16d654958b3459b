"""Reading configuration files: strictly, and with errors that name file, key and allowed values."""

from __future__ import annotations

import difflib
import json
import logging
import os
import re
import types
import typing
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from ..contracts.problems import StudyError
from .comparisons import asked_comparisons, comparison_problems
from .labels import label_collisions
from .models_lock import apply_lock
from .models_table import Family, FolderSource, HubSource, ModelEntry, ModelsTable
from .phantom import PHANTOM_LABELS
from .prompt import load_prompt, wording_problems
from .published import PUBLISHED_FILE, published_problems, read_published
from .question import QuestionConfig
from .slicing import SlicingConfig
from .study import StudyConfig

M = TypeVar("M", bound=BaseModel)
CONFIG_FOLDER = Path("config")
_LOG = logging.getLogger("steadyread.config")

DEFAULT_STUDY = CONFIG_FOLDER / "config.yaml"
STUDIES = CONFIG_FOLDER / "studies"
PROMPTS = CONFIG_FOLDER / "prompts"
MODELS_FILE = CONFIG_FOLDER / "models.yaml"
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")


def read_yaml(path: Path) -> dict[str, Any]:
    """Read a YAML mapping; a key that stands twice is an error.

    Raises
    ------
    StudyError
        If the file is missing, broken or no mapping.
    """
    try:
        content = YAML(typ="safe", pure=True).load(path)
    except FileNotFoundError as error:
        raise StudyError(f"{path}: there is no such file") from error
    except (OSError, YAMLError) as error:
        raise StudyError(f"{path}: {error}") from error
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise StudyError(f"{path}: found {type(content).__name__}, expected a mapping of keys to values")
    return content


def validate(model: type[M], content: Mapping[str, Any], source: str) -> M:
    """Validate content against a model.

    Raises
    ------
    StudyError
        One line a problem: file, key, what was found, what is allowed.
    """
    try:
        return model.model_validate(dict(content))
    except ValidationError as error:
        lines = [_explain(problem, model, source) for problem in error.errors()]
        raise StudyError("\n".join(dict.fromkeys(lines))) from None


def study_file(name: str, root: Path) -> Path:
    """The file of a study by name: config/config.yaml for `default`, else config/studies/<name>.yaml.

    Raises
    ------
    StudyError
        Naming the studies that exist.
    """
    path = root / (DEFAULT_STUDY if name == "default" else STUDIES / f"{name}.yaml")
    if not path.is_file():
        known = ["default", *sorted(item.stem for item in (root / STUDIES).glob("*.yaml"))]
        near = difflib.get_close_matches(name, known, n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise StudyError(f"study: there is no study {name!r}; known: {', '.join(known)}.{hint}")
    return path


def load_study(
    overrides: Mapping[str, Any] | None = None, files: Sequence[Path] = (), root: Path | None = None
) -> tuple[StudyConfig, ModelsTable]:
    """The study to run and the table of models, checked as a whole before any work begins.

    Parameters
    ----------
    overrides
        Keys given on the command line. Without `files`, `study` names the study file.
    files
        Study files given on the command line (`--configfile`); the later wins, key by key.
    root
        The project's root; relative paths start there.

    Raises
    ------
    StudyError
        For anything wrong: unknown key, wrong type, missing file, unknown model, unset variable.
    """
    root = Path.cwd() if root is None else root
    given = dict(overrides or {})
    if not files:
        files = [study_file(str(given.get("study", "default")), root)]
    content: dict[str, Any] = {}
    for file in files:
        content = merge(content, read_yaml(file))
    source = ", ".join(_shown(file, root) for file in files)
    if given:
        content = merge(content, given)
        source += " and --config"
    study = validate(StudyConfig, content, source)
    models = load_models(root)
    _check_study(study, models, root, source)
    comparisons = asked_comparisons(study.statistics.comparisons, study.models)
    statistics = study.statistics.model_copy(update={"comparisons": comparisons})
    return study.model_copy(update={"statistics": statistics}), models


def load_models(root: Path) -> ModelsTable:
    """config/models.yaml with the revisions that config/models.lock.yaml holds."""
    table = validate(ModelsTable, read_yaml(root / MODELS_FILE), str(MODELS_FILE))
    return apply_lock(table, root)


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Merge mappings key by key; lists and values of `over` replace those of `base`."""
    merged = dict(base)
    for key, value in over.items():
        below = merged.get(key)
        merged[key] = merge(below, value) if isinstance(value, Mapping) and isinstance(below, Mapping) else value
    return merged


def expand(text: str, key: str, source: str) -> str:
    """Expand environment variables.

    Raises
    ------
    StudyError
        If a variable is not set.
    """
    for match in _VARIABLE.finditer(text):
        name = match.group(1) or match.group(2)
        if name not in os.environ:
            raise StudyError(f"{source}: {key} is {text!r}, but the environment variable {name} is not set: set it")
    return os.path.expanduser(os.path.expandvars(text))


def table_path(study: StudyConfig, root: Path) -> Path | None:
    """The cohort's table, or None for the phantom cohort."""
    if study.cohort.table is None:
        return None
    return root / expand(study.cohort.table, "cohort.table", study.name)


def prompt_path(study: StudyConfig) -> Path:
    """The prompt's file, relative to the project's root."""
    return PROMPTS / f"{study.question.prompt}.yaml"


def _check_study(study: StudyConfig, models: ModelsTable, root: Path, source: str) -> None:
    known = [entry.id for entry in models.models]
    unknown = [name for name in study.models if name not in known]
    if unknown:
        near = difflib.get_close_matches(unknown[0], known, n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise StudyError(f"{source}: models: {unknown} not in {MODELS_FILE}; known: {', '.join(known)}.{hint}")
    if len(set(study.models)) != len(study.models):
        raise StudyError(f"{source}: models: a model is named twice")
    if study.cohort.table is None and study.cohort.synthetic is False:
        raise StudyError(
            f"{source}: cohort.synthetic is false, but the phantom cohort (no cohort.table) was made, not acquired"
        )
    if study.cohort.table is None and set(study.cohort.labels) != set(PHANTOM_LABELS):
        raise StudyError(
            f"{source}: cohort.labels: {list(study.cohort.labels)}, but the phantom cohort (no cohort.table) has "
            f"{list(PHANTOM_LABELS)}"
        )
    table = table_path(study, root)
    if table is not None and not table.is_file():
        raise StudyError(f"{source}: cohort.table: there is no file {study.cohort.table!r}")
    if study.cohort.data_root is not None:
        folder = root / expand(study.cohort.data_root, "cohort.data_root", source)
        if not folder.is_dir():
            raise StudyError(f"{source}: cohort.data_root: {study.cohort.data_root!r} is no folder")
    if not (root / prompt_path(study)).is_file():
        found = sorted(item.stem for item in (root / PROMPTS).glob("*.yaml"))
        raise StudyError(f"{source}: question.prompt: no prompt {study.question.prompt!r}; known: {', '.join(found)}")
    prompt = load_prompt(root / prompt_path(study))
    problems = wording_problems(prompt, study.arms.enabled)
    if problems:
        raise StudyError("\n".join(f"{source}: question.prompt: {problem}" for problem in problems))
    collisions = label_collisions(study.cohort.labels, prompt.synonyms, unsure=study.question.unsure)
    if collisions:
        raise StudyError("\n".join(f"{source}: cohort.labels: {problem}" for problem in collisions))
    # The default pair stands in studies that never named it: models.yaml may well be without.
    named = study.statistics.comparisons if "comparisons" in study.statistics.model_fields_set else ()
    problems = comparison_problems(named, known, study.arms.enabled, unsure=study.question.unsure)
    if problems:
        raise StudyError("\n".join(f"{source}: statistics.comparisons: {problem}" for problem in problems))
    published = read_published(root / PUBLISHED_FILE) if (root / PUBLISHED_FILE).is_file() else []
    problems = published_problems(
        study.report.published,
        published,
        study.models,
        synthetic=study.cohort.is_synthetic,
        baselines=[entry.id for entry in models.models if entry.source.kind == "baseline"],
    )
    if problems:
        raise StudyError("\n".join(f"{source}: report.published.{problem}" for problem in problems))
    if study.inference.groups > study.shards:
        raise StudyError(
            f"{source}: inference.groups is {study.inference.groups}, more than shards ({study.shards}): "
            "a group is a set of shards"
        )
    for name in study.models:
        entry = models.by_id(name)
        if isinstance(entry.source, HubSource) and entry.source.revision is None:
            raise StudyError(
                f"{source}: model {name} has no revision yet. Fetch and pin it first, where the hub can be "
                f"reached: steadyread fetch-models {name}"
            )
        if isinstance(entry.source, FolderSource):
            folder = root / expand(entry.source.path, f"models: {name}: path", str(MODELS_FILE))
            _check_folder(entry, folder)
        if entry.phantom_only and study.cohort.table is not None:
            raise StudyError(
                f"{source}: model {name} was trained on the phantom alone; of the images of cohort.table its answers "
                "mean nothing: name other models (models: [...])"
            )
        if entry.phantom_only and (study.slicing, study.question.prompt) != (SlicingConfig(), QuestionConfig().prompt):
            _LOG.warning(
                "model %s was trained through the default prompt and slicing, this study has others: its answers say "
                "little; train it anew through them (make readers), or name other models",
                name,
            )
        if entry.max_images is not None and study.slicing.max_slices > entry.max_images:
            raise StudyError(
                f"{source}: slicing.max_slices is {study.slicing.max_slices}, but model {name} takes at most "
                f"{entry.max_images} images: lower it, so that every model sees the same slices"
            )


def _check_folder(entry: ModelEntry, folder: Path) -> None:
    """A local snapshot is there and is of the family that models.yaml says."""
    assert isinstance(entry.source, FolderSource)
    try:
        found = json.loads((folder / "config.json").read_text()).get("model_type")
    except (OSError, ValueError) as error:
        raise StudyError(
            f"{MODELS_FILE}: model {entry.id}: no snapshot (a readable config.json) in {entry.source.path!r}"
        ) from error
    if found != entry.family.value:
        raise StudyError(
            f"{MODELS_FILE}: model {entry.id}: family is {entry.family.value}, but its config.json says "
            f"model_type {found!r}: set family to that if it is one of {', '.join(item.value for item in Family)}"
        )


def _shown(path: Path, root: Path) -> str:
    try:
        return path.resolve().relative_to(root.resolve()).as_posix()
    except ValueError:
        return path.name


def _explain(problem: Any, model: type[BaseModel], source: str) -> str:
    location = [str(part) for part in problem["loc"]]
    key = ".".join(location) or "(whole file)"
    if problem["type"] == "extra_forbidden":
        allowed = _fields_at(model, problem["loc"][:-1])
        near = difflib.get_close_matches(location[-1], allowed, n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        return f"{source}: {key}: unknown key; allowed: {', '.join(sorted(allowed))}.{hint}"
    found = problem.get("input")
    shown = f" (found {found!r})" if isinstance(found, (str, int, float, bool, type(None))) else ""
    near = difflib.get_close_matches(str(found), re.findall(r"'([^']+)'", problem["msg"]), n=1)
    hint = f". Did you mean {near[0]}?" if near else ""
    return f"{source}: {key}: {problem['msg']}{shown}{hint}"


def _fields_at(model: type[BaseModel], location: Sequence[Any]) -> list[str]:
    candidates: list[type[BaseModel]] = [model]
    for part in location:
        following: list[type[BaseModel]] = []
        for candidate in candidates:
            if isinstance(part, str) and part in candidate.model_fields:
                following += _models_in(candidate.model_fields[part].annotation)
            elif isinstance(part, int):
                following.append(candidate)
            else:
                # The tag of a discriminated union stands in the location of an error.
                field = candidate.model_fields.get("kind")
                if field is not None and part in typing.get_args(field.annotation):
                    following.append(candidate)
        candidates = following or candidates
    return sorted({name for candidate in candidates for name in candidate.model_fields})


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return []
    if isinstance(annotation, types.GenericAlias | types.UnionType) or typing.get_args(annotation):
        return [found for part in typing.get_args(annotation) for found in _models_in(part)]
    return []
