"""Receipts: what a stage read, did and wrote, beside each output. The only evidence there is."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import tempfile
from collections.abc import Mapping
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any

from ..contracts.files import contract_of, logical_digest, read_table
from ..contracts.publishing import publish
from ..identity.digests import digest_bytes, digest_file, digest_json
from .registry import Stage

RECEIPT_VERSION = 1
SUFFIX = ".receipt.json"
FOLDER_STAMP = ".snakemake_timestamp"
"""Snakemake leaves this file in every folder that is an output."""


def receipt_path(output: Path | str) -> Path:
    """Where the receipt of an output lies."""
    return Path(f"{output}{SUFFIX}")


def output_digest(path: Path) -> str:
    """Logical digest of a table, digest of the bytes of any other file, of the tree of a folder."""
    if path.is_dir():
        files = sorted(item for item in path.rglob("*") if item.is_file() and item.name != FOLDER_STAMP)
        return digest_bytes(*[f"{f.relative_to(path).as_posix()}={digest_file(f)}".encode() for f in files])
    contract = contract_of(path)
    if contract is None:
        return digest_file(path)
    return logical_digest(read_table(path, contract), contract)


@lru_cache(maxsize=1)
def git_state(root: Path) -> dict[str, Any]:
    """The commit and whether tracked files differ from it; nulls outside a git checkout."""

    def ask(*arguments: str) -> str | None:
        try:
            done = subprocess.run(
                ["git", "-C", str(root), *arguments], capture_output=True, text=True, timeout=20, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    commit = ask("rev-parse", "HEAD")
    status = ask("status", "--porcelain", "--untracked-files=no")
    return {"commit": commit, "dirty": None if status is None else bool(status)}


def distribution_versions(names: tuple[str, ...]) -> dict[str, str | None]:
    """Installed versions by distribution name, null where not installed."""
    found: dict[str, str | None] = {}
    for name in sorted(set(names)):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = None
    return found


def relative_name(path: Path, root: Path) -> str | None:
    """A path below the project's root as text, or None: paths elsewhere are nobody's business."""
    try:
        return Path(os.path.abspath(path)).relative_to(os.path.abspath(root)).as_posix()
    except ValueError:
        return None


def stage_key(receipt: Mapping[str, Any]) -> str:
    """The identity of a stage's work: entry, code, settings, inputs, wildcards, distributions."""
    return digest_json(
        {
            "entry": receipt["entry"],
            "code": receipt["code"],
            "settings": receipt["settings"],
            "wildcards": {key: value for key, value in receipt["wildcards"].items() if key != "study"},
            "inputs": [[item["name"], item["digest"]] for item in receipt["inputs"]],
            "distributions": receipt["distributions"],
        }
    )


def inconsistencies(receipt: Mapping[str, Any], spec: Stage) -> list[str]:
    """What does not fit together within a receipt: it was changed after it was written."""
    found = []
    if receipt["entry"] != spec.entry:
        found.append(f"its entry is {receipt['entry']!r}, the stage's is {spec.entry!r}")
    if receipt["settings_digest"] != digest_json(receipt["settings"]):
        found.append("its settings_digest is not that of its settings")
    if receipt["stage_key"] != stage_key(receipt):
        found.append("its stage_key is not that of its code, settings, inputs and distributions")
    return found


def file_sha256(path: Path) -> str | None:
    """SHA-256 of a file's bytes; None for a folder."""
    if path.is_dir():
        return None
    with open(path, "rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def hardware() -> dict[str, Any]:
    """The kind of machine, without its name."""
    return {
        "machine": platform.machine(),
        "system": platform.system(),
        "cpus": os.cpu_count(),
        "cuda_visible_devices": os.environ.get("CUDA_VISIBLE_DEVICES"),
    }


def write_receipt(output: Path, receipt: Mapping[str, Any]) -> None:
    """Write a receipt beside its output, whole or not at all."""
    path = receipt_path(output)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    with os.fdopen(handle, "w") as stream:
        json.dump(receipt, stream, indent=1, sort_keys=True, ensure_ascii=False)
        stream.write("\n")
    publish(Path(temporary), path)


def read_receipt(path: Path | str) -> dict[str, Any]:
    """Read a receipt.

    Raises
    ------
    ValueError
        If the file is no receipt of a version this steadyread knows.
    """
    try:
        receipt: dict[str, Any] = json.loads(Path(path).read_text())
    except (OSError, json.JSONDecodeError) as error:
        raise ValueError(f"{path} is no receipt: {error}") from error
    if receipt.get("receipt_version") != RECEIPT_VERSION:
        raise ValueError(
            f"{path}: receipt version {receipt.get('receipt_version')!r}, this steadyread reads {RECEIPT_VERSION}"
        )
    return receipt


def claimed_output(path: Path, root: Path) -> dict[str, Any] | None:
    """What a file's receipt claims of it: digest, sha256; None where it has no receipt."""
    beside = receipt_path(path)
    if not beside.is_file():
        return None
    name = relative_name(path, root)
    for output in read_receipt(beside)["outputs"]:
        if output["path"] == name:
            claimed: dict[str, Any] = output
            return claimed
    return None


def receipt_digest(path: Path) -> str | None:
    """Digest of what an input's receipt claims (not of times, hosts or commits), if it has one."""
    beside = receipt_path(path)
    if not beside.is_file():
        return None
    receipt = read_receipt(beside)
    return digest_json({key: receipt[key] for key in ("entry", "settings", "code", "inputs", "outputs")})
