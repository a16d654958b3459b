"""The files of a folder, seen as DICOM: which are images, and what their headers say."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydicom.dataset import FileDataset, FileMetaDataset
from pydicom.filereader import read_partial
from pydicom.pixels import apply_modality_lut, pixel_array
from pydicom.tag import BaseTag, Tag
from pydicom.uid import (
    HTJ2K,
    JPEG2000,
    ExplicitVRBigEndian,
    ExplicitVRLittleEndian,
    ImplicitVRLittleEndian,
    JPEGBaseline8Bit,
    JPEGExtended12Bit,
    JPEGLSNearLossless,
)

from ..contracts.enums import Deidentified, Reason
from ..contracts.problems import CaseProblem

ALWAYS_LOSSY = frozenset({JPEGBaseline8Bit, JPEGExtended12Bit, JPEGLSNearLossless})
MAYBE_LOSSY = frozenset({JPEG2000, HTJ2K})
"""Transfer syntaxes that carry lossy or lossless pixels; taken as lossy unless the header says "00"."""
PIXEL_TAGS = frozenset({0x7FE00008, 0x7FE00009, 0x7FE00010})
NO_IMAGES = frozenset(
    {
        "1.2.840.10008.5.1.4.1.1.66.4",  # Segmentation
        "1.2.840.10008.5.1.4.1.1.481.2",  # RT Dose
    }
)
"""Objects that hold pixels but are no images of the patient."""
ENHANCED = frozenset(
    {
        "1.2.840.10008.5.1.4.1.1.2.1",
        "1.2.840.10008.5.1.4.1.1.2.2",
        "1.2.840.10008.5.1.4.1.1.4.1",
        "1.2.840.10008.5.1.4.1.1.4.4",
        "1.2.840.10008.5.1.4.1.1.30",
        "1.2.840.10008.5.1.4.1.1.128.1",
        "1.2.840.10008.5.1.4.1.1.130",
    }
)
"""Multi-frame objects with functional groups (enhanced and legacy converted CT, MR, PET, parametric map)."""
_OTHER_FORMATS = (
    b"%PDF", b"PK\x03\x04", b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"BM", b"\x1f\x8b", b"\xd0\xcf\x11\xe0",
    b"\x00\x00\x00\x01Bud1", b"\x00\x05\x16\x07", b"\x7fELF", b"MZ", b"SQLite format 3", b"NRRD",
)  # fmt: skip
# Nothing else of a file is read: no name, no date.
_KEYWORDS = (
    "SOPClassUID", "SOPInstanceUID", "SeriesInstanceUID", "FrameOfReferenceUID", "InstanceNumber", "ImageType",
    "ImagePositionPatient", "ImageOrientationPatient", "PixelSpacing", "SliceThickness", "EchoTime",
    "PatientIdentityRemoved", "BurnedInAnnotation", "LossyImageCompression",
    "Rows", "Columns", "NumberOfFrames", "SamplesPerPixel", "PhotometricInterpretation", "PlanarConfiguration",
    "BitsAllocated", "BitsStored", "HighBit", "PixelRepresentation", "PixelPaddingValue",
    "RescaleSlope", "RescaleIntercept", "ModalityLUTSequence",
    "ExtendedOffsetTable", "ExtendedOffsetTableLengths",
)  # fmt: skip
UNDEFINED_LENGTH = 0xFFFFFFFF
_MOSAIC_COUNT = BaseTag(0x0019100A)


@dataclass(frozen=True)
class ImageHeader:
    """What one image's header says, as far as slices need it. Frame: LPS, mm, as in the file."""

    path: Path
    sop_class: str
    sop_instance: str
    series: str
    frame_of_reference: str | None
    instance_number: int | None
    position: tuple[float, ...] | None
    orientation: tuple[float, ...] | None
    pixel_spacing: tuple[float, ...] | None
    thickness: float | None
    echo_time: float | None
    rows: int
    columns: int
    frames: int
    samples: int
    photometric: str
    mosaic: bool
    rescaled: bool
    lossy: bool
    identity_removed: str | None
    burned_in: str | None


def image_headers(files: Sequence[Path]) -> list[ImageHeader]:
    """The headers of all images among some files; pixels are not read.

    Files that clearly are no images (text, other formats, DICOMDIR, reports, plans, structure sets,
    segmentations) are passed over.

    Raises
    ------
    CaseProblem
        TRUNCATED_FILE, NO_PIXELS, UNREADABLE for a file that is or may be an image but cannot be
        used; NOT_AN_IMAGE where no file is one.
    """
    headers = [header for header in map(_header, files) if header is not None]
    if not headers:
        raise CaseProblem(
            Reason.NOT_AN_IMAGE, f"none of the {len(files)} file(s) is a DICOM image; expected DICOM, .nii or .nii.gz"
        )
    return headers


