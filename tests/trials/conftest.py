"""A small cohort after slicing, written as the stages before would, and composed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from steadyread.contracts.enums import ArmName
from steadyread.contracts.files import read_rows, read_table, write_table
from steadyread.contracts.tables import (
    CASES,
    EXCLUSIONS,
    IMAGES,
    ITEMS,
    LESION_SLICES,
    MANIFESTS,
    SLICES,
    TRIALS,
)
from steadyread.identity.digests import digest_json
from steadyread.images.transforms import blank_parameters, box_parameters
from steadyread.stages.job import Files, shard_of
from steadyread.trials.compose import ComposeTrialsSettings, compose_trials

Row = dict[str, Any]
ARMS = tuple(arm.value for arm in ArmName)
BOX = (2.0, 3.0, 6.0, 8.0)
AREA = 100.0
"""Of a lesion slice in mm²; slices lie 5 mm apart."""


@dataclass(frozen=True)
class Case:
    """A case after slicing: `lesion` holds the indices of its lesion slices, None: not annotated."""

    case_id: str
    patient_id: str
    slices: int = 9
    lesion: tuple[int, ...] | None = (3, 4)
    unsampled: tuple[int, ...] = ()
    label: str | None = "GBM"
    sequence: str | None = "T1CE"
    site: str | None = None
    covariates: tuple[tuple[str, str], ...] = ()
    alike: bool = False
    """All slices show the same pixels."""
    boxes: tuple[tuple[float, float, float, float], ...] = (BOX,)
    """Boxes of every lesion slice; none: the annotation gives no box."""
    measured: bool = True
    """The annotation gives areas."""
    twin: str | None = None
    """Cases of one twin show the same pictures."""
    whole: tuple[int, ...] = ()
    """Indices of lesion slices whose crops show the whole slice."""


@dataclass
class Composed:
    """What compose_trials wrote, over all shards."""

    trials: list[Row] = field(default_factory=list)
    manifests: list[Row] = field(default_factory=list)
    exclusions: list[Row] = field(default_factory=list)
    files: dict[str, list[Path]] = field(default_factory=dict)

    def of(self, arm: str, draw: int = 0, case_id: str | None = None, model_id: str | None = None) -> list[Row]:
        """Trials of an arm at a draw."""
        return [
            row
            for row in self.trials
            if (row["arm"], row["draw"], row["model_id"]) == (arm, draw, model_id) and case_id in (None, row["case_id"])
        ]


def image_of(case: Case, index: int) -> str:
    """The image id of a slice."""
    return digest_json(["image", case.twin or case.case_id, 0 if case.alike else index])


def blank_of(image_id: str) -> str:
    """The image id of a blank."""
    return digest_json(["blank", image_id])


def crop_of(image_id: str, box: Sequence[float]) -> str:
    """The image id of a crop."""
    return digest_json(["crop", image_id, list(box)])


def settings_of(**changes: Any) -> ComposeTrialsSettings:
    """The stage's settings, as the dispatcher would validate them."""
    values: dict[str, Any] = {
        "seed": 7,
        "shards": 2,
        "cohort": {"labels": ["GBM", "MET"]},
        "question": {"prompt": "diagnose_brain_mri", "unsure": True},
        "arms": {"enabled": list(ARMS)},
        "stochastic_models": [],
        "inference": {"stochastic_draws": 5, "repeat_share": 0.0},
    }
    return ComposeTrialsSettings.model_validate({**values, **changes})


def write_cohort(
    folder: Path,
    cases: Sequence[Case],
    settings: ComposeTrialsSettings,
    excluded: Iterable[Row],
    backwards: bool,
    offered: Sequence[str] | None,
) -> None:
    """Write the tables that the stages before compose_trials leave, backwards if asked."""
    turn = -1 if backwards else 1
    options = list(offered or [*settings.cohort.labels, *(["UNSURE"] if settings.question.unsure else [])])
    write_table(folder / "cases.parquet", CASES, [_case(case) for case in cases][::turn])
    items = [
        {
            "item_id": digest_json([case.case_id, settings.question.prompt, options]),
            "case_id": case.case_id,
            "cluster_id": case.patient_id,
            "question": settings.question.prompt,
            "answer_kind": "choice",
            "options": options,
            "keys": [],
        }
        for case in cases
    ]
    write_table(folder / "items.parquet", ITEMS, items[::turn])
    write_table(folder / "exclusions.parquet", EXCLUSIONS, list(excluded))
    left_out = {row["case_id"] for row in excluded if row["arm"] is None and row["model_id"] is None}
    for shard in range(settings.shards):
        here = [
            case
            for case in cases
            if shard_of(case.patient_id, settings.shards) == shard and case.case_id not in left_out
        ]
        write_table(folder / f"slices{shard}.parquet", SLICES, [row for case in here for row in _slices(case)][::turn])
        write_table(
            folder / f"lesions{shard}.parquet",
            LESION_SLICES,
            [_mark(case, index) for case in here for index in range(case.slices)][::turn],
        )
        write_table(folder / f"derived{shard}.parquet", IMAGES, _distinct(here)[::turn])


