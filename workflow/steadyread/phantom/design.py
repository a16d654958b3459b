"""The phantom cohort's plan: who has which lesions, seen how, stored how. Nothing is written here."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..contracts.enums import AnnotationKind
from ..identity.seeds import generator, permutation
from .geometry import Grid
from .shapes import HEAD, Head, Lesion

SEQUENCES = ("T1CE", "T2")
LABELS = ("GBM", "MET")
PATIENTS = 12
KINDS = (AnnotationKind.SEG, AnnotationKind.MASK, AnnotationKind.SLICE_TABLE)
"""A third of the patients each: DICOM with SEG, NIfTI with a mask, NIfTI with a slice table."""
NIFTI_ORDERS = ("LPS", "LAS", "PSR", "RAS", "LPI", "SAR", "RPS", "ASL")
"""Axis orders in which NIfTI volumes are stored, in turn; the slice axis is not always the last."""
NOISE = 26.0
"""Standard deviation of the noise in each channel, scanner units."""
TWELVE_BITS = 4095


@dataclass(frozen=True)
class PhantomCase:
    """One patient in one sequence.

    `grid` is how the head was cut (RAS+ axes), `stored_axes` how the file orders those axes (nibabel's
    axis codes; None for DICOM).
    """

    seed: int
    case_id: str
    patient_id: str
    site: str
    sequence: str
    label: str
    kind: AnnotationKind
    head: Head
    grid: Grid
    stored_axes: str | None

    def lesion_map(self) -> NDArray[np.uint8]:
        """Labels at the voxel centres of the grid, shape of the grid."""
        slices = [self.head.lesion_map(self.grid.slice_points(k)) for k in range(self.grid.shape[2])]
        return np.stack(slices, axis=-1)

    def volume(self) -> NDArray[np.int16]:
        """The acquired volume on the grid: signal, coil shading, Rician noise, 12 bits."""
        rng = generator(self.seed, "phantom", self.patient_id, self.sequence, "scanner")
        shading = rng.normal(0, 0.0006, 3)
        acquired = []
        for k in range(self.grid.shape[2]):
            points = self.grid.slice_points(k)
            signal = self.head.signal(points, self.sequence) * (1 + points @ shading)
            real = signal + rng.normal(0, NOISE, signal.shape)
            acquired.append(np.hypot(real, rng.normal(0, NOISE, signal.shape)))
        volume: NDArray[np.int16] = np.clip(np.rint(np.stack(acquired, axis=-1)), 0, TWELVE_BITS).astype(np.int16)
        return volume


@lru_cache(maxsize=4)
def plan(seed: int) -> tuple[PhantomCase, ...]:
    """The cases of the cohort, patient by patient; a function of the seed alone."""
    mets = _met_counts(seed)
    cases: list[PhantomCase] = []
    for number in range(PATIENTS):
        patient = f"phantom-{number + 1:02d}"
        label = LABELS[number % len(LABELS)]
        kind = KINDS[number * len(KINDS) // PATIENTS]
        grids = {sequence: _grid(seed, patient, sequence, kind) for sequence in SEQUENCES}
        head = _head(seed, patient, label, mets[number // 2], tuple(grids.values()))
        for sequence in SEQUENCES:
            nifti = sum(case.stored_axes is not None for case in cases)
            cases.append(
                PhantomCase(
                    seed=seed,
                    case_id=f"{patient}-{sequence.lower()}",
                    patient_id=patient,
                    site=f"site-{1 + number // 2 % 2}",
                    sequence=sequence,
                    label=label,
                    kind=kind,
                    head=head,
                    grid=grids[sequence],
                    stored_axes=None if kind is AnnotationKind.SEG else NIFTI_ORDERS[nifti % len(NIFTI_ORDERS)],
                )
            )
    return tuple(cases)


def _met_counts(seed: int) -> list[int]:
    """Metastases of each MET patient: one to four, every count at least once."""
    counts = (1, 2, 3, 4, 1, 2)
    return [counts[index] for index in permutation(len(counts), seed, "phantom", "metastases")]


def _grid(seed: int, patient: str, sequence: str, kind: AnnotationKind) -> Grid:
    """16 to 20 slices some 120 mm high; DICOM is oblique, the masks' pixels are not square."""
    draws = generator(seed, "phantom", patient, sequence, "grid")
    slices = int(draws.integers(16, 21))
    columns, rows = 96 + 4 * int(draws.integers(0, 3)), 108 + 2 * int(draws.integers(0, 3))
    across, along = (2.1, 1.95) if kind is AnnotationKind.MASK else (2.0, 2.0)
    tilt = draws.uniform(-1, 1, 3) * ((9.0, 3.0, 4.0) if kind is AnnotationKind.SEG else (4.0, 1.5, 2.0))
    thickness = round(float(draws.uniform(114, 122)) / slices, 2)
    return Grid(
        shape=(columns, rows, slices),
        spacing=(across, along, thickness),
        centre=(round(float(draws.uniform(-3, 3)), 1), round(float(draws.uniform(-3, 3)), 1), 11.0),
        tilt=(round(float(tilt[0]), 2), round(float(tilt[1]), 2), round(float(tilt[2]), 2)),
    )


