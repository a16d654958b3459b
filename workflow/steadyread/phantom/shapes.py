"""The phantom's anatomy and lesions as shapes: functions of RAS millimetres, known without any file.

Simple on purpose: nested ellipsoids for the head, rounded blobs for lesions. The origin is the
middle of the brain.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .geometry import FloatArray

Vector = tuple[float, float, float]

CORE, ENHANCING, OEDEMA = 1, 2, 3
"""Labels of the lesion map; the lesion proper is core and enhancing rim, oedema is not."""
LESION_LABELS = (CORE, ENHANCING)

SKULL_DEPTH = 11.0
"""Scalp, skull and meninges together, millimetres."""
HEAD = (76.0, 96.0, 92.0)
"""Half axes of the average head: right, front, head."""
MARKER_RADIUS = (4.5, 5.0, 10.0)
"""Half axes of the oil capsule that marks the right temple, as scanners' staff tape it there."""

FAR = 10.0
"""Beyond this distance (mm) a shape leaves no trace, however soft its edge."""

SIGNAL: dict[str, dict[str, float]] = {
    "T1CE": {
        "fat": 1500, "bone": 90, "marrow": 800, "csf": 260, "grey": 760, "white": 1080, "muscle": 620, "vessel": 1700,
        "fluid": 330, "core": 420, "enhancing": 2150, "oedema": 690, "marker": 2700,
    },
    "T2": {
        "fat": 1150, "bone": 70, "marrow": 620, "csf": 2350, "grey": 1120, "white": 720, "muscle": 420, "vessel": 120,
        "fluid": 2400, "core": 1950, "enhancing": 1080, "oedema": 1560, "marker": 2700,
    },
}  # fmt: skip
"""Signal of each tissue, scanner units, of the two sequences."""


class _Paint(Protocol):
    def __call__(self, name: str, inside: FloatArray, softness: float = 2.0) -> None: ...


class _Ellipsoid(Protocol):
    def __call__(self, centre: Vector, axes: Vector) -> FloatArray: ...


@dataclass(frozen=True)
class Lesion:
    """One star-shaped lesion.

    Attributes
    ----------
    centre
        RAS millimetres.
    radius
        Mean radius, millimetres.
    wall
        Thickness of the enhancing rim; 0 for a solid lesion.
    reach
        How far oedema reaches beyond the surface, millimetres.
    waves
        Roughness of the surface: wave vectors on the unit sphere with phase, (n, 4).
    roughness
        Amplitude of each wave, as a share of the radius.
    """

    centre: Vector
    radius: float
    wall: float
    reach: float
    waves: tuple[tuple[float, float, float, float], ...] = ()
    roughness: float = 0.0

    def depth(self, points: FloatArray) -> FloatArray:
        """Millimetres below the lesion's surface along the ray from its centre; negative outside.

        `points`: RAS millimetres, shape (…, 3).
        """
        offset = points - np.asarray(self.centre)
        distance: FloatArray = _length(offset)
        surface = np.full_like(distance, self.radius)
        if self.waves:
            direction = offset / np.maximum(distance, 1e-9)[..., None]
            for *vector, phase in self.waves:
                surface += self.radius * self.roughness * np.sin(direction @ np.asarray(vector) + phase)
        return surface - distance


