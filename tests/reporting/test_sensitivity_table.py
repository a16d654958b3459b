"""The sensitivity analysis in front of people: both p side by side, and whether they agree."""

from __future__ import annotations

import csv

from steadyread.contracts.files import write_table
from steadyread.contracts.tables import SENSITIVITY
from steadyread.reporting.sensitivity import NOTHING, agreement_sentence, markdown_text, sensitivity_lines
from steadyread.stages.dispatch import run_stage


def row(**given):
    plain = {
        "study": "demo",
        "model": "model-a",
        "readout": "text",
        "metric": "accuracy_difference",
        "denominator": "label_known",
        "arm": "reverse",
        "variant": None,
        "reference_arm": "base",
        "n": 180,
        "clusters": 90,
        "odds_ratio": 0.5,
        "low": 0.25,
        "high": 0.9876,
        "p": 0.04,
        "p_primary": 0.03,
        "level": 0.05,
        "agrees": True,
        "estimate_status": "ok",
        "reason": None,
        "method": "GEE",
    }
    return {**plain, **given}


UNDEFINED = row(
    metric="overcommitment_difference",
    denominator="all",
    arm="matched_removed",
    reference_arm="lesion_removed",
    odds_ratio=None,
    low=None,
    high=None,
    p=None,
    agrees=None,
    estimate_status="undefined",
    reason="no case differs between the two arms",
)
ROWS = [
    UNDEFINED,
    row(readout="logprob"),
    row(model="model-b", p=0.2, agrees=False),
    row(metric="flip_difference", reference_arm="shuffle", denominator="all"),
    row(),
]


def test_a_line_says_contrast_ratio_both_p_and_agreement():
    (line,) = sensitivity_lines([row()], ["model-a"])
    assert line.texts == (
        "model-a",
        "accuracy: slices reversed − base, of cases whose label is known",
        "0.50 [0.25, 0.99] (180)",
        "0.040",
        "0.030",
        "yes",
    )


def test_what_could_not_be_fitted_has_no_number_and_its_reason_stands_below():
    (line,) = sensitivity_lines([UNDEFINED], [])
    assert line.texts[2:] == ("–", "", "0.030", "undefined")
    assert "- no case differs between the two arms: 1 contrast" in markdown_text([UNDEFINED], [], synthetic=False)


def test_a_contrast_without_a_model_is_shown_where_the_primary_test_found_it_and_counted_where_not():
    found, quiet = UNDEFINED, {**UNDEFINED, "model": "model-b", "p_primary": 1.0}
    text = markdown_text([found, quiet], [], synthetic=False)
    assert "| model-a |" in text
    assert "| model-b |" not in text
    assert "no case differs between the two arms: 2 contrasts" in text


def test_models_stand_in_the_study_s_order_and_the_text_readout_first():
    lines = sensitivity_lines(ROWS, ["model-b", "model-a"])
    assert [line.model for line in lines] == ["model-b", *["model-a"] * 4]
    assert [line.readout.value for line in lines] == ["text"] * 4 + ["logprob"]
    again = sensitivity_lines(ROWS[::-1], ["model-b", "model-a"])
    assert again == lines


def test_agreement_is_counted_over_what_could_be_fitted():
    assert agreement_sentence(ROWS) == (
        "At level 0.05 the two tests agree on 3 of 4 contrasts. 1 further contrast could not be fitted."
    )
    assert agreement_sentence([]) == NOTHING
    assert "none could be fitted" in agreement_sentence([UNDEFINED])


def test_the_stage_writes_every_column_and_a_table_with_the_banner(tmp_path):
    write_table(tmp_path / "sensitivity.parquet", SENSITIVITY, ROWS)
    settings = {"cohort": {"synthetic": True}, "models_table": [{"id": "model-a", "family": "baseline"}]}
    outputs = {"csv": tmp_path / "out.csv", "markdown": tmp_path / "out.md"}
    inputs = {"sensitivity": tmp_path / "sensitivity.parquet"}
    run_stage("sensitivity_table", inputs, outputs, settings, {"study": "demo"}, root=tmp_path)
    with open(outputs["csv"], newline="") as stream:
        written = list(csv.DictReader(stream))
    assert list(written[0]) == SENSITIVITY.schema.names
    assert len(written) == len(ROWS)
    text = outputs["markdown"].read_text()
    assert "Synthetic images" in text
    assert text.count("| model-a |") == 4
