"""The slot, not the content: first-slot preference, recall by slot, and what PriDe takes out."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binomtest

from steadyread.identity.seeds import uniform

G, M, U, X, E = "GBM", "MET", "UNSURE", "UNPARSED", "ERROR"
SWAP, CYCLE = ("base", "label_swap"), ("base", "label_cycle")
TELLING = {"statistics": {"permutations": 999, "strata": []}}


def slot(number):
    return lambda asked: asked.options[number]


# --- first slot --------------------------------------------------------------------------------


def test_first_slot_counts_first_first_against_second_second_and_is_tested_by_the_binomial(made, scripted):
    study = made(patients=12, per_patient=1, arms=SWAP)
    # base shows G M U, the swap M G U: G then M is the first slot twice, M then G the second twice
    script = {
        "base": [G, G, G, G, G, G, M, G, M, U, G, X],
        "label_swap": [M, M, M, M, M, M, G, G, M, G, U, M],
    }
    row = study.estimates({"m": scripted(script)}).one(metric="first_slot")
    assert (row["value"], row["n"], row["denominator"]) == (pytest.approx(6 / 7), 7, "slot_followed")
    assert row["p"] == pytest.approx(binomtest(6, 7, 0.5).pvalue)
    assert (row["test"], row["family"]) == ("exact binomial", None)


def test_first_slot_is_exact_however_many_patients_there_are(made):
    def reader(asked):
        return asked.options[0 if int(asked.case[1:4]) < 26 else 1]

    row = made(patients=40, per_patient=1, arms=SWAP).estimates({"m": reader}).one(metric="first_slot")
    assert (row["value"], row["p"]) == (26 / 40, pytest.approx(binomtest(26, 40, 0.5).pvalue))


def test_first_slot_of_patients_with_two_cases_flips_the_patient_not_the_case(made):
    def reader(asked):
        return asked.options[0 if int(asked.case[1:4]) < 5 else 1]

    row = made(patients=6, arms=SWAP).estimates({"m": reader}).one(metric="first_slot")
    # patients' sums of (share − ½): five of +1, one of −1; |sum| ≥ 4 in 2 · (1 + 6) of 64 patterns
    assert (row["n"], row["clusters"], row["value"]) == (12, 6, pytest.approx(10 / 12))
    assert (row["p"], row["test"]) == (pytest.approx(14 / 64), "patient sign flip, exact")


def test_a_reader_without_slot_habits_leaves_the_first_slot_undefined(made):
    row = made(arms=SWAP).estimates({"m": lambda asked: asked.truth}).one(metric="first_slot")
    assert (row["value"], row["n"], row["p"], row["estimate_status"]) == (None, 0, None, "undefined")
    assert "stayed in the first or second slot" in row["reason"]


def test_more_than_two_labels_have_no_first_slot_test(made):
    found = made(patients=6, labels=("A1", "B1", "C1"), arms=SWAP).estimates({"m": slot(0)})
    assert not found.all(metric="first_slot")


# --- recall by slot ----------------------------------------------------------------------------


def test_rstd_by_hand_pools_both_orders(made, scripted):
    study = made(patients=6, per_patient=1, arms=SWAP)
    # truth:                 G  M  G  M  G  M
    script = {"base": [G, G, G, M, M, U], "label_swap": [G, M, M, M, G, X]}
    row = study.estimates({"m": scripted(script)}).one(metric="rstd")
    # truth in the first slot: G on base (0 right, 2 right, 4 wrong), M swapped (1, 3 right, 5 not): 4 of 6
    # in the second: M on base (1 wrong, 3 right, 5 not), G swapped (0 right, 2 wrong, 4 right): 3 of 6
    assert row["value"] == pytest.approx(np.std([4 / 6, 3 / 6]))
    assert (row["n"], row["arms"]) == (6, ["base", "label_swap"])


def test_rstd_of_three_labels_is_numpys_population_deviation_of_three_recalls(made):
    study = made(patients=30, per_patient=1, labels=("A1", "B1", "C1"), arms=SWAP)

    def reader(asked):
        place = asked.options.index(asked.truth)
        right = uniform("rstd", asked.trial_id) < (0.9, 0.6, 0.2)[place]
        return asked.truth if right else U

    hits, held = np.zeros(3), np.zeros(3)
    options = {row["trial_id"]: row["options"] for row in study.trial_rows()}
    truth = {row["trial_id"]: study.truth(int(row["case_id"][1:4])) for row in study.trial_rows()}
    for row in study.outcome_rows({"m": reader}):
        place = options[row["trial_id"]].index(truth[row["trial_id"]])
        held[place] += 1
        hits[place] += row["label"] == truth[row["trial_id"]]
    assert study.estimates({"m": reader}).one(metric="rstd")["value"] == pytest.approx(np.std(hits / held, ddof=0))


@pytest.mark.parametrize(("reader", "value"), [(slot(0), 0.5), (slot(1), 0.5), (slot(2), 0.0), (lambda a: "GBM", 0.0)])
def test_recall_differs_between_slots_for_those_who_follow_them_alone(made, reader, value):
    row = made(arms=SWAP).estimates({"m": reader}).one(metric="rstd")
    assert row["value"] == value
    # no interval where no patient's outcome differs between the slots, or every patient's does alike
    assert (row["estimate_status"], row["low"], row["high"]) == ("too_few_events", None, None)


# --- PriDe -------------------------------------------------------------------------------------


def contents(asked):
    """A reader whose content is right: three to one for the truth."""
    return {G: 0.1, M: 0.1, U: 0.1} | {asked.truth: 0.3}


@pytest.fixture
def biased(made, log_probabilities):
    """A study whose reader's probabilities are what an option says times where it stands."""

    def study(slots, content=contents, **options):
        return made(
            **{"patients": 24, "per_patient": 1, "arms": CYCLE, **options},
            logprobs=lambda asked: log_probabilities(content(asked), slots, asked.options),
        )

    return study


