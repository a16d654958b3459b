"""Snapshots hold data, never code; hub models are pinned to what was read from the hub."""

from __future__ import annotations

import shutil
from types import SimpleNamespace

import pytest
import yaml

from steadyread.config.models_lock import apply_lock, read_lock
from steadyread.config.models_table import ModelEntry, ModelsTable
from steadyread.contracts.problems import StudyError
from steadyread.identity.digests import digest_file
from steadyread.inference.asked import AskedModel
from steadyread.inference.fetch import fetch_model
from steadyread.inference.snapshots import (
    ListSnapshotSettings,
    describe_snapshot,
    list_snapshot,
    resolve_snapshot,
)
from steadyread.stages.job import Files

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def folder(built, tmp_path):
    return shutil.copytree(built.parent / "snapshot", tmp_path / "snapshot")


@pytest.mark.parametrize("name", ["modeling.py", "pytorch_model.bin", "weights.pt", "deep/tool.py", "model.pkl"])
def test_code_and_weights_that_can_hold_code_are_refused_by_name(folder, name):
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_bytes(b"")
    with pytest.raises(StudyError, match=name.rpartition("/")[2]):
        describe_snapshot(folder)


def test_a_folder_without_weights_is_refused(tmp_path):
    with pytest.raises(StudyError, match="safetensors"):
        describe_snapshot(tmp_path)


def test_the_digest_of_the_weights_is_that_of_their_content_whatever_they_are_called(folder):
    before = describe_snapshot(folder)
    (folder / "model.safetensors").rename(folder / "model-00001-of-00001.safetensors")
    (folder / "README.md").write_text("words")
    after = describe_snapshot(folder)
    assert after["weights_digest"] == before["weights_digest"] == before["revision"]
    assert after["processing_digest"] == before["processing_digest"]


def folder_entry():
    return AskedModel.model_validate(
        {"id": "mine", "family": "idefics3", "backend": "transformers", "source": {"kind": "folder"}}
    )


def test_a_folder_model_is_listed_without_saying_where_it_lies(folder, tmp_path):
    listing = tmp_path / "listing.json"
    settings = ListSnapshotSettings(model=folder_entry())
    list_snapshot(Files({}), Files({"listing": listing}), settings, {"model": "mine"}, {"mine": str(folder)})
    assert str(tmp_path) not in listing.read_text()
    assert digest_file(folder / "model.safetensors") in listing.read_text()


def test_a_folder_that_is_not_there_is_named_by_its_model_and_not_by_its_path(tmp_path):
    settings = ListSnapshotSettings(model=folder_entry())
    with pytest.raises(StudyError, match="model mine") as caught:
        list_snapshot(Files({}), Files({"listing": tmp_path / "l"}), settings, {}, {"mine": str(tmp_path / "gone")})
    assert str(tmp_path) not in str(caught.value)


class FakeHub:
    """A hub with one repository; notes what it was asked."""

    def __init__(self, folder, commit=COMMIT):
        self.folder, self.commit, self.asked = folder, commit, []

    def model_info(self, repo_id, *, revision=None):
        self.asked.append((repo_id, revision))
        if repo_id != "owner/model":
            raise OSError("404")
        return SimpleNamespace(sha=self.commit)

    def snapshot_download(self, repo_id, *, revision, allow_patterns):
        self.asked.append((repo_id, revision, tuple(allow_patterns)))
        return str(self.folder)


def hub_entry(repository="owner/model", **source):
    return ModelEntry.model_validate(
        {
            "id": "hubbed",
            "family": "idefics3",
            "backend": "transformers",
            "source": {"kind": "hub", "repository": repository, **source},
            "licence": "MIT",
        }
    )


def test_a_fetched_model_is_pinned_with_what_the_hub_said_and_the_files_hold(folder, tmp_path):
    lock = tmp_path / "config" / "models.lock.yaml"
    hub = FakeHub(folder)
    fetch_model(hub_entry(), lock, hub)
    locked = read_lock(lock).models["hubbed"]
    assert locked.revision == COMMIT
    assert locked.weights == {"model.safetensors": digest_file(folder / "model.safetensors")}
    (_, (repository, revision, patterns)) = hub.asked
    assert (repository, revision) == ("owner/model", COMMIT)
    assert not any(pattern.endswith((".py", ".bin", "*")) for pattern in patterns)
    table = apply_lock(ModelsTable(models=(hub_entry(),)), tmp_path)
    assert table.by_id("hubbed").source.revision == COMMIT
    assert [path.name for path in lock.parent.iterdir()] == [lock.name]


def test_other_models_stay_in_the_lock(folder, tmp_path):
    lock = tmp_path / "models.lock.yaml"
    lock.write_text(yaml.safe_dump({"models": {"old": {"repository": "a/b", "revision": "f" * 40, "weights": {}}}}))
    fetch_model(hub_entry(), lock, FakeHub(folder))
    assert sorted(read_lock(lock).models) == ["hubbed", "old"]


@pytest.mark.parametrize("commit", ["main", "None", "0123456"])
def test_no_revision_is_written_that_is_no_commit(folder, tmp_path, commit):
    with pytest.raises(StudyError, match="40-digit"):
        fetch_model(hub_entry(), tmp_path / "lock", FakeHub(folder, commit))
    assert not (tmp_path / "lock").exists()


def test_a_repository_that_the_hub_refuses_and_one_without_safetensors_leave_no_lock(folder, tmp_path):
    with pytest.raises(StudyError, match="owner/wrong"):
        fetch_model(hub_entry("owner/wrong"), tmp_path / "lock", FakeHub(folder))
    (folder / "model.safetensors").unlink()
    with pytest.raises(StudyError, match="safetensors"):
        fetch_model(hub_entry(), tmp_path / "lock", FakeHub(folder))
    assert not (tmp_path / "lock").exists()


def test_a_hub_model_is_used_from_the_cache_at_its_commit_and_asked_for_when_it_is_not_there(
    folder, tmp_path, monkeypatch
):
    cache = tmp_path / "hub"
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(cache))
    monkeypatch.setattr("huggingface_hub._snapshot_download.constants.HF_HUB_CACHE", str(cache))
    place = cache / "models--owner--model" / "snapshots" / COMMIT
    asked = AskedModel.model_validate(hub_entry(revision=COMMIT).model_dump(mode="json"))
    with pytest.raises(StudyError, match="fetch-models hubbed"):
        resolve_snapshot(asked, digest_file)
    shutil.copytree(folder, place)
    found = resolve_snapshot(asked, digest_file)
    assert found.revision == COMMIT
    assert found.weights_digest == describe_snapshot(folder)["weights_digest"]
    unpinned = AskedModel.model_validate(hub_entry().model_dump(mode="json"))
    with pytest.raises(StudyError, match="no revision is pinned"):
        resolve_snapshot(unpinned, digest_file)
