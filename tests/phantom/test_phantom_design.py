"""What the phantom cohort is, before any file is written."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from steadyread.config.phantom import PhantomConfig
from steadyread.contracts.enums import AnnotationKind
from steadyread.phantom.contrast import SEQUENCES
from steadyread.phantom.design import PhantomCase, plan
from steadyread.phantom.lesions import CORE, ENHANCING
from steadyread.phantom.truth import CaseTruth

KINDS = (AnnotationKind.SEG, AnnotationKind.MASK, AnnotationKind.SLICE_TABLE)


@pytest.mark.parametrize("patients", [6, 12, 90])
def test_two_classes_two_sequences_three_storages(patients: int) -> None:
    cases = plan(1, PhantomConfig(patients=patients))
    assert Counter(case.patient_id for case in cases) == {f"phantom-{n:02d}": 2 for n in range(1, patients + 1)}
    each = Counter((case.kind, case.label, case.sequence) for case in cases)
    assert set(each) == {(k, label, sequence) for k in KINDS for label in ("GBM", "MET") for sequence in SEQUENCES}
    assert set(each.values()) == {patients // 6}
    if patients > 6:
        for kind in (AnnotationKind.MASK, AnnotationKind.SLICE_TABLE):
            assert {"LPS", "LAS", "PSR"} <= {case.stored_axes for case in cases if case.kind is kind}
    if patients == 90:
        for label in ("GBM", "MET"):
            assert len({case.stored_axes for case in cases if case.label == label} - {None}) == 8


def test_sites_are_balanced_over_labels_and_storages() -> None:
    cases = plan(1, PhantomConfig())
    for kind in KINDS:
        for label in ("GBM", "MET"):
            found = Counter(case.site for case in cases if (case.kind, case.label) == (kind, label))
            assert abs(found["site-1"] - found["site-2"]) <= 2
    assert Counter(case.site for case in cases if case.label == "GBM") == Counter(
        case.site for case in cases if case.label == "MET"
    )


def test_both_sequences_have_one_prescription_oblique_in_dicom(cases: tuple[PhantomCase, ...]) -> None:
    for first, second in zip(cases[::2], cases[1::2], strict=True):
        assert (first.patient_id, first.grid) == (second.patient_id, second.grid)
        assert any(first.grid.tilt) == (first.kind is AnnotationKind.SEG)
    shapes = {case.grid.spacing[:2] for case in plan(1, PhantomConfig())}
    assert {across == along for across, along in shapes} == {True, False}, "square and other pixels"


def test_there_are_enough_slices_and_they_lie_as_thick_slices_do() -> None:
    for case in plan(3, PhantomConfig()):
        columns, rows, slices = case.grid.shape
        assert 16 <= slices <= 20
        assert 6.2 < case.grid.spacing[2] < 7.5
        for pixels, spacing in ((columns, case.grid.spacing[0]), (rows, case.grid.spacing[1])):
            assert pixels * spacing == pytest.approx(218, abs=0.1)


def test_every_case_can_be_analysed_in_every_arm(truth: dict[str, CaseTruth]) -> None:
    for case in truth.values():
        shown = len(case.lesion_slices)
        # Removing the lesion, or as many other slices, leaves a slice of each (PROTOCOLS S1).
        assert 1 <= shown <= (case.slices - shown) - 1


def test_voxels_lie_where_the_affine_says(cases: tuple[PhantomCase, ...]) -> None:
    for case in cases[::5]:
        points = case.grid.lattice.points()
        last = tuple(n - 1 for n in case.grid.shape)
        for index in ((0, 0, 0), (3, 7, 5), last):
            assert points[:, *index] == pytest.approx((case.grid.affine @ (*index, 1))[:3], abs=1e-4)


def test_the_lesion_shows_in_the_image(cases: tuple[PhantomCase, ...]) -> None:
    # The enhancing rim is brighter than brain in T1CE, the core is brighter in T2.
    for case in cases[:2] + cases[8:10]:
        volume, labels = case.volume().astype(float), case.lesion_map()
        brain = np.median(volume[60:, 40:70, 8:12][labels[60:, 40:70, 8:12] == 0])
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
