"""The stage `infer`: each trial gets its row, each request is asked once, and nothing else matters."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import pairwise

import pytest

from steadyread.contracts.files import read_rows
from steadyread.contracts.problems import StudyError
from steadyread.contracts.tables import RESPONSES
from steadyread.inference import infer as stage
from steadyread.inference.backend import Answer, open_backend

MET_FIRST = ("MET", "GBM", "UNSURE")


@pytest.fixture
def asked(monkeypatch):
    """Counts the requests that reach the model; `fail` makes chosen ones fail."""
    seen, failing = [], set()

    class Watched:
        def __init__(self, inner):
            self.inner = inner

        def answer(self, requests):
            for request, answer in zip(requests, self.inner.answer(requests), strict=True):
                seen.append(request)
                yield Answer.failed("out of memory") if request.trial_id in failing else answer

    monkeypatch.setattr(stage, "open_backend", lambda settings: Watched(open_backend(settings)))
    return seen, failing


def small_study(world, cases=3):
    """Base, repeat, reverse, label swap and no image for each case."""
    for case in range(cases):
        images = world.case(case)
        world.ask(case, images)
        world.ask(case, images, arm="repeat", draw=1)
        world.ask(case, images[::-1], arm="reverse")
        world.ask(case, images, MET_FIRST, arm="label_swap")
        world.ask(case, [], arm="no_image")


def forget(world):
    for path in (world.root / "store").rglob("*.jsonl"):
        path.unlink()


def test_every_trial_has_its_row_and_the_floor_of_a_repeat_is_exactly_zero(world, random_entry, built, asked):
    small_study(world)
    rows = {row["trial_id"]: row for row in world.infer(random_entry(), built)}
    assert set(rows) == {row["trial_id"] for row in world.trials}
    for base, repeat in zip(world.trials[::5], world.trials[1::5], strict=True):
        first, second = rows[base["trial_id"]], rows[repeat["trial_id"]]
        assert first["request_key"] != second["request_key"]
        assert [first[k] for k in ("text", "option_logprobs")] == [second[k] for k in ("text", "option_logprobs")]
    # no_image is one and the same request for every case: asked once; a repeat is always asked anew.
    assert len(asked[0]) == 3 * 4 + 1
    assert {row["images_seen"] for row in rows.values()} == {0, 6}


def test_rows_are_the_same_whatever_the_shards_the_batch_and_the_order(world, random_entry, built, monkeypatch):
    small_study(world)
    expected = world.infer(random_entry(), built)
    for shards, batch in ((3, 1), (2, 5)):
        forget(world)
        monkeypatch.setattr(stage, "_BATCH", batch)
        world.trials.reverse()
        assert world.infer(random_entry(), built, shards=shards) == expected


def test_a_second_run_asks_nothing_and_a_new_arm_only_what_is_new(world, random_entry, built, asked):
    small_study(world)
    expected = world.infer(random_entry(), built)
    asked[0].clear()
    assert world.infer(random_entry(), built) == expected
    assert asked[0] == []
    new = world.ask(0, world.case(0)[1:], arm="lesion_removed")
    rows = world.infer(random_entry(), built)
    assert [request.trial_id for request in asked[0]] == [new["trial_id"]]
    assert [row for row in rows if row["trial_id"] != new["trial_id"]] == expected


def test_a_killed_job_goes_on_where_it_stopped_and_gives_the_same_rows(world, random_entry, built, asked, monkeypatch):
    small_study(world)
    expected = world.infer(random_entry(), built)
    forget(world)
    asked[0].clear()
    monkeypatch.setattr(stage, "_BATCH", 4)
    real = open_backend

    def dying(settings):
        class Dying:
            def answer(self, requests):
                for number, answer in enumerate(real(settings).answer(requests)):
                    if number == 9:
                        raise KeyboardInterrupt
                    yield answer

        return Dying()

    with monkeypatch.context() as patch:
        patch.setattr(stage, "open_backend", dying)
        with pytest.raises(KeyboardInterrupt):
            world.infer(random_entry(), built)
    assert world.infer(random_entry(), built) == expected
    assert len(asked[0]) == 13 - 8


def test_requests_with_the_same_images_are_asked_one_after_another(world, random_entry, built, asked):
    small_study(world)
    world.infer(random_entry(), built)
    lists = [request.image_ids for request in asked[0]]
    changes = sum(a != b for a, b in pairwise(lists))
    assert changes == len(set(lists)) - 1


def test_a_failure_is_a_row_and_is_asked_again(world, random_entry, built, asked):
    small_study(world, 1)
    failing = world.trials[2]["trial_id"]
    asked[1].add(failing)
    rows = {row["trial_id"]: row for row in world.infer(random_entry(), built)}
    assert (rows[failing]["finish_reason"], rows[failing]["error"]) == ("error", "out of memory")
    assert sum(row["error"] is None for row in rows.values()) == 4
    asked[0].clear()
    asked[1].clear()
    rows = {row["trial_id"]: row for row in world.infer(random_entry(), built)}
    assert [request.trial_id for request in asked[0]] == [failing]
    assert all(row["error"] is None for row in rows.values())


def test_a_model_that_answers_nothing_at_all_stops_the_study(world, random_entry, built, asked):
    world.ask(0, [])
    asked[1].add(world.trials[0]["trial_id"])
    with pytest.raises(StudyError, match="out of memory"):
        world.infer(random_entry(), built)


def test_trials_of_other_models_are_left_to_them(world, random_entry, built):
    mine = [world.ask(0, []), world.ask(1, [], draw=2, model_id="random")]
    world.ask(0, [], draw=2, model_id="coin-2")
    assert {row["trial_id"] for row in world.infer(random_entry(), built)} == {row["trial_id"] for row in mine}


def test_no_trials_give_an_empty_table(world, random_entry, built, asked):
    assert world.infer(random_entry(), built) == []
    assert asked[0] == []


def test_more_images_than_the_model_takes_are_refused_before_it_is_loaded(world, random_entry, built, asked):
    world.ask(0, world.case(0))
    with pytest.raises(StudyError, match=r"at most 5 images.*slicing\.max_slices"):
        world.infer(random_entry(max_images=5), built)
    assert asked[0] == []


def test_an_image_that_no_table_holds_is_named(world, random_entry, built):
    world.ask(0, ["0" * 32])
    with pytest.raises(StudyError, match="compose the trials again"):
        world.infer(random_entry(), built)


def test_a_model_with_weights_needs_its_listing(world, random_entry):
    world.ask(0, [])
    with pytest.raises(StudyError, match="build_random_model"):
        world.infer(random_entry())


_PROGRAM = """
import json, sys
from steadyread.inference.infer import InferSettings, infer
from steadyread.stages.job import Files
inputs, output, settings = json.loads(sys.stdin.read())
infer(Files(inputs), Files({"responses": output}), InferSettings.model_validate(settings), {})
print("torch" in sys.modules)
"""


def run_alone(world, model, listing):
    """The stage in a process of its own: whether it imported torch, and its rows."""
    folder = sorted(world.root.glob("run*"))[0]
    inputs = {name: [str(folder / f"{name}0.parquet")] for name in ("trials", "images", "derived")}
    inputs |= {"gate": str(folder / "gate.json"), "listing": str(listing)}
    settings = {"seed": 7, "model": model.model_dump(mode="json"), "inference": {"max_new_tokens": 8}}
    output = world.root / "again.parquet"
    told = json.dumps([inputs, str(output), settings])
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM], input=told, capture_output=True, text=True, check=True, env=environment
    )
    return done.stdout.strip() == "True", read_rows(output, RESPONSES)


def test_a_job_whose_answers_are_all_known_imports_no_torch(world, random_entry, built):
    small_study(world, 1)
    expected = world.infer(random_entry(), built)
    assert run_alone(world, random_entry(), built) == (False, expected)


@pytest.mark.slow
def test_another_process_gives_exactly_the_same_answers(world, random_entry, built):
    small_study(world, 1)
    expected = world.infer(random_entry(), built)
    forget(world)
    assert run_alone(world, random_entry(), built) == (True, expected)
