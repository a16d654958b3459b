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
from steadyread.contracts.tables import IMAGES, SLICES
from steadyread.identity.pixels import image_digest
from steadyread.images.perturb import PerturbImagesSettings, perturb_images
from steadyread.images.severity import measure
from steadyread.images.transforms import TRANSFORMS, blank, transforms_for
from steadyread.slicing.encode import image_row
from steadyread.stages.job import Files

WITH_BLANK = ArmsConfig(enabled=(ArmName.BASE, ArmName.BLANK_IMAGE))
WITHOUT = ArmsConfig(enabled=(ArmName.BASE, ArmName.REVERSE, ArmName.NO_IMAGE))


def noise(seed: int, shape: tuple[int, ...] = (24, 24)) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


def run(folder: Path, stored: list[np.ndarray], sampled: list[np.ndarray], arms: ArmsConfig) -> list[dict]:
    """Store images, let slices point to some of them, perturb."""
    images = [image_row(pixels) for pixels in stored]
    slices = [
        {
            "case_id": "c1",
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
        for index, pixels in enumerate([*sampled, None])
    ]
    write_table(folder / "images.parquet", IMAGES, images)
    write_table(folder / "slices.parquet", SLICES, slices)
    perturb_images(
        inputs=Files({"slices": folder / "slices.parquet", "images": folder / "images.parquet"}),
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
    assert all(transform.levels and transform.arms for transform in TRANSFORMS.values())
    assert [transform.name for transform in transforms_for(tuple(ArmName))] == list(TransformName)
    assert transforms_for((ArmName.BASE,)) == []


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
