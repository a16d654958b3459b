"""One classic DICOM series (one image per file) as a volume."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..contracts.enums import Deidentified, Reason
from ..contracts.problems import CaseProblem
from .dicom_files import ENHANCED, ImageHeader, image_headers, pixels_of, stated_burned_in, stated_deidentified
from .loaded import LoadedVolume
from .volume import Volume

ORIENTATION_TOLERANCE = 2e-3
"""Largest difference between direction cosines of one orientation (about 0.1°)."""
SAME_POSITION_MM = 0.01
"""Images nearer than this along the slice normal lie at one position."""
SPACING_TOLERANCE = 0.05
"""Largest deviation of a gap from the median gap, as a share of it: rounded positions jitter by 2 %."""
SPACING_NOISE = 1e-3
"""Largest relative difference between pixel spacings of one series: more than rounding is another grid."""
TILT_TOLERANCE_DEGREES = 1.0
"""Largest angle between the way from the first to the last image and the slice normal."""
_LPS_TO_RAS = np.diag([-1.0, -1.0, 1.0, 1.0])


def read_series(files: Sequence[Path]) -> LoadedVolume:
    """Read the one series that some files hold; their names and order do not matter.

    Images are ordered by the projection of ImagePositionPatient on the slice normal, the spacing is
    the mean step between positions (SpacingBetweenSlices is never asked; SliceThickness only for a
    series of one image). Rescale slope and intercept, or the modality LUT, are applied image by
    image. MONOCHROME1 is turned over here, v → max + min − v over the volume: affine and decreasing,
    so a percentile window afterwards gives what inverting after windowing would give. The result is
    in RAS; LPS of the files is converted once, in the affine.

    Raises
    ------
    CaseProblem
        MIXED_SERIES, MIXED_ORIENTATIONS, MISSING_POSITION, MISSING_SLICE, DUPLICATE_POSITION,
        IRREGULAR_SPACING, GANTRY_TILT, NOT_3D, UNSUPPORTED_FORMAT, COLOUR, TOO_FEW_SLICES, and those
        of single files.
    """
    headers = image_headers(files)
    _expect_one_series(headers)
    _expect_supported(headers)
    directions, normal = _orientation(headers)
    headers = sorted(headers, key=lambda item: (float(normal @ _triple(item.position)), item.sop_instance))
    step = _step(headers, normal)
    affine = np.eye(4)
    row_spacing, column_spacing = headers[0].pixel_spacing or (0.0, 0.0)
    affine[:3, 0] = directions[0] * column_spacing
    affine[:3, 1] = directions[1] * row_spacing
    affine[:3, 2] = step
    affine[:3, 3] = _triple(headers[0].position)
    array = _stack(headers).transpose(2, 1, 0)
    volume, mapping = Volume(array, _LPS_TO_RAS @ affine).canonical()
    native = mapping.canonical_axis(2)
    ordered = [headers[mapping.source_index(native, index)] for index in range(len(headers))]
    numbers = [item.instance_number for item in ordered]
    known = [number for number in numbers if number is not None]
    distinct = len(known) == len(numbers) == len(set(known))
    ranks = {number: rank for rank, number in enumerate(sorted(known))}
    return LoadedVolume(
        volume,
        mapping,
        native,
        lossy=any(item.lossy for item in headers),
        deidentified=stated_deidentified(headers) or Deidentified.UNKNOWN,
        burned_in=stated_burned_in(headers),
        native_order=tuple(ranks[number] for number in known)
        if distinct
        else tuple(mapping.source_index(native, index) for index in range(len(headers))),
        instance_numbers=tuple(known) if distinct else None,
        sop_instance_uids=tuple(item.sop_instance for item in ordered),
        frame_of_reference_uid=headers[0].frame_of_reference,
    )


def _expect_one_series(headers: Sequence[ImageHeader]) -> None:
    for what, values in (
        ("series", {item.series for item in headers}),
        ("frames of reference", {item.frame_of_reference for item in headers}),
        ("matrix sizes", {(item.rows, item.columns) for item in headers}),
        ("photometric interpretations", {item.photometric for item in headers}),
    ):
        if len(values) > 1:
            raise CaseProblem(
                Reason.MIXED_SERIES, f"{len(headers)} images of {len(values)} different {what}; expected one series"
            )


def _expect_supported(headers: Sequence[ImageHeader]) -> None:
    count = len(headers)
    if any(item.mosaic for item in headers):
        raise CaseProblem(Reason.UNSUPPORTED_FORMAT, f"mosaic images ({count} files); expected one slice per image")
    if any(item.frames > 1 or item.sop_class in ENHANCED for item in headers):
        raise CaseProblem(Reason.UNSUPPORTED_FORMAT, f"multi-frame images ({count} files); expected one slice per file")
    if any(item.samples != 1 or not item.photometric.startswith("MONOCHROME") for item in headers):
        raise CaseProblem(Reason.COLOUR, "colour images; expected greyscale (MONOCHROME1 or MONOCHROME2)")
    for what, lacking in (
        ("position", sum(item.position is None for item in headers)),
        ("orientation", sum(item.orientation is None for item in headers)),
        ("pixel spacing", sum(item.pixel_spacing is None or min(item.pixel_spacing) <= 0 for item in headers)),
    ):
        if lacking:
            raise CaseProblem(Reason.MISSING_POSITION, f"{lacking} of {count} images state no usable {what}")
    spacings = np.array([item.pixel_spacing for item in headers], dtype=np.float64)
    if np.ptp(spacings, axis=0).max() > SPACING_NOISE * spacings.min():
        raise CaseProblem(Reason.MIXED_SERIES, f"{count} images of different pixel spacings; expected one series")
    echoes = np.sort([item.echo_time for item in headers if item.echo_time])
    if echoes.size and echoes[-1] > 1.01 * echoes[0]:
        distinct = 1 + int((np.diff(echoes) > 0.01 * echoes[0]).sum())
        raise CaseProblem(Reason.NOT_3D, f"{count} images of {distinct} echo times; expected one volume")


def _orientation(headers: Sequence[ImageHeader]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Row and column directions as rows of a (2, 3) array, and their normal (LPS)."""
    cosines = np.sort(np.array([item.orientation for item in headers]), axis=0)
    if np.ptp(cosines, axis=0).max() > ORIENTATION_TOLERANCE:
        groups: list[NDArray[np.float64]] = []
        for orientation in sorted({item.orientation or () for item in headers}):
            candidate = np.array(orientation)
            if not any(np.abs(candidate - group).max() <= ORIENTATION_TOLERANCE for group in groups):
                groups.append(candidate)
        raise CaseProblem(
            Reason.MIXED_ORIENTATIONS, f"{len(headers)} images of {len(groups)} orientations; expected one"
        )
    row, column = cosines[len(cosines) // 2].reshape(2, 3)
    lengths = np.linalg.norm(row), np.linalg.norm(column)
    if max(abs(length - 1) for length in lengths) > 0.01 or abs(row @ column) > 0.01:
        raise CaseProblem(
            Reason.SHEARED_AFFINE, "the directions of rows and columns are not perpendicular unit vectors"
        )
    row = row / lengths[0]
    column = column - (column @ row) * row
    column /= np.linalg.norm(column)
    return np.stack([row, column]), np.cross(row, column)


def _step(headers: Sequence[ImageHeader], normal: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean step from one image to the next (LPS mm), images sorted along the normal."""
    count = len(headers)
    if count == 1:
        thickness = headers[0].thickness
        if thickness is None or thickness <= 0:
            raise CaseProblem(Reason.TOO_FEW_SLICES, "one image without slice thickness; expected a volume")
        return normal * thickness
    positions = np.array([item.position for item in headers])
    along = positions @ normal
    gaps = np.diff(along)
    _expect_distinct_positions(along, gaps)
    # The smallest gap is the spacing up to jitter; wider gaps must not shift what is taken as usual.
    usual = float(np.median(gaps[gaps < 1.5 * gaps.min()]))
    multiples = gaps / usual
    steps = np.rint(multiples)
    if (np.abs(multiples - steps) > SPACING_TOLERANCE * steps).any():
        raise CaseProblem(
            Reason.IRREGULAR_SPACING,
            f"gaps between {count} images range from {gaps.min():.3f} to {gaps.max():.3f} mm; "
            f"expected equal gaps within {SPACING_TOLERANCE:.0%}",
        )
    if steps.max() > 1:
        missing = [
            f"{along[index] + part * usual:.1f}"
            for index in np.nonzero(steps > 1)[0]
            for part in range(1, int(steps[index]))
        ]
        shown = ", ".join(missing[:8]) + (" …" if len(missing) > 8 else "")
        raise CaseProblem(
            Reason.MISSING_SLICE,
            f"found {count} of {count + len(missing)} slices {usual:.2f} mm apart; none at {shown} mm along the normal",
        )
    way = positions[-1] - positions[0]
    tilt = np.degrees(np.arccos(np.clip(normal @ way / np.linalg.norm(way), -1, 1)))
    if tilt > TILT_TOLERANCE_DEGREES:
        raise CaseProblem(
            Reason.GANTRY_TILT, f"images are stacked {tilt:.1f}° off their normal; expected a right-angled stack"
        )
    step: NDArray[np.float64] = way / (count - 1)
    return step


def _expect_distinct_positions(along: NDArray[np.float64], gaps: NDArray[np.float64]) -> None:
    if gaps.min() >= SAME_POSITION_MM:
        return
    sizes = Counter(np.concatenate([[0], np.cumsum(gaps >= SAME_POSITION_MM)]).tolist()).values()
    if len(sizes) > 1 and len(set(sizes)) == 1:
        raise CaseProblem(
            Reason.NOT_3D, f"{max(sizes)} images at each of {len(sizes)} positions; expected one volume in the folder"
        )
    raise CaseProblem(Reason.DUPLICATE_POSITION, f"{len(along)} images at {len(sizes)} position(s); expected one each")


def _stack(headers: Sequence[ImageHeader]) -> NDArray[Any]:
    """Shape (images, rows, columns): the stored type, or float32 where values are rescaled."""
    first = pixels_of(headers[0])
    rescaled = any(item.rescaled for item in headers)
    dtype = np.dtype(np.float32) if rescaled or first.dtype.kind == "f" else first.dtype.newbyteorder("=")
    stack = np.empty((len(headers), *first.shape), dtype=dtype)
    stack[0] = first
    for index, header in enumerate(headers[1:], start=1):
        pixels = pixels_of(header)
        if not rescaled and not np.can_cast(pixels.dtype, dtype):
            raise CaseProblem(Reason.MIXED_SERIES, "images of different pixel types; expected one series")
        stack[index] = pixels
    if headers[0].photometric == "MONOCHROME1":
        low, high = stack.min(), stack.max()
        # high − v first: max + min may leave the range of a stored integer type.
        np.subtract(high, stack, out=stack)
        stack += low
    return stack


def _triple(position: tuple[float, ...] | None) -> NDArray[np.float64]:
    return np.array(position, dtype=np.float64)
