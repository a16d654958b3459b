"""Lesion slices, their boxes, and what happens to annotations that cannot be used."""

from __future__ import annotations

from io import BytesIO
from itertools import permutations, product
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
import pytest
from nibabel.orientations import apply_orientation, axcodes2ornt, inv_ornt_aff, ornt_transform
from PIL import Image

from steadyread.annotations.lesion_map import LesionMask, LesionSlices
from steadyread.annotations.masks import load_mask
from steadyread.config.lesions import LesionsConfig
from steadyread.config.slicing import PlaneChoice, SlicingConfig
from steadyread.config.words import OnBadCase
from steadyread.contracts.enums import LESION_ARMS
from steadyread.contracts.files import read_rows, write_table
from steadyread.contracts.problems import CaseProblem, StudyError
from steadyread.contracts.tables import CASES, EXCLUSIONS, IMAGES, LESION_SLICES, SLICES, SOURCES
from steadyread.identity.pixels import image_digest
from steadyread.slicing.display import Fit, display_spacing, displayed, slice_axis
from steadyread.slicing.lesions import MarkLesionsSettings, foreground_box, mark_lesions, slice_marks
from steadyread.stages.job import Files
from steadyread.volumes.read import digest_source, read_volume

SHAPE = (14, 18, 9)
AFFINE = np.diag([1.0, 1.5, 5.0, 1.0])
AFFINE[:3, 3] = (-7, -13, 30)
PLANES = [PlaneChoice.AXIAL, PlaneChoice.SAGITTAL, PlaneChoice.CORONAL]
ORDERS = [
    "".join(pair[sign] for pair, sign in zip(order, signs, strict=True))
    for order in permutations(("LR", "PA", "IS"))
    for signs in product((0, 1), repeat=3)
]


def slicing(plane: PlaneChoice = PlaneChoice.AXIAL, size: int = 64) -> SlicingConfig:
    return SlicingConfig(plane=plane, size=size)


def write(path: Path, array: np.ndarray, axcodes: str = "RAS", affine: np.ndarray = AFFINE) -> Path:
    change = ornt_transform(axcodes2ornt("RAS"), axcodes2ornt(axcodes))
    stored = np.ascontiguousarray(apply_orientation(array, change))
    nibabel.save(nibabel.Nifti1Image(stored, affine @ inv_ornt_aff(change, array.shape)), path)
    return path


def picture() -> np.ndarray:
    return np.random.default_rng(1).normal(100, 20, SHAPE).astype(np.float32)


def lesion() -> np.ndarray:
    mask = np.zeros(SHAPE, dtype=np.uint8)
    mask[3:6, 4:9, 2:5] = 1
    mask[9:11, 12:15, 4] = 1
    return mask


def lesion_slices(marks: list[dict[str, Any]]) -> list[int]:
    return [k for k, mark in enumerate(marks) if mark["is_lesion"]]


@pytest.mark.parametrize("plane", PLANES)
def test_neither_volume_nor_mask_may_be_stored_so_that_the_lesion_moves(tmp_path: Path, plane: PlaneChoice) -> None:
    reference = read_volume(write(tmp_path / "v.nii.gz", picture()))
    expected = slice_marks(LesionMask(lesion() > 0), reference, slicing(plane), 0)
    assert len(lesion_slices(expected)) > 0
    for axcodes in ORDERS[:: 5 if plane is PlaneChoice.AXIAL else 11]:
        loaded = read_volume(write(tmp_path / "v.nii.gz", picture(), axcodes))
        path = write(tmp_path / "m.nii.gz", lesion(), axcodes[::-1] if axcodes[::-1] in ORDERS else "LPS")
        mask = load_mask(path, None, loaded.volume, LesionsConfig(resample=False))
        assert slice_marks(LesionMask(mask), loaded, slicing(plane), 0) == expected


