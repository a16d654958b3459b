"""A small made-up study: who was asked what, and readers with known answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pyarrow as pa
import pytest

from steadyread.answers.score import confidence
from steadyread.arms.presentation import Levels, Presentation, SliceFacts
from steadyread.arms.registry import ARMS
from steadyread.contracts.enums import ArmName
from steadyread.contracts.tables import CASES, OUTCOMES, TRIALS
from steadyread.identity.digests import digest_json
from steadyread.statistics.estimate import EstimateSettings, estimate_rows

STATUSES = ("REFUSED", "UNPARSED", "TRUNCATED", "ERROR")


@dataclass(frozen=True)
class Asked:
    """What a reader is asked."""

    case: str
    truth: str | None
    arm: str
    variant: str
    draw: int
    options: tuple[str, ...]
    trial_id: str


Reader = Callable[[Asked], str]
"""From a question to an option's text, or to a status that is no answer."""


@dataclass
class MadeStudy:
    """Patients × cases, arms and draws, as tables."""

    patients: int = 12
    per_patient: int = 2
    labels: tuple[str, ...] = ("GBM", "MET")
    arms: tuple[str, ...] = tuple(arm.value for arm in ArmName)
    unsure: bool = True
    known: bool = True
    extra_draws: Mapping[str, int] = field(default_factory=dict)
    """Later draws of each case, by arm, `repeat` left out."""
    levels: Mapping[str, Any] = field(default_factory=dict)
    """Levels of the arms that have several."""
    strata: Callable[[str, str], Mapping[str, str]] = lambda case, arm: {}
    """What a case's trials under an arm are known by."""
    logprobs: Callable[[Asked], Sequence[float]] | None = None
    """Log-probabilities of the shown options, where the engine offers them."""
    splits: Callable[[str], str | None] = lambda case: None
    """The split a case belongs to."""
    left_out: Callable[[str, str], bool] = lambda case, arm: False
    """Whether a case is not asked under an arm."""

    def truth(self, patient: int) -> str | None:
        return self.labels[patient % len(self.labels)] if self.known else None

    def cases(self) -> list[tuple[str, str, str | None]]:
        return [
            (f"p{patient:03d}-s{number}", f"p{patient:03d}", self.truth(patient))
            for patient in range(self.patients)
            for number in range(self.per_patient)
        ]

    def case_table(self) -> pa.Table:
        return CASES.from_rows(
            {
                **dict.fromkeys(CASES.schema.names),
                "case_id": case,
                "patient_id": patient,
                "label": label,
                "split": self.splits(case),
                "annotation_kind": "none",
                "covariates": {},
                "texts": {},
                "deidentified": "yes",
                "source_digest": "0" * 32,
            }
            for case, patient, label in self.cases()
        )

    def presentations(self, arm: str, case: str) -> list[Presentation]:
        """How the arm's own function shows a case of nine slices, two of them with the lesion."""
        facts = SliceFacts(
            sampled=tuple(range(9)),
            lesion_flags=tuple(place in (3, 4) for place in range(9)),
            lesion_slices_in_volume=2,
            options=(*self.labels, *(["UNSURE"] if self.unsure else [])),
            seed_parts=(7, case),
            boxes=tuple(((0.0, 0.0, 4.0, 4.0),) if place in (3, 4) else () for place in range(9)),
            levels=Levels(**self.levels),
        )
        return ARMS[ArmName(arm)].function(facts)

    def trial_rows(self) -> list[dict[str, Any]]:
        return list(self._trials)

    @cached_property
    def _trials(self) -> list[dict[str, Any]]:
        rows = []
        for case, patient, _ in self.cases():
            base = self._row(case, patient, "base", "", 0, self._options(range(len(self._offered))))
            for arm in self.arms:
                if (arm == "abstain_first" and not self.unsure) or self.left_out(case, arm):
                    continue
                for shown in self.presentations(arm, case):
                    options = self._options(shown.option_order)
                    first = self._row(case, patient, arm, shown.variant, ARMS[ArmName(arm)].draw, options)
                    rows.append({**first, "parent_trial_id": base["trial_id"] if arm == "repeat" else None})
                    for draw in range(1, 1 + self.extra_draws.get(arm, 0)):
                        later = self._row(case, patient, arm, shown.variant, draw + 10, options)
                        rows.append({**later, "parent_trial_id": first["trial_id"]})
        return rows

    @property
    def _offered(self) -> list[str]:
        return [*self.labels, *(["UNSURE"] if self.unsure else [])]

    def _options(self, order: Sequence[int]) -> list[str]:
        return [self._offered[place] for place in order]

    def _row(self, case: str, patient: str, arm: str, variant: str, draw: int, options: list[str]) -> dict[str, Any]:
        return {
            **dict.fromkeys(TRIALS.schema.names),
            "trial_id": digest_json([case, arm, variant, draw]),
            "item_id": digest_json([case]),
            "case_id": case,
            "cluster_id": patient,
            "arm": arm,
            "variant": variant,
            "replicate": 0,
            "draw": draw,
            "round": 1,
            "images": [],
            "messages": [],
            "options": options,
            "symbols": list("ABCDEFGH"[: len(options)]),
            "strata": dict(self.strata(case, arm)),
        }

    def outcome_rows(self, readers: Mapping[str, Reader], readouts: Sequence[str] = ("text",)) -> list[dict[str, Any]]:
        truth = {case: label for case, _, label in self.cases()}
        rows = []
        for trial in self._trials:
            asked = Asked(
                trial["case_id"],
                truth[trial["case_id"]],
                trial["arm"],
                trial["variant"],
                trial["draw"],
                tuple(trial["options"]),
                trial["trial_id"],
            )
            for model, reader in readers.items():
                answer = reader(asked)
                option = answer not in STATUSES
                slot = asked.options.index(answer) if option and answer in asked.options else None
                offered = self.logprobs is not None and answer != "ERROR"
                logs = [float(value) for value in self.logprobs(asked)] if offered else None
                for readout in readouts:
                    rows.append(
                        {
                            **dict.fromkeys(OUTCOMES.schema.names),
                            "trial_id": trial["trial_id"],
                            "model_id": model,
                            "draw": trial["draw"],
                            "readout": readout,
                            "outcome_status": ("UNSURE" if answer == "UNSURE" else "ANSWERED") if option else answer,
                            "answer_kind": "choice",
                            "label": answer if option else None,
                            "slot": slot,
                            "option_logprobs": logs,
                            "confidence": confidence(slot, logs),
                            "scores": [],
                        }
                    )
        return rows

    def settings(self, models: Sequence[str], **changes: Any) -> EstimateSettings:
        entry = {
            "backend": "transformers",
            "source": {"kind": "built"},
            "deterministic": False,
            "dtype": "float32",
            "quantisation": "none",
            "device": "cpu",
        }
        plain = {
            "seed": 7,
            "cohort": {"labels": self.labels},
            "question": {"unsure": self.unsure},
            "arms": {"enabled": self.arms},
            "models_table": [{**entry, "id": model} for model in models],
            "statistics": {"permutations": 999},
        }
        return EstimateSettings.model_validate({**plain, **changes})

    def tables(
        self, readers: Mapping[str, Reader], readouts: Sequence[str] = ("text",)
    ) -> tuple[pa.Table, pa.Table, pa.Table]:
        return self._trial_table, self.case_table(), OUTCOMES.from_rows(self.outcome_rows(readers, readouts))

    @cached_property
    def _trial_table(self) -> pa.Table:
        return TRIALS.from_rows(self._trials)

    def estimates(
        self, readers: Mapping[str, Reader], readouts: Sequence[str] = ("text",), **changes: Any
    ) -> Estimates:
        rows = estimate_rows(*self.tables(readers, readouts), self.settings(list(readers), **changes), "made")
        return Estimates(list(rows))


