"""`steadyread compare`: two models of a study on the same patients, from what lies on disk."""

from __future__ import annotations

import csv
import json
import shutil

import pytest
from typer.testing import CliRunner

from steadyread.cli.main import app
from steadyread.config.loading import load_study
from steadyread.contracts.files import read_table
from steadyread.contracts.tables import CASES, ESTIMATES, OUTCOMES, TRIALS
from steadyread.identity.digests import digest_json
from steadyread.stages.plan import Plan
from steadyread.stages.settings import settings_of
from steadyread.statistics.estimate import EstimateSettings, estimate_rows
from steadyread.statistics.plan_ledger import LEDGER, plan_settings

RUN = CliRunner()


def compare(*arguments, expect=0):
    done = RUN.invoke(app, ["compare", *arguments])
    assert done.exit_code == expect, done.output
    return done.output


def line(text, start):
    (found,) = [item for item in text.splitlines() if item.startswith(start)]
    return " ".join(found.split())


def test_a_difference_stands_with_interval_n_and_patients(asked):
    text = compare("coin-2", "coin-3")
    # twelve of sixteen patients flip, four of sixteen: 75 − 25
    found = line(text, "flip rate: slices reversed")
    assert "+50.0 [" in found
    assert "75.0 [" in found
    assert "25.0 [" in found
    assert found.endswith("(32)")
    whole = compare("coin-2", "coin-3", "--metric", "flip_rate")
    assert line(whole, "flip rate: slices reversed, of all but errors").endswith("(32) 16")
    assert "study default, readout text, 16 patients" in text
    assert "Synthetic images" in text


def test_too_few_events_are_said_and_have_no_interval(asked):
    text = compare("coin-2", "coin-3")
    assert line(text, "accuracy: base").endswith("0.0 (32)")
    assert "accuracy: base" in line(text, "Too few events: ")
    whole = compare("coin-2", "coin-3", "--metric", "accuracy")
    assert line(whole, "accuracy: base, of cases").endswith("0.0 (32) too few events 16")
    assert "fewer than 5 patients differ" in text


def test_the_numbers_are_those_of_stage_estimate(asked, tmp_path):
    """The pair stands in no comparison of the study; were it there, the estimates would hold the same rows."""
    file = tmp_path / "pair.csv"
    compare("coin-2", "coin-3", "--csv", str(file))
    pair = [{"model": "coin-2", "reference": "coin-3"}]
    overrides = {"models": ["coin-3", "coin-2"], "statistics": {"comparisons": pair}}
    study, models = load_study(overrides, root=asked)
    results = asked / "results" / "default"
    rows = estimate_rows(
        read_table([results / "trials" / "r1" / str(shard) / "trials.parquet" for shard in (1, 0)], TRIALS),
        read_table(results / "cohort" / "cases.parquet", CASES),
        read_table([results / "outcomes" / m / "0" / "outcomes.parquet" for m in ("coin-2", "coin-3")], OUTCOMES),
        EstimateSettings.model_validate(settings_of("estimate", study, models)),
        "default",
    )
    key = ("metric", "denominator", "arm", "variant", "parameter", "reference_arm")
    numbers = ("value", "low", "high", "n", "clusters", "estimate_status", "mde")
    between = [row for row in rows if row["reference_model"] is not None and row["stratum"] == "all"]

    def written(row, names):
        return tuple("" if row[name] is None else str(row[name]) for name in names)

    with open(file, newline="") as stream:
        found = {written(row, key): written(row, numbers) for row in csv.DictReader(stream)}
    assert found == {written(row, key): written(row, numbers) for row in between}
    assert len(found) > 20


def test_the_other_way_round_is_the_negative(asked):
    there, back = compare("coin-2", "coin-3"), compare("coin-3", "coin-2")
    start = "flip rate: slices reversed"
    assert "+50.0 [" in line(there, start)
    assert "−50.0 [" in line(back, start)


def test_headline_metrics_by_default_and_all_or_some_on_request(asked):
    headline, everything = compare("coin-2", "coin-3"), compare("coin-2", "coin-3", "--all")
    assert "flip direction" not in headline
    assert "flip direction" in everything
    assert len(everything.splitlines()) > len(headline.splitlines())
    one = compare("coin-2", "coin-3", "--metric", "flip_direction")
    assert "flip direction: slices reversed" in one
    assert "accuracy" not in one


