"""The phantom cohort's plan: who has which label, seen where, stored how. Nothing is written here."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..config.phantom import PhantomConfig
from ..contracts.enums import AnnotationKind
from .contrast import SEQUENCES
from .geometry import Grid
from .lesions import LABELS
from .patients import Acquisition, acquire, grid_of

KINDS = (AnnotationKind.SEG, AnnotationKind.MASK, AnnotationKind.SLICE_TABLE)
"""A third of the patients each: DICOM with SEG, NIfTI with a mask, NIfTI with a slice table."""
NIFTI_ORDERS = ("LPS", "LAS", "PSR", "RAS", "LPI", "SAR", "RPS", "ASL")
"""Axis orders in which NIfTI volumes are stored, in turn; the slice axis is not always the last."""


@dataclass(frozen=True)
class PhantomCase:
    """One patient in one sequence.

    `grid` is how the head was cut (RAS+ axes), `stored_axes` how the file orders those axes (nibabel's
    axis codes; None for DICOM), `scanner` the number of the site's scanner.
    """

    seed: int
    options: PhantomConfig
    case_id: str
    patient_id: str
    site: str
    scanner: int
    sequence: str
    label: str
    kind: AnnotationKind
    grid: Grid
    stored_axes: str | None

    def acquisition(self) -> Acquisition:
        """The patient on the grid, in both sequences; the last patients are kept in memory."""
        return _acquired(self.seed, self.patient_id, self.label, self.grid, self.options, self.scanner)

    def lesion_map(self) -> NDArray[np.uint8]:
        """Labels at the voxel centres of the grid, shape of the grid."""
        return self.acquisition().labels

    def volume(self) -> NDArray[np.int16]:
        """The acquired volume on the grid, 12 bits."""
        return self.acquisition().volumes[self.sequence]


@lru_cache(maxsize=16)
def _acquired(seed: int, patient_id: str, label: str, grid: Grid, options: PhantomConfig, scanner: int) -> Acquisition:
    return acquire(seed, patient_id, label, grid, options, scanner)


@lru_cache(maxsize=4)
def plan(seed: int, options: PhantomConfig) -> tuple[PhantomCase, ...]:
    """The cases of the cohort, patient by patient; a function of the seed and the options.

    Labels alternate, and sites alternate by pairs of patients, so that both are balanced in each
    kind of storage, or nearly so where the number of patients is no multiple of six.
    """
    width = max(2, len(str(options.patients)))
    cases: list[PhantomCase] = []
    stored = 0
    for number in range(options.patients):
        patient = f"phantom-{number + 1:0{width}d}"
        kind = KINDS[number * len(KINDS) // options.patients]
        grid = grid_of(seed, patient, tilted=kind is AnnotationKind.SEG)
        scanner = number // 2 % 2
        for sequence in SEQUENCES:
            cases.append(
                PhantomCase(
                    seed=seed,
                    options=options,
                    case_id=f"{patient}-{sequence.lower()}",
                    patient_id=patient,
                    site=f"site-{scanner + 1}",
                    scanner=scanner,
                    sequence=sequence,
                    label=LABELS[number % len(LABELS)],
                    kind=kind,
                    grid=grid,
                    # Shifted by one after each turn, else an order would go with a label.
                    stored_axes=None if kind is AnnotationKind.SEG else NIFTI_ORDERS[(stored + stored // 8) % 8],
                )
            )
            stored += kind is not AnnotationKind.SEG
    return tuple(cases)
