"""The criterion lets sound intervals pass and catches unsound ones."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from steadyread.config.statistics import StatisticsConfig
from steadyread.contracts.enums import ArmName, Denominator, Metric
from steadyread.identity.seeds import generator
from steadyread.statistics.bootstrap import Resamples
from steadyread.statistics.clusters import ClusterSums
from steadyread.statistics.estimand import Estimand, Term
from steadyread.statistics.evaluate import Draws, evaluate
from steadyread.statistics.rates import WILSON, share_intervals, wilson
from steadyread.statistics.trial_index import Units
from steadyread.statistics.validity import intervals
from steadyread.statistics.validity.criteria import Coverage, coverage_target, monte_carlo_error
from steadyread.statistics.validity.generate import outcomes, second_arm
from steadyread.statistics.validity.grid import Cell
from steadyread.statistics.validity.intervals import (
    curve_cell,
    difference_cell,
    patients_on_both_sides,
    patients_who_differ,
    share_cell,
)
from steadyread.statistics.validity.rules import Rules


def plain_wilson(sums, confidence):
    low, high = wilson(sums.mean, sums.n, stats.norm.ppf(0.5 + confidence / 2))
    return low, high, np.ones_like(low), sums.n


def test_plain_wilson_is_caught_where_cases_of_a_patient_are_alike(monkeypatch):
    cell = Cell(90, 2, 0.5, 0.3)
    assert share_cell(cell, Rules(), 0, 3000)["holds"]
    monkeypatch.setattr(intervals, "share_intervals", plain_wilson)
    caught = share_cell(cell, Rules(), 0, 3000)
    assert caught["coverage"] == pytest.approx(0.89, abs=0.02)
    assert not caught["holds"]


@pytest.mark.parametrize("p", [0.05, 0.3])
def test_simulated_coverage_is_what_the_binomial_says_it_is(p):
    events = np.arange(46)
    counts = np.ones((45, 46))
    values = (np.arange(45)[:, None] < events).astype(float)
    low, high, _, _ = share_intervals(ClusterSums(values, values, counts), 0.95)
    exact = stats.binom.pmf(events, 45, p)[(low <= p) & (p <= high)].sum()
    found = share_cell(Cell(45, 1, 0.0, p), Rules(), 0, 4000)
    assert found["coverage"] == pytest.approx(exact, abs=4 * monte_carlo_error(exact, 4000))
    assert found["method"] == WILSON
    assert found["coverage"] + found["miss_low"] + found["miss_high"] == pytest.approx(1)


def test_without_the_rule_of_minimum_events_a_bootstrap_of_rare_events_is_caught():
    cell = Cell(45, 1, 0.0, 0.04)
    careless = curve_cell("curves_45", cell, Rules(min_patients_with_event=0), 0, 1500)
    assert careless["coverage"] == pytest.approx(0.82, abs=0.04)
    assert not careless["holds"]
    ruled = curve_cell("curves_45", cell, Rules(), 0, 1500)
    assert ruled["reported_share"] < 0.1
    assert not ruled["judged"]


@pytest.mark.parametrize("effect", [0.0, 0.1])
def test_a_paired_difference_is_covered(effect):
    found = difference_cell("nulls_45", Cell(45, 2, 0.3, 0.2, effect), Rules(), 0, 600)
    assert found["judged"]
    assert found["holds"]
    assert found["value"] == pytest.approx(effect, abs=0.01)


def test_differences_taken_for_independent_cases_are_caught(monkeypatch):
    # each case its own patient: the bootstrap no longer sees that cases of a patient go together
    def apart(cell, runs, random):
        first = outcomes(cell, runs, random)
        units = second_arm(cell, first, random).astype(float) - first
        flat = units.reshape(-1, runs)
        return ClusterSums(flat, flat**2, np.ones_like(flat))

    monkeypatch.setattr(intervals, "paired_sums", apart)
    draw = Resamples.draw
    monkeypatch.setattr(intervals.Resamples, "draw", lambda patients, *rest: draw(2 * patients, *rest))
    caught = difference_cell("nulls_90", Cell(90, 2, 0.5, 0.3), Rules(resamples=1000), 0, 1500)
    assert caught["coverage"] < 0.91
    assert not caught["holds"]


def test_an_interval_is_simulated_as_it_is_reported():
    """The columns of the simulation against `evaluate`, which makes a study's rows."""
    cell, runs = Cell(30, 2, 0.3, 0.05, 0.05), 40
    random = generator("as reported")
    first = outcomes(cell, runs, random)
    values = second_arm(cell, first, random).astype(float) - first
    flat = values.reshape(-1, runs)
    every = np.ones(len(flat), dtype=bool)
    starts = np.arange(0, len(flat), cell.cases)
    rules = StatisticsConfig()
    draws = Draws.of(rules, cell.patients, 3)
    estimands = [
        Estimand(
            Metric.ACCURACY_DIFFERENCE,
            Denominator.ALL,
            ArmName.REVERSE,
            (Term(column, every, ~every, column, column),),
            reference_arm=ArmName.BASE,
            difference=True,
        )
        for column in flat.T
    ]
    units = Units(tuple(str(number) for number in range(len(flat))), starts, np.zeros(len(flat), dtype=np.int64))
    rows = evaluate(estimands, units, draws)

    seen = {}

    class Seen:
        def add(self, count, low, high, estimates):
            seen.update(low=low, high=high, estimates=estimates)

    sums = intervals.sums_of(values)
    reported = patients_who_differ(sums) >= rules.min_patients_with_event
    intervals._bootstrap(Seen(), sums, reported, draws.resamples, Rules())
    assert 0 < reported.sum() < runs
    assert [row["low"] is not None for row in rows] == reported.tolist()
    assert [row["value"] for row in rows] == pytest.approx(seen["estimates"])
    assert [row["low"] for row in rows if row["low"] is not None] == pytest.approx(seen["low"])
    assert [row["high"] for row in rows if row["high"] is not None] == pytest.approx(seen["high"])


def test_a_patient_whose_cases_differ_stands_on_both_sides():
    values = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0]])[:, :, None]
    assert patients_on_both_sides(intervals.sums_of(values)).tolist() == [2]


def test_the_criterion_is_the_published_one():
    assert coverage_target(45, 0.95) == pytest.approx(0.92)
    assert coverage_target(90, 0.95) == coverage_target(500, 0.95) == pytest.approx(0.93)


@pytest.mark.parametrize(("covered", "holds"), [(917, True), (900, False)])
def test_a_cell_may_miss_by_two_monte_carlo_errors_and_no_more(covered, holds):
    counted = Coverage(0.5)
    low = np.where(np.arange(1000) < covered, 0.4, 0.6)
    counted.add(1000, low, np.full(1000, 0.7), np.full(1000, 0.5))
    found = counted.row("shares", "share", WILSON, Cell(90, 1, 0.0, 0.5), 0.95)
    assert (found["miss_low"], found["miss_high"]) == (pytest.approx(1 - covered / 1000), 0)
    assert found["holds"] is holds
