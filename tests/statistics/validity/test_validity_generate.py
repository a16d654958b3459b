"""The made outcomes have the share, the correlation and the difference that they are made for."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from steadyread.identity.seeds import generator
from steadyread.statistics.validity.generate import (
    batches,
    difference_variance,
    moved_share,
    outcomes,
    paired_sums,
    second_arm,
)
from steadyread.statistics.validity.grid import PARTS, PATIENTS, SHARES, Cell, cells


@pytest.mark.parametrize("icc", [0.0, 0.3, 0.5])
def test_two_cases_of_a_patient_follow_the_beta_binomial_of_the_same_correlation(icc):
    p, patients, runs = 0.2, 500, 400
    found = outcomes(Cell(patients, 2, icc, p), runs, generator("pairs", icc)).sum(axis=1).ravel()
    law = stats.betabinom(2, p * (1 - icc) / icc, (1 - p) * (1 - icc) / icc) if icc else stats.binom(2, p)
    for events in range(3):
        assert np.mean(found == events) == pytest.approx(law.pmf(events), abs=4 * 0.5 / np.sqrt(patients * runs))


def test_arms_differ_by_the_effect_and_are_alike_without_one():
    random = generator("arms")
    cell = Cell(500, 2, 0.3, 0.2, effect=0.1)
    first = outcomes(cell, 400, random)
    second = second_arm(cell, first, random)
    assert second.mean() - first.mean() == pytest.approx(0.1, abs=0.005)
    alike = second_arm(Cell(500, 2, 0.3, 0.2), first, random)
    assert alike.mean() == pytest.approx(0.2, abs=0.005)
    # half of the patients answer alike, which is the correlation of the arms
    assert np.corrcoef(first.ravel(), alike.ravel())[0, 1] == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize("icc", [0.0, 0.5])
def test_the_paired_difference_has_the_cells_own_correlation(icc):
    random = generator("paired", icc)
    cell = Cell(500, 2, icc, 0.3)
    first = outcomes(cell, 400, random)
    difference = second_arm(cell, first, random).astype(float) - first
    assert np.corrcoef(difference[:, 0].ravel(), difference[:, 1].ravel())[0, 1] == pytest.approx(icc, abs=0.02)


@pytest.mark.parametrize("cell", [Cell(90, 1, 0.0, 0.1, 0.1), Cell(90, 2, 0.5, 0.3), Cell(90, 2, 0.3, 0.5, 0.2)])
def test_the_variance_of_a_difference_is_the_one_foretold(cell):
    means = paired_sums(cell, 4000, generator("variance", *cell.seed)).mean
    assert means.mean() == pytest.approx(cell.effect, abs=0.005)
    assert means.var() * cell.patients == pytest.approx(difference_variance(cell), rel=0.08)


def test_a_difference_that_no_share_can_make_is_refused():
    with pytest.raises(ValueError, match="choose a smaller one"):
        moved_share(Cell(45, 1, 0.0, 0.8, effect=0.2))


def test_draws_are_a_function_of_the_seed_and_the_batch():
    def first(*seed):
        return [random.random(3).tolist() for _, _, random in batches(5, *seed, size=2)]

    assert first(0, "a") == first(0, "a")
    assert first(0, "a") != first(1, "a")
    assert len({str(draws) for draws in first(0, "a")}) == 3
    assert [size for _, size, _ in batches(5, 0, size=2)] == [2, 2, 1]


def test_the_grid_is_the_published_one():
    assert SHARES == (0.02, 0.05, 0.08, 0.1, 0.2, 0.3, 0.5)
    assert PATIENTS == (45, 90, 500)
    grid = list(cells(PATIENTS))
    assert {(cell.cases, cell.icc) for cell in grid} == {(1, 0.0), (2, 0.0), (2, 0.3), (2, 0.5)}
    assert len(set(grid)) == len(grid) == 3 * 4 * 7
    assert len(set(PARTS)) == len(PARTS)
