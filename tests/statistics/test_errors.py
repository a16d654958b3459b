"""ERROR is the machine's fault: it makes an estimate incomplete, and bounds say what it hides."""

from __future__ import annotations

import itertools
import math

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steadyread.contracts.problems import StudyError
from steadyread.contracts.tables import OUTCOMES, TRIALS
from steadyread.identity.seeds import uniform
from steadyread.statistics.estimate import estimate_rows

LABELS = ("GBM", "MET", "PCNSL")
ARMS = ("base", "reverse", "label_swap", "lesion_removed")
POSSIBLE = (*LABELS, "UNSURE", "UNPARSED")
KEY = ("metric", "denominator", "arm", "variant", "reference_arm", "parameter")


def reader(answers):
    return lambda asked: answers[asked.trial_id]


def by_key(found):
    """Rows by what they are about; the place of a bin of confidence is its cases', not its name."""
    return {
        tuple(None if name == "parameter" and row["metric"] == "reliability" else row[name] for name in KEY): row
        for row in found.rows
    }


def confident(asked):
    """Log-probabilities, a function of the trial: a lost answer loses them, it does not change them."""
    raw = [0.1 + uniform("logs", asked.trial_id, place) for place in range(len(asked.options))]
    return [math.log(value / sum(raw)) for value in raw]


QUICK = {"statistics": {"permutations": 999, "arm_permutations": 999, "strata": []}}


def assert_bounds_hold(seen, whole, why):
    """Every row with an ERROR holds the true value in its bounds, every other row is what it would have been."""
    for key, row in seen.items():
        # where a bin's cases lie, and whether it has any, the lost answer itself decides
        truth = whole[key]["value"] if key in whole else None
        if row["n_error"]:
            assert row["estimate_status"] in ("incomplete", "undefined"), key
            assert (row["bound_low"] is None) == (row["bound_high"] is None)
            if truth is not None:
                assert row["bound_low"] - 1e-9 <= truth <= row["bound_high"] + 1e-9, (key, why)
        else:
            assert row["value"] == truth, (key, why)


@settings(max_examples=4, deadline=None, derandomize=True)
@given(st.data())
def test_whatever_the_lost_answers_were_the_bounds_hold_the_true_value(made, data):
    # three labels give label_swap two variants, later draws give a floor
    study = made(
        patients=3, per_patient=1, labels=LABELS, arms=ARMS, extra_draws={"base": 1, "reverse": 1}, logprobs=confident
    )
    trials = [row["trial_id"] for row in study.trial_rows()]
    answers = {trial: data.draw(st.sampled_from(POSSIBLE)) for trial in trials}
    lost = data.draw(st.lists(st.sampled_from(trials), min_size=1, max_size=2, unique=True))
    seen = by_key(study.estimates({"m": reader(answers | dict.fromkeys(lost, "ERROR"))}, **QUICK))
    for replies in itertools.product(POSSIBLE, repeat=len(lost)):
        whole = by_key(study.estimates({"m": reader(answers | dict(zip(lost, replies, strict=True)))}, **QUICK))
        assert_bounds_hold(seen, whole, replies)


CURVES = ("base", "remove_fraction", "roi_at", "shuffle", "label_swap", "no_image", "mention_only")


@settings(max_examples=5, deadline=None, derandomize=True)
@given(st.data())
def test_bounds_hold_of_curves_quadrants_and_selective_prediction_too(made, data):
    study = made(
        patients=6,
        per_patient=1,
        arms=CURVES,
        levels={"shuffles": 2, "fractions": (0.5, 1.0), "positions": (0.0, 1.0)},
        logprobs=confident,
        splits=data.draw(st.sampled_from([lambda case: None, lambda case: "val" if case < "p003" else "test"])),
    )
    trials = [row["trial_id"] for row in study.trial_rows()]
    answers = {trial: data.draw(st.sampled_from(("GBM", "GBM", "MET", "UNSURE"))) for trial in trials}
    lost = data.draw(st.sampled_from(trials))
    seen = by_key(study.estimates({"m": reader(answers | {lost: "ERROR"})}, **QUICK))
    assert any(row["n_error"] for row in seen.values())
    for reply in ("GBM", "MET", "UNSURE", "UNPARSED"):
        assert_bounds_hold(seen, by_key(study.estimates({"m": reader(answers | {lost: reply})}, **QUICK)), reply)