@dataclass(frozen=True)
class Head:
    """One patient's head: size, ventricles, the cortex's folds, and lesions."""

    axes: Vector
    ventricles: float
    folds: tuple[tuple[float, float, float, float], ...]
    lesions: tuple[Lesion, ...]

    def depth(self, points: FloatArray) -> FloatArray:
        """Approximate millimetres below the skin; negative outside. `points`: RAS, shape (…, 3)."""
        return -_ellipsoid(points, (0, 0, 0), self.axes)

    def lesion_map(self, points: FloatArray) -> NDArray[np.uint8]:
        """Labels (0, CORE, ENHANCING, OEDEMA) at points, RAS millimetres, shape (…, 3)."""
        labels = np.zeros(points.shape[:-1], dtype=np.uint8)
        inside = self.depth(points) > SKULL_DEPTH + 3
        depths = [(lesion, lesion.depth(points)) for lesion in self.lesions]
        for lesion, depth in depths:
            labels[(depth > -lesion.reach) & inside] = OEDEMA
        for lesion, depth in depths:
            labels[depth >= 0] = ENHANCING
            if lesion.wall:
                labels[depth >= lesion.wall] = CORE
        return labels

    def signal(self, points: FloatArray, sequence: str) -> FloatArray:
        """Noiseless signal at points, RAS millimetres, shape (…, 3), edges softened by partial volume."""
        tissue = SIGNAL[sequence]
        x, y, z = points[..., 0], points[..., 1], points[..., 2]
        depth = self.depth(points)
        fold = _waves(points, self.folds)
        image = np.zeros(depth.shape)

        def paint(name: str, inside: FloatArray, softness: float = 2.0) -> None:
            """Cover what lies inside (positive millimetres) with a tissue."""
            weight = np.clip(0.5 + inside / softness, 0, 1)
            image[...] = image * (1 - weight) + tissue[name] * weight

        lowest, highest = float(z.min()), float(z.max())

        def ellipsoid(centre: Vector, axes: Vector) -> FloatArray:
            if lowest > centre[2] + axes[2] + FAR or highest < centre[2] - axes[2] - FAR:
                return np.full(depth.shape, -FAR)  # most shapes miss most slices
            return -_ellipsoid(points, centre, axes)

        paint("fat", depth)
        paint("bone", depth - 5)
        paint("marrow", depth - 6.5)
        paint("bone", depth - 8.5)
        paint("csf", depth - SKULL_DEPTH + 1)
        # Sulci follow the sheets where the waves vanish, to some depth; cortex lines them and the surface.
        cortex = depth - SKULL_DEPTH - 1.5
        sulcus = np.maximum(7 * np.abs(fold), cortex - 13)
        white = np.minimum(cortex, sulcus) - 4
        paint("grey", cortex)
        paint("white", white)
        paint("csf", np.minimum(0.9 - sulcus, cortex + 2), 1.5)
        # The falx and the fissure between the hemispheres, above the corpus callosum.
        arch = np.sqrt((y / 58) ** 2 + ((z - 2) / 26) ** 2) - 1
        paint("csf", np.minimum(np.minimum(1.6 - np.abs(x), cortex + 2), arch * 20), 1.5)
        paint("vessel", np.minimum(ellipsoid((0, -self.axes[1] + 11, 8), (4, 4, 50)), depth - SKULL_DEPTH + 2), 1.5)
        self._paint_deep(paint, ellipsoid)
        self._paint_base(paint, ellipsoid, z)
        depths = [(lesion, lesion.depth(points)) for lesion in self.lesions]
        for lesion, inside in depths:
            # Oedema stays in white matter: it fades towards the folded cortex.
            paint("oedema", np.minimum(inside + lesion.reach, white * 0.8 + 1), 4.0)
        for lesion, inside in depths:
            paint("enhancing", inside)
            if lesion.wall:
                paint("core", inside - lesion.wall)
        # Right is +x: a slice that is shown mirrored shows this capsule on the wrong side.
        paint("marker", ellipsoid(self.marker_centre, MARKER_RADIUS))
        return image

    @property
    def marker_centre(self) -> Vector:
        """RAS millimetres of the capsule on the right temple, on the skin."""
        y, z = 32.0, 8.0
        skin = self.axes[0] * float(np.sqrt(1 - (y / self.axes[1]) ** 2 - (z / self.axes[2]) ** 2))
        return (skin + MARKER_RADIUS[0] + 0.5, y, z)

    def _paint_deep(self, paint: _Paint, ellipsoid: _Ellipsoid) -> None:
        wide = self.ventricles
        for side in (-1, 1):
            paint("grey", ellipsoid((side * 14, -14, 2), (8, 13, 9)))
            paint("grey", ellipsoid((side * 24, 4, 1), (6, 15, 9)))
            paint("csf", ellipsoid((side * 9, 20, 11), (4.5 * wide, 14, 8)))
            paint("csf", ellipsoid((side * 11, -6, 18), (5 * wide, 26, 6.5 * wide)))
            paint("csf", ellipsoid((side * 20, -34, 8), (5.5 * wide, 15, 9)))
        paint("csf", ellipsoid((0, -5, -3), (2.2 * wide, 12, 9)), 1.5)

    def _paint_base(self, paint: _Paint, ellipsoid: _Ellipsoid, z: FloatArray) -> None:
        """Face, eyes, cerebellum and brain stem, below the hemispheres."""
        paint("muscle", ellipsoid((0, 66, -66), (58, 34, 40)), 6.0)
        paint("bone", ellipsoid((0, 72, -54), (11, 12, 16)))
        for side in (-1, 1):
            paint("bone", ellipsoid((side * 46, -22, -52), (20, 12, 12)), 3.0)
            paint("fat", ellipsoid((side * 30, 66, -40), (17, 20, 13)))
            paint("fluid", ellipsoid((side * 30, 72, -40), (11.5, 11.5, 11.5)))
        paint("csf", ellipsoid((0, -14, -44), (24, 17, 24)))
        hindbrain = ellipsoid((0, -52, -42), (50, 30, 20))
        paint("csf", hindbrain + 2)
        paint("grey", hindbrain)
        paint("white", np.minimum(hindbrain - 3, 4 * np.sin(z * 1.1 + 3 * hindbrain / 8)), 3.0)
        paint("csf", ellipsoid((0, -36, -42), (8, 5, 8)))
        paint("white", ellipsoid((0, -18, -44), (12, 11, 26)))


def _ellipsoid(points: FloatArray, centre: Vector, axes: Vector) -> FloatArray:
    """Approximate signed distance to an ellipsoid in millimetres, positive outside."""
    scaled = (points - np.asarray(centre, dtype=float)) / np.asarray(axes, dtype=float)
    radius: FloatArray = _length(scaled)
    # First order: value over gradient, so that shells keep their thickness along all axes.
    steep = scaled / np.asarray(axes, dtype=float)
    gradient = _length(steep) / np.maximum(radius, 1e-9)
    distance: FloatArray = (radius - 1) / np.maximum(gradient, 1.0 / max(axes))
    return distance


def _length(vectors: FloatArray) -> FloatArray:
    """Euclidean length over the last axis; einsum is several times faster here than a sum over 3."""
    length: FloatArray = np.sqrt(np.einsum("...i,...i->...", vectors, vectors))
    return length


def _waves(points: FloatArray, waves: tuple[tuple[float, float, float, float], ...]) -> FloatArray:
    """Sum of plane waves, scaled to unit variance; wave vectors in radians per millimetre."""
    total = np.zeros(points.shape[:-1])
    for *vector, phase in waves:
        total += np.sin(points @ np.asarray(vector) + phase)
    result: FloatArray = total * np.sqrt(2 / max(len(waves), 1))
    return result
