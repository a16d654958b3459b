"""Stage `make_phantom`: writes the phantom cohort, plain files and a TSV, read like anyone's data."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

from ..config.base import Section
from ..contracts.enums import AnnotationKind
from ..stages.job import Files
from ..stages.progress import progress
from .design import PhantomCase, plan
from .shapes import LESION_LABELS
from .write_dicom import SEGMENTS, Series, write_segmentation, write_series
from .write_nifti import write_nifti
from .write_slice_table import has_own_table, slice_table_options, write_slice_table

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


def make_phantom(inputs: Files, outputs: Files, settings: MakePhantomSettings, wildcards: Mapping[str, str]) -> None:
    """Write the phantom cohort: 12 patients, GBM and MET, T1CE and T2 each.

    A third of the patients each is stored as DICOM series with a DICOM SEG, as NIfTI with a mask, and
    as NIfTI with a table of lesion slices. The same seed gives the same bytes.

    Parameters
    ----------
    outputs
        `table`: the cohort's TSV; its paths are relative to its folder and begin with `files/`.
        `files`: the folder that will stand beside it under that name.
    """
    folder = outputs.one("files")
    cases = plan(settings.seed)
    rows = [write_case(case, folder) for case in progress(cases, "phantom cases")]
    table = outputs.one("table")
    table.parent.mkdir(parents=True, exist_ok=True)
    with open(table, "w", encoding="utf-8", newline="") as handle:
        writer = csv.DictWriter(handle, COLUMNS, restval="", dialect="excel-tab", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


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
        "cov_scanner": "phantom 1.5 T",
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
