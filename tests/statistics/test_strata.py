"""Strata: cases by what their trials carry; levels that together are the whole, thirds, what is left out."""

from __future__ import annotations

import logging

import numpy as np
import pytest

from steadyread.contracts.enums import Metric
from steadyread.contracts.problems import StudyError
from steadyread.identity.seeds import uniform
from steadyread.statistics import estimate
from steadyread.statistics.strata import strata_of
from steadyread.statistics.trial_index import Units

G, M, U = "GBM", "MET", "UNSURE"


def units_of(*facts):
    """Units that carry these facts, each of a patient of its own."""
    size = len(facts)
    return Units(tuple(str(n) for n in range(size)), np.arange(size), np.zeros(size, dtype=np.int64), strata=facts)


def members(units, names=None):
    return {item.name: np.flatnonzero(item.units).tolist() for item in strata_of(units, names)}


def test_levels_stand_as_they_are_in_order():
    units = units_of({"site": "b"}, {"site": "a"}, {"site": "b"}, {})
    assert members(units) == {"site=a": [1], "site=b": [0, 2]}
    numbers = units_of({"n": "10"}, {"n": "9"}, {"n": "10"})
    assert list(members(numbers)) == ["n=9", "n=10"]  # by size, not by letters


def test_a_stratum_of_all_cases_or_none_is_none():
    assert members(units_of({"site": "a"}, {"site": "a"})) == {}
    assert members(units_of({"site": "a"}, {})) == {"site=a": [0]}


def test_few_numbers_stand_where_patients_share_them_and_are_cut_in_thirds_where_not():
    assert len(members(units_of(*({"size": str(n % 8)} for n in range(40))))) == 8
    assert len(members(units_of(*({"size": str(n % 8)} for n in range(39))))) == 3
    assert len(members(units_of(*({"size": str(n)} for n in range(3))))) == 3
    cut = members(units_of(*({"size": str(n)} for n in range(9))))
    assert cut == {
        "size=lowest third (to 2)": [0, 1, 2],
        "size=middle third (to 5)": [3, 4, 5],
        "size=highest third (above 5)": [6, 7, 8],
    }


def test_thirds_hold_every_case_of_known_size_once_and_equal_sizes_together():
    sizes = [1, 1, 1, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9.5, None]
    units = units_of(*({} if size is None else {"size": str(size)} for size in sizes))
    cut = members(units)
    assert sorted(number for thirds in cut.values() for number in thirds) == list(range(13))
    assert cut["size=lowest third (to 1)"] == [0, 1, 2, 3, 4]
    many = units_of(*({"size": str(0 if n < 30 else n)} for n in range(40)))
    # more than two thirds are equal: they are one third, and there is no middle
    assert {name: len(found) for name, found in members(many).items()} == {
        "size=lowest third (to 0)": 30,
        "size=highest third (above 0)": 10,
    }


def test_too_many_words_are_left_out_and_named(caplog):
    with caplog.at_level(logging.WARNING):
        assert members(units_of(*({"scanner": f"word {n}"} for n in range(9)))) == {}
    assert "stratum scanner has 9 distinct values" in caplog.text
    assert "word" not in caplog.text


def test_not_a_number_is_a_word():
    units = units_of(*({"size": value} for value in ("1", "2", "3", "4", "5", "6", "7", "8", "nan")))
    assert members(units) == {}


def test_names_choose_and_a_name_that_no_case_carries_is_refused():
    units = units_of({"site": "a", "sequence": "T2"}, {"site": "b", "sequence": "T1CE"})
    assert members(units, ["site"]) == {"site=a": [0], "site=b": [1]}
    assert members(units, []) == {}
    with pytest.raises(StudyError, match=r"\['sequnce'\], which no case carries.*\['sequence', 'site'\]"):
        members(units, ["sequnce"])
    # the study's own, which this cohort happens not to have
    assert members(units, ["lesion_size"]) == {}


# --- in a study --------------------------------------------------------------------------------


def facts(case, arm):
    """Sequence by case, site by patient, a size, and whether runs matched, which one arm alone knows."""
    known = {
        "sequence": "T1CE" if case.endswith("s0") else "T2",
        "site": "ab"[int(case[1:4]) % 2],
        "lesion_size": str(100 * int(case[1:4])),
    }
    return known | ({"runs_matched": "false" if case < "p003" else "true"} if arm == "matched_removed" else {})


def moody(asked):
    number = uniform("strata", asked.trial_id)
    return (G, M, U)[int(number * 6)] if number < 0.5 else asked.truth


ARMS = ("base", "reverse", "label_swap", "lesion_removed", "matched_removed")


