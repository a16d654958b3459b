"""Wilson with an effective n: the plain interval in the limit, and coverage where patients have two cases."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from steadyread.statistics.clusters import ClusterSums
from steadyread.statistics.rates import design_effect, share_intervals, t_quantile, wilson


def sums_of(values, size):
    """Clusters of equal size from values of shape (clusters · size, columns)."""
    values = np.asarray(values, dtype=float)
    return ClusterSums.of(values, np.ones(values.shape, bool), np.arange(0, len(values), size))


@pytest.mark.parametrize(("events", "n"), [(0, 20), (1, 20), (7, 20), (20, 20), (90, 180)])
def test_with_a_normal_quantile_it_is_the_wilson_interval_of_statsmodels(events, n):
    low, high = wilson(events / n, n, stats.norm.ppf(0.975))
    expected = proportion_confint(events, n, alpha=0.05, method="wilson")
    assert (float(low), float(high)) == pytest.approx(expected, abs=1e-12)


def test_with_many_patients_of_one_case_the_whole_machinery_is_plain_wilson():
    values = np.zeros((100_000, 1))
    values[:30_000] = 1
    low, high, effect, effective = share_intervals(sums_of(values, 1), 0.95)
    assert (low[0], high[0]) == pytest.approx(proportion_confint(30_000, 100_000, method="wilson"), abs=1e-6)
    assert (effect[0], effective[0]) == (1.0, 100_000)


def test_the_quantile_is_students_on_patients_minus_one():
    assert t_quantile(0.975, np.array([2, 12, 90])) == pytest.approx([12.7062047, 2.2009852, 1.9869787])
    assert np.isnan(t_quantile(0.975, np.array([1]))[0])


def test_the_cluster_variance_by_hand():
    # two patients of two cases, one of one: sums 2, 1, 0 of 2, 2, 1; mean 3/5
    values = np.array([[1.0], [1.0], [1.0], [0.0], [0.0]])
    sums = ClusterSums.of(values, np.ones((5, 1), bool), np.array([0, 2, 4]))
    squares = (2 - 1.2) ** 2 + (1 - 1.2) ** 2 + (0 - 0.6) ** 2
    assert sums.cluster_variance[0] == pytest.approx(3 / 2 * squares / 25)
    assert (sums.mean[0], sums.n[0], sums.clusters[0]) == (pytest.approx(0.6), 5, 3)


def test_cases_that_always_agree_within_a_patient_count_once():
    once = np.repeat([1.0, 0.0, 0.0, 1.0, 0.0], 2)[:, None]
    sums = sums_of(once, 2)
    assert design_effect(sums, sums.mean * (1 - sums.mean))[0] == 2.0
    assert share_intervals(sums, 0.95)[3][0] == 5


def test_freedom_is_counted_in_patients_and_size_in_effective_cases():
    values = np.repeat([1.0, 0.0, 0.0, 1.0, 0.0, 0.0], 3)[:, None]
    low, high, _, effective = share_intervals(sums_of(values, 3), 0.95)
    expected = wilson(1 / 3, 6, stats.t.ppf(0.975, 5))
    assert effective[0] == pytest.approx(6)
    assert (low[0], high[0]) == pytest.approx((float(expected[0]), float(expected[1])))


def test_the_design_effect_never_leaves_one_to_mean_cluster_size_and_is_one_at_the_ends():
    apart = np.tile([1.0, 0.0], 10)[:, None]  # patients' cases always differ: less than no clustering
    for values, expected in ((apart, 1.0), (np.zeros((20, 1)), 1.0), (np.ones((20, 1)), 1.0)):
        sums = sums_of(values, 2)
        assert design_effect(sums, sums.mean * (1 - sums.mean))[0] == expected


def test_a_share_of_nothing_seen_has_the_lower_limit_zero_and_an_upper_limit():
    low, high, _, _ = share_intervals(sums_of(np.zeros((24, 1)), 2), 0.95)
    assert low[0] == 0.0
    assert 0.1 < high[0] < 0.3


@pytest.mark.parametrize("patients", [45, 90])
@pytest.mark.parametrize("correlation", [0.0, 0.3, 0.5])
@pytest.mark.parametrize("share", [0.1, 0.3, 0.5])
def test_the_interval_covers_the_truth_where_plain_wilson_does_not(patients, correlation, share):
    runs = 4000
    random = np.random.default_rng([patients, int(10 * correlation), int(10 * share)])
    chance = np.full((patients, runs), share)
    if correlation:
        scale = 1 / correlation - 1
        chance = random.beta(share * scale, (1 - share) * scale, size=(patients, runs))
    values = (random.random((patients, 2, runs)) < chance[:, None]).reshape(2 * patients, runs).astype(float)
    sums = sums_of(values, 2)
    low, high, _, _ = share_intervals(sums, 0.95)
    covered = np.mean((low <= share) & (share <= high))
    error = np.sqrt(0.95 * 0.05 / runs)
    assert covered >= (0.92 if patients == 45 else 0.93) - 2 * error
    if correlation == 0.5:
        plain_low, plain_high = wilson(sums.mean, sums.n, stats.norm.ppf(0.975))
        assert np.mean((plain_low <= share) & (share <= plain_high)) < 0.92
