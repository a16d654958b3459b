"""Writes envs/lock.txt and envs/environment.yaml from the environment that runs this file.

Names and versions only: a hash or a local version ("+cpu") would tie the lock to one build.
"""

from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path

HERE = Path(__file__).resolve().parent
HEAD = "# Exact versions of everything steadyread runs with. Made by `make lock`; do not edit.\n"
CONDA_HEAD = (
    "# The same pins for those who build the environment with conda. Whether conda solves them was not\n"
    "# tested. Made by `make lock`; do not edit.\n"
)


def main() -> None:
    """Write both files."""
    found = {
        distribution.metadata["Name"].lower().replace("_", "-"): distribution.version.partition("+")[0]
        for distribution in metadata.distributions()
    }
    for name in ("steadyread", "pip"):
        found.pop(name, None)
    pins = [f"{name}=={found[name]}" for name in sorted(found)]
    (HERE / "lock.txt").write_text(HEAD + "\n".join(pins) + "\n")
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    lines = ["name: steadyread", "channels:", "  - conda-forge", "  - nodefaults", "dependencies:"]
    lines += [f"  - python={version}", "  - pip", "  - pip:", *[f"      - {pin}" for pin in pins]]
    (HERE / "environment.yaml").write_text(CONDA_HEAD + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
