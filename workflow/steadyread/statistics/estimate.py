"""Stage `estimate`: from decisions to numbers with their uncertainty."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

import pyarrow as pa
from pydantic import BaseModel, ConfigDict

from ..arms.registry import EVIDENCE_PRESERVING
from ..config.arms import ArmsConfig
from ..config.base import Section
from ..config.models_table import BackendName, BaselineKind
from ..config.question import QuestionConfig
from ..config.statistics import StatisticsConfig
from ..contracts.enums import SLICE_ORDER_ARMS, ArmName, Denominator, Metric
from ..contracts.files import read_table, write_table
from ..contracts.problems import StudyError
from ..contracts.tables import CASES, ESTIMATES, OUTCOMES, TRIALS
from ..stages.job import Files
from .compare import compare
from .estimand import Context, Quantity
from .evaluate import Draws, evaluate
from .evaluate_statistics import evaluate_statistics, evaluate_tests
from .floor import assert_floor_is_zero
from .metrics import STRATIFIED, Asked, asked_of
from .multiplicity import adjust
from .reading import OUTCOME_COLUMNS, readings_of
from .strata import Stratum, strata_of
from .trial_index import CASE_COLUMNS, TRIAL_COLUMNS, Units, index_trials

STRATUM_DENOMINATORS = (Denominator.ALL, Denominator.LABEL_KNOWN, Denominator.ALL_ARMS, Denominator.ALL_ARMS_KNOWN)
"""Denominators of what is estimated by stratum, of four flip rates the one over all; slot-following has its own."""

THREADS = 2
T = TypeVar("T")
R = TypeVar("R")
_LOG = logging.getLogger(__name__)


class CohortLabels(Section):
    """The part of section `cohort` that estimates depend on."""

    labels: tuple[str, ...]
    """The diagnostic labels in canonical order."""


class AskedSource(BaseModel):
    """Of a model's source, what says whether its floor must be zero."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    kind: str
    """hub, folder, built or baseline."""
    baseline: BaselineKind | None = None
    """Which baseline."""


