"""The phantom's DICOM: a valid series and SEG, as tools that know nothing of steadyread read them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import dcm2niix
import highdicom
import nibabel
import numpy as np
import pytest
from pydicom import Dataset, config, dcmread

from steadyread.phantom.design import PhantomCase
from steadyread.phantom.lesions import CORE, ENHANCING, OEDEMA


@pytest.fixture(scope="module")
def dicom_cases(cases: tuple[PhantomCase, ...]) -> list[PhantomCase]:
    found = [case for case in cases if case.stored_axes is None]
    assert len(found) == 8
    return found


def read_series(cohort: Path, case: PhantomCase) -> list[Dataset]:
    """The series in the order of its file names, values validated."""
    config.settings.reading_validation_mode = config.RAISE
    try:
        folder = cohort / "files" / case.patient_id / case.sequence
        return [dcmread(path) for path in sorted(folder.iterdir())]
    finally:
        config.settings.reading_validation_mode = config.WARN


def heights(series: list[Dataset]) -> list[float]:
    return [float(item.ImagePositionPatient[2]) for item in series]


def test_order_of_names_and_of_instance_numbers_is_not_the_order_in_space(
    cohort: Path, dicom_cases: list[PhantomCase]
) -> None:
    for case in dicom_cases:
        by_name = read_series(cohort, case)
        by_instance = sorted(by_name, key=lambda item: int(item.InstanceNumber))
        assert [int(item.InstanceNumber) for item in by_instance] == list(range(1, case.grid.shape[2] + 1))
        for ordered in (by_name, by_instance):
            assert heights(ordered) not in (sorted(heights(ordered)), sorted(heights(ordered), reverse=True))


def test_headers_say_that_nobody_is_in_them(cohort: Path, dicom_cases: list[PhantomCase]) -> None:
    for case in dicom_cases:
        segmentation = dcmread(cohort / "files" / case.patient_id / f"{case.sequence}_lesions.dcm")
        for item in [*read_series(cohort, case), segmentation]:
            assert item.PatientIdentityRemoved == "YES"
            assert item.DeidentificationMethod
            assert not item.PatientName
            assert not item.PatientBirthDate
            assert item.PatientID == case.patient_id


def test_uids_tie_a_patient_together_and_tell_images_apart(cohort: Path, dicom_cases: list[PhantomCase]) -> None:
    instances: list[str] = []
    for first, second in zip(dicom_cases[::2], dicom_cases[1::2], strict=True):
        t1, t2 = read_series(cohort, first), read_series(cohort, second)
        assert len({item.StudyInstanceUID for item in t1 + t2}) == 1
        assert len({item.FrameOfReferenceUID for item in t1 + t2}) == 1
        assert len({item.SeriesInstanceUID for item in t1 + t2}) == 2
        instances += [item.SOPInstanceUID for item in t1 + t2]
        assert all(item.SOPInstanceUID.is_valid for item in t1 + t2)
    assert len(set(instances)) == len(instances)


@pytest.mark.parametrize("place", [0, 3, 4, 7])
def test_dcm2niix_sees_the_same_voxels_at_the_same_place(
    cohort: Path, dicom_cases: list[PhantomCase], tmp_path: Path, place: int
) -> None:
    case = dicom_cases[place]
    folder = cohort / "files" / case.patient_id / case.sequence
    done = subprocess.run(
        [dcm2niix.bin, "-z", "n", "-b", "n", "-f", "out", "-o", str(tmp_path), str(folder)],
        capture_output=True,
        text=True,
        check=True,
    )
    converted = sorted(tmp_path.glob("*.nii"))
    assert len(converted) == 1, done.stdout
    canonical = nibabel.as_closest_canonical(nibabel.load(converted[0]))
    np.testing.assert_allclose(canonical.affine, case.grid.affine, atol=2e-3)
    np.testing.assert_array_equal(np.asarray(canonical.dataobj), case.volume())


def test_highdicom_reads_the_segments_onto_the_images_they_were_drawn_on(
    cohort: Path, dicom_cases: list[PhantomCase]
) -> None:
    names = {"necrotic core": CORE, "enhancing tumour": ENHANCING, "oedema": OEDEMA}
    for case in dicom_cases:
        segmentation = highdicom.seg.segread(cohort / "files" / case.patient_id / f"{case.sequence}_lesions.dcm")
        series = sorted(read_series(cohort, case), key=lambda item: float(item.ImagePositionPatient[2]))
        labels = case.lesion_map()
        read = segmentation.get_pixels_by_source_instance([item.SOPInstanceUID for item in series])
        assert {names[item.segment_label] for item in segmentation.SegmentSequence} == set(np.unique(labels)) - {0}
        for number, item in enumerate(segmentation.SegmentSequence):
            # Rows run to the back and columns to the left: both against the grid's RAS+ axes.
            expected = (labels == names[item.segment_label])[::-1, ::-1].transpose(2, 1, 0)
            np.testing.assert_array_equal(read[..., number] > 0, expected)
