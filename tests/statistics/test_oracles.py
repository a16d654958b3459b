"""Readers whose answers are known come out as they must (PROTOCOLS 0.6)."""

from __future__ import annotations

import math

import pytest
from scipy.stats import binom

from steadyread.contracts.enums import Metric
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


# --- every metric ------------------------------------------------------------------------------


def surely(reader):
    """Log-probabilities of a reader that is always 90 % sure of what it says."""

    def logs(asked):
        said = reader(asked)
        return [math.log(0.9 if option == said else 0.1 / (len(asked.options) - 1)) for option in asked.options]

    return logs


def without_lesion(asked):
    """UNSURE wherever no lesion slice is shown."""
    gone = ("lesion_removed", "lesion_removed_margin", "no_image", "blank_image", "mention_only")
    last = (asked.arm, asked.variant) == ("remove_fraction", "1")
    return "UNSURE" if asked.arm in gone or last else asked.truth


NONE = None
READERS = {
    "constant label": lambda asked: "GBM",
    "slot 1": slot(0),
    "slot 2": slot(1),
    "slot 3": slot(2),
    "perfect": lambda asked: asked.truth,
    "always UNSURE": lambda asked: "UNSURE",
    "needs the lesion": without_lesion,
}
# in the order of READERS; None where theory says that there is none; … where chance has a part
THEORY = {
    ("accuracy", "base"): (0.5, 0.5, 0.5, 0, 1, 0, 1),
    ("accuracy_difference", "reverse"): (0, 0, 0, 0, 0, 0, 0),
    ("accuracy_swing", None): (0, 0, 0, 0, 0, 0, 0),
    ("cochran_q", None): (NONE, ..., ..., ..., NONE, NONE, NONE),
    ("flip_rate", "reverse"): (0, 0, 0, 0, 0, 0, 0),
    ("flip_difference", "reverse"): (0, 0, 0, 0, 0, 0, 0),
    ("kappa", "reverse"): (NONE, NONE, NONE, NONE, 1, NONE, 1),
    ("kappa", "label_swap"): (NONE, 0, 0, NONE, 1, NONE, 1),
    ("kappa", "lesion_removed"): (NONE, NONE, NONE, NONE, 1, NONE, 0),
    ("any_flip", None): (0, 0, 0, 0, 0, 0, 0),
    ("pairwise_disagreement", None): (0, 0, 0, 0, 0, 0, 0),
    ("reacc", None): (0.5, 0, 0, 0, 1, 0, 1),
    ("recon", None): (1, 0, 0, 0, 1, 1, 1),
    ("label_swap_inconsistency", "label_swap"): (0, 1, 1, 0, 0, 0, 0),
    ("slot_following", "label_swap"): (0, 1, 1, NONE, 0, NONE, 0),
    ("first_slot", "label_swap"): (NONE, 1, 0, NONE, NONE, NONE, NONE),
    ("rstd", "label_swap"): (0, 0.5, 0.5, 0, 0, 0, 0),
    ("overcommitment", "base"): (1, 1, 1, 0, 1, 0, 1),
    ("overcommitment", "abstain_first"): (1, 0, 1, 1, 1, 0, 1),
    ("overcommitment", "lesion_removed"): (1, 1, 1, 0, 1, 0, 0),
    ("overcommitment_difference", "matched_removed"): (0, 0, 0, 0, 0, 0, 1),
    ("dose_response", "remove_fraction", 0.0): (1, 1, 1, 0, 1, 0, 1),
    ("dose_response", "remove_fraction", 0.5): (1, 1, 1, 0, 1, 0, 1),
    ("dose_response", "remove_fraction", 1.0): (1, 1, 1, 0, 1, 0, 0),
    ("dose_flips", "remove_fraction", 1.0): (0, 0, 0, 0, 0, 0, 1),
    ("position_accuracy", "roi_at"): (0.5, 0.5, 0.5, 0, 1, 0, 1),
    ("position_flips", "roi_at"): (0, 0, 0, 0, 0, 0, 0),
    ("scaffold_share", "mention_only"): (NONE, NONE, NONE, NONE, NONE, NONE, 0),
    ("quadrant", "no_image", "ideal"): (0, 0, 0, 0, 0, 0, 1),
    ("quadrant", "no_image", "fragile"): (0, 0, 0, 0, 0, 0, 0),
    ("quadrant", "no_image", "dangerous"): (1, 0, 0, 0, 1, 1, 0),
    ("quadrant", "no_image", "worst"): (0, 1, 1, 1, 0, 0, 0),
    ("unmoved_given_steady", "no_image"): (1, NONE, NONE, NONE, 1, 1, 0),
    ("unmoved_given_unsteady", "no_image"): (NONE, 1, 1, 1, NONE, NONE, NONE),
    ("d_same", "base"): (0, 0, 0, 0, 0, 0, 0),
    ("d_cross", "reverse"): (0, 0, 0, 0, 0, 0, 0),
    ("delta", "reverse"): (0, 0, 0, 0, 0, 0, 0),
    ("coverage", "base"): (1, 1, 1, 0, 1, 0, 1),
    ("selective_accuracy", "base"): (0.5, 0.5, 0.5, NONE, 1, NONE, 1),
    # always 90 % sure: one working point, so that AURC = e and AUGRC = e / 2
    ("ece", "base"): (0.4, 0.4, 0.4, NONE, 0.1, NONE, 0.1),
    ("brier", "base"): (0.41, 0.41, 0.41, NONE, 0.01, NONE, 0.01),
    ("reliability", "base"): (0.5, 0.5, 0.5, NONE, 1, NONE, 1),
    ("aurc", "base"): (0.5, 0.5, 0.5, NONE, 0, NONE, 0),
    ("augrc", "base"): (0.25, 0.25, 0.25, NONE, 0, NONE, 0),
    ("risk_at_coverage", "base", 0.5): (0.5, 0.5, 0.5, NONE, 0, NONE, 0),
    ("coverage_at_risk", "base", 0.2): (0, 0, 0, NONE, 1, NONE, 1),
    ("effective_reliability", "base", 1.0): (..., ..., ..., NONE, 1, NONE, 1),
    ("effective_reliability", "base", 10.0): (0, 0, 0, NONE, 1, NONE, 1),
    # the prior of who follows a slot is that slot; content shows in every slot as often
    ("slot_prior", "label_cycle", 1.0): (1 / 3, 0.9, 0.05, 0.05, 1 / 3, 1 / 3, 1 / 3),
    ("slot_prior", "label_cycle", 3.0): (1 / 3, 0.05, 0.05, 0.9, 1 / 3, 1 / 3, 1 / 3),
    ("observed_accuracy", "label_cycle"): (..., ..., ..., 0, 1, 0, 1),
    ("debiased_accuracy", "label_cycle"): (..., ..., ..., ..., 1, 0, 1),
    ("debiased_difference", "label_cycle"): (0, 0, ..., ..., 0, 0, 0),
    ("readout_agreement", "base"): (1, 1, 1, 1, 1, 1, 1),
}  # fmt: skip


