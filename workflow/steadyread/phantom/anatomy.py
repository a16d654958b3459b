"""One patient's anatomy: how the template is turned, stretched and folded into this head."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from ..identity.seeds import generator
from .fields import Field32, WaveField, smooth_step
from .geometry import FloatArray, Lattice
from .template import sample

PIVOT = np.array([0.0, -18.0, 5.0])
"""The middle of the template's head, MNI millimetres; patients turn about it."""
VENTRICLES = (np.array([0.0, -12.0, 14.0]), np.array([26.0, 45.0, 24.0]))
"""Centre and reach (mm) of the warp that widens the ventricles."""
TEMPLE = (14.0, 8.0)
"""Where the capsule is taped to the right temple: front and height, RAS millimetres."""
REACH = {
    "gm": (-np.inf, 12.0), "wm": (-np.inf, 12.0), "csf": (-np.inf, 12.0), "veins": (-np.inf, 12.0),
    "vessel": (-np.inf, 60.0), "fat": (-8.0, 60.0), "muscle": (-8.0, 60.0), "marrow": (-8.0, 60.0),
    "fluid": (-8.0, 60.0),
}  # fmt: skip
"""Between which distances from the brain's hull (mm, positive outside) a tissue is found at all."""


@dataclass(frozen=True)
class Push:
    """A lesion's mass effect: it pushes brain away from its centre.

    Attributes
    ----------
    centre
        RAS millimetres, shape (3,).
    radius
        Of the lesion, millimetres.
    amount
        Displacement at its surface, as a share of the radius.
    """

    centre: FloatArray
    radius: float
    amount: float

    TAIL = 4.0
    """Beyond this many radii nothing moves: far away, patient and lesion-free twin are the same."""

    def displacement(self, points: Field32) -> Field32:
        """Millimetres by which points (3, …) are sampled nearer to the centre."""
        offset = points - self.centre.astype(np.float32).reshape(3, *[1] * (points.ndim - 1))
        radii = np.sqrt((offset**2).sum(axis=0)) / np.float32(self.radius)
        last = np.exp(-(self.TAIL - 1) / 1.3)
        decay = np.maximum(np.exp(-np.maximum(radii - 1, 0) / 1.3) - last, 0) / (1 - last)
        moved: Field32 = offset * (self.amount * np.minimum(radii, 1) * decay / np.maximum(radii, 0.3)).astype(
            np.float32
        )
        return moved


@dataclass(frozen=True, eq=False)
class Anatomy:
    """A map from the patient's space to the template's, and what changes within.

    Attributes
    ----------
    matrix, shift
        Affine part about `PIVOT`: template = matrix @ (patient - PIVOT) + PIVOT + shift.
    head, folds
        Displacements (mm, one field per axis) of long waves in the whole head, of short ones in the brain.
    ventricles
        How much wider the ventricles are than the template's.
    atrophy
        Share of the grey matter beside fluid that has become fluid.
    """

    matrix: FloatArray
    shift: FloatArray
    head: tuple[WaveField, ...]
    folds: tuple[WaveField, ...]
    ventricles: float
    atrophy: float

    @classmethod
    def draw(cls, seed: int, patient_id: str) -> Anatomy:
        """The anatomy of a patient of a study's seed."""
        draws = generator(seed, "phantom", patient_id, "anatomy")
        turn = Rotation.from_euler("XYZ", draws.normal(0, [3.0, 3.0, 4.0]), degrees=True).as_matrix()
        matrix = turn @ np.diag(1 / draws.normal(1.0, 0.035, 3))
        shift = draws.normal(0, [2.5, 3.0, 3.0])
        head = tuple(WaveField.draw(draws, 110, 220) for _ in range(3))
        folds = tuple(WaveField.draw(draws, 26, 55) for _ in range(3))
        return cls(matrix, shift, head, folds, float(draws.uniform(-0.12, 0.32)), float(draws.uniform(0, 0.28)))

    @property
    def middle(self) -> FloatArray:
        """The middle of the head, RAS millimetres of the patient, but for the waves."""
        place: FloatArray = PIVOT - np.linalg.solve(self.matrix, self.shift)
        return place

    def template_points(self, points: Field32) -> Field32:
        """MNI millimetres of points of the patient (RAS millimetres), shape (3, …), without lesions."""
        return self._to_template(points, lambda field: field.at(points))

    def template_lattice(self, lattice: Lattice) -> Field32:
        """MNI millimetres of the points of a lattice, shape (3, *lattice.shape), without lesions."""
        return self._to_template(lattice.points(), lambda field: field.on(lattice))

    def skin(self, mirrored: bool) -> float:
        """How far right of x = 0 the skin of the right temple lies, millimetres."""
        right = np.arange(110.0, 30.0, -0.5)
        ray = np.stack([-right if mirrored else right, np.full_like(right, TEMPLE[0]), np.full_like(right, TEMPLE[1])])
        head = sample("head", self.template_points(ray.astype(np.float32)))
        return float(right[int(np.argmax(head > 0.5))])

    def tissues(self, points: Field32, pushes: list[Push], patient_points: Field32) -> dict[str, Field32]:
        """Fractions of the template's tissues, by name, on a lattice.

        Parameters
        ----------
        points
            MNI millimetres of the lattice as `template_lattice` gives them, shape (3, …).
        pushes
            Mass effect of the lesions.
        patient_points
            RAS millimetres of the same points.
        """
        if pushes:
            points = points.copy()
            # The skull does not give way.
            free = smooth_step(1.0 - sample("outside", points), 2.5)
            for push in pushes:
                points -= push.displacement(patient_points) * free
        outside = sample("outside", points)
        found: dict[str, Field32] = {}
        for reach in dict.fromkeys(REACH.values()):
            near = (outside > reach[0]) & (outside < reach[1])
            within = points[:, near]
            for name in (name for name in REACH if REACH[name] == reach):
                found[name] = np.zeros(outside.shape, dtype=np.float32)
                found[name][near] = sample(name, within)
        shrunk = np.float32(self.atrophy) * np.clip(found["csf"] * 3, 0, 1) * found["gm"]
        found["gm"] -= shrunk
        found["csf"] += shrunk
        return found

    def _to_template(self, points: Field32, values: Callable[[WaveField], Field32]) -> Field32:
        def column(vector: FloatArray) -> Any:
            return vector.astype(np.float32).reshape(3, *[1] * (points.ndim - 1))

        moved = np.tensordot(self.matrix.astype(np.float32), points - column(PIVOT), axes=1)
        moved += column(PIVOT + self.shift)
        for axis in range(3):
            moved[axis] += 2.2 * values(self.head[axis])
        # The short waves fold the brain, not the skull.
        inside = smooth_step(1.0 - sample("outside", moved), 2.5)
        for axis in range(3):
            moved[axis] += 1.9 * values(self.folds[axis]) * inside
        centre, reach = VENTRICLES
        offset = moved - column(centre)
        near = np.exp(-((offset / column(reach)) ** 2).sum(axis=0))
        result: Field32 = moved - np.float32(self.ventricles) * offset * near
        return result
