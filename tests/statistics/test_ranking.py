"""Working points of cases in order of confidence: areas by scikit-learn, optima in closed form, ties as one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import auc

from steadyread.statistics.ranking import Ranking


def ranked(confidence, right, categorical=None, counted=None):
    """A ranking of units from plain lists; all categorical and counted unless said otherwise."""
    size = len(confidence)
    every = np.ones(size, dtype=bool)
    return Ranking.of(
        np.asarray(confidence, dtype=float),
        every if categorical is None else np.asarray(categorical, dtype=bool),
        np.asarray(right, dtype=bool),
        every if counted is None else np.asarray(counted, dtype=bool),
    )


def once(ranking, size):
    """Its working points where every unit counts once."""
    return ranking.points(np.ones((1, size)))


def test_working_points_by_hand():
    # two tied at .9 (one wrong), then right, then wrong, then two without a label as one block
    ranking = ranked([0.9, 0.6, 0.9, 0.7, 0.0, 0.0], [1, 0, 0, 1, 0, 0], [1, 1, 1, 1, 0, 0])
    points = once(ranking, 6)
    assert points.coverage[0] == pytest.approx([2 / 6, 3 / 6, 4 / 6, 1])
    assert points.risk[0] == pytest.approx([1 / 2, 1 / 3, 2 / 4, 4 / 6])
    assert points.generalised[0] == pytest.approx([1 / 6, 1 / 6, 2 / 6, 4 / 6])


def test_what_was_not_categorical_comes_last_however_sure_it_was_and_is_not_right():
    ranking = ranked([0.1, 0.99], [1, 1], [1, 0])
    assert once(ranking, 2).risk[0] == pytest.approx([0, 1 / 2])


def test_units_that_do_not_count_are_not_there():
    ranking = ranked([0.9, 0.8, 0.7], [0, 1, 0], counted=[0, 1, 1])
    assert once(ranking, 3).risk[0] == pytest.approx([0, 1 / 2])


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.integers(0, 6), st.booleans(), st.booleans()), min_size=1, max_size=25))
def test_areas_are_scikit_learns_over_points_made_case_by_case(units):
    confidence = [level / 7 for level, _, _ in units]
    right = [ok and label for _, ok, label in units]
    label = [named for _, _, named in units]
    points = []
    for level in sorted({c for c, named in zip(confidence, label, strict=True) if named}, reverse=True):
        chosen = [n for n in range(len(units)) if label[n] and confidence[n] >= level]
        points.append((len(chosen), sum(not right[n] for n in chosen)))
    if not all(label):
        points.append((len(units), sum(not ok for ok in right)))
    number, wrong = np.array(points, dtype=float).T
    coverage = number / len(units)
    found = once(ranked(confidence, right, label), len(units))
    risk = wrong / number
    aurc = auc([0, *coverage], [risk[0], *risk])  # the risk of the first point holds from coverage 0
    augrc = auc([0, *coverage], [0, *(wrong / len(units))])
    assert found.aurc()[0] == pytest.approx(aurc)
    assert found.augrc()[0] == pytest.approx(augrc)
    assert 0 <= found.augrc()[0] <= 1 / 2
    assert 0 <= found.aurc()[0] <= 1
    for limit in (0.01, 0.05, 0.1, 0.2, 0.5):
        allowed = coverage[risk <= limit]
        assert found.coverage_at(limit)[0] == pytest.approx(allowed.max() if len(allowed) else 0)


@pytest.mark.parametrize("error", [0.05, 0.2, 0.5])
def test_the_optimum_is_what_theory_says(error):
    size = 20_000
    wrong = int(error * size)
    right = np.arange(size) < size - wrong
    best = once(ranked(np.linspace(1, 0.01, size), right), size)
    assert best.augrc()[0] == pytest.approx(error**2 / 2, abs=1e-4)
    assert best.aurc()[0] == pytest.approx(error + (1 - error) * np.log(1 - error), abs=1e-4)
    worst = once(ranked(np.linspace(0.01, 1, size), right), size)
    assert worst.augrc()[0] == pytest.approx(error - error**2 / 2, abs=1e-4)


@pytest.mark.parametrize("errors", [0, 3, 10])
def test_a_reader_that_is_always_as_sure_has_its_error_rate_and_half_of_it(errors):
    points = once(ranked([0.8] * 10, [0] * errors + [1] * (10 - errors)), 10)
    assert points.coverage.shape == (1, 1)
    assert points.aurc()[0] == pytest.approx(errors / 10)
    assert points.augrc()[0] == pytest.approx(errors / 20)


def test_confidence_that_says_nothing_has_the_areas_of_constant_confidence_on_average():
    random = np.random.default_rng(3)
    right = np.arange(200) < 140
    areas = np.array(
        [
            [found.aurc()[0], found.augrc()[0]]
            for found in (once(ranked(random.random(200), right), 200) for _ in range(400))
        ]
    )
    assert areas.mean(axis=0) == pytest.approx([0.3, 0.15], abs=0.005)


def test_coverage_at_a_risk_and_risk_at_a_coverage_by_hand():
    # wrong are the 6th and the 10th of ten
    right = [1, 1, 1, 1, 1, 0, 1, 1, 1, 0]
    points = once(ranked(np.linspace(1, 0.1, 10), right), 10)
    # risks 0 × 5, 1/6, 1/7, 1/8, 1/9, 2/10
    assert [points.coverage_at(risk)[0] for risk in (0.01, 0.1, 0.12, 0.2)] == pytest.approx([0.5, 0.5, 0.9, 1.0])
    assert [points.risk_at(c)[0] for c in (0.1, 0.5, 0.6, 0.95, 1.0)] == pytest.approx([0, 0, 1 / 6, 0.2, 0.2])
    nobody = once(ranked(np.linspace(1, 0.1, 4), [0, 1, 1, 1]), 4)
    assert nobody.coverage_at(0.2)[0] == 0


def test_what_a_coverage_covers_ends_with_a_working_point():
    ranking = ranked([0.5, 0.9, 0.9, 0.7, 0.2], [1] * 5, counted=[1, 1, 1, 1, 0])
    covered = {coverage: np.flatnonzero(ranking.covered(coverage)).tolist() for coverage in (0.1, 0.5, 0.6, 1.0)}
    assert covered == {0.1: [1, 2], 0.5: [1, 2], 0.6: [1, 2, 3], 1.0: [0, 1, 2, 3]}
    assert not ranking.within(np.zeros(5, dtype=bool)).covered(0.5).any()


def test_weights_are_units_written_out():
    random = np.random.default_rng(5)
    confidence, right = random.integers(0, 5, 12) / 5, random.random(12) < 0.6
    label = random.random(12) < 0.8
    weights = random.integers(0, 3, size=(6, 12))
    weighed = ranked(confidence, right, label).points(weights.astype(float))
    for number, row in enumerate(weights):
        units = np.repeat(np.arange(12), row)
        written = once(ranked(confidence[units], right[units], label[units]), len(units))
        assert weighed.aurc()[number] == pytest.approx(written.aurc()[0])
        assert weighed.augrc()[number] == pytest.approx(written.augrc()[0])
        assert weighed.coverage_at(0.3)[number] == pytest.approx(written.coverage_at(0.3)[0])
        assert weighed.risk_at(0.5)[number] == pytest.approx(written.risk_at(0.5)[0])


def test_a_resample_without_units_says_nothing():
    points = ranked([0.9, 0.8], [1, 0]).points(np.array([[0.0, 0.0], [1.0, 1.0]]))
    for values in (points.aurc(), points.augrc(), points.coverage_at(0.2), points.risk_at(0.5)):
        assert np.isnan(values[0])
        assert not np.isnan(values[1])


def test_a_ranking_of_some_units_is_the_ranking_made_of_them():
    confidence, right = [0.9, 0.9, 0.7, 0.5, 0.5, 0.3], [1, 0, 1, 1, 0, 0]
    chosen = np.array([True, False, True, True, True, False])
    part = ranked(confidence, right).within(chosen)
    alone = ranked(confidence, right, counted=chosen)
    assert part.key == alone.key
    assert once(part, 6).aurc() == once(alone, 6).aurc()
    nobody = ranked(confidence, right).within(np.zeros(6, dtype=bool))
    assert len(nobody.order) == len(nobody.ends) == 0


def test_equal_orders_have_equal_keys_and_other_ties_another():
    assert ranked([0.9, 0.8], [1, 0]).key == ranked([0.7, 0.2], [1, 0]).key
    assert ranked([0.9, 0.8], [1, 0]).key != ranked([0.8, 0.8], [1, 0]).key
    assert ranked([0.9, 0.8], [1, 0]).key != ranked([0.9, 0.8], [1, 1]).key