def test_a_mask_of_twice_the_resolution_marks_the_same_slices(tmp_path: Path) -> None:
    loaded = read_volume(write(tmp_path / "v.nii.gz", picture()))
    fine = lesion().repeat(2, 0).repeat(2, 1).repeat(2, 2)
    half = AFFINE @ np.array([[0.5, 0, 0, -0.25], [0, 0.5, 0, -0.25], [0, 0, 0.5, -0.25], [0, 0, 0, 1]])
    mask = load_mask(write(tmp_path / "m.nii.gz", fine, "LPI", half), None, loaded.volume, LesionsConfig())
    assert slice_marks(LesionMask(mask), loaded, slicing(), 0) == slice_marks(
        LesionMask(lesion() > 0), loaded, slicing(), 0
    )


def test_the_known_lesion_has_its_known_slices_areas_and_boxes(tmp_path: Path) -> None:
    loaded = read_volume(write(tmp_path / "v.nii.gz", picture()))
    marks = slice_marks(LesionMask(lesion() > 0), loaded, slicing(size=27), 0)
    assert lesion_slices(marks) == [2, 3, 4]
    assert [mark["lesion_area_mm2"] for mark in marks] == [0, 0, 22.5, 22.5, 31.5, 0, 0, 0, 0]
    # 14 × 27 mm at 27 pixels: 1 mm per pixel, 6 pixels of padding on the left; the patient's right is
    # on the left of the image, so x runs against i.
    assert marks[2]["lesion_boxes"] == [[6 + 14 - 6, 27 - 13.5, 6 + 14 - 3, 27 - 6]]
    assert marks[4]["lesion_boxes"] == [[6 + 3, 27 - 22.5, 6 + 5, 27 - 18], [14, 13.5, 17, 21]]
    assert marks[0]["lesion_boxes"] == []


@pytest.mark.parametrize("plane", PLANES)
@pytest.mark.parametrize("size", [16, 50, 224])
def test_boxes_drawn_on_the_stored_picture_cover_the_lesion_and_little_else(
    tmp_path: Path, plane: PlaneChoice, size: int
) -> None:
    loaded = read_volume(write(tmp_path / "v.nii.gz", picture(), "PSL"))
    mask = np.asarray(lesion() > 0)
    axis, _ = slice_axis(loaded, plane)
    for k, mark in enumerate(slice_marks(LesionMask(mask), loaded, slicing(plane, size), 0)):
        shown = displayed(mask, axis, k)
        fit = Fit(shown.shape, display_spacing(loaded.volume, axis), size)
        drawn = fit.apply_mask(shown)
        covered = np.zeros_like(drawn)
        for x0, y0, x1, y1 in mark["lesion_boxes"]:
            rows, columns = slice(int(np.floor(y0)), int(np.ceil(y1))), slice(int(np.floor(x0)), int(np.ceil(x1)))
            covered[rows, columns] = True
        assert not (drawn & ~covered).any()
        # Both lesions are blocks: their boxes hold nothing else but the pixels that they cut.
        rim = 4 * sum((box[2] - box[0]) + (box[3] - box[1]) + 4 for box in mark["lesion_boxes"])
        assert (covered & ~drawn).sum() <= rim


def test_voxels_that_touch_at_a_corner_are_one_component(tmp_path: Path) -> None:
    loaded = read_volume(write(tmp_path / "v.nii.gz", picture()))
    mask = np.zeros(SHAPE, dtype=bool)
    mask[3, 3, 1] = mask[4, 4, 1] = mask[6, 6, 1] = True
    assert len(slice_marks(LesionMask(mask), loaded, slicing(), 0)[1]["lesion_boxes"]) == 2


def test_a_lesion_must_be_larger_than_the_least_area(tmp_path: Path) -> None:
    loaded = read_volume(write(tmp_path / "v.nii.gz", picture()))
    marks = slice_marks(LesionMask(lesion() > 0), loaded, slicing(), 22.5)
    assert lesion_slices(marks) == [4]
    assert marks[2]["lesion_area_mm2"] == 22.5 and marks[2]["lesion_boxes"] == []