def test_the_headlines_fit_a_terminal_and_are_no_more_than_seven(asked):
    text = compare("coin-2", "coin-3")
    assert max(map(len, text.splitlines())) <= 120
    table = text.split("\n\n")[1].splitlines()
    assert [row.split("  ")[0] for row in table[2:8]] == [
        "flip rate: slices reversed", "overcommitment: lesion slices removed",
        "lets go: other − lesion slices removed", "accuracy: base", "ReCon: same answer under every arm",
        "ReAcc: right under every arm",
    ]  # fmt: skip


def test_a_plan_that_has_other_statistics_than_were_used_is_named(asked):
    assert "The plan in the study's folder" not in compare("coin-2", "coin-3")
    study, models = load_study({"study": "default"}, root=asked)
    settings = plan_settings(Plan(study, models, asked))
    planned = {"code": "b" * 32, "answers": "none", "previous": None, "written": ""}
    ledger = asked / "results" / "default" / LEDGER

    def write(confidence):
        whole = {**settings, "statistics": {**settings["statistics"], "confidence": confidence}}
        ledger.write_text(json.dumps({**planned, "digest": digest_json(whole), "settings": whole}) + "\n")

    write(0.95)
    assert "The plan in the study's folder" not in compare("coin-2", "coin-3")
    write(0.9)
    text = " ".join(compare("coin-2", "coin-3").split())
    assert "another statistics.confidence than was used here: 0.9 there, 0.95 here" in text


def test_what_the_study_claims_of_the_pair_is_judged(asked):
    file = asked / "config" / "studies" / "claimed.yaml"
    file.write_text(
        "study: claimed\nmodels: [coin-2, coin-3]\n"
        "statistics:\n  comparisons:\n  - model: coin-2\n    reference: coin-3\n"
        "    expected:\n    - {metric: flip_rate, arm: reverse, side: lower}\n"
    )
    shutil.copytree(asked / "results" / "default", asked / "results" / "claimed")
    text = compare("coin-2", "coin-3", "--study", "claimed")
    assert "claimed lower: contradicted (interval excludes 0)" in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("coin2", "coin-3"), ["coin2 is no model of study default", "Did you mean coin-2?", "constant-label"]),
        (("coin-2", "coin-2"), ["compared with itself"]),
        (("coin-2", "coin-3", "--study", "defualt"), ["no study 'defualt'", "Did you mean default?"]),
        (("coin-2", "coin-3", "--metric", "flip_rat"), ["no metric 'flip_rat'", "Did you mean flip_rate?"]),
        (("coin-2", "coin-3", "--readout", "logprob"), ["no readout logprob in common", "text"]),
        (
            ("coin-2", "constant-label"),
            ["outcomes of constant-label", "snakemake results/default/outcomes/constant-label/0/outcomes.parquet"],
        ),
        (
            ("coin-2", "coin-3", "--study", "default-limit4"),
            ["cases and trials of study default-limit4", "--config limit=4"],
        ),
    ],
)
def test_what_cannot_be_compared_says_why_and_what_to_do(asked, arguments, words):
    text = compare(*arguments, expect=2)
    for word in words:
        assert word in text
    assert "Traceback" not in text


@pytest.mark.parametrize(("target", "words"), [("nowhere/pair.csv", "no folder nowhere"), ("config", "found a folder")])
def test_a_file_that_cannot_be_written_is_refused_before_anything_is_computed(asked, monkeypatch, target, words):
    import steadyread.cli.compare as module

    def never(*_):
        raise AssertionError("computed before the file was looked at")

    monkeypatch.setattr(module, "compare_models", never)
    assert words in compare("coin-2", "coin-3", "--csv", target, expect=2)
    assert not (asked / "nowhere").exists()


def test_a_model_that_left_its_outcomes_can_be_compared_though_the_study_no_longer_asks_it(asked):
    (asked / "config" / "studies" / "fewer.yaml").write_text("study: fewer\nmodels: [coin-2]\n")
    shutil.copytree(asked / "results" / "default", asked / "results" / "fewer")
    assert "+50.0 [" in compare("coin-2", "coin-3", "--study", "fewer")


def test_the_written_rows_keep_every_column_of_the_estimates(asked, tmp_path):
    compare("coin-2", "coin-3", "--csv", str(tmp_path / "pair.csv"))
    header = (tmp_path / "pair.csv").read_text().splitlines()[0].split(",")
    assert set(ESTIMATES.schema.names) <= set(header)