@dataclass
class Estimates:
    """Rows of the estimates table, to be asked by column."""

    rows: list[dict[str, Any]]

    def all(self, **wanted: Any) -> list[dict[str, Any]]:
        return [row for row in self.rows if all(row[key] == value for key, value in wanted.items())]

    def one(self, **wanted: Any) -> dict[str, Any]:
        (row,) = self.all(**wanted)
        return row


def by_patient(script: Mapping[str, Sequence[str]]) -> Reader:
    """A reader that answers from a list over patients: that of the arm and variant, of the arm, or of base."""

    def answer(asked: Asked) -> str:
        answers = script.get(f"{asked.arm} {asked.variant}", script.get(asked.arm, script["base"]))
        return answers[int(asked.case[1:4])]

    return answer


def log_odds(weights: Mapping[str, float], slots: Sequence[float], options: Sequence[str]) -> list[float]:
    """Log-probabilities of shown options whose chance is proportional to what they say times where they stand."""
    raw = [weights[option] * slot for option, slot in zip(options, slots, strict=True)]
    return [math.log(value / sum(raw)) for value in raw]


@pytest.fixture(scope="session")
def scripted() -> Callable[[Mapping[str, Sequence[str]]], Reader]:
    """Makes a reader from lists over patients."""
    return by_patient


@pytest.fixture(scope="session")
def log_probabilities() -> Callable[[Mapping[str, float], Sequence[float], Sequence[str]], list[float]]:
    """Makes log-probabilities from what options say and where they stand."""
    return log_odds


@pytest.fixture(scope="session")
def made() -> type[MadeStudy]:
    """A made-up study, to be given its numbers."""
    return MadeStudy
