"""The file of published numbers says what the papers print, and a wrong line is refused by its number."""

from __future__ import annotations

import pytest

from steadyread.config.loading import load_study
from steadyread.config.published import (
    AUDITED,
    COLUMNS,
    MAXIMUM,
    PUBLISHED_FILE,
    PublishedConfig,
    published_problems,
    read_published,
)
from steadyread.contracts.problems import StudyError

ROW = {
    "study": "s1",
    "arm": "reverse",
    "metric": "flip_rate",
    "denominator": "all",
    "value": "48.9",
    "unit": "%",
    "source": "arXiv 1",
    "mark": "P",
}

DIFFERENCE = {"metric": "accuracy_difference", "denominator": "label_known"}


@pytest.fixture(scope="module")
def shipped(project):
    return read_published(project / PUBLISHED_FILE)


@pytest.fixture
def file(tmp_path):
    """Writes rows as a file of published numbers."""

    def write(*rows, columns=COLUMNS):
        path = tmp_path / "published.tsv"
        lines = ["\t".join(columns), *("\t".join(row.get(name, "") for name in columns) for row in rows)]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    return write


@pytest.mark.parametrize(
    ("metric", "arm", "printed"),
    [
        ("flip_rate", "reverse", "48.9 %"),
        ("label_swap_inconsistency", "label_swap", "67.8 %"),
        ("overcommitment", "lesion_removed", "76.1 %"),
    ],
)
def test_the_three_published_maxima_stand_as_printed(shipped, metric, arm, printed):
    (row,) = (row for row in shipped if row.source == "arXiv 2608.04885" and row.metric == metric)
    assert (row.arm, row.printed, row.aggregate, row.version, row.mark) == (arm, printed, MAXIMUM, "v1", "P")


def test_no_sample_size_is_invented(shipped):
    """Of all studies two numbers came with what they are a share of."""
    assert {(row.metric, row.value, row.n) for row in shipped if row.n is not None} == {
        ("parseable_boxes", "0", 418),
        ("models_with_lower_accuracy", "15", 18),
    }


def test_what_was_not_published_has_no_row(shipped):
    accuracies = [row for row in shipped if row.study == "s2" and row.metric == "accuracy"]
    assert len(accuracies) == 8 * 5 - 1
    assert ("Janus-Pro", "text_only") not in {(row.model, row.arm) for row in accuracies}


def test_a_preprint_whose_finding_changed_is_named_with_its_version(shipped):
    rows = [row for row in shipped if row.source == "arXiv 2512.04238" and row.metric == "accuracy"]
    drops = {(row.version, row.arm): row.value for row in rows}
    assert (drops["v1", "typical"], drops["v1", "atypical"]) == ("74", "29")
    assert (drops["v2", "typical"], drops["v2", "atypical"]) == ("71", "28")


