"""A folder of classic DICOM images is one right volume, or is refused for the right reason."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pydicom
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydicom.uid import ImplicitVRLittleEndian

from steadyread.contracts.enums import Deidentified, Reason
from steadyread.contracts.problems import CaseProblem
from steadyread.volumes.read import LoadedVolume, digest_source, read_volume

Writer = Callable[..., list[Path]]


def refused(folder: Path) -> CaseProblem:
    with pytest.raises(CaseProblem) as caught:
        read_volume(folder)
    return caught.value


def same(one: LoadedVolume, other: LoadedVolume) -> bool:
    return np.array_equal(one.volume.array, other.volume.array) and np.allclose(one.volume.affine, other.volume.affine)


def test_an_axial_series_lies_where_its_positions_say(tmp_path: Path, images: np.ndarray, write_series: Writer) -> None:
    write_series(tmp_path, images)
    loaded = read_volume(tmp_path)
    # LPS columns run to the left and rows to the back: canonical axes run against both.
    np.testing.assert_array_equal(loaded.volume.array, images.transpose(2, 1, 0)[::-1, ::-1])
    assert loaded.volume.spacing == pytest.approx((1.0, 2.0, 3.0))
    # Pixel (row 0, column 0) of the first image is at LPS (-10, -20, 0), that is RAS (10, 20, 0).
    np.testing.assert_allclose(loaded.volume.affine @ [3, 5, 0, 1], [10, 20, 0, 1])
    assert loaded.native_axis == 2
    assert (loaded.lossy, loaded.burned_in, loaded.nonfinite) == (False, None, 0)
    assert loaded.deidentified is Deidentified.UNKNOWN


def test_a_sagittal_series_is_native_across_the_first_axis(
    tmp_path: Path, images: np.ndarray, write_series: Writer
) -> None:
    positions = [(-8.0 + 4 * index, -20.0, 30.0) for index in range(5)]
    write_series(tmp_path, images, orientation=(0, 1, 0, 0, 0, -1), positions=positions)
    loaded = read_volume(tmp_path)
    assert loaded.native_axis == 0
    assert loaded.volume.spacing == pytest.approx((4.0, 1.0, 2.0))
    # x grows to the left in LPS: the last image is the leftmost, canonical index 0.
    np.testing.assert_array_equal(loaded.volume.array[0], images[4].T[::-1, ::-1])
    assert [loaded.source_index(0, index) for index in range(5)] == [4, 3, 2, 1, 0]


@given(seed=st.integers(0, 10_000))
@settings(deadline=None, max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_names_and_order_of_the_files_change_nothing(
    tmp_path: Path, images: np.ndarray, write_series: Writer, seed: int
) -> None:
    draw = random.Random(seed)
    order = draw.sample(range(5), 5)
    folder = tmp_path / str(seed)
    shutil.rmtree(folder, ignore_errors=True)
    straight = write_series(folder / "straight", images)
    (folder / "mixed" / "deep").mkdir(parents=True)
    for place, index in enumerate(order):
        where = folder / "mixed" / draw.choice([".", "deep"])
        shutil.copy(straight[index], where / f"{draw.random()}_{place}")
    one, other = read_volume(folder / "straight"), read_volume(folder / "mixed")
    assert same(one, other)
    assert one.native_order == other.native_order
    assert digest_source(folder / "straight") == digest_source(folder / "mixed")


def test_instance_numbers_never_order_the_slices_but_are_kept(
    tmp_path: Path, images: np.ndarray, write_series: Writer
) -> None:
    write_series(tmp_path / "a", images)
    write_series(tmp_path / "b", images, numbers=[9, 2, 7, 1, 4])
    one, other = read_volume(tmp_path / "a"), read_volume(tmp_path / "b")
    assert same(one, other)
    assert other.instance_numbers == (9, 2, 7, 1, 4)
    assert [other.source_index(2, index) for index in range(5)] == [4, 1, 3, 0, 2]


def test_repeated_instance_numbers_give_the_order_of_positions(
    tmp_path: Path, images: np.ndarray, write_series: Writer
) -> None:
    write_series(tmp_path, images, numbers=[1, 1, 1, 1, 1], each=lambda i: {"SOPInstanceUID": f"1.2.{i + 1}"})
    loaded = read_volume(tmp_path)
    assert loaded.instance_numbers is None
    assert loaded.native_order == (0, 1, 2, 3, 4)


def test_rescaling_is_applied_image_by_image(tmp_path: Path, images: np.ndarray, write_series: Writer) -> None:
    write_series(tmp_path, images, each=lambda i: {"RescaleSlope": i + 0.5, "RescaleIntercept": -i})
    expected = np.stack([image * (i + 0.5) - i for i, image in enumerate(images)])
    loaded = read_volume(tmp_path)
    assert loaded.volume.array.dtype == np.float32
    np.testing.assert_allclose(loaded.volume.array, expected.transpose(2, 1, 0)[::-1, ::-1], rtol=1e-6)


def test_monochrome1_is_turned_over_once(tmp_path: Path, images: np.ndarray, write_series: Writer) -> None:
    spread = images.astype(np.int64) * 400
    spread[0, 0, 0], spread[-1, -1, -1] = -32768, 32767
    write_series(tmp_path / "two", spread.astype(np.int16))
    write_series(tmp_path / "one", spread.astype(np.int16), PhotometricInterpretation="MONOCHROME1")
    bright = read_volume(tmp_path / "two").volume.array.astype(np.int64)
    dark = read_volume(tmp_path / "one").volume.array.astype(np.int64)
    np.testing.assert_array_equal(bright + dark, -1)


def test_positions_that_jitter_by_two_percent_are_regular(
    tmp_path: Path, images: np.ndarray, write_series: Writer
) -> None:
    heights = [0.0, 3.05, 6.0, 8.95, 12.0]
    write_series(tmp_path, images, positions=[(0, 0, height) for height in heights])
    assert read_volume(tmp_path).volume.spacing[2] == pytest.approx(3.0)


def test_a_missing_slice_is_named(tmp_path: Path, images: np.ndarray, write_series: Writer) -> None:
    write_series(tmp_path, images, positions=[(0, 0, height) for height in (0, 3, 9, 12, 21)])
    problem = refused(tmp_path)
    assert problem.reason is Reason.MISSING_SLICE
    assert "found 5 of 8 slices" in problem.detail
    assert "6.0, 15.0, 18.0 mm" in problem.detail


@pytest.mark.parametrize(
    ("heights", "reason"),
    [
        ((0, 3, 6, 6, 9), Reason.DUPLICATE_POSITION),
        ((0, 0, 0, 0, 0), Reason.DUPLICATE_POSITION),
        ((0, 3, 7, 10, 13), Reason.IRREGULAR_SPACING),
        ((0, 1, 3, 6, 10), Reason.MISSING_SLICE),
    ],
)
def test_uneven_positions_are_refused(
    tmp_path: Path, images: np.ndarray, write_series: Writer, heights: tuple, reason: Reason
) -> None:
    write_series(tmp_path, images, positions=[(0, 0, height) for height in heights])
    assert refused(tmp_path).reason is reason


def test_two_time_points_are_no_volume(tmp_path: Path, images: np.ndarray, write_series: Writer) -> None:
    write_series(tmp_path, images[:4], positions=[(0, 0, 0), (0, 0, 3), (0, 0, 0), (0, 0, 3)])
    problem = refused(tmp_path)
    assert problem.reason is Reason.NOT_3D
    assert "2 images at each of 2 positions" in problem.detail


def test_a_tilted_stack_is_refused_with_its_angle(tmp_path: Path, images: np.ndarray, write_series: Writer) -> None:
    write_series(tmp_path, images, positions=[(0, np.tan(np.radians(10)) * 3 * i, 3 * i) for i in range(5)])
    problem = refused(tmp_path)
    assert problem.reason is Reason.GANTRY_TILT
    assert "10.0°" in problem.detail


def on_one(index: int, **values: Any) -> Callable[[int], dict[str, Any]]:
    return lambda i: values if i == index else {}


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"each": on_one(2, SeriesInstanceUID="1.9")}, Reason.MIXED_SERIES),
        ({"each": on_one(2, PhotometricInterpretation="MONOCHROME1")}, Reason.MIXED_SERIES),
        ({"each": on_one(2, PixelSpacing=[2.1, 1.0])}, Reason.MIXED_SERIES),
        ({"each": on_one(2, ImageOrientationPatient=[0, 1, 0, 0, 0, -1])}, Reason.MIXED_ORIENTATIONS),
        ({"each": on_one(2, ImagePositionPatient=None)}, Reason.MISSING_POSITION),
        ({"each": on_one(2, ImageOrientationPatient=None)}, Reason.MISSING_POSITION),
        ({"PixelSpacing": None}, Reason.MISSING_POSITION),
        ({"each": lambda i: {"EchoTime": 20 * (1 + i % 2)}}, Reason.NOT_3D),
        ({"PhotometricInterpretation": "PALETTE COLOR"}, Reason.COLOUR),
        ({"NumberOfFrames": 2}, Reason.UNSUPPORTED_FORMAT),
        ({"SOPClassUID": "1.2.840.10008.5.1.4.1.1.4.1"}, Reason.UNSUPPORTED_FORMAT),
        ({"ImageType": ["ORIGINAL", "PRIMARY", "M", "MOSAIC"]}, Reason.UNSUPPORTED_FORMAT),
        ({"PixelData": None}, Reason.NO_PIXELS),
        ({"ImageOrientationPatient": [1, 0, 0, 0.5, 1, 0]}, Reason.SHEARED_AFFINE),
        ({"SOPClassUID": "1.2.840.10008.5.1.4.1.1.66.4"}, Reason.NOT_AN_IMAGE),
    ],
)
def test_what_is_no_single_greyscale_stack_is_refused(
    tmp_path: Path, images: np.ndarray, write_series: Writer, values: dict[str, Any], reason: Reason
) -> None:
    write_series(tmp_path, images, **values)
    assert refused(tmp_path).reason is reason


def test_a_constant_series_is_refused_unless_it_may_be_constant(
    tmp_path: Path, images: np.ndarray, write_series: Writer
) -> None:
    write_series(tmp_path, np.full_like(images, 7))
    assert refused(tmp_path).reason is Reason.CONSTANT
    assert read_volume(tmp_path, constant_ok=True).volume.array.max() == 7


def test_megabytes_of_zeros_behind_the_pixels_are_not_read(
    tmp_path: Path, images: np.ndarray, write_series: Writer
) -> None:
    write_series(tmp_path / "a", images)
    paths = write_series(tmp_path / "b", images)
    paths[0].write_bytes(paths[0].read_bytes() + bytes(2_490_000))
    assert same(read_volume(tmp_path / "a"), read_volume(tmp_path / "b"))


@pytest.mark.parametrize("cut", [1, 40, 300])
def test_a_truncated_file_is_refused(tmp_path: Path, images: np.ndarray, write_series: Writer, cut: int) -> None:
    paths = write_series(tmp_path, np.repeat(np.repeat(images, 8, axis=1), 8, axis=2))
    paths[3].write_bytes(paths[3].read_bytes()[:-cut])
    assert refused(tmp_path).reason is Reason.TRUNCATED_FILE


def test_an_empty_file_is_refused(tmp_path: Path, images: np.ndarray, write_series: Writer) -> None:
    write_series(tmp_path, images)[4].write_bytes(b"")
    assert refused(tmp_path).reason is Reason.TRUNCATED_FILE


def test_files_that_are_no_images_are_passed_over(tmp_path: Path, images: np.ndarray, write_series: Writer) -> None:
    write_series(tmp_path, images)
    before = read_volume(tmp_path)
    (tmp_path / "notes.txt").write_text("Befund: ü" * 900)
    (tmp_path / "preview.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(200))
    report = pydicom.dcmread(tmp_path / "000.dcm")
    for keyword in ("PixelData", "Rows", "Columns"):
        delattr(report, keyword)
    report.SOPClassUID, report.SeriesInstanceUID = "1.2.840.10008.5.1.4.1.1.88.11", "1.7"
    report.save_as(tmp_path / "report.dcm")
    assert same(read_volume(tmp_path), before)


def test_a_file_that_might_be_a_damaged_image_is_not_passed_over(
    tmp_path: Path, images: np.ndarray, write_series: Writer
) -> None:
    path = write_series(tmp_path, images)[0]
    content = path.read_bytes()
    path.write_bytes(bytes(range(256)) + content[256:])
    assert refused(tmp_path).reason is Reason.UNREADABLE


def test_images_without_a_meta_header_are_read(tmp_path: Path, images: np.ndarray, write_series: Writer) -> None:
    before = read_volume(write_series(tmp_path / "a", images)[0].parent)
    for path in (tmp_path / "a").iterdir():
        dataset = pydicom.dcmread(path)
        del dataset.file_meta
        dataset.save_as(tmp_path / path.name, implicit_vr=ImplicitVRLittleEndian.is_implicit_VR, little_endian=True)
        path.unlink()
    assert same(read_volume(tmp_path), before)


@pytest.mark.parametrize(
    ("each", "expected"),
    [
        (lambda i: {"PatientIdentityRemoved": "YES"}, Deidentified.YES),
        (lambda i: {"PatientIdentityRemoved": "YES"} if i else {}, Deidentified.UNKNOWN),
        (lambda i: {"PatientIdentityRemoved": "YES" if i else "NO"}, Deidentified.NO),
    ],
)
def test_deidentification_is_what_every_image_says(
    tmp_path: Path, images: np.ndarray, write_series: Writer, each: Callable, expected: Deidentified
) -> None:
    write_series(tmp_path, images, each=each)
    assert read_volume(tmp_path).deidentified is expected


@pytest.mark.parametrize(
    ("each", "expected"),
    [
        (lambda i: {"BurnedInAnnotation": "NO"}, False),
        (lambda i: {"BurnedInAnnotation": "YES" if i == 3 else "NO"}, True),
        (lambda i: {"BurnedInAnnotation": "NO"} if i else {}, None),
    ],
)
def test_one_image_with_burned_in_text_is_enough(
    tmp_path: Path, images: np.ndarray, write_series: Writer, each: Callable, expected: bool | None
) -> None:
    write_series(tmp_path, images, each=each)
    assert read_volume(tmp_path).burned_in is expected


def test_lossy_compression_is_reported(tmp_path: Path, images: np.ndarray, write_series: Writer) -> None:
    write_series(tmp_path, images, each=lambda i: {"LossyImageCompression": "01" if i == 2 else "00"})
    assert read_volume(tmp_path).lossy


def test_one_image_needs_its_thickness(tmp_path: Path, images: np.ndarray, write_series: Writer) -> None:
    write_series(tmp_path / "with", images[:1], SliceThickness=4.0)
    assert read_volume(tmp_path / "with").volume.spacing[2] == pytest.approx(4.0)
    write_series(tmp_path / "without", images[:1])
    assert refused(tmp_path / "without").reason is Reason.TOO_FEW_SLICES


def test_no_detail_quotes_the_header_or_the_path(tmp_path: Path, images: np.ndarray, write_series: Writer) -> None:
    folder = tmp_path / "Doe_Jane_19700101"
    for index, values in enumerate(
        [{"PixelData": None}, {"PixelSpacing": None}, {"each": on_one(1, SeriesInstanceUID="1.99.7")}]
    ):
        write_series(folder / str(index), images, PatientName="Doe^Jane", PatientID="4711", **values)
        problem = refused(folder / str(index))
        for secret in ("Doe", "Jane", "4711", "1.99.7", "1.2.3.4", "19700101"):
            assert secret not in problem.detail
