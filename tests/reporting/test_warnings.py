"""What a reader must be told beside a number: blind diagnoses, shares that are none, plans that changed, strata."""

from __future__ import annotations

import pytest

from steadyread.config.comparisons import Comparison
from steadyread.contracts.enums import Readout
from steadyread.reporting.compared import REMARK, beside_of
from steadyread.reporting.findings import BLIND_TITLE, answers_of, limits_of, overview_of
from steadyread.reporting.lookup import Book
from steadyread.reporting.names import GROUPS, OTHERWISE
from steadyread.reporting.notes import scaffold_notes
from steadyread.reporting.sections import knowing_when, letting_go
from steadyread.reporting.sensitivity import counted_sentence
from steadyread.reporting.strata_table import MEANING

MODELS = [
    {"id": "m", "family": "idefics3", "source": {"kind": "folder"}},
    {"id": "coin", "family": "baseline", "source": {"kind": "baseline"}},
]


@pytest.fixture
def named(estimate):
    """How often a model named a diagnosis under an arm."""

    def make(arm, value, model="m"):
        return estimate(model=model, metric="overcommitment", arm=arm, value=value, low=value, high=value, n=180)

    return make


def sentences(*rows):
    return answers_of(Book(rows), Readout.TEXT, MODELS)[0].sentences


@pytest.mark.parametrize("arm", ["no_image", "mention_only"])
def test_a_diagnosis_without_an_image_comes_before_every_flip(named, estimate, arm):
    said = sentences(estimate(arm="reverse", reference_arm="base"), named(arm, 0.4))
    assert said[0].startswith("Danger: it named a diagnosis though it was shown no image at all (no image")
    assert "40.0 %" in said[0]
    assert "n = 180" in said[0]


def test_no_diagnosis_without_an_image_is_said_too_and_is_no_danger(named):
    (said,) = sentences(named("no_image", 0.0))
    assert said == "It named no diagnosis where no image was shown (no image, n = 180)."
    first, second = sentences(named("no_image", 0.0), named("mention_only", 1.0))
    assert "MRI mentioned: 100.0 %" in first
    assert "no diagnosis where no image was shown (no image," in second


def test_images_that_were_never_withheld_are_not_spoken_of(named):
    assert not any("image" in text for text in sentences(named("base", 0.9), named("lesion_removed", 0.9)))


def test_the_headline_table_shows_blind_diagnoses_iff_anyone_was_asked_blind(named):
    titles, lines = overview_of(Book([named("no_image", 0.4)]), Readout.TEXT, MODELS)
    assert titles[-1] == BLIND_TITLE
    assert lines[0][2][-1].startswith("40.0 ")
    titles, lines = overview_of(Book([named("base", 0.4)]), Readout.TEXT, MODELS)
    assert BLIND_TITLE not in titles
    assert len(lines[0][2]) == len(titles)


def test_the_dangerous_share_without_an_image_stands_at_the_top(named, estimate):
    quadrants = [
        estimate(metric="quadrant", arm=arm, reference_arm="base", variant=name, value=value, low=0.0, high=1.0)
        for arm, name, value in (
            ("no_image", "dangerous", 0.444), ("no_image", "ideal", 0.111), ("lesion_removed", "dangerous", 0.222),
        )
    ]  # fmt: skip
    said = sentences(named("no_image", 1.0), *quadrants)
    (found,) = [text for text in said if "dangerous" in text]
    assert "44.4 %" in found


def test_letting_go_is_never_said_without_what_it_is_compared_with(estimate):
    for low, high in ((0.1, 0.3), (-0.1, 0.3), (-0.3, -0.1)):
        row = estimate(
            metric="overcommitment_difference", arm="matched_removed", reference_arm="lesion_removed",
            value=(low + high) / 2, low=low, high=high,
        )  # fmt: skip
        (said,) = sentences(row)
        assert "than where as much else is taken away" in said


@pytest.fixture
def scaffold(named, estimate):
    """A model's scaffold share with what it is computed from."""

    def make(base, blind, share, model="m"):
        row = estimate(
            model=model, metric="scaffold_share", denominator="all_arms", arm="mention_only",
            reference_arm="no_image", value=share, low=share, high=share,
        )  # fmt: skip
        return [row, named("base", base, model), named("no_image", blind, model)]

    return make


def test_a_scaffold_share_of_a_negative_shift_or_outside_0_to_1_is_called_no_share(scaffold):
    for base, blind, share, why in ((0.87, 1.0, 0.0, "−13.0 points"), (0.917, 0.0, 1.091, "1.091 lies outside 0 to 1")):
        book = Book(scaffold(base, blind, share))
        (note,) = scaffold_notes(book, Readout.TEXT, book.models)
        assert "Not to be read as a share: m (" in note
        assert why in note
        assert note in letting_go(book, Readout.TEXT).notes
    book = Book(scaffold(0.9, 0.1, 0.5))
    (note,) = scaffold_notes(book, Readout.TEXT, book.models)
    assert "base − no image" in note
    assert "Not to be read" not in note


def test_coverage_at_a_risk_is_called_optimistic_and_effective_reliability_is_not(estimate):
    book = Book([estimate(metric="coverage_at_risk", denominator="label_known", arm="base", parameter=0.01)])
    text = " ".join(knowing_when(book, Readout.TEXT).meaning)
    assert "chosen and tried on the same cases, so that it is optimistic" in text
    assert "chosen on other patients than those it is tried on" in text


def test_a_plan_that_changed_is_said_in_the_limits_and_beside_every_claim(estimate):
    row = estimate(reference_model="coin", arm="reverse", reference_arm="base", value=-0.3, low=-0.5, high=-0.1)
    claim = {"metric": "flip_rate", "arm": "reverse", "side": "lower"}
    pair = Comparison.model_validate({"model": "m", "reference": "coin", "expected": [claim]})
    book = Book([row])
    assert REMARK not in beside_of(book, Readout.TEXT, (pair,))[0].account
    assert REMARK in beside_of(book, Readout.TEXT, (pair,), plan_changed=True)[0].account
    assert "the plan changed" in limits_of(book, Readout.TEXT, False, MODELS, "the plan changed")


def test_what_a_study_could_have_found_is_said_of_audited_models_only(estimate):
    rows = [
        estimate(
            model=model, metric="overcommitment_difference", arm="matched_removed", reference_arm="lesion_removed",
            mde=mde,
        )
        for model, mde in (("m", 0.1), ("coin", 0.7))
    ]  # fmt: skip
    text = " ".join(limits_of(Book(rows), Readout.TEXT, False, MODELS))
    assert "below 10.0 points" in text
    assert "70.0" not in text


def test_every_heading_of_the_flips_figure_says_what_a_careful_reader_does():
    for title in (*[title for title, _ in GROUPS], OTHERWISE):
        assert title.endswith((": should stay", ": should change"))


def test_strata_say_that_they_may_be_confounded():
    assert "may be confounded" in MEANING


def test_agreement_of_the_tests_is_counted_for_one_readout_that_is_named():
    rows = [
        {"readout": readout, "agrees": agrees, "level": 0.05}
        for readout, agrees in (("text", True), ("text", False), ("logprob", True))
    ]
    assert counted_sentence(rows, Readout.TEXT) == (
        "Read from the answer's text: At level 0.05 the two tests agree on 1 of 2 contrasts."
    )
