"""The slot, not the content: first-slot preference, recall by slot, PriDe (PROTOCOLS S1)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ..config.words import UNSURE
from ..contracts.enums import ArmName, Denominator, Metric, Readout
from .clusters import Bools, Floats
from .estimand import Context, Estimand, Term, difference, over_variants
from .reading import LOST, Reading
from .registry import metric
from .rows import NOTHING
from .statistic import OfSums, Statistic, mean_of
from .trial_index import Ints

PRIDE_PATIENTS, PRIDE_SHARE, PRIDE_LEAST = 5, 0.05, 20
"""Patients that tell the prior, at least and as a share; below so many in all there is none."""
_TIE = 1e-9
"""Log-probabilities nearer than this are equal."""


@metric(Metric.FIRST_SLOT)
def first_slot(context: Context) -> Iterator[Estimand]:
    """Among pairs whose label changed with the slot kept, the share that kept the first slot, tested against ½.

    First–first against second–second over label_swap, for tasks of two labels.
    """
    reading = context.reading
    if ArmName.LABEL_SWAP not in context.arms or len(reading.codes.labels) != 2:
        return
    columns, (base,) = reading.of_arm(ArmName.LABEL_SWAP), reading.of_arm(ArmName.BASE)
    before, after = reading.decisions[:, [base]], reading.decisions[:, columns]
    slot, kept = reading.slots[:, [base]], reading.slots[:, columns]
    label = reading.codes.categorical
    counted = label(before) & label(after) & (before != after) & (slot == kept) & (slot >= 0)
    lost = ((before == LOST) & (label(after) | (after == LOST))) | ((after == LOST) & label(before))
    yield Estimand(
        Metric.FIRST_SLOT,
        Denominator.SLOT_FOLLOWED,
        ArmName.LABEL_SWAP,
        (over_variants(slot == 0, counted, lost),),
        reference_arm=ArmName.BASE,
        tested=True,
        null=0.5,
    )


@metric(Metric.RSTD)
def rstd(context: Context) -> Iterator[Statistic]:
    """RStd: population standard deviation, over the labels' slots, of the recall of what stood there.

    After PriDe (arXiv 2309.03882); the orders of base and label_swap are pooled, so that every label
    stands in every slot, and every case in all of them: recalls differ by what a case was right on in
    one slot and not in another, which is what an event is.
    """
    if ArmName.LABEL_SWAP not in context.arms:
        return
    reading = context.reading
    columns = [*reading.of_arm(ArmName.BASE), *reading.of_arm(ArmName.LABEL_SWAP)]
    decisions, truth = reading.decisions[:, columns], reading.units.truth
    known = truth >= 0
    counted, lost = known & (decisions >= 0).all(axis=1), known & (decisions == LOST).any(axis=1)
    lost &= (decisions >= LOST).all(axis=1)
    stood = np.stack(
        [reading.places[:, column, :][np.arange(len(truth)), np.maximum(truth, 0)] for column in columns], 1
    )
    right = (decisions == truth[:, None]) & counted[:, None]
    differ = right.any(axis=1) & ~right.all(axis=1)
    slots = range(len(reading.codes.labels))
    hits = np.stack([((stood == slot) & right).sum(axis=1) for slot in slots], axis=1)
    held = np.stack([((stood == slot) & counted[:, None]).sum(axis=1) for slot in slots], axis=1)
    yield Statistic(
        Metric.RSTD,
        Denominator.LABEL_KNOWN,
        ArmName.LABEL_SWAP,
        OfSums(np.concatenate([hits, held], axis=1).astype(np.float64), _spread_of_recall),
        counted,
        lost,
        reference_arm=ArmName.BASE,
        events=counted & differ,
        both_sides=False,
        span=(0.0, 0.5),
        nothing="no case with a known label was answered in both orders",
    )


def _spread_of_recall(sums: Floats) -> Floats:
    count = sums.shape[-1] // 2
    with np.errstate(invalid="ignore", divide="ignore"):
        recall = np.where(sums[..., count:] > 0, sums[..., :count] / sums[..., count:], np.nan)
    result: Floats = recall.std(axis=-1)
    return result


@dataclass(frozen=True)
class Pride:
    """PriDe on one reading: a slot prior from some patients, and decisions without it for the others.

    Attributes
    ----------
    prior
        Per unit the prior of each slot, NaN where not all shifts have log-probabilities, (units, slots).
    telling, held_out
        Units whose patients tell the prior, and the others, that have the log-probabilities, (units,).
    telling_lost, held_out_lost
        The same of units that lost an answer to an ERROR.
    observed, debiased
        Place of the decision on base in (labels, UNSURE), as observed and with the prior divided out.
    """

    prior: Floats
    telling: Bools
    held_out: Bools
    telling_lost: Bools
    held_out_lost: Bools
    observed: Ints
    debiased: Ints

    @classmethod
    def of(cls, reading: Reading, seed: int) -> Pride:
        """Estimate prior and decisions; no unit tells or is held out where there is no prior.

        The prior of a case is the softmax, over slots, of the mean over shifts of log P(slot); base is
        shift 0. It is averaged over a seeded max(5, 5 %) of patients. For the others
        P ∝ P_observed / prior. Fewer than PRIDE_LEAST patients give none.
        """
        nobody = np.zeros(len(reading.units.truth), dtype=bool)
        undecided = np.full(len(nobody), -1)
        columns = [*reading.of_arm(ArmName.BASE), *reading.of_arm(ArmName.LABEL_CYCLE)]
        tables = [reading.option_logprobs[column] for column in columns if column in reading.option_logprobs]
        none = cls(np.full((len(nobody), 1), np.nan), nobody, nobody, nobody, nobody, undecided, undecided)
        if len(tables) != len(columns) or len(columns) < 2:
            return none
        width = len(columns)  # as many shifts as options
        logs = np.stack([table[:, :width] for table in tables])
        asked = (reading.decisions[:, columns] >= LOST).all(axis=1)
        lost = asked & (reading.decisions[:, columns] == LOST).any(axis=1)
        whole: Bools = asked & ~lost & np.isfinite(logs).all(axis=(0, 2))
        telling = _telling(reading, whole | lost, seed)
        if telling is None:
            return none
        mean = np.where(whole[:, None], logs, 0.0).mean(axis=0)
        prior = np.exp(mean - mean.max(axis=1, keepdims=True))
        prior = np.where(whole[:, None], prior / prior.sum(axis=1, keepdims=True), np.nan)
        if not (telling & whole).any():
            return replace(none, telling_lost=lost & telling, held_out_lost=lost & ~telling)
        average = prior[telling & whole].mean(axis=0)
        shown = logs[0] - np.log(np.maximum(average, np.finfo(np.float64).tiny))[None, :]
        held_out = whole & ~telling
        return cls(
            prior,
            telling & whole,
            held_out,
            lost & telling,
            lost & ~telling,
            _decided(reading, columns[0], logs[0], held_out),
            _decided(reading, columns[0], shown, held_out),
        )


def _telling(reading: Reading, able: Bools, seed: int) -> Bools | None:
    """The units of the patients who tell the prior: a draw by patient; None where there are too few.

    Drawn among the patients who have log-probabilities or lost them, so that an ERROR changes
    nobody's part.
    """
    units = reading.units
    of_patient = np.logical_or.reduceat(able, units.starts)
    drawn = [number for number in units.drawn(seed, "pride") if of_patient[number]]
    if len(drawn) < PRIDE_LEAST:
        return None
    chosen = np.zeros(units.patients, dtype=bool)
    chosen[drawn[: max(PRIDE_PATIENTS, math.ceil(PRIDE_SHARE * len(drawn)))]] = True
    result: Bools = np.repeat(chosen, np.diff([*units.starts.tolist(), len(units.item_ids)]))
    return result


def _decided(reading: Reading, column: int, logs: Floats, asked: Bools) -> Ints:
    """The option of the greatest log-probability, as a decision; −1 where not asked.

    Equal ones are decided by content, never by slot: the label first in sorted order, as everywhere
    (`answers.score`). A slot-follower without its prior is equal but for the last bits.
    """
    places = reading.places[:, column, :]
    of_option = np.where(places >= 0, np.take_along_axis(logs, np.clip(places, 0, logs.shape[1] - 1), axis=1), -np.inf)
    of_option = np.where(asked[:, None], of_option, 0.0)
    equal = of_option >= of_option.max(axis=1, keepdims=True) - _TIE
    words = [*reading.codes.labels, UNSURE]
    order = np.array(sorted(range(len(words)), key=words.__getitem__))
    return np.where(asked, order[equal[:, order].argmax(axis=1)], -1)


@metric(Metric.SLOT_PRIOR)
def slot_prior(context: Context) -> Iterator[Statistic]:
    """PriDe's prior of each slot, averaged over the patients who tell it; `parameter` is the slot, from 1."""
    if not _asked(context):
        return
    pride = Pride.of(context.reading, context.seed)
    for slot in range(pride.prior.shape[1]):
        value = np.where(pride.telling, pride.prior[:, slot], 0.0)
        low, high = np.where(pride.telling_lost, 0.0, value), np.where(pride.telling_lost, 1.0, value)
        term = Term(value, pride.telling, pride.telling_lost, low, high)
        yield Statistic(
            Metric.SLOT_PRIOR,
            Denominator.CALIBRATION,
            ArmName.LABEL_CYCLE,
            mean_of(term),
            term.counted,
            term.lost,
            mean=term,
            reference_arm=ArmName.BASE,
            parameter=float(slot + 1),
            nothing=NOTHING[Denominator.CALIBRATION],
        )


