"""A phantom patient, acquired: the same anatomy and lesions in both sequences, on one grid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..config.phantom import PhantomConfig
from ..identity.seeds import generator
from .anatomy import TEMPLE, Anatomy
from .contrast import CAPSULE, SEQUENCES, SITES, Scene, scan, signal_of
from .fields import Field32, smooth_step
from .geometry import FloatArray, Grid
from .lesions import CORE, ENHANCING, LABELS, OEDEMA, Seen, draw_lesions, see_oedema

FIELD_OF_VIEW = 218.0
"""Millimetres; 212 cuts large heads."""
PIXELS = 112
WIDE_PIXELS = 104
"""Voxels from left to right where pixels are not square."""
CAPSULE_RADIUS = (4.5, 5.0, 10.0)
"""Half axes (mm) of the oil capsule that marks the right temple, as scanners' staff tape it there."""


@dataclass(frozen=True, eq=False)
class Acquisition:
    """One patient on one grid; arrays have the grid's shape (right, front, slice).

    Attributes
    ----------
    volumes
        Scanner units, 12 bits, by sequence.
    labels
        0, CORE, ENHANCING or OEDEMA.
    lesions
        Core and enhancing rim of each lesion.
    capsule
        Voxels well within the capsule on the right temple.
    middle
        RAS millimetres of the middle of the head, shape (3,).
    """

    volumes: dict[str, NDArray[np.int16]]
    labels: NDArray[np.uint8]
    lesions: list[NDArray[np.bool_]]
    capsule: NDArray[np.bool_]
    middle: FloatArray


def grid_of(seed: int, patient_id: str, tilted: bool) -> Grid:
    """The slices of a patient, one prescription for both sequences.

    17 to 20 axial slices, 6.3 to 7.4 mm apart, 218 mm wide and long. Tilted ones are oblique; a third
    of the others has pixels that are not square.
    """
    draws = generator(seed, "phantom", patient_id, "grid")
    slices, shift = int(draws.integers(17, 21)), float(draws.uniform(-3, 3))
    tilt = draws.uniform(-1, 1, 3) * (8.0, 3.0, 4.0)
    columns = WIDE_PIXELS if draws.random() < 1 / 3 and not tilted else PIXELS
    return Grid(
        shape=(columns, PIXELS, slices),
        spacing=(round(FIELD_OF_VIEW / columns, 3), round(FIELD_OF_VIEW / PIXELS, 3), round(119 / (slices - 1), 2)),
        centre=(0.0, -18.0, round(9.5 + shift, 1)),
        tilt=(round(float(tilt[0]), 2), round(float(tilt[1]), 2), round(float(tilt[2]), 2)) if tilted else (0, 0, 0),
    )


def acquire(
    seed: int, patient_id: str, label: str | None, grid: Grid, options: PhantomConfig, site: int = 0
) -> Acquisition:
    """A patient's volumes and lesions on a grid; the same arguments give the same pixels.

    Parameters
    ----------
    seed
        The study's seed; every draw depends on it, on the patient and on the name of what is drawn.
    label
        GBM, MET, or None for the same patient without a lesion, equal far away from where it was.
    site
        Which of the two sites' scanners, where the options say that they differ.

    Raises
    ------
    ValueError
        If the label is none of these.
    """
    if label is not None and label not in LABELS:
        raise ValueError(f"no phantom lesion is called {label!r}; expected one of {list(LABELS)} or None")
    anatomy = Anatomy.draw(seed, patient_id)
    # A mirrored patient is the patient cut along the mirrored slices, and turned over.
    cut = grid.lattice.mirrored() if options.mirrored else grid.lattice
    seen = draw_lesions(seed, patient_id, label, anatomy, cut, options.lesion_scale) if label else []
    points = anatomy.template_lattice(cut)
    tissues = anatomy.tissues(points, [item.lesion.push for item in seen], cut.points())
    oedema = np.zeros(cut.shape, dtype=np.float32)
    for item in seen:
        box, share = see_oedema(item.lesion, cut, tissues)
        oedema[box] = np.maximum(oedema[box], share)
    scene = _scene(tissues, oedema, seen)
    over = slice(None, None, -1 if options.mirrored else 1)
    scanner = SITES[site if options.site_effects else 0]
    offset = _capsule(anatomy, grid, options.mirrored)
    oil = smooth_step(1 - np.sqrt(offset), 0.12)
    volumes = {}
    for sequence in SEQUENCES:
        signal = signal_of(scene, cut, seed, patient_id, sequence, scanner)[over]
        signal = signal + oil * (np.float32(CAPSULE) - signal)
        volumes[sequence] = scan(signal, grid.lattice, seed, patient_id, sequence, scanner)
    return Acquisition(
        volumes=volumes,
        labels=np.ascontiguousarray(_label_map(oedema, seen)[over]),
        lesions=[np.ascontiguousarray(item.voxels[over]) for item in seen],
        capsule=offset < 0.4,
        middle=anatomy.middle * (-1 if options.mirrored else 1, 1, 1),
    )


def _scene(tissues: dict[str, Field32], oedema: Field32, seen: list[Seen]) -> Scene:
    core, ring, solid = np.zeros((3, *oedema.shape), dtype=np.float32)
    for item in seen:
        rim = solid if item.lesion.solid else ring
        core[item.box] = np.maximum(core[item.box], item.core)
        rim[item.box] = np.maximum(rim[item.box], item.rim)
    return Scene(tissues, oedema, core, ring, solid)


def _label_map(oedema: Field32, seen: list[Seen]) -> NDArray[np.uint8]:
    labels = np.where(oedema > 0.4, np.uint8(OEDEMA), np.uint8(0))
    for item in seen:
        labels[item.voxels] = ENHANCING
        labels[item.core_voxels] = CORE
    return labels


def _capsule(anatomy: Anatomy, grid: Grid, mirrored: bool) -> Field32:
    """Squared distance to the capsule's centre in units of its half axes, on the grid."""
    centre = np.array([anatomy.skin(mirrored) + CAPSULE_RADIUS[0], *TEMPLE], dtype=np.float32)
    offset = (grid.lattice.points() - centre.reshape(3, 1, 1, 1)) / np.array(CAPSULE_RADIUS, dtype=np.float32).reshape(
        3, 1, 1, 1
    )
    squared: Field32 = (offset**2).sum(axis=0)
    return squared
