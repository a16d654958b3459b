"""Writes phantom volumes as classic single-frame DICOM MR series, and lesions as DICOM SEG."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import numpy as np
from highdicom.seg import Segmentation, SegmentDescription
from numpy.typing import NDArray
from pydicom import Dataset
from pydicom.dataset import FileMetaDataset
from pydicom.sr.codedict import codes
from pydicom.uid import ExplicitVRLittleEndian, MRImageStorage
from pydicom.valuerep import format_number_as_ds

from ..identity.digests import digest_bytes
from ..identity.seeds import permutation, seed_of
from .geometry import FloatArray, Grid
from .lesions import CORE, ENHANCING, OEDEMA

MAKER, MODEL, VERSION = "steadyread", "phantom", "1"
LPS_OF_RAS = np.array([-1.0, -1.0, 1.0])
NO_DATE, NO_TIME = "19000101", "000000"
"""SEG asks for dates; these say that there is none."""
SEGMENTS = {CORE: "necrotic core", ENHANCING: "enhancing tumour", OEDEMA: "oedema"}
"""Segment labels, by lesion map label."""

ECHO: dict[str, tuple[str, str, float, float, int]] = {
    "T1CE": ("SE", "SK", 550.0, 12.0, 1),
    "T2": ("SE", "SK", 4200.0, 95.0, 15),
}
"""Scanning sequence, variant, repetition time (ms), echo time (ms), echo train length."""


@dataclass(frozen=True)
class Series:
    """Whose series it is; what UIDs and file names are derived from."""

    seed: int
    patient_id: str
    sequence: str

    def uid(self, *parts: object) -> str:
        """A UID under 2.25, a function of the series and the parts."""
        return f"2.25.{UUID(int=seed_of('phantom', self.seed, self.patient_id, *parts), version=5).int}"


def write_series(folder: Path, volume: NDArray[np.int16], grid: Grid, series: Series) -> list[Dataset]:
    """Write a volume as one file per slice and return the data sets, feet to head.

    Instance numbers run neither feet to head nor head to feet, and file names follow neither.

    Parameters
    ----------
    folder
        Where the files go.
    volume
        12-bit voxels in the grid's RAS+ axis order (right, front, slice).
    grid
        Where they lie.
    series
        Whose series it is.
    """
    folder.mkdir(parents=True, exist_ok=True)
    slices = grid.shape[2]
    content = digest_bytes(volume.tobytes())
    # Odd slices first, then even ones, as an interleaved acquisition counts them.
    acquired = [*range(1, slices, 2), *range(0, slices, 2)]
    names = permutation(slices, series.seed, "phantom", series.patient_id, series.sequence, "files")
    datasets = []
    for k in range(slices):
        dataset = _mr_image(volume[:, :, k], grid, k, series, content)
        dataset.InstanceNumber = acquired.index(k) + 1
        dataset.save_as(folder / f"IM{names[k] + 1:04d}.dcm", enforce_file_format=True)
        datasets.append(dataset)
    return datasets


def write_segmentation(path: Path, labels: NDArray[np.uint8], sources: list[Dataset], series: Series) -> None:
    """Write a lesion map as a DICOM SEG with one binary segment per label, through highdicom.

    Parameters
    ----------
    path
        The file to write.
    labels
        Lesion map in RAS+ axis order (right, front, slice).
    sources
        The series' data sets, feet to head, as `write_series` returned them.
    series
        Whose lesions.
    """
    displayed = np.stack([_displayed(labels[:, :, k]) for k in range(labels.shape[2])])
    present = [label for label in SEGMENTS if (labels == label).any()]
    masks = np.stack([displayed == label for label in present], axis=-1)
    finding = {
        CORE: codes.SCT.Necrosis,
        ENHANCING: codes.SCT.Neoplasm,
        OEDEMA: codes.SCT.Edema,
    }
    descriptions = [
        SegmentDescription(
            segment_number=number,
            segment_label=SEGMENTS[label],
            segmented_property_category=codes.SCT.MorphologicallyAbnormalStructure,
            segmented_property_type=finding[label],
            algorithm_type="MANUAL",
        )
        for number, label in enumerate(present, start=1)
    ]
    content = digest_bytes(labels.tobytes())
    dataset = Segmentation(
        source_images=sources,
        pixel_array=masks.astype(np.uint8),
        segmentation_type="BINARY",
        segment_descriptions=descriptions,
        series_instance_uid=series.uid(series.sequence, "seg", content),
        series_number=100 + int(sources[0].SeriesNumber),
        sop_instance_uid=series.uid(series.sequence, "seg", content, "instance"),
        instance_number=1,
        manufacturer=MAKER,
        manufacturer_model_name=MODEL,
        software_versions=VERSION,
        device_serial_number="0",
        content_label="LESION",
        content_date=NO_DATE,
        content_time=NO_TIME,
        series_description=f"{series.sequence} lesions",
    )
    _mark_deidentified(dataset)
    dataset.DimensionOrganizationSequence[0].DimensionOrganizationUID = series.uid(series.sequence, "dimensions")
    for index in dataset.DimensionIndexSequence:
        index.DimensionOrganizationUID = series.uid(series.sequence, "dimensions")
    # highdicom stamps the clock; the same phantom has the same bytes.
    dataset.InstanceCreationDate, dataset.InstanceCreationTime = NO_DATE, NO_TIME
    for equipment in dataset.get("ContributingEquipmentSequence", []):
        equipment.ContributionDateTime = NO_DATE + NO_TIME
    path.parent.mkdir(parents=True, exist_ok=True)
    dataset.save_as(path)


def _displayed(plane: NDArray[np.generic]) -> NDArray[np.generic]:
    """A slice (right, front) as rows from the front and columns from the patient's right."""
    return np.ascontiguousarray(plane[::-1, ::-1].T)


