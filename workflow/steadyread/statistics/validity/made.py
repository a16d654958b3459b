"""Readings made up by the thousand: one array holds the items of many cohorts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...contracts.enums import ArmName, Readout
from ..clusters import Bools
from ..reading import Codes, Reading
from ..trial_index import Column, Ints, Units

LABELS = ("GBM", "MET")
SWAPPED = (1, 0, 2)
"""Slot of each label and of UNSURE where the labels are swapped."""


def made_reading(arms: Sequence[ArmName], answers: Ints, truth: Ints, cases: int) -> Reading:
    """A reading from its answers.

    Parameters
    ----------
    answers
        Decision codes (labels, then UNSURE), shape (draws, units, arms); the first draw decides.
    truth
        Place of the true label, shape (units,).
    cases
        Cases per patient: units stand in blocks of so many.
    """
    codes = Codes(LABELS)
    draws = np.stack([(answers == code).sum(axis=0) for code in range(codes.count)], axis=2).astype(np.int32)
    units = answers.shape[1]
    shown = np.array([SWAPPED if arm is ArmName.LABEL_SWAP else (0, 1, 2) for arm in arms], dtype=np.int16)
    places = np.broadcast_to(shown, (units, *shown.shape))
    first = answers[0]
    return Reading(
        model="made",
        readout=Readout.TEXT.value,
        codes=codes,
        units=Units((), np.arange(0, units, cases, dtype=np.int64), truth),
        columns=tuple(Column(arm, "", 0) for arm in arms),
        decisions=first,
        slots=np.take_along_axis(places, first[:, :, None], axis=2)[:, :, 0].astype(np.int64),
        draws=draws,
        lost_draws=np.zeros(draws.shape[:2], dtype=np.int32),
        confidence=np.full(draws.shape[:2], np.nan),
        option_logprobs={},
        places=places,
    )


def by_cohort(values: Ints | Bools, cohorts: int) -> Ints:
    """Sums of a unit's values over each cohort, shape (cohorts,); cohorts stand in equal blocks."""
    result: Ints = values.reshape(cohorts, -1).sum(axis=1).astype(np.int64)
    return result