@pytest.mark.parametrize("plane", PLANES)
def test_a_slice_table_marks_what_a_mask_of_its_boxes_marks(tmp_path: Path, plane: PlaneChoice) -> None:
    loaded = read_volume(write(tmp_path / "v.nii.gz", picture(), "LIP"))
    axis, _ = slice_axis(loaded, plane)
    block = np.zeros(SHAPE, dtype=bool)
    block[2:5, 6:12, 3:7] = True
    spans = ((2, 5), (6, 12), (3, 7))
    first, second = (spans[other] for other in range(3) if other != axis)
    indices = range(*spans[axis])
    listed = LesionSlices(axis, frozenset(indices), dict.fromkeys(indices, ((first, second),)))
    masked = slice_marks(LesionMask(block), loaded, slicing(plane), 0)
    marked = slice_marks(listed, loaded, slicing(plane), 0)
    for key in ("is_lesion", "lesion_boxes"):
        assert [mark[key] for mark in marked] == [mark[key] for mark in masked]
    assert {mark["lesion_area_mm2"] for mark in marked} == {None}


def test_slices_listed_across_another_axis_are_ambiguous(tmp_path: Path) -> None:
    loaded = read_volume(write(tmp_path / "v.nii.gz", picture()))
    with pytest.raises(CaseProblem, match="annotation_ambiguous"):
        slice_marks(LesionSlices(2, frozenset({1})), loaded, slicing(PlaneChoice.CORONAL), 0)


def test_listed_slices_without_a_box_have_none_known(tmp_path: Path) -> None:
    loaded = read_volume(write(tmp_path / "v.nii.gz", picture()))
    marks = slice_marks(LesionSlices(2, frozenset({1})), loaded, slicing(), 0)
    assert marks[1] == {"is_lesion": True, "lesion_area_mm2": None, "lesion_boxes": None}
    assert marks[0] == {"is_lesion": False, "lesion_area_mm2": None, "lesion_boxes": []}


def test_the_foreground_is_what_stands_out() -> None:
    rng = np.random.default_rng(3)
    pixels = rng.integers(0, 12, (60, 80)).astype(np.uint8)
    pixels[11:47, 20:70] = rng.integers(90, 220, (36, 50))
    assert foreground_box(pixels) == [20, 11, 70, 47]
    assert foreground_box(np.full((5, 5), 7, dtype=np.uint8)) is None
    two = np.zeros((5, 6), dtype=np.uint8)
    two[1, 2:4] = 1
    assert foreground_box(two) == [2, 1, 4, 2]


# --- the stage ---------------------------------------------------------------------------------


