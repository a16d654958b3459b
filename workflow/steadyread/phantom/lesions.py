"""Lesions of the two classes: what they are, where they sit, and how a grid sees them.

GBM: one deep, irregular ring that enhances around a necrotic core, with oedema along white matter.
MET: one to four small round lesions at the junction of grey and white matter, solid or ring.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..config.phantom import PHANTOM_LABELS
from ..identity.seeds import generator
from .anatomy import Anatomy, Push
from .fields import Field32, WaveField, smooth_step
from .geometry import Box, FloatArray, Lattice
from .template import sample

LABELS = PHANTOM_LABELS
CORE, ENHANCING, OEDEMA = 1, 2, 3
"""Labels of the lesion map; the lesion proper is core and enhancing rim, oedema is not."""
LESION_LABELS = (CORE, ENHANCING)
THROUGH_SLICE = (-2.0, 0.0, 2.0)
"""Offsets (mm) through the slice over which lesions are averaged: partial volume."""
COVERED = 0.4
"""A voxel is labelled with what covers more than this share of it."""
SMALLEST = 3
"""Least number of voxels of a lesion that are outlined in a slice."""
APART = 26.0
"""Least distance between the centres of metastases, millimetres."""
DEEP = 19.0
"""A deep glioblastoma's centre lies at least so far below the brain's surface, millimetres."""
JUNCTION = (4.0, 15.0)
"""Depth of metastases below the brain's surface, millimetres."""

Fits = Callable[[Field32, Field32, Field32, Field32], NDArray[np.bool_]]
"""Whether anatomy suits: from template points (3, n), grey, white matter and depth, each (n,)."""


@dataclass(frozen=True, eq=False)
class Lesion:
    """One lesion.

    Attributes
    ----------
    centre
        RAS millimetres of the patient, shape (3,).
    radius
        Mean radius, millimetres.
    solid
        True where there is no necrotic core.
    stretch
        Factor on each axis before distances are taken, shape (3,).
    roughness, surface
        How much the radius varies, as a share of it, and how.
    wall, wall_variation, thickness
        Thickness of the enhancing rim (mm), how much it varies, and how.
    oedema, fingers
        How far oedema reaches in white matter (mm), and its variation.
    mass
        Displacement at the surface, as a share of the radius.
    """

    centre: FloatArray
    radius: float
    solid: bool
    stretch: FloatArray
    roughness: float
    surface: WaveField
    wall: float
    wall_variation: float
    thickness: WaveField
    oedema: float
    fingers: WaveField
    mass: float

    @property
    def push(self) -> Push:
        """The mass effect."""
        return Push(self.centre, self.radius, self.mass)


@dataclass(frozen=True, eq=False)
class Seen:
    """A lesion as a lattice's slices see it, within a box of the lattice: shares of each voxel."""

    lesion: Lesion
    box: Box
    core: Field32
    rim: Field32
    voxels: NDArray[np.bool_]
    """Core or rim as outlined, on the whole lattice."""
    core_voxels: NDArray[np.bool_]
    """The core alone, likewise."""


def draw_lesions(
    seed: int, patient_id: str, label: str, anatomy: Anatomy, lattice: Lattice, scale: float
) -> list[Seen]:
    """A patient's lesions, as the slices of a lattice see them.

    Drawn anew until each lesion shows in a slice, a glioblastoma shows its core, and at least one
    slice more is free of lesion than not, so that as many slices can be removed elsewhere.

    Parameters
    ----------
    label
        GBM or MET.
    lattice
        The slices, in the patient's RAS millimetres.
    scale
        Factor on the lesions' volume.
    """
    count = _count(seed, patient_id, label)
    for attempt in range(1000):
        draws = generator(seed, "phantom", patient_id, "lesions", attempt)
        if label == "GBM":
            lesions = [_glioblastoma(draws, anatomy, lattice, scale)]
        else:
            lesions = _metastases(draws, count, anatomy, lattice, scale)
        seen = [see(lesion, lattice) for lesion in lesions]
        if _usable(seen, label):
            return seen
    raise AssertionError("no lesion fits this phantom head: the limits contradict each other")


