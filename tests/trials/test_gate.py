"""The gate: a study with too few cases ends before any model is asked."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steadyread.contracts.enums import LESION_ARMS
from steadyread.contracts.problems import StudyError
from steadyread.stages.job import Files
from steadyread.trials.gate import CheckCohortSettings, check_cohort

Compose = Callable[..., Any]


def excluded(case_id: str, reason: str = "constant", stage: str = "slice_volumes") -> dict[str, Any]:
    return {
        "case_id": case_id,
        "stage": stage,
        "arm": None,
        "model_id": None,
        "reason": reason,
        "detail": "found, expected",
    }


def check(found: Any, folder: Path, min_patients: int) -> dict[str, Any]:
    settings = CheckCohortSettings.model_validate({"cohort": {"min_patients": min_patients, "labels": ["GBM", "MET"]}})
    gate = folder / "gate.json"
    check_cohort(inputs=Files(found.files), outputs=Files({"gate": gate}), settings=settings, wildcards={})
    return dict(json.loads(gate.read_bytes()))


def cohort(compose: Compose, make_case: Any) -> Any:
    """Three patients; p1 has two cases, p3's only case cannot be used, c4 has no annotation."""
    cases = [
        make_case("c1", "p1"),
        make_case("c2", "p1"),
        make_case("c3", "p3"),
        make_case("c4", "p4", lesion=None, label=None),
    ]
    return compose(cases, excluded=[excluded("c3")])


def test_the_gate_counts_what_is_left_and_what_is_not(compose: Compose, make_case: Any, tmp_path: Path) -> None:
    gate = check(cohort(compose, make_case), tmp_path, 2)
    assert (gate["cases"], gate["usable_cases"], gate["patients"]) == (4, 3, 2)
    assert (gate["patients_per_label"], gate["patients_without_label"]) == ({"GBM": 1, "MET": 0}, 1)
    assert (gate["trials"]["base"], gate["trials"]["lesion_removed"]) == (3, 2)
    assert gate["exclusions"] == [
        *(
            {"arm": arm, "cases": 1, "reason": "no_annotation", "stage": "compose_trials"}
            for arm in sorted(arm.value for arm in LESION_ARMS)
        ),
        {"arm": None, "cases": 1, "reason": "constant", "stage": "slice_volumes"},
    ]


def test_patients_count_not_cases(compose: Compose, make_case: Any, tmp_path: Path) -> None:
    """Three usable cases of two patients are too few where three patients are needed."""
    with pytest.raises(StudyError) as caught:
        check(cohort(compose, make_case), tmp_path, 3)
    said = str(caught.value)
    assert "2 patients are left (3 of 4 cases)" in said
    assert "1 × constant (slice_volumes)" in said
    assert "min_patients" in said
    assert not (tmp_path / "gate.json").exists()


def test_a_cohort_without_any_usable_case_is_refused(compose: Compose, make_case: Any, tmp_path: Path) -> None:
    cases = [make_case(f"c{i}", f"p{i}") for i in range(3)]
    found = compose(cases, excluded=[excluded("c0"), excluded("c1", "gantry_tilt"), excluded("c2", "gantry_tilt")])
    with pytest.raises(StudyError, match="2 × gantry_tilt"):
        check(found, tmp_path, 1)


def test_a_case_that_vanished_without_a_reason_stops_the_study(
    compose: Compose, make_case: Any, tmp_path: Path
) -> None:
    found = cohort(compose, make_case)
    found.files["exclusions"] = found.files["exclusions"][1:]
    with pytest.raises(StudyError, match="1 without trials and without a reason"):
        check(found, tmp_path, 1)


def test_the_gate_is_the_same_for_every_shard_count(compose: Compose, make_case: Any, tmp_path: Path) -> None:
    cases = [make_case(f"c{i}", f"p{i}") for i in range(5)]
    gates = []
    for shards in (1, 4):
        check(compose(cases, shards=shards), tmp_path, 2)
        gates.append((tmp_path / "gate.json").read_bytes())
    assert gates[0] == gates[1]
