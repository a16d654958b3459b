"""Holm within a family of one model, Benjamini–Hochberg over everything that was tested."""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from steadyread.statistics.multiplicity import adjust, benjamini_hochberg, holm
from steadyread.statistics.permutation import SignFlips

P = [0.01, 0.04, 0.03, 0.005, 0.03, 0.9, 0.6]


def test_both_are_statsmodels():
    assert holm(P) == pytest.approx(multipletests(P, method="holm")[1])
    assert benjamini_hochberg(P) == pytest.approx(multipletests(P, method="fdr_bh")[1])


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.02]) == [0.02]
    assert holm([]) == benjamini_hochberg([]) == []


def row(model, family, p):
    names = {"model": model, "readout": "text", "stratum": "all", "family": family}
    return {**names, "p": p, "p_holm": None, "q_bh": None}


def test_families_do_not_mix_models_and_exploratory_tests_get_no_holm():
    rows = [row("a", "f", 0.01), row("a", "f", 0.04), row("b", "f", 0.02), row("a", None, 0.03), row("a", "f", None)]
    adjust(rows)
    assert [item["p_holm"] for item in rows] == [0.02, 0.04, 0.02, None, None]
    both = [row("a", "f", 0.01), row("a", "f", 0.04) | {"readout": "logprob"}]
    adjust(both)
    assert [item["p_holm"] for item in both] == [0.01, 0.04]
    tested = [item["q_bh"] for item in rows[:4]]
    assert tested == pytest.approx(multipletests([0.01, 0.04, 0.02, 0.03], method="fdr_bh")[1])
    assert rows[4]["q_bh"] is None


def test_the_families_are_those_of_the_protocol(made):
    def reader(asked):
        return asked.truth if asked.arm in ("base", "matched_removed") else "UNSURE"

    found = made().estimates({"m": reader})
    families = {}
    for item in found.rows:
        if item["p"] is not None:
            families.setdefault(item["family"], set()).add((item["metric"], item["arm"], item["reference_arm"]))
    confirmatory = {name: members for name, members in families.items() if name}
    assert sorted(map(sorted, confirmatory.values())) == [
        [
            ("accuracy_difference", arm, "base")
            for arm in ("abstain_first", "label_cycle", "label_swap", "reverse", "roi_first", "roi_last", "shuffle")
        ],
        [("flip_difference", "reverse", "shuffle")],
        [("overcommitment_difference", "matched_removed", "lesion_removed")],
    ]
    assert {item["metric"] for item in found.rows if item["p"] is not None} == {
        *("accuracy_difference", "overcommitment_difference", "flip_difference"),
        # exploratory, of no family
        "cochran_q",
    }
    assert all((item["q_bh"] is None) == (item["p"] is None) for item in found.rows)
    assert all((item["p_holm"] is None) == (item["family"] is None) for item in found.rows)


def test_no_p_stands_against_a_floor_that_is_zero_by_construction(made):
    found = made().estimates({"m": lambda asked: asked.truth})
    for metric in ("flip_rate", "label_swap_inconsistency", "d_same", "d_cross", "delta"):
        assert all(item["p"] is None for item in found.all(metric=metric))


def test_a_pure_noise_reader_is_called_different_no_more_often_than_the_level():
    random = np.random.default_rng(11)
    flips = SignFlips.draw(45, 1999, "level")
    differences = random.binomial(2, 0.3, size=(45, 4000)) - random.binomial(2, 0.3, size=(45, 4000))
    p, _ = flips.p_values(differences.astype(float))
    assert np.mean(p <= 0.05) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 4000)
    assert np.mean(p <= 0.05) > 0.03