class AskedModel(BaseModel):
    """Of an entry of the models table, what estimates depend on; the rest is let go."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    id: str
    """Name of the model."""
    backend: BackendName
    """What asks it."""
    source: AskedSource
    """Where it comes from."""
    deterministic: bool
    """Whether the same request always gets the same answer."""
    dtype: str
    """Number format."""
    quantisation: str
    """Weight quantisation."""
    device: str
    """Where it runs."""

    @property
    def floor_is_zero(self) -> bool:
        """Whether two draws of a request must agree: float32 on the CPU, and no coin (PROTOCOLS 0.3)."""
        exact = self.device == "cpu" and self.dtype == "float32" and self.quantisation == "none"
        return self.deterministic and exact and self.source.baseline is not BaselineKind.COIN


class EstimateSettings(Section):
    """What the stage depends on."""

    seed: int
    """Seed of the study."""
    cohort: CohortLabels
    """The labels."""
    question: QuestionConfig
    """Whether UNSURE was offered."""
    arms: ArmsConfig
    """What was varied."""
    models_table: tuple[AskedModel, ...]
    """The models that were asked."""
    statistics: StatisticsConfig
    """Intervals and tests."""


def estimate(inputs: Files, outputs: Files, settings: EstimateSettings, wildcards: Mapping[str, str]) -> None:
    """Estimate every metric of every model under every readout, and the differences of compared models.

    Parameters
    ----------
    inputs
        `cases`, `trials` (all shards), `outcomes` (all models and groups).
    outputs
        `estimates`.
    wildcards
        `study`, the study's name.

    Raises
    ------
    StudyError
        If trials and outcomes do not belong together, a model was not asked, or the floor of a
        model that cannot vary is not zero.
    """
    trials = read_table(inputs.all("trials"), TRIALS, TRIAL_COLUMNS)
    cases = read_table(inputs.all("cases"), CASES, CASE_COLUMNS)
    outcomes = read_table(inputs.all("outcomes"), OUTCOMES, OUTCOME_COLUMNS)
    rows = estimate_rows(trials, cases, outcomes, settings, wildcards["study"])
    write_table(outputs.one("estimates"), ESTIMATES, rows)


def estimate_rows(
    trials: pa.Table, cases: pa.Table, outcomes: pa.Table, settings: EstimateSettings, study: str
) -> Sequence[dict[str, Any]]:
    """The rows of the estimates table; tables need only the columns that are read, in any order."""
    if not trials.num_rows:
        raise StudyError("there are no trials to estimate from: every case was left out; see the exclusions tables")
    index = index_trials(trials, cases, settings.cohort.labels)
    draws = Draws.of(settings.statistics, index.units.patients, settings.seed)
    strata = strata_of(index.units, settings.statistics.strata)
    arms = tuple(arm for arm in settings.arms.enabled if arm is not ArmName.REPEAT)
    compared = {name for item in settings.statistics.comparisons for name in (item.model, item.reference)}
    models = {model.id: model for model in settings.models_table}
    rows: list[dict[str, Any]] = []
    kept: dict[tuple[str, str], Asked] = {}

    def contexts() -> Iterator[Context]:
        for model, readings in readings_of(index, outcomes, list(models)):
            for reading in readings.values():
                if models[model].floor_is_zero:
                    assert_floor_is_zero(reading)
                unsure, seed = settings.question.unsure, settings.seed
                yield Context(reading, readings, arms, unsure, EVIDENCE_PRESERVING, SLICE_ORDER_ARMS, seed)

    def estimated(context: Context) -> tuple[Context, Asked, list[dict[str, Any]]]:
        asked = asked_of(context)
        return context, asked, whole_rows(asked, index.units, draws) + strata_rows(asked, index.units, draws, strata)

    for context, asked, found in side_by_side(estimated, contexts()):
        model, readout = context.reading.model, context.reading.readout
        rows += [{"study": study, "model": model, "readout": readout, **row} for row in found]
        if model in compared:
            kept[model, readout] = asked
        _LOG.info("model %s, readout %s is estimated", model, readout)
    between = compare(settings.statistics.comparisons, kept, index.units, draws)
    rows += [{"study": study, **row} for row in between]
    adjust(rows)
    return rows


def side_by_side(function: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
    """A function of each item, in order, a few at a time.

    Threads, since almost all of the time is spent in numpy, which lets others run meanwhile; at most
    THREADS + 1 items are held.
    """
    with ThreadPoolExecutor(THREADS) as pool:
        running: deque[Future[R]] = deque()
        for item in items:
            running.append(pool.submit(function, item))
            if len(running) > THREADS:
                yield running.popleft().result()
        while running:
            yield running.popleft().result()


def whole_rows(asked: Asked, units: Units, draws: Draws) -> list[dict[str, Any]]:
    """What is estimated of one model under one readout over the whole cohort."""
    rows = evaluate(asked.means, units, draws)
    rows += evaluate_statistics(asked.statistics, units, draws)
    rows += evaluate_tests(asked.tests, units, draws)
    return rows


def strata_rows(asked: Asked, units: Units, draws: Draws, strata: Sequence[Stratum]) -> list[dict[str, Any]]:
    """The headline metrics of one model under one readout, stratum by stratum; tests of several arms stay whole."""

    def headline(item: Quantity) -> bool:
        wanted = item.denominator in STRATUM_DENOMINATORS or item.metric is Metric.SLOT_FOLLOWING
        return item.metric in STRATIFIED and wanted

    means = [item for item in asked.means if headline(item)]
    statistics = [item for item in asked.statistics if headline(item)]
    rows: list[dict[str, Any]] = []
    for stratum in strata:
        rows += evaluate([item.within(stratum.units) for item in means], units, draws, stratum.name)
        rows += evaluate_statistics([item.within(stratum.units) for item in statistics], units, draws, stratum.name)
    return rows
