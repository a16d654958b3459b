"""What arms, metrics, denominators and reasons are called in front of people, and their order."""

from __future__ import annotations

from collections.abc import Iterable

from ..contracts.enums import ArmName, Denominator, EstimateStatus, Metric, OutcomeStatus, Readout, Reason

ARMS: dict[ArmName, str] = {
    ArmName.BASE: "base",
    ArmName.REPEAT: "repeat",
    ArmName.REVERSE: "slices reversed",
    ArmName.LABEL_SWAP: "labels swapped",
    ArmName.LESION_REMOVED: "lesion slices removed",
    ArmName.MATCHED_REMOVED: "as many other slices removed",
    ArmName.NO_IMAGE: "no image",
    ArmName.BLANK_IMAGE: "blank images",
}
"""Display names of the arms, in the order of every table and figure."""

METRICS: dict[Metric, str] = {
    Metric.ACCURACY: "accuracy",
    Metric.ACCURACY_DIFFERENCE: "accuracy",
    Metric.FLIP_RATE: "flip rate",
    Metric.FLIP_DIRECTION: "flip direction",
    Metric.LABEL_SWAP_INCONSISTENCY: "label-swap inconsistency",
    Metric.SLOT_FOLLOWING: "slot-following",
    Metric.OVERCOMMITMENT: "overcommitment",
    Metric.OVERCOMMITMENT_DIFFERENCE: "overcommitment",
    Metric.STATUS_SHARE: "share of responses",
    Metric.D_SAME: "noise floor d_same",
    Metric.D_CROSS: "d_cross",
    Metric.DELTA: "Δ above noise",
    Metric.READOUT_AGREEMENT: "agreement of the readouts",
}

DENOMINATORS: dict[Denominator, str] = {
    Denominator.ALL: "all but errors",
    Denominator.BOTH_ANSWER_SET: "pairs with a label or UNSURE in both",
    Denominator.BOTH_CATEGORICAL: "pairs with a label in both",
    Denominator.BASE_CORRECT: "cases the base arm got right",
    Denominator.LABEL_KNOWN: "cases whose label is known",
    Denominator.PAIRS_OF_DRAWS: "pairs of draws",
}

READOUTS: dict[Readout, str] = {
    Readout.TEXT: "the answer's text",
    Readout.LOGPROB: "the first token's log-probabilities",
}

STATUSES: dict[EstimateStatus, str] = {
    EstimateStatus.OK: "",
    EstimateStatus.TOO_FEW_EVENTS: "too few events",
    EstimateStatus.INCOMPLETE: "incomplete",
    EstimateStatus.UNDEFINED: "undefined",
}

OUTCOMES: dict[OutcomeStatus, str] = {
    OutcomeStatus.ANSWERED: "a label",
    OutcomeStatus.UNSURE: "UNSURE",
    OutcomeStatus.REFUSED: "refused",
    OutcomeStatus.UNPARSED: "not understood",
    OutcomeStatus.TRUNCATED: "cut off",
    OutcomeStatus.ERROR: "error of the machine",
}

MARKS: dict[str, str] = {
    "P": "the authors say so",
    "C": "read in their released code",
    "T": "a third party's note",
    "O": "our own definition",
}

DIFFERENCES = frozenset({Metric.ACCURACY_DIFFERENCE, Metric.OVERCOMMITMENT_DIFFERENCE, Metric.DELTA})
"""Metrics that are differences of shares: printed in percentage points, with a sign."""

STAGES: dict[str, str] = {
    "register_cohort": "registering the case",
    "slice_volumes": "reading the volume",
    "mark_lesions": "marking lesions",
    "compose_trials": "composing trials",
    "infer": "asking the model",
}
"""Stages that leave cases out, in the order of the data's way, in words."""

SYNTHETIC = "Synthetic images: they were made, not acquired. No number here says anything about patients."
"""The banner of a study whose images were made (PROTOCOLS 0.11)."""


LESION_MEANS = "Lesion means what was annotated; what reaches beyond the annotation (oedema, an unmarked lesion) stays."
"""The limit of every study that takes lesion slices away."""


def arm_name(arm: str) -> str:
    """What an arm is called in front of people."""
    return ARMS[ArmName(arm)]


def arm_rank(arm: str | None) -> int:
    """The place of an arm in every table; no arm comes first."""
    return -1 if arm is None else list(ARMS).index(ArmName(arm))


def in_order(arms: Iterable[str]) -> list[str]:
    """Distinct arms in display order."""
    return sorted(set(arms), key=arm_rank)


def reason_name(reason: str) -> str:
    """An exclusion reason in words."""
    return Reason(reason).value.replace("_", " ")


def stage_name(stage: str) -> str:
    """A stage in words; one that nobody named in its own words, without underscores."""
    return STAGES.get(stage, stage.replace("_", " "))


def stage_rank(stage: str) -> int:
    """The place of a stage on the data's way; an unknown one comes last."""
    return list(STAGES).index(stage) if stage in STAGES else len(STAGES)


def contrast_name(metric: str, arm: str | None, reference_arm: str | None) -> str:
    """A metric with the arms it compares, in words."""
    name = METRICS[Metric(metric)]
    if arm is None:
        return name
    if Metric(metric) in DIFFERENCES and reference_arm is not None:
        return f"{name}: {arm_name(arm)} − {arm_name(reference_arm)}"
    return f"{name}: {arm_name(arm)}"
