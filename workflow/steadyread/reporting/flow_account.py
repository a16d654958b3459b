"""The account of cases, grouped by models that share it, and its caption: without any drawing library."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..contracts.enums import Readout
from .format import counted, text_list
from .names import READOUTS, arm_name, arm_rank, reason_name, stage_name

Row = Mapping[str, Any]


@dataclass(frozen=True)
class ArmFlow:
    """The account of one arm; `reasons` are (stage, reason, count), the common ones left out."""

    arm: str
    analysed: int
    errors: int
    reasons: tuple[tuple[str, str, int], ...]


@dataclass(frozen=True)
class Flow:
    """The account of cases that some models share.

    Attributes
    ----------
    models
        The models it holds for.
    cases_in
        Cases registered.
    common
        (stage, reason, count) left out of every arm.
    arms
        What happened to the others, arm by arm in display order.
    """

    models: tuple[str, ...]
    cases_in: int
    common: tuple[tuple[str, str, int], ...]
    arms: tuple[ArmFlow, ...]

    @property
    def eligible(self) -> int:
        """Cases left after what is left out of every arm."""
        return self.cases_in - sum(count for _, _, count in self.common)


def alike(arms: Sequence[ArmFlow]) -> list[tuple[ArmFlow, list[str]]]:
    """Arms that share an account, by the first of them: (its account, names of all)."""
    found: dict[tuple[Any, ...], tuple[ArmFlow, list[str]]] = {}
    for item in arms:
        own = found.setdefault((item.analysed, item.errors, item.reasons), (item, []))
        own[1].append(arm_name(item.arm))
    return list(found.values())


def flows_of(rows: Sequence[Row], readout: Readout) -> list[Flow]:
    """The accounts of a readout; models with equal accounts share one, the most common first."""
    by_model: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: (row["model"], arm_rank(row["arm"]))):
        if row["readout"] == readout.value:
            by_model.setdefault(row["model"], []).append(row)
    accounts: dict[tuple[Any, ...], list[str]] = {}
    for model, own in by_model.items():
        accounts.setdefault(_account(own), []).append(model)
    ranked = sorted(accounts.items(), key=lambda item: (-len(item[1]), item[1]))
    return [Flow(tuple(models), *account) for account, models in ranked]


def _account(rows: Sequence[Row]) -> tuple[int, tuple[tuple[str, str, int], ...], tuple[ArmFlow, ...]]:
    counts = [Counter({(item["stage"], item["reason"]): item["count"] for item in row["reasons"]}) for row in rows]
    # A whole case is left out of every arm; what one arm alone suffers is missing from another.
    common = counts[0]
    for other in counts[1:]:
        common = common & other
    arms = tuple(
        ArmFlow(
            row["arm"],
            row["analysed"],
            row["errors"],
            tuple((stage, reason, n) for (stage, reason), n in (own - common).items()),
        )
        for row, own in zip(rows, counts, strict=True)
    )
    return rows[0]["cases_in"], tuple((stage, reason, n) for (stage, reason), n in common.items()), arms


def reasons_text(reasons: Sequence[tuple[str, str, int]], errors: int = 0) -> list[str]:
    """Lines such as "2 no lesion (composing trials)"."""
    lines = [f"{count} {reason_name(reason)} ({stage_name(stage)})" for stage, reason, count in reasons]
    return lines + ([f"{counted(errors, 'error')} of the machine"] if errors else [])


def differences(flows: Sequence[Flow]) -> list[str]:
    """How the other accounts differ from the first, in sentences; none where the models agree."""
    sentences = []
    for flow in flows[1:]:
        usual = {item.arm: item for item in flows[0].arms}
        parts = []
        for item in flow.arms:
            if usual.get(item.arm) != item:
                why = "; ".join(reasons_text(item.reasons, item.errors))
                parts.append(f"{arm_name(item.arm)}: {item.analysed} analysed" + (f" ({why})" if why else ""))
        if flow.common != flows[0].common:
            why = "; ".join(reasons_text(flow.common)) or "none"
            parts.insert(0, f"left out of every arm: {why}")
        sentences.append(
            f"{text_list(list(flow.models))} differ{'s' if len(flow.models) == 1 else ''}: {', '.join(parts)}."
        )
    return sentences


def flow_caption(flows: Sequence[Flow], readout: Readout) -> str:
    """What the diagram shows, in words."""
    if not flows:
        return "There is no account of cases to draw."
    first = flows[0]
    whom = f"{counted(len(first.models), 'model')} ({', '.join(first.models)})"
    left = "was" if first.eligible == 1 else "were"
    text = (
        f"Account of {counted(first.cases_in, 'case')}, read from {READOUTS[readout]}: {first.eligible} {left} left "
        f"after exclusions from every arm. Holds for {whom}."
    )
    return " ".join([text, *differences(flows)])


def whom_text(flows: Sequence[Flow]) -> str:
    """The models the first account holds for, in a sentence."""
    models = flows[0].models
    if len(flows) == 1:
        return f"The same for all models ({len(models)})." if len(models) > 1 else f"Model: {models[0]}."
    return f"Drawn for {text_list(list(models))}."


def side_text(item: ArmFlow, eligible: int) -> list[str]:
    """Lines about the cases of an arm that were not analysed; none where all were."""
    lines = reasons_text(item.reasons, item.errors)
    return [f"Not analysed: {eligible - item.analysed}", *lines] if lines else []
