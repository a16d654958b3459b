"""What the values of a mask mean."""

from __future__ import annotations

import numpy as np
import pytest

from steadyread.annotations.masks import lesion_voxels
from steadyread.contracts.enums import Reason
from steadyread.contracts.problems import CaseProblem

TOLERANCE = 0.01


def mask(*values: float, dtype: type = np.float32) -> np.ndarray:
    return np.array(values, dtype=dtype).reshape(-1, 1, 1)


def refused(values: np.ndarray, labels: frozenset[int] | None = None) -> str:
    with pytest.raises(CaseProblem) as caught:
        lesion_voxels(values, labels, TOLERANCE)
    assert caught.value.reason is Reason.ANNOTATION_LABELS
    return caught.value.detail


def test_a_label_that_rounding_left_just_below_one_is_one() -> None:
    found = lesion_voxels(mask(0, 0.99999997, 2e-9, dtype=np.float64), None, TOLERANCE)
    assert found.ravel().tolist() == [False, True, False]


def test_every_positive_label_is_lesion_unless_labels_are_named() -> None:
    values = mask(-1, 0, 1, 2, 255, dtype=np.int16)
    assert lesion_voxels(values, None, TOLERANCE).ravel().tolist() == [False, False, True, True, True]
    assert lesion_voxels(values, frozenset({2, 255}), TOLERANCE).ravel().tolist() == [False, False, False, True, True]


def test_a_label_never_turns_into_its_neighbour() -> None:
    assert lesion_voxels(mask(0, 1.9999999, 1), frozenset({1}), TOLERANCE).ravel().tolist() == [False, False, True]


@pytest.mark.parametrize("value", [0.5, 0.996, 0.02, float("nan"), float("inf")])
def test_values_that_are_no_labels_are_refused_and_named(value: float) -> None:
    bound = TOLERANCE if value != 0.996 else 0.001
    with pytest.raises(CaseProblem) as caught:
        lesion_voxels(mask(0, value, 1), None, bound)
    assert caught.value.reason is Reason.ANNOTATION_LABELS
    assert f"{np.float32(value):.6g}" in caught.value.detail


def test_a_mask_scaled_to_one_over_255_is_refused_and_not_read_as_empty() -> None:
    assert "0.00392157" in refused(mask(0, 1 / 255, 1 / 255))
    assert "0.00392157" in refused(mask(0, 1 / 255), frozenset({1}))


@pytest.mark.parametrize("labels", [None, frozenset({1})])
def test_a_mask_of_zeros_says_that_there_is_no_lesion(labels: frozenset[int] | None) -> None:
    assert not lesion_voxels(mask(0, 0), labels, TOLERANCE).any()


def test_a_mask_that_holds_only_labels_not_asked_for_is_refused_with_both_lists() -> None:
    detail = refused(mask(0, 2, 3), frozenset({1, 4}))
    assert "2, 3" in detail and "[1, 4]" in detail


def test_one_of_several_lesion_labels_is_enough() -> None:
    assert lesion_voxels(mask(0, 2, 4), frozenset({1, 4}), TOLERANCE).ravel().tolist() == [False, False, True]


def test_an_image_is_no_mask() -> None:
    values = np.arange(1000, dtype=np.int16).reshape(10, 10, 10)
    assert "1000 different values" in refused(values)
    assert lesion_voxels(values, frozenset({7}), TOLERANCE).sum() == 1


def test_a_mask_whose_only_labels_are_negative_is_no_absent_lesion() -> None:
    with pytest.raises(CaseProblem, match="-1, 0"):
        lesion_voxels(np.array([0, -1, -1], np.int16), None, 0.01)
    assert lesion_voxels(np.array([0, -1], np.int16), frozenset({-1}), 0.01).tolist() == [False, True]
