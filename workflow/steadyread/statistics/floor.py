"""The engine's own noise, and the effect above it (PROTOCOLS 0.3; after Facet-Probe, arXiv 2606.26079)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..contracts.enums import ArmName, Denominator, Metric
from ..contracts.problems import StudyError
from .clusters import Bools
from .estimand import Context, Estimand, Term, over_variants
from .reading import Counts, Reading
from .registry import metric
from .rows import NOTHING
from .trial_index import Ints


@metric(Metric.D_SAME)
def d_same(context: Context) -> Iterator[Estimand]:
    """Per arm, P(two draws of the same request disagree), over unordered pairs of draws of each case."""
    for arm in context.arms:
        yield Estimand(
            Metric.D_SAME,
            Denominator.PAIRS_OF_DRAWS,
            arm,
            (disagreement_within(context.reading, arm),),
            nothing=_unasked(context, arm),
        )


@metric(Metric.D_CROSS)
def d_cross(context: Context) -> Iterator[Estimand]:
    """Per arm, P(a draw of the arm and a draw of base disagree), over all pairs of draws of each case."""
    for arm in context.compared:
        yield Estimand(
            Metric.D_CROSS,
            Denominator.PAIRS_OF_DRAWS,
            arm,
            (disagreement_across(context.reading, arm),),
            reference_arm=ArmName.BASE,
            nothing=NOTHING[Denominator.ALL].format(arms=f"{ArmName.BASE}, {arm}"),
        )


@metric(Metric.DELTA)
def delta(context: Context) -> Iterator[Estimand]:
    """Δ = d_cross − ½(d_same(base) + d_same(arm)), whose expectation per case is ½‖p − q‖² ≥ 0.

    Each mean runs over the cases that have its pairs: a deterministic engine repeats base on every
    case and the other arms on a seeded share. No p against a floor that is zero by construction.
    """
    for arm in context.compared:
        yield Estimand(
            Metric.DELTA,
            Denominator.PAIRS_OF_DRAWS,
            arm,
            (
                disagreement_across(context.reading, arm),
                disagreement_within(context.reading, ArmName.BASE),
                disagreement_within(context.reading, arm),
            ),
            reference_arm=ArmName.BASE,
            coefficients=(1.0, -0.5, -0.5),
            difference=True,
            nothing=_unasked(context, arm),
        )


def _unasked(context: Context, arm: ArmName) -> str | None:
    """Why an arm that no case was asked under has no noise: not because nothing was asked twice."""
    return None if context.reading.of_arm(arm) else NOTHING[Denominator.ALL].format(arms=arm)


def disagreement_within(reading: Reading, arm: ArmName) -> Term:
    """Share of unordered pairs of draws that disagree, per unit; mean over the arm's variants."""
    columns = reading.of_arm(arm)
    draws, lost = reading.draws[:, columns], reading.lost_draws[:, columns]
    valid = draws.sum(axis=2)
    return _term(_pairs(valid) - _pairs(draws).sum(axis=2), _pairs(valid), _pairs(valid + lost))


def disagreement_across(reading: Reading, arm: ArmName) -> Term:
    """Share of pairs (draw of the arm, draw of base) that disagree, per unit."""
    columns, base = reading.of_arm(arm), reading.of_arm(ArmName.BASE)
    draws, reference = reading.draws[:, columns], reading.draws[:, base]
    pairs = draws.sum(axis=2) * reference.sum(axis=2)
    agreeing = (draws * reference).sum(axis=2)
    asked = (draws.sum(axis=2) + reading.lost_draws[:, columns]) * (reference.sum(axis=2) + reading.lost_draws[:, base])
    return _term(pairs - agreeing, pairs, asked)


def assert_floor_is_zero(reading: Reading) -> None:
    """Check that a reader which cannot vary did not.

    Raises
    ------
    StudyError
        If two draws of one request disagree.
    """
    valid = reading.draws.sum(axis=2)
    pairs = int(_pairs(valid).sum())
    apart = pairs - int(_pairs(reading.draws).sum())
    if apart:
        raise StudyError(
            f"model {reading.model}, readout {reading.readout}: {apart} of {pairs} pairs of draws of the same request "
            "disagree, expected none of a deterministic model in float32 on the CPU. Find what varies (batching, "
            "threads, state kept between requests), or declare deterministic: false in config/models.yaml"
        )


def _pairs(count: Ints | Counts) -> Ints:
    return count.astype(np.int64) * (count - 1) // 2


def _term(apart: Ints, pairs: Ints, asked: Ints) -> Term:
    """Per unit from counts per column: pairs apart, pairs seen, pairs that were asked for."""
    counted: Bools = pairs > 0
    lost: Bools = asked > pairs
    term = over_variants(apart / np.maximum(pairs, 1), counted, lost & ~counted)
    # columns with some pairs lost: the lost ones may all agree or all disagree
    whole = np.maximum(asked, 1)
    present = np.maximum((asked > 0).sum(axis=1), 1)
    low = np.where(asked > 0, apart / whole, 0.0).sum(axis=1) / present
    high = np.where(asked > 0, (apart + asked - pairs) / whole, 0.0).sum(axis=1) / present
    return Term(term.value, term.counted, np.asarray(lost.any(axis=1)), low, high)
