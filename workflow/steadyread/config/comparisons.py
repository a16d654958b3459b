"""Part of section `statistics`: which model is compared with which, and what was claimed of it before the audit."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from ..contracts.enums import ArmName, Metric
from .base import Section
from .models_table import MODEL_ID


class Side(StrEnum):
    """On which side of the reference a model was claimed to be."""

    LOWER = "lower"
    HIGHER = "higher"


class Claim(Section):
    """One thing that a model's card said of it before the audit."""

    metric: Metric
    """What it is about: a metric with one estimate per arm; that over all pairs, where it has several
    denominators."""
    arm: ArmName
    """Under which arm."""
    side: Side
    """Whether the model was claimed to have less of it than the reference, or more."""


class Comparison(Section):
    """A model beside a reference: the difference model − reference of everything that both have."""

    model: Annotated[str, Field(pattern=MODEL_ID)]
    """The model, one of `models`."""
    reference: Annotated[str, Field(pattern=MODEL_ID)]
    """What it is compared with, another of `models`."""
    expected: tuple[Claim, ...] = ()
    """What the model's card claimed before the audit; the report says of each whether it was shown."""


PHANTOM_READERS = Comparison(
    model="phantom-reader-steady",
    reference="phantom-reader",
    expected=(
        Claim(metric=Metric.LABEL_SWAP_INCONSISTENCY, arm=ArmName.LABEL_SWAP, side=Side.LOWER),
        Claim(metric=Metric.OVERCOMMITMENT, arm=ArmName.LESION_REMOVED, side=Side.LOWER),
    ),
)
"""The phantom readers, with what the steadier one's card claims."""


COMMITMENT_ARMS = (
    ArmName.BASE,
    ArmName.ABSTAIN_FIRST,
    ArmName.LESION_REMOVED,
    ArmName.LESION_REMOVED_MARGIN,
    ArmName.MATCHED_REMOVED,
    ArmName.NO_IMAGE,
    ArmName.BLANK_IMAGE,
    ArmName.MENTION_ONLY,
)
"""Arms in which overcommitment is estimated."""


OFFERED_UNSURE = (Metric.OVERCOMMITMENT, Metric.OVERCOMMITMENT_DIFFERENCE)
"""Metrics that are estimated only where UNSURE is offered."""


def claimable(metric: Metric, enabled: Sequence[ArmName], *, unsure: bool) -> tuple[ArmName, ...]:
    """Arms under which a metric has one estimate that a claim can be about; empty where it has none.

    Parameters
    ----------
    enabled
        The arms of the study.
    unsure
        Whether UNSURE is offered; without it overcommitment is not estimated.
    """
    arms = tuple(arm for arm in enabled if arm is not ArmName.REPEAT)
    if metric is Metric.ACCURACY:
        return arms
    if metric is Metric.FLIP_DIFFERENCE:
        return tuple(arm for arm in arms if arm is ArmName.REVERSE and ArmName.SHUFFLE in arms)
    if metric in (Metric.ACCURACY_DIFFERENCE, Metric.FLIP_RATE, Metric.KAPPA, Metric.DELTA):
        return tuple(arm for arm in arms if arm is not ArmName.BASE)
    if metric in (Metric.LABEL_SWAP_INCONSISTENCY, Metric.SLOT_FOLLOWING):
        return tuple(arm for arm in arms if arm is ArmName.LABEL_SWAP)
    if metric is Metric.OVERCOMMITMENT and unsure:
        return tuple(arm for arm in arms if arm in COMMITMENT_ARMS)
    if metric is Metric.OVERCOMMITMENT_DIFFERENCE and unsure and ArmName.LESION_REMOVED in arms:
        return tuple(arm for arm in arms if arm in (ArmName.BASE, ArmName.MATCHED_REMOVED))
    return ()


def asked_comparisons(comparisons: Sequence[Comparison], models: Sequence[str]) -> tuple[Comparison, ...]:
    """The comparisons of which both models are asked in a study; claims about what is not asked stay claims."""
    return tuple(item for item in comparisons if item.model in models and item.reference in models)


def comparison_problems(
    comparisons: Sequence[Comparison], known: Sequence[str], enabled: Sequence[ArmName], *, unsure: bool
) -> list[str]:
    """What is wrong with the comparisons of a study, a sentence each; empty where nothing is.

    Parameters
    ----------
    known
        Ids of the models in config/models.yaml.
    enabled, unsure
        As for `claimable`.
    """
    pairs = [(item.model, item.reference) for item in comparisons]
    found = [f"{model} − {reference} stands twice" for model, reference in dict.fromkeys(pairs)
             if pairs.count((model, reference)) > 1]  # fmt: skip
    for item in comparisons:
        for name in dict.fromkeys((item.model, item.reference)):
            if name not in known:
                near = difflib.get_close_matches(name, known, n=1)
                hint = f" Did you mean {near[0]}?" if near else ""
                found.append(f"{name} is not in config/models.yaml; known: {', '.join(known)}.{hint}")
        if item.model == item.reference:
            found.append(f"{item.model} is compared with itself: name two models")
        found += [f"{item.model} − {item.reference}: expected: {text}" for text in _claims(item, enabled, unsure)]
    return found


def _claims(item: Comparison, enabled: Sequence[ArmName], unsure: bool) -> Iterator[str]:
    about = [(claim.metric, claim.arm) for claim in item.expected]
    for metric, arm in dict.fromkeys(about):
        if about.count((metric, arm)) > 1:
            yield f"{metric} under {arm} is claimed twice"
        if arm not in enabled or (not unsure and metric in OFFERED_UNSURE):
            continue  # not asked here: the report says so
        allowed = claimable(metric, enabled, unsure=unsure)
        if arm in allowed:
            continue
        if allowed:
            yield f"{metric} is not estimated under {arm}; arms that have it: {', '.join(allowed)}"
        else:
            others = [name for name in Metric if claimable(name, enabled, unsure=unsure)]
            yield f"{metric} has no single estimate per arm in this study; a claim may be about: {', '.join(others)}"
