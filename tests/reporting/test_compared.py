"""Two models compared: what is said of a claim, and that a difference never passes for one model's number."""

from __future__ import annotations

import csv
import io
import re

import pytest

from steadyread.config.comparisons import Comparison
from steadyread.contracts.enums import Readout
from steadyread.reporting.compared import Compared, beside_of, claimed_of, others_of
from steadyread.reporting.findings import answers_of, limits_of, overview_of
from steadyread.reporting.flips_data import flips_data
from steadyread.reporting.flips_figure import flips_figure
from steadyread.reporting.format import cell
from steadyread.reporting.lookup import Book
from steadyread.reporting.main_table import MainTableSettings, main_table
from steadyread.reporting.notes import notes_of
from steadyread.reporting.panels import panels_of
from steadyread.reporting.settings import FigureSettings, ListedModel, display_order
from steadyread.stages.job import Files

STEADY, OTHER = "a-steady", "b-reader"
CLAIMS = [
    {"metric": "overcommitment_difference", "arm": "matched_removed", "side": "higher"},
    {"metric": "flip_rate", "arm": "reverse", "side": "lower"},
    {"metric": "accuracy", "arm": "base", "side": "higher"},
]
PAIR = {"model": STEADY, "reference": OTHER, "expected": CLAIMS}
MODELS = [
    {"id": name, "family": family, "source": {"kind": kind, "seed": 0}}
    for name, family, kind in (
        ("coin-2", "baseline", "baseline"), ("z-reader", "idefics3", "built"), (STEADY, "idefics3", "built"),
        (OTHER, "gemma3", "built"), ("a-constant", "baseline", "baseline"),
    )
]  # fmt: skip


def pair(**given) -> Comparison:
    return Comparison.model_validate({**PAIR, **given})


@pytest.fixture(scope="module")
def between(study):
    """Differences of every estimate of two models; those claimed lower are −30 points, the others as they fall."""

    def rows(model=STEADY, reference=OTHER, **given):
        found = []
        for row in study(models=(model,), **given):
            value = -0.3 if row["metric"] == "flip_rate" else 0.111
            numbers = {"value": value, "low": value - 0.05, "high": value + 0.05, "p": None, "p_holm": None}
            found.append({**row, **numbers, "reference_model": reference, "mark": "O", "mde": 0.222})
        return found

    return rows


@pytest.fixture
def tables(tmp_path, put):
    def make(rows, comparisons=(PAIR,), models=MODELS):
        outputs = {name: tmp_path / f"main.{name}" for name in ("csv", "markdown", "latex")}
        settings = MainTableSettings.model_validate(
            {
                "report": {}, "cohort": {"synthetic": False}, "models_table": models,
                "statistics": {"confidence": 0.95, "comparisons": comparisons},
            }
        )  # fmt: skip
        main_table(Files({"estimates": put("estimates", rows)}), Files(outputs), settings, {})
        return {name: path.read_text(encoding="utf-8") for name, path in outputs.items()}

    return make


@pytest.mark.parametrize(
    ("side", "low", "high", "status", "said"),
    [
        ("lower", -0.4, -0.1, "ok", "claimed lower: yes (interval excludes 0)"),
        ("higher", -0.4, -0.1, "ok", "claimed higher: contradicted (interval excludes 0)"),
        ("higher", 0.1, 0.4, "ok", "claimed higher: yes (interval excludes 0)"),
        ("lower", 0.1, 0.4, "ok", "claimed lower: contradicted (interval excludes 0)"),
        ("lower", -0.4, 0.1, "ok", "claimed lower: not shown (interval includes 0)"),
        ("lower", -0.4, 0.0, "ok", "claimed lower: not shown (interval includes 0)"),
        ("lower", None, None, "ok", "claimed lower: not shown (no interval)"),
        ("lower", None, None, "too_few_events", "claimed lower: not shown (too few events)"),
        ("lower", -0.4, -0.1, "incomplete", "claimed lower: not shown (incomplete)"),
        ("lower", None, None, "undefined", "claimed lower: not shown (undefined)"),
    ],
)
def test_a_claim_is_judged_by_the_side_its_whole_interval_lies_on(estimate, side, low, high, status, said):
    value = None if status == "undefined" else -0.2 if low is None else (low + high) / 2
    row = estimate(
        model=STEADY, reference_model=OTHER, arm="reverse", reference_arm="base", value=value, low=low, high=high,
        estimate_status=status, reason=None if status == "ok" else "why",
    )  # fmt: skip
    assert Compared(row, pair(expected=[{**CLAIMS[1], "side": side}]).expected[0].side).claim_text == said
    assert Compared(row).claim_text == ""


