"""Trains both phantom readers from a seed.

Vision and language are trained side by side. Then candidates look at a few slices of each case, told
the truth; from each, every reader reads whole cases with its own habits. The rule of the recipe
chooses a candidate for each reader on a validation cohort. Every process runs
one thread, so that sums do not depend on the machine's cores.
"""

from __future__ import annotations

import logging
import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from ...config.prompt import Prompt
from ...config.slicing import SlicingConfig
from ...identity.seeds import generator, seed_of
from ..idefics3 import build_model, build_processor
from .behaviour import Behaviour, observe
from .cases import Cases, make_cases
from .findings import WORDS, token_findings
from .forms import Tokens, corpus
from .language import Gate, train_language
from .reading import Habits, ReadingSteps, train_reading
from .recipe import LOOKING, READERS, SIZE, Reader, Recipe
from .vision import ENCODED, encode, fold_words, train_vision

_LOG = logging.getLogger("steadyread.phantom")
State = dict[str, torch.Tensor]
VISION = ("model.vision_model.", "model.connector.")
LANGUAGE = ("model.text_model.", "lm_head.")
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Candidate:
    """One candidate: its habits, its language model, and its behaviour on the validation cohort."""

    habits: Habits
    state: State
    behaviour: Behaviour


@dataclass(frozen=True, eq=False)
class Trained:
    """A reader that was chosen.

    Attributes
    ----------
    reader
        What it should be.
    state
        All weights, float16.
    kept
        The candidate that the rule chose.
    candidates
        All of them, in order.
    gates
        Of each step of the word training its name, the batches it took and the share right of each
        content at its end.
    """

    reader: Reader
    state: State
    kept: Candidate
    candidates: tuple[Candidate, ...]
    gates: tuple[Gate, ...] = ()


def train(
    seed: int,
    prompt: Prompt,
    slicing: SlicingConfig,
    recipe: Recipe,
    readers: Sequence[Reader] = READERS,
    processes: int = 2,
    cohorts: tuple[Cases, Cases] | None = None,
) -> tuple[Any, list[Trained]]:
    """Train readers.

    Parameters
    ----------
    seed
        Of weights and draws; patients are the same for every seed.
    prompt, slicing
        The study's own.
    cohorts
        Training and validation cases, where they were made before.

    Returns
    -------
    The processor, and the chosen candidate of each reader.
    """
    torch.set_num_threads(1)
    if cohorts is None:
        names = (("training", recipe.patients), ("validation", recipe.validation))
        cohorts = tuple(make_cases(name, *patients, SIZE.side, slicing, processes) for name, patients in names)  # type: ignore[assignment]
    assert cohorts is not None
    trainer = Trainer(seed, prompt, recipe, *cohorts, processes)
    apart: list[Callable[[], Any]] = [trainer.vision, trainer.language]
    vision, (language, gates) = side_by_side(apart, processes)
    trainer.join(vision, language)
    looks = range(recipe.looks)
    trainer.looked = side_by_side([partial(trainer.look, number) for number in looks], processes)
    wanted = [(reader, habits, number) for reader in readers for habits in reader.habits for number in looks]
    results = side_by_side([partial(trainer.read, *candidate) for candidate in wanted], processes)
    chosen = []
    for reader in readers:
        own = [
            Candidate(habits, state, behaviour)
            for (candidate, habits, _), (state, behaviour) in zip(wanted, results, strict=True)
            if candidate is reader
        ]
        best = min(own, key=lambda candidate: reader.distance(candidate.behaviour))
        chosen.append(Trained(reader, trainer.whole(best.state), best, tuple(own), tuple(gates)))
        _LOG.info("%s: candidate %d of %d, %s", reader.name, own.index(best) + 1, len(own), best.behaviour)
    return trainer.processor, chosen


