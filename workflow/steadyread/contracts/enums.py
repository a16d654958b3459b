"""Closed lists of the words that tables and configuration may use."""

from __future__ import annotations

from enum import StrEnum
from typing import Self


class AnnotationKind(StrEnum):
    """How lesions of a case are given."""

    MASK = "mask"
    SEG = "seg"
    SLICE_TABLE = "slice_table"
    NONE = "none"


class Deidentified(StrEnum):
    """What is known of a case's de-identification."""

    YES = "yes"
    ATTESTED = "attested"
    NO = "no"
    UNKNOWN = "unknown"


class Plane(StrEnum):
    """The anatomical plane of a slice."""

    AXIAL = "axial"
    SAGITTAL = "sagittal"
    CORONAL = "coronal"


class AnswerKind(StrEnum):
    """What an item asks for."""

    CHOICE = "choice"
    BOX = "box"
    TEXT = "text"
    NUMBER = "number"


class ArmName(StrEnum):
    """Arms that exist, in the order of PROTOCOLS S1. The arm registry is tested to hold exactly these."""

    BASE = "base"
    REVERSE = "reverse"
    SHUFFLE = "shuffle"
    ROI_FIRST = "roi_first"
    ROI_LAST = "roi_last"
    LABEL_SWAP = "label_swap"
    LABEL_CYCLE = "label_cycle"
    ABSTAIN_FIRST = "abstain_first"
    LESION_REMOVED = "lesion_removed"
    LESION_REMOVED_MARGIN = "lesion_removed_margin"
    REMOVE_FRACTION = "remove_fraction"
    ROI_AT = "roi_at"
    REPEAT = "repeat"
    MATCHED_REMOVED = "matched_removed"
    ROI_SLICES = "roi_slices"
    ROI_CROPS = "roi_crops"
    NO_IMAGE = "no_image"
    BLANK_IMAGE = "blank_image"
    MENTION_ONLY = "mention_only"
    NUMBERED = "numbered"


LESION_ARMS = (
    ArmName.ROI_FIRST,
    ArmName.ROI_LAST,
    ArmName.LESION_REMOVED,
    ArmName.LESION_REMOVED_MARGIN,
    ArmName.REMOVE_FRACTION,
    ArmName.ROI_AT,
    ArmName.MATCHED_REMOVED,
    ArmName.ROI_SLICES,
    ArmName.ROI_CROPS,
)
"""Arms that need to know which slices show the lesion: they alone suffer from a bad annotation."""

SLICE_ORDER_ARMS = (ArmName.REVERSE, ArmName.SHUFFLE, ArmName.ROI_FIRST, ArmName.ROI_LAST)
"""Arms that show every slice, in another order, and change nothing else (PROTOCOLS S1, accuracy swing)."""


class TransformName(StrEnum):
    """Transforms that derive one image from another."""

    BLANK = "blank"
    CROP = "crop"


class Readout(StrEnum):
    """How a decision is read from a response (PROTOCOLS 0.2)."""

    TEXT = "text"
    LOGPROB = "logprob"


class OutcomeStatus(StrEnum):
    """The one status each response ends with (PROTOCOLS 0.1)."""

    ANSWERED = "ANSWERED"
    UNSURE = "UNSURE"
    REFUSED = "REFUSED"
    UNPARSED = "UNPARSED"
    TRUNCATED = "TRUNCATED"
    ERROR = "ERROR"


class FinishReason(StrEnum):
    """Why a generation ended."""

    STOP = "stop"
    LENGTH = "length"
    CONTENT_FILTER = "content_filter"
    ERROR = "error"


class EstimateStatus(StrEnum):
    """Whether an estimate may be read as it stands."""

    OK = "ok"
    TOO_FEW_EVENTS = "too_few_events"
    INCOMPLETE = "incomplete"
    UNDEFINED = "undefined"


