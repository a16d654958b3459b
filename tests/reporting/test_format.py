"""A number for people always stands with its n, and never with an interval it may not have."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steadyread.contracts.enums import ArmName, Denominator, EstimateStatus, OutcomeStatus, Readout
from steadyread.reporting import names
from steadyread.reporting.format import (
    ABSENT,
    cell,
    confidence_text,
    contrast_extras,
    counted,
    percent,
    probability,
    sentence_value,
    text_list,
)


@given(st.floats(0, 1))
def test_a_share_is_printed_in_percent_to_half_of_its_last_place(share):
    assert float(percent(share)) == pytest.approx(100 * share, abs=0.05 + 1e-9)


@given(st.floats(-1, 1))
def test_a_difference_carries_its_sign_and_zero_carries_none(difference):
    text = percent(difference, signed=True)
    number = float(text.replace("−", "-"))
    assert (text[0] == "+") == (number > 0)
    assert (text[0] == "−") == (number < 0)


def test_known_answers(estimate):
    assert cell(estimate(value=88 / 180, low=0.412, high=0.566, n=180)) == "48.9 [41.2, 56.6] (180)"
    assert sentence_value(estimate(value=0.25, low=0.1, high=0.5, n=8)) == "25.0 % [10.0, 50.0], n = 8"
    lets_go = estimate(metric="overcommitment_difference", value=-0.1, low=-0.2, high=0.05, n=9)
    assert sentence_value(lets_go) == "−10.0 points [−20.0, +5.0], n = 9"
    assert cell(None) == ABSENT
    assert probability(0.0004) == "<0.001"
    assert confidence_text(0.9) == "90 % interval"
    assert text_list(["a", "b", "c"]) == "a, b and c"


@given(st.sampled_from(["too_few_events", "undefined"]), st.integers(0, 10**6))
def test_an_estimate_that_may_not_have_an_interval_shows_none_even_if_handed_one(status, n):
    from_table = {"metric": "flip_rate", "value": 0.1, "low": 0.0, "high": 0.3, "n": n, "n_error": 0, "mark": "O"}
    text = cell({**from_table, "estimate_status": status})
    assert "[" not in text
    assert f"({n})" in text
    assert names.STATUSES[EstimateStatus(status)] in text


def test_an_incomplete_estimate_shows_its_errors_and_bounds(estimate):
    row = estimate(estimate_status="incomplete", reason="errors", n_error=3, bound_low=0.2, bound_high=0.9)
    assert cell(row) == "50.0 [40.0, 60.0] (24) incomplete, 3 errors, bounds 20.0 to 90.0"


def test_an_incomplete_estimate_without_interval_says_both(estimate):
    row = estimate(low=None, high=None, estimate_status="incomplete", reason="errors", n_error=1)
    assert cell(row) == "50.0 (24) incomplete, no interval, 1 error"


def test_a_detectable_difference_of_zero_is_left_out(estimate):
    assert contrast_extras(estimate(mde=0.0, p=0.125, p_holm=0.25)) == ["0.125", "0.250", ""]
    assert contrast_extras(estimate(mde=0.24)) == ["", "", "24.0"]


@pytest.mark.parametrize(("difference", "shown"), [(0.999, "99.9"), (1.0, "> 100"), (1.99, "> 100")])
def test_no_difference_of_shares_above_100_points_is_printed(estimate, difference, shown):
    assert contrast_extras(estimate(mde=difference)) == ["", "", shown]


def test_noise_that_was_not_measured_is_not_undefined(estimate):
    nothing = {"value": None, "low": None, "high": None, "n": 0, "estimate_status": "undefined", "metric": "d_same"}
    why = "no request was asked twice under one of: reverse (see inference.repeat_share)"
    assert cell(estimate(**nothing, reason=why)) == "– (0) not asked twice"
    assert cell(estimate(**nothing, reason=why, n_error=2)) == "– (0) undefined"


def test_one_is_not_many():
    assert [counted(number, "case") for number in (0, 1, 2)] == ["0 cases", "1 case", "2 cases"]


def test_an_ok_estimate_without_interval_says_so(estimate):
    assert cell(estimate(low=None, high=None)) == "50.0 (24) no interval"


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (names.ARMS, ArmName),
        (names.DENOMINATORS, Denominator),
        (names.READOUTS, Readout),
        (names.STATUSES, EstimateStatus),
        (names.OUTCOMES, OutcomeStatus),
    ],
)
def test_every_word_of_a_closed_list_has_a_name(table, words):
    assert set(table) == set(words)


def test_a_reason_names_arms_as_people_do():
    text = "no case was answered under lesion_removed_margin, lesion_removed and roi_at"
    assert names.in_words(text) == (
        "no case was answered under lesion slices and margin removed, lesion slices removed and lesion slices moved"
    )


def test_no_two_arms_share_a_name():
    assert len(set(names.ARMS.values())) == len(names.ARMS)


def test_no_name_holds_an_underscore_or_a_digit():
    shown = [*names.ARMS.values(), *names.OUTCOMES.values(), *names.DENOMINATORS.values()]
    assert not [text for text in shown if re.search(r"[_\d]", text)]
