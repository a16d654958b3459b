"""The head outside the brain, in MNI millimetres (RAS): meninges, skull, scalp, face, vessels.

The ICBM152 T1 image in nilearn's wheel is skull-stripped, so these are drawn: shells of the signed
distance to the brain's hull above the skull base, simple solids below it. Everything is a fraction
from 0 to 1 on one lattice of 2 mm, symmetric in x where the body is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import ndimage

from ..identity.seeds import generator
from .fields import Field32, smooth_step

SPACING = 2.0
"""Millimetres of the lattice that the head is drawn on."""


@dataclass(frozen=True)
class Space:
    """Coordinates and distances of the lattice that the head is drawn on.

    Attributes
    ----------
    x, y, z
        MNI millimetres, broadcastable to the lattice; `side` is |x|.
    outside
        Signed distance to the brain's hull, millimetres, positive outside.
    away
        Distance to brain tissue, millimetres, 0 within.
    brain
        Fraction of grey or white matter.
    fine, coarse
        Random textures of unit variance, of 2 and 12 mm.
    """

    x: Field32
    y: Field32
    z: Field32
    outside: Field32
    away: Field32
    brain: Field32
    fine: Field32
    coarse: Field32

    @classmethod
    def around(cls, brain: Field32, origin: tuple[float, float, float]) -> Space:
        """The space around a brain on the 2 mm lattice whose first voxel lies at `origin`."""
        axes = np.ogrid[tuple(slice(0, n) for n in brain.shape)]
        x, y, z = (
            np.float32(start) + np.float32(SPACING) * axis.astype(np.float32)
            for start, axis in zip(origin, axes, strict=True)
        )
        solid = ndimage.binary_opening(brain > 0.35)
        away = ndimage.distance_transform_edt(~solid, sampling=SPACING).astype(np.float32)
        # The hull: closed over gaps of up to 20 mm, ventricles filled.
        grown = away <= 10.0
        hull = ndimage.distance_transform_edt(grown, sampling=SPACING) > 10.0
        hull = ndimage.binary_fill_holes(hull | solid)
        outside = ndimage.distance_transform_edt(~hull, sampling=SPACING) - ndimage.distance_transform_edt(
            hull, sampling=SPACING
        )
        return cls(
            x, y, z, ndimage.gaussian_filter(outside.astype(np.float32), 1.0), away, brain,
            texture(brain.shape, 1.0, "fine"), texture(brain.shape, 6.0, "coarse"),
        )  # fmt: skip

    @property
    def side(self) -> Field32:
        """Distance from the midline, millimetres."""
        distance: Field32 = np.abs(self.x)
        return distance

    @property
    def below(self) -> Any:
        """1 below the skull base, 0 above."""
        return smooth_step(-18 - self.z, 4.0)

    @property
    def meninges(self) -> Any:
        """Thickness of the subarachnoid space, millimetres."""
        return 2.8 + 0.7 * self.coarse

    def ball(self, side: float, y: float, z: float, radius: float, width: float = 0.8) -> Any:
        """A ball on either side."""
        return smooth_step(radius - np.sqrt((self.side - side) ** 2 + (self.y - y) ** 2 + (self.z - z) ** 2), width)

    def shell(self, inner: Any, outer: Any, width: float = 0.7) -> Any:
        """Between two distances outside the hull."""
        return smooth_step(self.outside - inner, width) * smooth_step(outer - self.outside, width)

    def slab(self, axis: Any, start: float, stop: float, width: float) -> Any:
        """Between two coordinates."""
        return smooth_step(axis - start, width) * smooth_step(stop - axis, width)


def texture(shape: tuple[int, ...], smoothness: float, name: str) -> Field32:
    """White noise smoothed by a Gaussian (voxels), of unit variance; the same for everybody."""
    noise = generator("phantom", "template", name).normal(size=shape).astype(np.float32)
    smooth = ndimage.gaussian_filter(noise, smoothness)
    result: Field32 = smooth / smooth.std()
    return result


def draw_head(space: Space) -> dict[str, Field32]:
    """The tissues around the brain, by name: csf, fat, muscle, marrow, fluid, vessel, veins, head.

    `veins` enhance and are unremarkable on T2; `head` is everything within the skin. Arrays have the
    shape of the lattice.
    """
    face = _face(space)
    head = np.maximum(
        smooth_step(15.0 + space.coarse - space.outside, 0.8), space.below * smooth_step(_outline(space), 0.012)
    )
    skin_depth = ndimage.distance_transform_edt(head > 0.5, sampling=SPACING).astype(np.float32)
    fat, muscle = _scalp(space, head, skin_depth)
    marrow = space.shell(space.meninges + 2, space.meninges + 5.0)
    marrow = marrow * np.clip(0.75 + 0.2 * space.fine, 0, 1.2) * (1 - 0.9 * space.below)
    soft = np.clip(1 - face.orbit, 0, 1) * np.clip(1 - face.cavities - 0.85 * face.mastoid, 0, 1)
    tissue_of_orbit = np.maximum(face.nerve, face.recti)
    turbinates = np.clip(0.35 + 0.25 * np.cos(space.side * 0.75) + 0.30 * space.fine, 0, 1)
    vessel, veins = _vessels(space)
    tissues = {
        "csf": smooth_step(space.meninges - space.outside, 0.7) * (1 - np.clip(_petrous_bone(space), 0, 1)),
        "fat": fat * soft + face.orbit * np.clip(1 - face.eye - tissue_of_orbit, 0, 1) * 0.9,
        "muscle": muscle * soft
        + face.orbit * tissue_of_orbit * np.clip(1 - face.eye, 0, 1)
        + face.nose * turbinates * 0.8,
        "marrow": marrow * np.clip(1 - face.orbit - face.cavities, 0, 1)
        + 0.25 * face.mastoid * np.clip(space.fine, 0, 1),
        "fluid": face.eye * (1 - face.lens),
        "vessel": vessel,
        "veins": veins,
        "head": head,
    }
    return {name: np.broadcast_to(value, space.brain.shape).astype(np.float32) for name, value in tissues.items()}


def _outline(space: Space) -> Any:
    """Positive inside the outline of the face and neck, in units of its half axes."""
    length = np.where(space.y > -16, 97, 90)
    return 1 - np.sqrt((space.x / 75) ** 2 + ((space.y + 16) / length) ** 2)


def _petrous_bone(space: Space) -> Any:
    """The bone between the temporal lobe and the cerebellum, and the base of the anterior fossa."""
    ridge = smooth_step(-22 - space.z, 2) * smooth_step(space.side - 14, 2) * smooth_step(space.away - 3.5, 1)
    front = smooth_step(-24 - space.z, 2) * smooth_step(space.y - 4, 2) * smooth_step(space.away - 4, 1)
    return ridge * smooth_step(space.y + 75, 3) + front


def _scalp(space: Space, head: Any, skin_depth: Field32) -> tuple[Any, Any]:
    """Fat and muscle between skull and skin."""
    scalp = smooth_step(space.outside - space.meninges - 7.0, 0.7) * head
    deep = scalp * smooth_step(skin_depth - 6.0, 1.0)
    temporalis = smooth_step(space.side - 50, 3) * space.slab(space.y, -25, 48, 5) * smooth_step(12 - space.z, 5)
    under_skin = temporalis * smooth_step(skin_depth - 3.5, 0.8)
    fat = scalp * smooth_step(7.5 - skin_depth, 1.0) * np.clip(0.85 + 0.12 * space.fine, 0, 1)
    fat = fat * (1 - 0.8 * under_skin) + deep * np.clip(0.25 * space.coarse + 0.1, 0, 0.8)
    muscle = deep * np.clip(0.75 + 0.35 * space.fine - 0.2 * space.coarse, 0, 1.1) + scalp * under_skin * 0.9
    return fat, muscle


@dataclass(frozen=True)
class _Face:
    orbit: Any
    eye: Any
    lens: Any
    nerve: Any
    recti: Any
    nose: Any
    cavities: Any
    mastoid: Any


def _face(space: Space) -> _Face:
    """Orbits with globe, lens, optic nerve and straight muscles; nose, air-filled sinuses, mastoid."""
    side, y, z = space.side, space.y, space.z
    orbit = space.ball(30, 52, -36, 20, 1.2) * smooth_step(space.outside - 3, 1)
    course = np.sqrt((side - (32 - 0.42 * (62 - y))) ** 2 + (z + 37) ** 2)
    cone = np.sqrt((side - 31) ** 2 + (z + 37) ** 2) - 0.45 * (y - 22) * smooth_step(70 - y, 3)
    nose = smooth_step(15 - side, 1.5) * space.slab(y, 34, 76, 2) * smooth_step(-30 - z, 2)
    sphenoid = smooth_step(13 - side, 1.5) * space.slab(y, 10, 35, 2) * smooth_step(-30 - z, 2)
    frontal = (side / 18) ** 2 + ((y - 78) / 6) ** 2 + ((z + 16) / 12) ** 2 < 1
    nose = nose * smooth_step(space.outside - 4, 1)
    cavities = nose + sphenoid * smooth_step(space.outside - 2, 1) + frontal * smooth_step(space.outside - 3, 1)
    return _Face(
        orbit=orbit,
        eye=space.ball(32, 62, -37, 12),
        lens=space.ball(32, 72.5, -37, 3.5),
        nerve=smooth_step(2.2 - course, 0.6) * space.slab(y, 22, 58, 1),
        recti=orbit * smooth_step(1.8 - np.abs(cone), 0.6) * smooth_step(58 - y, 2),
        nose=nose,
        cavities=cavities,
        mastoid=space.ball(52, -38, -46, 17, 2) * smooth_step(space.outside - 2, 1),
    )


def _vessels(space: Space) -> tuple[Any, Any]:
    """Vessels with fast blood (bright on T1CE, dark on T2), and what only enhances.

    The first: sagittal and transverse sinus, basilar, carotid and middle cerebral arteries. The
    second: choroid plexus, dura, falx and sparse veins in the sulci, the natural distractors for
    small metastases.
    """
    side, y, z, outside = space.side, space.y, space.z, space.outside

    def tube(across: Any, along: Any, radius: float) -> Any:
        return smooth_step(radius - np.sqrt(across**2 + along**2), 0.5)

    sagittal = smooth_step(3.4 - side, 0.7) * smooth_step(outside + 4.5, 0.7) * smooth_step(2.0 - outside, 0.7)
    sagittal = sagittal * np.maximum(smooth_step(z - 5, 3), smooth_step(-55 - y, 3)) * smooth_step(z + 22, 2)
    transverse = space.slab(z, -32, -20, 1.5) * smooth_step(-48 - y, 3) * space.slab(outside, -3, 3, 0.8)
    basilar = tube(space.x, y + 15, 1.8) * space.slab(z, -48, -14, 1)
    carotid = tube(side - 13, y - 2, 2.4) * smooth_step(-14 - z, 1)
    cerebral = tube(y - 3 - 0.12 * (side - 25), z + 14 - 0.02 * (side - 13), 1.7) * space.slab(side, 12, 45, 1)
    plexus = space.ball(22, -38, 10, 3.2) + 0.8 * tube(side - 13, z - 20, 1.5) * space.slab(y, -30, 5, 2)
    veins = smooth_step(texture(space.brain.shape, 0.8, "veins") - 2.5, 0.15) * smooth_step(-outside, 1.0)
    falx = smooth_step(1.0 - side, 0.5) * (space.brain < 0.5) * smooth_step(z - 12, 2) * smooth_step(-outside, 1)
    dura = smooth_step(1.0 - np.abs(outside - space.meninges - 0.5), 0.4) * (1 - space.below)
    enhancing = 0.75 * plexus + 0.9 * veins * (space.brain < 0.75) + 0.35 * falx + 0.30 * dura
    return np.clip(sagittal + transverse + basilar + carotid + cerebral, 0, 1), np.clip(enhancing, 0, 1)
