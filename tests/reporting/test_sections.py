"""Every metric can be seen, whether or not anyone placed it, and every section says what its numbers mean."""

from __future__ import annotations

import re

import pytest

from steadyread.contracts.enums import Metric, Readout, Unit
from steadyread.reporting import lines
from steadyread.reporting.format import cell, number, unit_text, value_text
from steadyread.reporting.lines import single_rows
from steadyread.reporting.lookup import Book
from steadyread.reporting.names import DENOMINATORS, arm_name
from steadyread.reporting.notes import notes_of
from steadyread.reporting.page_tables import DIRECTIONS, directions
from steadyread.reporting.panels import panels_of, texts_of
from steadyread.reporting.sections import sections_of


def words_of(book: Book) -> str:
    """Every cell of every table of the main table and the page's sections."""
    texts = [text for panel in panels_of(book, Readout.TEXT) for line in texts_of(panel) for text in line]
    for section in sections_of(book, Readout.TEXT, book.models):
        for table in section.all_tables:
            texts += [text for line in table.lines for text in line]
    return "\n".join(texts)


def test_the_made_rows_hold_every_metric(study, whole_reader):
    assert {row["metric"] for row in study() + whole_reader()} == {metric.value for metric in Metric}


PAGE_ALONE = {Metric.D_CROSS, Metric.STATUS_SHARE, Metric.READOUT_AGREEMENT}
"""Metrics that stand in the part for engineers."""


@pytest.mark.parametrize("metric", [metric for metric in Metric if metric not in PAGE_ALONE])
def test_every_metric_can_be_seen_with_its_value(study, whole_reader, metric):
    slots = whole_reader(readout="logprob")
    rows = study(models=("model-a",)) + whole_reader() + [row for row in slots if row["metric"] == "slot_prior"]
    shown = words_of(Book(rows))
    values = [row for row in rows if row["metric"] == metric and row["readout"] == "text"]
    assert values
    unseen = [row for row in values if cell(row) not in shown]
    hidden = [row for row in unseen if row["variant"] not in (*DIRECTIONS, None)] if metric == "flip_direction" else []
    assert unseen == hidden


@pytest.mark.parametrize("metric", list(Metric))
def test_a_metric_that_nobody_placed_is_listed_with_label_unit_denominator_and_arms(
    whole_reader, estimate, metric, monkeypatch
):
    for name in ("BY_ARM", "CURVES", "OF_ONE_ARM"):
        monkeypatch.setattr(lines, name, frozenset())
    monkeypatch.setattr(lines, "CONTRASTS", ())
    row = estimate(
        metric=metric.value, denominator="all_arms", arm=None, arms=["base", "reverse", "no_image"], parameter=3.0,
        value=0.12345, low=0.1, high=0.2, n=17,
    )  # fmt: skip
    book = Book([row])
    assert single_rows(book, "m", "text") == [row]
    panel = panels_of(book, Readout.TEXT)[-1]
    ((_, title, text, _),) = texts_of(panel)
    assert metric.label in title
    assert {Unit.SHARE: "%", Unit.POINTS: "points", Unit.NUMBER: ""}[metric.unit] in title
    assert DENOMINATORS[row["denominator"]] in title
    assert "K = 3" in title
    assert "(17)" in text
    notes = " ".join(notes_of(book, [panel], False, 0.95))
    assert f"(base; slices reversed; no image): {metric.label}." in notes


def test_a_number_prints_as_a_number_and_a_share_in_percent(estimate):
    kappa = estimate(metric="kappa", value=-0.0421, low=-0.2, high=0.5)
    assert cell(kappa) == "−0.042 [−0.200, 0.500] (24)"
    assert unit_text(kappa) == ""
    assert [number(value) for value in (12.345, 123.4, -0.0001, None)] == ["12.3", "123", "0.000", "–"]
    assert value_text(estimate(metric="accuracy_swing", value=0.1)) == "10.0"
    assert value_text(estimate(metric="accuracy_difference", value=0.1)) == "+10.0"


