"""Adapter `table`: a cohort as one TSV, a row per case.

Nothing of the table's content but case ids, column names and row numbers stands in a message: a
shifted column may hold a name.
"""

from __future__ import annotations

import csv
import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from ..annotations.options import OPTIONS, AnnotationOptions
from ..config.words import UNSURE
from ..contracts.enums import AnnotationKind, Deidentified
from ..contracts.problems import StudyError
from ..contracts.tables import CASE_ID_MEANING
from .ids import is_opaque

T = TypeVar("T")
REQUIRED = ("case_id", "patient_id", "volume")
OPTION_COLUMNS = tuple(name for names in OPTIONS.values() for name in names)
COLUMNS = (
    *REQUIRED,
    "site",
    "sequence",
    "label",
    "annotation",
    "annotation_kind",
    "split",
    "deidentified",
    *OPTION_COLUMNS,
)
COVARIATE, TEXT = "cov_", "text_"


@dataclass(frozen=True)
class CaseRow:
    """One case as its table gives it.

    Attributes
    ----------
    row
        Line of the table (the header is line 1).
    label
        In the configuration's spelling; None where unknown.
    volume, annotation
        Paths as written, None where the cell is empty.
    annotation_kind
        None where the table leaves it to be inferred from the file.
    options
        How to read the annotation, texts as written, empty ones left out.
    """

    row: int
    case_id: str
    patient_id: str
    volume: str | None
    annotation: str | None
    annotation_kind: AnnotationKind | None
    label: str | None
    site: str | None
    sequence: str | None
    split: str | None
    deidentified: Deidentified | None
    options: Mapping[str, str]
    covariates: Mapping[str, str]
    texts: Mapping[str, str]


def read_cohort_table(path: Path, labels: Sequence[str]) -> list[CaseRow]:
    """Read a cohort's TSV (UTF-8, tabs, one header line).

    Parameters
    ----------
    path
        The TSV.
    labels
        The study's labels; the table's are compared with them without regard to case and outer
        spaces, and take their spelling.

    Raises
    ------
    StudyError
        For an unknown, missing or doubled column, a broken row, an id that is not opaque or stands
        twice, a word or label that is not allowed: naming column, rows and what is allowed.
    """
    header, lines = _read_lines(path)
    cells = [(row, dict(zip(header, values, strict=True))) for row, values in lines]
    _check_ids(cells)
    kinds = _words(cells, "annotation_kind", {item.value: item for item in AnnotationKind})
    deidentified = _words(cells, "deidentified", {item.value: item for item in Deidentified})
    known_labels = _words(cells, "label", {label.strip(): label for label in labels}, "cohort.labels")
    options = [{name: cell[name] for name in OPTION_COLUMNS if cell.get(name)} for _, cell in cells]
    _check_options(cells, options)
    return [
        CaseRow(
            row=row,
            case_id=cell["case_id"],
            patient_id=cell["patient_id"],
            volume=cell["volume"] or None,
            annotation=cell.get("annotation") or None,
            annotation_kind=kinds[place],
            label=known_labels[place],
            site=cell.get("site") or None,
            sequence=cell.get("sequence") or None,
            split=cell.get("split") or None,
            deidentified=deidentified[place],
            options=options[place],
            covariates=_prefixed(cell, COVARIATE),
            texts=_prefixed(cell, TEXT),
        )
        for place, (row, cell) in enumerate(cells)
    ]


def rows_text(rows: Iterable[int]) -> str:
    """ "row 3", "rows 3, 5, 8" or "rows 3, 5, 8 … (12 in all)"."""
    listed = sorted(rows)
    shown = ", ".join(str(row) for row in listed[:10])
    more = f" … ({len(listed)} in all)" if len(listed) > 10 else ""
    return f"{'row' if len(listed) == 1 else 'rows'} {shown}{more}"


