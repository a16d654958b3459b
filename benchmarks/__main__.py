"""python -m benchmarks: runs every benchmark and prints a table for RESULTS.md."""

from __future__ import annotations

import platform
from datetime import UTC, datetime

from . import bootstrap, estimates, reading
from .measure import HEADER


def main() -> None:
    """Print the table with command, date and machine."""
    rows = [ratio.row() for module in (bootstrap, reading) for ratio in module.run()]
    machine = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
    print(f"`make bench`, {datetime.now(UTC):%Y-%m-%d}, {machine}\n\n{HEADER}")
    print("\n".join(rows))
    print(f"\n{estimates.HEADER}")
    for part in estimates.PARTS:
        print(estimates.row(part, estimates.measured(part)), flush=True)


if __name__ == "__main__":
    main()
