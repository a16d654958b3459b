"""From the phantom's files through the study's own stages back to what the shapes say."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from steadyread.config.models_table import ModelsTable
from steadyread.config.study import StudyConfig
from steadyread.contracts.enums import AnnotationKind
from steadyread.phantom.design import PhantomCase
from steadyread.phantom.truth import CaseTruth

pytestmark = pytest.mark.slow

STUDY = StudyConfig(shards=1)
SIZE = STUDY.slicing.size
Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def tables(cohort: Path, up_to_lesions: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Rows]:
    """Tables of the phantom study up to the lesion slices."""
    out = tmp_path_factory.mktemp("phantom_chain")
    found: dict[str, Rows] = up_to_lesions(STUDY, ModelsTable(models=()), cohort / "cohort.tsv", out)
    return found


def of_case(rows: Rows, case_id: str) -> Rows:
    return [row for row in rows if row["case_id"] == case_id]


def pictures(tables: dict[str, Rows], case_id: str) -> dict[int, np.ndarray]:
    """Stored slices of a case by index, as numbers."""
    png = {row["image_id"]: row["png"] for row in tables["images"]}
    return {
        row["index"]: np.asarray(Image.open(BytesIO(png[row["image_id"]]))).astype(float)
        for row in of_case(tables["slices"], case_id)
    }


def test_every_case_is_registered_and_none_is_left_out(tables: dict[str, Rows], cases: tuple[PhantomCase, ...]) -> None:
    assert tables["exclusions"] == []
    assert len(tables["items"]) == 24
    found = {row["case_id"]: row for row in tables["cases"]}
    for case in cases:
        row = found[case.case_id]
        assert (row["label"], row["patient_id"], row["annotation_kind"]) == (case.label, case.patient_id, case.kind)
        assert row["deidentified"] == "yes"
        assert row["burned_in"] is (False if case.kind is AnnotationKind.SEG else None)


def test_lesion_slices_equal_the_shapes_in_every_storage(tables: dict[str, Rows], truth: dict[str, CaseTruth]) -> None:
    for case_id, expected in truth.items():
        marks = of_case(tables["lesion_slices"], case_id)
        assert [row["index"] for row in marks] == list(range(expected.slices)), case_id
        assert tuple(row["index"] for row in marks if row["is_lesion"]) == expected.lesion_slices, case_id


def test_lesion_area_is_that_of_the_shapes_where_there_is_a_mask(
    tables: dict[str, Rows], truth: dict[str, CaseTruth], cases: tuple[PhantomCase, ...]
) -> None:
    for case in cases:
        for row in of_case(tables["lesion_slices"], case.case_id):
            if case.kind is AnnotationKind.SLICE_TABLE:
                assert row["lesion_area_mm2"] is None
            else:
                expected = truth[case.case_id].area_mm2.get(row["index"], 0.0)
                assert row["lesion_area_mm2"] == pytest.approx(expected, rel=1e-4)


def test_boxes_enclose_the_shapes_as_they_are_displayed(
    tables: dict[str, Rows], truth: dict[str, CaseTruth], cases: tuple[PhantomCase, ...]
) -> None:
    compared = 0
    for case in cases:
        listed_without_boxes = case.kind is AnnotationKind.SLICE_TABLE and str(case.stored_axes)[2] not in "SI"
        for row in of_case(tables["lesion_slices"], case.case_id):
            if not row["is_lesion"] or listed_without_boxes:
                assert not row["lesion_boxes"]
                continue
            stored = np.array(row["lesion_boxes"])
            parts = 0
            for x0, y0, x1, y1 in truth[case.case_id].boxes_px(row["index"], SIZE):
                # A stored slice is a whole number of pixels wide: up to one pixel of rounding. A slice may
                # show an irregular lesion in parts, each with a box.
                inside = stored[
                    (stored >= np.array([x0, y0, x0, y0]) - 1.01).all(axis=1)
                    & (stored <= np.array([x1, y1, x1, y1]) + 1.01).all(axis=1)
                ]
                hull = [*inside[:, :2].min(axis=0), *inside[:, 2:].max(axis=0)]
                np.testing.assert_allclose(hull, (x0, y0, x1, y1), atol=1.01, err_msg=case.case_id)
                parts += len(inside)
                compared += 1
            assert parts == len(stored), "every box belongs to a lesion"
    assert compared > 80


def test_the_capsule_on_the_right_temple_is_shown_on_the_left_in_front_at_its_height(
    tables: dict[str, Rows], truth: dict[str, CaseTruth]
) -> None:
    # The image alone tells the orientation here, no annotation does: a head is nearly its own mirror
    # image, and only one of the four temples has a capsule.
    for case_id, expected in truth.items():
        stored = pictures(tables, case_id)

        def shown(k: int, x: float, y: float, stored: dict[int, np.ndarray] = stored) -> float:
            return float(stored[k][round(y) - 1 : round(y) + 2, round(x) - 1 : round(x) + 2].mean())

        def stands_out(picture: np.ndarray, y: float) -> float:
            """Pixels by which a row begins further left than the rows some 16 mm before and behind it."""
            left = (picture[[round(y) - 16, round(y) + 16, round(y)]] > 60).argmax(axis=1)
            return float(left[:2].mean() - left[2])

        across, down = expected.to_px(expected.centre_mm, SIZE)
        for k, point in expected.marker_mm.items():
            x, y = expected.to_px(point, SIZE)
            assert x < across, "the right temple is left of the middle"
            assert y < down, "the temple is in front of the middle"
            assert shown(k, x, y) > 200, (case_id, k)
            assert stands_out(stored[k], y) > 5, (case_id, k)
            assert stands_out(stored[k][:, ::-1], y) < 5, "on the right temple alone"
        _, y = expected.to_px(expected.marker_mm[max(expected.marker_mm)], SIZE)
        for k in range(max(expected.marker_mm) + 2, expected.slices - 3):
            assert stands_out(stored[k], y) < 5, "nothing is taped to the skin above it"


def test_the_enhancing_lesion_is_bright_inside_its_box(
    tables: dict[str, Rows], truth: dict[str, CaseTruth], cases: tuple[PhantomCase, ...]
) -> None:
    for case in cases:
        if case.sequence != "T1CE":
            continue
        expected = truth[case.case_id]
        stored = pictures(tables, case.case_id)
        for k in expected.lesion_slices:
            head = np.median(stored[k][stored[k] > 60])
            for box in expected.boxes_px(k, SIZE):
                x0, y0, x1, y1 = (round(value) for value in box)
                # In the faintest slice the rim fills a voxel to two fifths.
                assert stored[k][y0:y1, x0:x1].max() > 1.15 * head, (case.case_id, k)


def test_slices_run_from_feet_to_head_whatever_order_the_file_has(
    tables: dict[str, Rows], cases: tuple[PhantomCase, ...]
) -> None:
    for case in cases:
        rows = of_case(tables["slices"], case.case_id)
        assert {row["plane"] for row in rows} == {"axial"}
        assert all(row["sampled"] for row in rows)
        normal = case.grid.axes[:, 2]
        expected = [float(normal @ (case.grid.affine @ (0, 0, k, 1))[:3]) for k in range(case.grid.shape[2])]
        assert [row["position_mm"] for row in rows] == pytest.approx(expected, abs=2e-3)
