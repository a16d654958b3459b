"""Knowing when: calibration, risk and coverage, and what answering earns, by hand and by scikit-learn."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.calibration import calibration_curve
from sklearn.metrics import auc, brier_score_loss

from steadyread.identity.seeds import uniform

G, M, U, X, E = "GBM", "MET", "UNSURE", "UNPARSED", "ERROR"


def surely(reader, confidence):
    """Log-probabilities that give the answer so much confidence, and the other options the rest."""

    def logs(asked):
        answer, sure = reader(asked), confidence(asked)
        rest = (1 - sure) / (len(asked.options) - 1)
        return [math.log(sure if option == answer else rest) for option in asked.options]

    return logs


def of_lists(answers, confidences):
    """A reader and its confidence from lists over patients."""
    return (lambda asked: answers[int(asked.case[1:4])]), (lambda asked: confidences[int(asked.case[1:4])])


@pytest.fixture
def read(made):
    """Estimates of base for a reader and its confidence from lists over patients of one case."""

    def estimates(answers, confidences, **options):
        reader, sure = of_lists(answers, confidences)
        study = made(
            **{"patients": len(answers), "per_patient": 1, "arms": ("base",), **options},
            logprobs=surely(reader, sure),
        )
        return study.estimates({"m": reader}, statistics={"strata": []})

    return estimates


# truth:        G     M     G     M     G     M     G     M
ANSWERS = [G, G, G, M, M, U, X, M]  # right: 0, 2, 3, 7; wrong: 1, 4; no label: 5, 6
SURE = [0.95, 0.95, 0.85, 0.75, 0.65, 0.9, 0.9, 0.55]


@pytest.fixture
def found(read):
    return read(ANSWERS, SURE)


def test_verbal_unsure_is_one_operating_point(found):
    coverage, accuracy = found.one(metric="coverage"), found.one(metric="selective_accuracy")
    assert (coverage["value"], coverage["n"]) == (6 / 8, 8)
    assert (accuracy["value"], accuracy["n"], accuracy["denominator"]) == (pytest.approx(4 / 6), 6, "answered_known")
    assert found.one(metric="accuracy")["value"] == 4 / 8  # abstention counts as wrong


def test_the_calibration_error_by_hand(found):
    row = found.one(metric="ece")
    # bins: .9 (1 of 2 right, Σ conf 1.9), .8 (1, .85), .7 (1, .75), .6 (0, .65), .5 (1, .55)
    assert row["value"] == pytest.approx((0.9 + 0.15 + 0.25 + 0.65 + 0.45) / 6)
    assert (row["n"], row["denominator"]) == (6, "answered_known")


def test_reliability_by_hand(found):
    bins = {row["variant"]: (row["parameter"], row["value"], row["n"]) for row in found.all(metric="reliability")}
    assert bins == {
        "0.5 to 0.6": (pytest.approx(0.55), 1, 1),
        "0.6 to 0.7": (pytest.approx(0.65), 0, 1),
        "0.7 to 0.8": (pytest.approx(0.75), 1, 1),
        "0.8 to 0.9": (pytest.approx(0.85), 1, 1),
        "0.9 to 1.0": (pytest.approx(0.95), 0.5, 2),
    }


def test_risk_and_coverage_by_hand(found):
    # working points (k, wrong): the tied pair, then one by one, then the two without a label
    number, wrong = np.array([2, 3, 4, 5, 6, 8]), np.array([1, 1, 1, 2, 2, 4])
    risk = wrong / number
    assert found.one(metric="aurc")["value"] == pytest.approx(auc([0, *(number / 8)], [risk[0], *risk]))
    assert found.one(metric="augrc")["value"] == pytest.approx(auc([0, *(number / 8)], [0, *(wrong / 8)]))
    # every risk is above .2
    assert {row["parameter"]: row["value"] for row in found.all(metric="coverage_at_risk")} == {
        0.01: 0, 0.05: 0, 0.1: 0, 0.2: 0,
    }  # fmt: skip
    curve = {row["parameter"]: row["value"] for row in found.all(metric="risk_at_coverage")}
    assert len(curve) == 10
    assert [curve[c] for c in (0.1, 0.3, 0.5, 0.6, 0.7, 1.0)] == pytest.approx(
        [1 / 2, 1 / 3, 1 / 4, 2 / 5, 1 / 3, 1 / 2]
    )
    assert {row["n"] for row in found.all(denominator="label_known")} == {8}


def test_coverage_at_a_risk_by_hand(read):
    # ten answers of falling confidence; the 8th and 10th are wrong (an even patient is G)
    answers = [G if number % 2 == 0 else M for number in range(10)]
    answers[7], answers[9] = G, G
    found = read(answers, [0.99 - number / 50 for number in range(10)])
    assert {row["parameter"]: row["value"] for row in found.all(metric="coverage_at_risk")} == {
        0.01: 0.7,
        0.05: 0.7,
        0.1: 0.7,  # 1/8 and 1/9 are above .1
        0.2: 1.0,
    }


@pytest.fixture(scope="module")
def many(made):
    """A reader of 60 patients, right about as often as it is sure."""

    def sure(asked):
        return 0.34 + 0.65 * uniform("sure", asked.case)

    def reader(asked):
        if uniform("unsure", asked.case) < 0.1:
            return U
        other = M if asked.truth == G else G
        return asked.truth if uniform("right", asked.case) < sure(asked) else other

    study = made(patients=60, arms=("base",), logprobs=surely(reader, sure))
    outcomes = study.outcome_rows({"m": reader})
    truth = {row["trial_id"]: study.truth(int(row["case_id"][1:4])) for row in study.trial_rows()}
    kept = [row for row in outcomes if row["label"] != U]
    right = np.array([row["label"] == truth[row["trial_id"]] for row in kept])
    return study.estimates({"m": reader}), right, np.array([row["confidence"] for row in kept])


def test_the_calibration_error_is_the_weighted_gap_of_scikit_learns_curve(many):
    found, right, sure = many
    share_right, mean_sure = calibration_curve(right, sure, n_bins=10, strategy="uniform")
    weights = np.histogram(sure, bins=10, range=(0, 1))[0]
    weights = weights[weights > 0] / len(sure)
    assert found.one(metric="ece")["value"] == pytest.approx((weights * np.abs(share_right - mean_sure)).sum())
    rows = found.all(metric="reliability")
    assert [row["value"] for row in rows] == pytest.approx(share_right)
    assert [row["parameter"] for row in rows] == pytest.approx(mean_sure)


def test_the_brier_score_is_scikit_learns(many):
    found, right, sure = many
    row = found.one(metric="brier")
    assert row["value"] == pytest.approx(brier_score_loss(right, sure))
    assert (row["n"], row["denominator"], row["estimate_status"]) == (len(sure), "answered_known", "ok")


def test_a_resampled_area_has_the_interval_of_a_bootstrap_written_out(many):
    found, right, sure = many
    row = found.one(metric="augrc")
    cases = _cases(60)
    patients = np.array([int(case[1:4]) for case in cases])
    answered = np.array([uniform("unsure", case) >= 0.1 for case in cases])
    wrong, score = np.ones(120), np.full(120, -1.0)  # who said UNSURE comes last
    wrong[answered], score[answered] = 1 - right, sure

    def area(units):
        levels = np.unique(score[units])[::-1]
        reached = score[units][None, :] >= levels[:, None]
        number, errors = reached.sum(axis=1), (reached * wrong[units]).sum(axis=1)
        return auc([0, *(number / len(units))], [0, *(errors / len(units))])

    assert row["value"] == pytest.approx(area(np.arange(120)))
    random = np.random.default_rng(1)
    of_patient = [np.flatnonzero(patients == patient) for patient in range(60)]
    drawn = [area(np.concatenate([of_patient[n] for n in random.integers(60, size=60)])) for _ in range(800)]
    assert (row["low"], row["high"]) == pytest.approx(tuple(np.quantile(drawn, [0.025, 0.975])), abs=0.012)
    assert row["resamples"] == 5000


def _cases(patients):
    return [f"p{patient:03d}-s{number}" for patient in range(patients) for number in range(2)]


def test_a_point_of_the_curve_needs_events_among_the_cases_it_covers(read):
    # 40 patients of falling confidence: wrong are the 15th to the 19th and the last 10
    answers = [G if number % 2 == 0 else M for number in range(40)]
    for number in (*range(14, 19), *range(30, 40)):
        answers[number] = M if answers[number] == G else G
    found = read(answers, [0.99 - number / 100 for number in range(40)])
    rows = {row["parameter"]: row for row in found.all(metric="risk_at_coverage")}
    assert {row["n"] for row in rows.values()} == {40}
    # 16 cases hold two of the wrong ones, 20 hold five
    assert (rows[0.4]["value"], rows[0.4]["low"]) == (2 / 16, None)
    assert rows[0.4]["reason"] == "2 patients have an event, 5 are needed"
    assert (rows[0.5]["value"], rows[0.5]["estimate_status"], rows[0.5]["resamples"]) == (5 / 20, "ok", 2000)
    assert rows[0.5]["low"] < 5 / 20 < rows[0.5]["high"]
    assert found.one(metric="aurc")["estimate_status"] == "ok"


# --- effective reliability ---------------------------------------------------------------------


def earned(found):
    return {row["parameter"]: row["value"] for row in found.all(metric="effective_reliability")}


def test_effective_reliability_by_hand_with_a_split(read):
    # validation: right .9, right .8, wrong .7, right .6: +1, +2, +1, +2 for c = 1, so that .8 is the threshold
    # (of two equally good ones the highest), and for c = 10 as well
    # test: right .85 (+1), wrong .8 (−c), right .75 (withheld), UNSURE, wrong .7 (withheld)
    # truth:    G  M  G  M  G  M  G  M  G
    answers = [G, M, M, M, G, G, G, U, M]
    sure = [0.9, 0.8, 0.7, 0.6, 0.85, 0.8, 0.75, 0.9, 0.7]
    found = read(answers, sure, splits=lambda case: "val" if case < "p004" else "test")
    assert earned(found) == {1: (1 - 1) / 5, 10: pytest.approx((1 - 10) / 5)}
    assert {row["n"] for row in found.all(metric="effective_reliability")} == {5}


def test_cases_of_no_split_tell_no_threshold_and_are_not_tried(read):
    split = {0: "train", 1: "train", 2: None, 3: "test", 4: "test"}
    found = read([G, M, M, M, G], [0.8, 0.9, 0.95, 0.85, 0.7], splits=lambda case: split[int(case[1:4])])
    assert earned(found) == {1: 1 / 2, 10: 1 / 2}


def test_where_answering_never_paid_every_answer_is_withheld(read):
    found = read([M, G, G, M], [0.9] * 4, splits=lambda case: "val" if case < "p002" else "test")
    assert earned(found) == {1: 0, 10: 0}


def test_where_it_always_pays_every_label_is_given(read):
    answers = [G if number % 2 == 0 else M for number in range(12)]
    assert earned(read(answers, [0.9] * 12)) == {1: 1, 10: 1}
    assert earned(read([*answers[:9], U, X, M], [0.9] * 12)) == pytest.approx({1: 10 / 12, 10: 10 / 12})


def test_without_a_split_each_half_of_the_patients_tells_the_others_threshold(many, made):
    found, right, sure = many
    cases = [case for case in _cases(60) if uniform("unsure", case) >= 0.1]
    order = sorted(range(60), key=lambda n: uniform(7, "folds", f"p{n:03d}"))
    half = set(order[::2])
    first = np.array([int(case[1:4]) in half for case in cases])
    for cost in (1, 10):
        gain, total = np.where(right, 1.0, -cost), 0.0
        for test in (first, ~first):
            # the best of all thresholds, tried one by one, none among them; the highest of the best
            tried = [math.inf, *sorted(sure[~test], reverse=True)]
            sums = [gain[~test][sure[~test] >= threshold].sum() for threshold in tried]
            best = tried[int(np.argmax(np.round(sums, 9)))]
            total += gain[test][sure[test] >= best].sum()
        assert earned(found)[cost] == pytest.approx(total / 120)


def test_a_case_whose_threshold_nobody_tells_does_not_count(made):
    reader, sure = of_lists([G], [0.9])
    row = (
        made(patients=1, arms=("base",), logprobs=surely(reader, sure))
        .estimates({"m": reader})
        .all(metric="effective_reliability")[0]
    )
    assert (row["value"], row["n"], row["estimate_status"]) == (None, 0, "undefined")
    assert "whose threshold the other half tells" in row["reason"]


# --- what confidence is not there for ----------------------------------------------------------


def test_without_log_probabilities_only_the_verbal_operating_point_is_there(made):
    found = made(arms=("base",)).estimates({"m": lambda asked: G})
    stand = {row["metric"] for row in found.rows}
    assert {"coverage", "selective_accuracy"} <= stand
    assert not stand & {"ece", "reliability", "aurc", "augrc", "risk_at_coverage", "coverage_at_risk"}


def test_a_label_without_a_confidence_is_the_least_sure_of_the_labels_and_in_no_bin(made):
    answers, sure = [G, M, G, M, U], [0.9, 0.8, 0.7, 0.9, 0.9]

    def logs(asked):
        if asked.case == "p003-s0":
            return [math.nan] * 3
        return surely(*of_lists(answers, sure))(asked)

    reader = of_lists(answers, sure)[0]
    found = made(patients=5, per_patient=1, arms=("base",), logprobs=logs).estimates({"m": reader})
    # truth G M G M G: all labels are right; 3 comes after 0.7 and before UNSURE
    assert found.one(metric="ece")["n"] == 3
    risk = {row["parameter"]: row["value"] for row in found.all(metric="risk_at_coverage")}
    assert (risk[0.8], risk[1.0]) == (0, 1 / 5)


def test_unknown_labels_have_no_calibration(made):
    reader, sure = of_lists([G] * 12, [0.9] * 12)
    found = made(arms=("base",), known=False, logprobs=surely(reader, sure)).estimates({"m": reader})
    assert not found.all(metric="ece")
    assert found.one(metric="coverage")["estimate_status"] == "undefined"


# --- lost answers ------------------------------------------------------------------------------


def test_the_bounds_of_effective_reliability_say_what_a_lost_answer_could_have_moved(read):
    # the lost one is among those tried: the others stand, it could have earned 1 or cost c
    answers = [G, M, M, M, G, G, E, U]
    sure = [0.9, 0.8, 0.7, 0.6, 0.85, 0.8, 0.75, 0.9]
    found = read(answers, sure, splits=lambda case: "val" if case < "p004" else "test")
    row = found.one(metric="effective_reliability", parameter=10.0)
    assert (row["value"], row["n"], row["n_error"]) == (pytest.approx((1 - 10) / 3), 3, 1)
    assert (row["bound_low"], row["bound_high"]) == (pytest.approx((1 - 10 - 10) / 4), pytest.approx((1 - 10 + 1) / 4))
    # among those who tell the threshold it could have had any answer given or withheld
    lost = read([E, *answers[1:6], M, U], sure, splits=lambda case: "val" if case < "p004" else "test")
    row = lost.one(metric="effective_reliability", parameter=1.0)
    # of four: right .85 (0 or 1), wrong .8 (−1 or 0), wrong .75 (−1 or 0), UNSURE
    assert (row["n_error"], row["estimate_status"]) == (1, "incomplete")
    assert (row["bound_low"], row["bound_high"]) == (-2 / 4, 1 / 4)


def test_a_bin_of_confidence_holds_what_was_lost_in_its_bounds(read):
    row = read([G, M, G, E], [0.95] * 4).one(metric="reliability")
    assert (row["value"], row["n"], row["n_error"]) == (1.0, 3, 1)
    assert (row["bound_low"], row["bound_high"]) == (3 / 4, 1.0)
