"""Derived images: what they show, where they come from, how far they lie from their parent."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from steadyread.config.arms import ArmsConfig
from steadyread.contracts.enums import ArmName, TransformName
from steadyread.contracts.files import read_rows, write_table
from steadyread.contracts.problems import StudyError
from steadyread.contracts.tables import IMAGES, LESION_SLICES, SLICES
from steadyread.identity.pixels import image_digest
from steadyread.images.perturb import PerturbImagesSettings, perturb_images
from steadyread.images.severity import measure
from steadyread.images.transforms import TRANSFORMS, blank, blank_parameters, box_parameters, transforms_for
from steadyread.slicing.encode import image_row
from steadyread.stages.job import Files

WITH_BLANK = ArmsConfig(enabled=(ArmName.BASE, ArmName.BLANK_IMAGE))
WITH_CROPS = ArmsConfig(enabled=(ArmName.BASE, ArmName.ROI_CROPS))
WITHOUT = ArmsConfig(enabled=(ArmName.BASE, ArmName.REVERSE, ArmName.NO_IMAGE))


def noise(seed: int, shape: tuple[int, ...] = (24, 24)) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


def run(
    folder: Path,
    stored: list[np.ndarray],
    sampled: list[np.ndarray],
    arms: ArmsConfig,
    boxes: dict[tuple[str, int], list[tuple[float, ...]] | None] | None = None,
    cases: tuple[str, ...] = ("c1",),
) -> list[dict]:
    """Store images, let slices of every case point to some of them, perturb.

    `boxes` are those of the lesion slices, by case and index.
    """
    boxes = boxes or {}
    images = [image_row(pixels) for pixels in stored]
    slices = [
        {
            "case_id": case_id,
            "index": index,
            "image_id": None if pixels is None else image_digest(pixels, "L"),
            "position_mm": float(index),
            "plane": "axial",
            "window_low": 0.0,
            "window_high": 1.0,
            "spacing_mm": None,
            "sampled": pixels is not None,
            "lossy": False,
            "source_index": index,
        }
        for case_id in cases
        for index, pixels in enumerate([*sampled, None])
    ]
    marks = [
        {
            "case_id": row["case_id"],
            "index": row["index"],
            "is_lesion": (row["case_id"], row["index"]) in boxes,
            "lesion_area_mm2": None,
            "lesion_boxes": [list(box) for box in boxes.get((row["case_id"], row["index"])) or ()] or None,
            "foreground_box": None,
        }
        for row in slices
    ]
    write_table(folder / "lesion_slices.parquet", LESION_SLICES, marks)
    write_table(folder / "images.parquet", IMAGES, images)
    write_table(folder / "slices.parquet", SLICES, slices)
    perturb_images(
        inputs=Files({name: folder / f"{name}.parquet" for name in ("slices", "lesion_slices", "images")}),
        outputs=Files({"images": folder / "derived.parquet"}),
        settings=PerturbImagesSettings(arms=arms),
        wildcards={"shard": "0"},
    )
    return read_rows(folder / "derived.parquet", IMAGES)


def test_every_sampled_slice_has_its_blank_of_the_same_size_and_mode(tmp_path: Path) -> None:
    wide, tall = noise(1, (24, 30)), noise(2, (40, 16))
    rows = run(tmp_path, [wide, tall], [wide, tall, wide], WITH_BLANK)
    by_parent = {row["parent_id"]: row for row in rows}
    assert len(rows) == 2
    for parent in (wide, tall):
        row = by_parent[image_digest(parent, "L")]
        with Image.open(io.BytesIO(row["png"])) as image:
            pixels = np.asarray(image)
            assert image.mode == "L"
        assert pixels.shape == parent.shape
        assert set(pixels.ravel().tolist()) == {128}
        assert row["image_id"] == image_digest(pixels, "L")
        assert (row["width"], row["height"]) == (parent.shape[1], parent.shape[0])


def test_a_row_says_what_was_done_and_how_far_it_went(tmp_path: Path) -> None:
    parent = noise(3)
    [row] = run(tmp_path, [parent], [parent], WITH_BLANK)
    difference = parent.astype(float) - 128
    assert (row["transform"], row["severity"], json.loads(row["parameters"])) == ("blank", 1, {"value": 128})
    assert row["max_abs_delta"] == np.abs(difference).max()
    assert row["psnr"] == pytest.approx(10 * np.log10(255**2 / np.mean(difference**2)))
    assert -1 <= row["ssim"] < 0.5


def test_no_arm_needs_it_no_image_is_derived(tmp_path: Path) -> None:
    parent = noise(4)
    assert run(tmp_path, [parent], [parent], WITHOUT) == []


def test_images_of_slices_that_are_not_sampled_are_left_alone(tmp_path: Path) -> None:
    used, unused = noise(5), noise(6)
    rows = run(tmp_path, [used, unused], [used], WITH_BLANK)
    assert [row["parent_id"] for row in rows] == [image_digest(used, "L")]


def test_a_sampled_slice_without_image_stops_the_study(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="Rerun slice_volumes"):
        run(tmp_path, [noise(7)], [noise(8)], WITH_BLANK)


def test_a_perturbation_that_changes_no_pixel_fails(tmp_path: Path) -> None:
    grey = np.full((24, 24), 128, dtype=np.uint8)
    with pytest.raises(StudyError, match="changed no pixel"):
        run(tmp_path, [grey], [grey], WITH_BLANK)


def test_the_register_holds_exactly_the_transforms_that_exist() -> None:
    assert list(TRANSFORMS) == list(TransformName)
    assert all(transform.arms for transform in TRANSFORMS.values())
    assert all(bool(transform.levels) != transform.around_boxes for transform in TRANSFORMS.values())
    assert [transform.name for transform in transforms_for(tuple(ArmName))] == list(TransformName)
    assert transforms_for((ArmName.BASE,)) == []


def pixels_of(row: dict) -> np.ndarray:
    with Image.open(io.BytesIO(row["png"])) as image:
        return np.asarray(image)


def test_every_box_of_every_sampled_lesion_slice_has_its_crop_and_no_other_slice_has(tmp_path: Path) -> None:
    with_two, with_one, without = noise(11), noise(12), noise(13)
    boxes = {("c1", 0): [(2.0, 2.0, 6.0, 6.0), (10.0, 10.0, 14.5, 16.0)], ("c1", 1): [(3.0, 3.0, 5.0, 5.0)]}
    rows = run(tmp_path, [with_two, with_one, without], [with_two, with_one, without], WITH_CROPS, boxes)
    assert {row["transform"] for row in rows} == {"crop"}
    found = sorted((row["parent_id"], tuple(json.loads(row["parameters"])["box"])) for row in rows)
    parents = {0: image_digest(with_two, "L"), 1: image_digest(with_one, "L")}
    assert found == sorted((parents[index], box) for (_, index), of_slice in boxes.items() for box in of_slice)
    for row in rows:
        assert row["parameters"] == box_parameters(json.loads(row["parameters"])["box"]), "what composing looks up"
        assert row["image_id"] == image_digest(pixels_of(row), "L")


def test_a_crop_has_no_severity_since_its_pixels_are_other_places(tmp_path: Path) -> None:
    parent = noise(14)
    [row] = run(tmp_path, [parent], [parent], WITH_CROPS, {("c1", 0): [(2.0, 2.0, 6.0, 6.0)]})
    assert (row["ssim"], row["psnr"], row["max_abs_delta"], row["severity"]) == (None, None, None, 1)
    assert (row["width"], row["height"]) == (24, 24)


def test_one_picture_in_two_cases_has_the_crops_of_both(tmp_path: Path) -> None:
    parent = noise(15)
    boxes = {("c1", 0): [(2.0, 2.0, 6.0, 6.0)], ("c2", 0): [(12.0, 12.0, 18.0, 18.0)]}
    rows = run(tmp_path, [parent], [parent], WITH_CROPS, boxes, ("c1", "c2"))
    assert len({row["image_id"] for row in rows}) == 2
    assert {row["parent_id"] for row in rows} == {image_digest(parent, "L")}
    same = {("c1", 0): boxes["c1", 0], ("c2", 0): boxes["c1", 0]}
    assert len(run(tmp_path, [parent], [parent], WITH_CROPS, same, ("c1", "c2"))) == 1


def test_a_lesion_slice_without_box_has_no_crop_and_stops_nothing(tmp_path: Path) -> None:
    parent = noise(16)
    assert run(tmp_path, [parent], [parent], WITH_CROPS, {("c1", 0): None}) == []


def test_a_box_whose_margin_reaches_around_the_slice_is_the_slice_itself(tmp_path: Path) -> None:
    """It must not stop the study: composing leaves out the case that has no other crop."""
    parent = noise(17)
    [row] = run(tmp_path, [parent], [parent], WITH_CROPS, {("c1", 0): [(2.0, 2.0, 20.0, 20.0)]})
    assert row["image_id"] == row["parent_id"]


def test_the_one_blank_of_an_image_is_found_by_its_parameters(tmp_path: Path) -> None:
    parent = noise(18)
    [row] = run(tmp_path, [parent], [parent], WITH_BLANK)
    assert row["parameters"] == blank_parameters()


def test_blank_is_no_image_that_normalises_to_zero() -> None:
    """Idefics3 drops images whose normalised pixels are all exactly 0.0 (mean and deviation ½)."""
    normalised = (blank(noise(9)) / 255 - 0.5) / 0.5
    assert np.all(normalised != 0)


def test_severity_has_a_fixed_data_range() -> None:
    """Half the contrast and half the change do not measure alike, as a per-image range would have it."""
    low = np.tile(np.arange(32, dtype=np.uint8), (32, 1))
    high = low * 4
    assert measure(low, low + 8).psnr > measure(high, high + 32).psnr
    assert measure(low, low + 8).max_abs_delta == 8


def test_severity_counts_change_down_as_well_as_up() -> None:
    dark, light = np.zeros((16, 16), np.uint8), np.full((16, 16), 255, np.uint8)
    assert measure(dark, light).max_abs_delta == measure(light, dark).max_abs_delta == 255
    assert measure(dark, light).psnr == pytest.approx(0)


def test_severity_refuses_images_of_other_sizes() -> None:
    with pytest.raises(StudyError, match="same shape"):
        measure(noise(1), noise(1, (24, 25)))
