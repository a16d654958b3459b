"""Stage `summary`: one page that holds everything, for a clinician first and an engineer below."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import jinja2

from ..config.arms import ArmsConfig
from ..config.base import Section
from ..config.report import ReportConfig
from ..config.slicing import SlicingConfig
from ..config.statistics import StatisticsConfig
from ..config.words import UNSURE
from ..contracts.enums import ArmName, Metric, Readout
from ..contracts.files import read_rows
from ..contracts.tables import FLOW, SENSITIVITY
from ..stages.job import Files
from .calibration_data import calibration_caption, calibration_data
from .compared import beside_of
from .curves_data import curves_caption, curves_data
from .engine import flow_lines, second_tests, shares
from .exclusions_table import NOTHING, LeftOut, read_left_out
from .findings import answers_of, audited_models, limits_of, overview_of
from .flips_data import flips_caption, flips_data
from .flow_account import flow_caption, flows_of
from .format import confidence_text, counted, one_line, text_list
from .lookup import Book
from .names import LESION_MEANS, MARKS_NOTE, READOUTS, SPELLED, SYNTHETIC, arm_name, in_order
from .notes import notes_of
from .page_tables import by_arm, folds
from .panels import panels_of, texts_of
from .plan import PlanSection, plan_section
from .published import PublishedSection, published_section
from .sections import sections_of
from .settings import ListedModel, baselines_of, display_order
from .strata_table import MEANING as STRATA_MEANING
from .strata_table import NOTHING as NO_STRATA
from .strata_table import strata_tables
from .validity import validity_section

TEMPLATES = Path(__file__).parent / "templates"
MEDIA = {".svg": "image/svg+xml", ".png": "image/png", ".csv": "text/csv", ".md": "text/markdown"}

EMBEDDED = (
    *("main_table", "excluded", "figure", "curves_figure", "calibration_figure", "flow_figure", "contact_sheet"),
)
AGREEMENT = "Text and log-probabilities give the same decision, % of all but errors"
SHOWN_EXCLUSIONS = 50
"""Rows of what was left out that stand on the page; the file has all."""

CONTACT_SHEET_CAPTION = (
    "Contact sheet: cases drawn evenly from the labels, their slices as the models saw them, in anatomical order. "
    "Framed slices are annotated as lesion; boxes are the lesion's, where the annotation gives them. "
    "Radiological display: the patient's right is on the left."
)

ASKED: dict[ArmName, str] = {
    ArmName.BASE: "the slices in anatomical order; every other arm is compared with it",
    ArmName.REVERSE: "the same slices in reverse order: the diagnosis should stay",
    ArmName.SHUFFLE: "the same slices in a random order: the diagnosis should stay",
    ArmName.ROI_FIRST: "the lesion slices moved in front of the others: the diagnosis should stay",
    ArmName.ROI_LAST: "the lesion slices moved behind the others: the diagnosis should stay",
    ArmName.LABEL_SWAP: "the diagnoses offered in another order: the diagnosis should stay",
    ArmName.LABEL_CYCLE: "every answer option, UNSURE too, moved on to another place: the diagnosis should stay",
    ArmName.ABSTAIN_FIRST: "UNSURE offered first: shows whether it is avoided only because it stands last",
    ArmName.LESION_REMOVED: "the slices annotated as lesion taken out: the model should let go",
    ArmName.LESION_REMOVED_MARGIN: "the lesion slices and their neighbours taken out: the model should let go",
    ArmName.REMOVE_FRACTION: "a share of the lesion slices taken out: the less is left, the less sure it should be",
    ArmName.ROI_AT: "the lesion slices put elsewhere in the stack: shows whether the place matters",
    ArmName.REPEAT: "the same request asked again: how much the engine varies by itself",
    ArmName.MATCHED_REMOVED: "as many slices without lesion taken out: the control for lesion slices removed",
    ArmName.ROI_SLICES: "the lesion slices alone: the diagnosis should stay",
    ArmName.ROI_CROPS: "the lesion itself, cropped out of its slices and enlarged: the diagnosis should stay",
    ArmName.NO_IMAGE: "no image at all: what the model says when it is blind",
    ArmName.BLANK_IMAGE: "grey images in place of the slices: blind, in the same form",
    ArmName.MENTION_ONLY: "no image, but words that speak of an MRI: what the mere mention does",
    ArmName.NUMBERED: "each slice with its number in the order shown: the diagnosis should stay",
}
"""What each arm asks and what a steady reader would do."""


class SummaryCohort(Section):
    """The part of section `cohort` that the page needs."""

    synthetic: bool
    """True where the images were made, not acquired."""
    labels: tuple[str, ...]
    """The diagnostic labels in canonical order."""


class SummarySettings(Section):
    """Settings of `summary`."""

    report: ReportConfig
    """Title, and the readout shown first."""
    cohort: SummaryCohort
    """Labels, and whether the images are synthetic."""
    arms: ArmsConfig
    """What was varied."""
    slicing: SlicingConfig
    """How volumes became slices."""
    statistics: StatisticsConfig
    """Confidence of the intervals, and what is compared."""
    models_table: tuple[dict[str, Any], ...]
    """The entries of the study's models; where they lie on this machine is left out."""