@pytest.mark.parametrize("arm", ["base", "label_cycle"])
def test_bounds_hold_of_what_pride_takes_out_whoever_lost_an_answer(made, arm):
    study = made(patients=20, per_patient=1, arms=("base", "label_cycle"), logprobs=confident)
    whole = by_key(study.estimates({"m": lambda asked: "GBM"}, ("logprob",), **QUICK))
    for case in ("p000-s0", "p001-s0", "p002-s0", "p003-s0"):

        def lossy(asked, case=case):
            return "ERROR" if (asked.case, asked.arm) == (case, arm) and asked.variant in ("", "shift1") else "GBM"

        seen = by_key(study.estimates({"m": lossy}, ("logprob",), **QUICK))
        assert {row["n_error"] for key, row in seen.items() if key[0] == "debiased_accuracy"} == {1}
        assert_bounds_hold(seen, whole, case)


def test_a_lost_draw_of_base_can_raise_or_lower_the_effect_above_noise(made):
    study = made(patients=2, per_patient=1, arms=("base", "reverse"), extra_draws={"base": 1, "reverse": 1})

    def answer(asked):
        if asked.case == "p000-s0" and asked.arm == "base" and asked.draw:
            return "ERROR"
        return "GBM" if asked.arm == "base" else "MET"

    row = study.estimates({"m": answer}).one(metric="delta")
    # seen: cross (1, 1), base (–, 0), arm (0, 0); lost: cross of p000 in [1/2, 1], base of p000 in [0, 1]
    assert (row["value"], row["n_error"], row["estimate_status"]) == (1.0, 1, "incomplete")
    assert (row["bound_low"], row["bound_high"]) == (3 / 4 - 1 / 4, 1.0)


def test_one_lost_variant_of_two_leaves_the_other_and_widens_the_bounds(made):
    study = made(patients=2, per_patient=1, labels=LABELS, arms=("base", "label_swap"))

    def answer(asked):
        if asked.case == "p000-s0" and asked.variant:
            return "MET" if asked.variant == "shift1" else "ERROR"
        return "GBM"

    row = study.estimates({"m": answer}).one(metric="label_swap_inconsistency", denominator="all")
    assert (row["value"], row["n"], row["n_error"]) == (1 / 2, 2, 1)
    assert (row["bound_low"], row["bound_high"]) == (1 / 4, 1 / 2)


def test_the_bounds_are_reached_where_all_pairs_count(made):
    study = made(patients=4, per_patient=1, arms=("base", "reverse"))

    def answer(asked):
        if asked.arm == "reverse" and asked.case < "p002":
            return "ERROR" if asked.case == "p000-s0" else "MET"
        return "GBM"

    row = study.estimates({"m": answer}).one(metric="flip_rate", denominator="all")
    assert (row["value"], row["n"], row["n_error"]) == (pytest.approx(1 / 3), 3, 1)
    assert (row["bound_low"], row["bound_high"]) == (1 / 4, 2 / 4)
    assert row["estimate_status"] == "incomplete"
    assert row["reason"].startswith("1 case with an ERROR")


def test_a_pair_that_could_not_have_counted_is_not_called_lost(made):
    study = made(patients=4, per_patient=1, arms=("base", "reverse"))

    def answer(asked):
        if asked.case == "p000-s0":
            return "ERROR" if asked.arm == "reverse" else "UNPARSED"
        return "GBM"

    found = study.estimates({"m": answer})
    assert found.one(metric="flip_rate", denominator="all")["n_error"] == 1
    assert found.one(metric="flip_rate", denominator="both_answer_set")["n_error"] == 0
    assert found.one(metric="flip_rate", denominator="base_correct")["n_error"] == 0


def test_a_case_without_a_label_is_not_lost_to_a_denominator_that_needs_one(made):
    study = made(patients=4, per_patient=1, arms=("base", "reverse"), known=False)
    found = study.estimates({"m": lambda asked: "ERROR" if asked.case == "p000-s0" else "GBM"})
    assert found.one(metric="flip_rate", denominator="all")["n_error"] == 1
    assert found.one(metric="flip_rate", denominator="base_correct")["n_error"] == 0
    assert found.one(metric="accuracy", arm="base")["n_error"] == 0


