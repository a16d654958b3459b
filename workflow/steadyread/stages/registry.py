"""The stages of a study: rule name = entry function name.

Entry modules are named, not imported: the workflow is parsed without numpy, torch or pydicom.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..identity.code import closure_digest

TABLES = ("numpy", "pyarrow")
IMAGING = (*TABLES, "pillow", "scipy", "pydicom", "nibabel", "simpleitk", "highdicom")
MODELS = (*TABLES, "pillow", "torch", "transformers", "tokenizers", "jinja2")
FIGURES = (*TABLES, "matplotlib", "seaborn", "pillow")


@dataclass(frozen=True)
class Stage:
    """One stage.

    Attributes
    ----------
    name
        Name of the rule and of the entry function.
    module
        Module that holds the entry function.
    settings
        Keys of the study's configuration that matter to the stage, dotted; "model" is the entry of
        the wildcard's model, "models_table" the entries of all of the study's models,
        "stochastic_models" the ids of those that are not deterministic.
    local
        Keys that say where things lie on this machine: handed over, never recorded or digested.
    distributions
        Installed distributions whose version is part of the stage's key.
    assets
        Data files of the package that the stage uses, as patterns below the package.
    """

    name: str
    module: str
    settings: tuple[str, ...] = ()
    local: tuple[str, ...] = ()
    distributions: tuple[str, ...] = TABLES
    assets: tuple[str, ...] = ()

    @property
    def entry(self) -> str:
        """Dotted name of the entry function."""
        return f"{self.module}:{self.name}"

    def load(self) -> Callable[..., None]:
        """Import the entry function."""
        function: Any = getattr(importlib.import_module(self.module), self.name)
        return function  # type: ignore[no-any-return]

    def code_digest(self) -> str:
        """Digest of the entry module's closure and the stage's assets."""
        return closure_digest(self.module, self.assets)


_STAGES = (
    Stage(
        "make_phantom",
        "steadyread.phantom.cohort",
        ("seed", "phantom"),
        (),
        (*IMAGING, "nilearn"),
        ("phantom/recorded.json",),
    ),
    Stage(
        "register_cohort",
        "steadyread.cohorts.register",
        ("seed", "limit", "on_bad_case", "cohort", "question"),
        ("cohort.data_root", "cohort.table"),
        IMAGING,
    ),
    Stage("slice_volumes", "steadyread.slicing.volumes", ("shards", "on_bad_case", "slicing"), (), IMAGING),
    Stage(
        "mark_lesions",
        "steadyread.slicing.lesions",
        ("shards", "on_bad_case", "slicing", "lesions"),
        (),
        (*IMAGING, "scikit-image"),
    ),
    Stage("perturb_images", "steadyread.images.perturb", ("arms",), (), (*TABLES, "pillow", "scikit-image")),
    Stage(
        "compose_trials",
        "steadyread.trials.compose",
        (
            "seed",
            "shards",
            "cohort.labels",
            "question",
            "arms",
            "stochastic_models",
            "inference.stochastic_draws",
            "inference.repeat_share",
        ),
    ),
    Stage("check_cohort", "steadyread.trials.gate", ("cohort.min_patients", "cohort.labels")),
    Stage("build_random_model", "steadyread.phantom.random_model", ("model",), (), MODELS),
    Stage(
        "train_readers",
        "steadyread.phantom.reader.stage",
        ("slicing",),
        (),
        (*MODELS, "scipy", "nibabel", "nilearn"),
        ("phantom/reader/templates/*.j2",),
    ),
    Stage("list_snapshot", "steadyread.inference.snapshots", ("model",), ("models",), ()),
    Stage("infer", "steadyread.inference.infer", ("seed", "model", "inference.max_new_tokens"), ("models",), MODELS),
    Stage("score", "steadyread.answers.score", ("question",)),
    Stage(
        "estimate",
        "steadyread.statistics.estimate",
        ("seed", "cohort.labels", "question", "arms", "models_table", "statistics"),
        (),
        (*TABLES, "scipy"),
    ),
    Stage(
        "check_sensitivity",
        "steadyread.statistics.sensitivity",
        ("cohort.labels", "models", "statistics.confidence", "statistics.min_patients_with_event"),
        (),
        (*TABLES, "scipy", "statsmodels"),
    ),
    Stage("account_cases", "steadyread.statistics.account", ("arms", "models")),
    # Its settings come from the ledger of plans (statistics/plan_ledger.py).
    Stage("plan_analysis", "steadyread.statistics.analysis_plan", (), (), ()),
    Stage(
        "main_table",
        "steadyread.reporting.main_table",
        (
            "report.title",
            "report.note",
            "report.readout",
            "cohort.synthetic",
            "statistics.confidence",
            "statistics.comparisons",
            "models_table",
        ),
    ),
    Stage(
        "flips_figure",
        "steadyread.reporting.flips_figure",
        ("report.readout", "report.dpi", "cohort.synthetic", "statistics.confidence", "models_table"),
        (),
        FIGURES,
    ),
    *(
        Stage(
            name,
            f"steadyread.reporting.{name}",
            ("report.readout", "report.dpi", "cohort.synthetic", "statistics.confidence", "models_table"),
            (),
            FIGURES,
        )
        for name in ("curves_figure", "calibration_figure")
    ),
    Stage(
        "strata_table",
        "steadyread.reporting.strata_table",
        (
            "report.title",
            "report.note",
            "report.readout",
            "cohort.synthetic",
            "statistics.confidence",
            "models_table",
        ),
    ),
    Stage("flow_diagram", "steadyread.reporting.flow_diagram", ("report.readout", "report.dpi"), (), FIGURES),
    Stage(
        "exclusions_table",
        "steadyread.reporting.exclusions_table",
        ("report.title", "report.note", "cohort.synthetic"),
    ),
    Stage(
        "published_table",
        "steadyread.reporting.published",
        (
            "report.title",
            "report.note",
            "report.published",
            "cohort.synthetic",
            "statistics.confidence",
            "models_table",
        ),
    ),
    Stage("sensitivity_table", "steadyread.reporting.sensitivity", ("cohort.synthetic", "models_table")),
    Stage("contact_sheet", "steadyread.reporting.contact_sheet", ("report.contact_sheet_cases", "seed"), (), FIGURES),
    Stage(
        "summary",
        "steadyread.reporting.summary",
        (
            "report.title",
            "report.note",
            "report.readout",
            "report.published",
            "cohort.synthetic",
            "cohort.labels",
            "arms",
            "slicing",
            "statistics",
            "models_table",
        ),
        (),
        (*FIGURES, "scipy", "jinja2"),
        ("reporting/templates/*.j2", "statistics/validity/record*"),
    ),
    Stage("walkthrough", "steadyread.reporting.walkthrough", ("report.readout",), (), (*FIGURES, "pandas", "nbclient")),
    Stage(
        "simulate_validity",
        "steadyread.statistics.validity.simulate",
        (
            "seed",
            "statistics.confidence",
            "statistics.resamples",
            "statistics.curve_resamples",
            "statistics.permutations",
            "statistics.min_patients_with_event",
        ),
        (),
        (*TABLES, "scipy"),
    ),
    Stage("validity_table", "steadyread.reporting.validity_table", ("report.dpi",), (), FIGURES),
    Stage("check_validity", "steadyread.statistics.validity.check"),
)

STAGES: dict[str, Stage] = {stage.name: stage for stage in _STAGES}


def stage(name: str) -> Stage:
    """A stage by name.

    Raises
    ------
    KeyError
        Naming the stages that exist.
    """
    if name not in STAGES:
        raise KeyError(f"no stage {name!r}; stages: {sorted(STAGES)}")
    return STAGES[name]


def code_digest(name: str) -> str:
    """Digest of a stage's code, for the rule's params."""
    return stage(name).code_digest()
