"""What holds of every row, whatever was said: ranges, intervals, resamples, strata, names of patients."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steadyread.arms.registry import EVIDENCE_PRESERVING
from steadyread.contracts.enums import SLICE_ORDER_ARMS, ArmName, Metric, Unit
from steadyread.contracts.tables import CASES, ESTIMATES, TRIALS
from steadyread.identity.seeds import uniform
from steadyread.statistics.estimand import Context
from steadyread.statistics.estimate import estimate_rows
from steadyread.statistics.evaluate import Draws, evaluate
from steadyread.statistics.evaluate_statistics import evaluate_pairs, evaluate_statistics
from steadyread.statistics.metrics import asked_of
from steadyread.statistics.reading import readings_of
from steadyread.statistics.trial_index import index_trials

G, M, U, X, E = "GBM", "MET", "UNSURE", "UNPARSED", "ERROR"
ARMS = (
    *("base", "repeat", "reverse", "shuffle", "roi_first", "label_swap", "label_cycle", "lesion_removed"),
    *("remove_fraction", "roi_at", "matched_removed", "no_image", "mention_only"),
)
KEY = ("readout", "metric", "denominator", "arm", "variant", "reference_arm", "parameter", "stratum")
CURVES = {"dose_response", "dose_flips", "position_accuracy", "position_flips", "reliability", "risk_at_coverage"}
DRAWN_BY_ID = {"slot_prior", "observed_accuracy", "debiased_accuracy", "debiased_difference", "effective_reliability"}
NUMBERS = {
    "cochran_q": (0, math.inf), "kappa": (-1, 1), "scaffold_share": (-math.inf, math.inf), "ece": (0, 1),
    "aurc": (0, 1), "augrc": (0, 0.5), "effective_reliability": (-10, 1),
}  # fmt: skip
SPREADS = {"accuracy_swing": (0, 1), "rstd": (0, 0.5)}


def logs(asked):
    """Log-probabilities that follow content and slot, and differ from trial to trial."""
    raw = [
        0.1 + 0.2 * uniform("logs", asked.trial_id, place) + 0.5 * (option == asked.truth) + 0.55 * (not place)
        for place, option in enumerate(asked.options)
    ]
    return [math.log(value / sum(raw)) for value in raw]


def moody(name, share):
    """Right, but for a share of the trials; patients differ in how often. Less sure without images."""

    def answer(asked):
        if uniform(name, "blind", asked.case) < {"no_image": 0.8, "mention_only": 0.4}.get(asked.arm, 0):
            return U
        if uniform(name, asked.trial_id) < share * 2 * uniform(name, asked.case.split("-")[0]):
            return (G, M, G, M, U, X)[int(uniform(name, "which", asked.trial_id) * 6)]
        return asked.truth

    return answer


def site(case, arm):
    return {"sequence": case[-2:], "site": "abc"[int(case[1:4]) % 3]}


def key(row):
    return tuple(row[name] for name in KEY)


def limits(row):
    if row["metric"] in NUMBERS | SPREADS:
        return (NUMBERS | SPREADS)[row["metric"]]
    return (-1, 1) if Metric(row["metric"]).unit is Unit.POINTS else (0, 1)


@pytest.fixture(scope="module")
def study(made):
    return made(patients=24, arms=ARMS, logprobs=logs, strata=site, extra_draws={"reverse": 1})


@pytest.fixture(scope="module")
def found(study):
    return study.estimates({"m": moody("m", 0.7)}, ("text", "logprob"))


def asked_and_draws(study, readers):
    """What is estimated of each reader, read from its log-probabilities, with units and draws."""
    trials, cases, outcomes = study.tables(readers, ("logprob",))
    rules = study.settings(list(readers))
    index = index_trials(trials, cases, study.labels)
    draws = Draws.of(rules.statistics, index.units.patients, rules.seed)
    arms = tuple(ArmName(arm) for arm in study.arms if arm != "repeat")
    asked = {
        model: asked_of(
            Context(readings["logprob"], readings, arms, study.unsure, EVIDENCE_PRESERVING, SLICE_ORDER_ARMS, 7)
        )
        for model, readings in readings_of(index, outcomes, list(readers))
    }
    return asked, index.units, draws


def test_the_study_has_a_value_of_every_metric(found):
    assert {row["metric"] for row in found.rows if row["value"] is not None} == {metric.value for metric in Metric}
    ESTIMATES.from_rows(found.rows)


def test_every_value_lies_in_its_range_and_in_its_interval(found):
    intervals = set()
    for row in found.rows:
        if row["value"] is None:
            continue
        low, high = limits(row)
        assert low - 1e-9 <= row["value"] <= high + 1e-9, key(row)
        if row["low"] is not None:
            assert low - 1e-9 <= row["low"] <= row["value"] <= row["high"] <= high + 1e-9, key(row)
            intervals.add(row["metric"])
    assert intervals == {metric.value for metric in Metric} - {"cochran_q"}  # which is a test


def test_resamples_are_printed_and_never_more_than_were_asked_for(found):
    seen: dict[bool, set[int]] = {True: set(), False: set()}
    for row in found.rows:
        small = row["metric"] in CURVES or row["stratum"] != "all"
        if row["resamples"] is None:
            assert row["interval_method"] != "patient bootstrap, percentile"
        else:
            seen[small].add(row["resamples"])
    assert max(seen[True]) == 2000
    assert max(seen[False]) == 5000


def test_more_resamples_are_drawn_where_more_are_asked_for(made):
    study = made(patients=12, arms=("base", "reverse", "roi_at"), logprobs=logs)
    rules = {"resamples": 6000, "curve_resamples": 2500, "strata": []}
    rows = study.estimates({"m": moody("m", 0.7)}, statistics=rules).rows
    for row in rows:
        if row["resamples"] is not None:
            assert row["resamples"] <= (2500 if row["metric"] in CURVES else 6000)
    assert {row["resamples"] for row in rows} >= {6000, 2500}


@settings(max_examples=8, deadline=None, derandomize=True)
@given(st.data())
def test_ranges_hold_whatever_was_said(made, data):
    study = made(patients=5, per_patient=1, arms=("base", "reverse", "label_swap", "roi_at", "no_image"), logprobs=logs)
    answers = {row["trial_id"]: data.draw(st.sampled_from((G, M, U, X))) for row in study.trial_rows()}
    rules = {"min_patients_with_event": 1, "strata": []}
    for row in study.estimates({"m": lambda asked: answers[asked.trial_id]}, statistics=rules).rows:
        low, high = limits(row)
        if row["value"] is None:
            assert row["estimate_status"] == "undefined"
            assert row["reason"]
            assert row["low"] is None
        else:
            assert low - 1e-9 <= row["value"] <= high + 1e-9
        if row["low"] is not None:
            assert row["low"] <= row["value"] <= row["high"]


def test_a_stratum_of_all_cases_has_the_values_of_the_whole(study):
    asked, units, draws = asked_and_draws(study, {"m": moody("m", 0.7)})
    every = np.ones(len(units.item_ids), dtype=bool)
    for items, run in ((asked["m"].means, evaluate), (asked["m"].statistics, evaluate_statistics)):
        whole = run(items, units, draws)
        part = run([item.within(every) for item in items], units, draws)
        assert [row["value"] for row in part] == [row["value"] for row in whole]
        assert [row["n"] for row in part] == [row["n"] for row in whole]
        assert [(row["low"], row["high"]) for row in part] == [(row["low"], row["high"]) for row in whole]


def test_a_statistic_of_some_cases_is_that_of_a_study_of_them_alone(study, made):
    asked, units, draws = asked_and_draws(study, {"m": moody("m", 0.7)})
    chosen = np.array([facts["sequence"] == "s0" for facts in units.strata])
    part = evaluate_statistics([item.within(chosen) for item in asked["m"].statistics], units, draws, "some")
    smaller = made(
        patients=24, arms=ARMS, logprobs=logs, extra_draws={"reverse": 1}, left_out=lambda case, arm: case[-2:] != "s0"
    )
    alone, fewer, others = asked_and_draws(smaller, {"m": moody("m", 0.7)})
    rows = {key(row | {"readout": None}): row for row in evaluate_statistics(alone["m"].statistics, fewer, others)}
    compared = 0
    for row in part:
        if row["metric"] in DRAWN_BY_ID | {"reliability"}:
            continue
        other = rows[key(row | {"readout": None, "stratum": "all"})]
        assert (row["value"], row["n"]) == (pytest.approx(other["value"]), other["n"]), key(row | {"readout": None})
        compared += 1
    assert compared > 30


def test_other_names_of_patients_change_only_what_is_drawn_by_name(study, found):
    trials, cases, outcomes = study.tables({"m": moody("m", 0.7)}, ("text", "logprob"))

    def renamed(patient):
        return f"q{int(patient[1:]) * 7 % 24:02d}"

    trials = TRIALS.from_rows({**row, "cluster_id": renamed(row["cluster_id"])} for row in trials.to_pylist())
    cases = CASES.from_rows({**row, "patient_id": renamed(row["patient_id"])} for row in cases.to_pylist())
    rows = {key(row): row for row in estimate_rows(trials, cases, outcomes, study.settings(["m"]), "made")}
    moved = set()
    # each draw is by patient: values stay, and so does what no resample or permutation takes part in
    for row in found.rows:
        other = rows[key(row)]
        same = row["value"] == pytest.approx(other["value"]) and row["n"] == other["n"]
        if not same:
            moved.add(row["metric"])
        elif row["resamples"] is None and row["metric"] not in DRAWN_BY_ID:
            assert row["low"] == pytest.approx(other["low"])
    assert moved
    assert moved <= DRAWN_BY_ID


def test_the_interval_of_kappa_is_a_bootstrap_of_patients_written_out(study, found):
    row = found.one(metric="kappa", arm="reverse", readout="text")
    asked = {trial["trial_id"]: trial for trial in study.trial_rows() if trial["draw"] == 0}
    said = {
        (asked[out["trial_id"]]["case_id"], asked[out["trial_id"]]["arm"]): out["label"] or out["outcome_status"]
        for out in study.outcome_rows({"m": moody("m", 0.7)})
        if out["trial_id"] in asked
    }
    codes = {word: number for number, word in enumerate((G, M, U, X))}
    pairs = np.array(
        [
            [[codes[said[f"p{patient:03d}-s{n}", arm]] for arm in ("base", "reverse")] for n in range(2)]
            for patient in range(24)
        ]
    )

    def kappa(pairs):
        table = np.zeros((4, 4))
        np.add.at(table, (pairs[:, 0], pairs[:, 1]), 1 / len(pairs))
        chance = table.sum(axis=0) @ table.sum(axis=1)
        return (np.trace(table) - chance) / (1 - chance)

    random = np.random.default_rng(2)
    drawn = [kappa(pairs[random.integers(24, size=24)].reshape(-1, 2)) for _ in range(4000)]
    assert row["value"] == pytest.approx(kappa(pairs.reshape(-1, 2)))
    assert (row["low"], row["high"]) == pytest.approx(tuple(np.quantile(drawn, [0.025, 0.975])), abs=0.02)


def test_one_patient_has_values_and_no_interval(made):
    study = made(patients=1, arms=("base", "reverse", "roi_at"), logprobs=logs)
    found = study.estimates({"m": lambda asked: M if asked.arm == "reverse" else G})
    for metric in ("kappa", "ece", "aurc", "position_flips"):
        row = found.all(metric=metric)[0]
        assert (row["low"], row["estimate_status"]) == (None, "too_few_events")
        assert row["reason"] == "one patient: no interval over patients"


def test_what_two_models_have_alike_is_no_difference_with_an_interval(study):
    asked, units, draws = asked_and_draws(study, {"a": moody("a", 0.5), "b": moody("b", 0.5)})
    alike = evaluate_pairs([(item, item) for item in asked["a"].statistics], units, draws)
    assert {row["value"] for row in alike} <= {0.0, None}
    assert {row["low"] for row in alike} == {None}
    keyed = {key(row | {"readout": None}): row for row in evaluate_statistics(asked["b"].statistics, units, draws)}
    # (both read the same log-probabilities: their slot priors are one)
    pairs = [(a, b) for a in asked["a"].statistics for b in asked["b"].statistics if _same(a, b)]
    for (first, _), row in zip(pairs, evaluate_pairs(pairs, units, draws), strict=True):
        (own,) = evaluate_statistics([first], units, draws)
        other = keyed[key(row | {"readout": None})]
        if row["value"] is not None:
            assert row["value"] == pytest.approx(own["value"] - other["value"])
        if row["metric"] == "slot_prior":
            assert row["low"] is None


def _same(first, second):
    names = ("metric", "denominator", "arm", "variant", "parameter", "reference_arm")
    return first.metric != "reliability" and all(getattr(first, name) == getattr(second, name) for name in names)
