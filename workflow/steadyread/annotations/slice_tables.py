"""Slice tables: which slices show the lesion, by number or position, perhaps with boxes.

Columns: `index` (a slice number) with `index_base` (0 or 1) and `index_order` (see IndexOrder), or
`z_mm` (RAS, mm); `x0, y0, x1, y1`, a half-open box in voxels of the file's own array (NIfTI: i, j;
DICOM: column, row); `case_id` where one table serves several cases. One row per slice and box. A case
without a lesion has one row whose index (or z_mm) is empty, or a table of its own without rows.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ..contracts.enums import Reason
from ..contracts.problems import CaseProblem
from ..volumes.loaded import LoadedVolume
from .lesion_map import LesionSlices, PlaneBox
from .options import AnnotationOptions, IndexOrder, parse_base, parse_order

BOX_COLUMNS = ("x0", "y0", "x1", "y1")
COLUMNS = ("case_id", "index", "index_base", "index_order", "z_mm", *BOX_COLUMNS)
Row = Mapping[str, str]


def load_slice_table(
    path: Path, options: AnnotationOptions, reference: LoadedVolume, case_id: str | None
) -> LesionSlices:
    """Read the lesion slices of a case from a TSV or CSV.

    Parameters
    ----------
    path
        The table.
    options
        index_base and index_order, where the table has no such columns.
    reference
        The volume whose slices are counted.
    case_id
        The case's rows in a table with a column case_id.

    Raises
    ------
    CaseProblem
        ANNOTATION_UNREADABLE: no such table, unknown columns, no numbers. ANNOTATION_AMBIGUOUS: what
        a number means is not stated or contradicts itself. ANNOTATION_OTHER_SPACE: a slice or box
        that the volume does not have.
    """
    rows = _read(path)
    if rows and "case_id" in rows[0]:
        rows = [row for row in rows if row["case_id"] == case_id]
        if not rows:
            # A misspelled id looks the same as a case without a lesion.
            raise _ambiguous(
                "the slice table has a column case_id but no row of this case; a case without a lesion has one row "
                "with an empty index"
            )
    by_position = bool(rows) and "z_mm" in rows[0]
    numbered = [row for row in rows if row["z_mm" if by_position else "index"]]
    if by_position:
        axis, places = 2, [_by_position(_number(row, "z_mm"), reference) for row in numbered]
    else:
        base, order = _meaning(numbered, options)
        axis, places = _by_number([_whole(row) for row in numbered], base, order, reference)
    boxes: dict[int, list[PlaneBox]] = {}
    for place, row in zip(places, numbered, strict=True):
        box = _box(row, axis, reference)
        if box is not None:
            boxes.setdefault(place, []).append(box)
    return LesionSlices(axis, frozenset(places), {place: tuple(found) for place, found in boxes.items()})


def listed_slices(options: AnnotationOptions, reference: LoadedVolume) -> LesionSlices:
    """The lesion slices of a case whose numbers stand in the cohort's table itself.

    Raises
    ------
    CaseProblem
        As `load_slice_table`.
    """
    numbers = options.index or ()
    base, order = _meaning([{}] if numbers else [], options)
    axis, places = _by_number(numbers, base, order, reference)
    return LesionSlices(axis, frozenset(places))


def _read(path: Path) -> list[dict[str, str]]:
    delimiter = "," if path.name.casefold().endswith(".csv") else "\t"
    try:
        with open(path, encoding="utf-8-sig", newline="") as handle:
            lines = [[cell.strip() for cell in line] for line in csv.reader(handle, delimiter=delimiter, strict=True)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise _unreadable(f"no readable table ({type(error).__name__})") from error
    if not lines:
        raise _unreadable("the table is empty, expected at least a header")
    header, body = lines[0], [line for line in lines[1:] if any(line)]
    unknown = [name for name in header if name not in COLUMNS]
    if unknown or len(set(header)) != len(header):
        raise _unreadable(f"{len(unknown)} unknown or doubled columns; allowed, once each: {list(COLUMNS)}")
    if ("index" in header) == ("z_mm" in header):
        raise _ambiguous("expected either a column index or a column z_mm, and not both")
    boxed = [name for name in BOX_COLUMNS if name in header]
    if boxed and len(boxed) < len(BOX_COLUMNS):
        raise _ambiguous(f"a box needs the columns {list(BOX_COLUMNS)}, found {boxed}")
    if any(len(line) != len(header) for line in body):
        raise _unreadable(f"a row has another number of cells than the header, {len(header)}")
    return [dict(zip(header, line, strict=True)) for line in body]


def _meaning(rows: Sequence[Row], options: AnnotationOptions) -> tuple[int, IndexOrder]:
    """index_base and index_order: stated, once, and the same by table and cohort."""
    if not rows:
        return 0, IndexOrder.FEET_TO_HEAD  # no slice is named: nothing to count
    try:
        bases = {parse_base(text) for text in _stated(rows, "index_base")}
        orders = {parse_order(text) for text in _stated(rows, "index_order")}
    except ValueError as error:
        raise _ambiguous(str(error)) from error
    bases |= {options.index_base} - {None}  # type: ignore[arg-type]
    orders |= {options.index_order} - {None}  # type: ignore[arg-type]
    for name, found in (("index_base", bases), ("index_order", orders)):
        if len(found) != 1:
            raise _ambiguous(f"{name} is {'not stated' if not found else 'stated in two ways'}; slice numbers need it")
    return bases.pop(), orders.pop()


def _stated(rows: Sequence[Row], column: str) -> set[str]:
    return {row[column] for row in rows if row.get(column)}


def _by_number(numbers: Sequence[int], base: int, order: IndexOrder, reference: LoadedVolume) -> tuple[int, list[int]]:
    """Canonical axis, and canonical index of each slice number."""
    mapping = reference.mapping
    dicom = reference.native_order is not None
    if order is IndexOrder.FEET_TO_HEAD:
        axis = 2
        places = {base + place: place for place in range(reference.volume.shape[axis])}
    elif order is IndexOrder.STORAGE:
        if dicom:
            raise _ambiguous("a DICOM series has no storage order: state index_order instance or feet_to_head, or z_mm")
        axis = mapping.canonical_axis(2)
        count = reference.volume.shape[axis]
        places = {base + mapping.source_index(axis, place): place for place in range(count)}
    else:
        axis = reference.native_axis
        instances = reference.instance_numbers
        if instances is None or len(set(instances)) != len(instances):
            raise _ambiguous("index_order is instance, but the volume has no distinct DICOM InstanceNumbers")
        # Base 1 is DICOM's own count: the number is the InstanceNumber itself.
        places = {instance - 1 + base: place for place, instance in enumerate(instances)}
    outside = [number for number in numbers if number not in places]
    if outside:
        raise CaseProblem(
            Reason.ANNOTATION_OTHER_SPACE,
            f"{len(outside)} of {len(numbers)} slice numbers are not among the volume's "
            f"{min(places)} … {max(places)} (index_base {base}, index_order {order.value})",
        )
    return axis, [places[number] for number in numbers]


def _by_position(z_mm: float, reference: LoadedVolume) -> int:
    """The one axial slice at a height; refused where tilted slices reach over several."""
    volume = reference.volume
    rows, columns, count = volume.shape
    corners = [(0, 0), (rows - 1, 0), (0, columns - 1), (rows - 1, columns - 1)]
    starts = np.array([volume.affine[2] @ (i, j, 0, 1) for i, j in corners])
    step = float(volume.affine[2, 2])
    exact = (z_mm - starts) / step
    nearest = np.rint(exact)
    tied = bool((np.abs(np.abs(exact - np.floor(exact)) - 0.5) < 1e-3).any())
    if tied or len(set(nearest.tolist())) > 1:
        raise _ambiguous(
            "a z_mm lies between two slices, or the slices are tilted so that it meets several; give slice numbers"
        )
    place = int(nearest[0])
    if not 0 <= place < count:
        raise CaseProblem(Reason.ANNOTATION_OTHER_SPACE, "a z_mm of the slice table lies outside the volume")
    return place


def _box(row: Row, axis: int, reference: LoadedVolume) -> PlaneBox | None:
    given = [row[name] for name in BOX_COLUMNS if row.get(name)]
    if not given:
        return None
    if len(given) < len(BOX_COLUMNS):
        raise _ambiguous("a row has some of x0, y0, x1, y1, expected all or none")
    mapping = reference.mapping
    if mapping.axes[axis] != 2:
        raise _ambiguous("boxes lie in the first two axes of the file's array, but the slices are cut across another")
    x0, y0, x1, y1 = (_number(row, name) for name in BOX_COLUMNS)
    spans = {0: (x0, x1), 1: (y0, y1)}
    sides: list[tuple[float, float]] = []
    for plane_axis in (other for other in range(3) if other != axis):
        low, high = spans[mapping.axes[plane_axis]]
        count = reference.volume.shape[plane_axis]
        if not 0 <= low < high <= count:
            raise CaseProblem(
                Reason.ANNOTATION_OTHER_SPACE,
                f"a box spans [{low:g}, {high:g}) of {count} voxels; expected 0 ≤ low < high ≤ {count}",
            )
        sides.append((count - high, count - low) if mapping.flipped[plane_axis] else (low, high))
    return sides[0], sides[1]


def _whole(row: Row) -> int:
    try:
        return int(row["index"])
    except ValueError as error:
        raise _unreadable("a slice number is no whole number") from error


def _number(row: Row, name: str) -> float:
    try:
        value = float(row[name])
    except ValueError as error:
        raise _unreadable(f"a value in column {name} is no number") from error
    if not np.isfinite(value):
        raise _unreadable(f"a value in column {name} is not finite")
    return value


def _ambiguous(detail: str) -> CaseProblem:
    return CaseProblem(Reason.ANNOTATION_AMBIGUOUS, detail)


def _unreadable(detail: str) -> CaseProblem:
    return CaseProblem(Reason.ANNOTATION_UNREADABLE, f"slice table: {detail}")
