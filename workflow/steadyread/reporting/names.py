"""What arms, metrics, denominators and reasons are called in front of people, and their order."""

from __future__ import annotations

from collections.abc import Iterable

from ..contracts.enums import ArmName, Denominator, EstimateStatus, Metric, OutcomeStatus, Readout, Reason, Unit

ARMS: dict[ArmName, str] = {
    ArmName.BASE: "base",
    ArmName.REVERSE: "slices reversed",
    ArmName.SHUFFLE: "slices shuffled",
    ArmName.ROI_FIRST: "lesion slices first",
    ArmName.ROI_LAST: "lesion slices last",
    ArmName.LABEL_SWAP: "labels swapped",
    ArmName.LABEL_CYCLE: "options cycled",
    ArmName.ABSTAIN_FIRST: "UNSURE first",
    ArmName.LESION_REMOVED: "lesion slices removed",
    ArmName.LESION_REMOVED_MARGIN: "lesion slices and margin removed",
    ArmName.REMOVE_FRACTION: "part of the lesion slices removed",
    ArmName.ROI_AT: "lesion slices moved",
    ArmName.REPEAT: "repeat",
    ArmName.MATCHED_REMOVED: "as many other slices removed",
    ArmName.ROI_SLICES: "lesion slices only",
    ArmName.ROI_CROPS: "lesion crops only",
    ArmName.NO_IMAGE: "no image",
    ArmName.BLANK_IMAGE: "blank images",
    ArmName.MENTION_ONLY: "no image, MRI mentioned",
    ArmName.NUMBERED: "slices numbered",
}
"""Display names of the arms, in the order of every table and figure."""

DENOMINATORS: dict[Denominator, str] = {
    Denominator.ALL: "all but errors",
    Denominator.BOTH_ANSWER_SET: "pairs with a label or UNSURE in both",
    Denominator.BOTH_CATEGORICAL: "pairs with a label in both",
    Denominator.BASE_CORRECT: "cases the base arm got right",
    Denominator.LABEL_KNOWN: "cases whose label is known",
    Denominator.PAIRS_OF_DRAWS: "pairs of draws",
    Denominator.ALL_ARMS: "cases answered under every arm",
    Denominator.ALL_ARMS_KNOWN: "cases answered under every arm, label known",
    Denominator.SLOT_FOLLOWED: "pairs that kept the slot",
    Denominator.STEADY: "cases decided alike under every arm",
    Denominator.UNSTEADY: "cases decided otherwise under some arm",
    Denominator.ANSWERED_KNOWN: "diagnoses given, label known",
    Denominator.HELD_OUT_KNOWN: "cases held out, label known",
    Denominator.CALIBRATION: "cases that tell the prior",
}

READOUTS: dict[Readout, str] = {
    Readout.TEXT: "the answer's text",
    Readout.LOGPROB: "the first token's log-probabilities",
}

SPELLED = {"GBM": "glioblastoma", "MET": "brain metastasis"}
"""Labels that are spelled out once where a study has exactly these."""

GROUPS: tuple[tuple[str, tuple[ArmName, ...]], ...] = (
    (
        "The slices in another order: should stay",
        (ArmName.REVERSE, ArmName.SHUFFLE, ArmName.ROI_FIRST, ArmName.ROI_LAST, ArmName.ROI_AT),
    ),
    (
        "The answer options in another order: should stay",
        (ArmName.LABEL_SWAP, ArmName.LABEL_CYCLE, ArmName.ABSTAIN_FIRST),
    ),
    (
        "The lesion taken away: should change",
        (ArmName.LESION_REMOVED, ArmName.LESION_REMOVED_MARGIN, ArmName.REMOVE_FRACTION),
    ),
    (
        "The lesion kept, the rest taken away: should stay",
        (ArmName.MATCHED_REMOVED, ArmName.ROI_SLICES, ArmName.ROI_CROPS),
    ),
    ("No evidence: should change", (ArmName.NO_IMAGE, ArmName.BLANK_IMAGE, ArmName.MENTION_ONLY)),
)
"""What is varied, and what a careful reader's answer does then, for figures: a heading and its arms, in display
order; other arms come last."""
OTHERWISE = "The same in another form: should stay"
"""The heading of the arms that stand in no group."""

NOT_OF_TWO_ARMS = frozenset({Metric.DELTA, Metric.RSTD, Metric.DEBIASED_DIFFERENCE})
"""Metrics in points that have a reference arm and are no difference between the two arms."""
SPREADS = frozenset({Metric.RSTD, Metric.ACCURACY_SWING})
"""Metrics in points that cannot be below 0: they carry no sign."""

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

MARKS_NOTE = (
    "Marks, whose definition a number is: " + "; ".join(f"[{mark}] {text}" for mark, text in MARKS.items()) + "."
)
"""The four marks explained, in one line."""

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


READERS = "readers with known answers"
"""What baselines are called in front of people."""

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


def in_words(text: str) -> str:
    """A text with the arms that it names by their keys called as people call them."""
    for arm in sorted(ARMS, key=len, reverse=True):
        if "_" in arm:
            text = text.replace(arm, ARMS[arm])
    return text


def grouped(arms: Iterable[str]) -> list[tuple[str, list[str]]]:
    """Arms under the heading of what is varied; headings without an arm are left out."""
    left = in_order(arms)
    found = [(title, [arm for arm in left if arm in members]) for title, members in GROUPS]
    placed = [arm for _, members in found for arm in members]
    found.append((OTHERWISE, [arm for arm in left if arm not in placed]))
    return [(title, members) for title, members in found if members]


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
    name = Metric(metric).label
    if arm is None:
        return name
    if Metric(metric).unit is Unit.POINTS and reference_arm is not None and metric not in NOT_OF_TWO_ARMS:
        return f"{name}: {arm_name(arm)} − {arm_name(reference_arm)}"
    return f"{name}: {arm_name(arm)}"