def pride(study, reader=lambda asked: asked.options[0], readouts=("logprob",), **changes):
    found = study.estimates({"m": reader}, readouts, **TELLING, **changes)
    return found, [row["value"] for row in found.all(metric="slot_prior")]


def telling(patients, count=5):
    return set(sorted(range(patients), key=lambda n: uniform(7, "pride", f"p{n:03d}"))[:count])


def test_the_prior_of_a_reader_of_content_and_slot_is_its_slot_part_and_its_content_is_left(biased):
    found, prior = pride(biased((0.7, 0.2, 0.1)))
    assert prior == pytest.approx([0.7, 0.2, 0.1])
    assert {(row["n"], row["clusters"]) for row in found.all(metric="slot_prior")} == {(5, 5)}
    # base shows G M U: content .3 : .1 never beats slots .7 : .2, so that all are read as G
    held_out = set(range(24)) - telling(24)
    right = sum(number % 2 == 0 for number in held_out) / 19
    observed, debiased = found.one(metric="observed_accuracy"), found.one(metric="debiased_accuracy")
    assert (observed["value"], observed["n"]) == (pytest.approx(right), 19)
    assert (debiased["value"], debiased["n"]) == (1.0, 19)
    assert found.one(metric="debiased_difference")["value"] == pytest.approx(1 - right)


def test_the_prior_is_the_mean_of_the_patients_softmaxes_of_mean_log_probabilities(biased, made):
    def noisy(asked):
        return [math.log(0.05 + uniform("noise", asked.trial_id, place)) for place in range(3)]

    study = made(patients=24, arms=CYCLE, logprobs=noisy)
    logs = {}
    for row in study.outcome_rows({"m": slot(0)}):
        logs.setdefault(next(t["case_id"] for t in study.trial_rows() if t["trial_id"] == row["trial_id"]), []).append(
            row["option_logprobs"]
        )
    chosen = [case for case in logs if int(case[1:4]) in telling(24)]
    means = np.array([np.mean(logs[case], axis=0) for case in chosen])
    priors = np.exp(means) / np.exp(means).sum(axis=1, keepdims=True)
    found, prior = pride(study)
    assert prior == pytest.approx(priors.mean(axis=0))
    assert sum(prior) == pytest.approx(1)
    assert [row["parameter"] for row in found.all(metric="slot_prior")] == [1, 2, 3]
    assert {row["n"] for row in found.all(metric="slot_prior")} == {10}


