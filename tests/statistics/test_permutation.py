"""Sign flips against scipy's paired permutation test, McNemar against statsmodels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar

from steadyread.statistics.permutation import EXACT_SIGN_FLIP, MCNEMAR, SignFlips, mcnemar_p

FLIPS = SignFlips.draw(12, 9999, "test")


def test_signs_are_balanced_and_a_function_of_the_seed():
    assert set(np.unique(FLIPS.signs)) == {-1, 1}
    assert abs(FLIPS.signs.mean()) < 0.02
    assert (FLIPS.signs == SignFlips.draw(12, 9999, "test").signs).all()


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.lists(st.integers(-2, 2), min_size=2, max_size=9))
def test_the_exact_p_is_scipys(differences):
    padded = np.zeros((12, 1))
    padded[: len(differences), 0] = differences
    (p,), (name,) = FLIPS.p_values(padded)
    assert name == EXACT_SIGN_FLIP
    values = np.array(differences, dtype=float)
    theirs = stats.permutation_test(
        (values, np.zeros(len(values))),
        lambda x, y, axis: np.abs((x - y).sum(axis=axis)),
        permutation_type="samples",
        alternative="greater",
        n_resamples=np.inf,
        vectorized=True,
    )
    assert p == pytest.approx(theirs.pvalue)


def test_the_sampled_p_is_near_the_exact_one_and_never_zero():
    differences = np.zeros((40, 2))
    differences[:14, 0] = [1] * 10 + [-1] * 4
    differences[:40, 1] = 1
    flips = SignFlips.draw(40, 9999, "sampled")
    p, names = flips.p_values(differences)
    exact = stats.binomtest(4, 14).pvalue
    assert p[0] == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 9999))
    assert p[1] == 1 / 10_000
    assert set(names) == {"patient sign flip, 9999 permutations"}


@pytest.mark.filterwarnings("error")
def test_thousands_of_patients_are_permuted_as_a_few_are():
    differences = np.where(np.arange(2000) % 2, 1.0, -1.0)[:, None]
    p, _ = SignFlips.draw(2000, 999, "many").p_values(differences)
    assert p[0] == 1.0


def test_no_difference_at_all_has_p_one():
    p, _ = FLIPS.p_values(np.zeros((12, 1)))
    assert p[0] == 1.0


@pytest.mark.parametrize(("up", "down"), [(0, 0), (5, 0), (3, 2), (10, 1), (40, 60)])
def test_mcnemar_is_statsmodels(up, down):
    expected = 1.0 if up + down == 0 else mcnemar([[5, up], [down, 5]], exact=True).pvalue
    assert mcnemar_p(up, down) == pytest.approx(expected)


@pytest.mark.parametrize(("up", "down"), [(5, 0), (3, 2), (7, 1), (6, 6)])
def test_with_one_case_per_patient_sign_flips_and_mcnemar_agree(up, down):
    differences = np.zeros((12, 1))
    differences[: up + down, 0] = [1] * up + [-1] * down
    assert FLIPS.p_values(differences)[0][0] == pytest.approx(mcnemar_p(up, down))


def test_mcnemar_is_used_only_with_one_case_per_patient(made):
    def reader(asked):
        return asked.truth if asked.arm == "base" or asked.case > "p004" else "UNSURE"

    for per_patient, single in ((1, True), (2, False)):
        found = made(per_patient=per_patient).estimates({"m": reader})
        tests = {row["test"] for row in found.all(metric="accuracy_difference")}
        assert (tests == {MCNEMAR}) is single
        assert (MCNEMAR in tests) is single