@metric(Metric.OBSERVED_ACCURACY)
def observed_accuracy(context: Context) -> Iterator[Estimand]:
    """Accuracy of the observed log-probabilities on base, over the patients who do not tell the prior."""
    yield from _pride_accuracy(context, Metric.OBSERVED_ACCURACY)


@metric(Metric.DEBIASED_ACCURACY)
def debiased_accuracy(context: Context) -> Iterator[Estimand]:
    """Accuracy with the slot prior divided out, over the same patients."""
    yield from _pride_accuracy(context, Metric.DEBIASED_ACCURACY)


@metric(Metric.DEBIASED_DIFFERENCE)
def debiased_difference(context: Context) -> Iterator[Estimand]:
    """Debiased minus observed accuracy, paired."""
    yield from _pride_accuracy(context, Metric.DEBIASED_DIFFERENCE)


def _pride_accuracy(context: Context, name: Metric) -> Iterator[Estimand]:
    if not _asked(context):
        return
    truth = context.reading.units.truth
    pride = Pride.of(context.reading, context.seed)
    known = truth >= 0
    counted, missing = pride.held_out & known, pride.held_out_lost & known
    # who lost an answer that would have told the prior leaves every debiased decision open
    moved = bool(pride.telling_lost.any())
    open_to = missing | pride.telling_lost

    def share(decision: Ints, lost: Bools, anything: Bools) -> Term:
        value = np.where(counted, decision == truth, 0.0)
        return Term(value, counted, lost, np.where(anything, 0.0, value), np.where(anything, 1.0, value))

    debiased = share(pride.debiased, open_to, open_to | moved)
    terms = {
        Metric.OBSERVED_ACCURACY: share(pride.observed, missing, missing),
        Metric.DEBIASED_ACCURACY: debiased,
        Metric.DEBIASED_DIFFERENCE: difference(debiased, share(pride.observed, open_to, open_to)),
    }
    yield Estimand(
        name,
        Denominator.HELD_OUT_KNOWN,
        ArmName.LABEL_CYCLE,
        (terms[name],),
        reference_arm=ArmName.BASE,
        difference=name is Metric.DEBIASED_DIFFERENCE,
    )


def _asked(context: Context) -> bool:
    """PriDe reads log-probabilities: its rows stand under that readout alone."""
    return ArmName.LABEL_CYCLE in context.arms and context.reading.readout == Readout.LOGPROB
