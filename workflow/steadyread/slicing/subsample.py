"""Which slices of a volume are shown where it has more than a model is given."""

from __future__ import annotations

from ..config.slicing import SubsampleRule


def sampled_indices(count: int, max_slices: int, rule: SubsampleRule) -> list[int]:
    """Indices of the slices that are shown, ascending; all of them where they fit.

    `even`: round((i + 1/2) n / m − 1/2) for i = 0 … m − 1, halves upwards, in whole numbers: the
    middles of m equal parts of the volume.
    """
    if rule is not SubsampleRule.EVEN:
        raise ValueError(f"no rule {rule!r}; rules: {[item.value for item in SubsampleRule]}")
    if count <= max_slices:
        return list(range(count))
    return [((2 * part + 1) * count) // (2 * max_slices) for part in range(max_slices)]
