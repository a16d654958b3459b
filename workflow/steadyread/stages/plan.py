"""What the Snakefiles ask: which files there are, which settings a rule has. No computation there."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..config.loading import load_study, prompt_path, table_path
from ..config.models_table import BuiltSource, FolderSource, ModelEntry, ModelsTable
from ..config.study import StudyConfig
from ..contracts.problems import StudyError
from ..identity.digests import digest_json
from .registry import STAGES, code_digest
from .settings import local_of, settings_of

LOCAL = "steadyread_local"


class Plan:
    """A study as the workflow sees it."""

    def __init__(self, study: StudyConfig, models: ModelsTable, root: Path) -> None:
        self.study = study
        self.models = models
        self.root = root
        self.results = f"results/{study.name}"
        self.reports = f"reports/{study.name}"

    @classmethod
    def open(cls, config: dict[str, Any], files: Sequence[str | Path], root: Path | None = None) -> Plan:
        """Read and check the study named by Snakemake's configuration.

        Leaves in `config` where things lie on this machine, for the dispatcher.

        Raises
        ------
        SystemExit
            With one line a problem, before any work.
        """
        root = Path.cwd() if root is None else root
        overrides = {key: value for key, value in config.items() if key != LOCAL}
        paths = [Path(file) for file in files]
        try:
            # With --configfile Snakemake has merged files and command line already; reading the files
            # again finds keys that stand twice.
            study, models = load_study(overrides, paths, root)
            plan = cls(study, models, root)
        except StudyError as error:
            raise SystemExit(f"steadyread: the configuration is not usable.\n{error}") from error
        config[LOCAL] = {name: local_of(name, study, models) for name, stage in STAGES.items() if stage.local}
        return plan

    @property
    def shards(self) -> list[int]:
        """The shards of the study."""
        return list(range(self.study.shards))

    @property
    def groups(self) -> list[int]:
        """The groups of shards, one inference job each and model."""
        return list(range(self.study.inference.groups))

    @property
    def model_ids(self) -> list[str]:
        """The models of the study."""
        return list(self.study.models)

    def group_shards(self, group: str | int) -> list[int]:
        """The shards of one group."""
        return [shard for shard in self.shards if shard % self.study.inference.groups == int(group)]

    def model(self, model_id: str) -> ModelEntry:
        """The entry of a model."""
        return self.models.by_id(model_id)

    def params(self, stage: str) -> Callable[[Any], dict[str, Any]]:
        """The rule's `settings` param: a function of the wildcards."""

        def settings(wildcards: Any) -> dict[str, Any]:
            return settings_of(stage, self.study, self.models, _mapping(wildcards))

        return settings

    def code(self, stage: str) -> str:
        """The rule's `code` param."""
        return code_digest(stage)

    def cohort_table(self, wildcards: Any) -> str:
        """The cohort's table, as a rule input."""
        del wildcards
        path = table_path(self.study, self.root)
        if path is None:
            # A folder a seed and options: another study's phantom is another cohort.
            options = digest_json(self.study.phantom.model_dump(mode="json"))[:8]
            return f"results/phantom_cohort/{self.study.seed}-{options}/cohort.tsv"
        return os.path.relpath(path, self.root) if path.is_relative_to(self.root) else str(path)

    def prompt(self, wildcards: Any) -> str:
        """The prompt's file, as a rule input."""
        del wildcards
        return prompt_path(self.study).as_posix()

    def snapshot(self, wildcards: Any) -> list[str]:
        """The listing of a model's local snapshot, as a rule input; none for baselines."""
        model_id = _mapping(wildcards)["model"]
        source = self.model(model_id).source
        if isinstance(source, BuiltSource):
            return [f"results/models/{model_id}/snapshot.json"]
        if isinstance(source, FolderSource):
            return [f"results/models/{model_id}/listing.json"]
        return []

    def model_files(self, wildcards: Any) -> list[str]:
        """The files of a model's folder that decide its answers: a changed one lists the model anew."""
        model_id = _mapping(wildcards)["model"]
        folder = Path(local_of("list_snapshot", self.study, self.models)[model_id])
        patterns = ("*.safetensors", "*.json", "*.jinja")
        return sorted(str(path) for pattern in patterns for path in folder.glob(pattern))

    def announce(self) -> str:
        """What a finished run says."""
        page = self.root / self.reports / "summary.html"
        if not page.is_file():
            return f"steadyread: done; results in {self.results}"
        return f"steadyread: done; open {self.reports}/summary.html"

    def resource(self, name: str) -> Callable[[Any], int]:
        """A resource of a model's job, from models.yaml."""

        def value(wildcards: Any) -> int:
            return int(getattr(self.model(_mapping(wildcards)["model"]).resources, name))

        return value

    def over_shards(self, pattern: str) -> list[str]:
        """A path pattern filled in for every shard."""
        return [self._fill(pattern, shard=shard) for shard in self.shards]

    @property
    def exclusions(self) -> list[str]:
        """The exclusion tables of every stage before inference."""
        return [
            f"{self.results}/cohort/exclusions.parquet",
            *self.over_shards("results/{study}/slices/{shard}/exclusions.parquet"),
            *self.over_shards("results/{study}/slices/{shard}/lesion_exclusions.parquet"),
            *self.over_shards("results/{study}/trials/r1/{shard}/exclusions.parquet"),
        ]

    def over_group(self, pattern: str) -> Callable[[Any], list[str]]:
        """A path pattern filled in for the shards of the wildcards' group."""

        def paths(wildcards: Any) -> list[str]:
            return [self._fill(pattern, shard=shard) for shard in self.group_shards(_mapping(wildcards)["group"])]

        return paths

    def over_models(self, pattern: str) -> list[str]:
        """A path pattern filled in for every model and group."""
        return [self._fill(pattern, model=model, group=group) for model in self.model_ids for group in self.groups]

    def _fill(self, pattern: str, **values: Any) -> str:
        return pattern.format(study=self.study.name, **values)


def _mapping(wildcards: Any) -> Mapping[str, str]:
    return wildcards if isinstance(wildcards, Mapping) else dict(wildcards.items())
