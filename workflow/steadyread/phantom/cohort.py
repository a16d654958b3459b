"""Stage `make_phantom`: writes the phantom cohort, plain files and a TSV, read like anyone's data."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TypeVar

from ..config.base import Section
from ..config.phantom import PhantomConfig
from ..contracts.enums import AnnotationKind
from ..stages.job import Files
from ..stages.progress import progress
from .design import PhantomCase, plan
from .lesions import LESION_LABELS
from .processes import over_patients
from .recorded import Fingerprint, compare, fingerprint
from .write_dicom import SEGMENTS, Series, write_segmentation, write_series
from .write_nifti import write_nifti
from .write_slice_table import has_own_table, slice_table_options, write_slice_table

T = TypeVar("T")
FILES = "files"
"""Name of the folder beside the table; paths in the table begin with it."""
COLUMNS = (
    "case_id", "patient_id", "site", "sequence", "label", "volume", "annotation", "annotation_kind", "split",
    "lesion_labels", "segments", "index", "index_base", "index_order", "deidentified", "cov_scanner", "text_history",
)  # fmt: skip


class MakePhantomSettings(Section):
    """What the phantom depends on."""

    seed: int
    """The study's seed."""

    phantom: PhantomConfig
    """The phantom cohort."""


def make_phantom(inputs: Files, outputs: Files, settings: MakePhantomSettings, wildcards: Mapping[str, str]) -> None:
    """Write the phantom cohort: patients with GBM and with MET, T1CE and T2 each.

    A third of the patients each is stored as DICOM series with a DICOM SEG, as NIfTI with a mask, and
    as NIfTI with a table of lesion slices. The same seed gives the same bytes, however many processes
    write.

    Parameters
    ----------
    outputs
        `table`: the cohort's TSV; its paths are relative to its folder and begin with `files/`.
        `files`: the folder that will stand beside it under that name.
        `recorded`: whether the pixels are those on record, as JSON.
    """
    cases = plan(settings.seed, settings.phantom)
    patients = by_patient(partial(write_patient, folder=outputs.one("files")), cases)
    rows: list[dict[str, str]] = []
    found: dict[str, Fingerprint] = {}
    for some, prints in progress(patients, "phantom patients", total=settings.phantom.patients):
        rows += some
        found |= prints
    table = outputs.one("table")
    table.parent.mkdir(parents=True, exist_ok=True)
    with open(table, "w", encoding="utf-8", newline="") as handle:
        writer = csv.DictWriter(handle, COLUMNS, restval="", dialect="excel-tab", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    report = compare(settings.seed, settings.phantom, found)
    outputs.one("recorded").write_text(json.dumps(report, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def by_patient(
    work: Callable[[tuple[PhantomCase, ...]], T], cases: Sequence[PhantomCase], processes: int | None = None
) -> Iterator[T]:
    """Do something for each patient's cases and give the results in the cases' order.

    Parameters
    ----------
    work
        What to do; a function that can be pickled.
    processes
        How many processes work; left out: as many as this one may use processors, at most 8.
    """
    patients = [tuple(group) for _, group in groupby(cases, key=lambda case: case.patient_id)]
    yield from over_patients(work, patients, processes)


def write_patient(cases: tuple[PhantomCase, ...], folder: Path) -> tuple[list[dict[str, str]], dict[str, Fingerprint]]:
    """Write one patient's cases below a folder; their rows of the cohort's table and their fingerprints."""
    return [write_case(case, folder) for case in cases], {case.case_id: fingerprint(case) for case in cases}


def write_case(case: PhantomCase, folder: Path) -> dict[str, str]:
    """Write one case below a folder and return its row of the cohort's table."""
    own = Path(case.patient_id) / case.sequence
    volume, labels = case.volume(), case.lesion_map()
    affine = case.grid.affine
    annotated: Path | None
    row = {
        "case_id": case.case_id,
        "patient_id": case.patient_id,
        "site": case.site,
        "sequence": case.sequence,
        "label": case.label,
        "annotation_kind": case.kind.value,
        "split": "audit",
        "cov_scanner": f"phantom 1.5 T ({case.site})" if case.options.site_effects else "phantom 1.5 T",
        "text_history": "Phantom; no history.",
    }
    if case.stored_axes is None:
        series = Series(case.seed, case.patient_id, case.sequence)
        written, annotated = own, Path(case.patient_id) / f"{case.sequence}_lesions.dcm"
        sources = write_series(folder / written, volume, case.grid, series)
        write_segmentation(folder / annotated, labels, sources, series)
        row["segments"] = ";".join(SEGMENTS[label] for label in LESION_LABELS if (labels == label).any())
    else:
        written = own / "volume.nii.gz"
        write_nifti(folder / written, volume, affine, case.stored_axes)
        # NIfTI has no field that says so; these files never held a patient.
        row["deidentified"] = "yes"
        if case.kind is AnnotationKind.MASK:
            annotated = own / "lesions.nii.gz"
            write_nifti(folder / annotated, labels, affine, case.stored_axes)
            row["lesion_labels"] = ",".join(str(label) for label in LESION_LABELS)
        else:
            row |= slice_table_options(case)
            annotated = own / "lesions.tsv" if has_own_table(case) else None
            if annotated is not None:
                write_slice_table(folder / annotated, case)
    row["volume"] = f"{FILES}/{written.as_posix()}"
    if annotated is not None:
        row["annotation"] = f"{FILES}/{annotated.as_posix()}"
    return row