class Mark(StrEnum):
    """Where a definition comes from: paper, released code, third party, our own (PROTOCOLS)."""

    PAPER = "P"
    CODE = "C"
    THIRD_PARTY = "T"
    OWN = "O"


class Unit(StrEnum):
    """What a metric's values are."""

    SHARE = "share"
    """A share of something, 0 to 1; printed in percent."""
    POINTS = "points"
    """A difference of shares, −1 to 1; printed in percentage points with a sign."""
    NUMBER = "number"
    """Anything else; printed as it is."""


class Metric(StrEnum):
    """The register of metrics: what each is called in tables, in front of people, and its unit.

    The function that estimates a metric claims its entry with `statistics.registry.metric`. Estimates
    stand in the order of this list.
    """

    label: str
    unit: Unit

    def __new__(cls, value: str, label: str = "", unit: Unit = Unit.SHARE) -> Self:
        """A metric is its name; label and unit go with it."""
        member = str.__new__(cls, value)
        member._value_, member.label, member.unit = value, label, unit
        return member

    # right or wrong
    ACCURACY = "accuracy", "accuracy"
    ACCURACY_DIFFERENCE = "accuracy_difference", "accuracy", Unit.POINTS
    ACCURACY_SWING = "accuracy_swing", "accuracy swing over slice orders", Unit.POINTS
    COCHRAN_Q = "cochran_q", "Cochran's Q of accuracy over the arms", Unit.NUMBER
    # steady or not
    FLIP_RATE = "flip_rate", "flip rate"
    FLIP_DIFFERENCE = "flip_difference", "flip rate", Unit.POINTS
    FLIP_DIRECTION = "flip_direction", "flip direction"
    KAPPA = "kappa", "Cohen's κ with base", Unit.NUMBER
    ANY_FLIP = "any_flip", "any flip over slice orders"
    PAIRWISE_DISAGREEMENT = "pairwise_disagreement", "pairwise disagreement of slice orders"
    REACC = "reacc", "ReAcc: right under every arm"
    RECON = "recon", "ReCon: same decision under every arm"
    # the slot
    LABEL_SWAP_INCONSISTENCY = "label_swap_inconsistency", "label-swap inconsistency"
    SLOT_FOLLOWING = "slot_following", "slot-following"
    FIRST_SLOT = "first_slot", "first slot among slot-followed pairs"
    RSTD = "rstd", "RStd: spread of recall over slots", Unit.POINTS
    SLOT_PRIOR = "slot_prior", "PriDe slot prior"
    OBSERVED_ACCURACY = "observed_accuracy", "accuracy as observed, cases PriDe was tried on"
    DEBIASED_ACCURACY = "debiased_accuracy", "accuracy debiased by PriDe"
    DEBIASED_DIFFERENCE = "debiased_difference", "accuracy, debiased − observed", Unit.POINTS
    # letting go
    OVERCOMMITMENT = "overcommitment", "overcommitment"
    OVERCOMMITMENT_DIFFERENCE = "overcommitment_difference", "overcommitment", Unit.POINTS
    DOSE_RESPONSE = "dose_response", "overcommitment by share of lesion slices removed"
    DOSE_FLIPS = "dose_flips", "flip rate by share of lesion slices removed"
    POSITION_ACCURACY = "position_accuracy", "accuracy by position of the lesion slices"
    POSITION_FLIPS = "position_flips", "flip rate by position of the lesion slices"
    SCAFFOLD_SHARE = "scaffold_share", "share of the shift due to a mention of MRI", Unit.NUMBER
    QUADRANT = "quadrant", "quadrant"
    UNMOVED_GIVEN_STEADY = "unmoved_given_steady", "unmoved by missing evidence, among steady cases"
    UNMOVED_GIVEN_UNSTEADY = "unmoved_given_unsteady", "unmoved by missing evidence, among unsteady cases"
    STATUS_SHARE = "status_share", "share of responses"
    # noise
    D_SAME = "d_same", "noise floor d_same"
    D_CROSS = "d_cross", "d_cross"
    DELTA = "delta", "Δ above noise", Unit.POINTS
    READOUT_AGREEMENT = "readout_agreement", "agreement of the readouts"
    # knowing when
    COVERAGE = "coverage", "coverage: a diagnosis is given"
    SELECTIVE_ACCURACY = "selective_accuracy", "accuracy where a diagnosis is given"
    ECE = "ece", "expected calibration error", Unit.NUMBER
    BRIER = "brier", "Brier score of the diagnoses given", Unit.NUMBER
    RELIABILITY = "reliability", "accuracy by confidence"
    AURC = "aurc", "AURC", Unit.NUMBER
    AUGRC = "augrc", "AUGRC", Unit.NUMBER
    RISK_AT_COVERAGE = "risk_at_coverage", "selective risk by coverage"
    COVERAGE_AT_RISK = "coverage_at_risk", "largest coverage at a risk"
    EFFECTIVE_RELIABILITY = "effective_reliability", "effective reliability Φ", Unit.NUMBER


