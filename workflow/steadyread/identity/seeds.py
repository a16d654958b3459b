"""Random draws derived from content, so that no draw depends on order, shard or process.

A draw is a function of names alone (study seed, item, arm, variant, replicate). Permutations and
choices sort SHA-256 values instead of asking numpy, whose streams may change between versions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from .digests import canonical_json

T = TypeVar("T")


def seed_of(*parts: object) -> int:
    """A 128-bit seed from any plain values, in order."""
    return int.from_bytes(hashlib.sha256(canonical_json(list(parts))).digest()[:16], "big")


def uniform(*parts: object) -> float:
    """One number in [0, 1), a function of the parts alone."""
    return (seed_of(*parts) >> 75) / float(1 << 53)


def permutation(count: int, *parts: object) -> list[int]:
    """A uniformly random permutation of range(count), a function of the parts alone."""
    base = canonical_json(list(parts))
    ranks = [hashlib.sha256(base + b"#%d" % index).digest() for index in range(count)]
    return sorted(range(count), key=ranks.__getitem__)


def choose(population: Sequence[T], count: int, *parts: object) -> list[T]:
    """`count` members of the population without replacement, in the population's order.

    Raises
    ------
    ValueError
        If more are asked for than there are.
    """
    if not 0 <= count <= len(population):
        raise ValueError(f"cannot choose {count} of {len(population)}")
    chosen = sorted(permutation(len(population), *parts)[:count])
    return [population[index] for index in chosen]


def generator(*parts: object) -> np.random.Generator:
    """A numpy generator for bulk draws (bootstrap weights, phantom noise), seeded by content."""
    return np.random.Generator(np.random.PCG64(seed_of(*parts)))
