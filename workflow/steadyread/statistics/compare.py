"""Two models compared: the difference of everything that both have, patients drawn together for both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..config.comparisons import Comparison
from ..contracts.enums import Denominator, EstimateStatus, Mark
from .estimand import Estimand, difference
from .evaluate import Draws, evaluate
from .trial_index import Units

Rows = list[dict[str, Any]]
Key = tuple[object, ...]

OWN_ANSWERS = (Denominator.BOTH_ANSWER_SET, Denominator.BOTH_CATEGORICAL, Denominator.BASE_CORRECT)
"""Denominators that a model's own answers decide: two models have different ones."""


def compare(
    comparisons: Sequence[Comparison],
    estimands: Mapping[tuple[str, str], Sequence[Estimand]],
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
    patients are the smaller of the two, and there is no design effect.

    Parameters
    ----------
    estimands
        What is estimated of a model under a readout: (model, readout) → estimands, over `units`.
    """
    rows: Rows = []
    readouts = sorted({readout for _, readout in estimands})
    for item in comparisons:
        for readout in readouts:
            first, second = estimands.get((item.model, readout), ()), estimands.get((item.reference, readout), ())
            found = evaluate(contrasts(first, second), units, draws)
            names = {"model": item.model, "reference_model": item.reference, "readout": readout}
            rows += [{**row, **names, "mark": Mark.OWN.value, "reason": _reason(row)} for row in found]
    return rows


def contrasts(first: Sequence[Estimand], second: Sequence[Estimand]) -> list[Estimand]:
    """First minus second, for every estimand that both have, in the order of the first."""
    others = {_key(item): item for item in second}
    return [_contrast(item, others[_key(item)]) for item in first if _key(item) in others]


def _key(item: Estimand) -> Key:
    return item.metric, item.denominator, item.arm, item.variant, item.reference_arm


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
        coefficients=coefficients,
        difference=True,
        own_units=own,
    )


def _reason(row: Mapping[str, Any]) -> str | None:
    """The reason of a row; an undefined one says that two models had to have something to count."""
    if row["estimate_status"] != EstimateStatus.UNDEFINED:
        return row["reason"]  # type: ignore[no-any-return]
    return f"the two models have nothing to compare: {row['reason']}, for one of them or for both"
