"""Each metric against an example worked out by hand."""

from __future__ import annotations

import pytest

from steadyread.contracts.enums import Metric
from steadyread.contracts.tables import OUTCOMES, TRIALS
from steadyread.statistics.estimate import estimate_rows
from steadyread.statistics.metrics import METRICS


def scripted(script):
    """A reader that answers arm by arm from a list over cases (in order of case)."""

    def answer(asked):
        number = int(asked.case[1:4])
        answers = script.get(asked.arm, script["base"])[number]
        return answers if isinstance(answers, str) else answers[asked.draw % 10]

    return answer


G, M, U, X, R, E = "GBM", "MET", "UNSURE", "UNPARSED", "REFUSED", "ERROR"
# truth by patient:  G  M  G  M  G  M  G  M
BASE = [G, M, M, G, U, X, G, R]
REVERSE = [G, G, G, U, M, X, X, U]


@pytest.fixture
def small(made):
    return made(patients=8, per_patient=1, arms=("base", "repeat", "reverse"))


@pytest.fixture
def found(small):
    return small.estimates({"m": scripted({"base": BASE, "reverse": REVERSE})})


def test_every_metric_of_the_word_list_has_an_entry_in_the_register():
    assert set(METRICS) == set(Metric)


@pytest.mark.parametrize(
    ("denominator", "flips", "n"),
    [
        ("all", 6, 8),  # 1 M→G, 2 M→G, 3 G→U, 4 U→M, 6 G→X, 7 R→U
        ("both_answer_set", 4, 5),  # pairs 0–4
        ("both_categorical", 2, 3),  # pairs 0–2
        ("base_correct", 2, 3),  # base is right on 0, 1, 6
    ],
)
def test_flip_rate_counts_pairs_as_its_denominator_says(found, denominator, flips, n):
    row = found.one(metric="flip_rate", arm="reverse", denominator=denominator)
    assert (row["value"], row["n"], row["clusters"]) == (pytest.approx(flips / n), n, n)
    assert (row["reference_arm"], row["arms"]) == ("base", ["base", "reverse"])


@pytest.mark.parametrize(
    ("direction", "count"),
    [
        ("label_to_other_label", 2),
        ("label_to_unsure", 1),
        ("unsure_to_label", 1),
        ("to_no_answer", 1),
        ("from_no_answer", 1),
        ("between_no_answers", 0),
        ("right_to_other_label", 1),
        ("right_to_unsure", 0),
        ("right_to_no_answer", 1),
        ("wrong_to_right", 1),
        ("wrong_to_other_label", 0),
    ],
)
def test_directions_are_shares_of_all_pairs(found, direction, count):
    assert found.one(metric="flip_direction", variant=direction)["value"] == count / 8


def test_directions_add_up_to_the_flip_rate_and_to_the_negative_flips(found):
    cells = found.all(metric="flip_direction", denominator="all")
    assert sum(row["value"] for row in cells) == found.one(metric="flip_rate", denominator="all")["value"]
    negative = sum(
        row["value"] * row["n"] for row in found.all(metric="flip_direction") if "right_to" in row["variant"]
    )
    row = found.one(metric="flip_rate", denominator="base_correct")
    assert negative == pytest.approx(row["value"] * row["n"])


def test_repeat_belongs_to_the_floor_and_has_no_flip_rate(found):
    assert not found.all(metric="flip_rate", arm="repeat")
    assert {row["arm"] for row in found.rows} == {"base", "reverse", None}


def test_accuracy_counts_everything_but_the_right_label_as_not_right(found):
    assert found.one(metric="accuracy", arm="base")["value"] == 3 / 8
    assert found.one(metric="accuracy", arm="reverse")["value"] == 2 / 8
    change = found.one(metric="accuracy_difference", arm="reverse")
    assert change["value"] == -1 / 8
    assert change["test"] == "exact McNemar"
    assert change["p"] == 1.0  # discordant 1 against 2
    assert change["estimate_status"] == "too_few_events"
    assert (change["low"], change["high"], change["interval_method"]) == (None, None, None)
    assert change["reason"] == "paired outcomes differ in 3 of 8 patients, 5 are needed"


@pytest.mark.parametrize(("changed", "status"), [(4, "too_few_events"), (5, "ok")])
def test_a_difference_needs_five_patients_whose_paired_outcomes_differ(made, changed, status):
    def reader(asked):
        return asked.truth if asked.arm == "base" or int(asked.case[1:4]) >= changed else "UNSURE"

    row = made(patients=20, arms=("base", "reverse")).estimates({"m": reader}).one(metric="accuracy_difference")
    assert row["estimate_status"] == status
    assert (row["low"] is None) == (status != "ok")
    assert row["value"] == -changed / 20
    assert row["mde"] > 0


