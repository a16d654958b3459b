"""A model's local folder: what lies in it, whether it is safe, what identifies it."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..config.base import Section
from ..config.models_table import FolderSource, HubSource
from ..contracts.problems import StudyError
from ..contracts.publishing import publish
from ..identity.digests import digest_bytes, digest_file, digest_json
from ..stages.job import Files
from .asked import AskedModel

WEIGHTS = ("*.safetensors",)
"""Weights are read from safetensors alone: nothing in a snapshot is ever executed or unpickled."""

PROCESSING = ("*.json", "*.jinja", "*.txt", "*.model", "*.spm", "*.tiktoken")
"""What is fetched besides: configuration, tokenizer, template."""

DOCUMENTS = (".md", ".png", ".jpg", ".jpeg", ".svg", ".pdf")
"""Files that decide nothing. Every other file of a snapshot is part of its identity."""

REFUSED = (
    ".py",
    ".pyc",
    ".so",
    ".dll",
    ".bin",
    ".pt",
    ".pth",
    ".ckpt",
    ".pkl",
    ".pickle",
    ".npy",
    ".npz",
    ".h5",
    ".msgpack",
)
"""Code, and weights in formats that can hold code."""


@dataclass(frozen=True)
class Snapshot:
    """A model's folder and its identity.

    Attributes
    ----------
    folder
        Where it lies on this machine; no part of its identity.
    revision
        The hub's commit, or the digest of the weights where there is no commit.
    weights_digest
        Digest of the weight files' contents, whatever they are called.
    processing_digest
        Digest of configuration, tokenizer, processor and template files.
    """

    folder: Path
    revision: str
    weights_digest: str
    processing_digest: str


class DigestCache:
    """Digests of large files, kept by size and times of the file, so that weights are hashed once.

    A cache and nothing more: a file that is missing, damaged or not writable costs time only. Paths
    are kept as digests.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            loaded = json.loads(path.read_text())
        except (OSError, ValueError):
            loaded = {}
        self._known: dict[str, Any] = loaded if isinstance(loaded, dict) else {}

    def __call__(self, file: Path) -> str:
        """The digest of a file's bytes."""
        state = file.stat()
        name = digest_bytes(os.fsencode(file.resolve()))
        # The change time too: it moves where size and modification time were put back.
        stamp = [state.st_size, state.st_mtime_ns, state.st_ctime_ns]
        known = self._known.get(name)
        if isinstance(known, dict) and known.get("stamp") == stamp:
            return str(known["digest"])
        digest = digest_file(file)
        self._known[name] = {"stamp": stamp, "digest": digest}
        self._save()
        return digest

    def _save(self) -> None:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(prefix=f".{self._path.name}.", dir=self._path.parent)
            with os.fdopen(handle, "w") as stream:
                json.dump(self._known, stream)
            publish(Path(temporary), self._path)
        except OSError:
            return


def check_safe(folder: Path, what: str) -> None:
    """Refuse a snapshot that holds code, unsafe weights or none.

    Raises
    ------
    StudyError
        Naming the files.
    """
    unsafe = sorted({path.name for path in folder.rglob("*") if path.suffix.lower() in REFUSED})
    if unsafe:
        raise StudyError(
            f"{what} holds {unsafe[:5]}: code or weights in a format that can hold code. Only safetensors "
            "are read; fetch it again with `steadyread fetch-models`, or remove these files"
        )
    if not any(folder.glob("*.safetensors")):
        raise StudyError(f"{what} holds no *.safetensors: expected a folder as `save_pretrained` writes it")