def see(lesion: Lesion, lattice: Lattice) -> Seen:
    """Core and rim of a lesion on a lattice, averaged through the slice."""
    box = lattice.around(lesion.centre, lesion.radius * 2.2 + 6.0)
    part = lattice.part(box).moved(-lesion.centre)
    stretch = lesion.stretch.astype(np.float32).reshape(3, 1, 1, 1)
    inner, outer = np.zeros((2, *part.shape), dtype=np.float32)
    for offset in THROUGH_SLICE:
        sheet = part.moved(offset * lattice.normal)
        radius = lesion.radius * (1 + lesion.roughness * lesion.surface.on(sheet))
        beyond = np.sqrt(((sheet.points() * stretch) ** 2).sum(axis=0)) - radius
        wall = lesion.wall * (1 + lesion.wall_variation * lesion.thickness.on(sheet))
        inner += smooth_step(-beyond - wall, 0.5) / len(THROUGH_SLICE)
        outer += smooth_step(-beyond, 0.6) / len(THROUGH_SLICE)
    if lesion.solid:
        inner[...] = 0
    rim = np.clip(outer - inner, 0, 1)
    outlined = outer > COVERED
    # Nobody outlines a speck.
    outlined &= outlined.sum(axis=(0, 1), keepdims=True) >= SMALLEST
    voxels, core_voxels = np.zeros((2, *lattice.shape), dtype=bool)
    voxels[box] = outlined
    core_voxels[box] = outlined & (inner > COVERED) & (rim <= COVERED)
    return Seen(lesion, box, inner, rim, voxels, core_voxels)


def see_oedema(lesion: Lesion, lattice: Lattice, tissues: dict[str, Field32]) -> tuple[Box, Field32]:
    """Oedema around a lesion, in a box of a lattice: it spreads in white matter, which gives it fingers."""
    box = lattice.around(lesion.centre, lesion.radius * 1.5 + 2.5 * lesion.oedema)
    part = lattice.part(box).moved(-lesion.centre)
    beyond = np.sqrt((part.points() ** 2).sum(axis=0)) - lesion.radius
    reach = lesion.oedema * (1 + 0.45 * np.minimum(lesion.fingers.on(part), 2))
    # Cut off at two per cent, so that nothing is left outside the box.
    spread = np.maximum(smooth_step(reach - beyond, 1.6) - 0.02, 0) / 0.98
    white = np.clip(tissues["wm"][box] * 1.35 - 0.15, 0, 1)
    share = np.clip(white + 0.25 * tissues["gm"][box], 0, 1) * np.clip(1 - 1.2 * tissues["csf"][box], 0, 1)
    return box, np.asarray(0.92 * spread * share, dtype=np.float32)


def _usable(seen: list[Seen], label: str) -> bool:
    shown = np.array([item.voxels.any(axis=(0, 1)) for item in seen])
    affected = int(shown.any(axis=0).sum())
    has_core = label != "GBM" or bool(seen[0].core_voxels.any())
    return bool(shown.any(axis=1).all()) and has_core and affected + 1 <= shown.shape[1] - affected


def _count(seed: int, patient_id: str, label: str) -> int:
    """Number of lesions; drawn apart, so that what is drawn anew does not favour few."""
    if label == "GBM":
        return 1
    draws = generator(seed, "phantom", patient_id, "lesion count")
    return int(np.searchsorted(np.cumsum([0.34, 0.28, 0.22]), draws.random(), side="right")) + 1


