"""Progress of long work with an estimate of what is left, in the log."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator, Sized
from typing import TypeVar

T = TypeVar("T")
_LOG = logging.getLogger("steadyread.progress")


def progress(items: Iterable[T], what: str, total: int | None = None, every_seconds: float = 5.0) -> Iterator[T]:
    """Pass items through; log "k of n cases, 12 s, 30 s left" at most every few seconds and at the end."""
    if total is None and isinstance(items, Sized):
        total = len(items)
    start = last = time.monotonic()
    done = 0
    for done, item in enumerate(items, start=1):
        yield item
        now = time.monotonic()
        if now - last >= every_seconds:
            last = now
            _LOG.info(_line(done, total, what, now - start))
    _LOG.info(_line(done, done, what, time.monotonic() - start))


def _line(done: int, total: int | None, what: str, elapsed: float) -> str:
    if total is None:
        return f"{done} {what}, {elapsed:.0f} s"
    left = elapsed / done * (total - done) if done else 0.0
    return f"{done} of {total} {what}, {elapsed:.0f} s, {left:.0f} s left"
