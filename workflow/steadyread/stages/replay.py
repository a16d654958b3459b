"""Runs a receipt's stage again, into a scratch folder, and compares logically."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..contracts.problems import StudyError
from .dispatch import run_stage
from .receipts import file_sha256, inconsistencies, output_digest, read_receipt, receipt_digest
from .registry import STAGES, stage


@dataclass(frozen=True)
class ReplayedOutput:
    """One output of a replayed stage.

    `identical` compares the replay with the receipt; `on_disk` the file that lies there now.
    """

    name: str
    path: str
    receipt: str
    replayed: str
    on_disk: str | None

    @property
    def identical(self) -> bool:
        """Whether the replay says what the receipt says."""
        return self.replayed == self.receipt

    @property
    def untouched(self) -> bool:
        """Whether the file on disk still says what the receipt says."""
        return self.on_disk == self.receipt


@dataclass(frozen=True)
class Replay:
    """What a replay found: outputs; notes that explain a difference; faults of the receipt itself."""

    stage: str
    outputs: list[ReplayedOutput]
    notes: list[str]
    faults: list[str]

    @property
    def holds(self) -> bool:
        """Whether every output was reproduced and lies untouched."""
        return not self.faults and all(output.identical and output.untouched for output in self.outputs)


def replay_receipt(receipt_file: Path, scratch: Path, root: Path, local: Mapping[str, str] | None = None) -> Replay:
    """Run the stage of a receipt again and compare its outputs with what the receipt claims.

    Parameters
    ----------
    receipt_file
        The receipt beside an output.
    scratch
        An empty folder; the outputs appear below it under their own names.
    root
        The project's root.
    local
        Where things lie on this machine, for stages that need to know ("table", "data_root", the
        folders of models).

    Raises
    ------
    StudyError
        If the stage is unknown, or an input is gone or no longer what the receipt names.
    """
    receipt = read_receipt(receipt_file)
    if receipt["stage"] not in STAGES:
        raise StudyError(f"receipt of stage {receipt['stage']!r}, which this steadyread does not have")
    notes = []
    spec = stage(receipt["stage"])
    if spec.code_digest() != receipt["code"]:
        notes.append("the code has changed since the receipt was written")
    faults = [f"the receipt was changed: {problem}" for problem in inconsistencies(receipt, spec)]
    faults += _broken_links(receipt, root)
    inputs = _inputs(receipt, root, local or {})
    outputs = {item["name"]: scratch / (item["path"] or item["name"]) for item in receipt["outputs"]}
    with _own_journal(scratch):
        again = run_stage(
            receipt["stage"],
            inputs,
            outputs,
            receipt["settings"],
            receipt["wildcards"],
            local=local,
            root=root,
            receipts=False,
        )
    changed = sorted(
        name
        for name, version in again["distributions"].items()
        if receipt["distributions"].get(name, version) != version
    )
    notes += [f"{name} is {again['distributions'][name]}, was {receipt['distributions'][name]}" for name in changed]
    replayed = {item["name"]: item["digest"] for item in again["outputs"]}
    compared = [
        ReplayedOutput(
            item["name"],
            item["path"] or item["name"],
            item["digest"],
            replayed[item["name"]],
            _digest_now(root, item),
        )
        for item in receipt["outputs"]
    ]
    return Replay(receipt["stage"], compared, notes, faults)


def _broken_links(receipt: Mapping[str, Any], root: Path) -> list[str]:
    """Inputs whose receipt is no longer the one that this receipt names."""
    return [
        f"the receipt of input {item['path']} is not the one that this receipt names"
        for item in receipt["inputs"]
        if item["path"] is not None and receipt_digest(root / item["path"]) != item["receipt"]
    ]


def _inputs(receipt: Mapping[str, Any], root: Path, local: Mapping[str, str]) -> dict[str, str | list[str]]:
    found: dict[str, list[str]] = {}
    for item in receipt["inputs"]:
        path = root / item["path"] if item["path"] is not None else None
        if path is None and item["name"] in local:
            path = root / local[item["name"]]
        if path is None or not path.exists():
            raise StudyError(
                f"input {item['name']!r} ({item['path'] or 'outside the project'}) is not there; it is needed for "
                "the replay. For files outside the project name the study: --study"
            )
        if output_digest(path) != item["digest"]:
            raise StudyError(
                f"input {item['name']!r} ({item['path'] or 'outside the project'}) is not what the receipt names: "
                "it changed since. Rerun the workflow, or put the input back"
            )
        found.setdefault(item["name"], []).append(str(path))
    return {name: paths[0] if len(paths) == 1 else paths for name, paths in found.items()}


def _digest_now(root: Path, output: Mapping[str, Any]) -> str | None:
    """Logical digest of the file on disk; None where it is gone, unreadable, or its bytes are others."""
    path = None if output["path"] is None else root / output["path"]
    if path is None or not path.exists():
        return None
    if file_sha256(path) != output["sha256"]:
        return None
    try:
        return output_digest(path)
    except ValueError:
        return None


@contextmanager
def _own_journal(scratch: Path) -> Iterator[None]:
    """A replay asks anew: the journal's answers would only prove that they were copied."""
    before = os.environ.get("STEADYREAD_STORE")
    os.environ["STEADYREAD_STORE"] = str(scratch / ".store")
    try:
        yield
    finally:
        if before is None:
            del os.environ["STEADYREAD_STORE"]
        else:
            os.environ["STEADYREAD_STORE"] = before
