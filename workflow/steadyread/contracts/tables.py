"""The tables of a study (DESIGN, Contracts).

Boxes are [x0, y0, x1, y1), pixels of the stored 8-bit image, origin top left. Slice indices run
feet to head (axial), right to left (sagittal), back to front (coronal). Lengths are millimetres.
"""

from __future__ import annotations

import pyarrow as pa

from . import enums
from .found import ESTIMATES as ESTIMATES
from .found import FLOW as FLOW
from .found import SENSITIVITY as SENSITIVITY
from .found import VALIDITY as VALIDITY
from .table import (
    BOOL,
    BOX,
    FLOAT,
    INT,
    STRING,
    Table,
    holds,
    list_of,
    matches,
    null_iff,
    one_of,
    optional,
    required,
    same_length,
    within,
)

STRINGS = list_of(STRING)
TEXT_MAP = pa.map_(STRING, STRING)
DIGEST = "[0-9a-f]{32}"
CASE_ID = "[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
CASE_ID_MEANING = "an opaque id: letters, digits, '.', '_', '-', at most 64 characters, no path"

CASES = Table(
    "cases",
    pa.schema(
        [
            required("case_id", STRING),
            required("patient_id", STRING),
            optional("site", STRING),
            optional("sequence", STRING),
            optional("label", STRING),
            optional("volume", STRING),
            optional("annotation", STRING),
            required("annotation_kind", STRING),
            optional("split", STRING),
            required("covariates", TEXT_MAP),
            required("texts", TEXT_MAP),
            required("deidentified", STRING),
            optional("burned_in", BOOL),
            required("source_digest", STRING),
        ]
    ),
    ("case_id",),
    (
        matches("case_id", CASE_ID, CASE_ID_MEANING),
        matches("patient_id", CASE_ID, CASE_ID_MEANING),
        one_of("annotation_kind", enums.AnnotationKind),
        one_of("deidentified", enums.Deidentified),
        matches("source_digest", DIGEST, "a digest"),
        null_iff("annotation", "annotation_kind", "none"),
    ),
)
"""`volume` and `annotation` are digests of the raw files, null where there is none; paths live in
SOURCES."""

SOURCES = Table(
    "sources",
    pa.schema(
        [
            required("case_id", STRING),
            required("role", STRING),
            required("path", STRING),
            required("digest", STRING),
            required("options", TEXT_MAP),
        ]
    ),
    ("case_id", "role"),
    (
        one_of("role", ("volume", "annotation")),
        matches("digest", DIGEST, "a digest"),
    ),
    local=frozenset({"path"}),
)
"""Where the files of a case lie on this machine. `options` says how to read an annotation:
lesion_labels, segments, index_base, index_order …"""

EXCLUSIONS = Table(
    "exclusions",
    pa.schema(
        [
            required("case_id", STRING),
            required("stage", STRING),
            optional("arm", STRING),
            optional("model_id", STRING),
            required("reason", STRING),
            required("detail", STRING),
        ]
    ),
    ("case_id", "stage", "arm", "model_id", "reason"),
    (one_of("reason", enums.Reason), one_of("arm", enums.ArmName)),
)
"""Null arm: the case is left out of all arms. Null model: for all models. No path, no identifier
in `detail`."""

SLICES = Table(
    "slices",
    pa.schema(
        [
            required("case_id", STRING),
            required("index", INT),
            optional("image_id", STRING),
            optional("position_mm", FLOAT),
            optional("plane", STRING),
            required("window_low", FLOAT),
            required("window_high", FLOAT),
            optional("spacing_mm", list_of(FLOAT)),
            required("sampled", BOOL),
            required("lossy", BOOL),
            required("source_index", INT),
        ]
    ),
    ("case_id", "index"),
    (
        one_of("plane", enums.Plane),
        within("index", 0),
        matches("image_id", DIGEST, "an image digest"),
        null_iff("image_id", "sampled", False),
    ),
)
"""Every slice of the volume has its row. `position_mm` is along the slice normal (RAS), `spacing_mm`
is [row, column, slice] of the stored slice before scaling, `source_index` is the slice's index in the
file's own array."""