def test_a_claim_is_about_the_row_over_all_pairs_and_the_claimed_come_first(study, between):
    book = Book(study(models=(STEADY, OTHER)) + between())
    claimed = claimed_of(book, Readout.TEXT, pair())
    assert [(item.row["metric"], item.row["arm"], item.row["denominator"]) for item in claimed] == [
        ("overcommitment_difference", "matched_removed", "all"),
        ("flip_rate", "reverse", "all"),
        ("accuracy", "base", "label_known"),
    ]
    others = others_of(book, Readout.TEXT, pair())
    assert not {id(item.row) for item in claimed} & {id(item.row) for item in others}
    panel = panels_of(book, Readout.TEXT, [pair()])[-1]
    assert [line.cells[0] for line in panel.lines] == [item.row for item in [*claimed, *others]]
    assert {row["variant"] for row in (item.row for item in others)} == {None, "UNSURE"}


def test_a_difference_has_a_sign_and_is_in_points(between):
    rows = {row["metric"]: row for row in between()}
    assert cell(rows["flip_rate"]) == "−30.0 [−35.0, −25.0] (24)"
    assert cell(rows["accuracy"]) == "+11.1 [+6.1, +16.1] (24)"
    assert Compared(rows["flip_rate"]).title.startswith("flip rate: no image, of ")
    assert Compared(rows["label_swap_inconsistency"]).title == "label-swap inconsistency, of all but errors"
    unsure = next(row for row in between() if row["variant"] == "UNSURE")
    assert Compared(unsure).title == "share of UNSURE: base, of all but errors"


def test_the_tables_say_what_was_claimed_and_whether_it_held(tables, study, between):
    texts = tables(study(models=(STEADY, OTHER)) + between())
    assert (
        f"| {STEADY} − {OTHER} | flip rate: slices reversed, of all but errors [O] "
        "| −30.0 [−35.0, −25.0] (24) | 22.2 | claimed lower: yes (interval excludes 0) |"
    ) in texts["markdown"]
    assert texts["latex"].count("claimed lower: yes (interval excludes 0)") == 1
    assert r"\textbf{a-steady $-$ b-reader}" in texts["latex"]
    for name in ("markdown", "latex"):
        assert "of 100 differences that are none, about 5 would" in texts[name]
    parsed = list(csv.DictReader(io.StringIO(texts["csv"])))
    claims = {(row["metric"], row["arm"]): (row["claimed"], row["claim_held"]) for row in parsed if row["claimed"]}
    assert claims == {
        ("overcommitment_difference", "matched_removed"): ("higher", "yes"),
        ("flip_rate", "reverse"): ("lower", "yes"),
        ("accuracy", "base"): ("higher", "yes"),
    }
    assert {row["reference_model"] for row in parsed if row["claimed"]} == {OTHER}


def test_without_claims_there_is_no_column_for_them(tables, study, between):
    text = tables(study(models=(STEADY, OTHER)) + between(), comparisons=[{**PAIR, "expected": []}])["markdown"]
    assert "**C. Compared, read from the answer's text**" in text
    assert "Claimed" not in text


def test_a_study_that_compares_nothing_says_nothing_of_comparing(tables, study):
    texts = tables(study(), comparisons=[])
    assert "ompared, read" not in texts["markdown"]
    assert "Compared:" not in texts["markdown"]


