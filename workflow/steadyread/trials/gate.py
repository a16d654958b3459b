"""Stage `check_cohort`: whether enough cases are left before any model is asked."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from ..config.base import Section
from ..contracts.enums import ArmName
from ..contracts.files import read_rows, read_table
from ..contracts.problems import StudyError
from ..contracts.tables import CASES, EXCLUSIONS, TRIALS
from ..identity.digests import canonical_json
from ..stages.job import Files

_LOG = logging.getLogger("steadyread.trials")
GATE_VERSION = 1


class GateCohortSettings(Section):
    """What the gate sees of the cohort's section."""

    min_patients: Annotated[int, Field(ge=1)]
    """Fewer usable patients than this stop the study."""
    labels: tuple[str, ...]
    """The diagnostic labels."""


class CheckCohortSettings(Section):
    """What the stage sees of the configuration."""

    cohort: GateCohortSettings
    """The cohort's section."""


def check_cohort(inputs: Files, outputs: Files, settings: CheckCohortSettings, wildcards: Mapping[str, str]) -> None:
    """Count what is left of the cohort; let the study go on or stop it.

    Writes canonical JSON: cases in, usable cases and patients, usable patients per known label,
    trials per arm, and exclusions per stage, arm and reason.

    Raises
    ------
    StudyError
        If fewer patients than `cohort.min_patients` are left (with counts per reason), or a case has
        neither a base trial nor an exclusion.
    """
    cases = {row["case_id"]: row for row in read_table(inputs.all("cases"), CASES, _CASE_COLUMNS).to_pylist()}
    excluded = [row for path in inputs.all("exclusions") for row in read_rows(path, EXCLUSIONS)]
    trials = read_table(inputs.all("trials"), TRIALS, ("arm", "case_id")).to_pylist()
    usable = {row["case_id"] for row in trials if row["arm"] == ArmName.BASE.value}
    _check_none_lost(set(cases), usable, {row["case_id"] for row in excluded if row["arm"] is None})
    patients = {cases[case_id]["patient_id"] for case_id in usable}
    labelled = {(cases[case_id]["label"], cases[case_id]["patient_id"]) for case_id in usable}
    reasons = Counter((row["stage"], row["arm"] or "", row["reason"]) for row in excluded)
    if len(patients) < settings.cohort.min_patients:
        raise StudyError(_too_few(len(cases), len(usable), len(patients), settings.cohort.min_patients, reasons))
    _LOG.info("%d of %d cases are usable, of %d patients", len(usable), len(cases), len(patients))
    for (stage, arm, reason), count in sorted(reasons.items()):
        _LOG.warning("%d case(s) left out of %s: %s (%s)", count, arm or "every arm", reason, stage)
    gate: dict[str, Any] = {
        "gate_version": GATE_VERSION,
        "cases": len(cases),
        "usable_cases": len(usable),
        "patients": len(patients),
        "patients_per_label": {label: sum(found == label for found, _ in labelled) for label in settings.cohort.labels},
        "patients_without_label": sum(found is None for found, _ in labelled),
        "trials": dict(Counter(row["arm"] for row in trials)),
        "exclusions": [
            {"stage": stage, "arm": arm or None, "reason": reason, "cases": count}
            for (stage, arm, reason), count in sorted(reasons.items())
        ],
    }
    outputs.one("gate").write_bytes(canonical_json(gate) + b"\n")


_CASE_COLUMNS = ("case_id", "patient_id", "label")


def _check_none_lost(cases: set[str], usable: set[str], excluded: set[str]) -> None:
    lost = sorted(cases - usable - excluded)
    both = sorted(usable & excluded)
    unknown = sorted(usable - cases)
    if lost or both or unknown:
        raise StudyError(
            f"the account of cases does not hold: {len(lost)} without trials and without a reason, {len(both)} with "
            f"both, {len(unknown)} unknown (such as {(lost + both + unknown)[0]}). The tables belong to different "
            "runs: rerun compose_trials."
        )


def _too_few(cases: int, usable: int, patients: int, needed: int, reasons: Mapping[tuple[str, str, str], int]) -> str:
    whole = [f"{count} × {reason} ({stage})" for (stage, arm, reason), count in sorted(reasons.items()) if not arm]
    return (
        f"{patients} patients are left ({usable} of {cases} cases), cohort.min_patients is {needed}. "
        f"Left out: {', '.join(whole) if whole else 'none'}. Mend those cases (the exclusions tables say "
        "what was found in each), add patients, or lower cohort.min_patients."
    )
