"""Published numbers stand beside ours; they are compared only where a study may (PROTOCOLS 0.11)."""

from __future__ import annotations

import csv

import jinja2
import pytest

from steadyread.config.published import COLUMNS, PublishedConfig, read_published
from steadyread.reporting.lookup import Book
from steadyread.reporting.names import MARKS_NOTE, SYNTHETIC
from steadyread.reporting.published import (
    ABOVE,
    BELOW,
    INSIDE,
    ORIENTATION,
    PublishedTableSettings,
    audited_of,
    beside_published,
    published_section,
    published_table,
)
from steadyread.reporting.settings import ListedModel
from steadyread.reporting.summary import TEMPLATES
from steadyread.stages.job import Files

COHORT, THEIRS = "universitytehran/MRI-GBM-MET", "MedGemma-1.5-4B"
MODELS = [
    {"id": "model-a", "family": "gemma3"},
    {"id": "model-b", "family": "idefics3"},
    {"id": "coin", "family": "baseline"},
]
LISTED = [ListedModel.model_validate(entry) for entry in MODELS]
FLIPS = {"metric": "flip_rate", "arm": "reverse", "denominator": "all", "reference_arm": "base"}
MAXIMUM = {
    "study": "s1",
    "arm": "reverse",
    "metric": "flip_rate",
    "denominator": "all",
    "aggregate": "maximum over models",
    "value": "48.9",
    "unit": "%",
    "cohort": COHORT,
    "source": "arXiv 1",
    "version": "v1",
    "mark": "P",
}
ONE_MODEL = {**MAXIMUM, "aggregate": "", "model": THEIRS, "source": "arXiv 2", "value": "35.8"}


@pytest.fixture
def published(tmp_path):
    """Writes published numbers and gives the file."""

    def write(*rows):
        path = tmp_path / "published.tsv"
        lines = ["\t".join(COLUMNS), *("\t".join(row.get(name, "") for name in COLUMNS) for row in rows)]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    return write


@pytest.fixture
def beside(published):
    """Puts published numbers beside estimates."""

    def make(estimates, *rows, **declared):
        book = Book(estimates, [model.id for model in LISTED])
        return beside_published(book, read_published(published(*rows)), audited_of(LISTED), PublishedConfig(**declared))

    return make


@pytest.fixture
def flips(estimate):
    """A flip rate under reversal of one model."""

    def make(model, value, **given):
        around = {"low": value - 0.1, "high": value + 0.1}
        return estimate(model=model, value=value, **{**FLIPS, **around, **given})

    return make


def test_our_maximum_is_over_audited_models_and_no_baseline(beside, flips):
    (line,) = beside([flips("model-a", 0.3), flips("model-b", 0.4), flips("coin", 0.9)], MAXIMUM)
    assert (line.ours["model"], line.ours["value"]) == ("model-b", 0.4)
    assert "our largest" in line.which


def test_random_weights_are_nobody_s_largest(published, flips):
    listed = [
        ListedModel.model_validate({**entry, "source": {"kind": kind, "seed": 0}})
        for entry, kind in zip(MODELS, ("folder", "built", "baseline"), strict=True)
    ]
    book = Book([flips("model-a", 0.3), flips("model-b", 0.4)], [model.id for model in listed])
    section = published_section(book, published(MAXIMUM), listed, PublishedConfig(), 0.95)
    ((_, _, _, _, _, which, _),) = section.lines
    assert which == "model-a (our largest)"
    assert MARKS_NOTE in section.notes


def test_our_maximum_is_of_the_same_arm_metric_denominator_and_of_the_text(beside, flips):
    others = [
        flips("model-a", 0.9, arm="label_swap"),
        flips("model-a", 0.9, metric="d_cross"),
        flips("model-a", 0.9, denominator="both_categorical"),
        flips("model-a", 0.9, readout="logprob"),
        flips("model-a", 0.9, stratum="sequence=T1CE"),
        flips("model-a", 0.9, variant="1"),
        flips("model-a", 0.5, reference_model="model-b"),
        flips("model-a", 0.9, reference_arm="shuffle"),
    ]
    (line,) = beside([*others, flips("model-a", 0.2)], MAXIMUM)
    assert line.ours["value"] == 0.2
    (alone,) = beside(others, MAXIMUM)
    assert alone.ours is None


@pytest.mark.parametrize("declared", [{}, {"cohort": COHORT}, {"models": {"model-a": THEIRS}}])
@pytest.mark.parametrize("value", [0.12, 0.358, 0.88])
def test_without_the_same_cohort_and_model_there_is_never_a_verdict(beside, flips, declared, value):
    lines = beside([flips("model-a", value)], MAXIMUM, ONE_MODEL, **declared)
    assert [line.said for line in lines] == [ORIENTATION, ORIENTATION]
    assert not any(line.compared or line.verdict for line in lines)


@pytest.mark.parametrize(("value", "verdict"), [(0.358, INSIDE), (0.2, ABOVE), (0.5, BELOW), (0.458, INSIDE)])
def test_with_both_declared_the_published_value_lies_somewhere_against_our_interval(beside, flips, value, verdict):
    declared = {"cohort": COHORT, "models": {"model-a": THEIRS}}
    (line,) = beside([flips("model-a", value), flips("model-b", 0.9)], ONE_MODEL, **declared)
    assert (line.ours["model"], line.verdict, line.said) == ("model-a", verdict, verdict)


