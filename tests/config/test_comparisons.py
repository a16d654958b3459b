"""A comparison is checked before any work: its models, and what was claimed of them."""

from __future__ import annotations

import pytest

from steadyread.config.comparisons import Comparison, asked_comparisons, comparison_problems
from steadyread.config.loading import load_study
from steadyread.contracts.enums import ArmName
from steadyread.contracts.problems import StudyError

MODELS = ("coin-2", "coin-3", "constant-label")
ARMS = tuple(ArmName)


def problems(*comparisons, arms=ARMS, unsure=True):
    return comparison_problems([Comparison.model_validate(item) for item in comparisons], MODELS, arms, unsure=unsure)


def pair(*claims, model="coin-2", reference="coin-3"):
    names = ("metric", "arm", "side")
    return {
        "model": model,
        "reference": reference,
        "expected": [dict(zip(names, item, strict=True)) for item in claims],
    }


def test_two_models_of_the_study_may_be_compared_both_ways_with_and_without_claims():
    claims = (
        ("flip_rate", "reverse", "lower"),
        ("label_swap_inconsistency", "label_swap", "lower"),
        ("overcommitment_difference", "matched_removed", "higher"),
        ("accuracy", "base", "higher"),
    )
    assert problems(pair(*claims), pair(model="coin-3", reference="coin-2")) == []
    assert problems() == []


@pytest.mark.parametrize(
    ("comparisons", "said"),
    [
        ([pair(model="other")], "other is not in config/models.yaml; known: coin-2, coin-3, constant-label."),
        ([pair(reference="other")], "other is not in config/models.yaml"),
        ([pair(reference="coin-2")], "coin-2 is compared with itself"),
        ([pair(), pair()], "coin-2 − coin-3 stands twice"),
        ([pair(*[("accuracy", "base", side) for side in ("lower", "higher")])], "accuracy under base is claimed twice"),
        ([pair(("flip_rate", "base", "lower"))], "flip_rate is not estimated under base; arms that have it: reverse, "),
        ([pair(("overcommitment", "reverse", "lower"))], "overcommitment is not estimated under reverse"),
        ([pair(("accuracy", "repeat", "lower"))], "accuracy is not estimated under repeat"),
        ([pair(("status_share", "base", "lower"))], "status_share has no single estimate per arm"),
    ],
)
def test_what_is_wrong_is_said_with_what_to_do(comparisons, said):
    (problem,) = problems(*comparisons)
    assert said in problem


def asked(comparison, models=MODELS):
    return asked_comparisons([Comparison.model_validate(comparison)], models)


def test_a_claim_about_what_is_not_asked_stays_a_claim():
    """The report says that it was not asked; to drop it would say that nothing was claimed."""
    claimed = pair(("flip_rate", "reverse", "lower"), ("overcommitment", "no_image", "lower"))
    assert problems(claimed, arms=(ArmName.BASE, ArmName.LABEL_SWAP), unsure=False) == []
    (kept,) = asked(claimed)
    assert len(kept.expected) == 2


def test_models_that_a_study_does_not_ask_are_not_compared_in_it(project):
    assert asked(pair(), models=("coin-2", "constant-label")) == ()
    study, _ = load_study({"models": ["coin-2", "coin-3"]}, root=project)
    assert study.statistics.comparisons == ()


def test_a_study_stops_at_parse_time_naming_the_key(project):
    listed = [{"model": "coin-2", "reference": "coin-x"}]
    with pytest.raises(StudyError, match=r"statistics\.comparisons: coin-x is not in config/models.yaml"):
        load_study({"statistics": {"comparisons": listed}}, root=project)
    wrong = [pair(("flip_rate", "revers", "less"))]
    with pytest.raises(StudyError) as error:
        load_study({"statistics": {"comparisons": wrong}}, root=project)
    assert "statistics.comparisons.0.expected.0.arm" in str(error.value)
    assert "'lower' or 'higher'" in str(error.value)
