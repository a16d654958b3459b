"""Stage `plan_analysis`: which analysis was planned before any answer was seen, and what changed since.

The plans of a study stand in a ledger that `plan_ledger` writes beside the jobs, before the first of
them runs. The stage is handed what the ledger says as settings, so that its receipt holds all of it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..contracts.problems import StudyError
from ..identity.digests import canonical_json
from ..stages.job import Files
from .plan_words import PlanAnalysisSettings


def plan_analysis(inputs: Files, outputs: Files, settings: PlanAnalysisSettings, wildcards: Mapping[str, str]) -> None:
    """Write which plan the estimates follow, and how it differs from the one written before inference.

    output: `plan` (JSON): `in_force`, `before_inference`, `changed` (a list of setting, before, now),
    `code_changed`, `tried`. No time stands in it: those are in the ledger.

    Raises
    ------
    StudyError
        If it is told of no plan.
    """
    if settings.in_force is None:
        raise StudyError(
            "there is no analysis plan: the workflow hands over the one that it wrote or is about to write"
        )
    before = settings.before_inference
    account = {
        **settings.model_dump(mode="json"),
        "changed": [] if before is None else changes(before.settings, settings.in_force.settings),
        "code_changed": before is not None and before.code != settings.in_force.code,
    }
    outputs.one("plan").write_text(json.dumps(account, indent=1, sort_keys=True, ensure_ascii=False) + "\n", "utf-8")


def changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The settings that differ, by dotted key: {setting, before, now}; one that is absent counts as null."""
    old, new = flat(before), flat(now)
    return [
        {"setting": key, "before": old.get(key), "now": new.get(key)}
        for key in sorted(set(old) | set(new))
        if canonical_json(old.get(key)) != canonical_json(new.get(key))
    ]


def flat(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested mappings as dotted keys; lists stay whole, so do empty mappings."""
    found: dict[str, Any] = {}
    for key, value in settings.items():
        if isinstance(value, Mapping) and value:
            found.update(flat(value, f"{prefix}{key}."))
        else:
            found[f"{prefix}{key}"] = value
    return found
