"""How often each request is made, and by whom."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from steadyread.contracts.enums import LESION_ARMS, ArmName
from steadyread.identity.seeds import uniform

ARMS_OF_A_GOOD_CASE = {arm.value: 2 if arm is ArmName.LABEL_CYCLE else 1 for arm in ArmName}
LESION = {arm.value for arm in LESION_ARMS}
Compose = Callable[..., Any]


def some_cases(make_case: Any, count: int = 6) -> list[Any]:
    return [make_case(f"c{i}", f"p{i // 2}", slices=7 + i, lesion=(2, 3, 5)) for i in range(count)]


def test_a_stochastic_model_gets_every_request_the_configured_number_of_times(compose: Compose, make_case: Any) -> None:
    found = compose(some_cases(make_case, 4), stochastic_models=["dice", "coin"])
    for model in ("dice", "coin", "still"):
        mine = [row for row in found.trials if row["model_id"] in (None, model)]
        # `repeat` is a draw of base.
        requests = Counter((row["item_id"], row["arm"].replace("repeat", "base"), row["variant"]) for row in mine)
        expected = {"base": 2} if model == "still" else {"base": 5}
        other = 1 if model == "still" else 5
        assert {arm: count for (_, arm, _), count in requests.items()} == {
            arm: expected.get(arm, other) for arm in set(ARMS_OF_A_GOOD_CASE) - {"repeat"}
        }


def test_no_model_is_asked_the_same_draw_twice(compose: Compose, make_case: Any) -> None:
    inference = {"stochastic_draws": 4, "repeat_share": 0.5}
    found = compose(some_cases(make_case), stochastic_models=["dice"], inference=inference)
    mine = Counter(
        (row["item_id"], row["arm"].replace("repeat", "base"), row["variant"], row["draw"])
        for row in found.trials
        if row["model_id"] in (None, "dice")
    )
    assert set(mine.values()) == {1}
    per_request = Counter((item, arm, variant) for item, arm, variant, _ in mine)
    assert set(per_request.values()) == {4}


def test_without_the_arm_repeat_a_stochastic_model_still_repeats_base(compose: Compose, make_case: Any) -> None:
    found = compose([make_case("c1", "p1")], stochastic_models=["dice"], arms={"enabled": ["base"]})
    assert sorted((row["draw"], row["model_id"]) for row in found.trials if row["draw"]) == [
        (draw, "dice") for draw in (1, 2, 3, 4)
    ]
    assert {row["reference_trial_id"] for row in found.trials} == {None}


def test_draws_of_a_request_say_the_same_and_name_draw_0_as_parent(compose: Compose, make_case: Any) -> None:
    found = compose(some_cases(make_case), stochastic_models=["dice"])
    by_id = {row["trial_id"]: row for row in found.trials}
    again = [row for row in found.trials if row["draw"]]
    assert again
    for row in again:
        parent = by_id[row["parent_trial_id"]]
        assert parent["draw"] == 0
        assert (row["messages"], row["options"]) == (parent["messages"], parent["options"])
    assert {row["parent_trial_id"] for row in found.trials if not row["draw"]} == {None}


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_the_repeated_share_is_that_of_the_configuration(compose: Compose, make_case: Any, share: float) -> None:
    cases = [make_case(f"c{i}", f"p{i}") for i in range(25)]
    found = compose(cases, inference={"stochastic_draws": 5, "repeat_share": share})
    again = [row for row in found.trials if row["draw"] == 1 and row["arm"] != "repeat"]
    assert {row["model_id"] for row in again} <= {None}
    assert "base" not in {row["arm"] for row in again}
    requests = 25 * sum(count for arm, count in ARMS_OF_A_GOOD_CASE.items() if arm not in ("base", "repeat"))
    # Five standard deviations of the binomial.
    assert abs(len(again) - share * requests) <= 5 * (requests * share * (1 - share)) ** 0.5


def test_whether_a_request_is_repeated_is_a_function_of_its_name_alone(compose: Compose, make_case: Any) -> None:
    cases = some_cases(make_case)
    found = compose(cases, inference={"stochastic_draws": 5, "repeat_share": 0.4})
    for row in found.trials:
        if row["draw"] == 0 and row["arm"] != "base":
            drawn = uniform(7, row["item_id"], row["arm"], row["variant"], row["replicate"], "repeat_share") < 0.4
            again = [r for r in found.trials if r["parent_trial_id"] == row["trial_id"]]
            assert len(again) == drawn
