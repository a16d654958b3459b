"""Lesion slices of real volumes, against LESION_TRUTH.tsv."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from steadyread.annotations.lesion_map import LesionMask
from steadyread.annotations.load import load_annotation
from steadyread.config.lesions import LesionsConfig
from steadyread.config.slicing import SlicingConfig
from steadyread.contracts.enums import AnnotationKind
from steadyread.slicing.lesions import slice_marks
from steadyread.volumes.read import read_volume

pytestmark = pytest.mark.realdata
EXPECTED_CASES = 5


def expanded(text: str) -> list[int]:
    """ "73-75,80" as [73, 74, 75, 80]."""
    bounds = [part.partition("-") for part in text.split(",")]
    return [k for low, _, high in bounds for k in range(int(low), int(high or low) + 1)]


def test_lesion_slices_equal_the_truth_exactly(realdata_root: Path) -> None:
    with open(realdata_root / "LESION_TRUTH.tsv", encoding="utf-8", newline="") as handle:
        truths = list(csv.DictReader(handle, dialect="excel-tab"))
    assert len(truths) == EXPECTED_CASES
    for truth in truths:
        folder = realdata_root / truth["case"]
        labels = truth["rule"].removeprefix("==") if truth["rule"].startswith("==") else ""
        loaded = read_volume(folder / truth["image"])
        options = {"lesion_labels": labels}
        lesions = load_annotation(
            AnnotationKind.MASK, folder / truth["mask"], options, loaded, LesionsConfig(resample=False)
        )
        assert isinstance(lesions, LesionMask)
        assert int(lesions.mask.sum()) == int(truth["voxels"])
        marks = slice_marks(lesions, loaded, SlicingConfig(), 0)
        found = [k for k, mark in enumerate(marks) if mark["is_lesion"]]
        assert found == expanded(truth["lesion_slices_after_RAS_reorientation_k"]), truth["case"]
        assert len(marks) == loaded.volume.shape[2]
