"""The page says whether the numbers follow a plan that was fixed before the answers were there."""

from __future__ import annotations

import jinja2
import pytest

from steadyread.reporting.plan import plan_section
from steadyread.reporting.summary import TEMPLATES
from steadyread.stages.job import Files
from steadyread.statistics.analysis_plan import plan_analysis
from steadyread.statistics.plan_words import PlanAnalysisSettings

FIRST = {
    "digest": "a" * 32,
    "code": "c" * 32,
    "answers": "none",
    "settings": {"seed": 1, "statistics": {"confidence": 0.95, "strata": None}},
}
SECOND = {
    **FIRST,
    "digest": "b" * 32,
    "answers": "in_study",
    "settings": {"seed": 1, "statistics": {"confidence": 0.9, "strata": ["site"]}},
}


@pytest.fixture
def section(tmp_path):
    """The section of a study with such plans."""

    def make(in_force, before, *tried):
        marks = [{"digest": digest, "code": "c" * 32} for digest in tried]
        settings = {"in_force": in_force, "before_inference": before, "tried": marks}
        path = tmp_path / "plan.json"
        plan_analysis(Files({}), Files({"plan": path}), PlanAnalysisSettings.model_validate(settings), {})
        return plan_section(path)

    return make


@pytest.fixture
def page():
    """The section as it stands on the page."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True, undefined=jinja2.StrictUndefined
    )
    return lambda found: environment.get_template("plan.html.j2").render(plan=found)


def test_a_plan_that_was_kept_shows_one_digest(section, page):
    found = section(FIRST, FIRST)
    assert found.kept
    assert "before any model of this study was asked" in found.statement
    text = page(found)
    assert text.count("a" * 32) == 1
    assert "What changed" not in text


def test_a_plan_changed_after_inference_shows_both_digests_and_what_changed(section, page):
    found = section(SECOND, FIRST)
    assert not found.kept
    assert "changed after inference: 2 settings" in found.statement
    assert (
        found.changes == (("statistics.confidence", "0.95", "0.9"),) or found.changes[0][0] == "statistics.confidence"
    )
    text = page(found)
    assert "a" * 32 in text
    assert "b" * 32 in text
    assert "0.95" in text


def test_code_changed_after_inference_is_said(section):
    found = section({**FIRST, "code": "d" * 32, "answers": "in_study"}, FIRST)
    assert not found.kept
    assert "changed after inference: the code that estimates." in found.statement
    assert found.changes == ()
    assert len(found.plans) == 2


def test_a_plan_written_after_inference_is_no_plan_before_it(section):
    found = section(SECOND, None)
    assert not found.kept
    assert found.statement.startswith("No plan was written before inference")
    assert len(found.plans) == 1


def test_answers_in_the_store_are_said(section):
    known = {**FIRST, "answers": "in_store"}
    found = section(known, known)
    assert not found.kept
    assert "the store already held answers" in found.statement


def test_plans_that_were_tried_in_between_are_said(section, page):
    found = section(FIRST, FIRST, "e" * 32, "f" * 32)
    assert not found.kept
    assert "2 other plans were followed" in found.statement
    assert "e" * 32 in page(found)


def test_a_setting_s_text_is_no_markup(section, page):
    wild = {**FIRST, "settings": {"seed": 1, "labels": ["<b>GBM</b>"]}}
    assert "<b>GBM" not in page(section(SECOND, wild))


def test_a_plan_that_did_not_stand_is_warned_of_and_one_that_did_is_not(section):
    known = {**FIRST, "answers": "in_store"}
    assert section(FIRST, FIRST).warning is None
    assert section(known, known).warning is None
    assert "changed after models had been asked" in section(SECOND, FIRST).warning
    assert "No analysis plan was written" in section(SECOND, None).warning
    assert "Other analysis plans were followed" in section(FIRST, FIRST, "e" * 32).warning