@dataclass(frozen=True)
class Found:
    """What the page tells, read from its inputs.

    Attributes
    ----------
    book, flow, excluded, sensitivity
        The estimates, the account of cases, what was left out, the second tests.
    published, plan
        Sections made from published numbers and from the analysis plan.
    embedded
        Data URIs of the tables and the pictures.
    suffix
        Ending of the main table's file, for the name it is saved under.
    """

    book: Book
    flow: Sequence[Mapping[str, Any]]
    excluded: Sequence[LeftOut]
    sensitivity: Sequence[Mapping[str, Any]]
    published: PublishedSection
    plan: PlanSection
    embedded: Mapping[str, str]
    suffix: str


def summary(inputs: Files, outputs: Files, settings: SummarySettings, wildcards: Mapping[str, str]) -> None:
    """Write the summary page: self-contained HTML, no scripts, nothing fetched.

    inputs: `estimates`, `flow`, `sensitivity`, `plan` (JSON), `published` (TSV), `main_table`, `excluded`
    (CSV), `figure`, `curves_figure`, `calibration_figure`, `flow_figure` (SVG), `contact_sheet` (PNG).
    output: `page`.
    """
    listed = _listed(settings)
    book = Book.read(inputs.one("estimates"), display_order(listed))
    found = Found(
        book,
        read_rows(inputs.one("flow"), FLOW),
        read_left_out(inputs.one("excluded")),
        read_rows(inputs.one("sensitivity"), SENSITIVITY),
        published_section(
            book, inputs.one("published"), listed, settings.report.published, settings.statistics.confidence
        ),
        plan_section(inputs.one("plan")),
        {name: data_uri(inputs.one(name)) for name in EMBEDDED},
        inputs.one("main_table").suffix,
    )
    outputs.one("page").write_text(render(found, settings), encoding="utf-8", newline="\n")


def _listed(settings: SummarySettings) -> list[ListedModel]:
    return [ListedModel.model_validate(entry) for entry in settings.models_table]


def data_uri(path: Path) -> str:
    """A file as a data URI; its ending says what it is."""
    return f"data:{MEDIA[path.suffix]};base64,{base64.b64encode(path.read_bytes()).decode('ascii')}"


def render(found: Found, settings: SummarySettings) -> str:
    """The page as text."""
    book, flow, excluded = found.book, found.flow, found.excluded
    readout = settings.report.readout
    confidence = settings.statistics.confidence
    panels = panels_of(book, readout, settings.statistics.comparisons)
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    baselines = [entry["id"] for entry in settings.models_table if entry["source"]["kind"] == "baseline"]
    environment.filters["tied"] = tied
    environment.filters["counted"] = counted
    arms = in_order(arm.value for arm in settings.arms.enabled)
    study = ", ".join(book.studies)
    return environment.get_template("summary.html.j2").render(
        title=settings.report.title,
        study=study,
        note=one_line(settings.report.note),
        banner=SYNTHETIC if settings.cohort.synthetic else None,
        options=text_list(_options(book, settings)),
        models=settings.models_table,
        baselines=baselines,
        whom=_whom(book, flow),
        patients=_patients(book),
        max_slices=settings.slicing.max_slices,
        arms=[(arm_name(arm), ASKED[ArmName(arm)]) for arm in arms],
        readout=READOUTS[readout],
        interval=confidence_text(confidence),
        overview=overview_of(book, readout, settings.models_table),
        answers=answers_of(book, readout, settings.models_table),
        warning=found.plan.warning,
        beside=beside_of(book, readout, settings.statistics.comparisons, found.plan.warning is not None),
        limits=limits_of(book, readout, settings.cohort.synthetic, settings.models_table, found.plan.warning),
        panels=[(panel, _by_model(texts_of(panel))) for panel in panels],
        marks=MARKS_NOTE,
        notes=[
            note
            for note in notes_of(book, panels, settings.cohort.synthetic, confidence)
            if note not in (SYNTHETIC, LESION_MEANS, MARKS_NOTE)
        ],
        nothing_excluded=NOTHING,
        excluded=excluded[:SHOWN_EXCLUSIONS],
        more_excluded=max(len(excluded) - SHOWN_EXCLUSIONS, 0),
        sections=sections_of(book, readout, audited_models(book, settings.models_table)),
        strata=folds(strata_tables(book, readout)),
        strata_meaning=STRATA_MEANING,
        no_strata=NO_STRATA,
        published=found.published,
        sensitivity=second_tests(found.sensitivity, book, readout),
        validity=validity_section(),
        plan=found.plan,
        floor=folds(by_arm(book, readout, Metric.D_SAME, "d_same, % of pairs of draws")),
        cross=folds(by_arm(book, readout, Metric.D_CROSS, "d_cross: a draw of base and a draw of the arm, % of pairs")),
        agreement=folds(by_arm(book, Readout.TEXT, Metric.READOUT_AGREEMENT, AGREEMENT)),
        shares=folds(shares(book, readout)),
        flow=flow_lines(book, flow, readout),
        settings=json.dumps(_plain(settings), indent=2, ensure_ascii=False, sort_keys=True),
        captions=_captions(book, flow, settings),
        command=_command(study),
        embedded=found.embedded,
        table_name=f"main{found.suffix}",
    )