def _glioblastoma(draws: np.random.Generator, anatomy: Anatomy, lattice: Lattice, scale: float) -> Lesion:
    radius, shallow = draws.uniform(13, 23) * np.cbrt(scale), draws.random() < 0.12

    def deep(points: Field32, grey: Field32, white: Field32, depth: Field32) -> NDArray[np.bool_]:
        fits: NDArray[np.bool_]
        if shallow:
            fits = (white > 0.5) & (depth > 9) & (points[2] > -20)
        else:
            fits = (white > 0.55) & (depth > DEEP) & (np.abs(points[0]) > 15) & (points[2] > -8) & (points[2] < 46)
        return fits

    return _lesion(
        draws,
        centre=_site(draws, anatomy, lattice, deep, []),
        radius=float(radius * (0.75 if shallow else 1)),
        solid=False,
        roughness=draws.uniform(0.16, 0.30),
        wall=draws.uniform(3.2, 6.5) * np.cbrt(scale),
        wall_variation=0.45,
        oedema=draws.uniform(8, 20),
        mass=draws.uniform(0.15, 0.45),
        stretch=draws.uniform(0.75, 1.3, 3),
    )


def _metastases(
    draws: np.random.Generator, count: int, anatomy: Anatomy, lattice: Lattice, scale: float
) -> list[Lesion]:
    def junction(points: Field32, grey: Field32, white: Field32, depth: Field32) -> NDArray[np.bool_]:
        between = (white > 0.25) & (grey > 0.25) & (white + grey > 0.8)
        fits: NDArray[np.bool_] = between & (depth > JUNCTION[0]) & (depth < JUNCTION[1]) & (points[2] > -42)
        return fits

    large = draws.random() < (0.30 if count == 1 else 0.12)
    lesions: list[Lesion] = []
    for number in range(count):
        radius = draws.uniform(9, 14) if large and number == 0 else draws.uniform(4.0, 8.5)
        lesions.append(
            _lesion(
                draws,
                centre=_site(draws, anatomy, lattice, junction, [lesion.centre for lesion in lesions]),
                radius=float(radius * np.cbrt(scale)),
                solid=not (radius > 6 and draws.random() < 0.6),
                roughness=draws.uniform(0.02, 0.07),
                wall=draws.uniform(1.8, 3.0) * np.cbrt(scale),
                wall_variation=0.15,
                oedema=draws.uniform(9, 24),
                mass=draws.uniform(0.1, 0.3),
                stretch=draws.uniform(0.92, 1.08, 3),
            )
        )
    return lesions


def _lesion(draws: np.random.Generator, *, centre: FloatArray, radius: float, **parts: object) -> Lesion:
    return Lesion(
        centre=centre,
        radius=radius,
        surface=WaveField.draw(draws, 0.9 * radius, 2.2 * radius),
        thickness=WaveField.draw(draws, 6, 16),
        fingers=WaveField.draw(draws, 14, 34),
        **parts,  # type: ignore[arg-type]
    )


def _site(
    draws: np.random.Generator, anatomy: Anatomy, lattice: Lattice, fits: Fits, taken: list[FloatArray]
) -> FloatArray:
    """A point, uniform over the volume whose anatomy suits, within a millimetre of an inner slice."""
    directions = lattice.steps / np.linalg.norm(lattice.steps, axis=0)
    for _ in range(1000):
        # In millimetres from the stack's middle, so that no draw depends on the size of the pixels.
        inplane = draws.uniform([[-80], [-100]], [[80], [100]], (2, 4096))
        slices = draws.integers(1, lattice.shape[2] - 1, 4096)
        offset = draws.uniform(-1, 1, (3, 4096))
        middle = lattice.origin + lattice.steps @ ((np.array(lattice.shape) - 1) / 2)
        height = (slices - (lattice.shape[2] - 1) / 2) * np.linalg.norm(lattice.steps[:, 2])
        points = middle[:, None] + directions @ np.vstack([inplane, height[None]]) + offset
        found = anatomy.template_points(points.astype(np.float32))
        good = fits(found, sample("gm", found), sample("wm", found), -sample("outside", found))
        for other in taken:
            good &= np.linalg.norm(points - other[:, None], axis=0) > APART
        if good.any():
            site: FloatArray = points[:, int(np.argmax(good))]
            return site
    raise AssertionError("no place in this phantom head suits the lesion: the limits contradict each other")