def _case(case: Case) -> Row:
    return {
        "case_id": case.case_id,
        "patient_id": case.patient_id,
        "site": case.site,
        "sequence": case.sequence,
        "label": case.label,
        "volume": digest_json(case.case_id),
        "annotation": None,
        "annotation_kind": "none",
        "split": None,
        "covariates": dict(case.covariates),
        "texts": {},
        "deidentified": "attested",
        "burned_in": None,
        "source_digest": digest_json(case.case_id),
    }


def _slices(case: Case) -> list[Row]:
    return [
        {
            "case_id": case.case_id,
            "index": index,
            "image_id": None if index in case.unsampled else image_of(case, index),
            "position_mm": 5.0 * index,
            "plane": "axial",
            "window_low": 0.0,
            "window_high": 1.0,
            "spacing_mm": [1.0, 1.0, 5.0],
            "sampled": index not in case.unsampled,
            "lossy": False,
            "source_index": index,
        }
        for index in range(case.slices)
    ]


def _mark(case: Case, index: int) -> Row:
    lesion = case.lesion is not None and index in case.lesion
    return {
        "case_id": case.case_id,
        "index": index,
        "is_lesion": None if case.lesion is None else lesion,
        "lesion_area_mm2": AREA * lesion if case.measured and case.lesion is not None else None,
        "lesion_boxes": [list(box) for box in case.boxes] if lesion and case.boxes else None,
        "foreground_box": None,
    }


def _derived(case: Case) -> list[Row]:
    rows = []
    for index in range(case.slices):
        if index in case.unsampled:
            continue
        parent = image_of(case, index)
        rows.append(_image(blank_of(parent), parent, "blank", blank_parameters()))
        if index in (case.lesion or ()):
            for box in case.boxes:
                crop = parent if index in case.whole else crop_of(parent, box)
                rows.append(_image(crop, parent, "crop", box_parameters(box)))
    return rows


def _distinct(cases: Iterable[Case]) -> list[Row]:
    rows = [row for case in cases for row in _derived(case)]
    return list({(row["parent_id"], row["parameters"]): row for row in rows}.values())


def _image(image_id: str, parent_id: str, transform: str, parameters: str) -> Row:
    return {
        "image_id": image_id,
        "parent_id": parent_id,
        "transform": transform,
        "parameters": parameters,
        "severity": 1,
        "ssim": None,
        "psnr": None,
        "max_abs_delta": None,
        "box": None,
        "width": 16,
        "height": 16,
        "png": b"",
    }


@pytest.fixture
def make_case() -> type[Case]:
    """The case type, for tests of this room."""
    return Case


@pytest.fixture
def compose(tmp_path: Path, project: Path) -> Callable[..., Composed]:
    """Compose cases: `compose(cases, excluded=…, backwards=…, prompt=…, offered=…, **settings)`."""
    count = 0

    def run(
        cases: Sequence[Case],
        excluded: Iterable[Row] = (),
        backwards: bool = False,
        prompt: Path | None = None,
        offered: Sequence[str] | None = None,
        **changes: Any,
    ) -> Composed:
        nonlocal count
        count += 1
        folder = tmp_path / f"run{count}"
        settings = settings_of(**changes)
        write_cohort(folder, cases, settings, list(excluded), backwards, offered)
        composed = Composed(files={"cases": [folder / "cases.parquet"], "exclusions": [folder / "exclusions.parquet"]})
        for shard in range(settings.shards):
            outputs = {name: folder / f"{name}_out{shard}.parquet" for name in ("trials", "manifests", "exclusions")}
            compose_trials(
                inputs=Files(
                    {
                        "cases": folder / "cases.parquet",
                        "item_table": folder / "items.parquet",
                        "slices": folder / f"slices{shard}.parquet",
                        "lesion_slices": folder / f"lesions{shard}.parquet",
                        "derived": folder / f"derived{shard}.parquet",
                        "exclusions": [folder / "exclusions.parquet"],
                        "prompt": prompt or project / "config" / "prompts" / "diagnose_brain_mri.yaml",
                    }
                ),
                outputs=Files(outputs),
                settings=settings,
                wildcards={"shard": str(shard)},
            )
            composed.files.setdefault("trials", []).append(outputs["trials"])
            composed.files["exclusions"].append(outputs["exclusions"])
            composed.manifests += read_rows(outputs["manifests"], MANIFESTS)
            composed.exclusions += read_rows(outputs["exclusions"], EXCLUSIONS)
        composed.trials = [
            {**r, "strata": dict(r["strata"])} for r in read_table(composed.files["trials"], TRIALS).to_pylist()
        ]
        composed.manifests.sort(key=lambda row: (row["item_id"], row["arm"], row["variant"]))
        composed.exclusions.sort(key=lambda row: (row["case_id"], row["arm"]))
        return composed

    return run
