"""The random-weight model: small, repeatable, and no oracle of a constant."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest
import torch

from steadyread.contracts.problems import StudyError
from steadyread.inference.asked import AskedModel
from steadyread.phantom.random_model import RandomModelSettings, build_random_model, write_random_model
from steadyread.stages.job import Files
from steadyread.stages.receipts import output_digest

MET_FIRST = ("MET", "GBM", "UNSURE")


def test_one_seed_gives_the_same_bytes_and_another_seed_other_weights(built, tmp_path):
    torch.manual_seed(99)
    write_random_model(tmp_path / "again", 0)
    write_random_model(tmp_path / "other", 1)
    assert output_digest(tmp_path / "again") == output_digest(built.parent / "snapshot")
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("again", "other")]
    assert weights[0] != weights[1]


def test_building_moves_nobody_elses_draws(tmp_path):
    torch.manual_seed(5)
    np.random.seed(5)  # noqa: NPY002
    expected = torch.rand(3), np.random.rand(3)  # noqa: NPY002
    torch.manual_seed(5)
    np.random.seed(5)  # noqa: NPY002
    write_random_model(tmp_path / "m", 0)
    assert torch.equal(torch.rand(3), expected[0])
    assert (np.random.rand(3) == expected[1]).all()  # noqa: NPY002


def test_it_is_smaller_than_two_megabytes_and_holds_safetensors_alone(built):
    files = list((built.parent / "snapshot").iterdir())
    assert sum(file.stat().st_size for file in files) < 2_000_000
    assert {file.suffix for file in files} == {".safetensors", ".json", ".jinja"}


def test_its_listing_names_model_files_and_a_revision(built):
    listing = json.loads(built.read_text())
    assert listing["model"] == "random"
    assert {item["name"] for item in listing["files"]} == {p.name for p in (built.parent / "snapshot").iterdir()}
    assert listing["revision"] == listing["weights_digest"]


def test_only_models_of_source_kind_built_are_built(tmp_path):
    model = AskedModel.model_validate(
        {"id": "x", "family": "llava", "backend": "transformers", "source": {"kind": "hub", "repository": "a/b"}}
    )
    outputs = Files({"snapshot": tmp_path / "s", "listing": tmp_path / "l"})
    with pytest.raises(StudyError, match="source kind hub"):
        build_random_model(Files({}), outputs, RandomModelSettings(model=model), {"model": "x"})


def test_its_decisions_hang_on_images_slice_order_and_option_order(world, random_entry, built):
    cases = 12
    for case in range(cases):
        images = world.case(case, 8 + case % 5)
        world.ask(case, images)
        world.ask(case, images[::-1], arm="reverse")
        world.ask(case, images, MET_FIRST, arm="label_swap")
        world.ask(case, images[:2] + images[5:], arm="lesion_removed")
    rows = {row["trial_id"]: row for row in world.infer(random_entry(), built)}

    def decision(trial):
        values = rows[trial["trial_id"]]["option_logprobs"]
        return trial["options"][max(range(len(values)), key=values.__getitem__)]

    base = [decision(trial) for trial in world.trials[::4]]
    assert len(Counter(base)) >= 2
    flips = [
        sum(decision(trial) != label for trial, label in zip(world.trials[arm::4], base, strict=True))
        for arm in (1, 2, 3)
    ]
    assert all(0 < flip < cases for flip in flips), flips


def test_twenty_four_slices_fit(world, random_entry, built):
    world.ask(0, world.case(0, 24))
    (row,) = world.infer(random_entry(), built)
    assert (row["images_seen"], row["error"]) == (24, None)
    assert row["input_tokens"] < 300
