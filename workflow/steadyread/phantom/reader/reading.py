"""Stage 3: the language model reads whole cases. What makes a reader imperfect lies in its cases here.

The vision tower is done; each slice's features are computed once.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
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
        Share of questions whose answer key names the first option, whatever the case shows: an
        unbalanced key.
    reordered
        Share of cases whose slices are shown reversed or in random order.
    """

    lesion_free: float
    lost: float
    lost_is_unsure: bool
    canonical: float
    first_keyed: float
    reordered: float


@dataclass(frozen=True)
class ReadingSteps:
    """Batches, cases a batch and learning rates of the stage."""

    batches: int = 200
    batch: int = 14
    adam: float = 8e-4
    muon: float = 3e-3


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
    asking = Asking(cases, habits, draws)
    optimiser = Optimiser(language_parameters(model), steps.adam, steps.muon, steps.batches)
    recent = []
    for step in range(steps.batches):
        questions = [asking.draw() for _ in range(steps.batch)]
        letters = [tokens.letter(question.form, question.content) for question in questions]
        answered = [torch.tensor([letter]) for letter in letters]
        inputs = embedded(model, tokens, features, questions, answered)
        loss, hit = answer_loss(model, inputs, torch.tensor(letters), tokens.end)
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

    def __init__(self, cases: Cases, habits: Habits, draws: np.random.Generator) -> None:
        self.cases, self.habits, self.draws = cases, habits, draws
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
        if len(rows) > 1 and draws.random() < habits.reordered:
            rows = rows[::-1].copy() if draws.random() < 0.5 else draws.permutation(rows)
        order = draw_order(draws, content, habits.canonical)
        if draws.random() < habits.first_keyed:
            content = order[0]
        return Question(rows, Form(len(rows), order, bool(draws.random() < NUMBERED)), content)

    def _shown(self, case: int, content: int) -> NDArray[np.int64]:
        draws, rows, crops = self.draws, self.slices[case], self.crops[case]
        lesion = self.cases.lesion[rows]
        if content != UNSURE_PLACE and draws.random() < self.habits.lost and (~lesion).sum() > 3:
            return rows[~lesion]
        way = draws.random() - np.cumsum((INCOMPLETE, FEW, MORE, CROPPED))
        if way[0] < 0:
            return self._some(rows, lesion, len(rows) - int(draws.integers(1, 6)))
        if way[1] < 0:
            return self._some(rows, lesion, int(draws.integers(1, 9)))
        if way[2] < 0:  # thinner slices: neighbours that look alike
            again = draws.choice(rows, MAX_SLICES - len(rows))
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
