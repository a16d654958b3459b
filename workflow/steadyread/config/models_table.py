"""The table of models, config/models.yaml: what may be audited, pinned."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from .base import Section

MODEL_ID = r"^[a-z0-9][a-z0-9._-]{0,63}$"


class BackendName(StrEnum):
    """Backends that exist."""

    TRANSFORMERS = "transformers"
    BASELINES = "baselines"


class Family(StrEnum):
    """Architectures of vision-language models, and the baselines."""

    IDEFICS3 = "idefics3"
    SMOLVLM = "smolvlm"
    LLAVA = "llava"
    LLAVA_ONEVISION = "llava_onevision"
    GEMMA3 = "gemma3"
    QWEN2_VL = "qwen2_vl"
    QWEN2_5_VL = "qwen2_5_vl"
    QWEN3_VL = "qwen3_vl"
    INTERNVL = "internvl"
    BASELINE = "baseline"


class BaselineKind(StrEnum):
    """Readers with known answers (PROTOCOLS 0.6)."""

    CONSTANT_LABEL = "constant_label"
    CONSTANT_SLOT = "constant_slot"
    COIN = "coin"


class HubSource(Section):
    """A model of the Hugging Face hub."""

    kind: Literal["hub"]
    """`hub`."""
    repository: Annotated[str, Field(pattern=r"^[\w.-]+/[\w.-]+$")]
    """Owner and name on the hub."""
    revision: Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")] | None = None
    """The 40-digit commit; null until `steadyread fetch-models` wrote it into the lock."""


class FolderSource(Section):
    """A snapshot in a local folder."""

    kind: Literal["folder"]
    """`folder`."""
    path: str
    """The folder; environment variables are expanded."""


class BuiltSource(Section):
    """A random-weight model that the workflow builds from a seed."""

    kind: Literal["built"]
    """`built`."""
    seed: int = 0
    """Seed of the weights."""


class BaselineSource(Section):
    """A reader with a known answer."""

    kind: Literal["baseline"]
    """`baseline`."""
    baseline: BaselineKind
    """Which one."""
    value: str | None = None
    """The label (constant_label; null: the alphabetically first), the slot counted from 1
    (constant_slot), `labels` or `options`, what a coin draws from (coin)."""


class ModelResources(Section):
    """What a job of this model asks of the machine."""

    gpus: Annotated[int, Field(ge=0)] = 0
    """GPUs per job."""
    mem_mb: Annotated[int, Field(ge=100)] = 2000
    """Memory per job in MB."""
    runtime_min: Annotated[int, Field(ge=1)] = 60
    """Time limit per job in minutes."""
    threads: Annotated[int, Field(ge=1)] = 1
    """CPU threads per job."""


Source = Annotated[HubSource | FolderSource | BuiltSource | BaselineSource, Field(discriminator="kind")]


class ModelEntry(Section):
    """One model that may be audited."""

    id: Annotated[str, Field(pattern=MODEL_ID)]
    """Name of the model in configuration, paths and tables."""
    family: Family
    """Architecture."""
    backend: BackendName
    """What asks it."""
    source: Source
    """Where its weights come from."""
    licence: str
    """Licence of the weights."""
    deterministic: bool = True
    """False where the same request may get another answer; such a model is asked several times."""
    dtype: Literal["float32", "bfloat16", "float16"] = "float32"
    """Number format of the weights at run time."""
    quantisation: Literal["none", "int8", "int4"] = "none"
    """Weight quantisation."""
    device: Annotated[str, Field(pattern=r"^(cpu|cuda|cuda:\d+|auto_map)$")] = "cpu"
    """Where it runs; `auto_map` spreads it over the job's GPUs."""
    attention: Literal["eager", "sdpa", "flash_attention_2"] = "sdpa"
    """Attention implementation."""
    max_images: Annotated[int, Field(ge=1)] | None = None
    """Most images per request; null: no limit known."""
    phantom_only: bool = False
    """True where a model was trained on the phantom: a study of other images refuses it."""
    resources: ModelResources = ModelResources()
    """What a job asks of the machine."""

    @model_validator(mode="after")
    def _source_fits_backend(self) -> Self:
        baseline = self.source.kind == "baseline"
        if baseline != (self.backend is BackendName.BASELINES):
            raise ValueError(f"model {self.id}: source kind {self.source.kind} does not go with {self.backend}")
        return self


class ModelsTable(Section):
    """The file config/models.yaml."""

    models: tuple[ModelEntry, ...]
    """The models that may be audited."""

    @model_validator(mode="after")
    def _ids_distinct(self) -> Self:
        ids = [entry.id for entry in self.models]
        twice = sorted({name for name in ids if ids.count(name) > 1})
        if twice:
            raise ValueError(f"model ids stand twice: {twice}")
        return self

    def by_id(self, model_id: str) -> ModelEntry:
        """The entry of a model.

        Raises
        ------
        KeyError
            Naming the ids that exist.
        """
        for entry in self.models:
            if entry.id == model_id:
                return entry
        raise KeyError(f"model {model_id!r} is not in models.yaml; known: {[e.id for e in self.models]}")