LESION_SLICES = Table(
    "lesion_slices",
    pa.schema(
        [
            required("case_id", STRING),
            required("index", INT),
            optional("is_lesion", BOOL),
            optional("lesion_area_mm2", FLOAT),
            optional("lesion_boxes", list_of(BOX)),
            optional("foreground_box", BOX),
        ]
    ),
    ("case_id", "index"),
    (within("index", 0), within("lesion_area_mm2", 0)),
)
"""`is_lesion` is null where the case has no annotation; area is null where only the index is known."""

IMAGES = Table(
    "images",
    pa.schema(
        [
            required("image_id", STRING),
            optional("parent_id", STRING),
            required("transform", STRING),
            required("parameters", STRING),
            required("severity", INT),
            optional("ssim", FLOAT),
            optional("psnr", FLOAT),
            optional("max_abs_delta", FLOAT),
            optional("box", BOX),
            required("width", INT),
            required("height", INT),
            required("png", pa.binary()),
        ]
    ),
    ("image_id", "parent_id", "transform", "parameters"),
    (
        matches("image_id", DIGEST, "an image digest"),
        one_of("transform", ("none", *[item.value for item in enums.TransformName])),
        within("width", 1),
        within("height", 1),
    ),
    undigested=frozenset({"png"}),
    content_addressed=True,
)
"""`parameters` is canonical JSON; `transform` is "none" for a slice as it was cut."""

KEYS = list_of(pa.struct([required("name", STRING), required("kind", STRING), required("value", STRING)]))

ITEMS = Table(
    "items",
    pa.schema(
        [
            required("item_id", STRING),
            required("case_id", STRING),
            required("cluster_id", STRING),
            required("question", STRING),
            required("answer_kind", STRING),
            required("options", STRINGS),
            required("keys", KEYS),
        ]
    ),
    ("item_id",),
    (one_of("answer_kind", enums.AnswerKind), matches("item_id", DIGEST, "a digest")),
)
"""`keys` may hold several (image key, text key, anatomy key, box); it is empty where the answer is
unknown. `question` names the prompt."""

MESSAGES = list_of(
    pa.struct(
        [
            required("role", STRING),
            required(
                "content",
                list_of(pa.struct([required("type", STRING), optional("text", STRING), optional("image_id", STRING)])),
            ),
        ]
    )
)

TRIALS = Table(
    "trials",
    pa.schema(
        [
            required("trial_id", STRING),
            required("item_id", STRING),
            required("case_id", STRING),
            required("cluster_id", STRING),
            required("arm", STRING),
            required("variant", STRING),
            required("replicate", INT),
            required("draw", INT),
            optional("reference_trial_id", STRING),
            optional("parent_trial_id", STRING),
            optional("model_id", STRING),
            required("round", INT),
            required("images", STRINGS),
            required("messages", MESSAGES),
            required("options", STRINGS),
            required("symbols", STRINGS),
            optional("cue", STRING),
            optional("chain_step", INT),
            required("strata", TEXT_MAP),
        ]
    ),
    ("trial_id",),
    (
        one_of("arm", enums.ArmName),
        matches("trial_id", DIGEST, "a digest"),
        within("draw", 0),
        within("round", 1, 2),
        same_length("options", "symbols"),
        holds(
            "the images of the messages, in order, to be the trial's images",
            lambda row: (
                [
                    part["image_id"]
                    for message in row["messages"]
                    for part in message["content"]
                    if part["type"] == "image"
                ]
                == row["images"]
            ),
            ("images", "messages"),
        ),
    ),
)
"""One row per request to be made: an item under an arm, variant, replicate and draw. `options` are
in shown order. `reference_trial_id` is the trial it is compared with (base, draw 0); `parent_trial_id`
is draw 0 of the same request where draw > 0."""

