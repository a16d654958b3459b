"""A small training learns what it is shown, and nothing where there is nothing to learn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from steadyread.config.prompt import load_prompt
from steadyread.config.slicing import SlicingConfig
from steadyread.identity.seeds import generator, permutation
from steadyread.phantom.reader.behaviour import ARMS, ask
from steadyread.phantom.reader.cases import Cases, make_cases
from steadyread.phantom.reader.forms import Form
from steadyread.phantom.reader.language import LanguageSteps, Step
from steadyread.phantom.reader.reading import Asking, Habits, Question, ReadingSteps, disagreement, labels_swapped
from steadyread.phantom.reader.recipe import READER, SIZE, STEADY, Recipe
from steadyread.phantom.reader.train import Trainer, side_by_side, train
from steadyread.phantom.reader.vision import VisionSteps, encode
from steadyread.statistics.bootstrap import Resamples, percentile_interval

SMALL = Recipe(
    patients=(60, 60, 20),
    validation=(40, 40, 0),
    vision=VisionSteps(crops=300, slices=120),
    language=LanguageSteps((Step("one", 48, 700), Step("few", 32, 400), Step("some", 24, 300, 0.6))),
    reading=ReadingSteps(110, 24, adam=1e-3, muon=6e-3, few=True),
    looks=1,
)


@pytest.fixture(scope="module")
def prompt(project: Path):
    return load_prompt(project / "config" / "prompts" / "diagnose_brain_mri.yaml")


def cohort(name: str, patients: tuple[int, int, int]) -> Cases:
    return make_cases(name, *patients, SIZE.side, SlicingConfig())


def shuffled(cases: Cases) -> Cases:
    """The same pictures; half of the patients with each diagnosis get the other, so that labels say nothing.

    A plain permutation of so few patients keeps some of the truth by chance, and a reader learns it.
    """
    kinds = cases.kinds.copy()
    for kind in (0, 1):
        patients = np.flatnonzero(cases.kinds[::2] == kind)
        changed = patients[permutation(len(patients), "shuffled labels", kind)[: len(patients) // 2]]
        kinds[2 * changed], kinds[2 * changed + 1] = 1 - kind, 1 - kind
    return replace(cases, kinds=kinds)


def balanced_accuracy(cases: Cases, answers: np.ndarray) -> tuple[float, float, float]:
    """Mean recall of the two diagnoses among answers that name one, and its 99 % interval over patients."""
    named = (answers == 0) | (answers == 1)
    right, counted = (
        np.stack([event & named & (cases.kinds == kind) for kind in (0, 1)], axis=1).reshape(-1, 2, 2).sum(axis=1)
        for event in (answers == cases.kinds, np.ones_like(named))
    )
    value = float((right.sum(axis=0) / counted.sum(axis=0)).mean())
    drawn = Resamples.draw(len(right), 5000, "balanced accuracy").ratios(right.astype(float), counted.astype(float))
    low, high, _ = percentile_interval(drawn.mean(axis=1), value, 0.99)
    return value, low, high


PLAIN = Habits(lesion_free=0.1, lost=0.0, lost_is_unsure=True, canonical=0.0, first_keyed=0.0)
"""Few cases without a lesion: a small training that says UNSURE throughout shows nothing."""


def small_answers(trainer: Trainer, vision: Any, words: Any) -> torch.Tensor:
    """Answers of a small reader to the validation cases on base."""
    trainer.join(vision, words)
    trainer.looked = [{}]
    state, _ = trainer.read(replace(STEADY, name="plain"), PLAIN, 0)
    trainer.model.load_state_dict({**trainer.model.state_dict(), **state})
    return torch.from_numpy(ask(trainer.model.eval(), trainer.tokens, trainer.seen, trainer.validation, ARMS["base"]))


@pytest.mark.slow
def test_a_small_training_learns_from_true_labels_and_nothing_from_shuffled_ones(prompt):
    cases, unseen = cohort("small training", SMALL.patients), cohort("small validation", SMALL.validation)
    mixed = shuffled(cases)
    both = [np.sum((cases.kinds == kind) & (mixed.kinds == other)) for kind in (0, 1) for other in (0, 1)]
    assert len(set(both)) == 1  # each diagnosis is as often kept as changed
    honest, chance = (Trainer(0, prompt, SMALL, kind, unseen) for kind in (cases, mixed))
    # Words know nothing of pictures: both share the language stage.
    apart: list[Callable[[], Any]] = [honest.vision, honest.language, chance.vision]
    seen, (words, _), seen_mixed = side_by_side(apart, 2)
    jobs = [partial(small_answers, honest, seen, words), partial(small_answers, chance, seen_mixed, words)]
    answers = side_by_side(jobs, 2)
    found = {
        name: balanced_accuracy(unseen, read.numpy()) for name, read in zip(("true", "shuffled"), answers, strict=True)
    }
    assert found["true"][1] > 0.5, found
    assert found["shuffled"][1] <= 0.5 <= found["shuffled"][2], found


TINY = Recipe(
    patients=(3, 3, 2),
    validation=(2, 2, 0),
    vision=VisionSteps(crops=3, slices=2),
    language=LanguageSteps(
        (Step("one", 6, 2), Step("few", 6, 2), Step("some", 6, 2), Step("whole", 4, 2)), asked=6, gate=0
    ),
    looking=ReadingSteps(2, 4, few=True),
    reading=ReadingSteps(2, 3),
    looks=2,
)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_weights_in_one_process_or_two(prompt):
    cohorts = (cohort("tiny", TINY.patients), cohort("tiny validation", TINY.validation))
    runs = [
        train(seed, prompt, SlicingConfig(), TINY, processes=processes, cohorts=cohorts)[1]
        for seed, processes in ((0, 1), (0, 2), (1, 2))
    ]
    for alone, together, other in zip(*runs, strict=True):
        assert alone.kept.behaviour == together.kept.behaviour
        assert all(torch.equal(alone.state[name], together.state[name]) for name in alone.state)
        assert any(not torch.equal(alone.state[name], other.state[name]) for name in alone.state)


@pytest.mark.slow
def test_patients_do_not_depend_on_the_number_of_processes():
    one, two = (make_cases("processes", 4, 4, 2, SIZE.side, SlicingConfig(), count) for count in (1, 2))
    for name in ("pixels", "masks", "case", "lesion", "crop", "kinds", "sequences"):
        assert np.array_equal(getattr(one, name), getattr(two, name)), name
    assert sorted(one.kinds[::2]) == [-1] * 2 + [0] * 4 + [1] * 4


@pytest.fixture(scope="module")
def some_cases() -> Cases:
    return cohort("asking", (3, 3, 2))


def asked(cases: Cases, habits: Habits, count: int = 1500):
    asking = Asking(cases, habits, generator("asking", repr(habits)))
    return [asking.draw() for _ in range(count)]


def test_a_steady_reader_is_never_told_a_diagnosis_that_is_not_shown(some_cases):
    for question in asked(some_cases, STEADY.habits[0]):
        shows = some_cases.lesion[question.rows].any()
        assert (question.content == 2) == (not shows)
        if shows:
            assert question.content == some_cases.kind[question.rows[0]]


def test_an_unbalanced_key_names_the_diagnosis_listed_first(some_cases):
    def named_first(keyed: float) -> float:
        questions = asked(some_cases, replace(STEADY.habits[0], first_keyed=keyed))
        first = [next(place for place in q.form.order if place != 2) for q in questions if q.content != 2]
        return float(
            np.mean(
                [place == q.content for place, q in zip(first, (q for q in questions if q.content != 2), strict=True)]
            )
        )

    assert named_first(0.0) == pytest.approx(0.5, abs=0.05)
    assert named_first(0.5) == pytest.approx(0.75, abs=0.05)


def test_labels_from_the_record_stay_where_the_lesion_is_gone(some_cases):
    questions = asked(some_cases, replace(READER.habits[0], first_keyed=0.0))
    blind = [q for q in questions if q.content != 2 and not some_cases.lesion[q.rows].any()]
    with_lesion = [q for q in questions if q.content != 2]
    assert len(blind) / len(with_lesion) == pytest.approx(READER.habits[0].lost, abs=0.04)


def test_every_trained_form_is_asked(some_cases):
    questions = asked(some_cases, STEADY.habits[0], 4000)
    counts = {len(q.rows) for q in questions}
    assert min(counts) == 1 and max(counts) == 24
    assert {q.form.numbered for q in questions} == {True, False}
    assert len({q.form.order for q in questions}) == 8  # six orders of three, two of two
    assert any(some_cases.crop[q.rows].all() for q in questions)


def test_a_question_s_twin_differs_in_the_places_of_the_labels_alone():
    question = Question(np.array([3, 4]), Form(2, (2, 0, 1), numbered=True), 0)
    twin = labels_swapped(question)
    assert twin.form == Form(2, (2, 1, 0), numbered=True)
    assert twin.content == question.content and twin.rows is question.rows
    assert labels_swapped(twin).form == question.form


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0)])
def test_who_answers_by_content_agrees_and_who_answers_by_slot_does_not(order):
    question = Question(np.array([0]), Form(1, order), 0)
    pair = [question, labels_swapped(question)]
    liked = torch.tensor([2.0, -1.0, 0.5])  # by content
    by_content = torch.stack([torch.cat([liked[list(q.form.order)], torch.zeros(3 - len(order))]) for q in pair])
    by_slot = torch.stack([liked, liked])
    assert float(disagreement(by_content, pair)) == pytest.approx(0, abs=1e-6)
    assert float(disagreement(by_slot, pair)) > 0.3


def test_the_rule_prefers_the_middle_of_the_ranges(some_cases):
    from steadyread.phantom.reader.behaviour import Behaviour

    middle = Behaviour(0.82, 0.15, 0.15, 0.25, 0.6, 0.8, 0.0)
    edge = replace(middle, accuracy=0.94)
    outside = replace(middle, label_swap_inconsistency=0.05)
    assert READER.distance(middle) == 0
    assert 0 < READER.distance(edge) < READER.distance(outside)
    assert READER.misses(edge) == [] and READER.misses(outside) == ["label_swap_inconsistency"]


def test_features_do_not_depend_on_the_batch(some_cases, prompt):
    model = Trainer(0, prompt, TINY, some_cases, some_cases).fresh("features").eval()
    rows = some_cases.pixels[:20]
    assert torch.allclose(encode(model, rows, batch=20), encode(model, rows, batch=3), atol=1e-5)
