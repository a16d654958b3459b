"""Generalized estimating equations: odds ratios worked out by hand, and no data that make it fall over."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from scipy import stats

from steadyread.contracts.enums import EstimateStatus
from steadyread.statistics.gee import Side, odds_ratio


def side(event, counted=None, name="one arm"):
    event = np.asarray(event, dtype=bool)
    event = event[:, None] if event.ndim == 1 else event
    return Side(
        event, np.ones_like(event) if counted is None else np.asarray(counted, dtype=bool).reshape(event.shape), name
    )


def moods(patients, shares, per_patient=2, variants=(1, 1), seed=3):
    """Two arms in patients who have a mood of their own."""
    random = np.random.default_rng(seed)
    own = np.repeat(random.random(patients), per_patient)[:, None]
    sides = [
        side((own + random.random((patients * per_patient, count))) / 2 < share)
        for share, count in zip(shares, variants, strict=True)
    ]
    return *sides, np.arange(0, patients * per_patient, per_patient)


def by_hand(first, second, patient, patients):
    """Log odds ratio of two shares of the same units and its clustered standard error, linearised."""
    p, q = first.mean(), second.mean()
    log_ratio = math.log(p / (1 - p)) - math.log(q / (1 - q))
    # each unit's part in the log odds ratio, added up within the patient
    part = ((first - p) / (p * (1 - p))).mean(axis=1) - ((second - q) / (q * (1 - q))).mean(axis=1)
    summed = np.bincount(patient, part, minlength=patients) / len(part)
    # Mancl and DeRouen divide each patient's residuals by 1 − 1/G where all patients weigh the same
    return log_ratio, math.sqrt((summed**2).sum()) * patients / (patients - 1)


@pytest.mark.parametrize("per_patient", [1, 2, 5])
def test_of_equal_patients_it_is_the_odds_ratio_of_the_shares_with_their_linearised_error(per_patient):
    patients = 60
    first, second, starts = moods(patients, (0.45, 0.6), per_patient)
    found = odds_ratio(first, second, starts, 0.95, 5)
    patient = np.repeat(np.arange(patients), per_patient)
    log_ratio, error = by_hand(first.event, second.event, patient, patients)
    quantile = stats.t.ppf(0.975, patients - 1)
    assert math.log(found.value) == pytest.approx(log_ratio, rel=1e-5)
    assert math.log(found.low) == pytest.approx(log_ratio - quantile * error, rel=1e-5)
    assert math.log(found.high) == pytest.approx(log_ratio + quantile * error, rel=1e-5)
    assert found.p == pytest.approx(2 * stats.t.sf(abs(log_ratio) / error, patients - 1), rel=1e-4)
    assert (found.n, found.clusters) == (patients * per_patient, patients)


def test_every_variant_is_a_row_of_its_patient():
    first, second, starts = moods(50, (0.4, 0.55), per_patient=1, variants=(1, 5))
    found = odds_ratio(first, second, starts, 0.95, 5)
    # the exchangeable correlation weighs the two arms' rows unlike, the model stays saturated by arm
    odds = [share.event.mean() / (1 - share.event.mean()) for share in (first, second)]
    assert found.value == pytest.approx(odds[0] / odds[1], rel=0.25)
    assert found.low < odds[0] / odds[1] < found.high
    assert found.n == 50


def test_swapped_arms_give_the_inverse():
    first, second, starts = moods(40, (0.4, 0.6))
    there, back = odds_ratio(first, second, starts, 0.95, 5), odds_ratio(second, first, starts, 0.95, 5)
    assert there.value * back.value == pytest.approx(1, rel=1e-5)
    assert (there.low * back.high, there.p) == (pytest.approx(1, rel=1e-4), pytest.approx(back.p, rel=1e-3))


def test_units_that_lack_an_arm_take_no_part():
    first, second, starts = moods(40, (0.4, 0.6))
    counted = np.ones(80, dtype=bool)
    counted[[0, 1, 4, 9]] = False
    found = odds_ratio(Side(first.event, counted[:, None]), second, starts, 0.95, 5)
    kept = np.flatnonzero(counted)
    patient = np.unique(kept // 2, return_inverse=True)[1]
    again = odds_ratio(
        side(first.event[kept]), side(second.event[kept]), np.flatnonzero(np.diff(patient, prepend=-1)), 0.95, 5
    )
    assert found == again
    assert (found.n, found.clusters) == (76, 39)


HALF = [1, 0] * 10
NOTHING = {
    "no unit": (side(HALF, [0] * 20), side(HALF), "no case counts"),
    "the same": (side(HALF), side(HALF), "no case differs"),
    "no variation at all": (side([1] * 20), side([1] * 20), "no case differs"),
    "never in the first": (side([0] * 20, name="first"), side(HALF), "never happened under first"),
    "always in the second": (side(HALF), side([1] * 20, name="second"), "always happened under second"),
    "full separation": (side([1] * 20), side([0] * 20), "separation"),
}


@pytest.mark.parametrize("name", NOTHING)
def test_what_has_no_odds_ratio_says_why(name):
    first, second, reason = NOTHING[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = odds_ratio(first, second, np.arange(0, 20, 2), 0.95, 5)
    assert found.status is EstimateStatus.UNDEFINED
    assert reason in found.reason
    assert (found.value, found.low, found.p) == (None, None, None)


def test_one_patient_has_no_model():
    first, second, _ = moods(1, (0.4, 0.6), per_patient=20)
    assert "one patient" in odds_ratio(first, second, np.array([0]), 0.95, 5).reason


def test_with_few_patients_who_differ_there_is_a_value_and_nothing_else():
    first = np.array([1, 0] * 20)
    second = first.copy()
    second[[0, 6, 10, 20]] = 0
    found = odds_ratio(side(first), side(second), np.arange(40), 0.95, 5)
    assert found.status is EstimateStatus.TOO_FEW_EVENTS
    assert found.value == pytest.approx(1.0 / (16 / 24), rel=1e-4)
    assert (found.low, found.high, found.p) == (None, None, None)
    assert "4 of 40 patients, 5 are needed" in found.reason


def test_odd_data_never_raise():
    random = np.random.default_rng(9)
    for _ in range(60):
        patients = int(random.integers(2, 8))
        sizes = random.integers(1, 6, size=patients)
        units = int(sizes.sum())
        sides = [
            Side(random.random((units, k)) < random.choice([0.05, 0.5, 0.95]), random.random((units, k)) < 0.8)
            for k in (1, 4)
        ]
        found = odds_ratio(*sides, np.cumsum([0, *sizes[:-1]]), 0.95, 1)
        assert (found.reason is None) == (found.status is EstimateStatus.OK)
        assert found.p is None or 0 <= found.p <= 1


@pytest.mark.slow
def test_it_rejects_no_more_often_than_it_says_where_the_arms_are_alike():
    p = []
    for run in range(600):
        first, second, starts = moods(45, (0.5, 0.5), seed=run)
        p.append(odds_ratio(first, second, starts, 0.95, 5).p)
    assert np.mean(np.array(p) <= 0.05) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 600)
    assert stats.kstest(p, "uniform").pvalue > 0.001
