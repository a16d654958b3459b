"""Cochran's Q: the textbook's statistic, a p that is uniform where arms do not matter."""

from __future__ import annotations

import itertools
import math
import time

import numpy as np
import pytest
from scipy.stats import binomtest, kstest
from statsmodels.stats.contingency_tables import cochrans_q

from steadyread.statistics.cochran import EXACT_COCHRAN, ArmPermutations, cochran_q


def permutations(patients, count=999, *seed):
    return ArmPermutations(patients, count, seed or (3,))


def outcomes(patients, arms, per_patient=1, rates=None, seed=5):
    """Units of a patient are alike: half of the outcomes are the patient's own."""
    random = np.random.default_rng(seed)
    rates = np.full(arms, 0.4) if rates is None else np.asarray(rates)
    own = random.random((patients, 1, arms)) < rates
    each = random.random((patients, per_patient, arms)) < rates
    shared = random.random((patients, per_patient, 1)) < 0.5
    values = np.where(shared, own, each).reshape(-1, arms).astype(float)
    return values, np.ones(values.shape, dtype=bool), np.arange(0, len(values), per_patient)


def units_of(sums):
    """Three units a patient whose outcomes add up to the patients' sums."""
    values = (np.arange(3)[None, :, None] < sums[:, None, :]).astype(float)
    return values.reshape(-1, sums.shape[1]), np.arange(0, 3 * len(sums), 3)


@pytest.mark.parametrize("arms", [2, 3, 8])
def test_the_statistic_is_that_of_statsmodels(arms):
    values, counted, starts = outcomes(60, arms, per_patient=2)
    found = cochran_q(values, counted, starts, permutations(60))
    assert found.statistic == pytest.approx(cochrans_q(values).statistic)


def test_units_that_lack_an_arm_take_no_part():
    values, counted, starts = outcomes(40, 3, per_patient=2)
    counted[[0, 1, 7, 30], [0, 2, 1, 1]] = False
    found = cochran_q(values, counted, starts, permutations(40))
    whole = counted.all(axis=1)
    assert found.n == whole.sum() == 76
    assert found.patients == 39  # both units of the first patient are gone
    assert found.statistic == pytest.approx(cochrans_q(values[whole]).statistic)


def test_with_many_independent_patients_p_is_that_of_chi_squared():
    values, counted, starts = outcomes(400, 4, rates=(0.4, 0.4, 0.42, 0.44), seed=8)
    found = cochran_q(values, counted, starts, permutations(400, 1999))
    theirs = cochrans_q(values).pvalue
    assert 0.001 < theirs < 0.2
    assert binomtest(round(found.p * 2000) - 1, 1999, theirs).pvalue > 0.001


def test_of_two_arms_with_one_unit_each_it_is_exact_mcnemar():
    values = np.array([[1, 0]] * 6 + [[0, 1]] * 2 + [[1, 1]] * 5 + [[0, 0]] * 5, dtype=float)
    found = cochran_q(values, np.ones_like(values, dtype=bool), np.arange(18), permutations(18))
    assert found.test == EXACT_COCHRAN
    assert found.p == pytest.approx(binomtest(6, 8).pvalue)
    assert found.moving == 8


def test_enumerated_patterns_are_all_there_are():
    sums = np.array([[3, 1, 0], [2, 2, 1], [0, 1, 1]], dtype=float)
    values, starts = units_of(sums)
    counted = values >= 0
    totals = [
        sum(np.asarray(patient)[list(order)] for patient, order in zip(sums, chosen, strict=True))
        for chosen in itertools.product(list(itertools.permutations(range(3))), repeat=3)
    ]
    spread = [np.var(total) for total in totals]
    found = cochran_q(values, counted, starts, permutations(3))
    assert found.p == pytest.approx(np.mean(np.array(spread) >= np.var(sums.sum(axis=0)) - 1e-12))


def test_sampled_and_enumerated_p_agree():
    values, starts = units_of(np.array([[3, 1, 0], [2, 2, 1], [0, 1, 1], [2, 0, 0], [3, 2, 1]], dtype=float))
    counted = values >= 0
    exact = cochran_q(values, counted, starts, permutations(5, 6**5))
    sampled = cochran_q(values, counted, starts, permutations(5, 6**5 - 1))
    assert (exact.test == EXACT_COCHRAN) != (sampled.test == EXACT_COCHRAN)
    assert sampled.p == pytest.approx(exact.p, abs=0.02)
    assert 0.05 < exact.p < 0.95