class Denominator(StrEnum):
    """What an estimate is a share of (PROTOCOLS S1)."""

    ALL = "all"
    BOTH_ANSWER_SET = "both_answer_set"
    BOTH_CATEGORICAL = "both_categorical"
    BASE_CORRECT = "base_correct"
    LABEL_KNOWN = "label_known"
    PAIRS_OF_DRAWS = "pairs_of_draws"
    ALL_ARMS = "all_arms"
    ALL_ARMS_KNOWN = "all_arms_known"
    SLOT_FOLLOWED = "slot_followed"
    STEADY = "steady"
    UNSTEADY = "unsteady"
    ANSWERED_KNOWN = "answered_known"
    HELD_OUT_KNOWN = "held_out_known"
    CALIBRATION = "calibration"


class Reason(StrEnum):
    """Why a case is left out, everywhere or in one arm (DESIGN, PROTOCOLS S1)."""

    # the file
    MISSING_FILE = "missing_file"
    UNREADABLE = "unreadable"
    TRUNCATED_FILE = "truncated_file"
    NO_PIXELS = "no_pixels"
    NOT_AN_IMAGE = "not_an_image"
    MIXED_SERIES = "mixed_series"
    MIXED_ORIENTATIONS = "mixed_orientations"
    MISSING_POSITION = "missing_position"
    MISSING_SLICE = "missing_slice"
    DUPLICATE_POSITION = "duplicate_position"
    IRREGULAR_SPACING = "irregular_spacing"
    GANTRY_TILT = "gantry_tilt"
    NOT_3D = "not_3d"
    UNSUPPORTED_FORMAT = "unsupported_format"
    COLOUR = "colour"
    COMPLEX = "complex"
    NO_ORIENTATION = "no_orientation"
    SHEARED_AFFINE = "sheared_affine"
    CONFLICTING_ORIENTATION = "conflicting_orientation"
    CONSTANT = "constant"
    TOO_FEW_SLICES = "too_few_slices"
    CHANGED_SINCE_REGISTERED = "changed_since_registered"
    # the annotation
    ANNOTATION_UNREADABLE = "annotation_unreadable"
    ANNOTATION_OTHER_SPACE = "annotation_other_space"
    ANNOTATION_LABELS = "annotation_labels"
    ANNOTATION_AMBIGUOUS = "annotation_ambiguous"
    # the arm
    NO_ANNOTATION = "no_annotation"
    NO_LESION = "no_lesion"
    NO_SLICE_LEFT = "no_slice_left"
    TOO_FEW_NONLESION = "too_few_nonlesion"
    LESION_NOT_SAMPLED = "lesion_not_sampled"
    NO_BOX = "no_box"
    NO_CHANGE = "no_change"
    # the estimate
    NO_PAIR = "no_pair"
    # the gate
    NOT_DEIDENTIFIED = "not_deidentified"
    BURNED_IN = "burned_in"
    TOO_MANY_IMAGES = "too_many_images"
