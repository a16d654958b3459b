"""What a decision rests on: four quadrants of steadiness and reliance, and the mere mention of MRI."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

G, M, U, X, E = "GBM", "MET", "UNSURE", "UNPARSED", "ERROR"
ARMS = ("base", "reverse", "label_swap", "lesion_removed", "no_image")
MENTION = ("base", "no_image", "mention_only")


def cells(found, arm):
    return {row["variant"]: row["value"] for row in found.all(metric="quadrant", arm=arm)}


def test_quadrants_by_hand(made, scripted):
    study = made(patients=10, per_patient=1, arms=ARMS)
    # steady are 0–4, and 5–9 are not; without images 0, 1, 5, 6, 7 decide otherwise, without lesion 0 alone
    script = {
        "base": [G, G, M, U, G, G, G, M, X, G],
        "reverse": [G, G, M, U, G, M, G, M, G, G],
        "label_swap": [G, G, M, U, G, G, U, G, X, X],
        "no_image": [U, M, M, U, G, U, M, X, X, G],
        "lesion_removed": [M, G, M, U, G, G, G, M, X, G],
    }
    found = study.estimates({"m": scripted(script)})
    assert cells(found, "no_image") == {"ideal": 2 / 10, "dangerous": 3 / 10, "fragile": 3 / 10, "worst": 2 / 10}
    assert cells(found, "lesion_removed") == {"ideal": 1 / 10, "dangerous": 4 / 10, "fragile": 0, "worst": 5 / 10}
    given_steady = found.one(metric="unmoved_given_steady", arm="no_image")
    given_unsteady = found.one(metric="unmoved_given_unsteady", arm="no_image")
    assert (given_steady["value"], given_steady["n"], given_steady["denominator"]) == (3 / 5, 5, "steady")
    assert (given_unsteady["value"], given_unsteady["n"], given_unsteady["denominator"]) == (2 / 5, 5, "unsteady")
    assert found.one(metric="unmoved_given_steady", arm="lesion_removed")["value"] == 4 / 5
    assert given_steady["arms"] == ["base", "reverse", "label_swap", "no_image"]


@pytest.mark.parametrize(
    ("reader", "cell"),
    [
        (lambda asked: G, "dangerous"),
        (lambda asked: U if asked.arm in ("no_image", "lesion_removed") else asked.truth, "ideal"),
        (lambda asked: asked.options[0] if asked.arm != "no_image" else U, "fragile"),
        (lambda asked: asked.options[0], "worst"),
    ],
    ids=["evidence-blind", "evidence-bound", "slot, and lets go", "slot"],
)
def test_known_readers_stand_in_their_quadrant(made, reader, cell):
    found = made(patients=6, arms=ARMS).estimates({"m": reader})
    assert cells(found, "no_image")[cell] == 1.0


def test_quadrants_are_over_cases_that_have_all_arms_and_the_one_without_evidence(made):
    study = made(
        patients=6,
        per_patient=1,
        arms=ARMS,
        left_out=lambda case, arm: (case, arm) in (("p000-s0", "lesion_removed"), ("p001-s0", "reverse")),
    )
    found = study.estimates({"m": lambda asked: G})
    assert {row["n"] for row in found.all(metric="quadrant", arm="no_image")} == {5}
    assert {row["n"] for row in found.all(metric="quadrant", arm="lesion_removed")} == {4}


@settings(max_examples=10, deadline=None, derandomize=True)
@given(st.data())
def test_cells_add_up_to_one_and_dangerous_is_bounded_by_every_flip_rate(made, data):
    study = made(patients=5, per_patient=1, arms=ARMS)
    answers = {row["trial_id"]: data.draw(st.sampled_from((G, G, M, U, X))) for row in study.trial_rows()}
    found = study.estimates({"m": lambda asked: answers[asked.trial_id]}, statistics={"strata": []})
    recon = found.one(metric="recon")["value"]
    flips = [found.one(metric="flip_rate", denominator="all", arm=arm)["value"] for arm in ("reverse", "label_swap")]
    for arm in ("no_image", "lesion_removed"):
        quadrants = cells(found, arm)
        assert sum(quadrants.values()) == pytest.approx(1)
        assert quadrants["ideal"] + quadrants["dangerous"] == pytest.approx(recon)
        assert quadrants["dangerous"] <= 1 - max(flips) + 1e-9
        moved = found.one(metric="flip_rate", denominator="all", arm=arm)["value"]
        assert quadrants["ideal"] + quadrants["fragile"] == pytest.approx(moved)
        unmoved = found.one(metric="unmoved_given_steady", arm=arm)
        if recon:
            assert unmoved["value"] == pytest.approx(quadrants["dangerous"] / recon)
        else:
            assert (unmoved["value"], unmoved["estimate_status"]) == (None, "undefined")


# --- the mere mention --------------------------------------------------------------------------


def committed(**shares):
    """Names a label under an arm to so large a share of twenty patients, UNSURE to the others."""

    def answer(asked):
        return G if int(asked.case[1:4]) < 20 * shares[asked.arm] else U

    return answer


def scaffold(made, **shares):
    study = made(patients=20, per_patient=1, arms=MENTION)
    return study.estimates({"m": committed(**shares)}).one(metric="scaffold_share")


@pytest.mark.parametrize(
    ("base", "without", "mentioned", "share"),
    [
        (1.0, 0.0, 1.0, 1.0),  # the mention does all
        (1.0, 0.0, 0.0, 0.0),  # and nothing
        (0.9, 0.2, 0.55, 0.5),  # (.55 − .2) / (.9 − .2)
        (0.8, 0.4, 1.0, 1.5),  # more than the images do
        (0.8, 0.4, 0.2, -0.5),  # the other way
        (0.3, 0.9, 0.6, 0.5),  # images make it let go
    ],
)
def test_the_share_of_the_shift_that_a_mention_makes(made, base, without, mentioned, share):
    row = scaffold(made, base=base, no_image=without, mention_only=mentioned)
    assert row["value"] == pytest.approx(share)
    assert (row["n"], row["arms"]) == (20, ["base", "no_image", "mention_only"])
    if share in (0.0, 1.0):  # all patients alike: nothing moves it
        assert (row["low"], row["estimate_status"]) == (None, "too_few_events")
    else:
        assert row["low"] <= row["value"] <= row["high"]


def test_there_is_no_share_where_images_shift_nothing(made):
    row = scaffold(made, base=0.5, no_image=0.5, mention_only=1.0)
    assert (row["value"], row["low"], row["estimate_status"]) == (None, None, "undefined")
    assert "no shift to share" in row["reason"]


@pytest.mark.parametrize("one_way", [7, 1])
def test_there_is_no_share_where_the_shift_is_not_told_from_nothing(made, one_way):
    # seven let go without images and six the other way: a shift of 1/20; or one alone, too few to judge
    def answer(asked):
        number = int(asked.case[1:4])
        if asked.arm == "mention_only":
            return G
        if number < one_way:
            return G if asked.arm == "base" else U
        if one_way > 1 and number < one_way + 6:
            return U if asked.arm == "base" else G
        return G if number % 2 else U

    study = made(patients=20, per_patient=1, arms=MENTION)
    found = study.estimates({"m": answer, "n": answer}, statistics={"comparisons": [{"model": "m", "reference": "n"}]})
    for row in found.all(metric="scaffold_share"):
        assert (row["value"], row["low"], row["resamples"], row["estimate_status"]) == (None, None, None, "undefined")
        assert "its interval includes 0" in row["reason"]


def test_without_unsure_there_is_nothing_to_let_go_of(made):
    found = made(unsure=False, arms=MENTION).estimates({"m": lambda asked: G})
    assert not found.all(metric="scaffold_share")


def test_a_lost_answer_leaves_a_share_without_bounds(made):
    study = made(patients=20, per_patient=1, arms=MENTION)
    reader = committed(base=1.0, no_image=0.0, mention_only=0.5)
    row = study.estimates({"m": lambda asked: E if asked.case == "p000-s0" else reader(asked)}).one(
        metric="scaffold_share"
    )
    assert (row["n"], row["n_error"], row["estimate_status"]) == (19, 1, "incomplete")
    assert (row["bound_low"], row["bound_high"]) == (float("-inf"), float("inf"))
