"""DICOM segmentations, placed by their geometry; sparse frames and several segments."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..config.lesions import LesionsConfig
from ..contracts.enums import Reason
from ..contracts.problems import CaseProblem
from ..volumes.archive import opened
from ..volumes.loaded import LoadedVolume
from ..volumes.volume import Volume
from .grids import is_on_grid, place_mask

_LPS_TO_RAS = np.diag([-1.0, -1.0, 1.0, 1.0])
_FRACTION = 0.5
_MOST_GAP = 1.5


def load_seg(
    path: Path, segments: Sequence[str] | None, reference: LoadedVolume, lesions: LesionsConfig
) -> NDArray[np.bool_]:
    """Read a DICOM segmentation onto the grid of its canonical volume (RAS+).

    Frames that a SEG leaves out are empty. Fractional segments count from one half on.

    Parameters
    ----------
    path
        The SEG: a file, or a folder or archive that holds it alone.
    segments
        Segments that are lesion, by label or number; None: the only one there is.
    reference
        The volume it was drawn on.
    lesions
        Tolerance of the grid, and whether to resample.

    Raises
    ------
    CaseProblem
        ANNOTATION_UNREADABLE: no readable SEG. ANNOTATION_AMBIGUOUS: several segments and none
        named. ANNOTATION_LABELS: a named segment that the SEG lacks. ANNOTATION_OTHER_SPACE:
        another frame of reference, or see `grids.place_mask`.
    """
    with _quiet():
        seg = _read(path)
        _check_frame_of_reference(seg, reference)
        numbers = _chosen(seg, segments)
        mask, affine = _voxels(seg, numbers, reference)
        gaps_known = _gaps_known(seg, affine)
    return _placed(mask, affine, reference.volume, lesions, gaps_known)


def _read(path: Path) -> Any:
    import highdicom

    try:
        with opened(path) as place:
            files = sorted(item for item in place.rglob("*") if item.is_file()) if place.is_dir() else [place]
            if len(files) == 1:
                return highdicom.seg.segread(files[0])
    except CaseProblem as problem:
        raise _unreadable(problem.detail) from problem
    except Exception as error:  # pydicom and highdicom raise many types on broken files
        raise _unreadable(f"it is no readable DICOM SEG ({type(error).__name__})") from error
    raise _unreadable(f"expected one DICOM SEG file, found {len(files)} files")


def _check_frame_of_reference(seg: Any, reference: LoadedVolume) -> None:
    theirs, ours = str(seg.get("FrameOfReferenceUID", "") or ""), reference.frame_of_reference_uid or ""
    if theirs and ours and theirs != ours:
        raise CaseProblem(
            Reason.ANNOTATION_OTHER_SPACE, "the SEG and the volume have different frames of reference (DICOM)"
        )


def _chosen(seg: Any, segments: Sequence[str] | None) -> list[int]:
    numbers = [int(number) for number in seg.segment_numbers]
    if segments is None:
        if len(numbers) != 1:
            raise CaseProblem(
                Reason.ANNOTATION_AMBIGUOUS,
                f"the SEG holds {len(numbers)} segments; name the ones that are lesion in the column segments",
            )
        return numbers
    labels = {number: _folded(seg.get_segment_description(number).segment_label) for number in numbers}
    whole = _folded(",".join(segments))
    if whole in labels.values():
        segments = [whole]
    chosen: set[int] = set()
    for wanted in segments:
        found = {number for number in numbers if wanted == str(number)} or {
            number for number, label in labels.items() if label == _folded(wanted)
        }
        if not found:
            raise CaseProblem(
                Reason.ANNOTATION_LABELS,
                f"a named segment is not in the SEG, which holds {len(numbers)} segments, "
                f"numbered {numbers[0]} … {numbers[-1]}",
            )
        chosen |= found
    return sorted(chosen)


def _voxels(seg: Any, numbers: list[int], reference: LoadedVolume) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """The union of segments, shape (slice, row, column), with its affine (RAS)."""
    import highdicom

    try:
        try:
            volume = seg.get_volume(segment_numbers=numbers)
        except RuntimeError:
            # Kept frames at uneven distances, and no spacing stated: the volume's own may explain them.
            step = reference.volume.spacing[reference.native_axis]
            for group in (*seg.SharedFunctionalGroupsSequence, *seg.PerFrameFunctionalGroupsSequence):
                for measures in group.get("PixelMeasuresSequence", ()):
                    measures.SpacingBetweenSlices = step
            seg = highdicom.seg.Segmentation.from_dataset(seg, copy=False)
            volume = seg.get_volume(segment_numbers=numbers)
    except Exception as error:  # see _read
        raise _unreadable(f"its frames make no regular volume ({type(error).__name__})") from error
    # One plane per segment along the last axis; segments may overlap.
    mask: NDArray[np.bool_] = np.any(np.asarray(volume.array) >= _FRACTION, axis=-1)
    return mask, _LPS_TO_RAS @ np.asarray(volume.affine, dtype=np.float64)


def _gaps_known(seg: Any, affine: NDArray[np.float64]) -> bool:
    """Whether the distance between slices is stated, or too small for a frame to be left out between."""
    groups = (*seg.SharedFunctionalGroupsSequence, *seg.PerFrameFunctionalGroupsSequence)
    measures = [item for group in groups for item in group.get("PixelMeasuresSequence", ())]
    if any("SpacingBetweenSlices" in item for item in measures):
        return True
    thickness = [float(item.SliceThickness) for item in measures if item.get("SliceThickness")]
    return bool(thickness) and float(np.linalg.norm(affine[:3, 0])) <= _MOST_GAP * min(thickness)


def _placed(
    mask: NDArray[np.bool_], affine: NDArray[np.float64], volume: Volume, lesions: LesionsConfig, gaps_known: bool
) -> NDArray[np.bool_]:
    """Frame by frame where frames lie on the volume's slices, whatever lies between; else as a whole.

    A SEG that keeps frames 3 and 9 only and states no spacing looks like two slices six times as thick.
    """
    filled = np.flatnonzero(mask.any(axis=(1, 2)))
    frames = [(mask[[index]], _frame_affine(affine, int(index), volume)) for index in filled]
    tolerance = lesions.grid_tolerance_mm
    if frames and all(is_on_grid(frame.shape, place, volume, tolerance) for frame, place in frames):
        placed = np.zeros(volume.shape, dtype=np.bool_)
        for frame, place in frames:
            placed |= place_mask(frame, place, volume, tolerance, resample=False)
        return placed
    if frames and not gaps_known:
        raise CaseProblem(
            Reason.ANNOTATION_AMBIGUOUS,
            "the SEG has other slices than the volume and does not state their spacing, so frames that were left out "
            "cannot be told from thick ones",
        )
    return place_mask(mask, affine, volume, tolerance, lesions.resample)


def _frame_affine(affine: NDArray[np.float64], index: int, volume: Volume) -> NDArray[np.float64]:
    """One frame's affine, as thick as a slice of the volume."""
    frame = affine.copy()
    frame[:, 3] = affine @ (index, 0, 0, 1)
    along = np.linalg.solve(volume.affine[:3, :3], affine[:3, 0])
    axis = int(np.abs(along).argmax())
    frame[:3, 0] = np.sign(along[axis]) * volume.affine[:3, axis]
    return frame


def _folded(label: str) -> str:
    return ",".join(part.strip() for part in str(label).casefold().split(","))


@contextmanager
def _quiet() -> Iterator[None]:
    """pydicom warns of odd values by quoting them, to the log too; names must not get there."""
    logger = logging.getLogger("pydicom")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


def _unreadable(detail: str) -> CaseProblem:
    return CaseProblem(Reason.ANNOTATION_UNREADABLE, f"SEG: {detail}")