def describe_snapshot(
    folder: Path, what: str = "snapshot", digest: Callable[[Path], str] = digest_file
) -> dict[str, Any]:
    """List a snapshot: files with size and digest, and a revision of its own.

    Parameters
    ----------
    folder
        The model's folder.
    what
        Its name in error messages.
    digest
        How a weight file is digested; a `DigestCache` saves time.

    Returns
    -------
    dict
        {"files": [{"name", "size", "digest", "role"}], "revision", "weights_digest",
        "processing_digest"}; revision is the digest of the weights.

    Raises
    ------
    StudyError
        If it holds code, unsafe weights or no weights.
    """
    check_safe(folder, what)
    files = []
    for path in sorted(item for item in folder.iterdir() if item.is_file()):
        weights = path.suffix == ".safetensors"
        if path.suffix.lower() in DOCUMENTS or path.name.startswith(("LICENSE", ".")):
            continue
        role, digester = ("weights", digest) if weights else ("processing", digest_file)
        files.append({"name": path.name, "size": path.stat().st_size, "digest": digester(path), "role": role})
    weights_digest = digest_json(sorted(item["digest"] for item in files if item["role"] == "weights"))
    processing = digest_json(sorted([item["name"], item["digest"]] for item in files if item["role"] == "processing"))
    return {
        "files": files,
        "revision": weights_digest,
        "weights_digest": weights_digest,
        "processing_digest": processing,
    }


def write_listing(path: Path, model_id: str, listing: Mapping[str, Any]) -> None:
    """Write a listing as JSON, the same bytes for the same snapshot."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"model": model_id, **listing}, indent=1, sort_keys=True) + "\n")


class ListSnapshotSettings(Section):
    """Which model's snapshot is listed."""

    model: AskedModel
    """The model's entry, of source kind `folder`."""


def list_snapshot(
    inputs: Files,
    outputs: Files,
    settings: ListSnapshotSettings,
    wildcards: Mapping[str, str],
    local: Mapping[str, str],
) -> None:
    """List the files of a model of source kind `folder`: `listing` says what lies there, not where.

    Raises
    ------
    StudyError
        If the folder is missing, holds code, unsafe weights or no weights.
    """
    model = settings.model
    folder = folder_of(model, local)
    write_listing(outputs.one("listing"), model.id, describe_snapshot(folder, f"the folder of model {model.id}"))


def folder_of(model: AskedModel, local: Mapping[str, str]) -> Path:
    """Where a folder model lies on this machine.

    Raises
    ------
    StudyError
        If it is not there.
    """
    folder = Path(local.get(model.id, ""))
    if model.id not in local or not folder.is_dir():
        raise StudyError(f"model {model.id}: its folder is missing; check source.path in config/models.yaml")
    return folder


def open_listed(model: AskedModel, listing: Path, local: Mapping[str, str], digest: Callable[[Path], str]) -> Snapshot:
    """A listed snapshot, checked against its listing.

    A folder model lies where `local` says, a built one in the folder `snapshot` beside its listing.

    Raises
    ------
    StudyError
        If it is missing or changed since it was listed.
    """
    source = model.source
    folder = folder_of(model, local) if isinstance(source, FolderSource) else listing.parent / "snapshot"
    try:
        expected = json.loads(listing.read_text())
    except (OSError, ValueError) as error:
        raise StudyError(
            f"model {model.id}: its listing cannot be read ({type(error).__name__}); make it anew"
        ) from error
    found = describe_snapshot(folder, f"the snapshot of model {model.id}", digest)
    for name in ("weights_digest", "processing_digest"):
        if expected.get(name) != found[name]:
            raise StudyError(
                f"model {model.id}: its snapshot changed since it was listed ({name} is {found[name]}, "
                f"listed {expected.get(name)}); make snapshot and listing anew"
            )
    return Snapshot(folder, found["revision"], found["weights_digest"], found["processing_digest"])


def resolve_snapshot(model: AskedModel, digest: Callable[[Path], str]) -> Snapshot:
    """The snapshot of a hub model from the local hub cache, at the pinned revision. No network.

    Raises
    ------
    StudyError
        If the model is not pinned or not in the cache.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    source = model.source
    assert isinstance(source, HubSource), "only hub models lie in the hub cache"
    order = f"run `steadyread fetch-models {model.id}` where there is a network"
    if source.revision is None:
        raise StudyError(f"model {model.id}: no revision is pinned; {order}")
    try:
        folder = Path(snapshot_download(source.repository, revision=source.revision, local_files_only=True))
    except LocalEntryNotFoundError as error:
        raise StudyError(
            f"model {model.id}: {source.repository} at {source.revision} is not in the local hub cache; {order}"
        ) from error
    found = describe_snapshot(folder, f"the snapshot of model {model.id}", digest)
    return Snapshot(folder, source.revision, found["weights_digest"], found["processing_digest"])
