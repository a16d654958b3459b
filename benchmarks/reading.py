"""A volume of the phantom cohort to a canonical array, against SimpleITK on the same file."""

from __future__ import annotations

import csv
import tempfile
from pathlib import Path

import SimpleITK as sitk

from steadyread.stages.dispatch import run_stage
from steadyread.volumes.read import read_volume

from .measure import Ratio, compare


def run() -> list[Ratio]:
    """One NIfTI file and one DICOM series of the phantom cohort, read in a warm process."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        outputs = {"table": folder / "cohort.tsv", "files": folder / "files", "recorded": folder / "recorded.json"}
        settings = {"seed": 20260805, "phantom": {"patients": 6}}
        run_stage("make_phantom", {}, outputs, settings, {}, root=folder, receipts=False)
        with open(folder / "cohort.tsv", encoding="utf-8", newline="") as handle:
            volumes = [folder / row["volume"] for row in csv.DictReader(handle, dialect="excel-tab")]
        nifti = next(path for path in volumes if path.name.endswith(".nii.gz"))
        series = next(path for path in volumes if path.is_dir())

        def sitk_nifti() -> object:
            return sitk.GetArrayFromImage(sitk.DICOMOrient(sitk.ReadImage(str(nifti)), "RAS"))

        def sitk_series() -> object:
            reader = sitk.ImageSeriesReader()
            reader.SetFileNames(reader.GetGDCMSeriesFileNames(str(series)))
            return sitk.GetArrayFromImage(sitk.DICOMOrient(reader.Execute(), "RAS"))

        count = len(list(series.iterdir()))
        return [
            compare("NIfTI to Volume", "SimpleITK", lambda: read_volume(nifti), sitk_nifti, rounds=15, note=nifti.name),
            compare(
                "DICOM series to Volume",
                "SimpleITK (GDCM)",
                lambda: read_volume(series),
                sitk_series,
                rounds=15,
                note=f"{count} files",
            ),
        ]