def _head(seed: int, patient: str, label: str, metastases: int, grids: tuple[Grid, ...]) -> Head:
    """A head whose lesions show in every sequence and leave more slices free than they take."""
    draws = generator(seed, "phantom", patient, "head")
    axes = tuple(float(length) for length in np.asarray(HEAD) * draws.uniform(0.96, 1.03, 3))
    folds = tuple(_wave(draws, 2 * np.pi / draws.uniform(26, 46)) for _ in range(9))
    head = Head((axes[0], axes[1], axes[2]), float(draws.uniform(0.8, 1.4)), folds, ())
    for attempt in range(1000):
        shapes = generator(seed, "phantom", patient, "lesions", attempt)
        lesions = (_glioblastoma(shapes),) if label == "GBM" else _metastases(shapes, head, metastases)
        if not lesions or any(head.depth(np.asarray(item.centre)) < _margin(item, label) for item in lesions):
            continue
        candidate = Head(head.axes, head.ventricles, head.folds, lesions)
        if all(_fits(candidate, grid) for grid in grids):
            return candidate
    raise AssertionError("no lesion fits this phantom head: the shapes' limits contradict each other")


def _margin(lesion: Lesion, label: str) -> float:
    """Least depth of a lesion's centre below the skin, millimetres."""
    return lesion.radius + (22 if label == "GBM" else 17)


def _fits(head: Head, grid: Grid) -> bool:
    """Every lesion shows in a slice, and fewer than half of the slices show one."""
    per_slice = [grid.slice_points(k)[::2, ::2] for k in range(grid.shape[2])]
    shown = np.array([[bool((item.depth(points) >= 0).any()) for points in per_slice] for item in head.lesions])
    affected = int(shown.any(axis=0).sum())
    return bool(shown.any(axis=1).all()) and affected <= (grid.shape[2] - 2) // 2


def _glioblastoma(draws: np.random.Generator) -> Lesion:
    """One large, irregular ring with a necrotic core, deep in white matter."""
    side = 1 if draws.random() < 0.5 else -1
    radius = float(draws.uniform(14, 19))
    centre = (side * float(draws.uniform(24, 38)), float(draws.uniform(-42, 38)), float(draws.uniform(-2, 42)))
    waves = tuple(_wave(draws, draws.uniform(2.0, 4.5)) for _ in range(5))
    return Lesion(
        centre=centre,
        radius=radius,
        wall=float(draws.uniform(3.8, 5.5)),
        reach=float(draws.uniform(9, 15)),
        waves=waves,
        roughness=float(draws.uniform(0.06, 0.09)),
    )


def _metastases(draws: np.random.Generator, head: Head, count: int) -> tuple[Lesion, ...]:
    """Small round lesions just below the cortex, apart from each other; () where two would touch."""
    placed: list[Lesion] = []
    for _ in range(count):
        radius = float(draws.uniform(5.0, 8.0))
        direction = draws.normal(size=3) * (1.0, 1.0, 0.6)
        direction /= np.sqrt((direction * direction).sum())
        inner = np.asarray(head.axes) - 19 - radius - draws.uniform(0, 5)
        x, y, z = (float(value) for value in direction * inner)
        if abs(x) < radius + 4 or not -28 < z < 52:
            return ()
        wall = 2.6 if radius > 6.2 else 0.0
        placed.append(Lesion((x, y, z), radius, wall, float(draws.uniform(8, 14))))
    for first in range(count):
        for second in range(first):
            a, b = placed[first], placed[second]
            gap = float(np.linalg.norm(np.subtract(a.centre, b.centre))) - a.radius - b.radius
            if gap < 10:
                return ()
    return tuple(placed)


def _wave(draws: np.random.Generator, frequency: float) -> tuple[float, float, float, float]:
    vector = draws.normal(size=3)
    vector *= frequency / np.sqrt((vector * vector).sum())
    return (float(vector[0]), float(vector[1]), float(vector[2]), float(draws.uniform(0, 2 * np.pi)))
