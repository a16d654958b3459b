"""The minimum detectable difference is found as often as it claims, and so many patients find it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.power import TTestPower

from steadyread.statistics.clusters import ClusterSums
from steadyread.statistics.permutation import SignFlips
from steadyread.statistics.power import (
    Design,
    detectable_difference,
    minimum_detectable_difference,
    patients_for_precision,
    patients_needed,
    precision,
)
from steadyread.statistics.rates import share_intervals, wilson


@pytest.mark.parametrize("patients", [20, 45, 90, 500])
def test_a_t_test_finds_it_with_eighty_percent_power(patients):
    deviation = 3.0  # large enough that the floor of the formula does not bind
    found = minimum_detectable_difference(
        np.array([deviation**2 / patients]), np.array([patients]), 0.95, np.array([np.inf])
    )[0]
    power = TTestPower().power(effect_size=found / deviation, nobs=patients, alpha=0.05, alternative="two-sided")
    assert power == pytest.approx(0.8, abs=0.01)


def test_where_nobody_differed_it_says_what_so_few_patients_could_have_shown():
    found = minimum_detectable_difference(np.zeros(3), np.array([5, 12, 90]), 0.95, np.full(3, np.inf))
    k = stats.t.ppf(0.975, 89) + stats.t.ppf(0.8, 89)
    assert found[2] == pytest.approx(k**2 / (90 + k**2), rel=1e-4)
    assert found[0] > found[1] > found[2] > 0
    # at that difference, all discordance one way, k standard errors are just reached
    assert k * np.sqrt(found[2] * (1 - found[2]) / 90) == pytest.approx(found[2], rel=1e-4)


def test_one_patient_can_show_nothing():
    assert np.isnan(minimum_detectable_difference(np.array([np.nan]), np.array([1]), 0.95, np.array([1.0]))[0])


@pytest.mark.parametrize(("difference", "discordance"), [(0.02, 0.1), (0.1, 0.2), (0.1, 0.5), (0.2, 0.3)])
def test_one_case_a_patient_needs_a_few_more_than_a_t_test(difference, discordance):
    # the t test takes the variance around the mean, a test that flips signs the variance around 0
    found = patients_needed(difference, discordance, Design())
    size = difference / np.sqrt(discordance - difference**2)
    theirs = TTestPower().solve_power(effect_size=size, alpha=0.05, power=0.8, alternative="two-sided")
    z = stats.norm.ppf([0.975, 0.8])
    connor = (z[0] * np.sqrt(discordance) + z[1] * np.sqrt(discordance - difference**2)) ** 2 / difference**2
    assert theirs < found < theirs + 8
    assert connor < found < connor + 5


@pytest.mark.parametrize("power", [0.8, 0.9])
@pytest.mark.parametrize(("cases", "icc"), [(1, 0.0), (2, 0.3), (2, 1.0), (5, 0.5)])
@pytest.mark.parametrize(("difference", "discordance"), [(0.02, 0.1), (0.1, 0.2), (0.3, 0.3), (0.5, 0.9)])
def test_patients_needed_is_the_detectable_difference_turned_round(difference, discordance, cases, icc, power):
    design = Design(cases, icc, power=power)
    patients = patients_needed(difference, discordance, design)
    assert detectable_difference(patients, discordance, design) <= difference + 1e-12
    if patients > 2:
        fewer = detectable_difference(patients - 1, discordance, design)
        assert fewer is None or fewer > difference


@pytest.mark.parametrize("patients", [45, 90, 500])
def test_it_is_close_to_the_detectable_difference_of_the_estimates_at_the_assumed_variance(patients):
    found = detectable_difference(patients, 0.2, Design(2, 0.3))
    variance = np.array([(0.2 - found**2) * 1.3 / (2 * patients)])
    estimated = minimum_detectable_difference(variance, np.array([patients]), 0.95, np.array([np.inf]))[0]
    assert estimated == pytest.approx(found, rel=0.08)


def test_cases_of_one_patient_that_are_all_alike_count_once():
    assert patients_needed(0.1, 0.2, Design(5, 1.0)) == patients_needed(0.1, 0.2, Design(1))
    assert patients_needed(0.1, 0.2, Design(2, 0.0)) < 0.6 * patients_needed(0.1, 0.2, Design(1))


def test_more_of_anything_that_helps_needs_fewer_patients():
    base = patients_needed(0.1, 0.2, Design(2, 0.3))
    assert patients_needed(0.15, 0.2, Design(2, 0.3)) < base
    assert patients_needed(0.1, 0.15, Design(2, 0.3)) < base
    assert patients_needed(0.1, 0.2, Design(2, 0.1)) < base
    assert patients_needed(0.1, 0.2, Design(2, 0.3, power=0.9)) > base
    assert patients_needed(0.1, 0.2, Design(2, 0.3, confidence=0.99)) > base


def test_few_patients_can_show_no_difference_at_all_where_little_differs():
    assert detectable_difference(5, 0.05, Design()) is None


@pytest.mark.parametrize(
    ("difference", "discordance", "word"),
    [(0.3, 0.2, "at most the discordance"), (0.0, 0.2, "above 0"), (0.1, 1.2, "discordance 1.2")],
)
def test_an_impossible_difference_is_refused(difference, discordance, word):
    with pytest.raises(ValueError, match=word):
        patients_needed(difference, discordance, Design())


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ({"cases": 0}, "cases"),
        ({"icc": 1.2}, "correlation"),
        ({"power": 0.3}, "power"),
        ({"confidence": 1}, "alpha 0:"),
        ({"confidence": -0.2}, "alpha 1.2:"),
    ],
)
def test_an_impossible_design_is_refused(values, word):
    with pytest.raises(ValueError, match=word):
        Design(**values)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["cases", "icc", "power", "confidence"])
def test_a_design_of_numbers_that_are_none_is_refused(name, value):
    with pytest.raises(ValueError, match=r"nan|inf"):
        Design(**{name: value})


@pytest.mark.parametrize("share", [0.0, 0.02, 0.1, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("half_width", [0.02, 0.05, 0.2])
def test_the_promised_precision_is_kept_on_both_sides_of_the_share(share, half_width):
    design = Design(2, 0.3)
    patients = patients_for_precision(half_width, share, design)
    low, high = wilson(share, patients * 2 / 1.3, stats.t.ppf(0.975, patients - 1))
    assert share - half_width - 1e-12 <= low
    assert high <= share + half_width + 1e-12


@pytest.mark.parametrize("half_width", [0.03, 0.1, 0.3, 0.45])
def test_shares_whose_interval_ends_at_a_half_need_the_most_patients(half_width):
    most = patients_for_precision(half_width, 0.5 - half_width, Design())
    assert patients_for_precision(half_width, 0.5 + half_width, Design()) == pytest.approx(most, abs=1)
    for share in np.linspace(0, 1, 41):
        assert patients_for_precision(half_width, share, Design()) <= most + 1


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 1.0])
@pytest.mark.parametrize(("cases", "icc"), [(1, 0.0), (2, 0.5)])
def test_patients_for_a_precision_are_the_fewest_that_have_it(share, cases, icc):
    design = Design(cases, icc)
    for half_width in (0.02, 0.05, 0.1):
        patients = patients_for_precision(half_width, share, design)
        assert precision(patients, share, design) <= half_width
        assert precision(patients - 1, share, design) > half_width


def test_the_precision_is_that_of_the_interval_of_the_estimates():
    # 40 of 80 cases, both cases of each patient alike: the design effect is 2, n effective 40
    values = np.repeat([1.0, 0.0], 40)[:, None]
    sums = ClusterSums.of(values, values >= 0, np.arange(0, 80, 2))
    low, high, effect, _ = share_intervals(sums, 0.95)
    assert effect[0] == pytest.approx(2)
    assert precision(40, 0.5, Design(2, 1.0)) == pytest.approx((high[0] - low[0]) / 2)


@pytest.mark.parametrize(("difference", "discordance", "icc"), [(0.1, 0.2, 0.3), (0.1, 0.35, 0.0), (0.2, 0.3, 0.6)])
def test_so_many_patients_find_the_difference_by_sign_flips_in_eighty_of_a_hundred_studies(
    difference, discordance, icc
):
    patients, runs = patients_needed(difference, discordance, Design(2, icc)), 4000
    random = np.random.default_rng(17)
    chances = [(discordance - difference) / 2, 1 - discordance, (discordance + difference) / 2]
    own = random.choice([-1, 0, 1], p=chances, size=(patients, runs, 1))
    each = random.choice([-1, 0, 1], p=chances, size=(patients, runs, 2))
    # two cases share the patient's outcome with chance √ρ each, and both with chance ρ
    apart = np.where(random.random(each.shape) < np.sqrt(icc), own, each).sum(axis=2).astype(float)
    p, _ = SignFlips.draw(patients, 999, "power").p_values(apart)
    assert np.mean(p <= 0.05) == pytest.approx(0.8, abs=0.025)
