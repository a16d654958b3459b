"""Stage 2: the language model learns to read findings and to name the right letter, on words alone.

Words stand where a slice's image tokens will be. Binding an option's content to its letter breaks
through on short prompts only, so the curriculum goes from one slice to whole cases. A step ends when
every content (GBM, MET, UNSURE) is answered right over drawn option orders; one that does not get
there ends the training, since leaving too early is what made trainings fail.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from ...contracts.problems import StudyError
from .cases import Cases
from .findings import NORMAL, SWOLLEN, WORDS
from .forms import CONTENTS, Form, Tokens, left_padded
from .optimise import Optimiser

_LOG = logging.getLogger("steadyread.phantom")

Gate = tuple[str, int, list[float]]
"""How a step ended: its name, its batches, the share right of each content."""

NUMBERED = 0.25
"""Share of questions whose slices are numbered."""
TWO_OPTIONS = 0.15
"""Share of questions about tumours that leave UNSURE out: a reader that never saw them answers "C"."""
MISREAD = 0.02
"""Share of words without tumour that are read wrongly."""
END_WEIGHT = 0.2
"""Weight of the end-of-answer token in the loss; without it a reader rambles on."""
HELD_OUT = 0.1
"""Share of the cases whose findings are kept for the gate."""
CHECK_EVERY = 20


@dataclass(frozen=True)
class Step:
    """One step of the curriculum: what it shows, questions a batch, most batches, share of the rate."""

    name: str
    batch: int
    most: int
    rate: float = 1.0


@dataclass(frozen=True)
class LanguageSteps:
    """The curriculum and its gate."""

    steps: tuple[Step, ...] = (
        Step("one", 48, 700),
        Step("few", 32, 500),
        Step("some", 24, 300, 0.6),
        Step("whole", 12, 300, 0.4),
    )
    adam: float = 2e-3
    muon: float = 1e-2
    gate: float = 0.95
    """Share right of each content, twice in a row, that ends a step."""
    asked: int = 90
    """Clean questions of a check."""


def answer_loss(
    model: Any, inputs: dict[str, torch.Tensor], letters: torch.Tensor, end: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Loss of "letter, end of answer" after the prompt, and the logits of the first answer token.

    `inputs` hold the prompt and the right letter as the last token of each row.
    """
    logits = model.lm_head(model.model.text_model(**inputs).last_hidden_state[:, -2:])
    loss = functional.cross_entropy(logits[:, 0], letters)
    loss = loss + END_WEIGHT * functional.cross_entropy(logits[:, 1], torch.full_like(letters, end))
    return loss, logits[:, 0]


def language_parameters(model: Any) -> list[tuple[str, torch.nn.Parameter]]:
    """Parameters of the language model and its head."""
    return [*model.model.text_model.named_parameters(), *model.lm_head.named_parameters()]


def train_language(
    model: Any, tokens: Tokens, cases: Cases, found: NDArray[np.int64], steps: LanguageSteps, draws: np.random.Generator
) -> list[Gate]:
    """Train the language model in place.

    Parameters
    ----------
    found
        The finding of each image token of each row of the cases.

    Raises
    ------
    StudyError
        If a step does not reach its gate: this seed did not work.
    """
    return _Language(model, tokens, cases, found, steps, draws).run()


