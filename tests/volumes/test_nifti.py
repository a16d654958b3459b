"""A NIfTI file is one right volume, or is refused for the right reason."""

from __future__ import annotations

import gzip
from pathlib import Path

import nibabel as nib
import numpy as np
import pytest

from steadyread.contracts.enums import Reason
from steadyread.contracts.problems import CaseProblem
from steadyread.volumes.read import digest_source, read_volume

ARRAY = np.arange(3 * 4 * 5, dtype=np.int16).reshape(3, 4, 5)
AFFINE = np.diag([1.0, 1.0, 3.0, 1.0])


def save(
    path: Path,
    array: np.ndarray = ARRAY,
    sform: np.ndarray | None = AFFINE,
    qform: np.ndarray | None = None,
    **header: object,
) -> Path:
    image = nib.Nifti1Image(array, AFFINE)
    image.set_sform(sform, code=0 if sform is None else 1)
    image.set_qform(qform, code=0 if qform is None else 1)
    for key, value in header.items():
        image.header[key] = value
    image.to_filename(path)
    return path


def refused(path: Path) -> CaseProblem:
    with pytest.raises(CaseProblem) as caught:
        read_volume(path)
    return caught.value


@pytest.mark.parametrize("name", ["a.nii", "a.nii.gz", "A.NII"])
def test_stored_integers_stay_as_they_are(tmp_path: Path, name: str) -> None:
    loaded = read_volume(save(tmp_path / name))
    assert loaded.volume.array.dtype == np.int16
    np.testing.assert_array_equal(loaded.volume.array, ARRAY)
    assert loaded.volume.spacing == (1, 1, 3)
    assert loaded.burned_in is None


def test_a_flipped_affine_with_a_flipped_array_changes_nothing(tmp_path: Path) -> None:
    flip = np.diag([-1.0, 1, 1, 1])
    flip[0, 3] = 2
    one = read_volume(save(tmp_path / "a.nii"))
    other = read_volume(save(tmp_path / "b.nii", ARRAY[::-1], AFFINE @ flip))
    np.testing.assert_array_equal(one.volume.array, other.volume.array)
    np.testing.assert_allclose(one.volume.affine, other.volume.affine)
    assert [other.source_index(0, index) for index in range(3)] == [2, 1, 0]


def test_the_sform_is_taken_where_its_code_is_set_else_the_qform(tmp_path: Path) -> None:
    wide = np.diag([2.0, 2.0, 2.0, 1.0])
    assert read_volume(save(tmp_path / "q.nii", sform=None, qform=wide)).volume.spacing == pytest.approx((2, 2, 2))
    near = AFFINE.copy()
    near[0, 3] = 0.2
    both = read_volume(save(tmp_path / "both.nii", qform=near))
    assert both.volume.affine[0, 3] == 0


def test_a_sform_and_a_qform_that_disagree_are_refused_with_the_distance(tmp_path: Path) -> None:
    far = AFFINE.copy()
    far[2, 3] = 12
    problem = refused(save(tmp_path / "a.nii", qform=far))
    assert problem.reason is Reason.CONFLICTING_ORIENTATION
    assert "12.0 mm" in problem.detail


def test_neither_form_is_no_orientation(tmp_path: Path) -> None:
    assert refused(save(tmp_path / "a.nii", sform=None)).reason is Reason.NO_ORIENTATION


def test_a_singular_affine_is_no_orientation(tmp_path: Path) -> None:
    assert refused(save(tmp_path / "a.nii", sform=np.diag([1.0, 0, 1, 1]))).reason is Reason.NO_ORIENTATION


def test_shear_is_refused_but_rounding_is_not(tmp_path: Path) -> None:
    sheared, rounded = AFFINE.copy(), AFFINE.copy()
    sheared[0, 1], rounded[0, 1] = 0.2, 0.001
    assert refused(save(tmp_path / "a.nii", sform=sheared)).reason is Reason.SHEARED_AFFINE
    assert read_volume(save(tmp_path / "b.nii", sform=rounded)).volume.shape == (3, 4, 5)


def test_trailing_axes_of_one_are_dropped_and_others_are_not(tmp_path: Path) -> None:
    loaded = read_volume(save(tmp_path / "a.nii", ARRAY[..., np.newaxis, np.newaxis]))
    np.testing.assert_array_equal(loaded.volume.array, ARRAY)
    problem = refused(save(tmp_path / "b.nii", np.stack([ARRAY, ARRAY], axis=-1)))
    assert problem.reason is Reason.NOT_3D
    assert "3 × 4 × 5 × 2" in problem.detail
    assert refused(save(tmp_path / "c.nii", ARRAY[0])).reason is Reason.NOT_3D


def test_complex_and_colour_voxels_are_refused(tmp_path: Path) -> None:
    assert refused(save(tmp_path / "a.nii", ARRAY.astype(np.complex64))).reason is Reason.COMPLEX
    colour = np.zeros(ARRAY.shape, dtype=[("R", "u1"), ("G", "u1"), ("B", "u1")])
    assert refused(save(tmp_path / "b.nii", colour)).reason is Reason.COLOUR