def tied(text: str) -> str:
    """The text with spaces that hold an interval, a unit and n together where lines break."""
    text = re.sub(r"\[[^\]]*\]", lambda found: found[0].replace(" ", "\N{NO-BREAK SPACE}"), text)
    return re.sub(
        r"(?<=\d) (?=%|points|\[)|(?<=\)) (?=[PCTO]\b)|(?<=\b[nKpc]) (?=[=<])|(?<=\b[nKpc] =) ",
        "\N{NO-BREAK SPACE}",
        text,
    )


def _patients(book: Book) -> int:
    return max((row["clusters"] for row in book.rows), default=0)


def _whom(book: Book, flow: Sequence[Mapping[str, Any]]) -> str:
    """How many cases of how many patients; registered and analysed apart where they differ."""
    registered = max((row["cases_in"] for row in flow), default=0)
    analysed = max((row["analysed"] for row in flow), default=0)
    patients = counted(_patients(book), "patient")
    if analysed == registered:
        return f"{counted(registered, 'case')} of {patients}"
    return f"{counted(registered, 'case')} registered, {analysed} of {patients} analysed"


def _options(book: Book, settings: SummarySettings) -> list[str]:
    # Overcommitment is estimated exactly where UNSURE was offered.
    labels = settings.cohort.labels
    named = [f"{label} ({SPELLED[label]})" for label in labels] if set(labels) == set(SPELLED) else labels
    return [*named, *([UNSURE] if book.select(Metric.OVERCOMMITMENT) else [])]


def _captions(book: Book, flow: Sequence[Mapping[str, Any]], settings: SummarySettings) -> dict[str, str]:
    readout, confidence = settings.report.readout, settings.statistics.confidence
    synthetic, grey = settings.cohort.synthetic, baselines_of(_listed(settings))
    return {
        "figure": flips_caption(flips_data(book, readout, grey), readout, synthetic, confidence),
        "curves_figure": curves_caption(curves_data(book, readout, grey), readout, synthetic, confidence),
        "calibration_figure": calibration_caption(
            calibration_data(book, readout, grey), readout, synthetic, confidence
        ),
        "flow_figure": flow_caption(flows_of(flow, readout), readout),
        "contact_sheet": CONTACT_SHEET_CAPTION,
    }


def _command(study: str) -> str:
    """The command that makes the study again; `limit` is part of its name."""
    name, _, limit = study.partition("-limit")
    changes = ([] if name == "default" else [f"study={name}"]) + ([f"limit={limit}"] if limit else [])
    return " ".join(["snakemake", *(["--config", *changes] if changes else [])])


def _by_model(texts: Sequence[list[str]]) -> list[list[list[str]]]:
    """Lines of a panel in groups that share their first cell, in the order they come."""
    return [list(group) for _, group in groupby(texts, key=lambda line: line[0])]


def _plain(settings: SummarySettings) -> dict[str, Any]:
    # What was handed over, not what stands as a default beside it: other settings of a section may differ.
    whole: dict[str, Any] = settings.model_dump(mode="json", exclude_unset=True)
    return whole