class Trainer:
    """The stages of one training, each a function of the seed alone.

    Parameters
    ----------
    seed
        Of weights and draws.
    prompt
        The study's wording.
    recipe
        How much of everything.
    cases, validation
        What is learnt from, and what candidates are judged on.
    """

    def __init__(
        self, seed: int, prompt: Prompt, recipe: Recipe, cases: Cases, validation: Cases, processes: int = 1
    ) -> None:
        self.seed, self.recipe, self.cases, self.validation = seed, recipe, cases, validation
        self.processes = processes
        self.looked: list[State] = []
        self.processor = build_processor(SIZE, corpus(prompt))
        self.tokens = Tokens(self.processor, prompt)

    def fresh(self, *stage: object) -> Any:
        """The model at its start, the same for every stage; torch's stream then belongs to the stage."""
        torch.manual_seed(seed_of("phantom reader", self.seed) % 2**63)
        model = build_model(SIZE, self.processor).train()
        torch.manual_seed(seed_of("phantom reader", self.seed, *stage) % 2**63)
        return model

    def draws(self, *stage: object) -> np.random.Generator:
        """The draws of a stage."""
        return generator("phantom reader", self.seed, *stage)

    def vision(self) -> State:
        """Weights of vision tower and connector after stage 1."""
        model = self.fresh("vision")
        train_vision(model, self.cases, SIZE, self.recipe.vision, self.draws("vision"))
        return _part(model, VISION)

    def language(self) -> tuple[State, list[Gate]]:
        """Weights of the language model after stage 2, which needs no picture, and how its steps ended."""
        model = self.fresh("language")
        found = token_findings(self.cases.masks, self.cases.kind, SIZE)
        gates = train_language(model, self.tokens, self.cases, found, self.recipe.language, self.draws("language"))
        return _part(model, LANGUAGE), gates

    def join(self, vision: State, language: State) -> None:
        """Put both together and compute every slice's features, with the weights as they will be stored."""
        self.model = self.fresh("join").eval()
        self.model.load_state_dict({**self.model.state_dict(), **vision, **language})
        words = torch.tensor([self.tokens.single(f" {word}") for word in WORDS])
        fold_words(self.model, self.cases, words, SIZE, self.draws("fold"))
        self.model.load_state_dict(_rounded(self.model.state_dict()))
        self.features = self._encoded(self.cases.pixels)
        self.seen = self._encoded(self.validation.pixels)

    def _encoded(self, pixels: NDArray[np.uint8]) -> torch.Tensor:
        share = -(-len(pixels) // (self.processes * ENCODED)) * ENCODED  # whole batches: the same sums
        parts = [pixels[start : start + share] for start in range(0, len(pixels), share)]
        return torch.cat(side_by_side([partial(encode, self.model, part) for part in parts], self.processes))

    def look(self, number: int) -> State:
        """A candidate's language model after stage 3: a few slices of each case, and the truth."""
        return self._trained(self.model.state_dict(), LOOKING, self.recipe.looking, "looking", number)

    def read(self, reader: Reader, habits: Habits, number: int) -> tuple[State, Behaviour]:
        """A candidate's language model after stage 4, a reader's own: float16 values, and its behaviour."""
        state = self._trained(self.looked[number], habits, self.recipe.reading, reader.name, number)
        state = _rounded(state)
        model = self.fresh("observe").eval()
        model.load_state_dict({**self.model.state_dict(), **state})
        return state, observe(model, self.tokens, self.seen, self.validation)

    def _trained(self, start: State, habits: Habits, steps: ReadingSteps, *stage: object) -> State:
        model = self.fresh(*stage)
        model.load_state_dict({**self.model.state_dict(), **start})
        train_reading(model, self.tokens, self.cases, self.features, habits, steps, self.draws(*stage))
        return _part(model, LANGUAGE)

    def whole(self, language: State) -> State:
        """All weights of a reader, float16."""
        return {name: tensor.half() for name, tensor in {**self.model.state_dict(), **language}.items()}


def _part(model: Any, prefixes: tuple[str, ...]) -> State:
    return {name: tensor.clone() for name, tensor in model.state_dict().items() if name.startswith(prefixes)}


def _rounded(state: State) -> State:
    return {name: tensor.half().float() for name, tensor in state.items()}


_JOBS: list[Callable[[], Any]] = []


def side_by_side(jobs: Sequence[Callable[[], T]], processes: int) -> list[T]:
    """Results of jobs, in order; in forked processes, so that the cases are shared and not copied."""
    if processes == 1:
        return [job() for job in jobs]
    _JOBS[:] = jobs
    try:
        with ProcessPoolExecutor(min(processes, len(jobs)), mp_context=multiprocessing.get_context("fork")) as pool:
            results = list(pool.map(_run, range(len(jobs))))
    finally:
        _JOBS.clear()
    return [_tensors(result) for result in results]


def _run(number: int) -> Any:
    torch.set_num_threads(1)
    return _arrays(_JOBS[number]())


def _arrays(value: Any) -> Any:
    """Tensors as arrays, since torch would hand them over through shared memory files."""
    if isinstance(value, tuple):
        return tuple(_arrays(item) for item in value)
    if isinstance(value, dict):
        return {name: item.numpy() for name, item in value.items()}
    return value.numpy() if isinstance(value, torch.Tensor) else value


def _tensors(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_tensors(item) for item in value)
    if isinstance(value, dict):
        return {name: torch.from_numpy(item) for name, item in value.items()}
    return torch.from_numpy(value) if isinstance(value, np.ndarray) else value
