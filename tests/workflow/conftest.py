"""Projects of their own for whole runs: a copy of the code, so that a test may edit it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

CODE = ("Snakefile", "workflow", "profiles", "config", "envs", "models", "notebooks", "pyproject.toml")


@dataclass(frozen=True)
class Clone:
    """A copy of the project in which Snakemake is run with the copy's own package."""

    root: Path
    store: Path
    variables: Mapping[str, str] = field(default_factory=dict)

    def run(self, *arguments: str, expect: int = 0, **variables: str) -> str:
        """Run Snakemake; returns what it said."""
        environment = {
            **os.environ,
            "PYTHONPATH": str(self.root / "workflow"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "STEADYREAD_STORE": str(self.store),
            "HF_HUB_OFFLINE": "1",
            **self.variables,
            **variables,
        }
        done = subprocess.run(
            [sys.executable, "-m", "snakemake", *arguments],
            cwd=self.root,
            capture_output=True,
            text=True,
            env=environment,
            timeout=1200,
            check=False,
        )
        text = done.stdout + done.stderr
        assert done.returncode == expect, text[-4000:]
        return text

    def planned(self, *arguments: str) -> dict[str, int]:
        """Number of jobs by rule of a dry run; empty where there is nothing to do."""
        text = self.run("-n", *arguments)
        return {name: int(count) for name, count in re.findall(r"^(\w+)\s+(\d+)$", text, flags=re.MULTILINE)}


@pytest.fixture(scope="session")
def clone(project: Path, tmp_path_factory: pytest.TempPathFactory):
    """Makes clones: `clone(name)`."""

    def make(name: str) -> Clone:
        root = tmp_path_factory.mktemp(name)
        for item in CODE:
            source = project / item
            if source.is_dir():
                shutil.copytree(source, root / item, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
            else:
                shutil.copy(source, root / item)
        (root / "slurm").symlink_to("profiles/slurm")
        # Twelve patients instead of ninety: what a run shows does not need more.
        config = root / "config" / "config.yaml"
        text = config.read_text()
        assert text.count("  patients: 90\n") == 1
        text = text.replace("  patients: 90\n", "  patients: 12\n")
        # Random weights too: they answer anything, words that are no answer among it.
        assert text.count("\nmodels: [phantom-reader, ") == 1
        config.write_text(text.replace("\nmodels: [", "\nmodels: [random-idefics3, "))
        return Clone(root, tmp_path_factory.mktemp(f"{name}_store"))

    return make


@pytest.fixture(scope="module")
def tree(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Clone:
    """A project of links, with results of its own and no data: for dry runs."""
    root = tmp_path_factory.mktemp("tree")
    for name in CODE:
        (root / name).symlink_to(project / name)
    (root / "slurm").symlink_to("profiles/slurm")
    (root / "real").mkdir()
    return Clone(root, root / "store", {"STEADYREAD_REALDATA": str(root / "real")})
