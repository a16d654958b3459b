"""Soft edges and smooth random fields, evaluated exactly at any point or on any lattice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from .geometry import FloatArray, Lattice

Field32 = NDArray[np.float32]


def smooth_step(distance: Any, width: float) -> Any:
    """0 far below zero, 1 far above, ½ at zero; `width` in the unit of `distance`."""
    return expit(distance / width)


@dataclass(frozen=True)
class WaveField:
    """A smooth random field of zero mean and unit variance: a sum of plane waves.

    Attributes
    ----------
    vectors
        Wave vectors, radians per millimetre, shape (waves, 3).
    phases
        Radians, shape (waves,).
    """

    vectors: FloatArray
    phases: FloatArray

    @classmethod
    def draw(cls, draws: np.random.Generator, shortest: float, longest: float, waves: int = 14) -> WaveField:
        """A field whose wavelengths lie between two lengths in millimetres, in all directions."""
        vectors = draws.normal(size=(waves, 3))
        lengths = draws.uniform(shortest, longest, waves)
        vectors *= (2 * np.pi / lengths / np.linalg.norm(vectors, axis=1))[:, None]
        return cls(vectors, draws.uniform(0, 2 * np.pi, waves))

    def at(self, points: NDArray[Any]) -> Field32:
        """Values at points, RAS millimetres, shape (3, …)."""
        phase = np.tensordot(self.vectors, points, axes=1) + self.phases.reshape(-1, *[1] * (points.ndim - 1))
        values: Field32 = (np.cos(phase).sum(axis=0) * self._scale).astype(np.float32)
        return values

    def on(self, lattice: Lattice) -> Field32:
        """Values on a lattice, its shape.

        On a lattice a plane wave is the product of three waves in one dimension, so that the field
        is one small matrix product instead of a cosine per wave and voxel.
        """
        along = self.vectors @ lattice.steps
        first, second, third = (
            np.exp(1j * along[:, axis, None] * np.arange(lattice.shape[axis])[None, :]) for axis in range(3)
        )
        start = np.exp(1j * (self.vectors @ lattice.origin + self.phases)) * self._scale
        plane = (start[:, None, None] * second[:, :, None] * third[:, None, :]).reshape(len(start), -1)
        left = np.concatenate([first.real, -first.imag]).T.astype(np.float32)
        right = np.concatenate([plane.real, plane.imag]).astype(np.float32)
        values: Field32 = (np.ascontiguousarray(left) @ right).reshape(lattice.shape)
        return values

    @property
    def _scale(self) -> float:
        return float(np.sqrt(2 / len(self.phases)))
