"""The table for people says what the estimates say, in Markdown and in LaTeX."""

from __future__ import annotations

import csv
import io
import re

import pytest

from steadyread.contracts.enums import Readout
from steadyread.reporting.latex import latex_document, latex_escape
from steadyread.reporting.lookup import Book
from steadyread.reporting.main_table import MainTableSettings, main_table, panels_of
from steadyread.reporting.markdown import markdown_escape
from steadyread.reporting.names import SYNTHETIC
from steadyread.stages.job import Files

NUMBER = re.compile(r"[+−]?\d+\.\d")


def settings_for(synthetic: bool = False, readout: str = "text", note: str | None = None) -> MainTableSettings:
    return MainTableSettings.model_validate(
        {
            "report": {"readout": readout, "title": "50 % & more_#1", "note": note},
            "cohort": {"synthetic": synthetic},
            "statistics": {"confidence": 0.95},
            "models_table": [],
        }
    )


@pytest.fixture
def made(tmp_path, put):
    def make(rows, **given):
        outputs = {name: tmp_path / f"main.{name}" for name in ("csv", "markdown", "latex")}
        main_table(Files({"estimates": put("estimates", rows)}), Files(outputs), settings_for(**given), {})
        return {name: path.read_text(encoding="utf-8") for name, path in outputs.items()}

    return make


def csv_numbers(text: str) -> set[str]:
    found = set()
    for row in csv.DictReader(io.StringIO(text)):
        for name in ("value", "low", "high", "bound_low", "bound_high", "mde"):
            if row[name]:
                found.add(f"{abs(100 * float(row[name])):.1f}")
    return found


def test_every_number_in_markdown_and_latex_is_in_the_csv(made, study):
    texts = made(study(readouts=("text", "logprob")))
    known = csv_numbers(texts["csv"])
    for name in ("markdown", "latex"):
        cells = [line for line in texts[name].splitlines() if line.startswith("|") or r"\\" in line]
        shown = {number.lstrip("+−") for line in cells for number in NUMBER.findall(line)}
        # p (Holm) stands with three decimals: read as "0.0" by the pattern for one decimal.
        assert len(shown) > 50
        assert shown - known <= {"0.0"}


def test_the_csv_holds_every_estimate_in_full_precision(made, study):
    rows = study()
    parsed = list(csv.DictReader(io.StringIO(made(rows)["csv"])))
    assert sorted(float(row["value"]) for row in parsed) == sorted(row["value"] for row in rows)


def test_a_row_per_model_and_arm_and_one_readout_after_the_other(made, study):
    text = made(study(readouts=("text", "logprob")), readout="logprob")["markdown"]
    assert text.index("log-probabilities") < text.index("the answer's text")
    assert len(re.findall(r"^\| model-a \| slices reversed \|", text, re.MULTILINE)) == 2


def test_too_few_events_shows_no_interval(made, estimate):
    row = estimate(
        arm="reverse", reference_arm="base", value=0.25, low=None, high=None, estimate_status="too_few_events",
        reason="2 patients differ",
    )  # fmt: skip
    texts = made([row])
    assert "25.0 (24) too few events" in texts["markdown"]
    # The header says "value [95 % interval] (n)".
    assert not re.search(r"\[[+−]?\d+\.\d", texts["markdown"])
    assert "too few events" in texts["latex"]


def test_an_undefined_estimate_gives_its_reason_in_the_notes(made, estimate):
    row = estimate(
        metric="accuracy", denominator="label_known", arm="base", value=None, low=None, high=None, n=0,
        estimate_status="undefined", reason="no label is known",
    )  # fmt: skip
    assert "Undefined: accuracy, 1 cell: no label is known." in made([row])["markdown"]


@pytest.mark.parametrize("synthetic", [True, False])
def test_the_banner_stands_iff_the_images_are_synthetic(made, study, synthetic):
    texts = made(study(), synthetic=synthetic)
    assert all((SYNTHETIC in texts[name]) == synthetic for name in ("markdown", "latex"))


def test_the_studys_note_stands_above_everything_as_text(made, study):
    texts = made(study(), note="a *test* of 5 %\n\n| not a table")
    assert texts["markdown"].splitlines()[2] == "> **a \\*test\\* of 5 % \\| not a table**"
    assert texts["latex"].splitlines()[2] == r"\noindent\textbf{a *test* of 5 \% \textbar{} not a table}\par"
    assert made(study(), note=" ") == made(study())


