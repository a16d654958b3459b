"""One matrix of weights, equal to the bootstrap written out and to scipy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from steadyread.statistics.bootstrap import Resamples, percentile_interval, percentile_intervals


def test_every_resample_draws_as_many_patients_as_there_are():
    weights = Resamples.draw(17, 5000, 1, "bootstrap").weights
    assert weights.shape == (5000, 17)
    assert set(weights.sum(axis=1).tolist()) == {17}


def test_weights_have_the_mean_variance_and_covariance_of_a_multinomial():
    patients, resamples = 10, 50_000
    weights = Resamples.draw(patients, resamples, "moments").weights.astype(float)
    covariance = np.cov(weights, rowvar=False)
    assert weights.mean(axis=0) == pytest.approx(np.ones(patients), abs=0.02)
    assert np.diag(covariance) == pytest.approx(np.full(patients, 0.9), abs=0.03)
    assert covariance[~np.eye(patients, dtype=bool)] == pytest.approx(np.full(90, -0.1), abs=0.02)


def test_the_same_seed_gives_the_same_weights_and_another_seed_others():
    first, same, other = (Resamples.draw(9, 600, seed).weights for seed in (1, 1, 2))
    assert (first == same).all()
    assert (first != other).any()


def test_a_resampled_ratio_is_the_mean_over_the_drawn_patients_cases():
    random = np.random.default_rng(0)
    counts = random.integers(0, 4, size=(8, 3)).astype(float)
    sums = random.random((8, 3)) * counts
    resamples = Resamples.draw(8, 700, "ratio")
    found = resamples.ratios(sums, counts)
    for number in (0, 511, 512, 699):
        drawn = np.repeat(np.arange(8), resamples.weights[number])
        assert found[number] == pytest.approx(sums[drawn].sum(axis=0) / counts[drawn].sum(axis=0))


def test_a_resample_without_a_counted_case_is_left_out_and_the_rest_counted():
    counts = np.array([[1.0], [0.0], [0.0]])
    found = Resamples.draw(3, 5000, "empty").ratios(counts * 0.5, counts)[:, 0]
    low, high, valid = percentile_interval(found, 0.5, 0.95)
    assert (low, high) == (0.5, 0.5)
    assert valid == pytest.approx(5000 * (1 - (2 / 3) ** 3), rel=0.05)


def test_the_interval_is_scipys_for_one_case_per_patient():
    values = np.random.default_rng(3).choice([-1.0, 0.0, 1.0], p=[0.1, 0.6, 0.3], size=60)
    ours = Resamples.draw(60, 20_000, "scipy").ratios(values[:, None], np.ones((60, 1)))[:, 0]
    low, high, _ = percentile_interval(ours, float(values.mean()), 0.95)
    theirs = stats.bootstrap((values,), np.mean, n_resamples=20_000, method="percentile", rng=np.random.default_rng(4))
    interval = theirs.confidence_interval
    assert (low, high) == pytest.approx((interval.low, interval.high), abs=1 / 60)


def test_patients_are_resampled_not_cases():
    # ten identical cases per patient say no more than one
    once = np.array([1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0])[:, None]
    resamples = Resamples.draw(10, 5000, "clusters")
    alone = resamples.ratios(once, np.ones((10, 1)))
    tenfold = resamples.ratios(10 * once, np.full((10, 1), 10.0))
    assert tenfold == pytest.approx(alone)


@pytest.mark.parametrize("resamples", [1, 2, 3, 100, 5001])
def test_many_intervals_are_numpys_quantiles_one_by_one(resamples):
    random = np.random.default_rng(resamples)
    found = random.integers(0, 30, (resamples, 60)) / 7
    found[random.random(found.shape) < 0.1] = np.nan
    low, high, valid = percentile_intervals(found, np.full(60, 2.0), 0.95)
    for column in range(60):
        kept = found[:, column][np.isfinite(found[:, column])]
        assert valid[column] == len(kept)
        if len(kept):
            expected = np.quantile(kept, [0.025, 0.975])
            assert (low[column], high[column]) == pytest.approx((min(expected[0], 2.0), max(expected[1], 2.0)))
        else:
            assert np.isnan([low[column], high[column]]).all()


def test_the_interval_of_what_is_lost_is_that_of_what_is_kept_turned_round():
    found = np.random.default_rng(5).normal(0.1, 0.3, (5000, 40))
    low, high, _ = percentile_intervals(found, np.full(40, 0.1), 0.95)
    turned_low, turned_high, _ = percentile_intervals(-found, np.full(40, -0.1), 0.95)
    assert turned_low == pytest.approx(-high, abs=1e-12)
    assert turned_high == pytest.approx(-low, abs=1e-12)


def test_the_interval_always_holds_the_estimate():
    low, high, _ = percentile_interval(np.linspace(0.2, 0.4, 100), 0.1, 0.95)
    assert low == 0.1
    assert high > 0.39