def test_the_header_scale_is_applied(tmp_path: Path) -> None:
    image = nib.Nifti1Image(ARRAY, AFFINE)
    image.header.set_slope_inter(0.5, -3)
    # Written by hand: nibabel would scale the stored integers back.
    path = tmp_path / "a.nii"
    image.to_filename(path)
    raw = bytearray(path.read_bytes())
    raw[112:120] = np.array([0.5, -3], dtype="<f4").tobytes()
    path.write_bytes(raw)
    stored = np.frombuffer(bytes(raw[352:]), dtype="<i2").reshape(ARRAY.shape, order="F")
    loaded = read_volume(path)
    assert loaded.volume.array.dtype == np.float32
    np.testing.assert_allclose(loaded.volume.array, stored * 0.5 - 3)


def test_nan_and_infinity_are_counted_and_kept(tmp_path: Path) -> None:
    array = ARRAY.astype(np.float32)
    array[0, 0, :3] = np.nan, np.inf, -np.inf
    loaded = read_volume(save(tmp_path / "a.nii", array))
    assert loaded.nonfinite == 3
    assert np.isnan(loaded.volume.array[0, 0, 0])


@pytest.mark.parametrize("fill", [0.0, np.nan])
def test_one_finite_value_is_no_image_and_two_are(tmp_path: Path, fill: float) -> None:
    array = np.full(ARRAY.shape, fill, dtype=np.float32)
    array[0, 0, :2] = 5, 6
    assert np.nanmax(read_volume(save(tmp_path / "two.nii", array)).volume.array) == 6
    array[0, 0, :2] = 5, 5
    array[array != 5] = np.nan
    assert refused(save(tmp_path / "one.nii", array)).reason is Reason.CONSTANT


@pytest.mark.parametrize(
    ("spacing", "axis"),
    [((1, 1, 3), 2), ((4, 1, 1), 0), ((1, 2, 1), 1), ((1, 1, 1), 2), ((1.005, 1, 1), 2), ((2, 2, 1), 2)],
)
def test_the_native_axis_is_that_of_the_largest_spacing(tmp_path: Path, spacing: tuple, axis: int) -> None:
    path = save(tmp_path / "a.nii", sform=np.diag([*map(float, spacing), 1.0]))
    assert read_volume(path).native_axis == axis


def test_metres_and_micrometres_become_millimetres(tmp_path: Path) -> None:
    path = save(tmp_path / "a.nii", sform=np.diag([1000.0, 1000, 3000, 1]), xyzt_units=3)
    assert read_volume(path).volume.spacing == pytest.approx((1, 1, 3))


def test_big_and_little_endian_are_the_same(tmp_path: Path) -> None:
    big = nib.Nifti1Image(ARRAY, AFFINE, nib.Nifti1Header(endianness=">"))
    big.header.set_data_dtype(">i2")
    big.set_sform(AFFINE, code=1)
    big.to_filename(tmp_path / "big.nii")
    loaded = read_volume(tmp_path / "big.nii")
    np.testing.assert_array_equal(loaded.volume.array, ARRAY)
    assert loaded.volume.array.dtype.isnative


@pytest.mark.parametrize("name", ["a.nii", "a.nii.gz"])
def test_a_truncated_file_is_refused(tmp_path: Path, name: str) -> None:
    path = save(tmp_path / name, np.random.default_rng(0).integers(0, 9999, (20, 20, 20), dtype=np.int16))
    path.write_bytes(path.read_bytes()[:-500])
    assert refused(path).reason is Reason.TRUNCATED_FILE


def test_damaged_compression_is_refused(tmp_path: Path) -> None:
    path = save(tmp_path / "a.nii.gz", np.random.default_rng(0).integers(0, 9999, (20, 20, 20), dtype=np.int16))
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2 : len(raw) // 2 + 200] = bytes(200)
    path.write_bytes(raw)
    assert refused(path).reason in (Reason.UNREADABLE, Reason.TRUNCATED_FILE)


def test_what_is_no_nifti_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.nii").write_bytes(b"nothing of the kind" * 50)
    (tmp_path / "b.nii.gz").write_bytes(gzip.compress(b"nothing of the kind" * 50))
    (tmp_path / "c.nii.gz").write_bytes(b"not even gzip")
    assert refused(tmp_path / "a.nii").reason is Reason.NOT_AN_IMAGE
    assert refused(tmp_path / "b.nii.gz").reason is Reason.NOT_AN_IMAGE
    assert refused(tmp_path / "c.nii.gz").reason in (Reason.NOT_AN_IMAGE, Reason.UNREADABLE)


def test_a_folder_of_nifti_files_must_be_named_more_precisely(tmp_path: Path) -> None:
    save(tmp_path / "a.nii")
    assert read_volume(tmp_path).volume.shape == (3, 4, 5)
    save(tmp_path / "b.nii")
    assert refused(tmp_path).reason is Reason.UNSUPPORTED_FORMAT


def test_the_digest_of_a_folder_is_that_of_its_contents(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    (one / "deep").mkdir(parents=True)
    other.mkdir()
    (one / "a").write_bytes(b"1")
    (one / "deep" / "b").write_bytes(b"2")
    (other / "z").write_bytes(b"1")
    (other / "y").write_bytes(b"2")
    assert digest_source(one) == digest_source(other)
    (other / "y").write_bytes(b"3")
    assert digest_source(one) != digest_source(other)