def test_a_title_makes_no_link_in_markdown():
    assert "](" not in markdown_escape("[see](javascript:1)")
    assert "][" not in markdown_escape("[see][1]")
    assert markdown_escape("flip rate [O]") == "flip rate [O]"


def test_answers_that_nobody_understood_are_noted(made, estimate):
    shares = [
        estimate(metric="status_share", arm="base", variant=name, value=value, low=None, high=None)
        for name, value in (("REFUSED", 0.0), ("UNPARSED", 0.75), ("TRUNCATED", 0.125), ("UNSURE", 0.1))
    ]
    flips = estimate(arm="reverse", reference_arm="base")
    assert "m 12.5 (24); a flip there may be" in made([flips, *shares])["markdown"]
    assert "may be a change between" not in made([flips, shares[0]])["markdown"]


def test_marks_follow_each_number(made, estimate):
    rows = [
        estimate(arm="reverse", reference_arm="base", mark="P"),
        estimate(arm="no_image", reference_arm="base", mark="O"),
        estimate(metric="d_same", denominator="pairs_of_draws", arm="base", mark="O"),
    ]
    text = made(rows)["markdown"]
    assert "50.0 [40.0, 60.0] (24) P" in text
    assert "50.0 [40.0, 60.0] (24) O" in text
    assert "% of pairs of draws [O]" in text


def test_the_main_table_is_of_the_whole_cohort(made, estimate):
    rows = [
        estimate(arm="reverse", reference_arm="base", stratum="all", value=0.5),
        estimate(arm="reverse", reference_arm="base", stratum="site=a", value=0.45),
    ]
    texts = made(rows)
    assert "45.0" not in texts["markdown"]
    assert "0.45" not in texts["csv"]
    assert len(texts["csv"].splitlines()) == 2


def test_no_estimates_make_a_table_that_says_so(made):
    texts = made([])
    assert "There are no estimates." in texts["markdown"]
    assert "There are no estimates." in texts["latex"]


def test_latex_escapes_what_latex_would_read_as_a_command():
    assert latex_escape("50 % & a_b #1 {x} $y$ ~ ^ \\") == (
        r"50 \% \& a\_b \#1 \{x\} \$y\$ \textasciitilde{} \textasciicircum{} \textbackslash{}"
    )
    assert latex_escape("−1 Δ –").isascii()


def test_latex_is_balanced_and_its_rows_are_as_wide_as_its_header(made, study):
    text = made(study(readouts=("text", "logprob")))["latex"]
    assert text.isascii()
    begun, ended = re.findall(r"\\begin\{(\w+)\}", text), re.findall(r"\\end\{(\w+)\}", text)
    assert begun == ended == ["longtable"] * 4
    unescaped = re.sub(r"\\[{}]", "", text)
    depth = 0
    for sign in unescaped:
        depth += (sign == "{") - (sign == "}")
        assert depth >= 0
    assert depth == 0
    for part in text.split(r"\begin{longtable}")[1:]:
        rows = [line for line in part.split(r"\end{longtable}")[0].splitlines() if line.endswith((r"\\", r"\\*"))]
        plain = [re.sub(r"\\&", "", row) for row in rows if r"\multicolumn" not in row]
        assert len({row.count("&") for row in plain}) == 1
    for rule in ("toprule", "midrule", "bottomrule"):
        assert text.count(f"\\{rule}") == 4


def test_numbers_of_the_whole_reader_stand_in_markdown_and_in_plain_ascii_latex(made, whole_reader):
    texts = made(whole_reader())
    assert "Whole reader, read from the answer's text" in texts["markdown"]
    assert re.search(
        r"^\| model-a \| effective reliability Φ, c = 10, over .* \| 0\.\d{3} \[", texts["markdown"], re.MULTILINE
    )
    assert re.search(r"^\| model-a \| Cochran's Q .* \| 0\.041 \|$", texts["markdown"], re.MULTILINE)
    assert texts["latex"].isascii()
    assert r"effective reliability $\Phi$" in texts["latex"]
    for part in texts["latex"].split(r"\begin{longtable}")[1:]:
        rows = [line for line in part.splitlines() if line.endswith((r"\\", r"\\*")) and r"\multicolumn" not in line]
        assert len({row.count("&") for row in rows}) == 1


def test_a_percent_sign_in_the_title_does_not_comment_the_rest_away(study):
    text = latex_document("100 %", panels_of(Book(study()), Readout.TEXT), [])
    assert not re.search(r"(?<!\\)%", text.split("\n", 1)[1])
