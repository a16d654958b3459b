"""Training patients as a reader sees them: the phantom, cut by the study's own slicing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy import ndimage

from ...config.phantom import PhantomConfig
from ...config.slicing import SlicingConfig
from ...identity.digests import digest_bytes, digest_json
from ...images.crops import crop, crop_window
from ...slicing.display import EIGHT_NEIGHBOURS, Fit, display_spacing, displayed
from ...slicing.volumes import stored_slices
from ...volumes.loaded import LoadedVolume
from ...volumes.volume import AxisMapping, Volume
from ..contrast import SEQUENCES
from ..geometry import Grid
from ..lesions import CORE, ENHANCING, LABELS, OEDEMA
from ..patients import Acquisition, acquire, grid_of
from ..processes import over_patients

AXIAL = 2
TUMOUR = 1
"""Value of core and enhancing rim in the masks here; oedema keeps its own."""


Part = tuple[NDArray[np.uint8], NDArray[np.uint8], NDArray[np.bool_], NDArray[np.bool_]]
"""Pixels, masks, lesion flags and crop flags of a case."""


@dataclass(frozen=True, eq=False)
class Cases:
    """Cases, one row per slice, case by case and feet to head within a case.

    Attributes
    ----------
    pixels
        uint8, (slices, side, side), as the processor resizes the stored slice.
    masks
        uint8, (slices, side, side): TUMOUR, OEDEMA or 0.
    case
        Place of the slice's case, ascending.
    lesion
        Whether the slice shows core or enhancing rim.
    crop
        Whether it is a crop around a lesion, not a slice; crops of a case follow its slices.
    kinds
        For each case its place in LABELS, −1 without a lesion.
    sequences
        For each case its place in SEQUENCES.
    """

    pixels: NDArray[np.uint8]
    masks: NDArray[np.uint8]
    case: NDArray[np.int64]
    lesion: NDArray[np.bool_]
    crop: NDArray[np.bool_]
    kinds: NDArray[np.int64]
    sequences: NDArray[np.int64]

    @property
    def kind(self) -> NDArray[np.int64]:
        """For each slice the kind of its case."""
        return self.kinds[self.case]

    def slices_of(self, case: int) -> NDArray[np.int64]:
        """Rows of a case's slices, feet to head."""
        return np.flatnonzero((self.case == case) & ~self.crop)

    def crops_of(self, case: int) -> NDArray[np.int64]:
        """Rows of a case's lesion crops."""
        return np.flatnonzero((self.case == case) & self.crop)


def make_cases(
    name: str, gbm: int, met: int, without: int, side: int, slicing: SlicingConfig, processes: int | None = None
) -> Cases:
    """Make patients and cut them; a function of the name and the numbers, not of the processes.

    Parameters
    ----------
    name
        Names the patients; other names, other patients.
    gbm, met, without
        Patients with a glioblastoma, with metastases, without a lesion. Two cases (sequences) each.
    side
        Pixels on the side to which the processor resizes a slice.
    slicing
        The study's slicing.
    """
    labels = [*[0] * gbm, *[1] * met, *[-1] * without]
    # Spread, so that any prefix and any suffix holds all kinds.
    order = np.argsort(
        [(place + 0.5) / count for count in (gbm, met, without) for place in range(count)], kind="stable"
    )
    jobs = [(f"{name}-{number + 1:04d}", labels[index], number % 3 == 0) for number, index in enumerate(order)]
    work = partial(_patient, name=name, side=side, slicing=slicing)
    patients = list(over_patients(work, jobs, processes))
    parts = [part for patient in patients for part in patient]
    kinds = [labels[index] for index in order for _ in SEQUENCES]
    return collected(parts, kinds, [*range(len(SEQUENCES))] * len(jobs))


def collected(parts: Sequence[Part], kinds: Sequence[int], sequences: Sequence[int]) -> Cases:
    """Cases one after another."""
    return Cases(
        pixels=np.concatenate([part[0] for part in parts]),
        masks=np.concatenate([part[1] for part in parts]),
        case=np.repeat(np.arange(len(parts)), [len(part[0]) for part in parts]),
        lesion=np.concatenate([part[2] for part in parts]),
        crop=np.concatenate([part[3] for part in parts]),
        kinds=np.array(kinds, dtype=np.int64),
        sequences=np.array(sequences, dtype=np.int64),
    )


