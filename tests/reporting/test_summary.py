"""The page stands alone, says the banner and the limits, and every picture has words."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from steadyread.contracts.enums import Readout
from steadyread.reporting.exclusions_table import ExclusionsTableSettings, exclusions_table
from steadyread.reporting.findings import answers_of, limits_of, overview_of
from steadyread.reporting.format import percent
from steadyread.reporting.lookup import Book
from steadyread.reporting.names import LESION_MEANS, SYNTHETIC
from steadyread.reporting.panels import panels_of
from steadyread.reporting.summary import SummarySettings, summary, tied
from steadyread.stages.job import Files
from steadyread.statistics.analysis_plan import plan_analysis
from steadyread.statistics.plan_words import PlanAnalysisSettings

PLAN = {"digest": "a" * 32, "code": "c" * 32, "answers": "none", "settings": {"seed": 1}}
HEAD = {"report": {"title": "An audit"}, "cohort": {"synthetic": True}}
VOID = {"meta", "img", "br", "hr", "link", "input"}
MODELS = [
    {"id": "model-a", "family": "idefics3", "source": {"kind": "built", "seed": 0}},
    {"id": "model-b", "family": "baseline", "source": {"kind": "baseline", "baseline": "coin", "value": "2"}},
]


class Page(HTMLParser):
    """Checks that elements nest, and collects what they carry."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        assert len(dict(attrs)) == len(attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words += data

    def of(self, name):
        return [attributes for tag, attributes in self.tags if tag == name]


PICTURES = ("figure", "curves_figure", "calibration_figure", "flow_figure")


@pytest.fixture
def page(tmp_path, put, flow, project):
    plan = tmp_path / "analysis_plan.json"

    def make(
        rows, synthetic=True, flow_rows=None, title="An audit", note=None, excluded=(), comparisons=(), sensitivity=(),
        before=PLAN,
    ):  # fmt: skip
        planned = PlanAnalysisSettings.model_validate({"in_force": PLAN, "before_inference": before, "tried": []})
        plan_analysis(Files({}), Files({"plan": plan}), planned, {})
        inputs = {
            "estimates": put("estimates", rows),
            "flow": put("flow", flow() if flow_rows is None else flow_rows),
            "sensitivity": put("sensitivity", list(sensitivity)),
            "published": project / "config" / "published.tsv",
            "plan": plan,
        }
        for name, ending in (("main_table", "csv"), ("contact_sheet", "png"), *((name, "svg") for name in PICTURES)):
            inputs[name] = tmp_path / f"{name}.{ending}"
            inputs[name].write_bytes(b"content of " + name.encode())
        inputs["excluded"] = tmp_path / "exclusions.csv"
        tables = {"csv": inputs["excluded"], "markdown": tmp_path / "exclusions.md"}
        found = {"exclusions": put("exclusions", list(excluded))}
        exclusions_table(Files(found), Files(tables), ExclusionsTableSettings.model_validate(HEAD), {})
        settings = SummarySettings.model_validate(
            {
                "report": {"title": title, "note": note}, "cohort": {"synthetic": synthetic, "labels": ["GBM", "MET"]},
                "arms": {}, "slicing": {}, "models_table": MODELS,
                "statistics": {"comparisons": comparisons},
            }
        )  # fmt: skip
        summary(Files(inputs), Files({"page": tmp_path / "summary.html"}), settings, {})
        return (tmp_path / "summary.html").read_text(encoding="utf-8")

    return make


