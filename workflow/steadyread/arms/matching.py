"""Runs of non-lesion slices that match the runs of lesion slices in length (PROTOCOLS S1, [O]).

Positions count in the sampled slices: a run is what a model sees one after another.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from functools import lru_cache

from ..identity.seeds import seed_of

Gap = tuple[int, int]
"""Free positions start … stop - 1."""


def runs_of(flags: Sequence[bool]) -> list[Gap]:
    """The maximal runs of true flags, as (start, stop), ascending."""
    edges = [False, *flags, False]
    starts = [i for i in range(len(flags)) if edges[i + 1] and not edges[i]]
    stops = [i + 1 for i in range(len(flags)) if edges[i + 1] and not edges[i + 2]]
    return list(zip(starts, stops, strict=True))


def match_runs(lesion: Sequence[bool], seed_parts: Sequence[object]) -> tuple[list[int], bool]:
    """Choose as many non-lesion positions as there are lesion positions, in runs of the same lengths.

    The longest run is placed first, at a position drawn among those that leave room for the rest;
    placed runs keep a slice between them, so that they stay runs of their own. Where no arrangement
    does that, they may touch; where a run still does not fit what is left, it takes the longest free
    run whole and goes on in the next, which splits it as little as possible.

    Parameters
    ----------
    lesion
        For each sampled slice, in anatomical order, whether it shows the lesion.
    seed_parts
        What the draw is a function of.

    Returns
    -------
    positions
        The chosen positions, ascending.
    matched
        Whether their maximal runs have exactly the lengths of the lesion runs.

    Raises
    ------
    ValueError
        Where there are fewer non-lesion than lesion positions.
    """
    wanted = [stop - start for start, stop in runs_of(lesion)]
    gaps = runs_of([not flag for flag in lesion])
    if sum(wanted) > sum(stop - start for start, stop in gaps):
        raise ValueError(f"{sum(wanted)} lesion slices cannot be matched by {len(lesion) - sum(wanted)} others")
    queue = sorted(wanted)
    chosen: list[int] = []
    while queue:
        length = queue.pop()
        starts, spacing = _starts(gaps, length, queue)
        if not starts:
            # The longest free run is taken whole; what is left of the lesion run waits its turn.
            longest = max(stop - start for start, stop in gaps)
            insort(queue, length - longest)
            length, spacing = longest, 0
            starts = [start for start, stop in gaps if stop - start == longest]
        start = starts[seed_of(*seed_parts, len(chosen)) % len(starts)]
        chosen += range(start, start + length)
        gaps = _without(gaps, start, length, spacing)
    flags = [position in set(chosen) for position in range(len(lesion))]
    return sorted(chosen), sorted(stop - start for start, stop in runs_of(flags)) == sorted(wanted)


def _starts(gaps: Sequence[Gap], length: int, rest: Sequence[int]) -> tuple[list[int], int]:
    """Where a run may start, and how many slices must stay free beside it.

    First choice: the rest still fits with a slice between runs. Second: it fits with runs touching.
    Third: the tightest free run that holds this one, at its ends, so that what is left stays whole.
    """
    holding = [(start, stop) for start, stop in gaps if stop - start >= length]
    for spacing in (1, 0):
        starts = [
            place
            for start, stop in holding
            for place in range(start, stop - length + 1)
            if _fits(_sizes(_without(gaps, place, length, spacing), spacing), _padded(rest, spacing))
        ]
        if starts:
            return starts, spacing
    tightest = min((stop - start for start, stop in holding), default=0)
    ends = [(start, stop - length) for start, stop in holding if stop - start == tightest]
    return sorted({place for pair in ends for place in pair}), 0


def _without(gaps: Sequence[Gap], start: int, length: int, spacing: int) -> list[Gap]:
    """The gaps once a run is placed, with `spacing` free slices kept on each side of it."""
    left: list[Gap] = []
    for first, last in gaps:
        if not first <= start < last:
            left.append((first, last))
            continue
        left += [(first, start - spacing), (start + length + spacing, last)]
    return [(first, last) for first, last in left if first < last]


def _sizes(gaps: Sequence[Gap], spacing: int) -> tuple[int, ...]:
    return tuple(sorted(stop - start + spacing for start, stop in gaps))


def _padded(runs: Sequence[int], spacing: int) -> tuple[int, ...]:
    return tuple(sorted((length + spacing for length in runs), reverse=True))


@lru_cache(maxsize=1 << 16)
def _fits(bins: tuple[int, ...], pieces: tuple[int, ...]) -> bool:
    """Whether the pieces (longest first) can be packed into the bins (ascending)."""
    if not pieces:
        return True
    if sum(size // pieces[-1] for size in bins) < len(pieces) or sum(bins) < sum(pieces):
        return False
    if pieces[0] == pieces[-1]:
        return True
    tried = sorted({size for size in bins if size >= pieces[0]})
    for size in tried:
        left = list(bins)
        left.remove(size)
        insort(left, size - pieces[0])
        if _fits(tuple(left), pieces[1:]):
            return True
    return False
