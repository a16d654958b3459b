"""Agreement with base and among several arms: by hand, by scikit-learn, and what must hold between them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from steadyread.identity.seeds import uniform

G, M, U, X, E = "GBM", "MET", "UNSURE", "UNPARSED", "ERROR"
WORDS = (G, M, U, X)
ORDERS = ("base", "reverse", "shuffle", "roi_first", "roi_last")
EVIDENCE_PRESERVING = (*ORDERS, "label_swap", "label_cycle", "abstain_first")
QUICK = {"statistics": {"permutations": 999, "strata": []}}


def moody(name, share):
    """Right, but for a share of the trials."""

    def answer(asked):
        if uniform(name, asked.trial_id) < share:
            return WORDS[int(uniform(name, "which", asked.trial_id) * 4)]
        return asked.truth

    return answer


def said_by(study, reader):
    """Case, arm and variant → what a reader says at draw 0."""
    arm = {row["trial_id"]: row for row in study.trial_rows()}
    return {
        (arm[row["trial_id"]]["case_id"], arm[row["trial_id"]]["arm"], arm[row["trial_id"]]["variant"]): (
            row["label"] or row["outcome_status"]
        )
        for row in study.outcome_rows({"m": reader})
        if row["draw"] == 0
    }


def test_kappa_worked_out_by_hand(made, scripted):
    study = made(patients=8, per_patient=1, arms=("base", "reverse"))
    script = {"base": [G, G, G, G, M, M, U, X], "reverse": [G, G, G, M, M, G, U, M]}
    row = study.estimates({"m": scripted(script)}).one(metric="kappa")
    # agree 5 of 8 (0, 1, 2, 4, 6); base 4 G 2 M 1 U 1 X, reverse 4 G 3 M 1 U; chance (16 + 6 + 1) / 64
    assert row["value"] == pytest.approx((5 / 8 - 23 / 64) / (1 - 23 / 64))
    assert (row["n"], row["clusters"], row["reference_arm"], row["denominator"]) == (8, 8, "base", "all")


@pytest.mark.parametrize("share", [0.2, 0.9])
def test_kappa_is_scikit_learns(made, share):
    study = made(patients=30, arms=("base", "reverse", "no_image"))
    reader = moody("kappa", share)
    said = said_by(study, reader)
    found = study.estimates({"m": reader}, **QUICK)
    for arm in ("reverse", "no_image"):
        pairs = [(said[case, "base", ""], said[case, arm, ""]) for case, _, _ in study.cases()]
        assert found.one(metric="kappa", arm=arm)["value"] == pytest.approx(
            cohen_kappa_score(*zip(*pairs, strict=True))
        )


def test_kappa_of_an_arm_of_several_variants_weighs_each_by_its_share_of_the_case(made):
    study = made(patients=20, arms=("base", "shuffle"), levels={"shuffles": 3})
    reader = moody("several", 0.5)
    said = said_by(study, reader)
    pairs = [
        (said[case, "base", ""], said[case, "shuffle", variant])
        for (case, _, _), variant in itertools.product(study.cases(), "123")
    ]
    expected = cohen_kappa_score(*zip(*pairs, strict=True), sample_weight=[1 / 3] * len(pairs))
    assert study.estimates({"m": reader}, **QUICK).one(metric="kappa")["value"] == pytest.approx(expected)


def test_kappa_of_a_constant_reader_is_none_and_says_why(made):
    row = made(arms=("base", "reverse")).estimates({"m": lambda asked: G}).one(metric="kappa")
    assert (row["value"], row["low"], row["estimate_status"], row["n"]) == (None, None, "undefined", 24)
    assert "chance explains all agreement" in row["reason"]


def test_a_reader_who_says_one_thing_on_base_and_another_after_agrees_no_better_than_chance(made):
    found = made(arms=("base", "reverse")).estimates({"m": lambda asked: G if asked.arm == "base" else M})
    assert found.one(metric="kappa")["value"] == 0.0


# K orders by hand:      base          reverse       shuffle 1     shuffle 2
SCRIPT = {
    "base": [G, G, G, G, U],
    "reverse": [G, M, G, M, U],
    "shuffle 1": [G, G, G, U, X],
    "shuffle 2": [G, G, M, X, X],
}


@pytest.fixture
def orders(made):
    return made(patients=5, per_patient=1, arms=("base", "reverse", "shuffle"), levels={"shuffles": 2})


def test_any_flip_and_pairwise_disagreement_by_hand(orders, scripted):
    found = orders.estimates({"m": scripted(SCRIPT)})
    any_flip, pairwise = found.one(metric="any_flip"), found.one(metric="pairwise_disagreement")
    assert any_flip["value"] == 4 / 5
    # of six pairs apart: 0, 3, 3, 6, and U U X X: 4
    assert pairwise["value"] == pytest.approx((0 + 3 + 3 + 6 + 4) / 6 / 5)
    for row in (any_flip, pairwise):
        assert (row["arm"], row["arms"], row["n"]) == (None, ["base", "reverse", "shuffle"], 5)
        assert row["parameter"] == 4  # K is printed: base, one reversal, two shuffles


def test_recon_and_reacc_by_hand(made, scripted):
    study = made(patients=5, per_patient=1, arms=("base", "reverse", "label_swap", "lesion_removed"))
    # truth:                 G  M  G  M  G
    script = {"base": [G, M, G, G, U], "reverse": [G, M, M, G, U], "label_swap": [G, M, G, G, U]}
    found = study.estimates({"m": scripted({**script, "lesion_removed": [U] * 5})})
    recon, reacc = found.one(metric="recon"), found.one(metric="reacc")
    assert (recon["value"], reacc["value"]) == (4 / 5, 2 / 5)
    # what takes the lesion away is not among the arms, and labels move under the others
    assert recon["arms"] == reacc["arms"] == ["base", "reverse", "label_swap"]
    assert recon["denominator"] == "all_arms"
    assert reacc["denominator"] == "all_arms_known"


def test_accuracy_swing_by_hand(made, scripted):
    study = made(patients=4, per_patient=1, arms=("base", "reverse", "shuffle", "label_swap"), levels={"shuffles": 2})
    # truth G M G M: base 4, reverse 1, shuffle (3 + 2) / 2 of 4; the swapped labels are no slice order
    script = {
        "base": [G, M, G, M],
        "reverse": [M, G, M, M],
        "shuffle 1": [G, M, G, G],
        "shuffle 2": [G, M, M, G],
        "label_swap": [U, U, U, U],
    }
    row = study.estimates({"m": scripted(script)}).one(metric="accuracy_swing")
    assert row["value"] == pytest.approx(1 - 1 / 4)
    assert (row["arms"], row["parameter"], row["n"]) == (["base", "reverse", "shuffle"], 3, 4)


def test_what_is_over_several_arms_is_over_cases_that_have_them_all(made, scripted):
    study = made(
        patients=5,
        per_patient=1,
        arms=("base", "reverse", "roi_first"),
        left_out=lambda case, arm: arm == "roi_first" and case < "p002",
    )
    script = {"base": [G] * 5, "reverse": [M, M, M, G, G], "roi_first": [G, G, G, G, U]}
    found = study.estimates({"m": scripted(script)})
    assert found.one(metric="flip_rate", arm="reverse", denominator="all")["n"] == 5
    for metric, value in (("any_flip", 2 / 3), ("pairwise_disagreement", 4 / 9), ("recon", 1 / 3), ("reacc", 0.0)):
        row = found.one(metric=metric)
        assert (row["value"], row["n"]) == (pytest.approx(value), 3), metric
    # right of the three cases p002 (G), p003 (M), p004 (G): base 2, reverse 1, roi_first 1
    assert found.one(metric="accuracy_swing")["value"] == pytest.approx(1 / 3)


def test_an_arm_that_no_case_has_takes_no_case_from_what_is_over_several_arms(made):
    study = made(patients=4, arms=("base", "reverse", "roi_last"), left_out=lambda case, arm: arm == "roi_last")
    found = study.estimates({"m": lambda asked: G})
    for metric in ("any_flip", "pairwise_disagreement", "recon", "reacc", "accuracy_swing"):
        row = found.one(metric=metric)
        assert (row["arms"], row["parameter"]) == (["base", "reverse"], 2), metric
        assert row["n"] == 8 and row["value"] is not None
    kappa = found.one(metric="kappa", arm="roi_last")
    assert (kappa["value"], kappa["reason"]) == (None, "no case was answered under base, roi_last")
    for metric in ("d_same", "d_cross", "delta"):
        assert found.one(metric=metric, arm="roi_last")["reason"].startswith("no case was answered under")


def test_a_lost_answer_leaves_what_is_already_certain(orders, scripted):
    script = {**SCRIPT, "shuffle 2": [E, E, M, X, X]}
    found = orders.estimates({"m": scripted(script)})
    # 0 was steady so far, 1 has already moved: any flip of 1 is certain, and no steadiness is
    assert (found.one(metric="any_flip")["bound_low"], found.one(metric="any_flip")["bound_high"]) == (4 / 5, 1.0)
    assert (found.one(metric="recon")["bound_low"], found.one(metric="recon")["bound_high"]) == (0.0, 1 / 5)
    # truth G M …: what 1 said so far was wrong
    assert (found.one(metric="reacc")["bound_low"], found.one(metric="reacc")["bound_high"]) == (0.0, 1 / 5)


def test_a_lost_base_is_no_disagreement(orders, scripted):
    found = orders.estimates({"m": scripted({**SCRIPT, "base": [E, G, G, G, U]})})
    row = found.one(metric="any_flip")
    assert (row["n"], row["n_error"], row["bound_low"], row["bound_high"]) == (4, 1, 4 / 5, 1.0)


@settings(max_examples=12, deadline=None, derandomize=True)
@given(st.data())
def test_what_holds_between_the_agreements_whatever_was_said(made, data):
    study = made(patients=6, per_patient=1, arms=EVIDENCE_PRESERVING, levels={"shuffles": 2})
    answers = {row["trial_id"]: data.draw(st.sampled_from((G, G, M, U))) for row in study.trial_rows()}
    found = study.estimates({"m": lambda asked: answers[asked.trial_id]}, **QUICK)
    flips = {row["arm"]: row["value"] for row in found.all(metric="flip_rate", denominator="all")}
    accuracies = [row["value"] for row in found.all(metric="accuracy")]
    any_flip, pairwise = found.one(metric="any_flip")["value"], found.one(metric="pairwise_disagreement")["value"]
    recon, reacc = found.one(metric="recon")["value"], found.one(metric="reacc")["value"]
    near = 1e-9
    assert all(any_flip >= flips[arm] - near for arm in ORDERS[1:])
    assert pairwise <= any_flip + near
    assert recon <= 1 - max(flips.values()) + near
    assert recon <= 1 - any_flip + near
    assert reacc <= min(accuracies) + near
    assert reacc <= recon + near
    swing = found.one(metric="accuracy_swing")["value"]
    by_arm = {row["arm"]: row["value"] for row in found.all(metric="accuracy") if row["arm"] in ORDERS}
    assert swing == pytest.approx(np.ptp(list(by_arm.values())))
    assert all(-1 <= row["value"] <= 1 for row in found.all(metric="kappa") if row["value"] is not None)
