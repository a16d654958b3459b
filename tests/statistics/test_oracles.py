"""Readers whose answers are known come out as they must (PROTOCOLS 0.6)."""

from __future__ import annotations

import pytest
from scipy.stats import binom

from steadyread.identity.seeds import uniform

FLIP_ARMS = ("reverse", "label_swap", "lesion_removed", "matched_removed", "no_image", "blank_image")
DENOMINATORS = ("all", "both_answer_set", "both_categorical", "base_correct")


def slot(number):
    return lambda asked: asked.options[number]


def coin(sides):
    def answer(asked):
        labels = [option for option in asked.options if option != "UNSURE"]
        options = labels if sides == "labels" else list(asked.options)
        return options[int(uniform("coin", asked.trial_id, asked.draw) * len(options))]

    return answer


def chance_range(n, p):
    return [value / n for value in binom.ppf([0.0005, 0.9995], n, p)]


def test_a_constant_label_never_flips_follows_no_slot_and_is_right_half_the_time(made):
    found = made().estimates({"gbm": lambda asked: "GBM"})
    assert {row["value"] for row in found.all(metric="flip_rate")} == {0.0}
    assert {row["value"] for row in found.all(metric="flip_direction")} == {0.0}
    assert {row["value"] for row in found.all(metric="label_swap_inconsistency")} == {0.0}
    assert found.one(metric="slot_following")["value"] == 0.0
    assert {row["value"] for row in found.all(metric="overcommitment")} == {1.0}
    assert {row["value"] for row in found.all(metric="accuracy")} == {0.5}
    assert {row["value"] for row in found.all(metric="d_same", arm="base")} == {0.0}


@pytest.mark.parametrize("number", [0, 1])
def test_a_reader_of_a_label_slot_flips_on_every_swap_of_two_labels_and_on_nothing_else(made, number):
    found = made().estimates({"slot": slot(number)})
    for denominator in DENOMINATORS:
        assert found.one(metric="label_swap_inconsistency", denominator=denominator)["value"] == 1.0
        assert found.one(metric="flip_rate", arm="reverse", denominator=denominator)["value"] == 0.0
    assert found.one(metric="slot_following")["value"] == 1.0


def test_a_reader_of_the_slot_of_unsure_never_flips_and_never_commits(made):
    still = ("base", "reverse", "label_swap", "lesion_removed", "matched_removed", "no_image", "blank_image")
    found = made(arms=still).estimates({"slot": slot(2)})
    assert found.one(metric="label_swap_inconsistency", denominator="all")["value"] == 0.0
    assert {row["value"] for row in found.all(metric="overcommitment")} == {0.0}
    assert found.one(metric="slot_following")["estimate_status"] == "undefined"
    assert found.one(metric="flip_rate", arm="reverse", denominator="both_categorical")["value"] is None
    assert found.one(metric="status_share", arm="base", variant="UNSURE")["value"] == 1.0


def test_a_slot_follower_flips_on_every_shift_of_three_labels(made):
    found = made(labels=("GBM", "MET", "PCNSL")).estimates({"slot": slot(0)})
    row = found.one(metric="label_swap_inconsistency", denominator="all")
    assert (row["value"], row["n"]) == (1.0, 24)
    assert found.one(metric="slot_following")["value"] == 1.0


def test_a_perfect_reader_is_always_right_and_has_no_flip(made):
    found = made().estimates({"perfect": lambda asked: asked.truth})
    assert {row["value"] for row in found.all(metric="accuracy")} == {1.0}
    assert {row["value"] for row in found.all(metric="accuracy_difference")} == {0.0}
    assert {row["value"] for row in found.all(metric="flip_rate")} == {0.0}
    assert found.one(metric="flip_rate", arm="reverse", denominator="base_correct")["n"] == 24


def test_an_evidence_bound_reader_lets_go_of_its_diagnosis_exactly_where_the_lesion_is_gone(made):
    blind = {"lesion_removed", "no_image", "blank_image"}
    found = made().estimates({"honest": lambda asked: "UNSURE" if asked.arm in blind else asked.truth})
    headline = found.one(metric="overcommitment_difference", arm="matched_removed")
    assert (headline["value"], headline["reference_arm"]) == (1.0, "lesion_removed")
    assert found.one(metric="overcommitment_difference", arm="base")["value"] == 1.0
    assert found.one(metric="flip_direction", arm="lesion_removed", variant="label_to_unsure")["value"] == 1.0
    assert headline["p"] < 0.01
    assert headline["p_holm"] == headline["p"]


@pytest.mark.parametrize(("sides", "expected"), [("labels", 1 / 2), ("options", 2 / 3)])
def test_a_coin_flips_as_often_as_chance_says_under_every_arm(made, sides, expected):
    found = made(patients=90, arms=("base", *FLIP_ARMS)).estimates({"coin": coin(sides)})
    low, high = chance_range(180, expected)
    for arm in FLIP_ARMS:
        assert low <= found.one(metric="flip_rate", arm=arm, denominator="all")["value"] <= high


def test_the_floor_of_a_coin_is_a_half_and_its_effect_above_noise_is_nothing(made):
    study = made(patients=90, arms=("base", "reverse"), extra_draws={"base": 4, "reverse": 4})
    rules = {"permutations": 999, "confidence": 0.999}
    found = study.estimates({"coin": coin("labels")}, statistics=rules)
    for arm in ("base", "reverse"):
        row = found.one(metric="d_same", arm=arm)
        assert row["low"] <= 0.5 <= row["high"]
    cross = found.one(metric="d_cross", arm="reverse")
    assert cross["low"] <= 0.5 <= cross["high"]
    effect = found.one(metric="delta", arm="reverse")
    assert effect["low"] <= 0.0 <= effect["high"]
    assert effect["p"] is None


def test_always_unsure_has_no_overcommitment_where_unsure_is_not_offered(made):
    found = made(unsure=False).estimates({"silent": lambda asked: "UNSURE"})
    assert not found.all(metric="overcommitment")
    assert not found.all(metric="overcommitment_difference")
    assert found.one(metric="status_share", arm="base", variant="UNSURE")["value"] == 1.0
