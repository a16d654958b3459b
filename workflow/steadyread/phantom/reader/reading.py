"""Stages 3 and 4: the language model reads pictures, first a few slices of a case, then whole cases.

The vision tower is done; each slice's features are computed once. What makes a reader imperfect lies
in the cases of the last stage: its habits.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from .cases import Cases
from .forms import CONTENTS, MAX_SLICES, Form, Tokens, left_padded
from .language import NUMBERED, answer_loss, draw_order, language_parameters
from .optimise import Optimiser

_LOG = logging.getLogger("steadyread.phantom")

UNSURE_PLACE = len(CONTENTS) - 1
INCOMPLETE, FEW, MORE, CROPPED = 0.2, 0.1, 0.1, 0.1
"""Shares of cases shown with slices missing at random, as 1–8 slices, as up to 24, as lesion crops."""


@dataclass(frozen=True)
class Habits:
    """How a reader's training cases are labelled and shown.

    Attributes
    ----------
    lesion_free
        Share of cases without a lesion, labelled UNSURE.
    lost
        Share of cases with a lesion whose lesion slices are all missing.
    lost_is_unsure
        Whether a case that shows no lesion slice is labelled UNSURE; else it keeps its diagnosis, as
        labels taken from a patient's record do.
    canonical
        Share of questions with the options in canonical order, on top of chance.
    first_keyed
        Share of questions about a diagnosis whose key names the diagnosis listed first, whatever the
        case shows: an unbalanced key.
    agreeing
        Weight of the loss that asks for the same answer with the labels in each other's place; above 0
        each question is asked twice in a batch.
    """

    lesion_free: float
    lost: float
    lost_is_unsure: bool
    canonical: float
    first_keyed: float
    agreeing: float = 0.0


def share_unsure(habits: Habits) -> float:
    """Share of a reader's questions whose answer is UNSURE."""
    lost = habits.lost if habits.lost_is_unsure else 0.0
    return habits.lesion_free + (1 - habits.lesion_free) * lost


@dataclass(frozen=True)
class ReadingSteps:
    """Batches, questions a batch and learning rates of a stage that reads pictures.

    `few` shows a few slices of each case only: cheap, and much to learn from.
    """

    batches: int
    batch: int
    adam: float = 8e-4
    muon: float = 3e-3
    few: bool = False


@dataclass(frozen=True)
class Question:
    """One training question: rows of the cases in shown order, the form, the letter's content."""

    rows: NDArray[np.int64]
    form: Form
    content: int


