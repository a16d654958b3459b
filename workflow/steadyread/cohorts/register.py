"""Stage `register_cohort`: a cohort's table to cases, sources, items; raw files are digested.

Every case of the (limited) table has its row in cases and its item. A case that cannot be used
has an exclusion besides; what its files lack is null in its row.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..annotations.options import OPTIONS, digest_inline
from ..config.base import Section
from ..config.cohort import CohortConfig
from ..config.question import QuestionConfig
from ..config.words import UNSURE, OnBadCase
from ..contracts.enums import AnnotationKind, AnswerKind, Reason
from ..contracts.files import write_table
from ..contracts.problems import CaseProblem, StudyError
from ..contracts.tables import CASES, EXCLUSIONS, ITEMS, SOURCES
from ..identity.digests import digest_json
from ..stages.job import ExclusionLog, Files
from ..stages.progress import progress
from ..volumes.read import digest_source
from .deidentification import HeaderClaims, deidentified_state, header_claims
from .kinds import infer_kind
from .limit import balanced_patients
from .paths import data_root, is_there, leaves_root, locate
from .table_adapter import CaseRow, read_cohort_table, rows_text

_LOG = logging.getLogger(__name__)


class RegisterCohortSettings(Section):
    """What registering a cohort depends on. `cohort` comes without the keys that say where files lie."""

    seed: int
    """Seed of the study."""
    limit: int | None = None
    """Most patients."""
    on_bad_case: OnBadCase = OnBadCase.EXCLUDE
    """What happens to a case whose files are missing."""
    cohort: CohortConfig = CohortConfig()
    """Labels, attestation, whether paths may leave the root."""
    question: QuestionConfig = QuestionConfig()
    """Names the prompt and whether UNSURE is offered."""


def register_cohort(
    inputs: Files,
    outputs: Files,
    settings: RegisterCohortSettings,
    wildcards: Mapping[str, str],
    local: Mapping[str, str] | None = None,
) -> None:
    """Read the cohort's table, digest the raw files, write cases, sources, items and exclusions.

    Raises
    ------
    StudyError
        If the table is wrong (column, id, label, option, path out of the root), or a file is
        missing and the study stops at bad cases.
    """
    table = inputs.one("table")
    root = data_root((local or {}).get("data_root"), table)
    rows = read_cohort_table(table, settings.cohort.labels)
    rows = _limited(rows, settings)
    if not settings.cohort.allow_outside_root:
        _check_inside(rows, root)
    kinds = _kinds(rows, root)
    log = ExclusionLog("register_cohort", settings.on_bad_case)
    digester = _Digester()
    cases: list[dict[str, Any]] = []
    sources: list[dict[str, Any]] = []
    for row in progress(rows, "cases registered", total=len(rows)):
        case, found = _register(row, kinds[row.case_id], root, table, settings, log, digester)
        cases.append(case)
        sources += found
    _warn_of_shared_volumes(cases)
    write_table(outputs.one("cases"), CASES, cases)
    write_table(outputs.one("sources"), SOURCES, sources)
    write_table(outputs.one("item_table"), ITEMS, [_item(case, settings) for case in cases])
    write_table(outputs.one("exclusions"), EXCLUSIONS, log.rows)


class _Digester:
    """Digests each path once: several cases may share a slice table or an archive."""

    def __init__(self) -> None:
        self._known: dict[Path, str] = {}

    def __call__(self, path: Path) -> str:
        if path not in self._known:
            self._known[path] = digest_source(path)
        return self._known[path]


def _limited(rows: list[CaseRow], settings: RegisterCohortSettings) -> list[CaseRow]:
    if settings.limit is None:
        return rows
    labels_of: dict[str, frozenset[str]] = {}
    for row in rows:
        known = frozenset() if row.label is None else frozenset({row.label})
        labels_of[row.patient_id] = labels_of.get(row.patient_id, frozenset()) | known
    chosen = balanced_patients(labels_of, settings.cohort.labels, settings.limit, settings.seed)
    return [row for row in rows if row.patient_id in chosen]


def _check_inside(rows: Sequence[CaseRow], root: Path) -> None:
    outside = {
        row.row
        for row in rows
        for written in (row.volume, row.annotation)
        if written is not None and leaves_root(locate(written, root), root)
    }
    if outside:
        raise StudyError(
            f"cohort table: {rows_text(outside)}: a path leaves cohort.data_root (through an absolute path, '..' or a "
            "symbolic link). Move the files, set cohort.data_root higher, or set cohort.allow_outside_root: true"
        )


def _kinds(rows: Sequence[CaseRow], root: Path) -> dict[str, AnnotationKind]:
    """The kind of each case's annotation; StudyError where the table contradicts itself or is unclear."""
    kinds: dict[str, AnnotationKind] = {}
    problems: dict[str, list[int]] = {}
    for row in rows:
        kind = row.annotation_kind or _inferred(row, root)
        if kind is None:
            problems.setdefault(
                f"annotation_kind cannot be told from the file: state one of {[item.value for item in AnnotationKind]}",
                [],
            ).append(row.row)
            continue
        problem = _contradiction(row, kind)
        if problem:
            problems.setdefault(problem, []).append(row.row)
        kinds[row.case_id] = kind
    if problems:
        raise StudyError(
            "cohort table: " + "; ".join(f"{rows_text(found)}: {problem}" for problem, found in problems.items())
        )
    return kinds