def pixels_of(header: ImageHeader) -> NDArray[Any]:
    """Decode one image: shape (rows, columns), stored values, or rescaled ones as float64.

    Raises
    ------
    CaseProblem
        TRUNCATED_FILE or UNREADABLE.
    """
    state = _PixelElement()
    dataset = _read(header.path, (*_KEYWORDS, *PIXEL_TAGS), state.after)
    if not any(tag in dataset for tag in PIXEL_TAGS):
        # pydicom drops encapsulated pixel data whose end is missing.
        raise CaseProblem(Reason.TRUNCATED_FILE, "the compressed pixel data of an image end too early")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pixels: NDArray[Any] = pixel_array(dataset)
            if header.rescaled:
                pixels = apply_modality_lut(pixels, dataset)
    except Exception as error:
        raise _unreadable("the pixels of an image cannot be decoded", error) from error
    if pixels.shape != (header.rows, header.columns):
        raise CaseProblem(
            Reason.UNREADABLE, f"pixels of shape {pixels.shape} where {header.rows} × {header.columns} are announced"
        )
    return pixels


class _PixelElement:
    """Notes the pixel element on the way, and stops the reading before or after it."""

    def __init__(self) -> None:
        self.length: int | None = None
        self.head = 8

    def before(self, tag: BaseTag, vr: str | None, length: int) -> bool:
        if tag in PIXEL_TAGS:
            self.length = length
            # Tag, VR and length of OB, OW, OF and OD take 12 bytes, tag and length of implicit VR 8.
            self.head = 8 if vr is None else 12
            return True
        return int(tag) > 0x7FE00010

    def after(self, tag: BaseTag, vr: str | None, length: int) -> bool:
        # Some files carry megabytes of zeros, which read as elements, behind their pixels.
        if self.length is not None:
            return True
        if tag in PIXEL_TAGS:
            self.length = length
        return int(tag) > 0x7FE00010


def _read(
    path: Path, tags: Sequence[Any], stop: Callable[[BaseTag, str | None, int], bool], handle: Any = None
) -> FileDataset:
    wanted: list[BaseTag | int] = [Tag(tag) for tag in tags]
    try:
        with warnings.catch_warnings():
            # pydicom's warnings quote header values.
            warnings.simplefilter("ignore")
            if handle is None:
                with open(path, "rb") as opened:
                    dataset = read_partial(opened, stop, force=True, specific_tags=wanted)
            else:
                dataset = read_partial(handle, stop, force=True, specific_tags=wanted)
    except Exception as error:
        raise _unreadable("a file cannot be read as DICOM", error) from error
    if "TransferSyntaxUID" not in (dataset.file_meta or {}):
        # A data set without a meta header; pydicom has found out how it is encoded.
        implicit, little = dataset.original_encoding
        dataset.file_meta = dataset.file_meta or FileMetaDataset()
        explicit = ExplicitVRLittleEndian if little else ExplicitVRBigEndian
        dataset.file_meta.TransferSyntaxUID = ImplicitVRLittleEndian if implicit else explicit
    return dataset


def _header(path: Path) -> ImageHeader | None:
    size = path.stat().st_size
    if size == 0:
        raise CaseProblem(Reason.TRUNCATED_FILE, "a file is empty")
    with open(path, "rb") as handle:
        start = handle.read(4096)
        has_preamble = start[128:132] == b"DICM"
        if not has_preamble and _is_another_format(start):
            return None
        handle.seek(0)
        state = _PixelElement()
        dataset = _read(path, (*_KEYWORDS, _MOSAIC_COUNT), state.before, handle)
        position = handle.tell()
    if not has_preamble and "SOPClassUID" not in dataset and "Rows" not in dataset:
        raise CaseProblem(
            Reason.UNREADABLE,
            "a file is neither DICOM nor any other format that is known here; remove it from the folder of the series",
        )
    if str(dataset.get("SOPClassUID", "")) in NO_IMAGES:
        return None
    measured = state.length is not None and state.length != UNDEFINED_LENGTH
    deflated = dataset.file_meta.TransferSyntaxUID.is_deflated
    if position > size or (measured and not deflated and position + state.head + (state.length or 0) > size):
        raise CaseProblem(Reason.TRUNCATED_FILE, "a file ends before its pixel data do")
    if "Rows" not in dataset or "Columns" not in dataset:
        if not state.length:
            return None
        raise CaseProblem(Reason.UNREADABLE, "an image does not say how many rows and columns it has")
    if not state.length:
        raise CaseProblem(Reason.NO_PIXELS, "an image has no pixel data")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _describe(path, dataset)
    except (ValueError, TypeError, OverflowError) as error:
        raise _unreadable("the header of an image has values that cannot be read", error) from error


