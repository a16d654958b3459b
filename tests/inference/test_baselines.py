"""Readers with known answers answer as known."""

from __future__ import annotations

import math

import pytest
from scipy.stats import binom

from steadyread.contracts.problems import StudyError

GBM_FIRST, MET_FIRST = ("GBM", "MET", "UNSURE"), ("MET", "GBM", "UNSURE")


def decisions(rows, trials):
    """Label by trial id, from the text and from the log-probabilities, which must agree."""
    options = {row["trial_id"]: row["options"] for row in trials}
    found = {}
    for row in rows:
        shown = options[row["trial_id"]]
        found[row["trial_id"]] = shown["ABC".index(row["text"])]
        best = max(range(len(shown)), key=row["option_logprobs"].__getitem__)
        assert shown[best] == found[row["trial_id"]]
    return found


def swap_flips(world, model, cases=40):
    """Share of cases whose decision changes when the two labels change places."""
    pairs = [(world.ask(k, [], GBM_FIRST), world.ask(k, [], MET_FIRST, arm="label_swap")) for k in range(cases)]
    found = decisions(world.infer(model), world.trials)
    return sum(found[a["trial_id"]] != found[b["trial_id"]] for a, b in pairs) / cases


@pytest.mark.parametrize(
    ("kind", "value", "share"),
    [
        ("constant_label", None, 0),
        ("constant_label", "MET", 0),
        ("constant_slot", "1", 1),
        ("constant_slot", "2", 1),
        ("constant_slot", "3", 0),
    ],
)
def test_a_constant_label_never_flips_and_a_constant_slot_always_does_unless_unsure_stands_in_it(
    world, baseline, kind, value, share
):
    assert swap_flips(world, baseline(kind, value)) == share


def test_the_constant_label_without_a_value_is_the_first_label_of_the_alphabet_in_any_order(world, baseline):
    world.ask(0, [], ("UNSURE", "STROKE", "ABSCESS"))
    world.ask(1, [], ("STROKE", "ABSCESS", "UNSURE"))
    assert set(decisions(world.infer(baseline("constant_label")), world.trials).values()) == {"ABSCESS"}


@pytest.mark.parametrize(("value", "share", "labels"), [("labels", 1 / 2, 2), ("options", 2 / 3, 3)])
def test_the_coins_flip_as_often_as_chance_and_land_on_their_sides_alone(world, baseline, value, share, labels):
    cases = 400
    flips = swap_flips(world, baseline("coin", value), cases) * cases
    low, high = binom.interval(0.999, cases, share)
    assert low <= flips <= high
    found = decisions(world.infer(baseline("coin", value)), world.trials).values()
    assert len(set(found)) == labels
    assert ("UNSURE" in found) == (labels == 3)


def test_a_coin_is_thrown_anew_for_another_draw_and_lands_the_same_for_the_same(world, baseline):
    coin = baseline("coin", "labels")
    for case in range(60):
        world.ask(case, [])
        world.ask(case, [], draw=1, arm="repeat")
    first = {row["trial_id"]: row["text"] for row in world.infer(coin)}
    for path in (world.root / "store").rglob("*.jsonl"):
        path.unlink()
    again = {row["trial_id"]: row["text"] for row in world.infer(coin)}
    assert first == again
    texts = [first[row["trial_id"]] for row in world.trials]
    assert 10 < sum(a != b for a, b in zip(texts[::2], texts[1::2], strict=True)) < 50


def test_log_probabilities_are_floored_and_sum_to_one(world, baseline):
    world.ask(0, [])
    (row,) = world.infer(baseline("constant_slot", "1"))
    chances = [math.exp(value) for value in row["option_logprobs"]]
    assert sum(chances) == pytest.approx(1, abs=1e-15)
    assert chances[1] == pytest.approx(1e-6, rel=1e-5)
    assert row["mass_outside_options"] == 0


def test_a_slot_that_is_not_shown_is_named_and_means_no_option(world, baseline):
    world.ask(0, [], ("GBM", "MET"))
    (row,) = world.infer(baseline("constant_slot", "3"))
    assert (row["text"], row["option_logprobs"], row["finish_reason"]) == ("C", None, "stop")


@pytest.mark.parametrize(
    ("kind", "value"), [("constant_slot", "0"), ("constant_slot", None), ("coin", "2"), ("constant_label", "STROKE")]
)
def test_a_value_that_means_nothing_is_refused_with_what_was_expected(world, baseline, kind, value):
    world.ask(0, [])
    with pytest.raises(StudyError, match="expected"):
        world.infer(baseline(kind, value))
