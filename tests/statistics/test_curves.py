"""Curves over levels: what is left of the lesion, where it stands, over the same cases at every level."""

from __future__ import annotations

import math

import pytest

G, M, U, X, E = "GBM", "MET", "UNSURE", "UNPARSED", "ERROR"
FRACTIONS = (0.25, 0.5, 0.75, 1.0)
POSITIONS = (0.0, 0.25, 0.5, 0.75, 1.0)


@pytest.fixture
def dose(made):
    """Cases of two lesion slices: shares of .25 and .5 take one of them, .75 and 1 both."""
    return made(patients=12, arms=("base", "remove_fraction"), levels={"fractions": FRACTIONS})


def left(asked):
    """Lesion slices that are still shown."""
    return 2 - math.ceil(float(asked.variant or 0) * 2)


def points(found, metric):
    return {row["parameter"]: row["value"] for row in found.all(metric=metric)}


def test_a_reader_that_needs_any_lesion_slice_lets_go_where_the_last_one_is_gone(dose):
    found = dose.estimates({"m": lambda asked: asked.truth if left(asked) else U})
    assert points(found, "dose_response") == {0: 1, 0.25: 1, 0.5: 1, 0.75: 0, 1: 0}
    assert points(found, "dose_flips") == {0.25: 0, 0.5: 0, 0.75: 1, 1: 1}


def test_a_reader_that_needs_every_lesion_slice_lets_go_at_the_first(dose):
    found = dose.estimates({"m": lambda asked: asked.truth if left(asked) == 2 else U})
    assert points(found, "dose_response") == {0: 1, 0.25: 0, 0.5: 0, 0.75: 0, 1: 0}


def test_a_reader_that_never_lets_go_is_committed_at_every_level_without_an_interval(dose):
    rows = dose.estimates({"m": lambda asked: G}).all(metric="dose_response")
    assert [row["value"] for row in rows] == [1.0] * 5
    assert {(row["estimate_status"], row["low"], row["high"]) for row in rows} == {("too_few_events", None, None)}
    assert {row["reason"] for row in rows} == {"0 patients are without an event, 5 are needed"}


def test_another_label_flips_and_stays_committed(dose):
    found = dose.estimates({"m": lambda asked: G if left(asked) else M})
    assert points(found, "dose_response") == dict.fromkeys((0, *FRACTIONS), 1)
    assert points(found, "dose_flips") == {0.25: 0, 0.5: 0, 0.75: 1, 1: 1}


def test_the_points_say_what_they_are(dose):
    rows = dose.estimates({"m": lambda asked: G}).all(metric="dose_response")
    assert [row["variant"] for row in rows] == ["0", "0.25", "0.5", "0.75", "1"]
    assert {(row["arm"], row["reference_arm"], row["denominator"]) for row in rows} == {
        ("remove_fraction", "base", "all_arms")
    }


def test_the_last_point_is_the_arm_that_takes_the_lesion_away_where_no_share_does(made):
    study = made(arms=("base", "remove_fraction", "lesion_removed"), levels={"fractions": (0.5,)})
    gone = study.estimates({"m": lambda asked: U if asked.arm == "lesion_removed" else G})
    assert points(gone, "dose_response") == {0: 1, 0.5: 1, 1: 0}
    both = made(arms=("base", "remove_fraction", "lesion_removed"), levels={"fractions": (0.5, 1.0)})
    found = both.estimates({"m": lambda asked: U if asked.arm == "lesion_removed" else G})
    assert points(found, "dose_response") == {0: 1, 0.5: 1, 1: 1}


def test_every_point_is_over_the_cases_that_have_them_all(made, scripted):
    study = made(
        patients=6,
        per_patient=1,
        arms=("base", "remove_fraction", "lesion_removed"),
        levels={"fractions": (0.5,)},
        left_out=lambda case, arm: arm == "lesion_removed" and case == "p000-s0",
    )
    script = {"base": [U, G, G, G, G, X], "remove_fraction": [U, G, G, M, U, X], "lesion_removed": [U] * 6}
    rows = study.estimates({"m": scripted(script)}).all(metric="dose_response")
    assert [row["value"] for row in rows] == [4 / 5, 3 / 5, 0]
    assert [row["n"] for row in rows] == [5, 5, 5]


