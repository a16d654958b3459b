"""Two models of a study side by side, on the same patients, from what lies on disk.

The numbers are those of stage `estimate`: the same functions, the same random draws, two models.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..config.comparisons import Comparison
from ..config.models_table import ModelsTable
from ..config.study import StudyConfig
from ..contracts.enums import Denominator, EstimateStatus, Metric, Readout
from ..contracts.files import read_table
from ..contracts.problems import StudyError
from ..contracts.tables import CASES, OUTCOMES, TRIALS
from ..reporting.compared import Compared, compared_of
from ..reporting.format import cell, confidence_text
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


@dataclass(frozen=True)
class Pair:
    """Two models compared: what a study asked, and every estimate of the two."""

    study: StudyConfig
    item: Comparison
    book: Book

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
    return Pair(study, item, Book(rows, (first, second)))


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
        wanted = ", ".join(metric.value for metric in metrics)
        raise StudyError(f"nothing is estimated of {wanted} for both models; estimated: {', '.join(there)}")
    first, second = pair.item.model, pair.item.reference
    patients = max(item.row["clusters"] for item in shown)
    interval = confidence_text(pair.study.statistics.confidence)
    yield f"{first} − {second}: study {pair.study.name}, readout {readout.value}, {patients} patients"
    if pair.study.cohort.is_synthetic:
        yield SYNTHETIC
    yield ""
    claims = any(item.claim for item in shown)
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
    yield ""
    yield from NOTES
    few = sum(item.row["estimate_status"] == EstimateStatus.TOO_FEW_EVENTS for item in shown)
    if few:
        needed = pair.study.statistics.min_patients_with_event
        yield f"Too few events ({few}): fewer than {needed} patients differ, so that no interval holds."
    if not everything and not metrics:
        yield (
            f"Headline metrics only, where they are defined: {len(shown)} of {len(rows)} differences; "
            "--all shows every one."
        )


def _chosen(pair: Pair, readout: Readout, metrics: Sequence[Metric], everything: bool) -> list[Compared]:
    headline = [
        item for _, claimed, others in compared_of(pair.book, readout, (pair.item,)) for item in (*claimed, *others)
    ]
    if not everything and not metrics:
        return [item for item in headline if item.claim or item.row["estimate_status"] != EstimateStatus.UNDEFINED]
    known = {id(item.row): item for item in headline}
    rows = [row for row in pair.rows(readout) if everything or Metric(row["metric"]) in metrics]
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