class _Language:
    def __init__(
        self,
        model: Any,
        tokens: Tokens,
        cases: Cases,
        found: NDArray[np.int64],
        steps: LanguageSteps,
        draws: np.random.Generator,
    ) -> None:
        self.model, self.tokens, self.plan, self.draws = model, tokens, steps, draws
        self.words = torch.tensor([tokens.single(f" {word}") for word in WORDS])
        read: list[list[NDArray[np.int64]]] = [[] for _ in CONTENTS]
        for case, kind in enumerate(cases.kinds):
            rows = cases.slices_of(case)
            if kind < 0 or (found[rows] == kind).any():
                read[kind].append(found[rows])  # −1, no lesion, is the last content: UNSURE
        self.kept = [rows[-max(1, round(HELD_OUT * len(rows))) :] for rows in read]
        self.read = [rows[: -max(1, round(HELD_OUT * len(rows)))] for rows in read]

    def run(self) -> list[Gate]:
        optimiser = Optimiser(language_parameters(self.model), self.plan.adam, self.plan.muon, None)
        log = []
        for step in self.plan.steps:
            passed, right, count = 0, [0.0], 0
            recent: list[float] = []
            while passed < 2 and count < step.most:
                ids, mask, letters, _ = self._batch(step, step.batch, self.read, MISREAD)
                loss, logits = answer_loss(
                    self.model, {"input_ids": ids, "attention_mask": mask}, letters, self.tokens.end
                )
                optimiser.step(loss, step.rate)
                recent.append(float((logits.argmax(1) == letters).float().mean()))
                count += 1
                if count % CHECK_EVERY == 0:
                    right = self._check(step)
                    good = min(*right, float(np.mean(recent[-CHECK_EVERY:]))) >= self.plan.gate
                    passed = passed + 1 if good else 0
            if passed < 2 and self.plan.gate > 0:
                raise StudyError(
                    f"the word training did not learn the step {step.name!r} in {count} batches: right of each answer "
                    f"{[round(share, 2) for share in right]}, {self.plan.gate} is needed. Take another seed"
                )
            _LOG.info("language: %s slices, %d batches, right %s", step.name, count, [round(x, 2) for x in right])
            log.append((step.name, count, right))
        return log

    def _check(self, step: Step) -> list[float]:
        """Share right of each content on clean, unseen questions."""
        asked = self.plan.asked if step.name != "whole" else self.plan.asked * 2 // 3
        self.model.eval()
        with torch.no_grad():
            ids, mask, letters, contents = self._batch(step, asked, self.kept, 0.0)
            _, logits = answer_loss(self.model, {"input_ids": ids, "attention_mask": mask}, letters, self.tokens.end)
        self.model.train()
        hit = (logits.argmax(1) == letters).numpy()
        return [float(hit[contents == content].mean()) for content in range(len(CONTENTS))]

    def _batch(
        self, step: Step, count: int, read: list[list[NDArray[np.int64]]], misread: float
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, NDArray[np.int64]]:
        rows, letters, contents = [], [], []
        for number in range(count):
            content = number % len(CONTENTS)
            words = self._shown(step, content, read[content])
            wrong = (words >= SWOLLEN) & (self.draws.random(words.shape) < misread)
            words[wrong] = self.draws.integers(SWOLLEN, NORMAL + 1, wrong.sum())
            form = Form(len(words), draw_order(self.draws, content, 0.0), bool(self.draws.random() < NUMBERED))
            ids = self.tokens.of_form(form).clone()
            ids[ids == self.tokens.image] = self.words[torch.from_numpy(words.ravel())]
            letter = self.tokens.letter(form, content)
            rows.append(torch.cat([ids, torch.tensor([letter])]))
            letters.append(letter)
            contents.append(content)
        ids, mask = left_padded(rows, self.tokens.pad)
        return ids, mask, torch.tensor(letters), np.array(contents)

    def _shown(self, step: Step, content: int, read: list[NDArray[np.int64]]) -> NDArray[np.int64]:
        """Findings per slice and image token, (slices, tokens)."""
        tokens = read[0].shape[1]
        if step.name == "one":
            return np.full((1, tokens), content if content < SWOLLEN else NORMAL)
        if step.name == "few":
            words = np.full((int(self.draws.integers(1, 5)), tokens), NORMAL)
            if content < SWOLLEN:
                count = int(self.draws.integers(1, 5))
                words[self.draws.integers(len(words), size=count), self.draws.integers(tokens, size=count)] = content
            words[(words == NORMAL) & (self.draws.random(words.shape) < 0.1)] = SWOLLEN
            return words
        words = read[self.draws.integers(len(read))]
        if step.name == "some":
            chosen = set(self.draws.choice(len(words), int(self.draws.integers(4, 9)), replace=False).tolist())
            if content < SWOLLEN:  # something to see must be left
                showing = np.flatnonzero((words == content).any(axis=1))
                chosen.add(int(self.draws.choice(showing)))
            words = words[sorted(chosen)]
        return words.copy()


def draw_order(draws: np.random.Generator, content: int, canonical: float) -> tuple[int, ...]:
    """Contents in shown order; a share in canonical order on top of chance."""
    two = content < len(CONTENTS) - 1 and draws.random() < TWO_OPTIONS
    count = len(CONTENTS) - 1 if two else len(CONTENTS)
    if draws.random() < canonical:
        return tuple(range(count))
    return tuple(int(place) for place in draws.permutation(count))
