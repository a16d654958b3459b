"""Stage `walkthrough`: runs the notebook that follows one case from its slices to a flip."""

from __future__ import annotations

from collections.abc import Mapping

import nbformat
from nbclient import NotebookClient
from traitlets.config import Config

from ..config.base import Section
from ..config.report import ReportConfig
from ..contracts.problems import StudyError
from ..stages.job import Files

PARAMETERS = ("cases", "slices", "images", "trials", "outcomes")
TIMEOUT_S = 600


class WalkthroughSettings(Section):
    """Settings of `walkthrough`."""

    report: ReportConfig
    """Which readout is shown."""


def walkthrough(inputs: Files, outputs: Files, settings: WalkthroughSettings, wildcards: Mapping[str, str]) -> None:
    """Execute the notebook on a study's tables.

    inputs: `notebook`, and the files of `cases`, `slices`, `images`, `trials`, `outcomes`. outputs:
    `executed`, the notebook with its output, without times and paths of this run.

    Raises
    ------
    StudyError
        If the notebook has no cell tagged `parameters`.
    """
    notebook = nbformat.read(inputs.one("notebook"), as_version=4)
    places = [number for number, cell in enumerate(notebook.cells) if "parameters" in cell.metadata.get("tags", [])]
    if len(places) != 1:
        raise StudyError(f"the notebook has {len(places)} cells tagged `parameters`, expected one")
    values = {name: [str(path) for path in inputs.all(name)] for name in PARAMETERS}
    lines = [f"{name} = {value!r}" for name, value in {**values, "readout": settings.report.readout.value}.items()]
    given = nbformat.v4.new_code_cell("\n".join(lines))
    notebook.cells.insert(places[0] + 1, given)
    # Sockets of this user's own, not TCP ports that anyone on a shared machine may read.
    sockets = Config({"KernelManager": {"transport": "ipc"}})
    NotebookClient(notebook, timeout=TIMEOUT_S, kernel_name="python3", record_timing=False, config=sockets).execute()
    # The cell with this run's paths is no part of what the notebook says.
    notebook.cells.remove(given)
    notebook.metadata.pop("language_info", None)
    with open(outputs.one("executed"), "w", encoding="utf-8") as handle:
        nbformat.write(notebook, handle)
