"""Figures: the same bytes for the same numbers, and their data holds what is drawn."""

from __future__ import annotations

import csv
import re
import xml.etree.ElementTree as ElementTree

import matplotlib as mpl
import pytest

from steadyread.contracts.enums import ArmName, Readout
from steadyread.reporting.figures import looks
from steadyread.reporting.flips_data import flips_caption, flips_data
from steadyread.reporting.flips_figure import flips_figure
from steadyread.reporting.flow_account import alike, differences, flow_caption, flows_of, reasons_text
from steadyread.reporting.flow_diagram import FlowDiagramSettings, flow_diagram
from steadyread.reporting.lookup import Book
from steadyread.reporting.names import OTHERWISE, SYNTHETIC, grouped
from steadyread.reporting.settings import FigureSettings
from steadyread.stages.job import Files

KINDS = {"pdf": "pdf", "svg": "svg", "png": "png", "data": "csv"}


@pytest.fixture
def drawn(tmp_path, put):
    def draw(entry, name, rows, folder, settings):
        files = {kind: tmp_path / folder / f"figure.{ending}" for kind, ending in KINDS.items()}
        (tmp_path / folder).mkdir(exist_ok=True)
        entry(Files({name: put(name, rows)}), Files(files), settings, {})
        return files

    return draw


def flips_settings(synthetic: bool = False) -> FigureSettings:
    return FigureSettings.model_validate(
        {
            "report": {"dpi": 72},
            "cohort": {"synthetic": synthetic},
            "statistics": {"confidence": 0.95},
            "models_table": [],
        }
    )


FLOW_SETTINGS = FlowDiagramSettings.model_validate({"report": {"dpi": 72}})


@pytest.mark.parametrize("name", ["estimates", "flow"])
def test_the_same_rows_give_the_same_bytes_whatever_the_users_style(drawn, study, flow, name):
    entry, settings, rows = {
        "estimates": (flips_figure, flips_settings(), study(models=("m",))),
        "flow": (flow_diagram, FLOW_SETTINGS, flow(models=("m",))),
    }[name]
    first = drawn(entry, name, rows, "first", settings)
    with mpl.rc_context({"font.size": 20, "svg.hashsalt": "other", "axes.facecolor": "red"}):
        second = drawn(entry, name, rows[::-1], "second", settings)
    for kind in KINDS:
        assert first[kind].read_bytes() == second[kind].read_bytes(), kind
    assert first["svg"].read_text().count("<path") > 5


def test_text_stays_text_and_the_data_is_of_one_readout_and_denominator(drawn, study):
    rows = study(readouts=("text", "logprob"))
    files = drawn(flips_figure, "estimates", rows, "one", flips_settings(synthetic=True))
    words = {"".join(item.itertext()).strip() for item in ElementTree.parse(files["svg"]).iter() if "text" in item.tag}
    assert {"model-a", "slices reversed", "noise floor", "n = 24", SYNTHETIC} <= words
    data = list(csv.DictReader(files["data"].open()))
    assert len(data) == 5 * 2
    assert {(row["readout"], row["denominator"]) for row in data} == {("text", "all")}


def test_acquired_images_carry_no_banner(drawn, estimate):
    rows = [estimate(arm="reverse", reference_arm="base")]
    assert SYNTHETIC not in drawn(flips_figure, "estimates", rows, "one", flips_settings())["svg"].read_text()
    data = flips_data(Book(rows), Readout.TEXT)
    assert SYNTHETIC not in flips_caption(data, Readout.TEXT, False, 0.95)
    assert SYNTHETIC in flips_caption(data, Readout.TEXT, True, 0.95)


def test_what_may_not_be_drawn_is_not_in_the_data(estimate):
    rows = [
        estimate(arm="reverse", reference_arm="base", estimate_status="too_few_events", reason="few"),
        estimate(arm="no_image", reference_arm="base", bound_low=0.1, bound_high=0.9),
    ]
    reverse, no_image = flips_data(Book(rows), Readout.TEXT)
    assert (reverse["value"], reverse["low"], reverse["high"]) == (0.5, None, None)
    assert (no_image["low"], no_image["bound_low"]) == (0.4, None)


