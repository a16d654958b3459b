"""Writes a table of lesion slices, as sites without masks keep it: slice numbers, and boxes in voxels."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from .design import PhantomCase
from .shapes import LESION_LABELS
from .write_nifti import to_stored

COLUMNS = ("index", "x0", "y0", "x1", "y1")


def slice_table_options(case: PhantomCase) -> dict[str, str]:
    """What the cohort's table says about the numbers of a case's slice table.

    Where the file's last axis is the slice axis its own order counts; elsewhere feet to head does.
    T1CE counts from 0, T2 from 1, as viewers differ in that.
    """
    assert case.stored_axes is not None
    last_is_slice = case.stored_axes[2] in "SI"
    return {
        "index_base": "0" if case.sequence == "T1CE" else "1",
        "index_order": "storage" if last_is_slice else "feet_to_head",
    }


def write_slice_table(path: Path, case: PhantomCase) -> None:
    """Write one row per lesion and slice, boxes [x0, y0, x1, y1) in voxels of the stored file."""
    assert case.stored_axes is not None
    options = slice_table_options(case)
    labels, _, place = to_stored(case.lesion_map(), case.grid.affine, case.stored_axes)
    axis = int(place[2])
    lesion = np.moveaxis(np.isin(labels, LESION_LABELS), axis, 2)
    count = lesion.shape[2]
    upward = case.stored_axes[axis] == "S"
    rows = []
    for stored_index in range(count):
        if not lesion[:, :, stored_index].any():
            continue
        index = stored_index if options["index_order"] == "storage" or upward else count - 1 - stored_index
        x, y = np.nonzero(lesion[:, :, stored_index])
        box = (int(x.min()), int(y.min()), int(x.max()) + 1, int(y.max()) + 1)
        rows.append(dict(zip(COLUMNS, (index + int(options["index_base"]), *box), strict=True)))
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", encoding="utf-8", newline="") as handle:
        writer = csv.DictWriter(handle, COLUMNS, dialect="excel-tab", lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted(rows, key=lambda row: row["index"]))
