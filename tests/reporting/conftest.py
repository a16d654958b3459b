"""Estimates, flows and pictures with known values, made through the contracts."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from steadyread.contracts.enums import Metric
from steadyread.contracts.files import write_table
from steadyread.contracts.tables import CASES, ESTIMATES, EXCLUSIONS, FLOW, IMAGES, LESION_SLICES, SENSITIVITY, SLICES
from steadyread.identity.digests import digest_json
from steadyread.identity.pixels import image_digest
from steadyread.reporting.page_tables import DIRECTIONS

Rows = list[dict[str, Any]]
ARMS = ("base", "repeat", "reverse", "label_swap", "lesion_removed", "matched_removed", "no_image")


def estimate_row(**given: Any) -> dict[str, Any]:
    """A row of `estimates`; what is not given is the plainest value."""
    row: dict[str, Any] = dict.fromkeys(ESTIMATES.schema.names)
    row.update(
        study="demo", model="m", readout="text", arms=[], stratum="all", metric="flip_rate", denominator="all",
        value=0.5, low=0.4, high=0.6, interval_method="wilson_design_effect", n=24, clusters=12, n_error=0,
        estimate_status="ok", mark="P",
    )  # fmt: skip
    row.update(given)
    if row["arm"] and not row["arms"]:
        row["arms"] = [row["arm"]]
    return row


def paper(arm: str) -> str:
    """The mark of a flip rate over all pairs: two are the paper's."""
    return "P" if arm in ("reverse", "label_swap") else "O"


def study_rows(models: tuple[str, ...] = ("model-a", "model-b"), readouts: tuple[str, ...] = ("text",)) -> Rows:
    """A whole study's estimates with values that depend on the names alone."""
    rows: Rows = []

    def add(model: str, readout: str, metric: str, denominator: str, arm: str | None, **more: Any) -> None:
        share = int(digest_json([model, readout, metric, denominator, arm, more.get("variant")])[:6], 16) / 16**6
        value = round(0.15 + 0.6 * share, 4) - (0.4 if metric in ("delta", "accuracy_difference") else 0)
        numbers = {"value": value, "low": value - 0.1371, "high": value + 0.1213}
        rows.append(
            estimate_row(
                model=model, readout=readout, metric=metric, denominator=denominator, arm=arm, **{**numbers, **more}
            )
        )

    for model in models:
        for readout in readouts:
            for arm in ARMS:
                if arm == "repeat":
                    continue
                if arm not in ("reverse", "label_swap"):
                    add(model, readout, "overcommitment", "all", arm, mark="P" if arm == "lesion_removed" else "O")
                add(model, readout, "accuracy", "label_known", arm, mark="O")
                for status in ("UNSURE", "REFUSED", "UNPARSED", "TRUNCATED"):
                    add(model, readout, "status_share", "all", arm, variant=status)
                if arm == "base":
                    add(model, readout, "d_same", "pairs_of_draws", arm, mark="O", value=0.0, low=0.0, high=0.08)
                    continue
                add(model, readout, "flip_rate", "all", arm, reference_arm="base", mark=paper(arm))
                add(model, readout, "flip_rate", "both_categorical", arm, reference_arm="base", mark="O")
                add(model, readout, "d_same", "pairs_of_draws", arm, mark="O", n=2, value=0.0, low=None, high=None)
                add(model, readout, "delta", "pairs_of_draws", arm, reference_arm="base", mark="O")
                add(
                    model, readout, "accuracy_difference", "label_known", arm, reference_arm="base", mark="O",
                    p=0.02, p_holm=0.06, resamples=5000, interval_method="bootstrap", mde=0.31,
                )  # fmt: skip
            add(model, readout, "label_swap_inconsistency", "all", "label_swap", reference_arm="base")
            add(model, readout, "slot_following", "both_categorical", "label_swap", reference_arm="base", mark="O")
            add(
                model, readout, "overcommitment_difference", "all", "matched_removed",
                reference_arm="lesion_removed", mark="O", p=0.0004, p_holm=0.0004, resamples=5000, mde=0.24,
            )  # fmt: skip
            if readout == "text":
                for arm in ARMS:
                    if arm != "repeat":
                        add(model, readout, "readout_agreement", "all", arm, mark="O")
    return rows


