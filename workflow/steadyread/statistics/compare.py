"""Two models compared: the difference of everything that both have, patients drawn together for both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..config.comparisons import Comparison
from ..contracts.enums import Denominator, EstimateStatus, Mark, Metric
from .estimand import Estimand, Quantity, difference
from .evaluate import Draws, evaluate
from .evaluate_statistics import evaluate_pairs
from .metrics import Asked
from .statistic import Statistic
from .trial_index import Units

Rows = list[dict[str, Any]]
Key = tuple[object, ...]

OWN_ANSWERS = (
    *(Denominator.BOTH_ANSWER_SET, Denominator.BOTH_CATEGORICAL, Denominator.BASE_CORRECT),
    *(Denominator.SLOT_FOLLOWED, Denominator.STEADY, Denominator.UNSTEADY, Denominator.ANSWERED_KNOWN),
)
"""Denominators that a model's own answers decide: two models have different ones."""


def compare(
    comparisons: Sequence[Comparison],
    asked: Mapping[tuple[str, str], Asked],
    units: Units,
    draws: Draws,
) -> Rows:
    """Rows of the estimates table with `reference_model` set, all columns but `study`.

    The value is value(model) − value(reference), for every readout and every estimand that both
    have, with the patient bootstrap that all estimates share; it carries no p, and is our own
    definition whatever is compared.

    Where the answers have no say in the denominator, cases are paired: both means run over the
    cases that count for both models, so that the value is that of the two models' own rows unless
    an ERROR took a case from one of them. Where the denominator depends on the model's own answers
    (OWN_ANSWERS), each model keeps its own counted cases, since the cases that both count are a
    choice made by the other model; the patients are still drawn together, n and the number of
    patients are the smaller of the two, and there is no design effect. What is no mean is compared
    as it is, each model's value over its own counted cases; a point of the reliability curve, whose
    place the model itself decides, is not, nor is a test of several arms.

    Parameters
    ----------
    asked
        What is estimated of a model under a readout: (model, readout) → that, over `units`.
    """
    rows: Rows = []
    readouts = sorted({readout for _, readout in asked})
    for item in comparisons:
        for readout in readouts:
            if (item.model, readout) not in asked or (item.reference, readout) not in asked:
                continue
            first, second = asked[item.model, readout], asked[item.reference, readout]
            found = evaluate(contrasts(first.means, second.means), units, draws)
            found += evaluate_pairs(_pairs(first.statistics, second.statistics), units, draws)
            names = {"model": item.model, "reference_model": item.reference, "readout": readout}
            rows += [{**row, **names, "mark": Mark.OWN.value, "reason": _reason(row)} for row in found]
    return rows


def contrasts(first: Sequence[Estimand], second: Sequence[Estimand]) -> list[Estimand]:
    """First minus second, for every estimand that both have, in the order of the first."""
    others = {_key(item): item for item in second}
    return [_contrast(item, others[_key(item)]) for item in first if _key(item) in others]


def _pairs(first: Sequence[Statistic], second: Sequence[Statistic]) -> list[tuple[Statistic, Statistic]]:
    others = {_key(item): item for item in second}
    chosen = [item for item in first if item.metric is not Metric.RELIABILITY]
    return [(item, others[_key(item)]) for item in chosen if _key(item) in others]


def _key(item: Quantity) -> Key:
    return item.metric, item.denominator, item.arm, item.variant, item.reference_arm, item.parameter


def _contrast(first: Estimand, second: Estimand) -> Estimand:
    own = first.denominator in OWN_ANSWERS
    if own:
        terms = (*first.terms, *second.terms)
        coefficients = (*first.coefficients, *(-factor for factor in second.coefficients))
    else:
        terms = tuple(difference(one, other) for one, other in zip(first.terms, second.terms, strict=True))
        coefficients = first.coefficients
    return Estimand(
        first.metric,
        first.denominator,
        first.arm,
        terms,
        reference_arm=first.reference_arm,
        variant=first.variant,
        parameter=first.parameter,
        over=first.over,
        coefficients=coefficients,
        difference=True,
        own_units=own,
    )


def _reason(row: Mapping[str, Any]) -> str | None:
    """The reason of a row; an undefined one says that two models had to have something to count."""
    if row["estimate_status"] != EstimateStatus.UNDEFINED:
        return row["reason"]  # type: ignore[no-any-return]
    return f"the two models have nothing to compare: {row['reason']}, for one of them or for both"