def test_a_test_of_several_arms_has_no_interval_to_miss(estimate):
    row = estimate(metric="cochran_q", value=4.25, low=None, high=None, test="permutation", p=0.04)
    assert cell(row) == "4.250 (24)"


def test_a_diagnosis_that_changes_stands_apart_from_unsure_and_the_negatives_are_the_sum_of_their_cells(estimate):
    shares = {
        "label_to_other_label": 0.2, "label_to_unsure": 0.1, "right_to_other_label": 0.15, "right_to_unsure": 0.05,
        "right_to_no_answer": 0.025, "wrong_to_right": 0.3,
    }  # fmt: skip
    rows = [
        estimate(metric="flip_direction", arm="reverse", reference_arm="base", variant=name, value=value, low=None,
                 high=None, denominator="label_known" if "right" in name else "all")
        for name, value in shares.items()
    ]  # fmt: skip
    ((table,),) = [fold.tables for fold in directions(Book(rows), Readout.TEXT)]
    (line,) = table.lines
    found = dict(zip(table.header, line, strict=True))
    assert found["Arm"] == "slices reversed"
    assert found["Diagnosis → other diagnosis"].startswith("20.0 ")
    assert found["Diagnosis → UNSURE"].startswith("10.0 ")
    assert found["Right → anything else, sum of the three"] == "22.5 (24)"


def test_a_sum_with_a_missing_cell_is_no_number(estimate):
    rows = [
        estimate(metric="flip_direction", arm="reverse", reference_arm="base", variant=name, denominator="label_known")
        for name in ("right_to_other_label", "right_to_unsure")
    ]
    ((table,),) = [fold.tables for fold in directions(Book(rows), Readout.TEXT)]
    assert table.lines[0][-1] == "·"


def test_every_section_says_what_it_means_and_names_arms_and_models(whole_reader):
    rows = whole_reader()
    for section in sections_of(Book(rows), Readout.TEXT, ["model-a"]):
        assert all(len(text) > 80 for text in section.meaning)
        assert section.tables
        for table in section.all_tables:
            assert {len(line) for line in table.lines} == {len(table.header)}
            assert not re.search(r"[a-z]_[a-z]", " ".join([table.title, *table.header]))


def test_several_arms_are_listed_once_with_k(whole_reader):
    (steady,) = [item for item in sections_of(Book(whole_reader()), Readout.TEXT, []) if item.key == "steady"]
    listed = "; ".join(arm_name(arm) for arm in ("base", "reverse", "label_swap"))
    (note,) = [note for note in steady.notes if f"({listed})" in note]
    assert all(name.label in note for name in (Metric.REACC, Metric.RECON, Metric.QUADRANT))
    assert any("K = 3" in text for table in steady.tables for text in table.header)


def test_contrasts_carry_the_raw_p_and_that_of_holm(estimate):
    rows = [
        estimate(metric="first_slot", arm="label_swap", reference_arm="base", p=0.031),
        estimate(metric="flip_difference", arm="reverse", reference_arm="shuffle", p=0.012, p_holm=0.024, mde=0.2),
    ]
    (panel,) = panels_of(Book(rows), Readout.TEXT)
    first, difference = texts_of(panel)
    assert first[1].startswith("first slot among slot-followed pairs, % of")
    assert first[3:] == ["0.031", "", ""]
    assert difference[1].startswith("flip rate: slices reversed − slices shuffled, points of")
    assert difference[3:] == ["0.012", "0.024", "20.0"]


def test_what_has_no_value_says_why_below_its_table_once(estimate):
    rows = [
        estimate(model=model, metric="rstd", denominator="label_known", arm="label_swap", reference_arm="base",
                 value=None, low=None, high=None, estimate_status="undefined", reason="none under label_swap")
        for model in ("a", "b")
    ]  # fmt: skip
    ((table,),) = [section.tables for section in sections_of(Book(rows), Readout.TEXT, [])]
    assert table.reasons == ("none under labels swapped",)
