"""Patients made side by side, as many as this process may use processors; results do not depend on it."""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

from .template import template

J = TypeVar("J")
T = TypeVar("T")
MOST_PROCESSES = 8


def over_patients(work: Callable[[J], T], patients: Sequence[J], processes: int | None = None) -> Iterator[T]:
    """Do something for each patient and give the results in order.

    Parameters
    ----------
    work
        What to do; a function that can be pickled.
    processes
        How many processes work; left out: as many as this one may use processors, at most 8.
    """
    processes = _processors() if processes is None else processes
    if min(processes, len(patients)) < 2:
        yield from map(work, patients)
        return
    # Built before the fork, so that all processes share one template.
    template()
    with ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("fork")) as pool:
        yield from pool.map(work, patients)


def _processors() -> int:
    # Elsewhere a fork is not safe, and a new process would run Snakemake's script again.
    return min(MOST_PROCESSES, len(os.sched_getaffinity(0))) if sys.platform == "linux" else 1
