"""What is installed, what is missing, what to do."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from importlib import metadata
from pathlib import Path

from ..config.loading import load_models, load_study
from ..config.models_table import HubSource
from ..contracts.problems import StudyError

LOCK = Path("envs/lock.txt")
PYTHON = (3, 11)


class State(StrEnum):
    """How a finding stands."""

    OK = "ok"
    OPTIONAL = "optional"
    MISSING = "missing"


@dataclass(frozen=True)
class Finding:
    """One thing looked at."""

    state: State
    what: str
    found: str
    advice: str = ""


def examine(root: Path) -> list[Finding]:
    """Look at everything a study needs, from the project's root."""
    checks: list[Callable[[Path], Iterator[Finding]]] = [_python, _lock, _studies, _models, _gpu, _slurm, _store, _real]
    return [finding for check in checks for finding in check(root)]


def locked_versions(lock: Path) -> dict[str, str]:
    """Distribution names and versions of a lock file."""
    pins = re.findall(r"^([A-Za-z0-9._-]+)==(\S+)$", lock.read_text(), flags=re.MULTILINE)
    return dict(pins)


def _python(root: Path) -> Iterator[Finding]:
    del root
    found = ".".join(str(part) for part in sys.version_info[:3])
    fits = sys.version_info[:2] == PYTHON
    advice = (
        "" if fits else "steadyread was run with Python 3.11 only: make a virtual environment with it (make install)"
    )
    yield Finding(State.OK if fits else State.MISSING, "Python", found, advice)


def _lock(root: Path) -> Iterator[Finding]:
    file = root / LOCK
    if not file.is_file():
        yield Finding(State.MISSING, "lock", f"no {LOCK} here", "run this command in the project's root")
        return
    differing = []
    for name, version in locked_versions(file).items():
        try:
            installed = metadata.version(name)
        except metadata.PackageNotFoundError:
            installed = "not installed"
        if installed.partition("+")[0] != version.partition("+")[0]:
            differing.append(f"{name} {installed} (lock: {version})")
    if differing:
        yield Finding(State.MISSING, "packages", "; ".join(differing[:8]), "make install")
    else:
        yield Finding(State.OK, "packages", f"all as in {LOCK}")


def _studies(root: Path) -> Iterator[Finding]:
    try:
        study, _ = load_study({}, root=root)
    except StudyError as error:
        yield Finding(State.MISSING, "default study", str(error), "mend the file named")
    else:
        yield Finding(
            State.OK, "default study", f"{study.name}: {len(study.models)} models, {len(study.arms.enabled)} arms"
        )


def _models(root: Path) -> Iterator[Finding]:
    try:
        table = load_models(root)
    except StudyError as error:
        yield Finding(State.MISSING, "models.yaml", str(error), "mend the file named")
        return
    unpinned = [e.id for e in table.models if isinstance(e.source, HubSource) and e.source.revision is None]
    usable = [entry.id for entry in table.models if entry.id not in unpinned]
    yield Finding(State.OK, "models", "ready: " + ", ".join(usable))
    if unpinned:
        advice = f"to audit one, where the hub can be reached: steadyread fetch-models {unpinned[0]}"
        yield Finding(State.OPTIONAL, "hub models", "not fetched: " + ", ".join(unpinned), advice)


def _gpu(root: Path) -> Iterator[Finding]:
    del root
    try:
        import torch
    except ImportError as error:
        yield Finding(State.MISSING, "torch", str(error), "make install")
        return
    if torch.cuda.is_available():
        yield Finding(State.OK, "GPU", f"{torch.cuda.device_count()} x {torch.cuda.get_device_name(0)}")
    else:
        yield Finding(State.OPTIONAL, "GPU", f"none (torch {torch.__version__})", "the default study needs none")


def _slurm(root: Path) -> Iterator[Finding]:
    del root
    if shutil.which("sbatch"):
        yield Finding(State.OK, "SLURM", "sbatch found")
    else:
        yield Finding(State.OPTIONAL, "SLURM", "no sbatch", "only for snakemake --profile slurm, on a cluster")


def _store(root: Path) -> Iterator[Finding]:
    del root
    from ..inference.journal import store_root

    folder = store_root()
    probe = folder
    while not probe.exists():
        probe = probe.parent
    said = "$STEADYREAD_STORE" if "STEADYREAD_STORE" in os.environ else "the user's cache folder"
    if os.access(probe, os.W_OK):
        free = shutil.disk_usage(probe).free / 1e9
        yield Finding(State.OK, "store", f"{folder} ({said}), {free:.0f} GB free")
    else:
        yield Finding(
            State.MISSING, "store", f"{said} cannot be written", "set STEADYREAD_STORE to a folder you can write"
        )


def _real(root: Path) -> Iterator[Finding]:
    del root
    named = os.environ.get("STEADYREAD_REALDATA")
    if named is None:
        yield Finding(State.OPTIONAL, "real sample", "STEADYREAD_REALDATA is not set", "only for study real_sample")
    elif (Path(named) / "MANIFEST.sha256").is_file():
        yield Finding(State.OK, "real sample", "found")
    else:
        yield Finding(
            State.MISSING, "real sample", "STEADYREAD_REALDATA is set, its folder incomplete", "mend or unset it"
        )
