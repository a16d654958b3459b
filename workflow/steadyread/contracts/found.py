"""The tables of what was found: estimates, the account of cases, and what was checked of both."""

from __future__ import annotations

import pyarrow as pa

from . import enums
from .table import BOOL, FLOAT, INT, STRING, Table, holds, list_of, one_of, optional, required, within

STRINGS = list_of(STRING)

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
