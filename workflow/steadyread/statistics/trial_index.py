"""Where each trial stands: its item, its arm and variant, and which draw of which request it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..config.words import UNSURE
from ..contracts.enums import ArmName
from ..contracts.problems import StudyError
from ..identity.seeds import uniform

Ints = NDArray[np.int64]

TRIAL_COLUMNS = (
    "trial_id",
    "item_id",
    "case_id",
    "cluster_id",
    "arm",
    "variant",
    "replicate",
    "draw",
    "reference_trial_id",
    "parent_trial_id",
    "model_id",
    "options",
    "strata",
)
CASE_COLUMNS = ("case_id", "label", "split")


@dataclass(frozen=True)
class Column:
    """One presentation of every item: an arm's variant and replicate."""

    arm: ArmName
    variant: str
    replicate: int


@dataclass(frozen=True)
class Units:
    """The items of a study, sorted by patient, and their true labels.

    Attributes
    ----------
    item_ids
        Shape (units,).
    starts
        Index of each patient's first unit, shape (patients,).
    truth
        Place of the true label in the list of labels, −1 where unknown, shape (units,).
    splits
        The split each unit's case belongs to; None where the cohort names none.
    strata
        What each unit's trials are known by: name → value.
    patient_ids
        The patients in order, shape (patients,).
    """

    item_ids: tuple[str, ...]
    starts: Ints
    truth: Ints
    splits: tuple[str | None, ...] = ()
    strata: tuple[Mapping[str, str], ...] = ()
    patient_ids: tuple[str, ...] = ()

    @property
    def patients(self) -> int:
        """Number of clusters."""
        return len(self.starts)

    def drawn(self, seed: int, name: str) -> list[int]:
        """The patients in a random order that is a function of the seed, the name and their ids alone."""
        return list(_drawn(self.patient_ids, seed, name))


@lru_cache(maxsize=8)
def _drawn(patient_ids: tuple[str, ...], seed: int, name: str) -> tuple[int, ...]:
    # every model and readout of a study asks for the same order
    return tuple(sorted(range(len(patient_ids)), key=lambda number: uniform(seed, name, patient_ids[number])))


@dataclass(frozen=True)
class TrialIndex:
    """Every trial's place, shape (trials,), sorted by trial id.

    Attributes
    ----------
    unit, column, draw
        Which item, which presentation of it (that of the first draw), which draw.
    model_id
        The model it is meant for; null for all.
    places
        Shown slot of each label and of UNSURE, shape (trials, labels + 1); −1 where not offered.
    """

    labels: tuple[str, ...]
    units: Units
    columns: tuple[Column, ...]
    trial_id: pa.Array
    model_id: pa.Array
    unit: Ints
    column: Ints
    draw: Ints
    places: Ints

    @cached_property
    def shown(self) -> NDArray[np.int16]:
        """Slot of each label and of UNSURE by item and presentation, shape (units, columns, labels + 1)."""
        result = np.full((len(self.units.item_ids), len(self.columns), self.places.shape[1]), -1, dtype=np.int16)
        first = np.flatnonzero(self.draw == 0)
        result[self.unit[first], self.column[first]] = self.places[first]
        return result

    def meant_for(self, model: str) -> NDArray[np.bool_]:
        """Trials that a model was to be asked: its own, and those for all."""
        own = pc.or_kleene(self.model_id.is_null(), pc.equal(self.model_id, model))
        return np.asarray(own.to_numpy(zero_copy_only=False), dtype=bool)

    def locate(self, trial_ids: pa.ChunkedArray) -> Ints:
        """Index of each trial.

        Raises
        ------
        StudyError
            If an outcome belongs to no trial.
        """
        found = pc.index_in(trial_ids, value_set=self.trial_id)
        if found.null_count:
            raise StudyError(
                f"{found.null_count} outcomes belong to no trial of this study: trials and outcomes come from "
                "different runs; run the workflow again from compose_trials"
            )
        return _ints(found)


def index_trials(trials: pa.Table, cases: pa.Table, labels: tuple[str, ...]) -> TrialIndex:
    """Put every trial in its place.

    Parameters
    ----------
    trials
        All shards, at least the columns TRIAL_COLUMNS.
    cases
        At least the columns CASE_COLUMNS.
    labels
        The diagnostic labels in canonical order.

    Raises
    ------
    StudyError
        Where a label is not of the study, or a draw above 0 names no first draw.
    """
    trials = trials.select(list(TRIAL_COLUMNS)).sort_by("trial_id").combine_chunks()
    ids = _flat(trials["trial_id"])
    arm = np.array(trials["arm"].to_pylist(), dtype=object)
    draw = _ints(trials["draw"])
    units, unit = _units(trials, cases, labels)
    roots = _roots(trials, ids, draw, arm)
    keys = list(zip(arm.tolist(), trials["variant"].to_pylist(), trials["replicate"].to_pylist(), strict=True))
    # the presentation of a later draw is that of the first draw: `repeat` is base asked again
    order = sorted({keys[root] for root in set(roots.tolist())})
    places_of_key = {key: number for number, key in enumerate(order)}
    column = np.array([places_of_key[keys[root]] for root in roots], dtype=np.int64)
    return TrialIndex(
        labels=labels,
        units=units,
        columns=tuple(Column(ArmName(name), variant, replicate) for name, variant, replicate in order),
        trial_id=ids,
        model_id=_flat(trials["model_id"]),
        unit=unit,
        column=column,
        draw=draw,
        places=_places(trials["options"], labels),
    )


