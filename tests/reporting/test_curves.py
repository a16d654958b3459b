"""Curves and calibration: what is drawn is what was estimated, and a study that has none says so."""

from __future__ import annotations

import csv

import pytest

from steadyread.contracts.enums import Readout
from steadyread.reporting.calibration_data import NOTHING as NO_CONFIDENCE
from steadyread.reporting.calibration_data import calibration_caption, calibration_data
from steadyread.reporting.calibration_figure import calibration_figure
from steadyread.reporting.curves_data import NOTHING as NO_LEVELS
from steadyread.reporting.curves_data import curves_caption, curves_data
from steadyread.reporting.curves_figure import curves_figure
from steadyread.reporting.flips_data import flips_data
from steadyread.reporting.lookup import Book
from steadyread.reporting.settings import FigureSettings, ListedModel, baselines_of
from steadyread.stages.job import Files

ENTRIES = {
    "curves": (curves_figure, FigureSettings, NO_LEVELS),
    "calibration": (calibration_figure, FigureSettings, NO_CONFIDENCE),
}
MODELS = [{"id": "model-a", "family": "idefics3"}, {"id": "coin-2", "family": "baseline"}]


@pytest.fixture
def drawn(tmp_path, put):
    def draw(name, rows, folder="one"):
        entry, settings, _ = ENTRIES[name]
        (tmp_path / folder).mkdir(exist_ok=True)
        files = {kind: tmp_path / folder / f"{name}.{kind}" for kind in ("pdf", "svg", "png")}
        files["data"] = tmp_path / folder / f"{name}.csv"
        given = {
            "report": {"dpi": 72}, "cohort": {"synthetic": True}, "statistics": {"confidence": 0.95},
            "models_table": MODELS,
        }  # fmt: skip
        entry(Files({"estimates": put("estimates", rows)}), Files(files), settings.model_validate(given), {})
        return files

    return draw


@pytest.mark.parametrize("name", list(ENTRIES))
def test_the_same_rows_give_the_same_bytes(drawn, whole_reader, name):
    rows = whole_reader() + whole_reader(model="coin-2")
    first, second = drawn(name, rows, "first"), drawn(name, rows[::-1], "second")
    assert all(first[kind].read_bytes() == second[kind].read_bytes() for kind in first)


@pytest.mark.parametrize("name", list(ENTRIES))
def test_a_study_without_points_says_what_is_missing(drawn, study, name):
    files = drawn(name, study())
    said = " ".join(files["svg"].read_text().split())
    assert ENTRIES[name][2] in said
    assert len(files["data"].read_text().splitlines()) == 1


def test_a_point_is_drawn_where_it_was_estimated_and_baselines_without_interval(drawn, whole_reader):
    rows = whole_reader() + whole_reader(model="coin-2")
    data = list(csv.DictReader(drawn("curves", rows)["data"].open()))
    known = {
        (row["model"], row["metric"], row["parameter"]): row
        for row in rows
        if row["metric"] in {item["metric"] for item in data}
    }
    assert len(known) == len(data) > 10
    for item in data:
        row = known[item["model"], item["metric"], float(item["parameter"])]
        assert float(item["value"]) == row["value"]
        assert (item["low"] == "") == (item["baseline"] == "yes")


def test_a_level_without_enough_patients_has_no_interval_and_is_still_a_point(estimate):
    row = estimate(
        metric="dose_response", denominator="all_arms", arm="remove_fraction", reference_arm="base", variant="0.5",
        parameter=0.5, value=0.9, low=0.7, high=1.0, estimate_status="too_few_events", reason="few",
    )  # fmt: skip
    (point,) = curves_data(Book([row]), Readout.TEXT, [])
    assert (point["value"], point["low"], point["high"]) == (0.9, None, None)


def test_captions_name_what_is_missing(estimate):
    row = estimate(
        metric="dose_flips", denominator="all_arms", arm="remove_fraction", reference_arm="base", variant="0.5",
        parameter=0.5,
    )  # fmt: skip
    caption = curves_caption(curves_data(Book([row]), Readout.TEXT, []), Readout.TEXT, False, 0.95)
    assert "Not asked in this study: " in caption
    assert "Right, lesion slices moved" in caption
    assert curves_caption([], Readout.TEXT, False, 0.95) == NO_LEVELS
    assert calibration_caption([], Readout.TEXT, False, 0.95) == NO_CONFIDENCE


def test_the_optimum_is_the_best_order_and_the_verbal_point_is_one_minus_the_accuracy(estimate):
    rows = [
        estimate(metric="risk_at_coverage", denominator="label_known", arm="base", parameter=1.0, value=0.3, low=0.2,
                 high=0.4),
        estimate(metric="coverage", denominator="label_known", arm="base", value=0.8, low=0.7, high=0.9),
        estimate(metric="selective_accuracy", denominator="answered_known", arm="base", value=0.75, low=0.6, high=0.85),
    ]  # fmt: skip
    data = calibration_data(Book(rows), Readout.TEXT, [])
    best = {row["x"]: row["y"] for row in data if row["curve"] == "optimum"}
    assert best[0.5] == best[0.7] == 0
    assert best[1.0] == pytest.approx(0.3)
    assert best[0.8] == pytest.approx(0.125)
    # area under it: e + (1 - e) ln(1 - e)
    (verbal,) = [row for row in data if row["curve"] == "verbal"]
    assert (verbal["x"], verbal["y"]) == (0.8, 0.25)
    assert (verbal["low"], verbal["high"]) == (pytest.approx(0.15), pytest.approx(0.4))


def test_where_every_model_is_a_baseline_none_is_in_the_background():
    coin, model = (ListedModel.model_validate(entry) for entry in reversed(MODELS))
    assert baselines_of([coin, model]) == ["coin-2"]
    assert baselines_of([coin]) == []


def test_baselines_are_drawn_small_beside_models_and_as_models_where_there_is_no_other(study):
    book = Book(study())
    rows = flips_data(book, Readout.TEXT, ["model-b"])
    assert {row["baseline"] for row in rows if row["model"] == "model-b"} == {"yes"}
    assert all(row["low"] is None for row in rows if row["model"] == "model-b")
    assert all(row["low"] is not None for row in rows if row["model"] == "model-a")
    assert not any(row["baseline"] == "yes" for row in flips_data(book, Readout.TEXT))