def test_the_prior_is_theirs_who_tell_it_alone(made, log_probabilities):
    # who tells it follows slots, the others do not: their UNSURE and M gain by what was not their habit
    def logprobs(asked):
        slots = (0.7, 0.2, 0.1) if int(asked.case[1:4]) in telling(24) else (1.0, 1.0, 1.0)
        return log_probabilities(contents(asked), slots, asked.options)

    found, prior = pride(made(patients=24, per_patient=1, arms=CYCLE, logprobs=logprobs))
    assert prior == pytest.approx([0.7, 0.2, 0.1])
    assert found.one(metric="observed_accuracy")["value"] == 1.0
    # truth G: .3/.7, .1/.2, .1/.1 is read as UNSURE; truth M: .1/.7, .3/.2, .1/.1 as M
    share_of_m = sum(number % 2 for number in set(range(24)) - telling(24)) / 19
    assert found.one(metric="debiased_accuracy")["value"] == pytest.approx(share_of_m)


def test_a_reader_without_a_slot_bias_has_an_even_prior_and_nothing_changes(biased):
    found, prior = pride(biased((1.0, 1.0, 1.0)))
    assert prior == pytest.approx([1 / 3] * 3)
    assert found.one(metric="observed_accuracy")["value"] == found.one(metric="debiased_accuracy")["value"] == 1.0
    row = found.one(metric="debiased_difference")
    assert (row["value"], row["estimate_status"]) == (0.0, "too_few_events")


@pytest.mark.parametrize("labels", [("GBM", "MET"), ("MET", "GBM")])
def test_a_pure_slot_follower_is_left_without_a_preference_and_decided_by_content(biased, labels):
    # equal without its prior: the label first in sorted order, as everywhere, wherever that stands
    study = biased((0.6, 0.3, 0.1), content=lambda asked: {G: 1.0, M: 1.0, U: 1.0}, labels=labels)
    found, prior = pride(study)
    assert prior == pytest.approx([0.6, 0.3, 0.1])
    says_g = sum(labels[number % 2] == G for number in set(range(24)) - telling(24)) / 19
    says_first = sum(labels[number % 2] == labels[0] for number in set(range(24)) - telling(24)) / 19
    assert found.one(metric="observed_accuracy")["value"] == pytest.approx(says_first)
    assert found.one(metric="debiased_accuracy")["value"] == pytest.approx(says_g)


def test_pride_of_three_labels_has_a_prior_of_four_slots(biased):
    def content(asked):
        return {"A1": 0.1, "B1": 0.1, "C1": 0.1, U: 0.1} | {asked.truth: 0.3}

    found, prior = pride(biased((0.5, 0.25, 0.15, 0.1), content=content, labels=("A1", "B1", "C1")))
    assert prior == pytest.approx([0.5, 0.25, 0.15, 0.1])
    assert found.one(metric="debiased_accuracy")["value"] == 1.0


def test_pride_without_unsure_cycles_the_labels_alone(biased):
    found, prior = pride(biased((0.8, 0.2), unsure=False))
    assert prior == pytest.approx([0.8, 0.2])
    assert found.one(metric="debiased_accuracy")["value"] == 1.0