def _describe(path: Path, dataset: FileDataset) -> ImageHeader:
    syntax = dataset.file_meta.TransferSyntaxUID
    declared = str(dataset.get("LossyImageCompression") or "")
    slope, intercept = _numbers(dataset, "RescaleSlope", 1), _numbers(dataset, "RescaleIntercept", 1)
    return ImageHeader(
        path=path,
        sop_class=str(dataset.get("SOPClassUID", "")),
        sop_instance=str(dataset.get("SOPInstanceUID", "")),
        series=str(dataset.get("SeriesInstanceUID", "")),
        frame_of_reference=str(dataset.get("FrameOfReferenceUID") or "") or None,
        instance_number=_whole(dataset, "InstanceNumber"),
        position=_numbers(dataset, "ImagePositionPatient", 3),
        orientation=_numbers(dataset, "ImageOrientationPatient", 6),
        pixel_spacing=_numbers(dataset, "PixelSpacing", 2),
        thickness=(_numbers(dataset, "SliceThickness", 1) or (None,))[0],
        echo_time=(_numbers(dataset, "EchoTime", 1) or (None,))[0],
        rows=int(dataset.Rows),
        columns=int(dataset.Columns),
        frames=_whole(dataset, "NumberOfFrames") or 1,
        samples=int(dataset.get("SamplesPerPixel") or 1),
        photometric=str(dataset.get("PhotometricInterpretation") or ""),
        mosaic="MOSAIC" in (dataset.get("ImageType") or ()) or _MOSAIC_COUNT in dataset,
        rescaled="ModalityLUTSequence" in dataset or (slope or (1.0,)) != (1.0,) or (intercept or (0.0,)) != (0.0,),
        lossy=declared == "01" or syntax in ALWAYS_LOSSY or (syntax in MAYBE_LOSSY and declared != "00"),
        identity_removed=_word(dataset, "PatientIdentityRemoved"),
        burned_in=_word(dataset, "BurnedInAnnotation"),
    )


def _numbers(dataset: FileDataset, keyword: str, count: int) -> tuple[float, ...] | None:
    """The numbers of an element; None where it is absent, empty, of another length or not finite."""
    value = dataset.get(keyword)
    if value is None or value == "":
        return None
    numbers = tuple(float(item) for item in np.atleast_1d(np.asarray(value, dtype=np.float64)))
    return numbers if len(numbers) == count and np.isfinite(numbers).all() else None


def _whole(dataset: FileDataset, keyword: str) -> int | None:
    value = dataset.get(keyword)
    return None if value is None or value == "" else int(value)


def _word(dataset: FileDataset, keyword: str) -> str | None:
    return str(dataset.get(keyword) or "").strip().upper() or None


def _is_another_format(start: bytes) -> bool:
    if start.startswith(_OTHER_FORMATS):
        return True
    try:
        text = start.decode("utf-8")
    except UnicodeDecodeError as error:
        # The last character may be cut in two.
        if error.start < len(start) - 3:
            return False
        text = start[: error.start].decode("utf-8")
    return all(character.isprintable() or character.isspace() for character in text)


def _unreadable(what: str, error: BaseException) -> CaseProblem:
    # Library messages may quote paths or header values: only the kind of error is told.
    return CaseProblem(Reason.UNREADABLE, f"{what} ({type(error).__name__})")


def stated_deidentified(headers: Sequence[ImageHeader]) -> Deidentified | None:
    """What PatientIdentityRemoved (0012,0062) says: NO where one file denies it, YES where all say so."""
    words = {header.identity_removed for header in headers}
    if "NO" in words:
        return Deidentified.NO
    return Deidentified.YES if words == {"YES"} else None


def stated_burned_in(headers: Sequence[ImageHeader]) -> bool | None:
    """What BurnedInAnnotation (0028,0301) says: true where one file says so, false where all deny it."""
    words = {header.burned_in for header in headers}
    if "YES" in words:
        return True
    return False if words == {"NO"} else None
