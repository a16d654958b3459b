"""The phantom's files: reproducible to the byte, and readable by others."""

from __future__ import annotations

import csv
import hashlib
from pathlib import Path

import nibabel
import numpy as np
import pytest
from pydicom import dcmread

from steadyread.phantom.cohort import write_case
from steadyread.phantom.design import PhantomCase, plan
from steadyread.phantom.write_dicom import NO_DATE, NO_TIME


def digests(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_the_table_names_files_that_exist_beside_it(cohort: Path, cases: tuple[PhantomCase, ...]) -> None:
    with open(cohort / "cohort.tsv", encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle, dialect="excel-tab"))
    assert [row["case_id"] for row in rows] == [case.case_id for case in cases]
    named = {row[column] for row in rows for column in ("volume", "annotation") if row[column]}
    assert all(name.startswith("files/") and (cohort / name).exists() for name in named)


def test_the_cohort_is_small(cohort: Path) -> None:
    assert sum(path.stat().st_size for path in cohort.rglob("*") if path.is_file()) < 15e6


@pytest.mark.parametrize("index", [0, 8, 16], ids=["dicom_seg", "nifti_mask", "nifti_slice_table"])
def test_the_same_seed_gives_the_same_bytes_wherever_and_whenever_it_is_written(
    cohort: Path, cases: tuple[PhantomCase, ...], tmp_path: Path, index: int
) -> None:
    case = cases[index]
    write_case(case, tmp_path / "elsewhere")
    again = digests(tmp_path / "elsewhere")
    first = digests(cohort / "files")
    assert again == {name: first[name] for name in again}
    assert again


def test_another_seed_gives_other_bytes(cohort: Path, cases: tuple[PhantomCase, ...], tmp_path: Path) -> None:
    write_case(plan(1, cases[8].options)[8], tmp_path)
    again = digests(tmp_path)
    first = digests(cohort / "files")
    assert again.keys() <= first.keys()
    assert all(again[name] != first[name] for name in again)


def test_no_file_holds_a_date_of_its_writing(cohort: Path) -> None:
    series = sorted((cohort / "files").glob("*/*_lesions.dcm")) + sorted((cohort / "files").glob("*/*/*.dcm"))[::20]
    assert len(series) > 8
    for path in series:
        for element in dcmread(path).iterall():
            if element.VR in ("DA", "TM", "DT"):
                assert str(element.value or "") in ("", NO_DATE, NO_TIME, NO_DATE + NO_TIME), element.keyword
    for path in (cohort / "files").rglob("*.nii.gz"):
        # gzip (RFC 1952): no flags, so no file name, and modification time 0.
        assert path.read_bytes()[3:8] == bytes(5)


def test_nifti_files_keep_their_axis_order_and_their_voxels(cohort: Path, cases: tuple[PhantomCase, ...]) -> None:
    for case in cases:
        if case.stored_axes is None:
            continue
        image = nibabel.load(cohort / "files" / case.patient_id / case.sequence / "volume.nii.gz")
        assert "".join(nibabel.aff2axcodes(image.affine)) == case.stored_axes
        assert image.get_data_dtype() == np.int16
        # A float32 quaternion near a half turn (LPS) is only good to some 1e-3 rad.
        corner = np.array([*image.shape, 2]) - 1
        np.testing.assert_allclose(image.get_sform() @ corner, image.get_qform() @ corner, atol=0.3)
        canonical = nibabel.as_closest_canonical(image)
        np.testing.assert_allclose(canonical.affine, case.grid.affine, atol=1e-4)
        if case.case_id.endswith("5-t1ce") or case.stored_axes in ("PSR", "SAR"):
            np.testing.assert_array_equal(np.asarray(canonical.dataobj), case.volume())


def test_masks_lie_on_the_grid_of_their_volume(cohort: Path, cases: tuple[PhantomCase, ...]) -> None:
    masks = sorted((cohort / "files").rglob("lesions.nii.gz"))
    assert len(masks) == 8
    for path in masks:
        mask, volume = nibabel.load(path), nibabel.load(path.with_name("volume.nii.gz"))
        assert mask.shape == volume.shape
        np.testing.assert_array_equal(mask.affine, volume.affine)
        assert set(np.unique(np.asarray(mask.dataobj))) <= {0, 1, 2, 3}
