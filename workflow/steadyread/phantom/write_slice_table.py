"""Writes which slices show the lesion, as sites without masks keep it: numbers, and boxes in voxels."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from .design import PhantomCase
from .lesions import LESION_LABELS
from .write_nifti import to_stored

COLUMNS = ("index", "x0", "y0", "x1", "y1")


def slice_table_options(case: PhantomCase) -> dict[str, str]:
    """What the cohort's table says about a case's slice numbers.

    Where the slice axis is the last axis of the file, a table beside it counts in the file's own order
    and has boxes. Elsewhere the numbers stand in the cohort's table itself, feet to head. T1CE counts
    from 0, T2 from 1, as viewers differ in that.
    """
    base = 0 if case.sequence == "T1CE" else 1
    if has_own_table(case):
        return {"index_base": str(base), "index_order": "storage"}
    shown = np.isin(case.lesion_map(), LESION_LABELS).any(axis=(0, 1))
    numbers = ",".join(str(int(k) + base) for k in np.flatnonzero(shown))
    return {"index": numbers, "index_base": str(base), "index_order": "feet_to_head"}


def has_own_table(case: PhantomCase) -> bool:
    """Whether a case's lesion slices stand in a file of their own."""
    return case.stored_axes is not None and case.stored_axes[2] in "SI"


def write_slice_table(path: Path, case: PhantomCase) -> None:
    """Write one row per slice that shows the lesion: its storage index, and a box [x0, y0, x1, y1) per lesion.

    Boxes are voxels (i, j) of the stored file.
    """
    assert case.stored_axes is not None
    base = int(slice_table_options(case)["index_base"])
    rows = []
    for lesion in case.acquisition().lesions:
        stored = to_stored(lesion, case.grid.affine, case.stored_axes)[0]
        for index in np.flatnonzero(stored.any(axis=(0, 1))):
            i, j = np.nonzero(stored[:, :, index])
            rows.append((int(index) + base, int(i.min()), int(j.min()), int(i.max()) + 1, int(j.max()) + 1))
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", encoding="utf-8", newline="") as handle:
        writer = csv.writer(handle, dialect="excel-tab", lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(sorted(rows))