def test_outcomes_of_a_patient_differ_even_where_they_cancel(made):
    def reader(asked):
        first = asked.case.endswith("s0")
        return asked.truth if first == (asked.arm == "base") else "UNSURE"

    row = made(patients=6, arms=("base", "reverse")).estimates({"m": reader}).one(metric="accuracy_difference")
    # they are enough events, but no patient's sum ever moves
    assert (row["value"], row["estimate_status"], row["p"]) == (0.0, "too_few_events", 1.0)
    assert row["reason"].startswith("no resample moved it")


def test_shares_of_statuses_are_over_all_responses(found):
    shares = {row["variant"]: row["value"] for row in found.all(metric="status_share", arm="base")}
    assert shares == {"UNSURE": 1 / 8, "REFUSED": 1 / 8, "UNPARSED": 1 / 8, "TRUNCATED": 0.0}


def test_unknown_labels_leave_accuracy_undefined_with_a_reason_and_stability_as_it_was(made, found):
    blind = made(patients=8, per_patient=1, arms=("base", "repeat", "reverse"), known=False)
    rows = blind.estimates({"m": scripted({"base": BASE, "reverse": REVERSE})})
    for metric in ("accuracy", "accuracy_difference"):
        row = rows.all(metric=metric)[0]
        assert (row["value"], row["estimate_status"], row["n"]) == (None, "undefined", 0)
        assert "no case with a known label" in row["reason"]
    wanted = {"metric": "flip_rate", "denominator": "all"}
    assert rows.one(**wanted) == found.one(**wanted)


def test_slot_following_is_over_pairs_with_a_label_in_both(made):
    study = made(patients=4, per_patient=1, arms=("base", "label_swap"))
    # slots: base shows G M U, the swap M G U
    script = {"base": [G, G, M, U], "label_swap": [G, M, G, M]}
    found = study.estimates({"m": scripted(script)})
    row = found.one(metric="slot_following")
    assert (row["value"], row["n"]) == (pytest.approx(2 / 3), 3)
    assert found.one(metric="label_swap_inconsistency", denominator="all")["value"] == 3 / 4


def test_an_answer_that_named_no_slot_stands_where_its_label_stood(made):
    study = made(patients=4, per_patient=1, arms=("base", "label_swap"))
    script = {"base": [G, G, M, U], "label_swap": [G, M, G, M]}
    rows = [{**row, "slot": None} for row in study.outcome_rows({"m": scripted(script)})]
    tables = TRIALS.from_rows(study.trial_rows()), study.case_table(), OUTCOMES.from_rows(rows)
    (row,) = [row for row in estimate_rows(*tables, study.settings(["m"]), "x") if row["metric"] == "slot_following"]
    assert (row["value"], row["n"]) == (pytest.approx(2 / 3), 3)


def test_label_swap_of_three_labels_is_the_mean_over_its_shifts(made):
    study = made(patients=6, per_patient=1, labels=("A1", "B1", "C1"), arms=("base", "label_swap"))

    def reader(asked):
        return "B1" if asked.variant == "shift2" and asked.case < "p003" else "A1"

    row = study.estimates({"m": reader}).one(metric="label_swap_inconsistency", denominator="all")
    assert (row["value"], row["n"]) == (3 * 0.5 / 6, 6)


def test_overcommitment_differences_are_over_cases_that_have_both(made):
    study = made(patients=6, per_patient=1, arms=("base", "lesion_removed", "matched_removed"))
    script = {
        "base": [G, G, G, G, G, U],
        "lesion_removed": [U, U, U, U, U, G],
        "matched_removed": [G, G, G, G, U, E],
    }
    found = study.estimates({"m": scripted(script)})
    headline = found.one(metric="overcommitment_difference", arm="matched_removed")
    assert (headline["value"], headline["n"], headline["n_error"]) == (4 / 5, 5, 1)
    # the lost answer could have been a label (1 − 1) or not (0 − 1)
    assert (headline["bound_low"], headline["bound_high"]) == (pytest.approx(3 / 6), pytest.approx(4 / 6))
    assert found.one(metric="overcommitment_difference", arm="base")["value"] == pytest.approx((5 - 1) / 6)
    assert found.one(metric="overcommitment", arm="matched_removed")["value"] == 4 / 5