def test_where_everything_was_lost_the_estimate_is_undefined_and_says_so(made):
    found = made(patients=3, arms=("base", "reverse")).estimates({"m": lambda asked: "ERROR"})
    row = found.one(metric="overcommitment", arm="base")
    assert (row["value"], row["estimate_status"], row["n_error"]) == (None, "undefined", 6)
    assert (row["bound_low"], row["bound_high"]) == (0.0, 1.0)
    assert "6 cases with an ERROR" in row["reason"]


def test_a_trial_without_an_outcome_counts_as_error_and_never_shrinks_an_estimate(made):
    study = made(patients=4, per_patient=1, arms=("base", "reverse"))
    trials, cases, outcomes = study.tables({"m": lambda asked: "GBM"})
    rows = estimate_rows(trials, cases, outcomes.slice(1), study.settings(["m"]), "x")
    (row,) = [row for row in rows if row["metric"] == "flip_rate" and row["denominator"] == "all"]
    assert (row["n"], row["n_error"], row["estimate_status"]) == (3, 1, "incomplete")


def test_an_arm_that_fits_no_case_is_undefined_not_missing(made):
    study = made(patients=3, arms=("base", "lesion_removed"))
    trials = TRIALS.from_rows(row for row in study.trial_rows() if row["arm"] == "base")
    outcomes = study.outcome_rows({"m": lambda asked: "GBM"})
    kept = set(trials["trial_id"].to_pylist())
    table = OUTCOMES.from_rows(row for row in outcomes if row["trial_id"] in kept)
    rows = estimate_rows(trials, study.case_table(), table, study.settings(["m"]), "x")
    (row,) = [row for row in rows if row["metric"] == "overcommitment" and row["arm"] == "lesion_removed"]
    assert (row["value"], row["estimate_status"], row["n"], row["n_error"]) == (None, "undefined", 0, 0)


def test_tables_that_do_not_belong_together_are_refused(made):
    study = made(patients=2, arms=("base", "reverse"))
    trials, cases, outcomes = study.tables({"m": lambda asked: "GBM"})
    settings_ = study.settings(["m"])
    with pytest.raises(StudyError, match="belong to no trial"):
        estimate_rows(trials.slice(1), cases, outcomes, settings_, "x")
    with pytest.raises(StudyError, match="model other has no outcomes"):
        estimate_rows(trials, cases, outcomes, study.settings(["m", "other"]), "x")
    with pytest.raises(StudyError, match="models \\['m'\\]"):
        estimate_rows(trials, cases, outcomes, study.settings(["other"]), "x")
    with pytest.raises(StudyError, match="no trials"):
        estimate_rows(trials.slice(0, 0), cases, outcomes, settings_, "x")
    with pytest.raises(StudyError, match="two outcomes"):
        estimate_rows(trials, cases, pa.concat_tables([outcomes, outcomes]), settings_, "x")


def test_a_label_that_the_study_does_not_know_stops_it(made):
    study = made(patients=2, arms=("base",))
    with pytest.raises(StudyError, match="answers 'PCNSL'"):
        study.estimates({"m": lambda asked: "PCNSL"})


@pytest.mark.parametrize(
    ("entry", "stops"),
    [
        ({"deterministic": True}, True),
        ({"deterministic": True, "device": "cuda"}, False),
        ({"deterministic": True, "dtype": "bfloat16"}, False),
        ({"deterministic": False}, False),
        ({"deterministic": True, "backend": "baselines", "source": {"kind": "baseline", "baseline": "coin"}}, False),
    ],
)
def test_a_reader_that_cannot_vary_must_have_a_floor_of_zero(made, entry, stops):
    study = made(patients=6, arms=("base", "repeat", "reverse"))

    def coin(asked):
        return ("GBM", "MET")[uniform(asked.trial_id) < 0.5]

    plain = study.settings(["m"]).model_dump()["models_table"][0]
    if stops:
        with pytest.raises(StudyError, match="pairs of draws of the same request disagree"):
            study.estimates({"m": coin}, models_table=[{**plain, **entry}])
    else:
        found = study.estimates({"m": coin}, models_table=[{**plain, **entry}])
        assert found.one(metric="d_same", arm="base")["value"] > 0
