"""How a reader behaves: the study's own arms, asked on features that were computed once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ...arms.arms import base, label_swap, lesion_removed, matched_removed, reverse
from ...arms.presentation import Presentation, SliceFacts
from ...contracts.problems import CaseProblem
from .cases import Cases
from .forms import CONTENTS, Form, Tokens
from .reading import UNSURE_PLACE, Question, embedded

BATCH = 12
NO_ANSWER = -1
NOT_ASKED = -2
ARMS: dict[str, Callable[[SliceFacts], list[Presentation]]] = {
    "base": base,
    "reverse": reverse,
    "label_swap": label_swap,
    "lesion_removed": lesion_removed,
    "matched_removed": matched_removed,
}


@dataclass(frozen=True)
class Behaviour:
    """Shares over the cases of a cohort.

    Attributes
    ----------
    accuracy, unsure
        Right, and UNSURE, on base.
    reversal_flips, label_swap_inconsistency
        Decisions that differ from base, answers mapped to their content.
    overcommitment
        Diagnoses where the lesion slices are gone.
    matched_commitment
        Diagnoses where as many other slices are gone.
    no_answer
        Answers on base that are no shown letter.
    """

    accuracy: float
    unsure: float
    reversal_flips: float
    label_swap_inconsistency: float
    overcommitment: float
    matched_commitment: float
    no_answer: float


def decisions(model: Any, tokens: Tokens, features: torch.Tensor, questions: list[Question]) -> NDArray[np.int64]:
    """The content a reader answers each question with; NO_ANSWER where its first token is no shown letter."""
    found = []
    place = {letter: slot for slot, letter in enumerate(tokens.letters)}
    with torch.no_grad():
        for start in range(0, len(questions), BATCH):
            batch = questions[start : start + BATCH]
            inputs = embedded(model, tokens, features, batch, [torch.empty(0, dtype=torch.long)] * len(batch))
            last = model.model.text_model(**inputs).last_hidden_state[:, -1]
            spoken = model.lm_head(last).argmax(1).tolist()
            for question, token in zip(batch, spoken, strict=True):
                slot = place.get(token, len(CONTENTS))
                shown = question.form.order
                found.append(shown[slot] if slot < len(shown) else NO_ANSWER)
    return np.array(found)


def observe(model: Any, tokens: Tokens, features: torch.Tensor, cases: Cases) -> Behaviour:
    """Ask every case under every arm that the ranges speak of."""
    model.eval()
    answers = {name: ask(model, tokens, features, cases, arm) for name, arm in ARMS.items()}
    known, kinds = answers["base"], cases.kinds

    def share(event: NDArray[np.bool_], arm: str) -> float:
        return float(event[answers[arm] != NOT_ASKED].mean())

    def diagnoses(arm: str) -> float:
        return share((answers[arm] >= 0) & (answers[arm] < UNSURE_PLACE), arm)

    return Behaviour(
        accuracy=share(known == kinds, "base"),
        unsure=share(known == UNSURE_PLACE, "base"),
        reversal_flips=share(answers["reverse"] != known, "reverse"),
        label_swap_inconsistency=share(answers["label_swap"] != known, "label_swap"),
        overcommitment=diagnoses("lesion_removed"),
        matched_commitment=diagnoses("matched_removed"),
        no_answer=share(known == NO_ANSWER, "base"),
    )


def ask(
    model: Any, tokens: Tokens, features: torch.Tensor, cases: Cases, arm: Callable[[SliceFacts], list[Presentation]]
) -> NDArray[np.int64]:
    """Each case's answer under an arm: a content, NO_ANSWER, or NOT_ASKED where it is not in the arm."""
    questions, asked = [], []
    for case in range(len(cases.kinds)):
        rows = cases.slices_of(case)
        flags = tuple(bool(flag) for flag in cases.lesion[rows])
        facts = SliceFacts(tuple(range(len(rows))), flags, sum(flags), CONTENTS, ("behaviour", case))
        try:
            (shown,) = arm(facts)
        except CaseProblem:
            continue
        form = Form(len(shown.shown), shown.option_order)
        questions.append(Question(rows[list(shown.shown)], form, 0))
        asked.append(case)
    found = np.full(len(cases.kinds), NOT_ASKED)
    found[asked] = decisions(model, tokens, features, questions)
    return found