def test_the_floor_counts_unordered_pairs_and_the_cross_term_all_pairs(made):
    study = made(patients=2, per_patient=1, arms=("base", "reverse"), extra_draws={"base": 2, "reverse": 1})
    script = {"base": [(G, G, M), (G, G, G)], "reverse": [(M, M), (G, U)]}
    found = study.estimates({"m": scripted(script)})
    same_base, same_arm = found.one(metric="d_same", arm="base"), found.one(metric="d_same", arm="reverse")
    cross = found.one(metric="d_cross", arm="reverse")
    assert same_base["value"] == pytest.approx((2 / 3 + 0) / 2)
    assert same_arm["value"] == pytest.approx((0 + 1) / 2)
    assert cross["value"] == pytest.approx((4 / 6 + 3 / 6) / 2)
    effect = found.one(metric="delta", arm="reverse")
    assert effect["value"] == pytest.approx(cross["value"] - (same_base["value"] + same_arm["value"]) / 2)


def test_repeat_is_the_second_draw_of_base(small):
    def restless(asked):
        return M if asked.arm == "repeat" and asked.case == "p000-s0" else G

    found = small.estimates({"m": restless})
    assert found.one(metric="d_same", arm="base")["value"] == 1 / 8
    assert found.one(metric="flip_rate", arm="reverse", denominator="all")["value"] == 0.0


def test_delta_is_undefined_where_an_arm_was_never_asked_twice(found):
    row = found.one(metric="delta", arm="reverse")
    assert (row["value"], row["estimate_status"]) == (None, "undefined")
    assert "asked twice" in row["reason"]


def test_readouts_agree_as_often_as_their_decisions_are_the_same(small):
    rows = small.outcome_rows({"m": scripted({"base": BASE, "reverse": REVERSE})}, ("text", "logprob"))
    for row in rows:
        if row["readout"] == "logprob" and row["label"] is None:
            row.update(outcome_status="ANSWERED", label=G, slot=0)  # log-probabilities always decide
    tables = TRIALS.from_rows(small.trial_rows()), small.case_table(), OUTCOMES.from_rows(rows)
    found = [row for row in estimate_rows(*tables, small.settings(["m"]), "x") if row["metric"] == "readout_agreement"]
    assert {(row["arm"], row["value"], row["readout"]) for row in found} == {
        ("base", 6 / 8, "text"),
        ("reverse", 6 / 8, "text"),
    }


def test_only_what_the_paper_published_is_marked_as_the_papers(made):
    found = made(patients=2).estimates({"m": lambda asked: G})
    marked = {(row["metric"], row["arm"], row["denominator"]) for row in found.all(mark="P")}
    assert marked == {
        ("flip_rate", "reverse", "all"),
        ("flip_rate", "label_swap", "all"),
        ("label_swap_inconsistency", "label_swap", "all"),
        ("overcommitment", "lesion_removed", "all"),
    }


def test_reverse_minus_shuffle_is_paired_with_the_mean_over_the_shuffles(made, scripted):
    study = made(patients=4, per_patient=1, arms=("base", "reverse", "shuffle"), levels={"shuffles": 2})
    script = {
        "base": [G, G, G, G],
        "reverse": [M, U, G, G],
        "shuffle 1": [M, G, G, G],
        "shuffle 2": [U, G, M, G],
    }
    found = study.estimates({"m": scripted(script)})
    assert found.one(metric="flip_rate", arm="shuffle", denominator="all")["value"] == (1 + 0 + 0.5 + 0) / 4
    row = found.one(metric="flip_difference")
    assert (row["value"], row["n"], row["reference_arm"]) == ((0 + 1 - 0.5 + 0) / 4, 4, "shuffle")
    # signs of 1 and −½: sums of ±½ and ±1½, none less than the ½ seen
    assert (row["p"], row["p_holm"], row["test"]) == (1.0, 1.0, "patient sign flip, exact")
    assert row["family"] == "flips_reverse_shuffle"


def test_an_order_that_flips_as_shuffles_do_makes_no_difference_and_one_that_flips_more_does(made):
    study = made(patients=20, per_patient=1, arms=("base", "reverse", "shuffle"), levels={"shuffles": 5})
    any_order = study.estimates({"m": lambda asked: G if asked.arm == "base" else M}).one(metric="flip_difference")
    assert (any_order["value"], any_order["p"], any_order["estimate_status"]) == (0.0, 1.0, "too_few_events")
    only_reverse = study.estimates({"m": lambda asked: M if asked.arm == "reverse" else G}).one(
        metric="flip_difference"
    )
    assert only_reverse["value"] == 1.0
    assert only_reverse["p"] < 0.001
