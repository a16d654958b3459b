"""DICOM segmentations: frames land where their geometry says."""

from __future__ import annotations

import tarfile
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pydicom
import pytest
import SimpleITK as sitk
from highdicom.seg import SegmentAlgorithmTypeValues, Segmentation, SegmentationTypeValues, SegmentDescription
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.sr.codedict import codes
from pydicom.uid import ExplicitVRLittleEndian, MRImageStorage, generate_uid

from steadyread.annotations.dicom_seg import load_seg
from steadyread.config.lesions import LesionsConfig
from steadyread.contracts.enums import Reason
from steadyread.contracts.problems import CaseProblem
from steadyread.volumes.loaded import LoadedVolume
from steadyread.volumes.read import read_volume
from steadyread.volumes.volume import Volume

ROWS, COLUMNS, COUNT, STEP = 8, 10, 9, 5.0


class Series:
    """An axial MR series: rows run to the back, columns to the left, images from feet to head."""

    def __init__(self, folder: Path, step: float = STEP) -> None:
        folder.mkdir(exist_ok=True)
        uids = [generate_uid(entropy_srcs=["seg test", str(n)])[:60] for n in range(3)]
        self.images = [self._image(index, step, uids) for index in range(COUNT)]
        for index, image in enumerate(self.images):
            image.save_as(folder / f"{index}.dcm", enforce_file_format=True)
        self.loaded = read_volume(folder)

    def _image(self, index: int, step: float, uids: list[str]) -> Dataset:
        image = Dataset()
        image.file_meta = FileMetaDataset()
        image.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian
        image.SOPClassUID, image.SOPInstanceUID = MRImageStorage, f"{uids[0]}.{index + 1}"
        image.file_meta.MediaStorageSOPClassUID = image.SOPClassUID
        image.file_meta.MediaStorageSOPInstanceUID = image.SOPInstanceUID
        image.StudyInstanceUID, image.SeriesInstanceUID, image.FrameOfReferenceUID = uids
        for name in ("PatientName", "PatientID", "PatientBirthDate", "PatientSex", "StudyDate", "StudyTime"):
            setattr(image, name, "")
        image.AccessionNumber = image.StudyID = image.ReferringPhysicianName = ""
        image.Modality, image.SeriesNumber, image.InstanceNumber = "MR", 1, index + 1
        image.Rows, image.Columns, image.PixelSpacing, image.SliceThickness = ROWS, COLUMNS, [0.9, 1.1], 4.0
        image.ImageOrientationPatient = [1, 0, 0, 0, 1, 0]
        image.ImagePositionPatient = [-20.0, -30.0, 7 + step * index]
        image.SamplesPerPixel, image.PhotometricInterpretation = 1, "MONOCHROME2"
        image.BitsAllocated, image.BitsStored, image.HighBit, image.PixelRepresentation = 16, 16, 15, 0
        image.PixelData = (np.arange(ROWS * COLUMNS, dtype=np.uint16) + index).tobytes()
        return image

    def segment(
        self,
        path: Path,
        masks: dict[str, np.ndarray],
        kind: SegmentationTypeValues = SegmentationTypeValues.BINARY,
        spacing_stated: bool = True,
    ) -> Path:
        """Write a SEG of masks with axes (image, row, column); frames without lesion are left out."""
        described = [
            SegmentDescription(number, name, codes.SCT.Tissue, codes.SCT.Neoplasm, SegmentAlgorithmTypeValues.MANUAL)
            for number, name in enumerate(masks, start=1)
        ]
        stack = np.stack(list(masks.values()), axis=-1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            seg = Segmentation(
                self.images,
                stack if len(masks) > 1 else stack[..., 0],
                kind,
                described,
                generate_uid(entropy_srcs=["series"]),
                2,
                generate_uid(entropy_srcs=["seg"]),
                1,
                "maker",
                "model",
                "1",
                "device",
            )
        if not spacing_stated:
            shared = seg.SharedFunctionalGroupsSequence[0].PixelMeasuresSequence[0]
            del shared.SpacingBetweenSlices
        seg.save_as(path)
        return path


@pytest.fixture
def series(tmp_path: Path) -> Series:
    return Series(tmp_path / "series")


def blob(*images: int) -> np.ndarray:
    mask = np.zeros((COUNT, ROWS, COLUMNS), dtype=np.uint8)
    for image in images:
        mask[image, 1:4, 2 : 4 + image % 3] = 1
    return mask


def canonical(mask: np.ndarray) -> np.ndarray:
    """(image, row, column) to RAS+: columns run to the left, rows to the back, images to the head."""
    return mask.transpose(2, 1, 0)[::-1, ::-1, :] > 0


def load(
    path: Path, series: Series, segments: tuple[str, ...] | None = None, loaded: LoadedVolume | None = None,
    resample: bool = False,
) -> np.ndarray:  # fmt: skip
    return load_seg(path, segments, loaded or series.loaded, LesionsConfig(resample=resample))


def refused(*args: object, **kwargs: object) -> CaseProblem:
    with pytest.raises(CaseProblem) as caught:
        load(*args, **kwargs)  # type: ignore[arg-type]
    return caught.value


@pytest.mark.parametrize("spacing_stated", [True, False])
@pytest.mark.parametrize("images", [(3,), (2, 3, 4), (1, 7), (0, 3, 8), (0, 2, 5, 8)])
def test_sparse_frames_land_on_their_slices_and_on_no_others(
    series: Series, tmp_path: Path, images: tuple[int, ...], spacing_stated: bool
) -> None:
    path = series.segment(tmp_path / "seg.dcm", {"Lesion": blob(*images)}, spacing_stated=spacing_stated)
    assert np.array_equal(load(path, series), canonical(blob(*images)))


def test_named_segments_are_joined_by_label_or_number(series: Series, tmp_path: Path) -> None:
    masks = {"Core": blob(2), "Oedema, diffuse": blob(2, 3), "Brain": blob(5)}
    path = series.segment(tmp_path / "seg.dcm", masks)
    both = canonical(masks["Core"] | masks["Oedema, diffuse"])
    assert np.array_equal(load(path, series, ("core", "Oedema, diffuse")), both)
    assert np.array_equal(load(path, series, ("1", "2")), both)
    assert np.array_equal(load(path, series, ("Oedema", "diffuse")), canonical(masks["Oedema, diffuse"]))


def test_several_segments_and_none_named_is_ambiguous(series: Series, tmp_path: Path) -> None:
    problem = refused(series.segment(tmp_path / "seg.dcm", {"A": blob(1), "B": blob(2)}), series)
    assert problem.reason is Reason.ANNOTATION_AMBIGUOUS and "2 segments" in problem.detail


def test_a_segment_that_is_not_there_is_refused(series: Series, tmp_path: Path) -> None:
    problem = refused(series.segment(tmp_path / "seg.dcm", {"A": blob(1), "B": blob(2)}), series, ("A", "Tumour"))
    assert problem.reason is Reason.ANNOTATION_LABELS


def test_a_named_segment_without_a_voxel_is_a_case_without_lesion(series: Series, tmp_path: Path) -> None:
    path = series.segment(tmp_path / "seg.dcm", {"Brain": blob(1, 2), "Lesion": blob()})
    assert not load(path, series, ("Lesion",)).any()


def test_fractional_segments_count_from_one_half(series: Series, tmp_path: Path) -> None:
    share = blob(2).astype(np.float64) * 0.4 + blob(5) * 0.6
    path = series.segment(tmp_path / "seg.dcm", {"Lesion": share}, SegmentationTypeValues.FRACTIONAL)
    assert np.array_equal(load(path, series), canonical(blob(5)))


def test_label_maps_are_read_too(series: Series, tmp_path: Path) -> None:
    path = series.segment(
        tmp_path / "seg.dcm", {"A": blob(2), "B": blob(5)}, SegmentationTypeValues.LABELMAP
    )  # fmt: skip
    assert np.array_equal(load(path, series, ("B",)), canonical(blob(5)))


def test_another_frame_of_reference_is_another_space(series: Series, tmp_path: Path) -> None:
    path = series.segment(tmp_path / "seg.dcm", {"Lesion": blob(2)})
    seg = pydicom.dcmread(path)
    seg.FrameOfReferenceUID = generate_uid()
    seg.save_as(path)
    assert refused(path, series).reason is Reason.ANNOTATION_OTHER_SPACE


def test_a_seg_on_a_finer_grid_is_resampled_only_where_allowed(series: Series, tmp_path: Path) -> None:
    path = series.segment(tmp_path / "seg.dcm", {"Lesion": blob(2, 3)})
    affine = series.loaded.volume.affine @ np.array([[2, 0, 0, 0.5], [0, 2, 0, 0.5], [0, 0, 1, 0], [0, 0, 0, 1]])
    coarse = replace(series.loaded, volume=Volume(np.zeros((COLUMNS // 2, ROWS // 2, COUNT)), affine))
    assert refused(path, series, loaded=coarse).reason is Reason.ANNOTATION_OTHER_SPACE
    slices = load(path, series, loaded=coarse, resample=True).any(axis=(0, 1))
    assert np.flatnonzero(slices).tolist() == [2, 3]


def test_frames_far_apart_on_other_slices_are_not_taken_for_thick_ones(series: Series, tmp_path: Path) -> None:
    path = series.segment(tmp_path / "seg.dcm", {"Lesion": blob(1, 7)}, spacing_stated=False)
    affine = series.loaded.volume.affine @ np.diag([1, 1, 0.4, 1])
    affine[:3, 3] += (0, 0, 0.5)
    shifted = replace(series.loaded, volume=Volume(np.zeros((COLUMNS, ROWS, 22)), affine))
    assert refused(path, series, loaded=shifted, resample=True).reason is Reason.ANNOTATION_AMBIGUOUS


@pytest.mark.parametrize("content", [b"", b"not dicom", None])
def test_a_file_that_is_no_seg_is_unreadable_and_names_nothing(
    series: Series, tmp_path: Path, content: bytes | None
) -> None:
    path = tmp_path / "smith_john.dcm"
    if content is None:
        series.images[0].save_as(path, enforce_file_format=True)
    else:
        path.write_bytes(content)
    problem = refused(path, series)
    assert problem.reason is Reason.ANNOTATION_UNREADABLE
    assert "smith" not in problem.detail


@pytest.fixture(scope="module")
def ct(realdata_root: Path, tmp_path_factory: pytest.TempPathFactory) -> LoadedVolume:
    folder = tmp_path_factory.mktemp("ct")
    with tarfile.open(realdata_root / "dcmqi_ct_seg" / "dicom.tar.xz") as archive:
        for number, member in enumerate(item for item in archive if item.isfile()):
            (folder / f"{number}.dcm").write_bytes(archive.extractfile(member).read())
    return read_volume(folder)


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("seg", "segments", "nrrd", "label"),
    [
        ("liver.dcm", None, "liver_seg.nrrd", 1),
        ("liver.dcm", ("Liver",), "liver_seg.nrrd", 1),
        *[("partial_overlaps.dcm", (str(n),), "partial_overlaps-1.nrrd", n) for n in (1, 4, 5)],
        ("partial_overlaps.dcm", ("orange",), "partial_overlaps-2.nrrd", 2),
        ("partial_overlaps.dcm", ("3",), "partial_overlaps-3.nrrd", 3),
    ],
)
def test_real_segmentations_equal_the_masks_they_were_made_from(
    realdata_root: Path, ct: LoadedVolume, seg: str, segments: tuple[str, ...] | None, nrrd: str, label: int
) -> None:
    folder = realdata_root / "dcmqi_ct_seg" / "seg"
    found = load_seg(folder / seg, segments, ct, LesionsConfig(resample=False))
    truth = sitk.GetArrayFromImage(sitk.ReadImage(str(folder / nrrd))) == label
    assert truth.any()
    # NRRD: (z, y, x) in LPS, with identity directions and the same extent as the series.
    assert np.array_equal(found, canonical(truth))
