"""The command line: thin, and plain about what is missing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from steadyread.cli import doctor
from steadyread.cli.main import app
from steadyread.contracts.tables import FLOW
from steadyread.stages.dispatch import run_stage

RUN = CliRunner()


def states(root: Path) -> dict[str, doctor.State]:
    return {finding.what: finding.state for finding in doctor.examine(root)}


def test_every_command_is_described(root):
    text = RUN.invoke(app, ["--help"]).output
    for command in ("replay", "doctor", "compare", "power", "fetch-models"):
        assert command in text


def test_the_doctor_finds_a_healthy_project_healthy(root):
    found = states(root)
    assert doctor.State.MISSING not in found.values(), found
    assert found["packages"] is doctor.State.OK


def test_the_doctor_names_a_package_of_another_version(root):
    lock = root / "envs" / "lock.txt"
    lock.write_text(lock.read_text().replace("numpy==", "numpy==0."))
    finding = next(item for item in doctor.examine(root) if item.what == "packages")
    assert finding.state is doctor.State.MISSING
    assert "numpy" in finding.found
    assert finding.advice == "make install"


def test_the_doctor_ends_with_an_error_where_something_is_missing(root, monkeypatch):
    (root / "config" / "config.yaml").write_text("study: default\nshrds: 1\n")
    done = RUN.invoke(app, ["doctor"])
    assert done.exit_code == 1
    assert "shrds: unknown key" in done.output
    monkeypatch.setenv("STEADYREAD_REALDATA", str(root))
    assert states(root)["real sample"] is doctor.State.MISSING


@pytest.fixture
def output(root) -> Path:
    """The account of one case, made by the flow diagram's stage with its receipt."""
    from steadyread.contracts.files import write_table

    row = {"model": "m", "readout": "text", "arm": "base", "cases_in": 1, "analysed": 1, "excluded": 0, "errors": 0}
    write_table(root / "results" / "flow.parquet", FLOW, [{**row, "reasons": []}])
    named = {key: root / "reports" / f"flow.{key}" for key in ("pdf", "svg", "png")}
    named["data"] = root / "reports" / "flow.csv"
    settings = {"report": {"dpi": 72}}
    run_stage(
        "flow_diagram", {"flow": root / "results" / "flow.parquet"}, named, settings, {"study": "default"}, root=root
    )
    return named["data"]


def test_a_replay_says_identical_and_exits_with_zero(output):
    done = RUN.invoke(app, ["replay", str(output)])
    assert done.exit_code == 0, done.output
    assert "reports/flow.csv: identical" in done.output


def test_a_replay_of_a_tampered_file_says_so_and_exits_with_one(output):
    output.write_text(output.read_text() + "tampered\n")
    done = RUN.invoke(app, ["replay", str(output)])
    assert done.exit_code == 1
    assert "CHANGED" in done.output


def test_the_receipt_prints_the_command_that_replays_it(output):
    receipt = json.loads(Path(f"{output}.receipt.json").read_text())
    command = receipt["replay"].split()
    assert command[:2] == ["steadyread", "replay"]
    assert RUN.invoke(app, command[1:]).exit_code == 0


def test_what_cannot_be_replayed_says_why_and_exits_with_two(output, root):
    done = RUN.invoke(app, ["replay", str(root / "nothing.csv")])
    assert done.exit_code == 2
    (root / "results" / "flow.parquet").unlink()
    done = RUN.invoke(app, ["replay", str(output)])
    assert done.exit_code == 2
    assert "is not there" in done.output


def test_fetching_a_model_that_is_not_listed_names_those_that_are(root):
    done = RUN.invoke(app, ["fetch-models", "gpt-17"])
    assert done.exit_code == 2
    assert "random-idefics3" in done.output