ASIDE = {
    (metric, denominator)
    for metric in ("flip_rate", "label_swap_inconsistency")
    for denominator in ("both_answer_set", "both_categorical", "base_correct")
}
"""Denominators that the tests above are about."""


@pytest.mark.parametrize("name", READERS)
def test_every_metric_of_a_known_reader_is_what_theory_says(made, name):
    reader, place = READERS[name], list(READERS).index(name)
    study = made(
        patients=20,
        per_patient=1,
        levels={"fractions": (0.5, 1.0)},
        logprobs=surely(reader),
        extra_draws={"reverse": 1},
    )
    found = study.estimates({"m": reader}, ("text", "logprob"), statistics={"strata": []})
    of_pride = {"slot_prior", "observed_accuracy", "debiased_accuracy", "debiased_difference"}
    for (metric, arm, *rest), theory in THEORY.items():
        rows = found.all(metric=metric, arm=arm, readout="logprob" if metric in of_pride else "text")
        if rest:
            which = "variant" if isinstance(rest[0], str) else "parameter"
            rows = [row for row in rows if row[which] == rest[0]]
        values = [
            row["value"] for row in rows if row["value"] is not None and (metric, row["denominator"]) not in ASIDE
        ]
        expected = theory[place]
        if expected is NONE:
            assert not values, (metric, arm)
        elif expected is not ...:
            assert values == pytest.approx([expected]), (metric, arm)
    assert {key[0] for key in THEORY} | {"flip_direction", "status_share"} == {metric.value for metric in Metric}


@pytest.mark.parametrize(
    ("sides", "labels"), [("labels", ("GBM", "MET")), ("options", ("GBM", "MET")), ("labels", ("A1", "B1", "C1"))]
)
def test_every_metric_of_a_coin_is_what_chance_says(made, sides, labels):
    faces = len(labels) + (sides == "options")
    arms = ("base", "repeat", "reverse", "shuffle", "roi_first", "roi_last", "label_swap", "lesion_removed", "no_image")
    study = made(patients=120, per_patient=1, labels=labels, arms=arms)
    found = study.estimates({"coin": coin(sides)}, statistics={"confidence": 0.999, "strata": []})
    same = 1 / faces
    presentations = 5 + (len(labels) - 1)  # base, four slice orders, the shifts of the labels
    theory = {
        ("accuracy", "base"): same,
        ("flip_rate", "reverse"): 1 - same,
        ("kappa", "reverse"): 0,
        ("any_flip", None): 1 - same**4,
        ("pairwise_disagreement", None): 1 - same,
        ("recon", None): same ** (presentations - 1),
        ("reacc", None): same**presentations,
        ("label_swap_inconsistency", "label_swap"): 1 - same,
        ("slot_following", "label_swap"): 1 / len(labels),
        ("overcommitment", "lesion_removed"): len(labels) / faces,
        ("overcommitment_difference", "base"): 0,
        ("unmoved_given_unsteady", "no_image"): same,
        ("d_same", "base"): 1 - same,
        ("coverage", "base"): len(labels) / faces,
        ("selective_accuracy", "base"): 1 / len(labels),
    }
    if len(labels) == 2:
        theory["first_slot", "label_swap"] = 1 / 2
    for (metric, arm), value in theory.items():
        rows = found.all(metric=metric, arm=arm)
        row = next(row for row in rows if row["denominator"] != "both_answer_set")
        if row["low"] is None:  # sides of which a share is never another: no event
            assert row["value"] == pytest.approx(value), metric
        else:
            assert row["low"] - 1e-9 <= value <= row["high"] + 1e-9, (metric, arm)
    # under the null, tests are not surprised
    assert all(row["p"] > 0.001 for row in found.rows if row["p"] is not None)
