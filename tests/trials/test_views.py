"""Joining what earlier stages say of a case."""

from __future__ import annotations

from typing import Any

import pytest

from steadyread.contracts.enums import ArmName
from steadyread.contracts.problems import StudyError
from steadyread.trials.views import Exclusions, case_views

CASE = {"case_id": "c", "sequence": None, "label": None, "site": None, "covariates": {}}
SLICES = [
    {
        "case_id": "c",
        "index": index,
        "image_id": f"image{index}" if index % 2 else None,
        "sampled": bool(index % 2),
        "spacing_mm": [0.5, 0.5, 4.0],
    }
    for index in range(6)
]


def mark(index: int, flag: bool | None, area: float | None = None, boxes: list[list[float]] | None = None) -> Any:
    """A row of the lesion slices table."""
    return {"case_id": "c", "index": index, "is_lesion": flag, "lesion_area_mm2": area, "lesion_boxes": boxes}


def view_of(flags: dict[int, bool | None], exclusions: Exclusions | None = None) -> Any:
    lesions = [mark(index, flag) for index, flag in flags.items()]
    return case_views([CASE], SLICES, lesions, exclusions or Exclusions())


def test_lesion_slices_count_in_the_whole_volume_and_flags_in_the_sampled_slices() -> None:
    view = view_of({index: index in (0, 1, 2) for index in range(6)})["c"]
    assert view.image_of == {1: "image1", 3: "image3", 5: "image5"}
    assert view.lesion_flags == (True, False, False)
    assert view.lesion_slices_in_volume == 3


def test_slices_stand_in_anatomical_order_whatever_the_order_of_rows() -> None:
    lesions = [mark(index, index == 3) for index in (5, 0, 3, 1, 4, 2)]
    view = case_views([CASE], SLICES[::-1], lesions, Exclusions())["c"]
    assert list(view.image_of) == [1, 3, 5]
    assert view.lesion_flags == (False, True, False)


@pytest.mark.parametrize("flags", [{}, dict.fromkeys(range(6))])
def test_no_row_and_a_null_both_mean_not_annotated(flags: dict[int, None]) -> None:
    view = view_of(dict(flags))["c"]
    assert (view.lesion_flags, view.lesion_slices_in_volume) == (None, None)


@pytest.mark.parametrize(
    "flags", [{1: True, 3: False}, {1: True, 3: False, 5: None}, {0: None, 1: True, 3: True, 5: True}]
)
def test_a_half_annotated_case_is_a_contradiction(flags: dict[int, bool | None]) -> None:
    with pytest.raises(StudyError, match="Rerun mark_lesions"):
        view_of(flags)


def test_exclusions_of_one_model_leave_the_case_in() -> None:
    row = {"case_id": "c", "arm": None, "model_id": None}
    assert view_of({}, Exclusions.of([row])) == {}
    assert set(view_of({}, Exclusions.of([{**row, "model_id": "m"}]))) == {"c"}
    view = view_of({}, Exclusions.of([{**row, "arm": "lesion_removed"}]))["c"]
    assert view.excluded_arms == {ArmName.LESION_REMOVED}


def size_of(marks: list[Any], slices: list[Any] = SLICES) -> str | None:
    return case_views([CASE], slices, marks, Exclusions())["c"].strata.get("lesion_size")


def test_the_size_of_a_lesion_is_its_area_times_the_distance_of_slices_over_the_whole_volume() -> None:
    """2 slices of 300 mm² and 200 mm², 4 mm apart, one of them not sampled: 2 ml."""
    assert size_of([mark(k, k in (2, 3), {2: 300.0, 3: 200.0}.get(k, 0.0)) for k in range(6)]) == "2.0"
    assert size_of([mark(k, False, 0.0) for k in range(6)]) == "0.0"


def test_the_size_of_a_lesion_is_left_out_where_area_or_spacing_is_not_known() -> None:
    known = [mark(k, k == 3, 200.0 * (k == 3)) for k in range(6)]
    assert size_of(known) is not None
    assert size_of([mark(k, k == 3) for k in range(6)]) is None
    assert size_of(known, [{**row, "spacing_mm": None} for row in SLICES]) is None
    assert size_of([mark(k, None) for k in range(6)]) is None


def test_boxes_are_those_of_the_sampled_slices() -> None:
    marks = [mark(k, k in (2, 3), None, [[1.0, 2.0, 3.0, 4.0 + k]] if k in (2, 3) else []) for k in range(6)]
    view = case_views([CASE], SLICES, marks, Exclusions())["c"]
    assert view.boxes == ((), ((1.0, 2.0, 3.0, 7.0),), ())
