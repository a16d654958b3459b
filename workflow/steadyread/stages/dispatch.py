"""The dispatcher's half that Snakemake does not see.

Looks the entry function up, hands it named files, settings and wildcards, lets it write to
temporary names, fsyncs, renames, and leaves a receipt beside each output.
"""

from __future__ import annotations

import inspect
import json
import logging
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_type_hints

from pydantic import BaseModel

from ..contracts.problems import StudyError
from ..contracts.publishing import publish
from ..identity.digests import digest_json
from .job import Files
from .receipts import (
    RECEIPT_VERSION,
    claimed_output,
    distribution_versions,
    file_sha256,
    git_state,
    hardware,
    output_digest,
    receipt_digest,
    receipt_path,
    relative_name,
    stage_key,
    write_receipt,
)
from .registry import Stage, stage

_LOG = logging.getLogger("steadyread.stages")
NamedFiles = Mapping[str, "str | Path | Sequence[str | Path]"]


def run_stage(
    name: str,
    inputs: NamedFiles,
    outputs: Mapping[str, str | Path],
    settings: Mapping[str, Any],
    wildcards: Mapping[str, str],
    local: Mapping[str, str] | None = None,
    root: Path | None = None,
    receipts: bool = True,
) -> dict[str, Any]:
    """Run one stage and return its receipt.

    Parameters
    ----------
    name
        Name of the stage.
    inputs, outputs
        Named files. An output may become a file or a folder.
    settings
        Plain nested values, as `settings_of` gives them.
    wildcards
        The rule's wildcards.
    local
        Where things lie on this machine; handed to entry functions that take `local`.
    root
        The project's root; recorded paths are relative to it.
    receipts
        Write receipts beside the outputs (a replay does not).

    Raises
    ------
    StudyError
        If the entry function leaves an output unwritten.
    """
    spec = stage(name)
    # The order of keys in a configuration file is no setting.
    settings = json.loads(json.dumps(settings, sort_keys=True))
    root = Path.cwd() if root is None else root
    started = datetime.now(UTC)
    named_inputs = Files(inputs)
    recorded_inputs = describe_inputs(named_inputs, root)
    _check_against_receipts(recorded_inputs, root)
    code = spec.code_digest()
    finals = {key: Path(value) for key, value in outputs.items()}
    temporaries = {key: path.parent / f".{path.name}.{os.getpid()}.part{path.suffix}" for key, path in finals.items()}
    try:
        for path in temporaries.values():
            path.parent.mkdir(parents=True, exist_ok=True)
            _remove(path)
        _call(spec, named_inputs, Files(temporaries), settings, wildcards, local or {})
        unwritten = sorted(key for key, path in temporaries.items() if not path.exists())
        if unwritten:
            raise StudyError(f"stage {name} left outputs unwritten: {unwritten}")
        recorded_outputs = [
            {
                "name": key,
                "path": relative_name(finals[key], root),
                "digest": output_digest(path),
                "sha256": file_sha256(path),
            }
            for key, path in sorted(temporaries.items())
        ]
        for key, path in temporaries.items():
            _publish(path, finals[key])
    finally:
        for path in temporaries.values():
            _remove(path)
    receipt: dict[str, Any] = {
        "receipt_version": RECEIPT_VERSION,
        "stage": name,
        "entry": spec.entry,
        "wildcards": dict(wildcards),
        "settings": dict(settings),
        "settings_digest": digest_json(settings),
        "code": code,
        "inputs": recorded_inputs,
        "outputs": recorded_outputs,
        "distributions": distribution_versions(spec.distributions),
        "python": ".".join(str(part) for part in sys.version_info[:3]),
        "git": git_state(root),
        "hardware": hardware(),
        "started": started.isoformat(timespec="seconds"),
        "ended": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    receipt["stage_key"] = stage_key(receipt)
    if receipts:
        for path in finals.values():
            beside = relative_name(receipt_path(path), root) or receipt_path(path).name
            write_receipt(path, {**receipt, "replay": f"steadyread replay {beside}"})
    return receipt


def describe_inputs(inputs: Files, root: Path) -> list[dict[str, Any]]:
    """Name, path below the root (else null), logical digest and receipt digest of each input."""
    return [
        {
            "name": key,
            "path": relative_name(path, root),
            "digest": output_digest(path),
            "receipt": receipt_digest(path),
        }
        for key in sorted(inputs)
        for path in inputs.all(key)
    ]


def _check_against_receipts(inputs: Sequence[Mapping[str, Any]], root: Path) -> None:
    """An input that is no longer what its receipt says was changed by hand: nothing is built on it.

    Raises
    ------
    StudyError
        Naming the input and what to do.
    """
    for item in inputs:
        path = None if item["path"] is None else root / item["path"]
        claimed = None if path is None else claimed_output(path, root)
        if path is None or claimed is None:
            continue
        # The bytes too: a table's logical digest leaves out what another column identifies.
        if claimed["digest"] != item["digest"] or claimed["sha256"] != file_sha256(path):
            raise StudyError(
                f"input {item['path']} is not what its receipt says (digest {item['digest']}, receipt "
                f"{claimed['digest']}): it was changed after it was made. Remove it, and the workflow makes it again"
            )


def _call(
    spec: Stage,
    inputs: Files,
    outputs: Files,
    settings: Mapping[str, Any],
    wildcards: Mapping[str, str],
    local: Mapping[str, str],
) -> None:
    function = spec.load()
    hints = get_type_hints(function)
    expected = hints.get("settings")
    typed: Any = settings
    if inspect.isclass(expected) and issubclass(expected, BaseModel):
        typed = expected.model_validate(dict(settings))
    extra = {"local": local} if "local" in inspect.signature(function).parameters else {}
    _LOG.info("stage %s starts", spec.name)
    function(inputs=inputs, outputs=outputs, settings=typed, wildcards=wildcards, **extra)
    _LOG.info("stage %s is done", spec.name)


def _publish(temporary: Path, final: Path) -> None:
    if temporary.is_dir():
        for item in temporary.rglob("*"):
            if item.is_file():
                with open(item, "rb") as handle:
                    os.fsync(handle.fileno())
        _remove(final)
        os.replace(temporary, final)
        return
    publish(temporary, final)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