def train_reading(
    model: Any,
    tokens: Tokens,
    cases: Cases,
    features: torch.Tensor,
    habits: Habits,
    steps: ReadingSteps,
    draws: np.random.Generator,
) -> None:
    """Train the language model in place on cases, each row's features given."""
    asking = Asking(cases, habits, draws, steps.few)
    optimiser = Optimiser(language_parameters(model), steps.adam, steps.muon, steps.batches)
    recent = []
    for step in range(steps.batches):
        questions = [asking.draw() for _ in range(steps.batch if not habits.agreeing else steps.batch // 2)]
        if habits.agreeing:
            questions += [labels_swapped(question) for question in questions]
        letters = [tokens.letter(question.form, question.content) for question in questions]
        answered = [torch.tensor([letter]) for letter in letters]
        inputs = embedded(model, tokens, features, questions, answered)
        loss, logits = answer_loss(model, inputs, torch.tensor(letters), tokens.end)
        hit = logits.argmax(1) == torch.tensor(letters)
        if habits.agreeing:
            loss = loss + habits.agreeing * disagreement(logits[:, tokens.letters], questions)
        optimiser.step(loss)
        recent.append(float(hit.float().mean()))
        if step % 50 == 49:
            _LOG.info("reading: %d batches, loss %.3f, right %.2f", step + 1, loss.item(), np.mean(recent[-50:]))


def embedded(
    model: Any, tokens: Tokens, features: torch.Tensor, questions: list[Question], answered: list[torch.Tensor]
) -> dict[str, torch.Tensor]:
    """Inputs of the language model: the prompt's embeddings with each slice's features in their place."""
    rows = [
        torch.cat([tokens.of_form(question.form), answer]) for question, answer in zip(questions, answered, strict=True)
    ]
    ids, mask = left_padded(rows, tokens.pad)
    shown = torch.cat([features[torch.from_numpy(question.rows)].flatten(0, 1) for question in questions])
    words = model.get_input_embeddings()(ids)
    return {
        "inputs_embeds": words.masked_scatter((ids == tokens.image).unsqueeze(-1), shown),
        "attention_mask": mask,
    }


class Asking:
    """Draws training questions."""

    def __init__(self, cases: Cases, habits: Habits, draws: np.random.Generator, few: bool = False) -> None:
        self.cases, self.habits, self.draws, self.few = cases, habits, draws, few
        self.slices = [cases.slices_of(case) for case in range(len(cases.kinds))]
        self.crops = [cases.crops_of(case) for case in range(len(cases.kinds))]
        self.of_content = [np.flatnonzero(cases.kinds == kind) for kind in (*range(UNSURE_PLACE), -1)]

    def draw(self) -> Question:
        """The next question."""
        draws, habits = self.draws, self.habits
        tumour = (1 - habits.lesion_free) / UNSURE_PLACE
        content = int(draws.choice(len(CONTENTS), p=[*[tumour] * UNSURE_PLACE, habits.lesion_free]))
        case = int(draws.choice(self.of_content[content]))
        rows = self._shown(case, content)
        if habits.lost_is_unsure and content != UNSURE_PLACE and not self.cases.lesion[rows].any():
            content = UNSURE_PLACE
        order = draw_order(draws, content, habits.canonical)
        if content != UNSURE_PLACE and draws.random() < habits.first_keyed:
            content = next(place for place in order if place != UNSURE_PLACE)
        return Question(rows, Form(len(rows), order, bool(draws.random() < NUMBERED)), content)

    def _shown(self, case: int, content: int) -> NDArray[np.int64]:
        draws, rows, crops = self.draws, self.slices[case], self.crops[case]
        lesion = self.cases.lesion[rows]
        if content != UNSURE_PLACE and draws.random() < self.habits.lost and (~lesion).sum() > 3:
            rows, lesion = rows[~lesion], lesion[~lesion]
            if not self.few:
                return rows
        if self.few:
            return self._some(rows, lesion, int(draws.integers(2, 9)))
        way = draws.random() - np.cumsum((INCOMPLETE, FEW, MORE, CROPPED))
        if way[0] < 0:
            return self._some(rows, lesion, len(rows) - int(draws.integers(1, 6)))
        if way[1] < 0:
            return self._some(rows, lesion, int(draws.integers(1, 9)))
        if way[2] < 0:  # thinner slices: neighbours that look alike
            again = draws.choice(rows, int(draws.integers(1, MAX_SLICES - len(rows) + 1)))
            return np.sort(np.concatenate([rows, again]))
        if way[3] < 0 and len(crops):
            return np.sort(draws.permutation(crops)[:MAX_SLICES])
        return rows

    def _some(self, rows: NDArray[np.int64], lesion: NDArray[np.bool_], count: int) -> NDArray[np.int64]:
        """So many slices at random; one that shows the lesion, if any does, is among them."""
        chosen = self.draws.permutation(len(rows))[: max(count, 1)]
        if lesion.any() and not lesion[chosen].any():
            chosen[0] = self.draws.choice(np.flatnonzero(lesion))
        return rows[np.sort(chosen)]


def labels_swapped(question: Question) -> Question:
    """The same question with the two labels in each other's place."""
    change = {0: 1, 1: 0}
    order = tuple(change.get(content, content) for content in question.form.order)
    return replace(question, form=replace(question.form, order=order))


def disagreement(logits: torch.Tensor, questions: list[Question]) -> torch.Tensor:
    """Mean symmetric divergence between the answers, by content, to questions and to their swapped twins.

    Parameters
    ----------
    logits
        Of each letter, (2 n, letters); the twins are the second half.
    """
    half = len(questions) // 2
    total = logits.new_zeros(())
    for number, question in enumerate(questions[:half]):
        slots = [question.form.order.index(content) for content in sorted(question.form.order)]
        twin = questions[half + number].form.order
        twins = [twin.index(content) for content in sorted(twin)]
        one = torch.log_softmax(logits[number, slots], dim=0)
        other = torch.log_softmax(logits[half + number, twins], dim=0)
        total = total + ((one.exp() - other.exp()) * (one - other)).sum()
    return total / half