def _read_lines(path: Path) -> tuple[list[str], list[tuple[int, list[str]]]]:
    try:
        # utf-8-sig: spreadsheet programs write a byte order mark.
        with open(path, encoding="utf-8-sig", newline="") as handle:
            reader = csv.reader(handle, dialect="excel-tab", strict=True)
            header = [name.strip() for name in next(reader, [])]
            lines = [(reader.line_num, [value.strip() for value in values]) for values in reader]
    except OSError as error:
        raise StudyError(f"cohort table cannot be read: {error.strerror}. Check cohort.table") from error
    except UnicodeDecodeError as error:
        raise StudyError("cohort table is not UTF-8 text. Save it as UTF-8, parted by tabs") from error
    except csv.Error as error:
        raise StudyError(
            f"cohort table is no well-formed TSV: {error}. A quotation mark that opens a cell must close it"
        ) from error
    _check_header(header)
    lines = [(row, values) for row, values in lines if any(values)]
    broken = [row for row, values in lines if _goes_over_rows(dict(zip(header, values, strict=False)))]
    if broken:
        raise StudyError(
            f"cohort table: a cell that ends at {rows_text(broken)} goes over several lines: a quotation mark was "
            "opened and closed further down, and the rows between are lost. Remove the quotation marks"
        )
    uneven = [row for row, values in lines if len(values) != len(header)]
    if uneven:
        raise StudyError(
            f"cohort table: {rows_text(uneven)} do not have the header's {len(header)} cells; "
            "cells are parted by tabs, and empty ones keep their tab"
        )
    if not lines:
        raise StudyError("cohort table holds no case, only a header")
    return header, lines


def _check_header(header: Sequence[str]) -> None:
    if not header:
        raise StudyError(f"cohort table is empty; expected a header with at least {list(REQUIRED)}")
    if len(header) == 1 and ("," in header[0] or ";" in header[0]):
        raise StudyError("cohort table has one column: it seems parted by commas. Save it parted by tabs")
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        raise StudyError(f"cohort table: columns stand twice: {twice}")
    missing = [name for name in REQUIRED if name not in header]
    unknown = [name for name in header if not _is_known(name)]
    if unknown:
        # A misspelled column would be lost in silence.
        near = {name: difflib.get_close_matches(name.casefold(), COLUMNS, 1) for name in unknown}
        hints = "".join(f"; did you mean {found[0]!r}?" for found in near.values() if found)
        raise StudyError(
            f"cohort table: unknown columns {unknown}{hints} Allowed: {list(COLUMNS)}, "
            f"{COVARIATE}<name> for covariates, {TEXT}<name> for texts"
        )
    if missing:
        raise StudyError(f"cohort table lacks the columns {missing}; required: {list(REQUIRED)}")


def _goes_over_rows(cell: Mapping[str, str]) -> bool:
    """Whether a cell swallowed rows: lines belong into texts alone, and a tab parts cells anywhere."""
    several = {name: value for name, value in cell.items() if "\n" in value or "\r" in value}
    return any("\t" in value or not name.startswith(TEXT) for name, value in several.items())


def _is_known(name: str) -> bool:
    return name in COLUMNS or any(name.startswith(prefix) and len(name) > len(prefix) for prefix in (COVARIATE, TEXT))


def _check_ids(cells: Sequence[tuple[int, Mapping[str, str]]]) -> None:
    for column in ("case_id", "patient_id"):
        wrong = [row for row, cell in cells if not is_opaque(cell[column])]
        if wrong:
            raise StudyError(f"cohort table: column {column}, {rows_text(wrong)}: expected {CASE_ID_MEANING}")
    rows_of: dict[str, list[int]] = {}
    for row, cell in cells:
        rows_of.setdefault(cell["case_id"], []).append(row)
    twice = [row for rows in rows_of.values() if len(rows) > 1 for row in rows]
    if twice:
        raise StudyError(f"cohort table: case_id stands more than once, {rows_text(twice)}; give each case its own")


def _words(
    cells: Sequence[tuple[int, Mapping[str, str]]], column: str, allowed: Mapping[str, T], source: str = ""
) -> list[T | None]:
    folded = {word.casefold(): value for word, value in allowed.items()}
    values = [cell.get(column, "").casefold() for _, cell in cells]
    wrong = [row for (row, _), value in zip(cells, values, strict=True) if value and value not in folded]
    if wrong:
        hint = f" ({source})" if source else ""
        unsure = f"; {UNSURE} is an answer, no label: leave an unknown label empty" if column == "label" else ""
        raise StudyError(
            f"cohort table: column {column}, {rows_text(wrong)}: allowed are {list(allowed)}{hint} or nothing{unsure}"
        )
    return [folded.get(value) for value in values]


def _check_options(cells: Sequence[tuple[int, Mapping[str, str]]], options: Sequence[Mapping[str, str]]) -> None:
    problems: dict[str, list[int]] = {}
    for (row, _), given in zip(cells, options, strict=True):
        try:
            AnnotationOptions.parse(given)
        except ValueError as error:
            problems.setdefault(str(error), []).append(row)
    if problems:
        raise StudyError(
            "cohort table: " + "; ".join(f"{rows_text(rows)}: {problem}" for problem, rows in problems.items())
        )


def _prefixed(cell: Mapping[str, str], prefix: str) -> dict[str, str]:
    return {name.removeprefix(prefix): value for name, value in cell.items() if name.startswith(prefix) and value}
