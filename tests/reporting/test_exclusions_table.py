"""Who was left out stands in a table, in the order of cases, whatever file it comes from."""

from __future__ import annotations

import csv

import pytest

from steadyread.contracts.files import write_table
from steadyread.contracts.tables import EXCLUSIONS
from steadyread.reporting.exclusions_table import (
    COLUMNS,
    NOTHING,
    ExclusionsTableSettings,
    exclusions_table,
    read_left_out,
)
from steadyread.reporting.names import STAGES, SYNTHETIC, stage_name
from steadyread.stages.job import Files
from steadyread.statistics.account import EXCLUDING_STAGES


@pytest.fixture
def made(tmp_path):
    def make(*tables, synthetic=False, note=None):
        paths = [tmp_path / f"{number}.parquet" for number, _ in enumerate(tables)]
        for path, rows in zip(paths, tables, strict=True):
            write_table(path, EXCLUSIONS, rows)
        outputs = {"csv": tmp_path / "exclusions.csv", "markdown": tmp_path / "exclusions.md"}
        head = {"report": {"title": "An audit", "note": note}, "cohort": {"synthetic": synthetic}}
        settings = ExclusionsTableSettings.model_validate(head)
        exclusions_table(Files({"exclusions": paths}), Files(outputs), settings, {"study": "demo"})
        return outputs["csv"], outputs["markdown"].read_text(encoding="utf-8")

    return make


@pytest.fixture
def tables(exclusion):
    return [
        [exclusion("b"), exclusion("a", stage="compose_trials", arm="no_image", reason="too_many_images", detail="30")],
        [exclusion("a", stage="mark_lesions", arm="lesion_removed", reason="annotation_labels", detail="1.5 | _x_")],
        [],
    ]


def test_a_row_per_case_and_arm_with_the_stage_in_words(made, tables):
    path, markdown = made(*tables)
    with open(path, encoding="utf-8", newline="") as stream:
        rows = list(csv.reader(stream))
    assert rows == [
        list(COLUMNS),
        ["a", "lesion_removed", "marking lesions", "annotation_labels", "1.5 | _x_"],
        ["a", "no_image", "composing trials", "too_many_images", "30"],
        ["b", "", "reading the volume", "unreadable", "no header"],
    ]
    assert "| b | every arm | reading the volume | unreadable | no header |" in markdown
    assert r"| a | lesion slices removed | marking lesions | annotation labels | 1.5 \| \_x\_ |" in markdown


def test_the_table_names_its_study_counts_what_was_left_out_and_carries_the_banners(made, tables):
    markdown = made(*tables, synthetic=True, note="for <b>tests</b>")[1]
    assert markdown.startswith("# An audit (study demo): left out\n")
    assert "3 rows of 2 cases; 1 of them left out of every arm." in markdown
    assert SYNTHETIC in markdown
    assert "for " in markdown.split("|")[0]
    assert SYNTHETIC not in made(*tables)[1]


def test_the_order_of_files_and_rows_changes_nothing(made, tables):
    first = made(*tables)
    content = first[0].read_bytes()
    second = made(*[rows[::-1] for rows in tables[::-1]])
    assert (second[0].read_bytes(), second[1]) == (content, first[1])


def test_what_is_written_is_read_back(made, tables):
    items = read_left_out(made(*tables)[0])
    assert [(item.case_id, item.arm_words) for item in items][-1] == ("b", "every arm")
    assert items[-1].why == "unreadable: no header"


def test_no_row_says_that_nothing_was_left_out(made):
    path, markdown = made([], [])
    assert read_left_out(path) == []
    assert NOTHING in markdown


def test_what_holds_for_one_model_names_it(made, exclusion):
    (item,) = read_left_out(made([exclusion("a", model_id="m-1")])[0])
    assert item.why == "unreadable: no header (model m-1)"


def test_every_stage_that_leaves_cases_out_has_words():
    assert tuple(STAGES) == EXCLUDING_STAGES
    assert stage_name("some_other") == "some other"