def _mr_image(plane: NDArray[np.int16], grid: Grid, k: int, series: Series, content: str) -> Dataset:
    """One MR image: rows run to the back, columns to the patient's left, positions in LPS mm."""
    scanning, variant, repetition, echo, train = ECHO[series.sequence]
    axes, affine = grid.axes, grid.affine
    corner = affine @ np.array([grid.shape[0] - 1, grid.shape[1] - 1, k, 1.0])
    dataset = Dataset()
    dataset.file_meta = _file_meta(series.uid(series.sequence, content, k))
    dataset.SpecificCharacterSet = "ISO_IR 192"
    dataset.ImageType = ["ORIGINAL", "PRIMARY", "M", "NONE"]
    dataset.SOPClassUID = MRImageStorage
    dataset.SOPInstanceUID = dataset.file_meta.MediaStorageSOPInstanceUID
    for name in ("StudyDate", "StudyTime", "AccessionNumber", "ReferringPhysicianName", "PatientName"):
        setattr(dataset, name, "")
    dataset.PatientID = series.patient_id
    dataset.PatientBirthDate = dataset.PatientSex = dataset.StudyID = ""
    dataset.Modality = "MR"
    dataset.Manufacturer, dataset.ManufacturerModelName, dataset.SoftwareVersions = MAKER, MODEL, VERSION
    dataset.QualityControlSubject = "YES"
    _mark_deidentified(dataset)
    dataset.BodyPartExamined = "HEAD"
    dataset.PatientPosition = "HFS"
    dataset.SeriesDescription = dataset.ProtocolName = f"{series.sequence} axial oblique"
    dataset.ScanningSequence, dataset.SequenceVariant, dataset.ScanOptions = scanning, variant, ""
    dataset.MRAcquisitionType = "2D"
    dataset.RepetitionTime, dataset.EchoTime, dataset.EchoTrainLength = repetition, echo, train
    dataset.MagneticFieldStrength = 1.5
    dataset.SliceThickness = 5.0
    dataset.SpacingBetweenSlices = grid.spacing[2]
    if series.sequence == "T1CE":
        dataset.ContrastBolusAgent = "GADOLINIUM"
    dataset.StudyInstanceUID = series.uid("study")
    dataset.SeriesInstanceUID = series.uid(series.sequence, content)
    dataset.SeriesNumber = 1 + list(ECHO).index(series.sequence)
    dataset.FrameOfReferenceUID = series.uid("frame of reference")
    dataset.PositionReferenceIndicator = ""
    dataset.ImagePositionPatient = _decimals(corner[:3] * LPS_OF_RAS)
    dataset.ImageOrientationPatient = _decimals(np.concatenate([-axes[:, 0] * LPS_OF_RAS, -axes[:, 1] * LPS_OF_RAS]))
    dataset.PixelSpacing = _decimals(np.array([grid.spacing[1], grid.spacing[0]]))
    dataset.SamplesPerPixel = 1
    dataset.PhotometricInterpretation = "MONOCHROME2"
    pixels = _displayed(plane).astype("<u2")
    dataset.Rows, dataset.Columns = pixels.shape
    dataset.BitsAllocated, dataset.BitsStored, dataset.HighBit = 16, 12, 11
    dataset.PixelRepresentation = 0
    dataset.BurnedInAnnotation = "NO"
    dataset.LossyImageCompression = "00"
    dataset.PixelData = pixels.tobytes()
    return dataset


def _mark_deidentified(dataset: Dataset) -> None:
    dataset.PatientIdentityRemoved = "YES"
    dataset.DeidentificationMethod = "Synthetic: never held a patient"


def _decimals(values: FloatArray) -> list[str]:
    # DICOM decimal strings hold 16 characters; adding 0 turns -0 into 0.
    return [format_number_as_ds(float(value) + 0.0) for value in values]


def _file_meta(instance_uid: str) -> FileMetaDataset:
    meta = FileMetaDataset()
    meta.MediaStorageSOPClassUID = MRImageStorage
    meta.MediaStorageSOPInstanceUID = instance_uid
    meta.TransferSyntaxUID = ExplicitVRLittleEndian
    return meta