SEVERAL = ["base", "reverse", "label_swap"]
LEVELS = {
    "dose_response": ("remove_fraction", (0.0, 0.5, 1.0)),
    "dose_flips": ("remove_fraction", (0.5, 1.0)),
    "position_accuracy": ("roi_at", (0.0, 0.5)),
    "position_flips": ("roi_at", (0.0, 0.5)),
    "reliability": ("base", (0.55, 0.95)),
    "risk_at_coverage": ("base", (0.5, 1.0)),
    "coverage_at_risk": ("base", (0.05, 0.2)),
    "effective_reliability": ("base", (1.0, 10.0)),
    "slot_prior": ("label_cycle", (1.0, 2.0, 3.0)),
}
"""Metrics of several levels: their arm and their parameters."""
ONE_ARM = {
    "kappa": ("reverse", "base"), "flip_difference": ("reverse", "shuffle"), "d_cross": ("reverse", "base"),
    "first_slot": ("label_swap", "base"), "rstd": ("label_swap", "base"),
    "observed_accuracy": ("label_cycle", "base"), "debiased_accuracy": ("label_cycle", "base"),
    "debiased_difference": ("label_cycle", "base"), "scaffold_share": ("mention_only", "no_image"),
    "coverage": ("base", None), "selective_accuracy": ("base", None), "ece": ("base", None), "aurc": ("base", None),
    "augrc": ("base", None),
}  # fmt: skip
"""Metrics of one arm: it, and the arm beside it."""


def whole_reader_rows(model: str = "model-a", readout: str = "text") -> Rows:
    """A row or more of every metric of the register that `study_rows` has not, each with a value of its own."""
    made = {row["metric"] for row in study_rows()}
    rows: Rows = []

    def add(metric: Metric, **given: Any) -> None:
        share = int(digest_json([metric.value, model, readout, *map(str, given.values())])[:6], 16) / 16**6
        value = round(0.11 + 0.3 * share, 5)
        test = {"test": "permutation", "p": 0.041, "low": None, "high": None} if metric is Metric.COCHRAN_Q else {}
        ends = {"low": value - 0.1, "high": value + 0.1}
        rows.append(
            estimate_row(
                model=model, readout=readout, metric=metric.value, mark="O", value=value, **{**ends, **test, **given}
            )
        )

    for metric in Metric:
        if metric.value in made:
            continue
        if metric in LEVELS:
            arm, levels = LEVELS[metric]
            named = metric in ("dose_response", "dose_flips", "position_accuracy", "position_flips", "reliability")
            for level in levels:
                bins = {"variant": f"{level - 0.05:.1f} to {level + 0.05:.1f}"} if metric == "reliability" else {}
                levelled = {"variant": f"{level:g}"} if named else {}
                other = {} if arm == "base" else {"reference_arm": "base"}
                add(metric, arm=arm, parameter=level, **{**levelled, **bins, **other})
        elif metric in ONE_ARM:
            arm, other = ONE_ARM[metric]
            add(metric, arm=arm, reference_arm=other)
        elif metric in ("quadrant", "unmoved_given_steady", "unmoved_given_unsteady"):
            names = ("ideal", "fragile", "dangerous", "worst") if metric == "quadrant" else (None,)
            for name in names:
                add(metric, arm="no_image", reference_arm="base", variant=name, arms=[*SEVERAL, "no_image"])
        elif metric == "flip_direction":
            for number, name in enumerate((*DIRECTIONS, "to_no_answer")):
                add(metric, arm="reverse", reference_arm="base", variant=name, parameter=None, n=24 + number)
        else:
            add(metric, arm=None, arms=SEVERAL, parameter=3.0)
    return rows


def flow_rows(models: tuple[str, ...] = ("model-a", "model-b"), readouts: tuple[str, ...] = ("text",)) -> Rows:
    """Twelve cases; one unreadable everywhere, two without lesion in the lesion arms."""
    rows: Rows = []
    for model in models:
        for readout in readouts:
            for arm in ARMS:
                reasons = [{"stage": "slice_volumes", "reason": "unreadable", "count": 1}]
                if arm in ("lesion_removed", "matched_removed"):
                    reasons.append({"stage": "compose_trials", "reason": "no_lesion", "count": 2})
                left_out = sum(item["count"] for item in reasons)
                rows.append(
                    {
                        "model": model, "readout": readout, "arm": arm, "cases_in": 12, "analysed": 12 - left_out,
                        "excluded": left_out, "errors": 0, "reasons": reasons,
                    }
                )  # fmt: skip
    return rows


