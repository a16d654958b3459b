"""Which code was simulated: its digest says whether the recorded proof still speaks of it."""

from __future__ import annotations

from ...identity.code import module_path, normalised_source
from ...identity.digests import digest_bytes
from .. import bootstrap, clusters, cochran, multiplicity, permutation, power, rates
from . import criteria, generate, grid, intervals, levels, noise

MODULES = (
    *(bootstrap, clusters, cochran, multiplicity, permutation, power, rates),
    *(criteria, generate, grid, intervals, levels, noise),
)
"""The modules whose functions are simulated, and those that simulate them. The metrics that the readers
go through are not among them: their own tests hold them to known answers at every change."""


def simulated_digest() -> str:
    """Digest of the syntax of the simulated modules; comments, layout and docstrings do not count."""
    parts: list[bytes] = []
    for name in sorted(module.__name__ for module in MODULES):
        path = module_path(name)
        assert path is not None
        parts += [name.encode(), normalised_source(path.read_text(encoding="utf-8"))]
    return digest_bytes(*parts)