@pytest.mark.parametrize(("low", "high", "verdict"), [("41", "58", ABOVE), ("5", "10", BELOW), ("35", "58", INSIDE)])
def test_a_range_is_outside_only_where_all_of_it_is(beside, flips, low, high, verdict):
    ranged = {**ONE_MODEL, "value": "", "low": low, "high": high}
    (line,) = beside([flips("model-a", 0.3)], ranged, cohort=COHORT, models={"model-a": THEIRS})
    assert line.verdict == verdict


def test_a_number_of_another_cohort_is_not_compared_even_so(beside, flips):
    other = {**ONE_MODEL, "cohort": "MedVIGIL"}
    (line,) = beside([flips("model-a", 0.3)], other, cohort=COHORT, models={"model-a": THEIRS})
    assert not line.compared


def test_a_maximum_over_models_nobody_named_is_never_compared(beside, flips):
    named = {**MAXIMUM, "model": THEIRS}
    (line,) = beside([flips("model-a", 0.3)], named, cohort=COHORT, models={"model-a": THEIRS})
    assert (line.compared, line.said) == (False, ORIENTATION)


def test_an_estimate_without_an_interval_gets_no_verdict(beside, flips):
    few = flips("model-a", 0.3, estimate_status="too_few_events", reason="few", low=None, high=None)
    (line,) = beside([few], ONE_MODEL, cohort=COHORT, models={"model-a": THEIRS})
    assert line.compared
    assert line.verdict == ""
    assert "no interval" in line.said


def test_a_number_of_a_part_of_the_cohort_stands_beside_that_part(beside, flips):
    part = {**ONE_MODEL, "stratum": "sequence=T1CE"}
    estimates = [flips("model-a", 0.3), flips("model-a", 0.6, stratum="sequence=T1CE")]
    (line,) = beside(estimates, part)
    assert line.ours["value"] == 0.6


def test_a_model_that_is_none_of_ours_stands_beside_every_audited_one(beside, flips):
    lines = beside([flips("model-b", 0.4), flips("model-a", 0.3), flips("coin", 0.9)], ONE_MODEL)
    assert [line.ours["model"] for line in lines] == ["model-a", "model-b"]


def test_other_studies_numbers_do_not_stand_in_this_table(beside, flips):
    assert beside([flips("model-a", 0.3)], {**MAXIMUM, "study": "s2", "metric": "fleiss_kappa"}) == []


def run(tmp_path, put, estimates, published, synthetic=True, **declared):
    settings = PublishedTableSettings.model_validate(
        {
            "report": {"title": "Demo", "published": declared},
            "cohort": {"synthetic": synthetic},
            "statistics": {"confidence": 0.95},
            "models_table": MODELS,
        }
    )
    outputs = {"csv": tmp_path / "out.csv", "markdown": tmp_path / "out.md"}
    inputs = {"estimates": put("estimates", estimates), "published": published}
    published_table(Files(inputs), Files(outputs), settings, {})
    with open(outputs["csv"], encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream)), outputs["markdown"].read_text(encoding="utf-8")


def test_the_table_holds_every_shipped_number_of_the_study_whatever_was_asked(tmp_path, put, project, study):
    shipped = project / "config" / "published.tsv"
    rows, text = run(tmp_path, put, study(("model-a", "model-b")), shipped)
    wanted = [row for row in read_published(shipped) if row.study == "s1"]
    assert {(row["source"], row["arm"], row["metric"], row["value"]) for row in rows} == {
        (row.source, row.arm or "", row.metric, row.value or "") for row in wanted
    }
    assert {row["compared"] for row in rows} == {"no"}
    for printed in ("48.9 %", "67.8 %", "76.1 %", "41 to 58 %", ".347"):
        assert printed in text
    assert text.count("our largest") == 3


@pytest.mark.parametrize("synthetic", [True, False])
def test_a_phantom_study_carries_its_banner(tmp_path, put, published, flips, synthetic):
    rows, text = run(tmp_path, put, [flips("model-a", 0.3)], published(MAXIMUM), synthetic)
    assert (SYNTHETIC in text) == synthetic
    assert {row["synthetic"] for row in rows} == {"yes" if synthetic else "no"}


def test_a_study_of_readers_with_known_answers_has_nothing_of_its_own_to_show(tmp_path, put, published, flips):
    rows, text = run(tmp_path, put, [flips("coin", 0.5)], published(MAXIMUM))
    assert [(row["our_model"], row["our_value"], row["verdict"]) for row in rows] == [("", "", "")]
    assert "None of ours stands here" in text


def test_the_page_shows_what_the_table_shows(published, flips):
    book = Book([flips("model-a", 0.3)], ["model-a"])
    section = published_section(book, published(MAXIMUM, ONE_MODEL), LISTED, PublishedConfig(), 0.95)
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True, undefined=jinja2.StrictUndefined
    )
    environment.filters["tied"] = str
    page = environment.get_template("published.html.j2").render(published=section)
    assert page.count(ORIENTATION) >= 2
    assert "for orientation only" in page
    for line in section.lines:
        for text in line:
            assert text in page
