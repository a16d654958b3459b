"""What the phantom cohort is, before any file is written."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from steadyread.contracts.enums import AnnotationKind
from steadyread.phantom.design import PhantomCase, plan
from steadyread.phantom.shapes import CORE, ENHANCING, LESION_LABELS
from steadyread.phantom.truth import CaseTruth, phantom_truth


def test_twelve_patients_two_classes_two_sequences_three_storages(cases: tuple[PhantomCase, ...]) -> None:
    assert Counter(case.patient_id for case in cases) == {f"phantom-{n:02d}": 2 for n in range(1, 13)}
    assert Counter((case.kind, case.label, case.sequence) for case in cases) == {
        (kind, label, sequence): 2
        for kind in (AnnotationKind.SEG, AnnotationKind.MASK, AnnotationKind.SLICE_TABLE)
        for label in ("GBM", "MET")
        for sequence in ("T1CE", "T2")
    }
    for kind in (AnnotationKind.MASK, AnnotationKind.SLICE_TABLE):
        orders = {case.stored_axes for case in cases if case.kind is kind}
        assert {"LPS", "LAS", "PSR"} <= orders


@pytest.mark.parametrize("seed", [1, 20260805])
def test_every_case_can_be_analysed_in_every_arm(seed: int) -> None:
    for truth in phantom_truth(seed).values():
        shown = len(truth.lesion_slices)
        # Removing the lesion, or as many other slices, leaves a slice of each (PROTOCOLS S1).
        assert 1 <= shown <= (truth.slices - shown) - 1
        assert 16 <= truth.slices <= 20


@pytest.mark.parametrize("seed", [1, 20260805])
def test_glioblastoma_is_one_large_ring_and_metastases_are_one_to_four_small_ones(seed: int) -> None:
    counts = set()
    for case in plan(seed):
        lesions = case.head.lesions
        if case.label == "GBM":
            assert len(lesions) == 1
            assert lesions[0].radius >= 14
            labels = case.lesion_map()
            assert (labels == CORE).any()
            assert (labels == ENHANCING).any()
        else:
            counts.add(len(lesions))
            assert max(lesion.radius for lesion in lesions) <= 8
    assert counts == {1, 2, 3, 4}


def test_both_sequences_of_a_patient_show_the_same_lesions_at_the_same_place(cases: tuple[PhantomCase, ...]) -> None:
    def centroid_mm(case: PhantomCase) -> np.ndarray:
        voxels = np.argwhere(np.isin(case.lesion_map(), LESION_LABELS))
        return case.grid.affine[:3, :3] @ voxels.mean(axis=0) + case.grid.affine[:3, 3]

    for first, second in zip(cases[::2], cases[1::2], strict=True):
        assert first.patient_id == second.patient_id
        assert first.grid != second.grid
        assert np.abs(centroid_mm(first) - centroid_mm(second)).max() < 4


def test_voxels_lie_where_the_affine_says(cases: tuple[PhantomCase, ...]) -> None:
    for case in cases[::5]:
        for k in (0, case.grid.shape[2] - 1):
            points = case.grid.slice_points(k)
            for i, j in ((0, 0), (3, 7), (points.shape[0] - 1, points.shape[1] - 1)):
                assert points[i, j] == pytest.approx((case.grid.affine @ (i, j, k, 1))[:3], abs=1e-9)


def test_the_lesion_shows_in_the_image(cases: tuple[PhantomCase, ...]) -> None:
    # The enhancing rim is brighter than brain in T1CE, the core is brighter in T2.
    for case in cases[:4]:
        volume, labels = case.volume().astype(float), case.lesion_map()
        brain = np.median(volume[(labels == 0) & (volume > 500)])
        part = ENHANCING if case.sequence == "T1CE" else CORE
        assert np.median(volume[labels == part]) > 1.3 * brain
        assert volume.max() <= 4095
        assert volume.min() >= 0


def test_truth_has_a_box_for_each_lesion_slice_inside_the_display(truth: dict[str, CaseTruth]) -> None:
    for case in truth.values():
        assert set(case.boxes) == set(case.lesion_slices) == set(case.area_mm2)
        for k in case.lesion_slices:
            for x0, y0, x1, y1 in case.boxes[k]:
                assert 0 <= x0 < x1 <= case.extent_mm[0]
                assert 0 <= y0 < y1 <= case.extent_mm[1]
        # The capsule on the right temple is on the left of a radiological display.
        assert case.marker_mm
        assert all(x < case.extent_mm[0] / 4 for x, _ in case.marker_mm.values())


def test_another_seed_gives_other_patients() -> None:
    assert {case.head for case in plan(1)}.isdisjoint({case.head for case in plan(2)})
