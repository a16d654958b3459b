"""Readers with known answers, and the reader that is noise, come out as theory says."""

from __future__ import annotations

import pytest

from steadyread.statistics.validity import noise, readers
from steadyread.statistics.validity.grid import Cell
from steadyread.statistics.validity.readers import READERS, Known, reader_rows
from steadyread.statistics.validity.rules import Rules


def test_every_reader_comes_out_as_theory_says():
    rows = list(reader_rows(Cell(45, 2, 0.0, 0.5), 20, 0))
    assert [row["quantity"] for row in rows if not row["holds"]] == []
    assert {row["quantity"].partition(":")[0] for row in rows} == set(READERS)
    # every word of theory meets an estimate
    for name, (_, known) in READERS.items():
        own = [row for row in rows if row["quantity"].startswith(f"{name}:")]
        for item in known:
            assert any(f" {item.metric.value}" in row["quantity"] for row in own), (name, item)


def test_a_theory_that_is_wrong_is_caught(monkeypatch):
    coin, known = READERS["coin of two labels"]
    monkeypatch.setattr(readers, "READERS", {"coin": (coin, (Known(known[0].metric, 0.6),))})
    rows = list(reader_rows(Cell(45, 2, 0.0, 0.5), 20, 0))
    assert rows
    assert not any(row["holds"] for row in rows)


def test_a_reader_that_minds_the_evidence_is_not_taken_for_a_blind_one(monkeypatch):
    blind, known = READERS["blind to evidence"]

    def minding(random, truth):
        answers = blind(random, truth)
        gone = [readers.ARMS.index(arm) for arm in readers.ARMS if arm.value == "lesion_removed"]
        answers[:, ::8, gone] = readers.UNSURE
        return answers

    monkeypatch.setattr(readers, "READERS", {"minding": (minding, known)})
    rows = list(reader_rows(Cell(45, 2, 0.0, 0.5), 20, 0))
    caught = {row["quantity"].partition(": ")[2] for row in rows if not row["holds"]}
    assert "overcommitment_difference matched_removed − lesion_removed, all" in caught


@pytest.mark.parametrize("cell", [Cell(12, 1, 0.0, 0.5), Cell(12, 2, 0.5, 0.5)])
def test_the_effect_above_noise_of_pure_noise_is_nought_and_its_interval_is_shown(cell):
    bias, coverage = noise.noise_cell(cell, Rules(resamples=500), 0, 1000)
    assert bias["holds"]
    assert bias["mc_error"] < 0.003
    # known: too narrow with so few patients; shown, not judged
    assert 0.8 < coverage["coverage"] < 0.92
    assert not coverage["judged"]


def test_noise_that_is_not_taken_off_is_caught(monkeypatch):
    monkeypatch.setattr(noise, "_COEFFICIENTS", (1.0, -0.5, -0.4))
    bias, _ = noise.noise_cell(Cell(12, 1, 0.0, 0.5), Rules(resamples=100), 0, 1000)
    assert not bias["holds"]