@pytest.fixture(scope="session")
def estimate() -> Callable[..., dict[str, Any]]:
    """Makes one row of `estimates`."""
    return estimate_row


@pytest.fixture(scope="session")
def study() -> Callable[..., Rows]:
    """Makes a whole study's estimates."""
    return study_rows


@pytest.fixture(scope="session")
def whole_reader() -> Callable[..., Rows]:
    """Makes rows of every other metric."""
    return whole_reader_rows


@pytest.fixture(scope="session")
def exclusion() -> Callable[..., dict[str, Any]]:
    """Makes one row of `exclusions`."""

    def make(case_id: str, **given: Any) -> dict[str, Any]:
        row = {"stage": "slice_volumes", "arm": None, "model_id": None, "reason": "unreadable", "detail": "no header"}
        return {"case_id": case_id, **row, **given}

    return make


@pytest.fixture(scope="session")
def flow() -> Callable[..., Rows]:
    """Makes a study's flow."""
    return flow_rows


@pytest.fixture
def put(tmp_path: Path) -> Callable[[str, Rows], Path]:
    """Writes rows under a contract and gives the file."""
    tables = (ESTIMATES, FLOW, EXCLUSIONS, CASES, SLICES, LESION_SLICES, IMAGES, SENSITIVITY)
    contracts = {item.name: item for item in tables}

    def write(name: str, rows: Rows) -> Path:
        path = tmp_path / f"{name}.parquet"
        write_table(path, contracts[name], rows)
        return path

    return write


def picture(seed: int, size: int = 64) -> tuple[str, bytes]:
    """A dark grey picture and its id."""
    pixels = np.full((size, size), 40 + seed % 50, dtype=np.uint8)
    pixels[: size // 8] = seed % 7
    stream = io.BytesIO()
    Image.fromarray(pixels, mode=None).save(stream, format="PNG")
    return image_digest(pixels, "L"), stream.getvalue()


@pytest.fixture(scope="session")
def imaging() -> Callable[..., Mapping[str, Rows]]:
    """Makes cases with slices, lesion slices and images; slices 2 and 3 of a case show the lesion."""

    def make(cases: int = 4, count: int = 6, size: int = 64, plane: str | None = "axial") -> Mapping[str, Rows]:
        tables: dict[str, Rows] = {"cases": [], "slices": [], "lesion_slices": [], "images": []}
        seen: set[str] = set()
        for number in range(cases):
            case_id = f"case{number:02d}"
            tables["cases"].append(
                {
                    "case_id": case_id, "patient_id": f"p{number:02d}", "site": None, "sequence": "T1CE",
                    "label": ("GBM", "MET")[number % 2], "volume": None, "annotation": "0" * 32,
                    "annotation_kind": "mask", "split": None, "covariates": {}, "texts": {}, "deidentified": "yes",
                    "burned_in": False, "source_digest": "0" * 32,
                }
            )  # fmt: skip
            for index in range(count):
                image_id, png = picture(number * count + index, size)
                sampled = index != count - 1
                lesion = index in (2, 3)
                tables["slices"].append(
                    {
                        "case_id": case_id, "index": index, "image_id": image_id if sampled else None,
                        "position_mm": 5.0 * index, "plane": plane, "window_low": 0.0, "window_high": 1.0,
                        "spacing_mm": [1.0, 1.0, 5.0], "sampled": sampled, "lossy": False, "source_index": index,
                    }
                )  # fmt: skip
                tables["lesion_slices"].append(
                    {
                        "case_id": case_id, "index": index, "is_lesion": lesion,
                        "lesion_area_mm2": 12.0 if lesion else 0.0,
                        "lesion_boxes": [[16.0, 24.0, 40.0, 48.0]] if lesion else [],
                        "foreground_box": [0.0, 0.0, float(size), float(size)],
                    }
                )  # fmt: skip
                if sampled and image_id not in seen:
                    seen.add(image_id)
                    tables["images"].append(
                        {
                            "image_id": image_id, "parent_id": None, "transform": "none", "parameters": "{}",
                            "severity": 0, "ssim": None, "psnr": None, "max_abs_delta": None, "box": None,
                            "width": size, "height": size, "png": png,
                        }
                    )  # fmt: skip
        return tables

    return make
