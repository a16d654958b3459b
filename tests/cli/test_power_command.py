"""`steadyread power`: patients for a difference, and the difference that patients can show."""

from __future__ import annotations

import re

import pytest
from typer.testing import CliRunner

from steadyread.cli.main import app
from steadyread.cli.text_table import text_table
from steadyread.config.loading import load_study
from steadyread.contracts.files import read_table, write_table
from steadyread.contracts.tables import CASES, ESTIMATES, OUTCOMES, TRIALS
from steadyread.stages.settings import settings_of
from steadyread.statistics.estimate import EstimateSettings, estimate_rows
from steadyread.statistics.power import Design, patients_for_precision, patients_needed

RUN = CliRunner()


def power(*arguments, expect=0):
    done = RUN.invoke(app, ["power", *map(str, arguments)])
    assert done.exit_code == expect, done.output
    return done.output


def first_number(text):
    return int(re.match(r"\d+", text)[0])


def test_patients_for_a_difference_are_those_of_the_formula_with_every_option_heard():
    assert first_number(power("--difference", 10)) == patients_needed(0.1, 0.2, Design(2, 0.3))
    options = ("--discordance", 0.4, "--icc", 0.1, "--cases", 3, "--power", 0.9, "--alpha", 0.01)
    design = Design(3, 0.1, confidence=0.99, power=0.9)
    assert first_number(power("--difference", 10, *options)) == patients_needed(0.1, 0.4, design)


def test_patients_for_a_precision_are_those_of_the_formula():
    assert first_number(power("--precision", 10)) == patients_for_precision(0.1, 0.5, Design(2, 0.3))
    assert first_number(power("--precision", 5, "--share", 0.1)) == patients_for_precision(0.05, 0.1, Design(2, 0.3))


def test_the_difference_that_so_many_patients_find_needs_so_many_patients():
    text = power("--patients", 90)
    found = float(re.search(r"power: ([\d.]+) points", text)[1])
    assert patients_needed((found + 0.05) / 100, 0.2, Design(2, 0.3)) <= 90
    assert patients_needed((found - 0.05) / 100, 0.2, Design(2, 0.3)) > 88


def test_assumptions_are_said_in_two_sentences():
    for arguments in (("--difference", 10), ("--precision", 10), ("--patients", 90)):
        said = power(*arguments).partition("Assumed")[2]
        assert len(said.strip().splitlines()) == 2
        assert "correlated by 0.3" in said
    assert "each patient has one case" in power("--difference", 10, "--cases", 1)


def test_a_difference_of_more_than_100_points_is_refused_in_points():
    text = power("--difference", 200, expect=2)
    assert "200" in text
    assert "at most 100" in text


def test_where_little_differs_few_patients_can_show_nothing():
    assert "no paired difference can be found" in power("--patients", 5, "--discordance", 0.05)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), ["found none", "--difference", "--study"]),
        (("--difference", 10, "--patients", 90), ["found --difference and --patients"]),
        (("--difference", 30), ["difference of 30 points", "discordance of 0.2", "20 points"]),
        (("--difference", "nan"), ["difference of nan points"]),
        (("--difference", 10, "--alpha", 1.2), ["alpha 1.2"]),
        (("--difference", 10, "--alpha", "nan"), ["alpha nan"]),
        (("--difference", 10, "--cases", "nan"), ["nan cases per patient", "finite"]),
        (("--patients", 90, "--cases", "inf"), ["inf cases per patient", "finite"]),
        (("--patients", 90, "--power", "nan"), ["power nan"]),
        (("--precision", 10, "--icc", "nan"), ["correlation nan"]),
        (("--difference", 10, "--icc", 2), ["correlation 2", "[0, 1]"]),
        (("--precision", 60), ["± 60 points", "below 50"]),
        (("--patients", 1), ["at least 2"]),
    ],
)
def test_what_cannot_be_is_refused_in_words(arguments, words):
    text = power(*arguments, expect=2)
    for word in words:
        assert word in text


def test_a_study_without_estimates_says_which_command_makes_them(root):
    text = power("--study", "default", expect=2)
    assert "snakemake results/default/estimates/estimates.parquet" in text
    assert "Did you mean default?" in power("--study", "defalt", expect=2)


def test_of_a_study_it_lists_what_every_model_s_contrasts_could_have_shown(asked):
    study, models = load_study({"models": ["coin-3", "coin-2"]}, root=asked)
    results = asked / "results" / "default"
    rows = estimate_rows(
        read_table([results / "trials" / "r1" / str(shard) / "trials.parquet" for shard in (0, 1)], TRIALS),
        read_table(results / "cohort" / "cases.parquet", CASES),
        read_table([results / "outcomes" / m / "0" / "outcomes.parquet" for m in ("coin-2", "coin-3")], OUTCOMES),
        EstimateSettings.model_validate(settings_of("estimate", study, models)),
        "default",
    )
    write_table(results / "estimates" / "estimates.parquet", ESTIMATES, rows)
    lines = power("--study", "default").splitlines()
    wanted = [
        row
        for row in rows
        if row["model"] == "coin-2" and row["metric"] == "accuracy_difference" and row["arm"] == "reverse"
    ]
    (row,) = [row for row in wanted if row["stratum"] == "all" and row["reference_model"] is None]
    (line,) = [line for line in lines if re.match(r"coin-2 +accuracy: slices reversed", line)]
    assert line.endswith(f"{100 * row['mde']:.1f}")
    # no family of tests: not among the headline contrasts
    assert not any("accuracy: no image" in line for line in lines)


def test_columns_are_aligned():
    lines = list(text_table(("a", "long name"), [("word", "1"), ("w", "22")]))
    assert lines == ["a     long name", "----  ---------", "word          1", "w            22"]
    with pytest.raises(ValueError):
        list(text_table(("a", "b"), [("one",)]))
