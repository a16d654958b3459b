"""Two models compared: value minus value, patients drawn together, and no difference where there is none."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from steadyread.config.comparisons import claimable
from steadyread.contracts.enums import ArmName, Metric
from steadyread.contracts.tables import ESTIMATES
from steadyread.identity.seeds import uniform
from steadyread.statistics.clusters import ClusterSums

KEY = ("metric", "denominator", "arm", "variant", "reference_arm", "parameter")
OWN = {"both_answer_set", "both_categorical", "base_correct"}


def pairs(*names, **rules):
    """The statistics section of a study that compares models."""
    listed = [{"model": model, "reference": reference} for model, reference in names]
    return {"statistics": {"permutations": 999, "comparisons": listed, **rules}}


def key(row):
    return tuple(row[name] for name in KEY)


SOME = ("base", "repeat", "reverse", "label_swap", "lesion_removed", "roi_at", "matched_removed", "no_image")


def confident(asked):
    """Log-probabilities of the options, another for every trial."""
    raw = [0.1 + uniform("logs", asked.trial_id, place) for place in range(len(asked.options))]
    return [math.log(value / sum(raw)) for value in raw]


def moody(name, share):
    """Right, but for a share of the trials; patients differ in how often."""

    def answer(asked):
        number = uniform(name, asked.trial_id)
        if number < share * 2 * uniform(name, asked.case.split("-")[0]):
            return ("GBM", "MET", "UNSURE")[int(uniform(name, "which", asked.trial_id) * 3)]
        return asked.truth

    return answer


def flips_in(patients, arm="reverse"):
    """Says GBM, and MET under an arm to the patients named."""
    return lambda asked: "MET" if asked.arm == arm and int(asked.case[1:4]) in patients else "GBM"


@pytest.fixture(scope="module")
def moods(made):
    """Two imperfect readers, compared both ways, and the study they stand in."""
    study = made(patients=40, arms=SOME, extra_draws={"base": 1, "reverse": 1}, logprobs=confident)
    readers = {"a": moody("a", 0.5), "b": moody("b", 0.25)}
    return study.estimates(readers, **pairs(("a", "b"), ("b", "a"), strata=[]))


def test_a_difference_worked_out_by_hand(made):
    # of eight patients with one case each, a flips in 0 … 5, b in 5 and 6: 6/8 − 2/8
    study = made(patients=8, per_patient=1, arms=SOME)
    found = study.estimates({"a": flips_in(range(6)), "b": flips_in((5, 6))}, **pairs(("a", "b")))
    row = found.one(reference_model="b", metric="flip_rate", denominator="all", arm="reverse")
    assert (row["model"], row["value"], row["n"], row["clusters"]) == ("a", 0.5, 8, 8)
    # six patients differ: 0 … 4 one way, 6 the other; 5 flips in both
    assert (row["estimate_status"], row["mark"], row["p"], row["resamples"]) == ("ok", "O", None, 5000)
    assert -1 / 8 <= row["low"] < 0.5 < row["high"] <= 1.0
    five = study.estimates({"a": flips_in(range(5)), "b": flips_in((4,))}, **pairs(("a", "b")))
    few = five.one(reference_model="b", metric="flip_rate", denominator="all", arm="reverse")
    assert (few["value"], few["low"], few["estimate_status"]) == (0.5, None, "too_few_events")
    assert few["reason"] == "paired outcomes differ in 4 of 8 patients, 5 are needed"


def test_each_model_keeps_its_own_cases_where_its_answers_decide_the_denominator(made):
    # both right on base for GBM: a on patients 0 2 4 6 8 10, b on those and on one more it gets right
    study = made(patients=12, per_patient=1, arms=SOME)
    base_right = {"a": set(range(0, 12, 2)), "b": {*range(0, 12, 2), 1}}

    def reader(name, flipping):
        def answer(asked):
            patient = int(asked.case[1:4])
            said = asked.truth if patient in base_right[name] else ("MET" if asked.truth == "GBM" else "GBM")
            flips = asked.arm == "reverse" and patient in flipping
            return {"GBM": "MET", "MET": "GBM"}[said] if flips else said

        return answer

    found = study.estimates({"a": reader("a", {0, 2, 4, 6, 8}), "b": reader("b", {1})}, **pairs(("a", "b")))
    row = found.one(reference_model="b", metric="flip_rate", denominator="base_correct", arm="reverse")
    assert row["value"] == pytest.approx(5 / 6 - 1 / 7)
    assert (row["n"], row["clusters"], row["design_effect"]) == (6, 6, None)
    assert row["estimate_status"] == "ok"


def test_the_value_is_that_of_the_models_own_rows(moods):
    # tests of several arms are not compared, nor are bins of confidence, whose place is a model's own
    by_model = {name: {key(row): row for row in moods.all(model=name, reference_model=None)} for name in ("a", "b")}
    own = [row for row in by_model["a"].values() if row["metric"] not in ("cochran_q", "reliability")]
    assert len(moods.all(reference_model="b")) == len(own) > 100
    assert {"aurc", "kappa", "effective_reliability", "position_flips"} <= {row["metric"] for row in own}
    for row in moods.all(reference_model="b"):
        first, second = (by_model[name][key(row)] for name in ("a", "b"))
        if row["value"] is not None:
            assert row["value"] == pytest.approx(first["value"] - second["value"], abs=2e-12), key(row)
        assert row["n"] == min(first["n"], second["n"])


def test_model_and_reference_swapped_negate_the_value_and_mirror_the_interval(moods):
    mirrored = {key(row): row for row in moods.all(reference_model="a")}
    intervals = 0
    for row in moods.all(reference_model="b"):
        other = mirrored[key(row)]
        for name in ("n", "clusters", "n_error", "estimate_status", "resamples", "reason", "design_effect", "mde"):
            assert row[name] == other[name], (key(row), name)
        if row["value"] is not None:
            assert row["value"] == -other["value"]
        if row["low"] is not None:
            intervals += 1
            assert (row["low"], row["high"]) == pytest.approx((-other["high"], -other["low"]), abs=1e-9)
    assert intervals > 30


def test_an_identical_copy_differs_by_nothing_and_has_no_interval(made):
    study = made(patients=20, arms=SOME, logprobs=confident)
    found = study.estimates({"a": moody("a", 0.5), "copy": moody("a", 0.5)}, **pairs(("a", "copy")))
    rows = [row for row in found.all(reference_model="copy") if row["value"] is not None]
    assert {(row["value"], row["low"], row["estimate_status"]) for row in rows} == {(0.0, None, "too_few_events")}
    assert {row["denominator"] for row in rows} >= OWN


def test_known_readers_differ_by_what_is_known_of_them(made):
    readers = {"slot": lambda asked: asked.options[0], "label": lambda asked: "GBM"}
    found = made(arms=SOME).estimates(readers, **pairs(("slot", "label"), ("label", "slot")))
    for denominator in ("all", "both_answer_set", "both_categorical", "base_correct"):
        row = found.one(reference_model="label", metric="label_swap_inconsistency", denominator=denominator)
        # every patient differs alike: a bootstrap has no interval to give
        assert (row["value"], row["low"], row["high"], row["estimate_status"]) == (1.0, None, None, "too_few_events")
        other = found.one(reference_model="slot", metric="label_swap_inconsistency", denominator=denominator)
        assert (other["value"], other["low"], other["high"]) == (-1.0, None, None)
    assert found.one(reference_model="label", metric="slot_following")["value"] == 1.0
    same = found.one(reference_model="label", metric="flip_rate", denominator="all", arm="reverse")
    assert (same["value"], same["estimate_status"]) == (0.0, "too_few_events")


@pytest.mark.parametrize("says", ["MET", "GBM"])
def test_models_that_never_or_always_flip_are_not_told_apart_by_how_often_they_name_a_label(made, says):
    # under reverse both say the same to whomever they named a label on base; b is UNSURE of the rest
    def reader(sure):
        def answer(asked):
            if int(asked.case[1:4]) >= sure:
                return "UNSURE"
            return says if asked.arm == "reverse" else "GBM"

        return answer

    found = made(patients=30, arms=SOME).estimates({"a": reader(30), "b": reader(15)}, **pairs(("a", "b")))
    row = found.one(reference_model="b", metric="flip_rate", denominator="both_categorical", arm="reverse")
    assert (row["value"], row["n"], row["low"]) == (0.0, 30, None)
    assert (row["estimate_status"], row["reason"]) == (
        "too_few_events", "the two models differ in 0 patients, 5 are needed",
    )  # fmt: skip


def decided(study, reader, arm, admit):
    """Per patient: cases that are admitted and flip, cases that are admitted."""
    trials = {row["trial_id"]: row for row in study.trial_rows() if row["draw"] == 0}
    said = {
        (trials[row["trial_id"]]["case_id"], trials[row["trial_id"]]["arm"]): row["label"]
        for row in study.outcome_rows({"m": reader})
    }
    flips, counts = np.zeros(study.patients), np.zeros(study.patients)
    for case, patient, _ in study.cases():
        base, other = said[case, "base"], said[case, arm]
        if admit(base, other):
            counts[int(patient[1:])] += 1
            flips[int(patient[1:])] += base != other
    return flips, counts


@pytest.mark.parametrize(
    ("denominator", "admit"),
    [("all", lambda base, other: True), ("both_categorical", lambda base, other: "UNSURE" not in (base, other))],
)
def test_the_interval_is_scipys_where_patients_are_drawn_together(made, denominator, admit):
    study = made(patients=60, arms=("base", "reverse"))
    readers = {"a": moody("a", 0.7), "b": moody("b", 0.3)}
    found = study.estimates(readers, **pairs(("a", "b"), resamples=20_000))
    row = found.one(reference_model="b", metric="flip_rate", denominator=denominator, arm="reverse")
    sums = [array for reader in readers.values() for array in decided(study, reader, "reverse", admit)]

    def contrast(flips_a, counts_a, flips_b, counts_b, axis):
        return flips_a.sum(axis) / counts_a.sum(axis) - flips_b.sum(axis) / counts_b.sum(axis)

    theirs = stats.bootstrap(
        sums, contrast, paired=True, vectorized=True, n_resamples=20_000, method="percentile",
        rng=np.random.default_rng(5),
    )  # fmt: skip
    assert row["value"] == pytest.approx(contrast(*sums, axis=0))
    interval = theirs.confidence_interval
    assert (row["low"], row["high"]) == pytest.approx((interval.low, interval.high), abs=0.01)


def test_pairing_narrows_the_interval_of_models_that_err_on_the_same_cases(made):
    def reader(extra):
        # half of the patients are hard for both, a few more for the second
        return flips_in({*range(0, 40, 2), *range(1, 1 + 2 * extra, 2)})

    found = made(patients=40, arms=SOME).estimates({"a": reader(6), "b": reader(0)}, **pairs(("a", "b")))
    row = found.one(reference_model="b", metric="flip_rate", denominator="all", arm="reverse")
    # six of forty patients differ, all one way; unpaired the standard error would be .11
    assert row["value"] == pytest.approx(0.15)
    assert row["low"] > 0
    assert row["high"] - row["low"] < 0.25


def test_a_lost_answer_makes_the_difference_incomplete_and_its_bounds_hold_the_truth(made):
    study = made(patients=7, per_patient=1, arms=SOME, logprobs=confident)
    possible = ("GBM", "MET", "UNSURE", "UNPARSED")
    rules = pairs(("a", "b"), ("b", "a"), arm_permutations=999, strata=[])

    def losing(first, second):
        whole = flips_in(range(5))

        def answer(asked):
            lost = {("p000-s0", "reverse"): first, ("p001-s0", "base"): second}
            return lost.get((asked.case, asked.arm), whole(asked))

        return answer

    other = flips_in((6,))
    seen = study.estimates({"a": losing("ERROR", "ERROR"), "b": other}, **rules)
    # each with each in turn: half of all pairs
    for first, second in itertools.chain(
        zip(possible, possible, strict=True), zip(possible, possible[::-1], strict=True)
    ):
        truth = study.estimates({"a": losing(first, second), "b": other}, **rules)
        for reference in ("a", "b"):
            whole = {key(row): row["value"] for row in truth.all(reference_model=reference)}
            broken = [row for row in seen.all(reference_model=reference) if row["n_error"]]
            assert len(broken) > 20
            for row in broken:
                assert row["estimate_status"] in ("incomplete", "undefined")
                if whole[key(row)] is not None and row["bound_low"] is not None:
                    assert row["bound_low"] - 1e-9 <= whole[key(row)] <= row["bound_high"] + 1e-9, key(row)


def test_what_one_model_alone_lost_is_left_out_of_both(made):
    def lame(asked):
        return "ERROR" if asked.case < "p004" and asked.arm == "reverse" else "GBM"

    found = made(patients=12, per_patient=1, arms=SOME).estimates(
        {"a": lame, "b": flips_in(range(4))}, **pairs(("a", "b"))
    )
    row = found.one(reference_model="b", metric="flip_rate", denominator="all", arm="reverse")
    # b flips only where a has no answer
    assert (row["value"], row["n"], row["n_error"], row["estimate_status"]) == (0.0, 8, 4, "incomplete")


def test_nothing_to_compare_says_so(made):
    found = made(arms=SOME).estimates({"a": lambda asked: "UNSURE", "b": lambda asked: "GBM"}, **pairs(("a", "b")))
    row = found.one(reference_model="b", metric="slot_following")
    assert (row["value"], row["n"], row["estimate_status"]) == (None, 0, "undefined")
    assert row["reason"] == (
        "the two models have nothing to compare: no case has a label in both of base, label_swap, for one of them or "
        "for both"
    )


def test_readouts_are_compared_where_both_models_have_them(made):
    study = made(patients=6, arms=("base", "reverse"))
    readers = {"a": lambda asked: "GBM", "b": lambda asked: "MET"}
    both = study.estimates(readers, ("text", "logprob"), **pairs(("a", "b")))
    assert {row["readout"] for row in both.all(reference_model="b")} == {"text", "logprob"}


def test_comparisons_leave_every_other_estimate_as_it_was(made):
    study, readers = made(patients=20, arms=SOME, logprobs=confident), {"a": moody("a", 0.5), "b": moody("b", 0.3)}
    alone, compared = study.estimates(readers), study.estimates(readers, **pairs(("a", "b")))
    assert compared.all(reference_model=None) == alone.rows
    ESTIMATES.from_rows(compared.rows)


def test_the_combined_variance_is_that_of_the_bootstrap_and_of_a_paired_difference():
    random = np.random.default_rng(11)
    starts = np.arange(0, 400, 2)
    values, counted = random.integers(0, 2, size=(400, 2)).astype(float), random.random((400, 2)) < 0.7
    sums = ClusterSums.of(values, counted, starts)
    drawn = random.integers(200, size=(20_000, 200))
    means = sums.sums[drawn].sum(axis=1) / sums.counts[drawn].sum(axis=1)
    assert sums.combined_variance([0, 1], [1, -1]) == pytest.approx((means[:, 0] - means[:, 1]).var(), rel=0.05)
    every = np.ones_like(counted)
    apart = ClusterSums.of(values, every, starts)
    paired = ClusterSums.of(values[:, :1] - values[:, 1:], every[:, :1], starts)
    assert apart.combined_variance([0, 1], [1, -1]) == pytest.approx(float(paired.cluster_variance[0]))


@pytest.mark.parametrize("unsure", [True, False])
def test_a_claim_can_be_about_exactly_what_has_one_estimate_per_arm(made, unsure):
    # slot following has one denominator only; of several, `all` or `label_known` is meant
    study = made(patients=4, unsure=unsure)
    found = study.estimates({"a": lambda asked: "GBM", "b": lambda asked: "MET"}, **pairs(("a", "b")))
    not_meant = {"flip_direction", "status_share", "d_same", "d_cross", "readout_agreement", "coverage", "rstd"}
    estimated: dict[tuple[str, str], int] = {}
    for row in found.all(reference_model="b"):
        first = row["denominator"] in ("all", "label_known", "pairs_of_draws") or row["metric"] == "slot_following"
        if first and row["metric"] not in not_meant:
            estimated[row["metric"], row["arm"]] = estimated.get((row["metric"], row["arm"]), 0) + 1
    arms = tuple(ArmName(arm) for arm in study.arms)
    admitted = {(metric.value, arm.value) for metric in Metric for arm in claimable(metric, arms, unsure=unsure)}
    assert set(estimated.values()) == {1}
    assert admitted == set(estimated)