class Study:
    """A few cases on disk, registered and sliced by hand."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cases: list[dict[str, Any]] = []
        self.sources: list[dict[str, Any]] = []
        self.slices: list[dict[str, Any]] = []
        pixels = np.zeros((64, 64), dtype=np.uint8)
        pixels[10:50, 20:44] = 200
        png = BytesIO()
        Image.fromarray(pixels).save(png, "PNG")
        self.image = {
            "image_id": image_digest(pixels, "L"), "parent_id": None, "transform": "none", "parameters": "{}",
            "severity": 0, "ssim": None, "psnr": None, "max_abs_delta": None, "box": None, "width": 64, "height": 64,
            "png": png.getvalue(),
        }  # fmt: skip

    def add(self, case_id: str, annotation: Path | None, kind: str, **options: str) -> None:
        volume = write(self.folder / f"{case_id}.nii.gz", picture())
        paths = {"volume": volume} | ({} if annotation is None else {"annotation": annotation})
        digests = {role: digest_source(path) for role, path in paths.items()}
        self.sources += [
            {"case_id": case_id, "role": role, "path": str(path), "digest": digests[role],
             "options": options if role == "annotation" else {}}
            for role, path in paths.items()
        ]  # fmt: skip
        self.cases.append(
            {"case_id": case_id, "patient_id": f"p-{case_id}", "site": None, "sequence": None, "label": None,
             "volume": digests["volume"], "annotation": digests.get("annotation"), "annotation_kind": kind,
             "split": None, "covariates": {}, "texts": {}, "deidentified": "unknown", "burned_in": None,
             "source_digest": "0" * 32}
        )  # fmt: skip
        for k in range(SHAPE[2]):
            sampled = k % 2 == 0
            self.slices.append(
                {"case_id": case_id, "index": k, "image_id": self.image["image_id"] if sampled else None,
                 "position_mm": 5.0 * k, "plane": "axial", "window_low": 0.0, "window_high": 1.0,
                 "spacing_mm": [1.5, 1.0, 5.0], "sampled": sampled, "lossy": False, "source_index": k}
            )  # fmt: skip

    def run(self, on_bad_case: OnBadCase = OnBadCase.EXCLUDE) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        names = {"cases": CASES, "sources": SOURCES, "slices": SLICES, "images": IMAGES}
        rows = {"cases": self.cases, "sources": self.sources, "slices": self.slices, "images": [self.image]}
        files = {name: self.folder / f"{name}.parquet" for name in [*names, "lesion_slices", "exclusions"]}
        for name, contract in names.items():
            write_table(files[name], contract, rows[name])
        config = MarkLesionsSettings(on_bad_case=on_bad_case, slicing=slicing())
        mark_lesions(Files(files), Files(files), config, {})
        return read_rows(files["lesion_slices"], LESION_SLICES), read_rows(files["exclusions"], EXCLUSIONS)


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return Study(tmp_path)


def test_every_slice_has_its_row_whether_it_was_sampled_or_not(study: Study, tmp_path: Path) -> None:
    study.add("masked", write(tmp_path / "m.nii.gz", lesion()), "mask")
    study.add("plain", None, "none")
    rows, exclusions = study.run()
    assert exclusions == []
    masked, plain = ([row for row in rows if row["case_id"] == name] for name in ("masked", "plain"))
    assert [row["index"] for row in masked if row["is_lesion"]] == [2, 3, 4]
    assert [row["is_lesion"] for row in plain] == [None] * SHAPE[2]
    assert [row["foreground_box"] for row in plain] == [[20, 10, 44, 50] if k % 2 == 0 else None for k in range(9)]


def test_a_bad_annotation_costs_its_case_the_lesion_arms_alone_and_says_why(study: Study, tmp_path: Path) -> None:
    study.add("good", write(tmp_path / "mask_good.nii.gz", lesion()), "mask")
    far = AFFINE.copy()
    far[:3, 3] += 500
    bad = {
        "annotation_other_space": write(tmp_path / "far.nii.gz", lesion(), affine=far),
        "annotation_labels": write(tmp_path / "half.nii.gz", lesion() * np.float32(0.5)),
        "annotation_unreadable": tmp_path / "broken.nii.gz",
    }
    bad["annotation_unreadable"].write_bytes(b"no image")
    for reason, path in bad.items():
        study.add(reason, path, "mask")
    study.add("changed_since_registered", write(tmp_path / "changed.nii.gz", lesion()), "mask")
    write(tmp_path / "changed.nii.gz", lesion() * 2)
    study.add("missing_file", write(tmp_path / "gone.nii.gz", lesion()), "mask")
    (tmp_path / "gone.nii.gz").unlink()
    rows, exclusions = study.run()
    reasons = [*bad, "changed_since_registered", "missing_file"]
    known = {row["case_id"] for row in rows if row["is_lesion"] is not None}
    assert known == {"good"}
    assert {row["case_id"] for row in rows} == {"good", *reasons}
    expected = {(reason, arm.value, reason) for reason in reasons for arm in LESION_ARMS}
    assert {(row["case_id"], row["arm"], row["reason"]) for row in exclusions} == expected
    assert all(str(tmp_path) not in row["detail"] and "nii" not in row["detail"] for row in exclusions)
    with pytest.raises(StudyError, match="annotation_"):
        study.run(OnBadCase.STOP)


def test_slices_listed_in_the_cohorts_table_need_no_file(study: Study, tmp_path: Path) -> None:
    from steadyread.annotations.options import digest_inline

    options = {"index": "3,4", "index_base": "1", "index_order": "feet_to_head"}
    table = tmp_path / "cohort.tsv"
    table.write_text("the cohort's table")
    study.add("listed", table, "slice_table", **options)
    study.sources[-1]["digest"] = study.cases[-1]["annotation"] = digest_inline(options)
    rows, exclusions = study.run()
    assert exclusions == []
    assert [row["index"] for row in rows if row["is_lesion"]] == [2, 3]