def _inferred(row: CaseRow, root: Path) -> AnnotationKind | None:
    if row.annotation is None:
        return AnnotationKind.SLICE_TABLE if "index" in row.options else AnnotationKind.NONE
    path = locate(row.annotation, root)
    kind = infer_kind(path)
    if kind is None and not is_there(path):
        # Missing is said as such, later; what it would have been does not matter.
        return next((kind for kind, names in OPTIONS.items() if set(row.options) & set(names)), AnnotationKind.MASK)
    return kind


def _contradiction(row: CaseRow, kind: AnnotationKind) -> str | None:
    inline = "index" in row.options
    if kind is AnnotationKind.NONE and row.annotation is not None:
        return "annotation_kind is none, but an annotation is named"
    if kind is not AnnotationKind.NONE and row.annotation is None and not inline:
        return f"annotation_kind is {kind.value}, but no annotation is named"
    if inline and row.annotation is not None:
        return "both index and annotation are given: name a slice table or list the slices, not both"
    misfits = sorted(set(row.options) - set(OPTIONS[kind]))
    if misfits:
        return f"{misfits} say nothing about an annotation of kind {kind.value}, which takes {list(OPTIONS[kind])}"
    return None


def _register(
    row: CaseRow,
    kind: AnnotationKind,
    root: Path,
    table: Path,
    settings: RegisterCohortSettings,
    log: ExclusionLog,
    digester: _Digester,
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """One case's row and its sources; what is wrong goes to the log."""
    sources: list[dict[str, Any]] = []
    claims = HeaderClaims()
    volume: str | None = None
    annotation: str | None = None
    try:
        path = _existing(row.volume, root, "volume")
        volume = digester(path)
        claims = header_claims(path)
        sources.append(_source(row, "volume", path, volume, {}))
    except CaseProblem as problem:
        log.add(row.case_id, problem)
    try:
        if kind is AnnotationKind.SLICE_TABLE and "index" in row.options:
            # The slices stand in the cohort's table itself: their text is the annotation.
            annotation = digest_inline(row.options)
            sources.append(_source(row, "annotation", table.absolute(), annotation, row.options))
        elif kind is not AnnotationKind.NONE:
            path = _existing(row.annotation, root, "annotation")
            annotation = digester(path)
            sources.append(_source(row, "annotation", path, annotation, row.options))
    except CaseProblem as problem:
        log.add_to_lesion_arms(row.case_id, problem)
    return {
        "case_id": row.case_id,
        "patient_id": row.patient_id,
        "site": row.site,
        "sequence": row.sequence,
        "label": row.label,
        "volume": volume,
        "annotation": annotation,
        # The contract ties the kind to the annotation; the exclusion says that one was named.
        "annotation_kind": (kind if annotation is not None else AnnotationKind.NONE).value,
        "split": row.split,
        "covariates": dict(row.covariates),
        "texts": dict(row.texts),
        "deidentified": deidentified_state(row.deidentified, claims, settings.cohort.attested_deidentified).value,
        "burned_in": claims.burned_in,
        "source_digest": digest_json({"volume": volume, "annotation": annotation}),
    }, sources


def _existing(written: str | None, root: Path, role: str) -> Path:
    if written is None:
        raise CaseProblem(Reason.MISSING_FILE, f"the table names no {role}")
    path = locate(written, root)
    if not is_there(path):
        raise CaseProblem(Reason.MISSING_FILE, f"the {role} that the table names is not there")
    return path


def _source(row: CaseRow, role: str, path: Path, digest: str, options: Mapping[str, str]) -> dict[str, Any]:
    return {"case_id": row.case_id, "role": role, "path": str(path), "digest": digest, "options": dict(options)}


def _item(case: Mapping[str, Any], settings: RegisterCohortSettings) -> dict[str, Any]:
    options = [*settings.cohort.labels, *([UNSURE] if settings.question.unsure else [])]
    question = settings.question.prompt
    label = case["label"]
    return {
        "item_id": digest_json([case["case_id"], question, options]),
        "case_id": case["case_id"],
        "cluster_id": case["patient_id"],
        "question": question,
        "answer_kind": AnswerKind.CHOICE.value,
        "options": options,
        "keys": [] if label is None else [{"name": "label", "kind": "image", "value": label}],
    }


def _warn_of_shared_volumes(cases: Sequence[Mapping[str, Any]]) -> None:
    patients: dict[str, set[str]] = {}
    for case in cases:
        if case["volume"] is not None:
            patients.setdefault(case["volume"], set()).add(case["patient_id"])
    shared = sum(len(found) > 1 for found in patients.values())
    if shared:
        _LOG.warning("%d volumes stand under several patient_ids: intervals take patients to be independent", shared)
