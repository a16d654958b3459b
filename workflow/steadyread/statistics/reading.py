"""What one model decided under one readout, as arrays: items × presentations.

A decision is a label, or else the status of the answer (PROTOCOLS 0.1): two answers agree where
both are the same label, both UNSURE, both REFUSED, and so on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..contracts.enums import ArmName, OutcomeStatus
from ..contracts.problems import StudyError
from .clusters import Bools, Floats
from .trial_index import Column, Ints, TrialIndex, Units

Counts = NDArray[np.int32]
OUTCOME_COLUMNS = (
    *("trial_id", "model_id", "readout", "outcome_status", "answer_kind", "label", "slot"),
    *("confidence", "option_logprobs"),
)
ABSENT = -2
"""The item was not asked under this presentation."""
LOST = -1
"""It was asked and ended in ERROR, or left no outcome at all."""
_AFTER_LABELS = (OutcomeStatus.UNSURE, OutcomeStatus.REFUSED, OutcomeStatus.UNPARSED, OutcomeStatus.TRUNCATED)


@dataclass(frozen=True)
class Codes:
    """Decisions as small integers: labels in canonical order, then the other statuses."""

    labels: tuple[str, ...]

    @property
    def count(self) -> int:
        """Number of decisions there are."""
        return len(self.labels) + len(_AFTER_LABELS)

    def of(self, status: OutcomeStatus) -> int:
        """The decision of a status other than ANSWERED and ERROR."""
        return len(self.labels) + _AFTER_LABELS.index(status)

    def categorical(self, decision: Ints) -> Bools:
        """CATEGORICAL: a label of the task."""
        result: Bools = (decision >= 0) & (decision < len(self.labels))
        return result

    def answer_set(self, decision: Ints) -> Bools:
        """ANSWER SET: a label or UNSURE."""
        result: Bools = (decision >= 0) & (decision <= len(self.labels))
        return result

    def no_answer(self, decision: Ints) -> Bools:
        """REFUSED, UNPARSED or TRUNCATED."""
        result: Bools = decision > len(self.labels)
        return result


@dataclass(frozen=True)
class Reading:
    """One model under one readout.

    Attributes
    ----------
    decisions, slots
        Draw 0, shape (units, columns): decision codes (or LOST, ABSENT); the slot the answer stood
        in, −1 where it stood in none.
    draws
        How many draws gave each decision, shape (units, columns, decisions).
    lost_draws
        How many draws ended in ERROR, shape (units, columns).
    confidence
        Of the decision at draw 0, renormalised over all shown options, shape (units, columns); NaN
        where the engine offers none.
    option_logprobs
        By column, log-probabilities of the shown options at draw 0, shape (units, options), NaN
        where there are none; of base and label_cycle alone, which is what PriDe reads.
    places
        Shown slot of each label and of UNSURE at draw 0, shape (units, columns, labels + 1); −1
        where not offered or not asked.
    """

    model: str
    readout: str
    codes: Codes
    units: Units
    columns: tuple[Column, ...]
    decisions: Ints
    slots: Ints
    draws: Counts
    lost_draws: Counts
    confidence: Floats
    option_logprobs: Mapping[int, Floats]
    places: NDArray[np.int16]

    @cached_property
    def _columns_of(self) -> dict[ArmName, list[int]]:
        found: dict[ArmName, list[int]] = {}
        for number, column in enumerate(self.columns):
            found.setdefault(column.arm, []).append(number)
        return found

    def of_arm(self, arm: ArmName) -> list[int]:
        """Columns of an arm: its variants and replicates; empty where no item was asked under it."""
        return self._columns_of.get(arm, [])

    def base(self) -> Ints:
        """Decisions of base, shape (units, 1)."""
        (column,) = self.of_arm(ArmName.BASE)
        return self.decisions[:, [column]]

    def arm(self, arm: ArmName) -> Ints:
        """Decisions of an arm, shape (units, variants)."""
        return self.decisions[:, self.of_arm(arm)]


def read_model(index: TrialIndex, outcomes: pa.Table, model: str, readout: str) -> Reading:
    """Arrange one model's outcomes under one readout.

    A trial that was meant for the model and left no outcome counts as ERROR: it makes estimates
    incomplete, it does not shrink them.

    Parameters
    ----------
    outcomes
        Rows of this model and readout alone, columns OUTCOME_COLUMNS.

    Raises
    ------
    StudyError
        If a label is not of the study, or two outcomes claim one place.
    """
    codes = Codes(index.labels)
    place = index.locate(outcomes["trial_id"])
    if len(place) and np.bincount(place).max() > 1:
        raise StudyError(f"model {model}, readout {readout}: a trial has two outcomes: groups overlap, run score again")
    decided = np.where(index.meant_for(model), LOST, ABSENT)
    stood = np.full(len(decided), -1, dtype=np.int64)
    decided[place] = _decisions(outcomes, codes)
    stood[place] = _slots(outcomes, index, place, decided[place])

    asked = np.flatnonzero(decided != ABSENT)
    unit, column, draw = index.unit[asked], index.column[asked], index.draw[asked]
    shape = (len(index.units.item_ids), len(index.columns))
    spot = np.ravel_multi_index((draw, unit, column), (int(index.draw.max()) + 1, *shape))
    if len(spot) and np.bincount(spot).max() > 1:
        raise StudyError(f"model {model}: two trials are the same draw of one item, arm and variant")
    decision, slot = decided[asked], stood[asked]

    decisions = np.full(shape, ABSENT, dtype=np.int64)
    slots = np.full(shape, -1, dtype=np.int64)
    first = draw == 0
    decisions[unit[first], column[first]] = decision[first]
    slots[unit[first], column[first]] = slot[first]
    confidence = np.full(shape, np.nan)
    given = np.full(len(decided), np.nan)
    given[place] = pc.fill_null(outcomes["confidence"], np.nan).to_numpy()
    confidence[unit[first], column[first]] = given[asked][first]
    # 32 bits: five draws of every request of 25 models would fill the memory otherwise
    draws = np.zeros((*shape, codes.count), dtype=np.int32)
    valid = decision >= 0
    np.add.at(draws, (unit[valid], column[valid], decision[valid]), 1)
    lost = np.zeros(shape, dtype=np.int32)
    np.add.at(lost, (unit[~valid], column[~valid]), 1)
    return Reading(
        model=model,
        readout=readout,
        codes=codes,
        units=index.units,
        columns=index.columns,
        decisions=decisions,
        slots=slots,
        draws=draws,
        lost_draws=lost,
        confidence=confidence,
        option_logprobs=_option_logprobs(index, outcomes, place),
        places=index.shown,
    )


def readings_of(
    index: TrialIndex, outcomes: pa.Table, models: Sequence[str]
) -> Iterator[tuple[str, dict[str, Reading]]]:
    """Every model under every readout it has, one model at a time: its id, and readout → reading.

    Raises
    ------
    StudyError
        If a model of the study has no outcomes, or outcomes belong to a model that is not of it.
    """
    outcomes = outcomes.filter(pc.equal(outcomes["answer_kind"], "choice"))
    found = set(pc.unique(outcomes["model_id"]).to_pylist())
    strangers = found - set(models)
    if strangers:
        raise StudyError(f"outcomes hold models {sorted(strangers)}, the study asks {list(models)}: run score again")
    for model in models:
        if model not in found:
            raise StudyError(f"model {model} has no outcomes: run infer and score for it, or take it out of `models`")
    for model in models:
        own = outcomes.filter(pc.equal(outcomes["model_id"], model))
        yield (
            model,
            {
                readout: read_model(index, own.filter(pc.equal(own["readout"], readout)), model, readout)
                for readout in sorted(pc.unique(own["readout"]).to_pylist())
            },
        )


def _option_logprobs(index: TrialIndex, outcomes: pa.Table, place: Ints) -> dict[int, Floats]:
    """Log-probabilities of the shown options by column, draw 0, for the columns that PriDe reads."""
    columns = [n for n, item in enumerate(index.columns) if item.arm in (ArmName.BASE, ArmName.LABEL_CYCLE)]
    if ArmName.LABEL_CYCLE not in {index.columns[n].arm for n in columns}:
        return {}
    width = index.places.shape[1]
    read = np.isin(index.column[place], columns) & (index.draw[place] == 0)
    rows = outcomes["option_logprobs"].filter(pa.array(read)).to_pylist()
    found = {n: np.full((len(index.units.item_ids), width), np.nan) for n in columns}
    for spot, values in zip(place[read], rows, strict=True):
        if values is not None:
            found[int(index.column[spot])][index.unit[spot], : len(values)] = values
    return found


def _decisions(outcomes: pa.Table, codes: Codes) -> NDArray[np.int64]:
    status = pc.index_in(outcomes["outcome_status"], value_set=pa.array([item.value for item in _AFTER_LABELS]))
    answered = pc.equal(outcomes["outcome_status"], OutcomeStatus.ANSWERED.value).to_numpy().astype(bool)
    label = pc.index_in(outcomes["label"], value_set=pa.array(list(codes.labels)))
    strange = answered & ~label.is_valid().to_numpy().astype(bool)
    if strange.any():
        name = outcomes["label"][int(np.flatnonzero(strange)[0])].as_py()
        raise StudyError(f"an outcome answers {name!r}, expected one of {list(codes.labels)}: see cohort.labels")
    other = status.is_valid().to_numpy().astype(bool)
    result = np.full(outcomes.num_rows, LOST, dtype=np.int64)
    result[other] = len(codes.labels) + pc.fill_null(status, 0).to_numpy().astype(np.int64)[other]
    result[answered] = pc.fill_null(label, 0).to_numpy().astype(np.int64)[answered]
    return result


def _slots(outcomes: pa.Table, index: TrialIndex, place: Ints, decision: Ints) -> NDArray[np.int64]:
    """The slot an answer named, or else the one its label stood in."""
    named = pc.fill_null(outcomes["slot"], -1).to_numpy().astype(np.int64)
    choice = (decision >= 0) & (decision < index.places.shape[1])
    stood = np.where(choice, index.places[place, np.where(choice, decision, 0)], -1)
    return np.where(named >= 0, named, stood)