def test_the_floor_is_the_arms_own_where_it_was_asked_twice_else_that_of_base(estimate):
    twice = {"metric": "d_same", "denominator": "pairs_of_draws"}
    rows = [
        estimate(arm="reverse", reference_arm="base"),
        estimate(arm="no_image", reference_arm="base"),
        estimate(**twice, arm="base", value=0.1, low=0.0, high=0.2),
        estimate(**twice, arm="reverse", value=0.3, low=0.2, high=0.4),
    ]
    reverse, no_image = flips_data(Book(rows), Readout.TEXT)
    assert (reverse["floor"], reverse["floor_arm"]) == (0.3, "reverse")
    assert (no_image["floor"], no_image["floor_arm"]) == (0.1, "base")


@pytest.mark.parametrize("asked_twice", [True, False])
def test_a_floor_that_is_bases_is_named_as_such_in_legend_and_caption(drawn, estimate, asked_twice):
    twice = {"metric": "d_same", "denominator": "pairs_of_draws"}
    rows = [estimate(arm="reverse", reference_arm="base"), estimate(**twice, arm="base", value=0.1, low=0.0, high=0.2)]
    rows += [estimate(**twice, arm="reverse", value=0.3, low=0.2, high=0.4)] if asked_twice else []
    words = drawn(flips_figure, "estimates", rows, "one", flips_settings())["svg"].read_text()
    caption = flips_caption(flips_data(Book(rows), Readout.TEXT), Readout.TEXT, False, 0.95)
    assert ("noise floor of base: arm not asked twice" in words) != asked_twice
    assert ("that of the base arm" in caption) != asked_twice


def test_markers_tell_models_apart_without_colour():
    many = looks([f"m{number}" for number in range(11)])
    assert len({marker for _, marker in many.values()}) == 11


def test_nothing_to_draw_is_still_a_figure(drawn, estimate):
    for entry, name, settings in ((flips_figure, "estimates", flips_settings()), (flow_diagram, "flow", FLOW_SETTINGS)):
        files = drawn(entry, name, [], name, settings)
        assert re.search(r"no (flip rate|case)", files["svg"].read_text())


def test_cases_add_up_in_the_diagram(flow):
    (account,) = flows_of(flow(), Readout.TEXT)
    assert account.models == ("model-a", "model-b")
    assert (account.cases_in, account.eligible) == (12, 11)
    for arm in account.arms:
        assert arm.analysed + arm.errors + sum(count for *_, count in arm.reasons) == account.eligible
    lesion = next(arm for arm in account.arms if arm.arm == "lesion_removed")
    assert lesion.reasons == (("compose_trials", "no_lesion", 2),)


def test_models_that_differ_are_named_with_their_numbers(flow):
    rows = flow(models=("a", "b", "c"))
    for row in rows:
        if row["model"] == "c" and row["arm"] == "no_image":
            row.update(analysed=9, errors=2)
    accounts = flows_of(rows, Readout.TEXT)
    assert [account.models for account in accounts] == [("a", "b"), ("c",)]
    assert differences(accounts) == ["c differs: no image: 9 analysed (2 errors of the machine)."]
    lesion = next(arm for arm in accounts[0].arms if arm.arm == "lesion_removed")
    assert reasons_text(lesion.reasons) == ["2 no lesion (composing trials)"]
    assert "Holds for 2 models (a, b)." in flow_caption(accounts, Readout.TEXT)


def test_arms_that_share_an_account_share_a_box_and_none_is_lost(flow):
    (account,) = flows_of(flow(), Readout.TEXT)
    groups = alike(account.arms)
    assert [(item.analysed, names) for item, names in groups] == [
        (11, ["base", "slices reversed", "labels swapped", "repeat", "no image"]),
        (9, ["lesion slices removed", "as many other slices removed"]),
    ]
    assert sum(len(names) for _, names in groups) == len(account.arms)


def test_every_arm_stands_under_one_heading_and_an_unplaced_one_under_the_last():
    found = grouped(arm.value for arm in ArmName)
    placed = [arm for _, members in found for arm in members]
    assert sorted(placed) == sorted(arm.value for arm in ArmName)
    assert found[-1][0] == OTHERWISE
    assert "numbered" in found[-1][1]


def test_agreeing_models_have_no_differences(flow):
    assert differences(flows_of(flow(), Readout.TEXT)) == []
