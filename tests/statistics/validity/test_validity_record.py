"""From the cells to the check, the table, the record and the report's section."""

from __future__ import annotations

import csv

import jinja2
import pytest

from steadyread.contracts.files import write_table
from steadyread.contracts.problems import StudyError
from steadyread.contracts.tables import VALIDITY
from steadyread.reporting.summary import TEMPLATES
from steadyread.reporting.validity import HEADER, validity_section
from steadyread.reporting.validity_table import ValidityTableSettings, validity_table
from steadyread.stages.job import Files
from steadyread.statistics.validity.check import CheckValiditySettings, check_validity
from steadyread.statistics.validity.grid import PARTS, PATIENTS
from steadyread.statistics.validity.record import read_record, summarise, write_record
from steadyread.statistics.validity.rules import Rules, SimulateValiditySettings
from steadyread.statistics.validity.simulate import simulate, simulate_validity
from steadyread.statistics.validity.simulated import simulated_digest

SMALL = Rules(resamples=200, curve_resamples=200, permutations=99)


@pytest.fixture(scope="module")
def some():
    """A few cells of several parts, quickly."""
    return [row for part in ("shares", "curves_45", "nulls_45", "readers") for row in simulate(part, SMALL, 0, 60)]


def stored(rows, folder):
    path = folder / "cells.parquet"
    write_table(path, VALIDITY, rows)
    return path


def test_a_part_is_a_function_of_the_settings_and_its_name(tmp_path):
    settings = SimulateValiditySettings(seed=3, statistics=SMALL)
    assert list(simulate("curves_45", SMALL, 3, 40)) == list(simulate("curves_45", SMALL, 3, 40))
    assert list(simulate("curves_45", SMALL, 4, 40)) != list(simulate("curves_45", SMALL, 3, 40))
    with pytest.raises(StudyError, match="no part 'hares'"):
        simulate_validity(Files({}), Files({"cells": tmp_path / "x"}), settings, {"part": "hares"})


def test_a_bootstrap_part_stands_for_the_mirrored_shares_too(some):
    """Its interval of what is lost is that of what is kept, turned round (test_bootstrap): no cell above ½."""
    assert max(row["p"] for row in some if row["part"] != "shares" and row["p"] is not None) == 0.5
    shares = sorted({row["p"] for row in some if row["part"] == "shares"})
    assert shares == sorted(round(1 - p, 2) for p in shares)
    assert len(shares) == 13


def test_a_missed_criterion_fails_and_is_named(some, tmp_path):
    table = tmp_path / "table.csv"
    table.touch()
    sound = [{**row, "holds": True} for row in some]
    outputs = Files({"verdict": tmp_path / "verdict.json"})
    check_validity(Files({"cells": stored(sound, tmp_path), "table": table}), outputs, CheckValiditySettings(), {})
    assert (tmp_path / "verdict.json").is_file()
    judged = next(number for number, row in enumerate(sound) if row["judged"])
    missed = [*sound[:judged], {**sound[judged], "holds": False}, *sound[judged + 1 :]]
    with pytest.raises(StudyError, match=r"1 of \d+ criteria are missed(.|\n)*45 patients"):
        check_validity(Files({"cells": stored(missed, tmp_path), "table": table}), outputs, CheckValiditySettings(), {})


def test_the_tables_and_the_figure_are_the_same_bytes_for_the_same_numbers(some, tmp_path):
    some = [row for row in some if row["part"] != "shares" or row["patients"] == 45]
    cells = stored(some, tmp_path)
    written = []
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        files = {key: folder / f"validity.{key}" for key in ("csv", "markdown", "pdf", "svg", "png")}
        settings = ValidityTableSettings.model_validate({"report": {"dpi": 72}})
        validity_table(Files({"cells": cells}), Files(files), settings, {})
        written.append({key: path.read_bytes() for key, path in files.items()})
    assert written[0] == written[1]
    with open(tmp_path / "one" / "validity.csv", newline="") as stream:
        assert len(list(csv.DictReader(stream))) == len(some)
    text = written[0]["markdown"].decode()
    for row in summarise(some, ""):
        assert row.quantity in text


def test_the_summary_holds_the_worst_cell_of_each_kind(some):
    shares = [row for row in some if row["part"] == "shares" and row["patients"] == 45]
    (found,) = [row for row in summarise(some, "d") if row.quantity == "share" and row.patients == 45]
    assert found.worst == pytest.approx(min(row["coverage"] for row in shares), abs=1e-6)
    assert (found.cells, found.judged) == (len(shares), len(shares))
    assert found.digest == "d"


def test_a_record_survives_the_disk(some, tmp_path):
    found = summarise(some, "0" * 32)
    write_record(found, tmp_path / "r.csv")
    assert str(read_record(tmp_path / "r.csv")) == str(found)
    assert read_record(tmp_path / "none.csv") == []


def test_the_recorded_proof_is_of_the_code_as_it_is():
    record = read_record()
    assert record
    assert {row.digest for row in record} == {simulated_digest()}, "run snakemake validity and record"
    assert sum(row.missed for row in record) == 0
    assert {row.patients for row in record if row.measure == "coverage"} >= set(PATIENTS)
    measured = {(row.measure, row.quantity.partition(",")[0]) for row in record}
    assert {"coverage", "level", "power", "value"} == {measure for measure, _ in measured}
    assert min(row.runs for row in record if row.quantity == "share") >= 20_000


def test_the_section_says_whether_the_code_is_still_the_one_that_was_simulated(some):
    record = summarise(some, "a" * 32)
    same, other = validity_section(record, "a" * 32), validity_section(record, "b" * 32)
    assert same.current
    assert "is the code that was simulated" in same.sentences[-1]
    assert not other.current
    assert "has changed" in other.sentences[-1]
    assert not validity_section([], "a").current
    assert all(len(line) == len(HEADER) for _, lines in same.tables for line in lines)


def test_the_section_is_a_piece_of_the_page(some):
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True, undefined=jinja2.StrictUndefined
    )
    page = environment.get_template("validity.html.j2").render(validity=validity_section(summarise(some, "a"), "b"))
    assert "Do the intervals hold?" in page
    assert "banner" in page
    assert "readers with known answers" in page


def test_every_part_has_its_rule(project):
    text = (project / "workflow" / "rules" / "validity.smk").read_text()
    assert "part=PARTS" in text
    assert all(part.replace("_", "").isalnum() for part in PARTS)
