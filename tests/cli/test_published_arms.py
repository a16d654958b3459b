"""The arms that a published number may belong to are those under which estimates exist."""

from __future__ import annotations

from steadyread.cli.compare import compare_models
from steadyread.config.published import OF_SEVERAL_ARMS, arms_of
from steadyread.contracts.enums import Metric


def test_every_estimate_stands_under_an_arm_that_a_published_number_may_name(asked):
    rows = compare_models("coin-2", "coin-3", "default", asked).book.all_rows
    found = {(Metric(row["metric"]), row["arm"], row["reference_arm"]) for row in rows}
    assert {metric for metric, arm, _ in found if arm is None} == set(OF_SEVERAL_ARMS)
    for metric, arm, _ in found:
        assert arm is None or arm in arms_of(metric)
    against_base = {metric for metric, _, reference in found if reference == "base"}
    assert {"flip_rate", "kappa", "flip_direction", "d_cross"} <= against_base
    for metric in against_base:
        assert "base" not in arms_of(metric)