def test_latex_rows_of_the_comparison_are_as_wide_as_its_header(tables, study, between):
    for claims in (CLAIMS, []):
        text = tables(study(models=(STEADY, OTHER)) + between(), comparisons=[{**PAIR, "expected": claims}])["latex"]
        part = text.split(r"\begin{longtable}")[-1].split(r"\end{longtable}")[0]
        rows = [line for line in part.splitlines() if line.endswith((r"\\", r"\\*")) and r"\multicolumn" not in line]
        assert {row.count("&") for row in rows} == {3 if claims else 2}


def test_no_difference_between_models_passes_for_one_models_number(study, between):
    plain = study(models=(STEADY, OTHER), readouts=("text", "logprob"))
    mixed = between(readouts=("text", "logprob"))[::-1] + plain + between(OTHER, STEADY)
    alone, beside = Book(plain), Book(mixed)
    for readout in Readout:
        assert flips_data(beside, readout) == flips_data(alone, readout)
        assert overview_of(beside, readout, MODELS) == overview_of(alone, readout, MODELS)
        assert answers_of(beside, readout, MODELS) == answers_of(alone, readout, MODELS)
        assert limits_of(beside, readout, False) == limits_of(alone, readout, False)
    panels = panels_of(beside, Readout.TEXT)
    assert panels == panels_of(alone, Readout.TEXT)
    assert notes_of(beside, panels, False, 0.95) == notes_of(alone, panels, False, 0.95)
    assert {row["reference_model"] for row in beside.rows} == {None}
    assert {(row["model"], row["reference_model"]) for row in beside.between(OTHER, STEADY, "text")} == {
        (OTHER, STEADY)
    }


def test_models_stand_as_the_study_lists_them_and_readers_with_known_answers_last(tables, study, tmp_path, put):
    order = display_order(ListedModel.model_validate(entry) for entry in MODELS)
    assert order == ["z-reader", STEADY, OTHER, "coin-2", "a-constant"]
    rows = study(models=tuple(sorted(order)))
    texts = tables(rows, comparisons=[])
    parsed = list(csv.DictReader(io.StringIO(texts["csv"])))
    assert list(dict.fromkeys(row["model"] for row in parsed)) == order
    lines = re.findall(r"^\| ([\w-]+) \| base \|", texts["markdown"], re.MULTILINE)
    assert lines == order
    data = tmp_path / "data.csv"
    files = {kind: tmp_path / f"figure.{kind}" for kind in ("pdf", "svg", "png")}
    settings = FigureSettings.model_validate(
        {
            "report": {"dpi": 72}, "cohort": {"synthetic": False}, "statistics": {"confidence": 0.95},
            "models_table": MODELS,
        }
    )  # fmt: skip
    flips_figure(Files({"estimates": put("estimates", rows)}), Files({**files, "data": data}), settings, {})
    drawn = [row["model"] for row in csv.DictReader(data.open()) if row["arm"] == "reverse"]
    assert drawn == order


def test_a_model_that_the_study_does_not_list_comes_behind(estimate):
    rows = [estimate(model=name, arm="reverse", reference_arm="base") for name in ("b", "a", "z", "listed")]
    assert Book(rows, ["z", "listed", "absent"]).models == ["z", "listed", "a", "b"]


def test_the_page_counts_the_claims_and_shows_both_models_beside_the_difference(study, between):
    plain = study(models=(STEADY, OTHER))
    claims = [{**claim, "side": "higher"} for claim in CLAIMS]
    (found,) = beside_of(Book(plain + between()), Readout.TEXT, [pair(expected=claims)])
    assert found.account == (
        "Claimed of a-steady before the audit: 3 differences. Held: 2; not shown: 0; contradicted: 1."
    )
    title, own, other, difference, claim = found.claimed[1]
    rows = {row["model"]: row for row in plain if (row["metric"], row["arm"]) == ("flip_rate", "reverse")
            and row["denominator"] == "all"}  # fmt: skip
    assert (title, own, other) == (
        "flip rate: slices reversed, of all but errors", cell(rows[STEADY]), cell(rows[OTHER]),
    )  # fmt: skip
    assert (difference, claim) == (
        "−30.0 [−35.0, −25.0] (24)", "claimed higher: contradicted (interval excludes 0)",
    )  # fmt: skip
    assert beside_of(Book(plain), Readout.TEXT, [pair()]) == []