def test_the_page_is_well_formed_and_refers_to_nothing_outside_itself(page, study):
    text = page(study(readouts=("text", "logprob")))
    parsed = Page(text)
    for tag, attributes in parsed.tags:
        for name in ("src", "href", "data", "poster", "srcset", "action"):
            if name in attributes:
                assert attributes[name].startswith(("data:", "#")), (tag, attributes[name][:80])
        assert not any(name.startswith("on") for name in attributes)
    assert not parsed.of("script")
    assert not parsed.of("link")
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)[1]
    assert "url(" not in style
    assert "@import" not in style
    assert "prefers-color-scheme: dark" in style
    assert parsed.of("html") == [{"lang": "en"}]
    ids = [attributes["id"] for _, attributes in parsed.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    targets = {item["href"][1:] for item in parsed.of("a") if item["href"].startswith("#")}
    assert targets <= set(ids)


def test_every_picture_has_words_and_every_heading_cell_a_scope(page, study, whole_reader):
    parsed = Page(page(study() + whole_reader()))
    assert len(parsed.of("img")) == 5
    assert all(len(item["alt"]) > 40 for item in parsed.of("img"))
    assert all(item["scope"] in ("col", "row") for item in parsed.of("th"))


def test_what_a_title_holds_is_text_not_markup(page, study):
    assert "<b>x</b>" not in page(study(), title="<b>x</b>")


@pytest.mark.parametrize("synthetic", [True, False])
def test_the_banner_stands_iff_the_images_are_synthetic(page, study, synthetic):
    parsed = Page(page(study(), synthetic=synthetic))
    assert (SYNTHETIC in parsed.words) == synthetic
    header = page(study(), synthetic=synthetic).split("</header>")[0]
    assert ('class="banner"' in header) == synthetic


def test_a_plan_that_changed_after_inference_stands_above_the_answer_and_in_the_limits(page, study):
    text = page(study(), before={**PLAN, "digest": "b" * 32})
    warned = "The analysis plan was changed after models had been asked"
    for part in ("answer", "limits"):
        assert warned in text.split(f'aria-labelledby="{part}">')[1].split("</section>")[0]
    assert warned not in page(study())


def test_labels_are_spelled_out_once(page, study):
    words = Page(page(study())).words
    assert words.count("GBM (glioblastoma), MET (brain metastasis)") == 1


def test_the_same_inputs_give_the_same_bytes(page, study):
    rows = study()
    assert page(rows) == page(rows[::-1])


def test_the_answer_gives_value_interval_and_n_of_audited_models_only(page, estimate):
    rows = [
        estimate(model=model, arm="reverse", reference_arm="base", value=0.489, low=0.412, high=0.566, n=180)
        for model in ("model-a", "model-b")
    ]
    answers = answers_of(Book(rows), Readout.TEXT, MODELS)
    assert [answer.model for answer in answers] == ["model-a"]
    assert answers[0].sentences == (
        "With the slices in reverse order its answer changed in 48.9 % [41.2, 56.6], n = 180.",
    )


@pytest.mark.parametrize(
    ("low", "high", "status", "said"),
    [
        (
            0.1,
            0.3,
            "ok",
            "It lets go more often where the annotated lesion is gone than where as much else is taken away",
        ),
        (-0.1, 0.3, "ok", "The interval includes 0"),
        (-0.3, -0.1, "ok", "commits itself more"),
        (None, None, "too_few_events", "cannot be said from these cases"),
        (0.1, 0.3, "incomplete", "cannot be said from these cases"),
    ],
)
def test_the_lesion_contrast_is_read_only_as_far_as_its_interval_goes(estimate, low, high, status, said):
    row = estimate(
        model="model-a", metric="overcommitment_difference", arm="matched_removed", reference_arm="lesion_removed",
        value=0.2 if low is None else (low + high) / 2, low=low, high=high, estimate_status=status,
        reason=None if status == "ok" else "why", n_error=2 if status == "incomplete" else 0,
    )  # fmt: skip
    (answer,) = answers_of(Book([row]), Readout.TEXT, MODELS)
    assert said in answer.sentences[0]


def test_limits_name_missing_labels_power_and_too_few_events(estimate):
    rows = [
        estimate(metric="overcommitment", arm="base", n=10),
        estimate(metric="accuracy", denominator="label_known", arm="base", n=6),
        estimate(
            metric="overcommitment_difference", arm="matched_removed", reference_arm="lesion_removed", mde=0.31,
            low=None, high=None, estimate_status="too_few_events", reason="few",
        ),
    ]  # fmt: skip
    text = " ".join(limits_of(Book(rows), Readout.TEXT, synthetic=False))
    assert "known for 6 of 10 cases" in text
    assert "31.0 points" in text
    assert "Too few events for an interval in 1 of 3 estimates" in text
    assert SYNTHETIC not in text
    unknown = " ".join(limits_of(Book(rows[:1]), Readout.TEXT, synthetic=True))
    assert "No case has a known diagnosis" in unknown
    assert SYNTHETIC in unknown


@pytest.mark.parametrize(
    ("value", "often"),
    [(0.25, "more often"), (0.0004, "as often"), (0.0, "as often"), (-0.0004, "as often"), (-0.25, "less often")],
)
def test_more_less_and_as_often_follow_the_printed_difference(estimate, value, often):
    row = estimate(
        model="model-a", metric="overcommitment_difference", arm="matched_removed", reference_arm="lesion_removed",
        value=value, low=value - 0.1, high=value + 0.1,
    )  # fmt: skip
    (answer,) = answers_of(Book([row]), Readout.TEXT, MODELS)
    assert f"a diagnosis {often} with" in answer.sentences[0]


@pytest.mark.parametrize(("lost", "warned"), [(0.0, False), (0.05, False), (0.0625, True), (1.0, True)])
def test_garbage_is_said_before_any_flip_and_stands_in_the_table(estimate, lost, warned):
    shares = {"REFUSED": 0.0, "UNPARSED": lost, "TRUNCATED": 0.0, "UNSURE": 0.0}
    rows = [
        estimate(model="model-a", arm="reverse", reference_arm="base"),
        *[
            estimate(model="model-a", metric="status_share", arm="base", variant=name, value=value, n=80)
            for name, value in shares.items()
        ],
    ]
    (answer,) = answers_of(Book(rows), Readout.TEXT, MODELS)
    assert ("answers that nobody understood" in answer.sentences[0]) == warned
    titles, lines = overview_of(Book(rows), Readout.TEXT, MODELS)
    column = titles.index("Understood on base, %")
    assert lines[0][2][column] == f"{percent(1 - lost)} (80)"


def test_readers_with_known_answers_come_last_in_every_table(study):
    models = [{**MODELS[1], "id": "a-coin"}, {**MODELS[0], "id": "z-model"}]
    book = Book(study(models=("a-coin", "z-model")), order=["z-model", "a-coin"])
    assert book.models == ["z-model", "a-coin"]
    assert [line[0] for line in overview_of(book, Readout.TEXT, models)[1]] == ["z-model", "a-coin"]
    assert [panels_of(book, Readout.TEXT)[0].lines[place].model for place in (0, -1)] == ["z-model", "a-coin"]


def test_long_tables_are_folded_and_marks_explained_above_them(page, study):
    text = page(study(readouts=("text", "logprob")))
    section = text.split('<h2 id="table">')[1].split("</section>")[0]
    assert section.count("<details>") == section.count("<table>") == 4
    marks = section.split("<details>")[0]
    assert all(f"[{mark}]" in marks for mark in "PCTO")


def test_what_was_left_out_stands_on_the_page_up_to_fifty_rows(page, study, exclusion):
    few = [exclusion("c1", detail="<b>no</b>"), exclusion("c2", stage="compose_trials", arm="no_image")]
    text = page(study(), excluded=few)
    words = Page(text).words
    assert "c1every armunreadable: <b>no</b>\nc2no imageunreadable: no header" in words
    assert "more in exclusions.csv" not in words
    assert (
        "3 more in exclusions.csv." in Page(page(study(), excluded=[exclusion(f"c{n:02d}") for n in range(53)])).words
    )
    assert "Nothing was left out." in Page(page(study())).words
    assert {"href": "#left-out"} in Page(text).of("a")


def test_the_studys_note_is_a_banner_and_text(page, study):
    assert "&lt;i&gt;only&lt;/i&gt; a test" in page(study(), synthetic=False, note="<i>only</i> a\n test")


def test_the_head_tells_registered_from_analysed(page, study, flow):
    assert "12 cases registered, 11 of 12 patients analysed" in Page(page(study())).words
    whole = [{**row, "analysed": 12, "excluded": 0, "reasons": []} for row in flow()]
    assert "12 cases of 12 patients" in Page(page(study(), flow_rows=whole)).words


def test_limits_say_what_lesion_means_iff_lesion_slices_are_taken_away(estimate):
    bare, lesion = estimate(arm="reverse", reference_arm="base"), estimate(arm="lesion_removed", reference_arm="base")
    assert LESION_MEANS not in limits_of(Book([bare]), Readout.TEXT, synthetic=False)
    assert LESION_MEANS in limits_of(Book([bare, lesion]), Readout.TEXT, synthetic=False)


def test_limits_name_whom_no_difference_could_have_been_found(estimate):
    rows = [
        estimate(
            model=model, metric="overcommitment_difference", arm="matched_removed", reference_arm="lesion_removed",
            mde=mde,
        )
        for model, mde in (("a", 0.5), ("b", 1.2))
    ]  # fmt: skip
    text = " ".join(limits_of(Book(rows), Readout.TEXT, synthetic=False))
    assert "below 50.0 points" in text
    assert "of b no difference could have been found" in text
    assert "120" not in text


def test_a_study_without_estimates_is_still_a_page(page):
    parsed = Page(page([], flow_rows=[]))
    assert "There are no estimates." in parsed.words


def test_an_interval_does_not_break_over_lines():
    assert tied("48.9 % [41.2, 56.6], n = 180").split(" ") == ["48.9\xa0%", "[41.2,\xa056.6],", "n\xa0=\xa0180"]
    assert tied("48.9 [41.2, 56.6] (180) P").split(" ") == ["48.9\xa0[41.2,\xa056.6]", "(180)\xa0P"]


def test_the_page_has_a_section_on_two_models_compared_iff_there_is_a_comparison(page, study, estimate):
    claim = {"metric": "flip_rate", "arm": "reverse", "side": "lower"}
    pair = {"model": "model-a", "reference": "model-b", "expected": [claim]}
    differences = [
        estimate(model="model-a", reference_model="model-b", arm="reverse", reference_arm="base", value=-0.3, low=-0.5,
                 high=-0.1),
        estimate(model="model-a", reference_model="model-b", metric="accuracy", denominator="label_known", arm="base",
                 value=0.013, low=-0.1, high=0.1),
    ]  # fmt: skip
    text = page(study() + differences, comparisons=[pair])
    section = Page(text.split('aria-labelledby="compared">')[1].split("</section>")[0]).words
    assert "1 difference. Held: 1; not shown: 0; contradicted: 0." in section
    assert "claimed lower: yes (interval excludes 0)" in section
    assert section.index("flip rate: slices reversed") < section.index("accuracy: base")
    assert {"href": "#compared"} in Page(text).of("a")
    unclaimed = page(study() + differences, comparisons=[{**pair, "expected": []}])
    assert "Nothing was claimed of model-a before the audit." in Page(unclaimed).words
    assert 'id="compared"' not in page(study())
