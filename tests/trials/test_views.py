"""Joining what earlier stages say of a case."""

from __future__ import annotations

from typing import Any

import pytest

from steadyread.contracts.enums import ArmName
from steadyread.contracts.problems import StudyError
from steadyread.trials.views import Exclusions, case_views

CASE = {"case_id": "c", "sequence": None, "label": None, "site": None, "covariates": {}}
SLICES = [
    {"case_id": "c", "index": index, "image_id": f"image{index}" if index % 2 else None, "sampled": bool(index % 2)}
    for index in range(6)
]


def view_of(flags: dict[int, bool | None], exclusions: Exclusions | None = None) -> Any:
    lesions = [{"case_id": "c", "index": index, "is_lesion": flag} for index, flag in flags.items()]
    return case_views([CASE], SLICES, lesions, exclusions or Exclusions())


def test_lesion_slices_count_in_the_whole_volume_and_flags_in_the_sampled_slices() -> None:
    view = view_of({index: index in (0, 1, 2) for index in range(6)})["c"]
    assert view.image_of == {1: "image1", 3: "image3", 5: "image5"}
    assert view.lesion_flags == (True, False, False)
    assert view.lesion_slices_in_volume == 3


def test_slices_stand_in_anatomical_order_whatever_the_order_of_rows() -> None:
    lesions = [{"case_id": "c", "index": index, "is_lesion": index == 3} for index in (5, 0, 3, 1, 4, 2)]
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
