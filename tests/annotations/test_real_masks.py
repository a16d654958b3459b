"""Real masks: labels that are nearly whole, and two grids of one patient."""

from __future__ import annotations

from pathlib import Path

import nibabel
import numpy as np
import pytest
from nibabel.processing import resample_from_to

from steadyread.annotations.masks import load_mask
from steadyread.config.lesions import LesionsConfig
from steadyread.contracts.enums import Reason
from steadyread.contracts.problems import CaseProblem
from steadyread.volumes.read import read_volume

pytestmark = pytest.mark.realdata


def test_labels_of_0_99999997_all_count(realdata_root: Path) -> None:
    folder = realdata_root / "brats_pat0001"
    volume = read_volume(folder / "Flair_subtrMeanDivStd.nii.gz").volume
    found = load_mask(folder / "brainmask.nii.gz", None, volume, LesionsConfig(resample=False))
    assert int(found.sum()) == 1_487_565  # FIELD_REPORTS, C: "> 0.5"


def test_the_label_named_counts_and_the_seeds_beside_it_do_not(realdata_root: Path) -> None:
    folder = realdata_root / "niivue_flair_drawing"
    volume = read_volume(folder / "FLAIR.nii.gz").volume
    for labels, voxels in ((frozenset({1}), 1_125), (None, 32_481)):
        assert int(load_mask(folder / "lesion.nii.gz", labels, volume, LesionsConfig()).sum()) == voxels


def test_a_mask_drawn_on_another_sequence_of_the_patient_is_resampled_as_nibabel_does(
    realdata_root: Path, tmp_path: Path
) -> None:
    folder = realdata_root / "tcga_fg6692"
    flair = nibabel.load(folder / "TCGA-FG-6692_FLAIR.nii.gz")
    drawn = np.zeros(flair.shape, dtype=np.uint8)
    drawn[60:110, 90:150, 10:18] = 1
    mask = nibabel.Nifti1Image(drawn, flair.affine)
    nibabel.save(mask, tmp_path / "mask.nii.gz")
    volume = read_volume(folder / "TCGA-FG-6692_T1c.nii.gz").volume
    found = load_mask(tmp_path / "mask.nii.gz", None, volume, LesionsConfig())
    expected = np.asarray(resample_from_to(mask, (volume.shape, volume.affine), order=0).dataobj) > 0
    assert expected.sum() > 10_000
    assert (found != expected).sum() <= 5  # ties at half a voxel
    with pytest.raises(CaseProblem) as caught:
        load_mask(tmp_path / "mask.nii.gz", None, volume, LesionsConfig(resample=False))
    assert caught.value.reason is Reason.ANNOTATION_OTHER_SPACE
    assert "208 × 256 × 26" in caught.value.detail and "256 × 224 × 26" in caught.value.detail
