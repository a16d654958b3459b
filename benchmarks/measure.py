"""Timing in turns: A B A B …, so that a machine whose speed drifts does not favour one side."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Ratio:
    """Seconds of ours and of a peer, medians over rounds, and the median of the rounds' ratios."""

    what: str
    peer: str
    ours_s: float
    peer_s: float
    ratio: float
    rounds: int
    note: str = ""

    def row(self) -> str:
        """A row of the results table."""
        return (
            f"| {self.what} | {self.peer} | {self.ours_s:.4g} | {self.peer_s:.4g} | {self.ratio:.2f} | "
            f"{self.rounds} | {self.note} |"
        )


HEADER = "| what | peer | ours, s | peer, s | ours / peer | rounds | note |\n|---|---|---:|---:|---:|---:|---|"


def seconds(call: Callable[[], object]) -> float:
    """Wall seconds of one call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def compare(
    what: str,
    peer: str,
    ours: Callable[[], object],
    theirs: Callable[[], object],
    rounds: int = 7,
    scale: float = 1.0,
    note: str = "",
) -> Ratio:
    """Time both in turns after one round that is not counted.

    `scale` multiplies the peer's seconds, where it does only a part of the work; the note says so.
    """
    ours(), theirs()
    pairs = [(seconds(ours), seconds(theirs) * scale) for _ in range(rounds)]
    return Ratio(
        what,
        peer,
        statistics.median(one for one, _ in pairs),
        statistics.median(two for _, two in pairs),
        statistics.median(one / two for one, two in pairs),
        rounds,
        note,
    )