MANIFESTS = Table(
    "manifests",
    pa.schema(
        [
            required("item_id", STRING),
            required("arm", STRING),
            required("variant", STRING),
            required("replicate", INT),
            required("shown_indices", list_of(INT)),
            required("removed_indices", list_of(INT)),
            required("option_order", list_of(INT)),
            optional("runs_matched", BOOL),
        ]
    ),
    ("item_id", "arm", "variant", "replicate"),
    (one_of("arm", enums.ArmName),),
)
"""What was drawn once and frozen (PROTOCOLS 0.4): slice indices in shown order, removed indices,
and for each shown slot the option's place in the item's own list."""

RESPONSES = Table(
    "responses",
    pa.schema(
        [
            required("trial_id", STRING),
            required("request_key", STRING),
            required("draw", INT),
            required("model_id", STRING),
            required("text", STRING),
            optional("thinking", STRING),
            optional("option_logprobs", list_of(FLOAT)),
            optional("mass_outside_options", FLOAT),
            optional("input_tokens", INT),
            optional("output_tokens", INT),
            required("images_seen", INT),
            optional("resized_shape", list_of(INT)),
            required("finish_reason", STRING),
            required("engine", STRING),
            required("prompt_digest", STRING),
            required("weights_digest", STRING),
            optional("error", STRING),
        ]
    ),
    ("trial_id", "model_id", "draw"),
    (
        one_of("finish_reason", enums.FinishReason),
        matches("request_key", DIGEST, "a digest"),
        within("mass_outside_options", -1e-6, 1 + 1e-6),
        within("option_logprobs", high=1e-6),
        holds(
            "an error text exactly where finish_reason is error",
            lambda row: (row["error"] is not None) == (row["finish_reason"] == "error"),
            ("error", "finish_reason"),
        ),
    ),
)
"""`option_logprobs` are natural logarithms in shown order, null where the engine offers none."""

OUTCOMES = Table(
    "outcomes",
    pa.schema(
        [
            required("trial_id", STRING),
            required("model_id", STRING),
            required("draw", INT),
            required("readout", STRING),
            required("outcome_status", STRING),
            required("answer_kind", STRING),
            optional("label", STRING),
            optional("slot", INT),
            optional("box", BOX),
            optional("value", FLOAT),
            optional("option_logprobs", list_of(FLOAT)),
            optional("confidence", FLOAT),
            optional("mass_outside_options", FLOAT),
            required(
                "scores",
                list_of(pa.struct([required("key", STRING), required("metric", STRING), required("value", FLOAT)])),
            ),
        ]
    ),
    ("trial_id", "model_id", "draw", "readout"),
    (
        one_of("readout", enums.Readout),
        one_of("outcome_status", enums.OutcomeStatus),
        one_of("answer_kind", enums.AnswerKind),
        within("confidence", 0, 1 + 1e-9),
        holds(
            "a label exactly where a choice was made (ANSWERED or UNSURE)",
            lambda row: (
                row["answer_kind"] != "choice"
                or (row["label"] is not None) == (row["outcome_status"] in ("ANSWERED", "UNSURE"))
            ),
            ("answer_kind", "label", "outcome_status"),
        ),
    ),
)
"""`label` is the option's text whatever slot it stood in ("UNSURE" for the abstain option); `slot`
is the shown slot, from 0; null where the answer named no slot."""

EMBEDDINGS = Table(
    "embeddings",
    pa.schema([required("image_id", STRING), required("encoder_id", STRING), required("vector", list_of(FLOAT))]),
    ("image_id", "encoder_id"),
)

ALL_TABLES: dict[str, Table] = {
    table.name: table
    for table in (
        CASES,
        SOURCES,
        EXCLUSIONS,
        SLICES,
        LESION_SLICES,
        IMAGES,
        ITEMS,
        TRIALS,
        MANIFESTS,
        RESPONSES,
        OUTCOMES,
        EMBEDDINGS,
        ESTIMATES,
        FLOW,
        SENSITIVITY,
        VALIDITY,
    )
}
