"""Makes classic DICOM series and NIfTI files for tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.uid import ExplicitVRLittleEndian, generate_uid

SeriesWriter = Callable[..., list[Path]]
MR = "1.2.840.10008.5.1.4.1.1.4"


def write_image(
    path: Path, pixels: np.ndarray, position: Sequence[float], orientation: Sequence[float], number: int, **values: Any
) -> Path:
    """One classic MR image; `values` overrides elements by keyword, None leaves one out."""
    dataset = Dataset()
    dataset.file_meta = FileMetaDataset()
    dataset.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian
    dataset.file_meta.MediaStorageSOPClassUID = MR
    uid = generate_uid(entropy_srcs=["steadyread", str(number)])
    dataset.file_meta.MediaStorageSOPInstanceUID = uid
    elements: dict[str, Any] = {
        "SOPClassUID": MR,
        "SOPInstanceUID": uid,
        "SeriesInstanceUID": "1.2.3.4",
        "FrameOfReferenceUID": "1.2.3.5",
        "Modality": "MR",
        "InstanceNumber": number,
        "ImagePositionPatient": [float(value) for value in position],
        "ImageOrientationPatient": [float(value) for value in orientation],
        "PixelSpacing": [2.0, 1.0],
        "SpacingBetweenSlices": 99.0,
        "Rows": pixels.shape[0],
        "Columns": pixels.shape[1],
        "SamplesPerPixel": 1,
        "PhotometricInterpretation": "MONOCHROME2",
        "BitsAllocated": 16,
        "BitsStored": 16,
        "HighBit": 15,
        "PixelRepresentation": 1,
        "PixelData": pixels.astype("<i2").tobytes(),
    }
    for keyword, value in {**elements, **values}.items():
        if value is not None:
            setattr(dataset, keyword, value)
    dataset.save_as(path, enforce_file_format=True)
    return path


@pytest.fixture
def write_series() -> SeriesWriter:
    """Writes images (n, rows, columns) as one axial series, 3 mm apart unless positions are given."""

    def write(
        folder: Path,
        images: np.ndarray,
        *,
        positions: Sequence[Sequence[float]] | None = None,
        orientation: Sequence[float] = (1, 0, 0, 0, 1, 0),
        names: Sequence[str] | None = None,
        numbers: Sequence[int] | None = None,
        each: Callable[[int], dict[str, Any]] = lambda index: {},
        **values: Any,
    ) -> list[Path]:
        folder.mkdir(parents=True, exist_ok=True)
        count = len(images)
        places = positions or [(-10.0, -20.0, 3.0 * index) for index in range(count)]
        return [
            write_image(
                folder / (names[index] if names else f"{index:03d}.dcm"),
                images[index],
                places[index],
                orientation,
                numbers[index] if numbers else index + 1,
                **{**values, **each(index)},
            )
            for index in range(count)
        ]

    return write


@pytest.fixture
def images() -> np.ndarray:
    """Five different images of 6 rows and 4 columns; every voxel is its own value."""
    return np.arange(5 * 6 * 4, dtype=np.int16).reshape(5, 6, 4) - 30
