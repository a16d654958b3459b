"""Levels of different arms that come out the same are one request, asked once and answered for each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from steadyread.contracts.enums import ArmName
from steadyread.contracts.files import read_rows, write_table
from steadyread.contracts.tables import IMAGES, RESPONSES
from steadyread.inference.infer import InferSettings, infer
from steadyread.stages.job import Files

GRID = {"shuffles": 5, "fractions": [0.25, 0.5, 0.75, 1], "positions": [0, 0.25, 0.5, 0.75, 1]}


def request_of(row: dict[str, Any]) -> str:
    return json.dumps([row["messages"], row["options"], row["draw"]])


def answered(found: Any, folder: Path) -> list[dict[str, Any]]:
    """What a reader that always says the option in front answers."""
    shown = sorted({image_id for row in found.trials for image_id in row["images"]})
    nothing = dict.fromkeys(("parent_id", "ssim", "psnr", "max_abs_delta", "box"))
    plain = {"transform": "none", "parameters": "{}", "severity": 0, "width": 16, "height": 16, "png": b""}
    write_table(folder / "images.parquet", IMAGES, [{"image_id": image, **nothing, **plain} for image in shown])
    (folder / "gate.json").write_text("{}")
    inputs = {"gate": folder / "gate.json", "images": folder / "images.parquet", "trials": found.files["trials"]}
    model = {
        "id": "constant-slot-1",
        "family": "baseline",
        "backend": "baselines",
        "source": {"kind": "baseline", "baseline": "constant_slot", "value": "1"},
    }
    settings = InferSettings.model_validate({"seed": 7, "model": model, "inference": {"max_new_tokens": 8}})
    infer(Files(inputs), Files({"responses": folder / "responses.parquet"}), settings, {"model": model["id"]})
    return read_rows(folder / "responses.parquet", RESPONSES)


def test_equal_levels_are_asked_once_and_every_trial_has_its_row(
    compose: Any, make_case: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setenv("STEADYREAD_STORE", str(tmp_path / "store"))
    # Two slices: all five shuffles are the reversal, and lesion first too; every position is one of two.
    found = compose([make_case("c1", "p1", slices=2, lesion=(1,)), make_case("c2", "p2")], arms=GRID)
    responses = answered(found, tmp_path)
    assert {row["trial_id"] for row in responses} == {row["trial_id"] for row in found.trials}
    distinct = len({request_of(row) for row in found.trials})
    assert distinct < len(found.trials) - 10
    files = list((tmp_path / "store").rglob("*.jsonl"))
    assert sum(len(file.read_text().splitlines()) for file in files) == distinct


def test_the_levels_that_must_be_equal_are(compose: Any, make_case: Any) -> None:
    found = compose([make_case("c1", "p1")], arms=GRID)

    def request(arm: ArmName, variant: str = "") -> str:
        [row] = [row for row in found.of(arm.value) if row["variant"] == variant]
        return request_of(row)

    assert request(ArmName.REMOVE_FRACTION, "1") == request(ArmName.LESION_REMOVED)
    assert request(ArmName.REMOVE_FRACTION, "0.25") == request(ArmName.REMOVE_FRACTION, "0.5")
    assert request(ArmName.REMOVE_FRACTION, "0.5") != request(ArmName.REMOVE_FRACTION, "0.75")
    assert request(ArmName.ROI_AT, "0") == request(ArmName.ROI_FIRST)
    assert request(ArmName.ROI_AT, "1") == request(ArmName.ROI_LAST)


def test_the_whole_grid_has_a_trial_for_every_level_of_a_good_case(compose: Any, make_case: Any) -> None:
    found = compose([make_case("c1", "p1")], arms=GRID)
    levels = {name: len({row["variant"] for row in found.trials if row["arm"] == name}) for name in ArmName}
    several = {ArmName.SHUFFLE: 5, ArmName.LABEL_CYCLE: 2, ArmName.REMOVE_FRACTION: 4, ArmName.ROI_AT: 5}
    assert levels == {name: several.get(name, 1) for name in ArmName}
    assert found.exclusions == []
