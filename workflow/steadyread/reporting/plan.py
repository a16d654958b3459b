"""What a report says of the analysis plan: which it was, whether it came before the answers, what changed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..statistics.plan_words import KnownAnswers, Plan, PlanMark
from .format import counted

NOT_SET = "not set"

_WRITTEN = {
    KnownAnswers.NONE: "It was written before any model of this study was asked.",
    KnownAnswers.IN_STORE: (
        "It was written before this study had an answer, but the store already held answers of its models; whether "
        "some of them were to the same questions was not looked up."
    ),
}


@dataclass(frozen=True)
class PlanDigests:
    """A plan as a report names it: what it is to the study, and its two digests."""

    name: str
    settings: str
    code: str


@dataclass(frozen=True)
class PlanSection:
    """What the summary page shows of the plan.

    Attributes
    ----------
    statement
        Whether the numbers follow the plan that was written before inference; a sentence or two.
    kept
        Whether they do: no setting and no code changed, and no answer was seen before.
    plans
        The plan in force and, where it is another, the one before inference; then others tried.
    changes
        (setting, before, now) of every setting that changed after inference.
    settings
        The plan in force, as indented JSON.
    """

    statement: str
    kept: bool
    plans: tuple[PlanDigests, ...]
    changes: tuple[tuple[str, str, str], ...]
    settings: str
    warning: str | None = None
    """What must be said beside any number: None where the plan was written before this study's answers, and kept."""


def plan_section(path: Path) -> PlanSection:
    """The section from `analysis_plan.json`. No time and no place is in it: two runs say the same."""
    account: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    in_force = Plan.model_validate(account["in_force"])
    given = account["before_inference"]
    before = None if given is None else Plan.model_validate(given)
    tried = [PlanMark.model_validate(item) for item in account["tried"]]
    same = before is not None and before.identity == in_force.identity
    plans = [_digests("in force" if not same else "written before inference, in force", in_force)]
    if before is not None and not same:
        plans.append(_digests("written before inference", before))
    plans += [_digests("followed in between", item) for item in tried]
    return PlanSection(
        statement=_statement(in_force, before, account, len(tried)),
        kept=same and before is not None and before.answers is KnownAnswers.NONE and not tried,
        plans=tuple(plans),
        changes=tuple((item["setting"], _text(item["before"]), _text(item["now"])) for item in account["changed"]),
        settings=json.dumps(in_force.settings, indent=2, sort_keys=True, ensure_ascii=False),
        warning=_warning(before, same, bool(tried)),
    )


def _digests(name: str, plan: PlanMark) -> PlanDigests:
    return PlanDigests(name, plan.digest, plan.code)


def _statement(in_force: Plan, before: Plan | None, account: Mapping[str, Any], tried: int) -> str:
    if before is None:
        return (
            "No plan was written before inference: the one in force was written when this study had answers already, "
            "so nothing here was fixed beforehand."
        )
    others = f" In between, {counted(tried, 'other plan')} {'was' if tried == 1 else 'were'} followed." if tried else ""
    if before.identity == in_force.identity:
        return f"The numbers follow the plan that was written before inference. {_WRITTEN[before.answers]}{others}"
    what = _changed(account["changed"], account["code_changed"])
    when = "after inference" if in_force.answers is KnownAnswers.IN_STUDY else "when the store held answers already"
    return (
        f"The plan was changed {when}: {what}. The numbers follow the changed plan, so they were not fixed before the "
        f"answers were there. Of the plan before inference: {_WRITTEN[before.answers]}{others}"
    )


def _warning(before: Plan | None, same: bool, tried: bool) -> str | None:
    if before is None:
        what = "No analysis plan was written before the models were asked"
    elif not same:
        what = "The analysis plan was changed after models had been asked"
    elif tried:
        what = "Other analysis plans were followed after models had been asked, before this one was taken up again"
    else:
        return None
    return (
        f"{what}: nothing below was fixed beforehand, and no p and no claim that held may be read as if it were. What "
        "changed stands under For engineers, Analysis plan."
    )


def _changed(changed: Sequence[Any], code: bool) -> str:
    parts = [counted(len(changed), "setting")] if changed else []
    return " and ".join([*parts, *(["the code that estimates"] if code else [])])


def _text(value: Any) -> str:
    return NOT_SET if value is None else json.dumps(value, ensure_ascii=False)
