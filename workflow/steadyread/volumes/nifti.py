"""One NIfTI file as a volume."""

from __future__ import annotations

import gzip
import zlib
from itertools import product
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
from nibabel.filebasedimages import ImageFileError
from nibabel.spatialimages import HeaderDataError
from numpy.typing import NDArray

from ..contracts.enums import Reason
from ..contracts.problems import CaseProblem
from .loaded import LoadedVolume
from .volume import Volume

SHEAR_TOLERANCE_DEGREES = 1.0
"""Largest deviation of two voxel axes from a right angle: sforms carry rounding, never this much."""
CONFLICT_TOLERANCE_VOXELS = 0.5
"""Largest distance between a corner by sform and by qform, in smallest voxel sides."""
ISOTROPY_TOLERANCE = 0.01
AXIAL = 2
_TO_MM = {"meter": 1000.0, "mm": 1.0, "micron": 0.001, "unknown": 1.0}


def read_nifti(path: Path) -> LoadedVolume:
    """Read a NIfTI-1 or NIfTI-2 file with its scale applied.

    The affine is the sform where its code is > 0, else the qform where its code is > 0. Trailing
    axes of length one are dropped. Stored integers stay integers unless the header scales them.

    Raises
    ------
    CaseProblem
        NOT_AN_IMAGE, UNREADABLE, TRUNCATED_FILE, NOT_3D, COMPLEX, COLOUR, NO_ORIENTATION,
        CONFLICTING_ORIENTATION, SHEARED_AFFINE.
    """
    try:
        image: Any = nib.load(path)
    except ImageFileError as error:
        raise CaseProblem(Reason.NOT_AN_IMAGE, "the file is named like NIfTI but is none") from error
    except EOFError as error:
        raise CaseProblem(Reason.TRUNCATED_FILE, "the file ends within its header") from error
    except (OSError, ValueError, zlib.error, HeaderDataError) as error:
        raise CaseProblem(Reason.UNREADABLE, f"the header cannot be read ({type(error).__name__})") from error
    if not isinstance(image, nib.Nifti1Image):
        raise CaseProblem(Reason.UNSUPPORTED_FORMAT, f"found {type(image).__name__}; expected NIfTI")
    shape = _three_dimensional(image.shape)
    dtype = image.get_data_dtype()
    if dtype.kind == "c":
        raise CaseProblem(Reason.COMPLEX, "complex values; expected real ones")
    if dtype.names:
        raise CaseProblem(Reason.COLOUR, "colour voxels; expected greyscale")
    affine = _affine(image.header, shape)
    volume, mapping = Volume(_voxels(image).reshape(shape), affine).canonical()
    return LoadedVolume(volume, mapping, _native_axis(volume.spacing))


def _three_dimensional(shape: tuple[int, ...]) -> tuple[int, int, int]:
    kept = list(shape)
    while len(kept) > 3 and kept[-1] == 1:
        kept.pop()
    if len(kept) != 3 or min(kept) < 1:
        text = " × ".join(str(side) for side in shape)
        raise CaseProblem(Reason.NOT_3D, f"an array of {text}; expected three axes")
    i, j, k = kept
    return i, j, k


def _affine(header: Any, shape: tuple[int, int, int]) -> NDArray[np.float64]:
    sform, qform = header.get_sform(coded=True)[0], None
    try:
        qform = header.get_qform(coded=True)[0]
    except (HeaderDataError, ValueError) as error:
        if sform is None:
            raise CaseProblem(Reason.NO_ORIENTATION, "no sform, and the qform is no rotation") from error
    affine = qform if sform is None else sform
    if affine is None:
        raise CaseProblem(Reason.NO_ORIENTATION, "sform and qform codes are both 0; expected one above 0")
    affine = np.asarray(affine, dtype=np.float64)
    if not np.isfinite(affine).all() or abs(np.linalg.det(affine[:3, :3])) < 1e-12:
        raise CaseProblem(Reason.NO_ORIENTATION, "the affine is not finite or not invertible")
    spacing = np.linalg.norm(affine[:3, :3], axis=0)
    if sform is not None and qform is not None and np.isfinite(qform).all():
        corners = np.array([(*corner, 1) for corner in product(*((0, side - 1) for side in shape))])
        distance = float(np.linalg.norm(corners @ (np.asarray(qform) - affine).T, axis=1).max())
        if distance > CONFLICT_TOLERANCE_VOXELS * spacing.min():
            raise CaseProblem(
                Reason.CONFLICTING_ORIENTATION,
                f"sform and qform place a corner of the volume {distance:.1f} mm apart; expected at most "
                f"{CONFLICT_TOLERANCE_VOXELS} voxels",
            )
    directions = affine[:3, :3] / spacing
    cosine = np.abs(directions.T @ directions - np.eye(3)).max()
    shear = float(np.degrees(np.arcsin(min(1.0, cosine))))
    if shear > SHEAR_TOLERANCE_DEGREES:
        raise CaseProblem(Reason.SHEARED_AFFINE, f"two axes are {shear:.1f}° off a right angle; expected none to be")
    unit = _TO_MM.get(str(header.get_xyzt_units()[0]), 1.0)
    in_mm: NDArray[np.float64] = np.diag([unit, unit, unit, 1.0]) @ affine
    return in_mm


def _voxels(image: Any) -> NDArray[Any]:
    proxy = image.dataobj
    try:
        if (proxy.slope, proxy.inter) == (1.0, 0.0) and image.get_data_dtype().kind in "iub":
            stored = np.asanyarray(proxy)
            return np.asarray(stored, dtype=stored.dtype.newbyteorder("="))
        voxels: NDArray[Any] = image.get_fdata(dtype=np.float32, caching="unchanged")
        return voxels
    except (EOFError, OSError) as error:
        if isinstance(error, gzip.BadGzipFile):
            raise CaseProblem(Reason.UNREADABLE, "the compressed voxels are damaged") from error
        raise CaseProblem(Reason.TRUNCATED_FILE, "the file ends before its voxels do") from error
    except (ValueError, zlib.error) as error:
        raise CaseProblem(Reason.UNREADABLE, f"the voxels cannot be read ({type(error).__name__})") from error


def _native_axis(spacing: tuple[float, float, float]) -> int:
    """Axis of the largest spacing, or the axial axis where none stands out by more than 1 %."""
    widest = max(range(3), key=spacing.__getitem__)
    others = [spacing[axis] for axis in range(3) if axis != widest]
    return widest if spacing[widest] > (1 + ISOTROPY_TOLERANCE) * max(others) else AXIAL
