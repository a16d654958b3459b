"""A request key holds what changes an answer, and nothing else."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib import metadata

import pytest

from steadyread.contracts.problems import StudyError
from steadyread.identity.digests import digest_file
from steadyread.inference.asked import AskedModel
from steadyread.inference.keys import model_identity
from steadyread.inference.rendering import render_prompt
from steadyread.inference.snapshots import DigestCache

SLICES = ("a" * 32, "b" * 32, "c" * 32)


def key(model, listing, trial, max_new_tokens=8):
    identity = model_identity(model, 7, max_new_tokens, listing, {}, digest_file)
    return identity.request_key(trial, identity.prompt(trial["messages"]))


@pytest.fixture
def base(random_entry, built, make_trial):
    return key(random_entry(), built, make_trial(0, SLICES))


def test_the_same_request_has_the_same_key_under_any_case_arm_licence_and_resources(
    random_entry, built, make_trial, base
):
    other = make_trial(5, SLICES, arm="repeat", model_id="random")
    assert key(random_entry(), built, other) == base
    assert key(random_entry(licence="MIT", resources={"threads": 8, "gpus": 2}), built, make_trial(0, SLICES)) == base


@pytest.mark.parametrize(
    "arguments",
    [
        {"images": (*SLICES[:2], "d" * 32)},
        {"images": SLICES[::-1]},
        {"images": SLICES[:2]},
        {"images": ()},
        {"options": ("MET", "GBM", "UNSURE")},
        {"options": ("GBM", "MET")},
        {"draw": 1},
    ],
    ids=["pixels", "image order", "fewer images", "no image", "option order", "options", "draw"],
)
def test_whatever_changes_the_request_changes_the_key(random_entry, built, make_trial, base, arguments):
    assert key(random_entry(), built, make_trial(**{"case": 0, "images": SLICES, **arguments})) != base


def test_a_word_a_symbol_and_a_role_change_the_key(random_entry, built, make_trial, base):
    for change in (
        lambda row: row["messages"][0]["content"][-1].update(text="Which diagnosis is likeliest?"),
        lambda row: row["messages"][0].update(role="system"),
        lambda row: row.update(symbols=["1", "2", "3"]),
    ):
        row = make_trial(0, SLICES)
        change(row)
        assert key(random_entry(), built, row) != base


@pytest.mark.parametrize(
    "changes",
    [
        {"id": "other"},
        {"dtype": "bfloat16"},
        {"quantisation": "int8"},
        {"attention": "eager"},
        {"device": "cuda"},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_whatever_changes_the_arithmetic_changes_the_key(random_entry, built, make_trial, base, changes):
    assert key(random_entry(**changes), built, make_trial(0, SLICES)) != base


def test_one_gpu_is_like_another(random_entry, built, make_trial):
    row = make_trial(0, SLICES)
    assert key(random_entry(device="cuda:1"), built, row) == key(random_entry(device="cuda"), built, row)


def test_decoding_changes_the_key(random_entry, built, make_trial, base):
    assert key(random_entry(), built, make_trial(0, SLICES), max_new_tokens=9) != base


@pytest.mark.parametrize("name", ["torch", "transformers", "tokenizers", "pillow"])
def test_another_release_of_the_engine_changes_the_key(random_entry, built, make_trial, base, monkeypatch, name):
    real = metadata.version
    monkeypatch.setattr(metadata, "version", lambda asked: "0.0.1+cu999" if asked == name else real(asked))
    assert key(random_entry(), built, make_trial(0, SLICES)) != base


def changed_copy(built, tmp_path, name, change):
    """A copy of the model with one file changed, listed anew."""
    from steadyread.inference.snapshots import describe_snapshot, write_listing

    shutil.copytree(built.parent / "snapshot", tmp_path / "snapshot")
    path = tmp_path / "snapshot" / name
    path.write_bytes(change(path.read_bytes()))
    write_listing(tmp_path / "snapshot.json", "random", describe_snapshot(tmp_path / "snapshot"))
    return tmp_path / "snapshot.json"


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("model.safetensors", lambda data: data[:-1] + bytes([data[-1] ^ 1])),
        ("processor_config.json", lambda data: data.replace(b'"longest_edge": 64', b'"longest_edge": 32')),
        ("tokenizer.json", lambda data: data + b"\n"),
        ("chat_template.jinja", lambda data: data + b" "),
    ],
    ids=["one bit of the weights", "image size", "tokenizer", "template"],
)
def test_another_snapshot_changes_the_key(random_entry, built, make_trial, base, tmp_path, name, change):
    assert key(random_entry(), changed_copy(built, tmp_path, name, change), make_trial(0, SLICES)) != base


def test_where_the_snapshot_lies_does_not(random_entry, built, make_trial, base, tmp_path):
    elsewhere = changed_copy(built, tmp_path, "model.safetensors", lambda data: data)
    assert key(random_entry(), elsewhere, make_trial(0, SLICES)) == base
    folder = random_entry(source={"kind": "folder"})
    local = {"random": str(built.parent / "snapshot")}
    identity = model_identity(folder, 7, 8, elsewhere, local, digest_file)
    row = make_trial(0, SLICES)
    assert identity.request_key(row, identity.prompt(row["messages"])) == base


def test_a_snapshot_that_changed_since_it_was_listed_is_refused(random_entry, built, make_trial, tmp_path):
    listing = changed_copy(built, tmp_path, "model.safetensors", lambda data: data)
    (tmp_path / "snapshot" / "chat_template.jinja").write_text("{{ messages }}")
    with pytest.raises(StudyError, match="changed since it was listed"):
        key(random_entry(), listing, make_trial(0, SLICES))


def test_the_study_seed_and_the_trial_matter_to_the_coin_alone(baseline, make_trial):
    row, same = make_trial(0, SLICES), make_trial(0, SLICES, arm="repeat")

    def keys(model):
        identities = [model_identity(model, seed, 8, None, {}, digest_file) for seed in (1, 2)]
        return {i.request_key(r, i.prompt(r["messages"])) for i in identities for r in (row, same)}

    assert len(keys(baseline("coin", "labels"))) == 4
    assert len(keys(baseline("constant_slot", "1"))) == 1


def test_weights_are_digested_once_until_they_change(tmp_path):
    file, cache = tmp_path / "w.safetensors", tmp_path / "cache.json"
    file.write_bytes(b"one")
    digest = DigestCache(cache)(file)
    assert digest == digest_file(file)
    stored = json.loads(cache.read_text())
    assert str(tmp_path) not in cache.read_text()
    # A marked entry shows whether it is served.
    for known in stored.values():
        known["digest"] = "served"
    cache.write_text(json.dumps(stored))
    assert DigestCache(cache)(file) == "served"
    times = file.stat()
    file.write_bytes(b"two")
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert DigestCache(cache)(file) == digest_file(file)
    cache.write_text("{ torn")
    assert DigestCache(cache)(file) == digest_file(file)


def test_a_template_that_asks_for_the_date_is_refused(make_trial, built, tmp_path):
    changed_copy(built, tmp_path, "chat_template.jinja", lambda data: data + b"{{ strftime_now('%Y') }}")
    with pytest.raises(StudyError, match="date"):
        render_prompt(tmp_path / "snapshot", make_trial(0, SLICES)["messages"])


def test_older_homes_of_the_template_are_read(make_trial, built, tmp_path):
    changed_copy(built, tmp_path, "chat_template.jinja", lambda data: data)
    folder, messages = tmp_path / "snapshot", make_trial(0, SLICES)["messages"]
    expected = render_prompt(built.parent / "snapshot", messages)
    template = (folder / "chat_template.jinja").read_text()
    (folder / "chat_template.jinja").unlink()
    (folder / "chat_template.json").write_text(json.dumps({"chat_template": template}))
    assert render_prompt(folder, messages) == expected
    with pytest.raises(StudyError, match="no chat template"):
        render_prompt(tmp_path, messages)


def test_keys_are_computed_without_torch(random_entry, built, make_trial, base):
    program = (
        "import sys, json\n"
        "from pathlib import Path\n"
        "from steadyread.inference.asked import AskedModel\n"
        "from steadyread.inference.keys import model_identity\n"
        "from steadyread.identity.digests import digest_file\n"
        "model, row, listing = json.loads(sys.stdin.read())\n"
        "identity = model_identity(AskedModel.model_validate(model), 7, 8, Path(listing), {}, digest_file)\n"
        "print(identity.request_key(row, identity.prompt(row['messages'])), 'torch' in sys.modules)\n"
    )
    told = json.dumps([AskedModel.model_dump(random_entry(), mode="json"), make_trial(0, SLICES), str(built)])
    done = subprocess.run([sys.executable, "-c", program], input=told, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [base, "False"]
