"""The minimum detectable difference is found as often as it claims."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.power import TTestPower

from steadyread.statistics.power import minimum_detectable_difference


@pytest.mark.parametrize("patients", [20, 45, 90, 500])
def test_a_t_test_finds_it_with_eighty_percent_power(patients):
    deviation = 3.0  # large enough that the floor of the formula does not bind
    found = minimum_detectable_difference(np.array([deviation**2 / patients]), np.array([patients]), 0.95)[0]
    power = TTestPower().power(effect_size=found / deviation, nobs=patients, alpha=0.05, alternative="two-sided")
    assert power == pytest.approx(0.8, abs=0.01)


def test_where_nobody_differed_it_says_what_so_few_patients_could_have_shown():
    found = minimum_detectable_difference(np.zeros(3), np.array([5, 12, 90]), 0.95)
    k = stats.t.ppf(0.975, 89) + stats.t.ppf(0.8, 89)
    assert found[2] == pytest.approx(k**2 / (90 + k**2), rel=1e-4)
    assert found[0] > found[1] > found[2] > 0
    # at that difference, all discordance one way, k standard errors are just reached
    assert k * np.sqrt(found[2] * (1 - found[2]) / 90) == pytest.approx(found[2], rel=1e-4)


def test_one_patient_can_show_nothing():
    assert np.isnan(minimum_detectable_difference(np.array([np.nan]), np.array([1]), 0.95)[0])
