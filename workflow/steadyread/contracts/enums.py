"""Closed lists of the words that tables and configuration may use."""

from __future__ import annotations

from enum import StrEnum


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
    """Arms that exist (PROTOCOLS S1). The arm registry is tested to hold exactly these."""

    BASE = "base"
    REPEAT = "repeat"
    REVERSE = "reverse"
    LABEL_SWAP = "label_swap"
    LESION_REMOVED = "lesion_removed"
    MATCHED_REMOVED = "matched_removed"
    NO_IMAGE = "no_image"
    BLANK_IMAGE = "blank_image"


LESION_ARMS = (ArmName.LESION_REMOVED, ArmName.MATCHED_REMOVED)
"""Arms that need to know which slices show the lesion: they alone suffer from a bad annotation."""


class TransformName(StrEnum):
    """Transforms that derive one image from another."""

    BLANK = "blank"


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


class Metric(StrEnum):
    """Names of the metrics that estimates carry."""

    ACCURACY = "accuracy"
    ACCURACY_DIFFERENCE = "accuracy_difference"
    FLIP_RATE = "flip_rate"
    FLIP_DIRECTION = "flip_direction"
    LABEL_SWAP_INCONSISTENCY = "label_swap_inconsistency"
    SLOT_FOLLOWING = "slot_following"
    OVERCOMMITMENT = "overcommitment"
    OVERCOMMITMENT_DIFFERENCE = "overcommitment_difference"
    STATUS_SHARE = "status_share"
    D_SAME = "d_same"
    D_CROSS = "d_cross"
    DELTA = "delta"
    READOUT_AGREEMENT = "readout_agreement"


class Denominator(StrEnum):
    """What an estimate is a share of (PROTOCOLS S1)."""

    ALL = "all"
    BOTH_ANSWER_SET = "both_answer_set"
    BOTH_CATEGORICAL = "both_categorical"
    BASE_CORRECT = "base_correct"
    LABEL_KNOWN = "label_known"
    PAIRS_OF_DRAWS = "pairs_of_draws"


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