def test_without_unsure_there_is_no_dose_response_but_flips(made):
    found = made(unsure=False, arms=("base", "remove_fraction")).estimates({"m": lambda asked: G})
    assert not found.all(metric="dose_response")
    assert points(found, "dose_flips") == {0.5: 0}


def test_the_position_curve_by_hand(made, scripted):
    study = made(patients=4, per_patient=1, arms=("base", "roi_at"), levels={"positions": (0.0, 0.5, 1.0)})
    # truth:                G  M  G  M
    script = {
        "base": [G, M, G, G],
        "roi_at 0": [G, M, G, M],
        "roi_at 0.5": [M, G, U, G],
        "roi_at 1": [G, G, G, X],
    }
    found = study.estimates({"m": scripted(script)})
    assert points(found, "position_accuracy") == {0: 1, 0.5: 0, 1: 2 / 4}
    assert points(found, "position_flips") == {0: 1 / 4, 0.5: 3 / 4, 1: 2 / 4}
    assert {row["denominator"] for row in found.all(metric="position_accuracy")} == {"all_arms_known"}


def test_a_reader_that_looks_at_the_middle_is_right_where_the_lesion_stands_there(made):
    study = made(arms=("base", "roi_at"), levels={"positions": POSITIONS})
    found = study.estimates({"m": lambda asked: asked.truth if asked.variant in ("", "0.25", "0.5", "0.75") else U})
    assert points(found, "position_accuracy") == {0: 0, 0.25: 1, 0.5: 1, 0.75: 1, 1: 0}


def test_positions_are_flips_where_no_label_is_known(made):
    found = made(known=False, arms=("base", "roi_at")).estimates({"m": lambda asked: G})
    (row,) = found.all(metric="position_accuracy")
    assert (row["value"], row["n"], row["estimate_status"]) == (None, 0, "undefined")
    assert points(found, "position_flips") == {0.5: 0}


@pytest.mark.parametrize(
    ("flipping", "status"),
    [(4, "too_few_events"), (5, "ok"), (15, "ok"), (16, "too_few_events"), (20, "too_few_events")],
)
def test_a_point_needs_five_patients_with_and_five_without_the_event(made, flipping, status):
    study = made(patients=20, per_patient=1, arms=("base", "roi_at"))
    row = study.estimates(
        {"m": lambda asked: M if asked.arm == "roi_at" and int(asked.case[1:4]) < flipping else G}
    ).one(metric="position_flips")
    assert (row["value"], row["estimate_status"]) == (flipping / 20, status)
    if status == "ok":
        assert row["low"] < row["value"] < row["high"]
        assert row["resamples"] == 2000
    else:
        few, kind = min((flipping, "have"), (20 - flipping, "are without"))
        assert row["low"] is None
        assert row["reason"] == f"{few} patients {kind} an event, 5 are needed"


def test_an_answer_lost_at_one_level_leaves_what_the_case_said_at_the_others(dose):
    def reader(asked):
        if asked.case == "p000-s0" and asked.variant == "0.5":
            return E
        return G if left(asked) else U

    rows = {row["parameter"]: row for row in dose.estimates({"m": reader}).all(metric="dose_response")}
    assert {(row["n"], row["n_error"], row["estimate_status"]) for row in rows.values()} == {(23, 1, "incomplete")}
    bounds = {parameter: (row["bound_low"], row["bound_high"]) for parameter, row in rows.items()}
    assert bounds == {0: (1, 1), 0.25: (1, 1), 0.5: (pytest.approx(23 / 24), 1), 0.75: (0, 0), 1: (0, 0)}