@pytest.mark.parametrize(("patients", "count"), [(19, 0), (20, 5), (100, 5), (101, 6), (140, 7)])
def test_five_patients_or_five_percent_tell_the_prior_and_under_twenty_none(biased, patients, count):
    found, prior = pride(biased((0.7, 0.2, 0.1), patients=patients))
    rows = found.all(metric="slot_prior")
    assert {row["n"] for row in rows} == {count}
    assert found.one(metric="debiased_accuracy")["n"] == (patients - count if count else 0)
    if not count:
        assert (prior, rows[0]["estimate_status"]) == ([None], "undefined")
        assert "fewer than 20 patients" in rows[0]["reason"]


def test_patients_without_the_cycle_neither_tell_nor_are_counted_towards_twenty(biased):
    few = biased((0.7, 0.2, 0.1), left_out=lambda case, arm: arm == "label_cycle" and case >= "p019")
    assert pride(few)[1] == [None]
    enough = biased((0.7, 0.2, 0.1), left_out=lambda case, arm: arm == "label_cycle" and case >= "p020")
    found, prior = pride(enough)
    assert prior == pytest.approx([0.7, 0.2, 0.1])
    assert found.one(metric="observed_accuracy")["n"] == 15


def test_pride_is_a_matter_of_log_probabilities(biased, made):
    found, _ = pride(biased((0.7, 0.2, 0.1)), readouts=("text", "logprob"))
    assert {row["readout"] for row in found.all(metric="slot_prior")} == {"logprob"}
    silent = made(patients=24, per_patient=1, arms=CYCLE).estimates({"m": slot(0)}, ("logprob",))
    row = silent.one(metric="debiased_accuracy")
    assert (row["value"], row["estimate_status"]) == (None, "undefined")
    assert "log-probabilities" in row["reason"]


def test_an_answer_lost_by_who_is_held_out_leaves_the_prior_and_widens_the_accuracies(biased):
    held_out = min(set(range(24)) - telling(24))
    study = biased((0.7, 0.2, 0.1))
    found, prior = pride(study, lambda asked: E if asked.case == f"p{held_out:03d}-s0" else G)
    assert prior == pytest.approx([0.7, 0.2, 0.1])
    assert {row["n_error"] for row in found.all(metric="slot_prior")} == {0}
    row = found.one(metric="debiased_accuracy")
    assert (row["value"], row["n"], row["n_error"], row["estimate_status"]) == (1.0, 18, 1, "incomplete")
    assert (row["bound_low"], row["bound_high"]) == (pytest.approx(18 / 19), 1.0)


def test_an_answer_lost_by_who_tells_the_prior_moves_nobody_into_its_place(biased):
    study, lost = biased((0.7, 0.2, 0.1)), min(telling(24))
    whole, _ = pride(study)
    found, _ = pride(study, lambda asked: E if asked.case == f"p{lost:03d}-s0" and asked.arm != "base" else G)
    rows = found.all(metric="slot_prior")
    assert {(row["n"], row["n_error"], row["estimate_status"]) for row in rows} == {(4, 1, "incomplete")}
    assert (rows[0]["bound_low"], rows[0]["bound_high"]) == (pytest.approx(4 * 0.7 / 5), pytest.approx(3.8 / 5))
    # observed decisions stay as they are; debiased ones could have been anything
    assert found.one(metric="observed_accuracy") == whole.one(metric="observed_accuracy")
    row = found.one(metric="debiased_accuracy")
    assert (row["n"], row["n_error"], row["bound_low"], row["bound_high"]) == (19, 1, 0.0, 1.0)
    assert found.one(metric="debiased_difference")["estimate_status"] == "incomplete"


def test_where_all_who_would_tell_the_prior_lost_their_answers_it_says_so(biased):
    lost = {f"p{number:03d}-s0" for number in telling(24)}
    found, _ = pride(biased((0.7, 0.2, 0.1)), lambda asked: E if asked.case in lost else G)
    for metric in ("slot_prior", "debiased_accuracy"):
        row = found.one(metric=metric)
        assert (row["value"], row["n"], row["n_error"]) == (None, 0, 5)
        assert "5 cases with an ERROR" in row["reason"]