def _units(trials: pa.Table, cases: pa.Table, labels: tuple[str, ...]) -> tuple[Units, Ints]:
    items = trials.select(["item_id", "case_id", "cluster_id"]).group_by(["item_id", "case_id", "cluster_id"])
    table = items.aggregate([]).sort_by([("cluster_id", "ascending"), ("item_id", "ascending")])
    item_ids = _flat(table["item_id"])
    if len(pc.unique(item_ids)) != len(item_ids):
        raise StudyError("an item belongs to two cases or two patients: trials of different studies are mixed")
    clusters = np.array(table["cluster_id"].to_pylist(), dtype=object)
    starts = np.flatnonzero(np.concatenate([[True], clusters[1:] != clusters[:-1]])) if len(clusters) else np.empty(0)
    label_of = dict(zip(cases["case_id"].to_pylist(), cases["label"].to_pylist(), strict=True))
    unknown = set(label_of.values()) - {None, *labels}
    if unknown:
        raise StudyError(f"cases carry labels {sorted(unknown)}, expected one of {list(labels)}: see cohort.labels")
    code: dict[str | None, int] = {label: number for number, label in enumerate(labels)} | {None: -1}
    missing = [case for case in table["case_id"].to_pylist() if case not in label_of]
    if missing:
        raise StudyError(f"{len(missing)} cases with trials are not in the table of cases: run from register_cohort")
    truth = np.array([code[label_of[case]] for case in table["case_id"].to_pylist()], dtype=np.int64)
    split_of = dict(zip(cases["case_id"].to_pylist(), cases["split"].to_pylist(), strict=True))
    place = _ints(pc.index_in(trials["item_id"], value_set=item_ids))
    units = Units(
        item_ids=tuple(item_ids.to_pylist()),
        starts=starts.astype(np.int64),
        truth=truth,
        splits=tuple(split_of[case] for case in table["case_id"].to_pylist()),
        strata=_strata(trials, place, len(item_ids)),
        patient_ids=tuple(clusters[starts.astype(np.int64)].tolist()),
    )
    return units, place


def _strata(trials: pa.Table, place: Ints, units: int) -> tuple[Mapping[str, str], ...]:
    """What all of a unit's trials together are known by; `runs_matched` stands on one arm's alone."""
    found: list[dict[str, str]] = [{} for _ in range(units)]
    first = _ints(trials["draw"]) == 0
    arm = np.array(trials["arm"].to_pylist(), dtype=object)
    chosen = np.flatnonzero(first & ((arm == ArmName.BASE.value) | (arm == ArmName.MATCHED_REMOVED.value)))
    for unit, pairs in zip(place[chosen].tolist(), trials["strata"].take(pa.array(chosen)).to_pylist(), strict=True):
        found[unit].update(dict(pairs))
    return tuple(found)


def _roots(trials: pa.Table, ids: pa.Array, draw: Ints, arm: NDArray[np.object_]) -> Ints:
    """Index of each trial's first draw."""
    parent = pc.index_in(trials["parent_trial_id"], value_set=ids)
    known = parent.is_valid().to_numpy()
    orphans = int(((draw > 0) & ~known).sum())
    if orphans:
        raise StudyError(f"{orphans} trials are later draws whose first draw is not among the trials")
    own = np.arange(len(ids), dtype=np.int64)
    roots = np.where(draw > 0, _ints(pc.fill_null(parent, 0)), own)
    if bool((draw[roots] != 0).any()):
        raise StudyError("a later draw names another later draw as its first")
    if ArmName.REPEAT in set(arm[roots].tolist()):
        raise StudyError("arm repeat holds trials of draw 0: it is base asked again, draw 1 and later")
    return roots


def _places(options: pa.ChunkedArray, labels: tuple[str, ...]) -> Ints:
    lists = _flat(options)
    words = pa.array([*labels, UNSURE])
    code = pc.fill_null(pc.index_in(lists.flatten(), value_set=words), -1)
    lengths = _ints(pc.list_value_length(lists))
    row = np.repeat(np.arange(len(lists)), lengths)
    slot = np.arange(len(row)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    result = np.full((len(lists), len(words)), -1, dtype=np.int64)
    codes = _ints(code)
    result[row[codes >= 0], codes[codes >= 0]] = slot[codes >= 0]
    return result


def _flat(column: pa.ChunkedArray) -> pa.Array:
    chunks = column.combine_chunks()
    return chunks if isinstance(chunks, pa.Array) else pa.concat_arrays(chunks.chunks)


def _ints(column: pa.ChunkedArray | pa.Array) -> Ints:
    return np.asarray(
        column.to_numpy(zero_copy_only=False) if isinstance(column, pa.Array) else column.to_numpy()
    ).astype(np.int64)
