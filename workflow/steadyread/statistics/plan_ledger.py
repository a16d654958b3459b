"""The ledger of a study's analysis plans: written when a run starts, beside the jobs, never by one.

A plan is no input of inference, so a changed plan asks no model again. Snakemake calls
`PlanLedger.record` before its first job, and not in a dry run. A run in which plan or code changed
adds a line; no line is ever changed, and each names the one before it, so that a line changed by hand
is noticed (the last ones taken away are not: no file can prove that of itself). What the reports say
of the plan comes through `PlanLedger.params`, the same before and after the line is written.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from ..config.study import StudyConfig
from ..contracts.enums import Metric
from ..contracts.problems import StudyError
from ..contracts.publishing import publish
from ..identity.digests import digest_json
from ..inference.journal import journal_folder
from ..stages.plan import Plan as Workflow
from ..stages.registry import code_digest
from ..stages.settings import settings_of
from .plan_words import KnownAnswers, Plan, PlanAnalysisSettings, PlanMark

LEDGER = "analysis_plans.jsonl"
CALLED_FOR_BY = frozenset({"infer", "score", "estimate", "plan_analysis"})
"""Stages whose run writes the plan: those that make answers, and those that follow it."""


class LedgerLine(Plan):
    """A line of the ledger."""

    previous: str | None
    """Digest of the line before; null for the first."""
    written: str = Field(exclude=True)
    """When it was written (UTC): for people, part of no digest."""

    @property
    def line_digest(self) -> str:
        """Digest of the line, without its time."""
        return digest_json(self.model_dump(mode="json"))

    @property
    def text(self) -> str:
        """The line."""
        return json.dumps({**self.model_dump(mode="json"), "written": self.written}, sort_keys=True) + "\n"


class PlanLedger:
    """The plans of a study, and the one that a run would follow."""

    def __init__(self, path: Path, lines: Sequence[LedgerLine], now: Plan) -> None:
        self.path = path
        self._written = list(lines)
        self._next: LedgerLine | None = None
        if not lines or lines[-1].identity != now.identity:
            moment = datetime.now(UTC).isoformat(timespec="seconds")
            previous = lines[-1].line_digest if lines else None
            self._next = LedgerLine(**now.model_dump(), previous=previous, written=moment)

    @classmethod
    def open(cls, workflow: Workflow) -> PlanLedger:
        """Read the ledger of the workflow's study and see which answers there are. Writes nothing.

        Raises
        ------
        SystemExit
            If the ledger was changed by hand, saying where and what to do.
        """
        results = workflow.root / workflow.results
        try:
            lines = read_ledger(results / LEDGER)
        except StudyError as error:
            raise SystemExit(f"steadyread: {error}") from error
        settings = plan_settings(workflow)
        now = Plan(
            digest=digest_json(settings),
            code=code_digest("estimate"),
            answers=known_answers(workflow.study, workflow, results),
            settings=settings,
        )
        return cls(results / LEDGER, lines, now)

    @property
    def lines(self) -> list[LedgerLine]:
        """The lines as they are once this run has begun."""
        return self._written if self._next is None else [*self._written, self._next]

    def params(self, wildcards: Any) -> dict[str, Any]:
        """The `settings` param of rule `plan_analysis`."""
        del wildcards
        return account_of(self.lines).model_dump(mode="json")

    def record(self, stages: Iterable[str]) -> None:
        """Write down the plan that this run follows, if it is not the last one already.

        Parameters
        ----------
        stages
            Names of the stages that the run is about to run: without one that makes answers or
            follows the plan, nothing is written.
        """
        if self._next is None or CALLED_FOR_BY.isdisjoint(stages):
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=f".{LEDGER}.", suffix=".tmp", dir=self.path.parent)
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.writelines(line.text for line in self.lines)
        publish(Path(temporary), self.path)
        self._written, self._next = self.lines, None


def plan_settings(workflow: Workflow) -> dict[str, Any]:
    """What an analysis plan fixes: what stage `estimate` is handed, models by id, metrics, the primary readout."""
    settings = settings_of("estimate", workflow.study, workflow.models)
    settings["models"] = [entry["id"] for entry in settings.pop("models_table")]
    settings["metrics"] = [metric.value for metric in Metric]
    settings["primary_readout"] = workflow.study.report.readout.value
    plain: dict[str, Any] = json.loads(json.dumps(settings, sort_keys=True))
    return plain


def known_answers(study: StudyConfig, workflow: Workflow, results: Path) -> KnownAnswers:
    """Which answers there are now: in the study's results, or of its models in the store.

    Readers with known answers give nothing away, so their answers in the store do not count.
    """
    if any((results / "responses").glob("*/*/responses.parquet")):
        return KnownAnswers.IN_STUDY
    asked = [model for model in study.models if workflow.model(model).source.kind != "baseline"]
    files = (file for model in asked for file in journal_folder(model).glob("*.jsonl"))
    return KnownAnswers.IN_STORE if any(file.stat().st_size for file in files) else KnownAnswers.NONE


def account_of(lines: Sequence[LedgerLine]) -> PlanAnalysisSettings:
    """What a ledger says: the plan in force, the last one before inference, and the others tried since."""
    if not lines:
        return PlanAnalysisSettings()
    in_force = _plan(lines[-1])
    # With answers in the store nobody can say whose they were, so the first such plan stands for all.
    fresh = [place for place, line in enumerate(lines) if line.answers is KnownAnswers.NONE]
    place = fresh[-1] if fresh else 0
    reference = None if lines[place].answers is KnownAnswers.IN_STUDY else _plan(lines[place])
    known = {in_force.identity} | (set() if reference is None else {reference.identity})
    tried = dict.fromkeys(line.identity for line in lines[place:] if line.identity not in known)
    return PlanAnalysisSettings(
        in_force=in_force,
        before_inference=reference,
        tried=tuple(PlanMark(digest=digest, code=code) for digest, code in tried),
    )


def read_ledger(path: Path) -> list[LedgerLine]:
    """The lines of a ledger, in their order; none where there is no file.

    Raises
    ------
    StudyError
        If a line is no plan, or is not the one that the next line names: it was changed by hand.
    """
    if not path.is_file():
        return []
    name = f"results/{path.parent.name}/{path.name}"
    advice = "put the file back; without it the report says that no plan was written before inference"
    lines: list[LedgerLine] = []
    for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            line = LedgerLine.model_validate_json(text)
        except ValidationError as error:
            raise StudyError(
                f"{name}: line {number} is no analysis plan ({error.error_count()} problems): {advice}"
            ) from None
        before = lines[-1].line_digest if lines else None
        if line.previous != before or line.digest != digest_json(line.settings):
            raise StudyError(f"{name}: line {number} or the one before it was changed after it was written: {advice}")
        lines.append(line)
    return lines


def _plan(line: LedgerLine) -> Plan:
    fields: Mapping[str, Any] = line.model_dump(include=set(Plan.model_fields))
    return Plan.model_validate(fields)
