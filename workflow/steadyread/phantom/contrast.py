"""How the two sequences show tissue: mean signal, texture, coil, noise; and how the sites differ."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..identity.seeds import generator
from .fields import Field32, WaveField
from .geometry import Lattice

SEQUENCES = ("T1CE", "T2")
TWELVE_BITS = 4095
SIGNAL: dict[str, dict[str, float]] = {
    "T1CE": {
        "gm": 0.46, "wm": 0.62, "csf": 0.15, "fat": 0.92, "muscle": 0.40, "marrow": 0.42, "fluid": 0.17, "vessel": 0.92,
        "oedema": 0.40, "core": 0.28, "ring": 0.98, "solid": 0.92,
    },
    "T2": {
        "gm": 0.52, "wm": 0.36, "csf": 0.96, "fat": 0.66, "muscle": 0.24, "marrow": 0.34, "fluid": 0.98, "vessel": 0.08,
        "oedema": 0.80, "core": 0.90, "ring": 0.50, "solid": 0.55,
    },
}  # fmt: skip
"""Mean signal of each tissue; air and cortical bone have none."""
CAPSULE = 1.4
"""Signal of the oil capsule: above all tissue in both sequences."""


@dataclass(frozen=True)
class Site:
    """What a site's scanner does to every image.

    Attributes
    ----------
    signal
        Factor on the mean signal of a tissue, by sequence and tissue, where it is not 1.
    noise
        Factor on the noise.
    shading
        Added to the coil's sensitivity (log) from left to right and from back to front, per 100 mm.
    """

    signal: dict[str, dict[str, float]]
    noise: float = 1.0
    shading: tuple[float, float] = (0.0, 0.0)


SITES = (
    Site({}),
    Site(
        {
            "T1CE": {"gm": 1.06, "wm": 0.94, "ring": 0.88, "solid": 0.88},
            "T2": {"csf": 0.90, "gm": 0.95, "oedema": 0.92},
        },
        noise=1.7,
        shading=(0.10, -0.25),
    ),
)
"""The sites' scanners where sites differ; where they do not, all are like the first."""


@dataclass(frozen=True, eq=False)
class Scene:
    """What lies in each voxel of a lattice: shares, each of the lattice's shape.

    Attributes
    ----------
    tissues
        Of the patient without lesions, by the template's names.
    oedema, core, ring, solid
        Of lesions: `ring` is the rim around a core, `solid` a rim without one.
    """

    tissues: dict[str, Field32]
    oedema: Field32
    core: Field32
    ring: Field32
    solid: Field32


def signal_of(scene: Scene, lattice: Lattice, seed: int, patient_id: str, sequence: str, site: Site) -> Field32:
    """Signal of a scene in a sequence before the coil and noise, on the scene's lattice, 1 = bright."""
    draws = generator(seed, "phantom", patient_id, "contrast", sequence)
    means = {
        name: mean * draws.normal(1, 0.06 if name == "oedema" else 0.05) for name, mean in SIGNAL[sequence].items()
    }
    uptake, plexus = draws.uniform(0.80, 1.0), draws.uniform(0.7, 1.1)
    texture = 1 + np.float32(0.025) * WaveField.draw(draws, 8, 25, 10).on(lattice)
    for name, factor in site.signal.get(sequence, {}).items():
        means[name] *= factor
    image = np.zeros(lattice.shape, dtype=np.float32)
    for name, share in scene.tissues.items():
        if name in means:
            image += share * np.float32(means[name])
    if sequence == "T1CE":
        image += scene.tissues["veins"] * np.float32(0.62 * means["vessel"] * plexus)
        means["ring"] *= uptake
        means["solid"] *= uptake
    image *= texture
    for share, value in (
        (scene.oedema, means["oedema"] * texture),
        (scene.core, means["core"]),
        (scene.ring, means["ring"]),
        (scene.solid, means["solid"]),
    ):
        image += share * (value - image)
    return image


def scan(signal: Field32, lattice: Lattice, seed: int, patient_id: str, sequence: str, site: Site) -> NDArray[np.int16]:
    """What the scanner stores: coil shading, Rician noise, 12 bits; of the signal's shape.

    Rician: the magnitude of a signal with Gaussian noise in two channels (Gudbjartsson and Patz 1995,
    Magn Reson Med 34:910).
    """
    draws = generator(seed, "phantom", patient_id, "scanner", sequence)
    shading = draws.normal(0, [0.10, 0.10, 0.06, 0.07, 0.07, 0.05])
    noise, gain = draws.uniform(0.012, 0.032) * site.noise, draws.uniform(300, 1500)
    shading[:2] += site.shading
    points = lattice.points()
    middle = points.reshape(3, -1).mean(axis=1, dtype=np.float64).astype(np.float32)
    right, front, up = (points - middle.reshape(3, 1, 1, 1)) / np.float32(100)
    coil = np.zeros(lattice.shape, dtype=np.float32)
    for weight, term in zip(shading, (right, front, up, right**2, front**2, right * front), strict=True):
        coil += np.float32(weight) * term
    real, imaginary = draws.standard_normal((2, *lattice.shape), dtype=np.float32) * np.float32(noise)
    magnitude = np.hypot(signal * np.exp(coil) + real, imaginary) * np.float32(gain)
    stored: NDArray[np.int16] = np.clip(np.rint(magnitude), 0, TWELVE_BITS).astype(np.int16)
    return stored
