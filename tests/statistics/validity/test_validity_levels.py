"""Tests, families and the detectable difference: what is unsound is caught."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from steadyread.statistics.power import minimum_detectable_difference
from steadyread.statistics.validity import levels
from steadyread.statistics.validity.cochran import cochran_rows
from steadyread.statistics.validity.criteria import rejections, unbiased
from steadyread.statistics.validity.generate import batches, difference_variance, outcomes, second_arm
from steadyread.statistics.validity.grid import Cell
from steadyread.statistics.validity.levels import (
    at_detectable_difference,
    detectable_cell,
    family_cell,
    level_cell,
    power_cell,
)
from steadyread.statistics.validity.rules import Rules

QUICK = Rules(permutations=999)


@pytest.mark.parametrize("cell", [Cell(45, 1, 0.0, 0.3), Cell(45, 2, 0.5, 0.3)])
def test_a_test_keeps_its_levels(cell):
    found = level_cell("levels_45", cell, QUICK, 0, 1000)
    assert [row["level"] for row in found] == [0.05, 0.01]
    assert all(row["judged"] and row["holds"] for row in found)
    assert found[0]["rejected"] > 0.01


def test_exact_mcnemar_is_as_conservative_as_the_binomial_says():
    pairs = [(up, down) for up in range(46) for down in range(46 - up)]
    chances = stats.multinomial.pmf([[up, down, 45 - up - down] for up, down in pairs], 45, [0.105, 0.105, 0.79])
    wrong = sum(chance for (up, down), chance in zip(pairs, chances, strict=True) if levels._mcnemar(up, down) <= 0.05)
    found = level_cell("levels_45", Cell(45, 1, 0.0, 0.3), QUICK, 0, 3000)[0]
    assert found["rejected"] == pytest.approx(wrong, abs=4 * np.sqrt(wrong / 3000))


def test_a_test_that_takes_cases_for_patients_is_caught():
    cell = Cell(90, 2, 0.5, 0.3)
    p = []
    for _, size, random in batches(1500, "cases for patients"):
        first = outcomes(cell, size, random)
        moved = second_arm(cell, first, random).astype(int) - first
        p += [levels._mcnemar(int((run > 0).sum()), int((run < 0).sum())) for run in moved.reshape(-1, size).T]
    assert not rejections("levels_90", "test", "McNemar on cases", cell, 0.05, np.array(p))["holds"]


def test_the_detectable_difference_is_detectable_at_its_own_spread():
    cell = at_detectable_difference(Cell(90, 2, 0.3, 0.2), 0.95)
    variance = np.array([difference_variance(cell) / 90])
    assert minimum_detectable_difference(variance, np.array([90]), 0.95, np.array([180.0]))[0] == pytest.approx(
        cell.effect, abs=1e-5
    )
    assert at_detectable_difference(Cell(5, 1, 0.0, 0.9), 0.95) is None


def test_a_detectable_difference_is_found_in_about_eighty_percent():
    found = detectable_cell(Cell(90, 2, 0.3, 0.3), QUICK, 0, 1000)
    assert found["rejected"] == pytest.approx(0.8, abs=0.06)
    assert found["holds"]
    assert power_cell("levels_90", Cell(90, 2, 0.3, 0.3, 0.1), QUICK, 0, 500)["judged"] is False


def test_a_family_keeps_its_level_and_one_without_correction_is_caught(monkeypatch):
    cell = Cell(90, 2, 0.0, 0.5)
    assert family_cell(cell, 0, QUICK, 0, 600)["holds"]
    assert family_cell(cell, 2, QUICK, 0, 600)["holds"]
    monkeypatch.setattr(levels, "holm", list)
    uncorrected = family_cell(cell, 0, QUICK, 0, 600)
    assert uncorrected["rejected"] > 0.09
    assert not uncorrected["holds"]


def test_cochrans_q_keeps_its_level_and_finds_a_great_difference():
    *level, power = cochran_rows(Cell(45, 2, 0.5, 0.3), 0, 400)
    assert all(row["holds"] for row in level)
    assert power["rejected"] > level[0]["rejected"]


def test_an_estimate_that_leans_is_caught():
    values = np.random.default_rng(0).normal(0.05, 0.3, 2000)
    cell = Cell(45, 1, 0.0, 0.5)
    assert not unbiased("noise", "leaning", cell, values.sum(), (values**2).sum(), 2000)["holds"]
    values -= values.mean()
    assert unbiased("noise", "even", cell, values.sum(), (values**2).sum(), 2000)["holds"]