@pytest.fixture(scope="module")
def found(made):
    study = made(patients=20, arms=ARMS, strata=facts, extra_draws={"base": 1, "reverse": 1})
    return study.estimates({"m": moody})


KEY = ("metric", "denominator", "arm", "variant", "reference_arm")


def of(found, name):
    return [row for row in found.rows if row["stratum"].startswith(f"{name}=")]


@pytest.mark.parametrize("name", ["sequence", "site", "lesion_size", "runs_matched"])
def test_levels_that_hold_every_case_add_up_to_the_whole(found, name):
    rows = of(found, name)
    whole = {tuple(row[key] for key in KEY): row for row in found.all(stratum="all")}
    groups = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in KEY), []).append(row)
    assert {row["metric"] for row in rows} >= {"accuracy", "flip_rate", "overcommitment_difference", "recon", "reacc"}
    for key, parts in groups.items():
        assert sum(row["n"] for row in parts) == whole[key]["n"], key
        mean = sum(row["n"] * row["value"] for row in parts if row["n"]) / whole[key]["n"]
        assert mean == pytest.approx(whole[key]["value"]), key


def test_runs_matched_is_known_from_the_arm_that_was_matched(found):
    rows = found.all(metric="accuracy", arm="base")
    assert {row["stratum"]: row["n"] for row in rows if "runs" in row["stratum"]} == {
        "runs_matched=false": 6,
        "runs_matched=true": 34,
    }


def test_a_stratum_is_the_whole_of_a_study_of_its_cases_alone(made, found):
    alone = made(
        patients=20, arms=ARMS, extra_draws={"base": 1, "reverse": 1}, left_out=lambda case, arm: case.endswith("s1")
    )
    rows = {tuple(row[key] for key in KEY): row for row in alone.estimates({"m": moody}).rows}
    stratum = found.all(stratum="sequence=T1CE")
    assert stratum
    same = ("value", "n", "clusters", "n_error", "design_effect", "estimate_status", "reason", "arms", "parameter")
    for row in stratum:
        other = rows[tuple(row[key] for key in KEY)]
        assert {name: row[name] for name in same} == {name: other[name] for name in same}
        if row["interval_method"] and "Wilson" in row["interval_method"]:
            assert (row["low"], row["high"]) == (other["low"], other["high"])


def test_strata_carry_no_test_and_the_first_two_thousand_resamples(found):
    rows = [row for row in found.rows if row["stratum"] != "all"]
    assert {(row["p"], row["p_holm"], row["q_bh"], row["test"]) for row in rows} == {(None,) * 4}
    counts = [row["resamples"] for row in rows if row["resamples"] is not None]
    # a few hold none of a small stratum's patients, and are not counted
    assert max(counts) == 2000
    assert min(counts) > 1900


def test_what_is_no_headline_is_not_estimated_by_stratum(found):
    metrics = {row["metric"] for row in found.rows if row["stratum"] != "all"}
    assert not metrics & {"flip_direction", "status_share", "kappa", "cochran_q", "any_flip", "delta"}
    assert metrics == {
        *("accuracy", "accuracy_difference", "flip_rate", "label_swap_inconsistency", "slot_following"),
        *("overcommitment", "overcommitment_difference", "reacc", "recon"),
    }
    flips = [row for row in found.all(metric="flip_rate") if row["stratum"] != "all"]
    assert {row["denominator"] for row in flips} == {"all"}


def test_no_strata_where_none_are_wanted(made):
    study = made(patients=4, arms=("base", "reverse"), strata=facts)
    assert {row["stratum"] for row in study.estimates({"m": moody}, statistics={"strata": []}).rows} == {"all"}
    named = study.estimates({"m": moody}, statistics={"strata": ["site"]})
    assert {row["stratum"] for row in named.rows} == {"all", "site=a", "site=b"}


def test_what_is_no_mean_is_estimated_by_stratum_where_its_entry_says_so(made, monkeypatch):
    monkeypatch.setattr(estimate, "STRATIFIED", (*estimate.STRATIFIED, Metric.KAPPA))
    study = made(patients=24, arms=("base", "reverse"), strata=facts)
    reader = lambda asked: G if uniform("kappa", asked.trial_id) < 0.5 else M  # noqa: E731
    rows = study.estimates({"m": reader}).all(metric="kappa")
    whole, *parts = sorted(rows, key=lambda row: row["stratum"] != "all")
    assert parts
    by_site = [row["n"] for row in parts if row["stratum"].startswith("site=")]
    assert sum(by_site) == whole["n"]
    assert {row["resamples"] for row in parts} <= {2000, 1999, None}
