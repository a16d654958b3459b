"""The tables of a study (DESIGN, Contracts).

Boxes are [x0, y0, x1, y1), pixels of the stored 8-bit image, origin top left. Slice indices run
feet to head (axial), right to left (sagittal), back to front (coronal). Lengths are millimetres.
"""

from __future__ import annotations

import pyarrow as pa

from . import enums
from .table import BOX, Table, holds, list_of, matches, null_iff, one_of, optional, required, same_length, within

STRING, INT, FLOAT, BOOL = pa.string(), pa.int64(), pa.float64(), pa.bool_()
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

ESTIMATES = Table(
    "estimates",
    pa.schema(
        [
            required("study", STRING),
            required("model", STRING),
            optional("reference_model", STRING),
            required("readout", STRING),
            optional("arm", STRING),
            optional("variant", STRING),
            optional("parameter", FLOAT),
            optional("reference_arm", STRING),
            required("arms", STRINGS),
            required("stratum", STRING),
            required("metric", STRING),
            required("denominator", STRING),
            optional("value", FLOAT),
            optional("low", FLOAT),
            optional("high", FLOAT),
            optional("interval_method", STRING),
            required("n", INT),
            optional("n_effective", FLOAT),
            required("clusters", INT),
            optional("design_effect", FLOAT),
            optional("resamples", INT),
            required("n_error", INT),
            optional("bound_low", FLOAT),
            optional("bound_high", FLOAT),
            optional("test", STRING),
            optional("family", STRING),
            optional("p", FLOAT),
            optional("p_holm", FLOAT),
            optional("q_bh", FLOAT),
            optional("mde", FLOAT),
            required("estimate_status", STRING),
            optional("reason", STRING),
            required("mark", STRING),
        ]
    ),
    (
        "study",
        "model",
        "reference_model",
        "readout",
        "metric",
        "denominator",
        "arm",
        "variant",
        "parameter",
        "reference_arm",
        "stratum",
    ),
    (
        one_of("readout", enums.Readout),
        one_of("arm", enums.ArmName),
        one_of("reference_arm", enums.ArmName),
        one_of("arms", enums.ArmName),
        one_of("metric", enums.Metric),
        one_of("denominator", enums.Denominator),
        one_of("estimate_status", enums.EstimateStatus),
        one_of("mark", enums.Mark),
        within("p", 0, 1),
        within("p_holm", 0, 1),
        within("q_bh", 0, 1),
        holds(
            "a reason exactly where the status is not ok",
            lambda row: (row["reason"] is not None) == (row["estimate_status"] != "ok"),
            ("reason", "estimate_status"),
        ),
        holds(
            "low <= value <= high where all three are given",
            lambda row: (
                None in (row["low"], row["value"], row["high"])
                or row["low"] - 1e-12 <= row["value"] <= row["high"] + 1e-12
            ),
            ("low", "value", "high"),
        ),
    ),
)
"""An effect is a row of its own with its own interval. `variant` of metric flip_direction names the
direction, of status_share the status. `stratum` is "all" or name=value."""

FLOW = Table(
    "flow",
    pa.schema(
        [
            required("model", STRING),
            required("readout", STRING),
            required("arm", STRING),
            required("cases_in", INT),
            required("analysed", INT),
            required("excluded", INT),
            required("errors", INT),
            required(
                "reasons",
                list_of(pa.struct([required("stage", STRING), required("reason", STRING), required("count", INT)])),
            ),
        ]
    ),
    ("model", "readout", "arm"),
    (
        holds(
            "cases_in = analysed + excluded + errors",
            lambda row: row["cases_in"] == row["analysed"] + row["excluded"] + row["errors"],
            ("cases_in", "analysed", "excluded", "errors"),
        ),
        holds(
            "the reasons' counts to add up to excluded",
            lambda row: sum(item["count"] for item in row["reasons"]) == row["excluded"],
            ("reasons", "excluded"),
        ),
    ),
)
"""The account of cases: per model, readout and arm, every case in is analysed, excluded or ERROR."""

VALIDITY = Table(
    "validity",
    pa.schema(
        [
            required("part", STRING),
            required("quantity", STRING),
            required("method", STRING),
            required("patients", INT),
            required("cases_per_patient", INT),
            optional("icc", FLOAT),
            optional("p", FLOAT),
            required("effect", FLOAT),
            required("level", FLOAT),
            required("runs", INT),
            required("reported_share", FLOAT),
            optional("coverage", FLOAT),
            optional("miss_low", FLOAT),
            optional("miss_high", FLOAT),
            optional("mean_width", FLOAT),
            optional("rejected", FLOAT),
            optional("value", FLOAT),
            optional("expected", FLOAT),
            optional("target", FLOAT),
            optional("mc_error", FLOAT),
            required("judged", BOOL),
            required("holds", BOOL),
        ]
    ),
    ("part", "quantity", "method", "patients", "cases_per_patient", "icc", "p", "effect", "level"),
    (
        within("patients", 1),
        within("icc", 0, 1),
        within("p", 0, 1),
        within("reported_share", 0, 1),
        within("coverage", 0, 1),
        within("miss_low", 0, 1),
        within("miss_high", 0, 1),
        within("rejected", 0, 1),
        within("mc_error", 0),
        holds(
            "a target where a cell is judged, and a cell that is not judged to hold",
            lambda row: row["target"] is not None if row["judged"] else row["holds"],
            ("judged", "target", "holds"),
        ),
    ),
)
"""One cell of the simulation a row: `level` is one minus the confidence of an interval or the level of a
test. `coverage`, `miss_low` (the truth lies below the interval), `miss_high` (above) and `mean_width` are
over the runs that report an interval; `rejected` and `value` over all."""

SENSITIVITY = Table(
    "sensitivity",
    pa.schema(
        [
            required("study", STRING),
            required("model", STRING),
            required("readout", STRING),
            required("metric", STRING),
            required("denominator", STRING),
            required("arm", STRING),
            optional("variant", STRING),
            required("reference_arm", STRING),
            required("n", INT),
            required("clusters", INT),
            optional("odds_ratio", FLOAT),
            optional("low", FLOAT),
            optional("high", FLOAT),
            optional("p", FLOAT),
            required("p_primary", FLOAT),
            required("level", FLOAT),
            optional("agrees", BOOL),
            required("estimate_status", STRING),
            optional("reason", STRING),
            required("method", STRING),
        ]
    ),
    ("study", "model", "readout", "metric", "denominator", "arm", "variant", "reference_arm"),
    (
        one_of("readout", enums.Readout),
        one_of("metric", enums.Metric),
        one_of("denominator", enums.Denominator),
        one_of("arm", enums.ArmName),
        one_of("reference_arm", enums.ArmName),
        one_of("estimate_status", enums.EstimateStatus),
        within("odds_ratio", 0),
        within("p", 0, 1),
        within("p_primary", 0, 1),
        within("level", 0, 1),
        holds(
            "a reason exactly where the status is not ok",
            lambda row: (row["reason"] is not None) == (row["estimate_status"] != "ok"),
            ("reason", "estimate_status"),
        ),
        holds(
            "agreement exactly where there is a p",
            lambda row: (row["agrees"] is not None) == (row["p"] is not None),
            ("agrees", "p"),
        ),
    ),
)
"""The tested contrasts once more, by a marginal model: `p_primary` is the raw p of the estimates table, and
the two agree where both are at most `level` or both above it."""

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
