"""Agreement with base and among several arms (PROTOCOLS S1; ReAcc and ReCon over the arms of 0.3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..contracts.enums import ArmName, Denominator, Metric
from .clusters import Bools, Floats
from .estimand import Context, Estimand, Term
from .reading import LOST, Reading
from .registry import metric
from .rows import NOTHING
from .statistic import OfSums, Statistic
from .trial_index import Ints


@dataclass(frozen=True)
class Together:
    """The decisions of cases that have base and every listed arm.

    Attributes
    ----------
    decisions
        Base first, then all variants of the arms, shape (units, presentations).
    counted, lost
        Units that have all of them without an ERROR, and those that would have, shape (units,).
    """

    decisions: Ints
    counted: Bools
    lost: Bools

    @classmethod
    def of(cls, reading: Reading, arms: Sequence[ArmName]) -> Together:
        """Gather base and some arms; a unit takes part where it was asked under each of them."""
        groups = [reading.arm(arm) for arm in dict.fromkeys((ArmName.BASE, *arms))]
        decisions = np.concatenate(groups, axis=1)
        asked = np.logical_and.reduce([(group >= LOST).any(axis=1) for group in groups])
        error = (decisions == LOST).any(axis=1)
        return cls(decisions, asked & ~error, asked & error)

    @property
    def number(self) -> int:
        """Presentations there are, base among them."""
        return int(self.decisions.shape[1])

    def same(self) -> Bools:
        """Units whose decisions, as far as they are known, are all alike."""
        seen = self.decisions >= 0
        greatest = np.where(seen, self.decisions, -1).max(axis=1)
        result: Bools = (~seen | (self.decisions == greatest[:, None])).all(axis=1)
        return result

    def share(self, event: Bools, certain: Bools | None = None, possible: Bools | None = None) -> Term:
        """The share of the counted units with an event.

        Parameters
        ----------
        event
            Shape (units,), right where the unit is counted.
        certain, possible
            Whether a unit that lost an answer has the event whatever that was, and whether it can
            have it; left out, nothing is known of it.
        """
        value = event.astype(np.float64)
        least = np.zeros_like(value) if certain is None else certain.astype(np.float64)
        most = np.ones_like(value) if possible is None else possible.astype(np.float64)
        low, high = np.where(self.lost, least, value), np.where(self.lost, most, value)
        return Term(value, self.counted, self.lost, low, high)


@metric(Metric.KAPPA)
def kappa(context: Context) -> Iterator[Statistic]:
    """Cohen's κ of an arm with base over all decisions; none for a reader that says one thing only."""
    reading = context.reading
    base = reading.base()
    codes = np.arange(reading.codes.count)
    for arm in context.compared:
        other = reading.arm(arm)
        pairs = (base >= 0) & (other >= 0)
        asked = (base >= LOST) & (other >= LOST)
        share = pairs / np.maximum(pairs.sum(axis=1, keepdims=True), 1)
        agreed = (share * (base == other)).sum(axis=1)
        before = share.sum(axis=1)[:, None] * (base == codes)
        after = np.stack([(share * (other == code)).sum(axis=1) for code in codes], axis=1)
        counted = np.asarray(pairs.any(axis=1))
        yield Statistic(
            Metric.KAPPA,
            Denominator.ALL,
            arm,
            OfSums(np.concatenate([agreed[:, None], before, after], axis=1), _kappa),
            counted,
            np.asarray((asked & ~pairs).any(axis=1)),
            reference_arm=ArmName.BASE,
            events=counted & (agreed < 1),
            span=(-1.0, 1.0),
            nothing="every answer under both arms is the same: chance explains all agreement"
            if counted.any()
            else NOTHING[Denominator.ALL].format(arms=f"{ArmName.BASE}, {arm}"),
        )


def _kappa(sums: Floats) -> Floats:
    """κ = (p_o − p_e) / (1 − p_e) from agreements and both margins; NaN where p_e is 1."""
    count = (sums.shape[-1] - 1) // 2
    before, after = sums[..., 1 : 1 + count], sums[..., 1 + count :]
    with np.errstate(invalid="ignore", divide="ignore"):
        n = before.sum(axis=-1)
        observed, chance = sums[..., 0] / n, (before * after).sum(axis=-1) / n**2
        result: Floats = np.where(chance < 1 - 1e-12, (observed - chance) / (1 - chance), np.nan)
    return result


@metric(Metric.ANY_FLIP)
def any_flip(context: Context) -> Iterator[Estimand]:
    """Share of cases with more than one decision over base and the slice orders; grows with their number K."""
    orders = context.asked(context.slice_order)
    if orders:
        together = Together.of(context.reading, orders)
        apart = ~together.same()
        yield _several(context, Metric.ANY_FLIP, together, together.share(apart, certain=apart), orders)


@metric(Metric.PAIRWISE_DISAGREEMENT)
def pairwise_disagreement(context: Context) -> Iterator[Estimand]:
    """Share of pairs of presentations (base and the slice orders) decided otherwise; does not grow with K."""
    orders = context.asked(context.slice_order)
    if not orders:
        return
    together = Together.of(context.reading, orders)
    had = together.decisions >= 0
    counts = np.stack([(together.decisions == code).sum(axis=1) for code in range(context.reading.codes.count)], axis=1)
    pairs = had.sum(axis=1) * (had.sum(axis=1) - 1) / 2
    apart = 1 - (counts * (counts - 1) / 2).sum(axis=1) / np.maximum(pairs, 1)
    low = np.where(together.counted, apart, 0.0)
    term = Term(apart, together.counted, together.lost, low, np.where(together.lost, 1.0, low))
    yield _several(context, Metric.PAIRWISE_DISAGREEMENT, together, term, orders)


@metric(Metric.REACC, strata=True)
def reacc(context: Context) -> Iterator[Estimand]:
    """ReAcc: share of cases with a known label that are right under base and every evidence-preserving arm."""
    arms = context.asked(context.evidence_preserving)
    if not arms:
        return
    together = Together.of(context.reading, arms)
    truth = context.reading.units.truth
    known = truth >= 0
    right = ((together.decisions == truth[:, None]) | (together.decisions < 0)).all(axis=1)
    share = together.share(right, possible=right).within(known)
    yield _several(context, Metric.REACC, together, share, arms, Denominator.ALL_ARMS_KNOWN)


@metric(Metric.RECON, strata=True)
def recon(context: Context) -> Iterator[Estimand]:
    """ReCon: share of cases with the same decision under base and every evidence-preserving arm."""
    arms = context.asked(context.evidence_preserving)
    if arms:
        together = Together.of(context.reading, arms)
        same = together.same()
        yield _several(context, Metric.RECON, together, together.share(same, possible=same), arms)


def _several(
    context: Context,
    name: Metric,
    together: Together,
    term: Term,
    arms: tuple[ArmName, ...],
    denominator: Denominator = Denominator.ALL_ARMS,
) -> Estimand:
    over = context.asked((ArmName.BASE, *arms))
    return Estimand(name, denominator, None, (term,), over=over, parameter=float(together.number))
