"""The slot, not the content: first-slot preference, recall by slot, PriDe (PROTOCOLS S1)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..contracts.enums import ArmName, Denominator, Metric, Readout
from ..identity.seeds import uniform
from .clusters import Bools, Floats
from .estimand import Context, Estimand, Term, difference, over_variants
from .reading import LOST, Reading
from .registry import metric
from .rows import NOTHING
from .statistic import OfSums, Statistic, mean_of
from .trial_index import Ints

PRIDE_PATIENTS, PRIDE_SHARE, PRIDE_LEAST = 5, 0.05, 20
"""Patients that tell the prior, at least and as a share; below so many in all there is none."""


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
    stands in every slot.
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
        events=np.asarray((~right & counted[:, None]).any(axis=1)),
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
        Units whose patients tell the prior, and the others with log-probabilities on base, (units,).
    observed, debiased
        Place of the decision on base in (labels, UNSURE), as observed and with the prior divided out.
    """

    prior: Floats
    telling: Bools
    held_out: Bools
    observed: Ints
    debiased: Ints

    @classmethod
    def of(cls, reading: Reading, seed: int) -> Pride | None:
        """None where no log-probabilities were offered, or there are fewer than PRIDE_LEAST patients.

        The prior of a case is the softmax, over slots, of the mean over shifts of log P(slot); base is
        shift 0. It is averaged over a seeded max(5, 5 %) of patients. For the others
        P ∝ P_observed / prior.
        """
        columns = [*reading.of_arm(ArmName.BASE), *reading.of_arm(ArmName.LABEL_CYCLE)]
        tables = [reading.option_logprobs[column] for column in columns if column in reading.option_logprobs]
        if len(tables) != len(columns) or len(columns) < 2 or reading.units.patients < PRIDE_LEAST:
            return None
        width = len(columns)  # as many shifts as options
        logs = np.stack([table[:, :width] for table in tables])
        whole: Bools = np.asarray(np.isfinite(logs).all(axis=(0, 2)))
        if not whole.any():
            return None
        mean = np.where(whole[:, None], logs.mean(axis=0, where=whole[None, :, None]), 0.0)
        prior = np.exp(mean - mean.max(axis=1, keepdims=True))
        prior = np.where(whole[:, None], prior / prior.sum(axis=1, keepdims=True), np.nan)
        telling = _telling(reading, whole, seed)
        if not (telling & whole).any():
            return None
        average = prior[telling & whole].mean(axis=0)
        shown = logs[0] - np.log(average)[None, :]
        held_out = whole & ~telling
        return cls(
            prior,
            telling & whole,
            held_out,
            _decided(reading, columns[0], logs[0], held_out),
            _decided(reading, columns[0], shown, held_out),
        )


def _telling(reading: Reading, whole: Bools, seed: int) -> Bools:
    """The units of the patients who tell the prior: a draw by patient, whoever else is in the study."""
    units = reading.units
    drawn = sorted(range(units.patients), key=lambda n: uniform(seed, "pride", units.patient_ids[n]))
    able = np.logical_or.reduceat(whole, units.starts)
    drawn = [number for number in drawn if able[number]]
    wanted = max(PRIDE_PATIENTS, math.ceil(PRIDE_SHARE * len(drawn)))
    chosen = np.zeros(units.patients, dtype=bool)
    chosen[drawn[:wanted]] = True
    result: Bools = np.repeat(chosen, np.diff([*units.starts.tolist(), len(units.item_ids)]))
    return result


def _decided(reading: Reading, column: int, logs: Floats, asked: Bools) -> Ints:
    """What stands in the slot of the greatest log-probability, as a decision; −1 where not asked."""
    slot = np.argmax(np.where(asked[:, None], logs, 0.0), axis=1)
    places = reading.places[:, column, :]
    found = (places == slot[:, None]).argmax(axis=1)
    return np.where(asked, found, -1)


@metric(Metric.SLOT_PRIOR)
def slot_prior(context: Context) -> Iterator[Statistic]:
    """PriDe's prior of each slot, averaged over the patients who tell it; `parameter` is the slot, from 1."""
    if not _asked(context):
        return
    pride = Pride.of(context.reading, context.seed)
    if pride is None:
        nobody = np.zeros(len(context.reading.units.truth), dtype=bool)
        yield _prior_of(1, np.zeros(len(nobody)), nobody)
        return
    for slot in range(pride.prior.shape[1]):
        value = np.where(pride.telling, pride.prior[:, slot], 0.0)
        yield _prior_of(slot + 1, value, pride.telling)


def _prior_of(slot: int, value: Floats, telling: Bools) -> Statistic:
    nobody = np.zeros(len(value), dtype=bool)
    return Statistic(
        Metric.SLOT_PRIOR,
        Denominator.CALIBRATION,
        ArmName.LABEL_CYCLE,
        mean_of(Term(value, telling, nobody, value, value)),
        telling,
        nobody,
        reference_arm=ArmName.BASE,
        parameter=float(slot),
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
    nobody = np.zeros(len(truth), dtype=bool)
    nothing = np.full(len(truth), -1)
    found = Pride.of(context.reading, context.seed)
    pride = Pride(np.empty((len(truth), 0)), nobody, nobody, nothing, nothing) if found is None else found
    counted = pride.held_out & (truth >= 0)

    def share(decision: Ints) -> Term:
        value = (decision == truth).astype(np.float64)
        return Term(value, counted, nobody, value, value)

    terms = {
        Metric.OBSERVED_ACCURACY: share(pride.observed),
        Metric.DEBIASED_ACCURACY: share(pride.debiased),
        Metric.DEBIASED_DIFFERENCE: difference(share(pride.debiased), share(pride.observed)),
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