@pytest.mark.parametrize(
    ("given", "printed", "ends"),
    [
        ({"value": "48.9", "unit": "%"}, "48.9 %", (0.489, 0.489)),
        ({"value": ".347", "unit": "share"}, ".347", (0.347, 0.347)),
        ({"low": "41", "high": "58", "unit": "%"}, "41 to 58 %", (0.41, 0.58)),
        ({**DIFFERENCE, "high": "8", "unit": "points"}, "< 8 points", (None, 0.08)),
        ({**DIFFERENCE, "low": "40", "unit": "points"}, "> 40 points", (0.40, None)),
        ({**DIFFERENCE, "value": "-36.1", "unit": "points"}, "−36.1 points", (-0.361, -0.361)),
    ],
)
def test_a_number_is_read_as_printed_and_known_as_a_share(file, given, printed, ends):
    (row,) = read_published(file({**ROW, "value": "", **given}))
    assert row.printed == printed
    assert row.ends == pytest.approx(ends)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"study": "s9"}, ["line 3", "study", "s9"]),
        ({"metric": "flip_rat"}, ["line 3", "metric 'flip_rat'", "did you mean flip_rate?"]),
        ({"arm": "revers"}, ["line 3", "arm 'revers'", "did you mean reverse?"]),
        ({"denominator": "everybody"}, ["line 3", "denominator 'everybody'"]),
        ({"denominator": ""}, ["line 3", "names its denominator"]),
        ({"mark": "X"}, ["line 3", "mark"]),
        ({"value": "48,9"}, ["line 3", "value", "48,9"]),
        ({"value": ""}, ["line 3", "either value, or low and high"]),
        ({"low": "40"}, ["line 3", "either value, or low and high"]),
        ({"value": "", "low": "58", "high": "41"}, ["line 3", "low 58 is not below high 41"]),
        ({"n": "0"}, ["line 3", "n"]),
        ({"source": ""}, ["line 3", "source"]),
        ({"version": "2"}, ["line 3", "version"]),
        ({"unit": "percent"}, ["line 3", "unit"]),
        ({}, ["line 3", "what line 2 says already"]),
    ],
    ids=lambda item: "-".join(item) if isinstance(item, dict) else "",
)
def test_a_wrong_line_is_refused_by_file_and_number(file, change, words):
    with pytest.raises(StudyError) as caught:
        read_published(file(ROW, {**ROW, **change}))
    for word in ["published.tsv", *words]:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"value": "148.9"}, "value 148.9 of flip_rate in %: expected within [0, 100]"),
        ({"value": "-1"}, "value -1 of flip_rate in %"),
        ({"value": "48.9", "unit": "share"}, "expected within [0, 1]"),
        ({"value": "", "low": "41", "high": "580"}, "high 580 of flip_rate"),
        ({"value": "", "low": "-3"}, "low -3 of flip_rate"),
        ({"unit": "points"}, "flip_rate is printed in points: expected % or share"),
        ({"value": "1", "unit": "count"}, "flip_rate is printed in count"),
        ({**DIFFERENCE, "unit": "points", "value": "-120"}, "expected within [-100, 100]"),
        ({**DIFFERENCE, "unit": "share", "value": "-36.1"}, "expected within [-1, 1]"),
        ({"arm": "base"}, "flip_rate has no number under arm base; arms that have one: reverse, "),
        ({"arm": "base", "metric": "kappa"}, "kappa has no number under arm base"),
        ({"arm": "base", "metric": "d_cross"}, "d_cross has no number under arm base"),
        ({"metric": "label_swap_inconsistency"}, "no number under arm reverse; arms that have one: label_swap"),
        ({"arm": "repeat"}, "no number under arm repeat"),
        ({"metric": "any_flip"}, "any_flip is of several arms together: found arm reverse, expected none"),
        ({"metric": "reacc", "arm": "base"}, "reacc is of several arms together"),
    ],
)
def test_a_number_that_cannot_be_is_refused_by_file_and_number(file, change, words):
    with pytest.raises(StudyError) as caught:
        read_published(file(ROW, {**ROW, **change}))
    assert "published.tsv: line 3: " in str(caught.value)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "change",
    [
        {"value": "0"},
        {"value": "100"},
        {"value": "1", "unit": "share"},
        {**DIFFERENCE, "value": "-100", "unit": "points"},
        {"metric": "accuracy", "arm": "base"},
        {"metric": "any_flip", "arm": ""},
        {"metric": "cochran_q", "arm": "", "value": "17.2", "unit": "share"},
        {"metric": "kappa", "value": "-0.1", "unit": "share"},
        {"study": "s7", "metric": "any_flip", "arm": "base", "value": "148.9"},
    ],
)
def test_what_can_be_is_read(file, change):
    assert len(read_published(file({**ROW, **change}))) == 1


def test_all_wrong_lines_are_named_at_once(file):
    with pytest.raises(StudyError, match=r"line 2: .*\n.*line 4: "):
        read_published(file({**ROW, "mark": "X"}, ROW, {**ROW, "mark": "Y"}))


def test_a_later_study_may_use_words_that_do_not_exist_here_yet(file):
    (row,) = read_published(file({**ROW, "study": "s7", "arm": "jpeg", "metric": "divergence_radius"}))
    assert row.study != AUDITED


@pytest.mark.parametrize("columns", [COLUMNS[1:], (*COLUMNS, "colour"), (*COLUMNS, "n")])
def test_a_missing_unknown_or_doubled_column_is_refused(file, columns):
    with pytest.raises(StudyError, match="line 1"):
        read_published(file(ROW, columns=columns))


def test_a_line_of_another_width_is_refused(file):
    path = file(ROW)
    path.write_text(path.read_text().rstrip("\n") + "\ttoo much\n")
    with pytest.raises(StudyError, match="line 2"):
        read_published(path)


def test_a_study_may_declare_what_is_published_and_nothing_else(shipped):
    cohort, name = "universitytehran/MRI-GBM-MET", "MedGemma-1.5-4B"

    def problems(synthetic=False, **given):
        return published_problems(
            PublishedConfig(**given), shipped, ["mine", "coin"], synthetic=synthetic, baselines=["coin"]
        )

    assert problems(cohort=cohort, models={"mine": name}) == []
    assert "no published one" in problems(cohort=cohort, synthetic=True)[0]
    assert cohort in problems(cohort="MRI-GBM-MET")[0]
    assert "not among the study's models" in problems(models={"other": name})[0]
    assert name in problems(models={"mine": "medgemma"})[0]
    (said,) = problems(models={"coin": name})
    assert "coin is a reader with known answers" in said
    assert said.endswith("models that may be: mine")


def test_a_phantom_study_that_claims_a_published_cohort_stops_before_any_work(project):
    with pytest.raises(StudyError, match=r"report\.published\.cohort: the images of this study were made"):
        load_study({"report": {"published": {"cohort": "universitytehran/MRI-GBM-MET"}}}, root=project)


def test_a_baseline_that_is_declared_a_published_model_stops_before_any_work(project):
    declared = {"published": {"models": {"constant-label": "MedGemma-1.5-4B"}}}
    with pytest.raises(StudyError, match=r"report\.published\.models: constant-label is a reader with known answers"):
        load_study({"models": ["constant-label"], "report": declared}, root=project)