def test_p_is_uniform_where_arms_do_not_matter_and_units_of_a_patient_are_alike():
    p = []
    for run in range(400):
        values, counted, starts = outcomes(40, 4, per_patient=3, seed=run)
        p.append(cochran_q(values, counted, starts, permutations(40, 199, run)).p)
    assert kstest(p, "uniform").pvalue > 0.001
    # treating units as patients would be wrong here: the same data, cut into units
    assert np.mean(np.array(p) <= 0.05) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 400)


def test_two_copies_of_every_unit_say_no_more_than_one():
    values, counted, starts = outcomes(30, 4, rates=(0.3, 0.3, 0.5, 0.6))
    once = cochran_q(values, counted, starts, permutations(30))
    twice = cochran_q(values.repeat(2, axis=0), counted.repeat(2, axis=0), starts * 2, permutations(30))
    assert twice.p == once.p
    assert twice.statistic == pytest.approx(2 * once.statistic)


def test_an_arm_that_differs_is_found():
    values, counted, starts = outcomes(90, 6, per_patient=2, rates=(0.3, 0.3, 0.3, 0.3, 0.3, 0.7))
    assert cochran_q(values, counted, starts, permutations(90)).p == 1 / 1000


def test_relabelled_arms_and_reordered_units_of_a_patient_leave_the_statistic():
    values, counted, starts = outcomes(50, 5, per_patient=2)
    found = cochran_q(values, counted, starts, permutations(50))
    for other in (values[:, [3, 1, 4, 0, 2]], values.reshape(50, 2, 5)[:, ::-1].reshape(-1, 5), 1 - values):
        again = cochran_q(other, counted, starts, permutations(50))
        assert again.statistic == pytest.approx(found.statistic)
        assert again.p == pytest.approx(found.p, abs=0.06)


def test_patients_who_never_vary_leave_p_as_it_is():
    values, counted, starts = outcomes(30, 4)
    still = np.vstack([values, np.ones((20, 4)), np.zeros((20, 4))])
    drawn = permutations(30, 999)
    more = ArmPermutations(
        70, 999, (3,), {4: np.concatenate([drawn.orders(4), drawn.orders(4), drawn.orders(4)], 1)[:, :70]}
    )
    found = cochran_q(values, counted, starts, drawn)
    again = cochran_q(still, np.ones_like(still, dtype=bool), np.arange(70), more)
    assert (again.p, again.statistic, again.moving) == (found.p, pytest.approx(found.statistic), found.moving)


def test_nothing_that_varies_is_no_evidence():
    values = np.ones((10, 3))
    found = cochran_q(values, values > 0, np.arange(10), permutations(10))
    assert math.isnan(found.statistic)
    assert found.p == 1.0


def test_no_unit_has_no_p():
    values = np.ones((10, 3))
    found = cochran_q(values, values < 0, np.arange(10), permutations(10))
    assert math.isnan(found.p)
    assert found.n == 0


def test_orders_are_permutations_uniform_and_a_function_of_the_seed():
    orders = permutations(500, 200, 1, "q").orders(3)
    assert (np.sort(orders, axis=-1) == np.arange(3)).all()
    counts = np.unique(orders.reshape(-1, 3), axis=0, return_counts=True)[1]
    assert len(counts) == 6
    expected = orders.shape[0] * orders.shape[1] / 6
    assert ((counts - expected) ** 2 / expected).sum() < 21  # χ² on 5 degrees of freedom, 99.9 %
    assert (orders == permutations(500, 200, 1, "q").orders(3)).all()
    assert (orders != permutations(500, 200, 2, "q").orders(3)).any()


def test_permutations_of_other_patients_are_refused():
    values, counted, starts = outcomes(10, 3)
    with pytest.raises(ValueError, match="of 9 patients"):
        cochran_q(values, counted, starts, permutations(9))


@pytest.mark.slow
def test_eight_arms_of_ten_thousand_cases_take_under_a_second_a_model():
    values, counted, starts = outcomes(5000, 8, per_patient=2)
    drawn = permutations(5000, 1999)
    drawn.orders(8)
    start = time.process_time()
    cochran_q(values, counted, starts, drawn)
    assert time.process_time() - start < 1
