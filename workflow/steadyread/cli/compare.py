"""Two models of a study side by side, on the same patients, from what lies on disk.

The numbers are those of stage `estimate`: the same functions, the same random draws, two models.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..config.comparisons import Comparison
from ..config.models_table import ModelsTable
from ..config.study import StudyConfig
from ..contracts.enums import ArmName, Denominator, EstimateStatus, Metric, Readout
from ..contracts.files import read_table
from ..contracts.problems import StudyError
from ..contracts.tables import CASES, OUTCOMES, TRIALS
from ..reporting.compared import Compared, claimed_of
from ..reporting.format import cell, confidence_text, interval_text, status_text, value_text
from ..reporting.lookup import Book, Row
from ..reporting.main_table import csv_text
from ..reporting.names import SYNTHETIC, arm_rank
from ..stages.plan import Plan
from ..stages.settings import settings_of
from .studies import named_study, near_miss, require_files
from .text_table import text_table

NOTES = (
    "Differences in percentage points, first model minus second, over the cases that count for both; of pairs that "
    "a model's own answers decide, each model keeps its own. Patients are drawn together for both.",
    "Each interval stands for itself, however many there are; no test is made between models.",
)
WIDTH = 120
"""Columns of a terminal that the headline table and every sentence fit in."""
LONGEST = 21
"""A model with a longer name is called the first or the second in the head of the table."""


@dataclass(frozen=True)
class Headline:
    """A difference that is shown unless others are asked for: how to find it, and a name that is short."""

    title: str
    metric: Metric
    denominator: Denominator
    arm: ArmName | None = None
    reference: ArmName | None = None

    def fits(self, row: Row) -> bool:
        """Whether a row is the one."""
        arms = (None if self.arm is None else self.arm.value, None if self.reference is None else self.reference.value)
        found = (row["metric"], row["denominator"], row["variant"], row["arm"])
        own = (self.metric.value, self.denominator.value, None, arms[0])
        return bool(found == own and (arms[1] is None or row["reference_arm"] == arms[1]))


HEADLINES = (
    Headline("flip rate: slices reversed", Metric.FLIP_RATE, Denominator.ALL, ArmName.REVERSE),
    Headline("label-swap inconsistency", Metric.LABEL_SWAP_INCONSISTENCY, Denominator.ALL, ArmName.LABEL_SWAP),
    Headline(
        "overcommitment: lesion slices removed", Metric.OVERCOMMITMENT, Denominator.ALL, ArmName.LESION_REMOVED
    ),
    Headline(
        "lets go: other − lesion slices removed", Metric.OVERCOMMITMENT_DIFFERENCE, Denominator.ALL,
        ArmName.MATCHED_REMOVED, ArmName.LESION_REMOVED,
    ),
    Headline("accuracy: base", Metric.ACCURACY, Denominator.LABEL_KNOWN, ArmName.BASE),
    Headline("ReCon: same answer under every arm", Metric.RECON, Denominator.ALL_ARMS),
    Headline("ReAcc: right under every arm", Metric.REACC, Denominator.ALL_ARMS_KNOWN),
)  # fmt: skip
"""What stands in front of people without being asked for."""


@dataclass(frozen=True)
class Pair:
    """Two models compared: what a study asked, and every estimate of the two.

    `replanned` are the settings of the statistics, seed included, that the study's own plan has otherwise:
    (setting, in the plan, used here).
    """

    study: StudyConfig
    item: Comparison
    book: Book
    replanned: tuple[tuple[str, str, str], ...] = ()

    def rows(self, readout: Readout) -> list[Row]:
        """The differences under a readout."""
        return self.book.between(self.item.model, self.item.reference, readout.value)

    def csv(self) -> str:
        """Every difference under every readout, with every column of the estimates table."""
        rows = [row for row in self.book.all_rows if row["reference_model"] is not None]
        return csv_text(Book(rows, (self.item.model, self.item.reference)), (self.item,))


def compare_models(first: str, second: str, study_name: str, root: Path) -> Pair:
    """Estimate two models and their differences from a study's outcomes on disk.

    Raises
    ------
    StudyError
        For an unknown study or model, a model compared with itself, or missing files, with the
        command that makes them.
    """
    from ..statistics.estimate import EstimateSettings, estimate_rows
    from ..statistics.reading import OUTCOME_COLUMNS
    from ..statistics.trial_index import CASE_COLUMNS, TRIAL_COLUMNS

    study, models = named_study(study_name, root)
    for name in (first, second):
        _check_model(name, study, models, root)
    if first == second:
        raise StudyError(f"{first} is compared with itself: name two models")
    item = _comparison(first, second, study)
    replanned = _replanned(Plan(study, models, root))
    # Strata are of no use here, and most of the work.
    statistics = study.statistics.model_copy(update={"comparisons": (item,), "strata": ()})
    study = study.model_copy(update={"models": (first, second), "statistics": statistics})
    plan = Plan(study, models, root)
    cases = [f"{plan.results}/cohort/cases.parquet"]
    trials = plan.over_shards("results/{study}/trials/r1/{shard}/trials.parquet")
    outcomes = plan.over_models("results/{study}/outcomes/{model}/{group}/outcomes.parquet")
    require_files([*cases, *trials], root, "cases and trials", study)
    for name in (first, second):
        require_files([path for path in outcomes if f"/{name}/" in path], root, f"outcomes of {name}", study)
    rows = estimate_rows(
        read_table([root / path for path in trials], TRIALS, TRIAL_COLUMNS),
        read_table([root / path for path in cases], CASES, CASE_COLUMNS),
        read_table([root / path for path in outcomes], OUTCOMES, OUTCOME_COLUMNS),
        EstimateSettings.model_validate(settings_of("estimate", study, models)),
        study.name,
    )
    return Pair(study, item, Book(rows, (first, second)), replanned)


def _replanned(workflow: Plan) -> tuple[tuple[str, str, str], ...]:
    """The settings of the statistics that differ between the plan in force and those that are used here."""
    from ..statistics.analysis_plan import changes
    from ..statistics.plan_ledger import LEDGER, plan_settings, read_ledger

    lines = read_ledger(workflow.root / workflow.results / LEDGER)
    if not lines:
        return ()
    planned, now = ({name: whole.get(name) for name in ("seed", "statistics")} for whole in (
        lines[-1].settings, plan_settings(workflow)
    ))  # fmt: skip
    return tuple(
        (item["setting"], json.dumps(item["before"]), json.dumps(item["now"])) for item in changes(planned, now)
    )


def check_target(path: Path) -> None:
    """Refuse a file that could not be written, before anything is computed.

    Raises
    ------
    StudyError
        If its folder does not exist, or it is a folder itself.
    """
    if not path.parent.is_dir():
        raise StudyError(f"--csv {path}: there is no folder {path.parent}; make it, or name another file")
    if path.is_dir():
        raise StudyError(f"--csv {path}: found a folder, expected a file in it")


def metrics_named(names: Sequence[str]) -> tuple[Metric, ...]:
    """Metrics by name.

    Raises
    ------
    StudyError
        For an unknown one, naming those that exist.
    """
    known = [metric.value for metric in Metric]
    for name in names:
        if name not in known:
            raise StudyError(f"there is no metric {name!r}; metrics: {', '.join(known)}.{near_miss(name, known)}")
    return tuple(metric for metric in Metric if metric.value in names)


def report(pair: Pair, readout: Readout, metrics: Sequence[Metric] = (), everything: bool = False) -> Iterator[str]:
    """The comparison for a terminal, line by line.

    Parameters
    ----------
    metrics
        These alone; the headline ones where there is none.
    everything
        All metrics.

    Raises
    ------
    StudyError
        If there is nothing to show under the readout.
    """
    rows = pair.rows(readout)
    if not rows:
        there = [item.value for item in Readout if pair.rows(item)]
        raise StudyError(f"the two models have no readout {readout.value} in common; in common: {', '.join(there)}")
    shown = _chosen(pair, readout, metrics, everything)
    if not shown:
        there = [metric.value for metric in Metric if metric.value in {row["metric"] for row in rows}]
        wanted = ", ".join(metric.value for metric in metrics) or "the headline differences"
        raise StudyError(f"nothing is estimated of {wanted} for both models; estimated: {', '.join(there)}")
    first, second = pair.item.model, pair.item.reference
    patients = max(item.row["clusters"] for item in shown)
    yield f"{first} − {second}: study {pair.study.name}, readout {readout.value}, {patients} patients"
    if pair.study.cohort.is_synthetic:
        yield SYNTHETIC
    for setting, planned, used in pair.replanned:
        yield from _folded(
            f"The plan in the study's folder has another {setting} than was used here: {planned} there, {used} here. "
            "The study's reports may hold other numbers."
        )
    yield ""
    yield from _wide(pair, shown) if everything or metrics else _narrow(pair, shown)
    yield ""
    for note in NOTES:
        yield from _folded(note)
    few = sum(item.row["estimate_status"] == EstimateStatus.TOO_FEW_EVENTS for item in shown)
    if few:
        needed = pair.study.statistics.min_patients_with_event
        yield from _folded(f"Too few events ({few}): fewer than {needed} patients differ, so that no interval holds.")
    if not everything and not metrics:
        yield from _folded(
            f"Headline differences only, where they are defined: {len(shown)} of {len(rows)}; --metric NAME shows "
            "those of one metric, --all every one."
        )


def _folded(text: str) -> list[str]:
    """A sentence in lines that fit a terminal."""
    return textwrap.wrap(text, WIDTH)


def _wide(pair: Pair, shown: Sequence[Compared]) -> Iterator[str]:
    """The whole table: denominators in the titles, n in every cell, patients and claims as columns."""
    first, second = pair.item.model, pair.item.reference
    claims = any(item.claim for item in shown)
    interval = confidence_text(pair.study.statistics.confidence)
    header = ["Compared", first, second, f"Difference [{interval}] (n)", "Patients", *(["Claimed"] if claims else [])]
    lines = [
        [
            _title(item),
            *(cell(_own(pair.book, item.row, name)) for name in (first, second)),
            cell(item.row),
            str(item.row["clusters"]),
            *([item.claim_text] if claims else []),
        ]
        for item in shown
    ]
    yield from text_table(header, lines)


def _narrow(pair: Pair, shown: Sequence[Compared]) -> Iterator[str]:
    """The headline table, in 120 columns; what was claimed stands below it."""
    names = (pair.item.model, pair.item.reference)
    heads = [
        name if len(name) <= LONGEST else f"{place} model"
        for name, place in zip(names, ("first", "second"), strict=True)
    ]
    interval = confidence_text(pair.study.statistics.confidence)
    lines = [
        [
            _short(item.row),
            *(_brief(_own(pair.book, item.row, name)) for name in names),
            " ".join(filter(None, [_brief(item.row), f"({item.row['n']})"])),
        ]
        for item in shown
    ]
    yield from text_table(["Compared, %", *heads, f"Difference [{interval}] (n)"], lines)
    without = sorted({status for item in shown if (status := status_text(item.row))})
    for status in without:
        whose = "; ".join(_short(item.row) for item in shown if status_text(item.row) == status)
        yield from _folded(f"{status.capitalize()}: {whose}.")
    known = {id(item.row) for item in shown}
    claims = claimed_of(pair.book, Readout(shown[0].row["readout"]), pair.item)
    for item in claims:
        title = _short(item.row) if id(item.row) in known else item.title
        yield from _folded(f"{title}: {item.claim_text}.")


def _short(row: Row) -> str:
    """The short name of a headline difference."""
    return next(item.title for item in HEADLINES if item.fits(row))


def _brief(row: Row | None) -> str:
    """Value [low, high]."""
    return "" if row is None else " ".join(filter(None, [value_text(row), interval_text(row)]))


def _chosen(pair: Pair, readout: Readout, metrics: Sequence[Metric], everything: bool) -> list[Compared]:
    rows = pair.rows(readout)
    if not everything and not metrics:
        found = [row for item in HEADLINES for row in rows if item.fits(row)]
        return [Compared(row) for row in found if row["estimate_status"] != EstimateStatus.UNDEFINED]
    known = {id(item.row): item for item in claimed_of(pair.book, readout, pair.item)}
    rows = [row for row in rows if everything or Metric(row["metric"]) in metrics]
    rows.sort(
        key=lambda row: (
            list(Metric).index(Metric(row["metric"])),
            arm_rank(row["arm"]),
            arm_rank(row["reference_arm"]),
            list(Denominator).index(Denominator(row["denominator"])),
            row["variant"] or "",
            -1.0 if row["parameter"] is None else row["parameter"],
        )
    )
    return [known.get(id(row), Compared(row)) for row in rows]


def _title(item: Compared) -> str:
    row = item.row
    further = [] if row["metric"] == Metric.STATUS_SHARE or row["variant"] is None else [str(row["variant"])]
    further += [] if row["parameter"] is None else [f"{row['parameter']:g}"]
    return item.title + (f" ({', '.join(further)})" if further else "")


def _own(book: Book, row: Row, model: str) -> Row | None:
    """A model's own estimate of what a row compares."""
    key = ("arm", "variant", "parameter", "reference_arm", "denominator", "readout")
    found = book.select(Metric(row["metric"]), model=model)
    return next((own for own in found if all(own[name] == row[name] for name in key)), None)


def _check_model(name: str, study: StudyConfig, models: ModelsTable, root: Path) -> None:
    """A model of the study, or one of the models table that was asked once and left its outcomes."""
    listed = [entry.id for entry in models.models]
    asked = [item for item in listed if (root / "results" / study.name / "outcomes" / item).is_dir()]
    known = list(dict.fromkeys([*study.models, *asked]))
    if name not in known:
        raise StudyError(
            f"{name} is no model of study {study.name}; its models: {', '.join(known)}.{near_miss(name, known)}"
        )


def _comparison(first: str, second: str, study: StudyConfig) -> Comparison:
    """The study's own comparison of the two, with what was claimed; else a plain one."""
    for item in study.statistics.comparisons:
        if (item.model, item.reference) == (first, second):
            return item
    return Comparison(model=first, reference=second)
