"""What DICOM headers say of de-identification and burned-in text, and of what a file is."""

from __future__ import annotations

import tarfile
from pathlib import Path

import numpy as np
import pytest
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.uid import ExplicitVRLittleEndian, MRImageStorage, SegmentationStorage

from steadyread.cohorts.deidentification import HeaderClaims, deidentified_state, header_claims
from steadyread.cohorts.kinds import infer_kind
from steadyread.contracts.enums import AnnotationKind, Deidentified

NAME = "Doe^Jane"


def write_image(path: Path, removed: str | None, burned: str | None, modality: str = "MR") -> Path:
    image = Dataset()
    image.file_meta = FileMetaDataset()
    image.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian
    image.SOPClassUID = SegmentationStorage if modality == "SEG" else MRImageStorage
    image.SOPInstanceUID = f"1.2.3.{len(path.name)}"
    image.file_meta.MediaStorageSOPClassUID = image.SOPClassUID
    image.file_meta.MediaStorageSOPInstanceUID = image.SOPInstanceUID
    image.Modality, image.PatientName, image.SeriesInstanceUID = modality, NAME, "1.2.3"
    if removed is not None:
        image.PatientIdentityRemoved = removed
    if burned is not None:
        image.BurnedInAnnotation = burned
    image.Rows = image.Columns = 4
    image.SamplesPerPixel, image.PhotometricInterpretation = 1, "MONOCHROME2"
    image.BitsAllocated, image.BitsStored, image.HighBit, image.PixelRepresentation = 16, 16, 15, 0
    image.PixelData = np.zeros((4, 4), dtype=np.uint16).tobytes()
    path.parent.mkdir(exist_ok=True)
    image.save_as(path, enforce_file_format=True)
    return path


YES, NO = Deidentified.YES, Deidentified.NO


@pytest.mark.parametrize(
    ("removed", "expected"),
    [
        (["YES", "YES"], YES),
        (["YES", "NO"], NO),
        (["YES", None], None),
        ([None, None], None),
        ([None, "NO"], NO),
    ],
)
def test_one_image_that_denies_or_is_silent_decides_for_the_series(
    tmp_path: Path, removed: list[str | None], expected: Deidentified | None
) -> None:
    for number, word in enumerate(removed):
        write_image(tmp_path / "series" / f"{number}.dcm", word, None)
    assert header_claims(tmp_path / "series").deidentified is expected


@pytest.mark.parametrize(
    ("burned", "expected"),
    [(["NO", "NO"], False), (["NO", "YES"], True), (["NO", None], None), ([None, "YES"], True)],
)
def test_one_burned_in_image_is_enough(tmp_path: Path, burned: list[str | None], expected: bool | None) -> None:
    for number, word in enumerate(burned):
        write_image(tmp_path / "series" / f"{number}.dcm", None, word)
    assert header_claims(tmp_path / "series").burned_in is expected


def test_an_archive_says_what_its_folder_says(tmp_path: Path) -> None:
    write_image(tmp_path / "series" / "1.dcm", "YES", "NO")
    with tarfile.open(tmp_path / "series.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "series", "series")
    assert header_claims(tmp_path / "series.tar.gz") == HeaderClaims(YES, False)


@pytest.mark.parametrize("name", ["broken.dcm", "volume.nii.gz", "broken.tar.gz"])
def test_what_is_no_dicom_claims_nothing(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"\x1f\x8b nothing")
    assert header_claims(tmp_path / name) == HeaderClaims()


def test_the_tables_word_goes_before_the_headers_and_these_before_the_attestation() -> None:
    says_no = HeaderClaims(NO)
    assert deidentified_state(YES, says_no, True) is YES
    assert deidentified_state(None, says_no, True) is NO
    assert deidentified_state(None, HeaderClaims(), True) is Deidentified.ATTESTED
    assert deidentified_state(None, HeaderClaims(), False) is Deidentified.UNKNOWN


def test_a_dicom_annotation_is_a_segmentation_only_where_it_says_so(tmp_path: Path) -> None:
    assert infer_kind(write_image(tmp_path / "seg" / "a", None, None, "SEG")) is AnnotationKind.SEG
    assert infer_kind(tmp_path / "seg") is AnnotationKind.SEG
    assert infer_kind(write_image(tmp_path / "image.dcm", None, None)) is None
    (tmp_path / "odd.bin").write_bytes(b"odd")
    assert infer_kind(tmp_path / "odd.bin") is None