def _patient(job: tuple[str, int, bool], name: str, side: int, slicing: SlicingConfig) -> list[Part]:
    patient_id, kind, tilted = job
    grid = grid_of(0, patient_id, tilted)
    label = None if kind < 0 else LABELS[kind]
    acquired = acquire(0, patient_id, label, grid, PhantomConfig())
    return [case_of(acquired, acquired.volumes[sequence], grid, side, slicing) for sequence in SEQUENCES]


def case_of(acquired: Acquisition, volume: NDArray[np.int16], grid: Grid, side: int, slicing: SlicingConfig) -> Part:
    """A phantom's case as a reader sees it.

    Parameters
    ----------
    acquired, volume, grid
        The patient, the sequence's volume, and where both lie.
    side, slicing
        The processor's size and the study's slicing.
    """
    loaded = as_loaded(volume, grid)
    spacing = display_spacing(loaded.volume, AXIAL)
    pixels, masks, shows, crops, crop_masks = [], [], [], [], []
    for index, stored in stored_slices(loaded, slicing):
        labels = displayed(acquired.labels, AXIAL, index)
        fit = Fit((labels.shape[0], labels.shape[1]), spacing, slicing.size)
        lesion = (labels == CORE) | (labels == ENHANCING)
        tumour = fit.apply_mask(lesion)
        shows.append(bool(lesion.any()))  # by any voxel, as the study marks slices
        mask = np.where(tumour, np.uint8(TUMOUR), np.uint8(OEDEMA) * fit.apply_mask(labels == OEDEMA))
        pixels.append(resized(stored, side))
        masks.append(_nearest(mask, side))
        for box in _boxes(tumour):
            left, top, width = crop_window(box, slicing.size)
            crops.append(resized(crop(stored, box), side))
            crop_masks.append(_nearest(mask[top : top + width, left : left + width], side))
    is_crop = np.repeat([False, True], [len(pixels), len(crops)])
    shows_lesion = np.array([*shows, *[True] * len(crops)])
    return np.stack([*pixels, *crops]), np.stack([*masks, *crop_masks]), shows_lesion, is_crop


def as_loaded(volume: NDArray[np.int16], grid: Grid) -> LoadedVolume:
    """A phantom's volume as reading its file would give it."""
    mapping = AxisMapping((0, 1, 2), (False, False, False), grid.shape)
    return LoadedVolume(Volume(volume, grid.affine), mapping, AXIAL)


def resized(stored: NDArray[np.uint8], side: int) -> NDArray[np.uint8]:
    """A stored slice at the processor's size, as Idefics3's processor does it: Lanczos on 8-bit RGB."""
    image = Image.fromarray(stored).convert("RGB").resize((side, side), Image.Resampling.LANCZOS)
    return np.asarray(image)[..., 0]


def _nearest(mask: NDArray[np.uint8], side: int) -> NDArray[np.uint8]:
    row = ((2 * np.arange(side) + 1) * mask.shape[0]) // (2 * side)
    column = ((2 * np.arange(side) + 1) * mask.shape[1]) // (2 * side)
    return mask[np.ix_(row, column)]


def _boxes(mask: NDArray[np.bool_]) -> list[tuple[int, int, int, int]]:
    """A box [x0, y0, x1, y1) around each component of a mask."""
    labels, _ = ndimage.label(mask, structure=EIGHT_NEIGHBOURS)
    return [(x.start, y.start, x.stop, y.stop) for y, x in ndimage.find_objects(labels)]


def slicing_digest(slicing: SlicingConfig) -> str:
    """What the study's slicing makes of a fixed volume, and its settings: changes when pixels change."""
    shape: tuple[int, int, int] = (40, 48, 30)
    i, j, k = np.indices(shape)
    probe = ((i * 37 + j * 23 + k * 91) % 251 * 13 + (i - 20) ** 2 + (j - 20) * k).astype(np.int16)
    grid = Grid(shape, (4.5, 4.0, 5.0), (1.0, -2.0, 3.0), (5.0, -3.0, 2.0))
    stored = dict(stored_slices(as_loaded(probe, grid), slicing))
    pixels = [[index, digest_bytes(image.tobytes())] for index, image in stored.items()]
    return digest_json([slicing.model_dump(mode="json"), pixels])
