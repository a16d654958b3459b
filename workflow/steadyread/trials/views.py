"""What composing knows of a case: its slices, lesion slices, derived images and strata, joined."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..arms.presentation import Box
from ..contracts.enums import ArmName, TransformName
from ..contracts.problems import StudyError

Row = Mapping[str, Any]


@dataclass(frozen=True)
class CaseView:
    """One usable case.

    Attributes
    ----------
    case_id
        Its id.
    image_of
        Image id of each sampled slice, by slice index, in anatomical order.
    lesion_flags
        Whether each sampled slice shows the lesion; None where not annotated.
    lesion_slices_in_volume
        Lesion slices of the whole volume; None where not annotated.
    strata
        What the case is known by in the estimates.
    boxes
        Of each sampled slice the boxes of its lesion, stored pixels; empty where none is known.
    excluded_arms
        Arms that an earlier stage left the case out of.
    """

    case_id: str
    image_of: Mapping[int, str]
    lesion_flags: tuple[bool, ...] | None
    lesion_slices_in_volume: int | None
    strata: Mapping[str, str]
    boxes: tuple[tuple[Box, ...], ...] | None = None
    excluded_arms: frozenset[ArmName] = frozenset()


@dataclass
class Exclusions:
    """Cases that earlier stages left out, of all arms or of some, whatever the model."""

    whole: set[str] = field(default_factory=set)
    arms: dict[str, set[ArmName]] = field(default_factory=lambda: defaultdict(set))

    @classmethod
    def of(cls, rows: Iterable[Row]) -> Exclusions:
        """Sort rows of the exclusions table; rows of one model alone do not count here."""
        found = cls()
        for row in rows:
            if row["model_id"] is not None:
                continue
            if row["arm"] is None:
                found.whole.add(row["case_id"])
            else:
                found.arms[row["case_id"]].add(ArmName(row["arm"]))
        return found


def case_views(
    cases: Iterable[Row], slices: Iterable[Row], lesion_slices: Iterable[Row], exclusions: Exclusions
) -> dict[str, CaseView]:
    """The usable cases by id.

    Raises
    ------
    StudyError
        If a case is neither sliced nor excluded, or the tables contradict each other.
    """
    sliced: dict[str, list[Row]] = defaultdict(list)
    for row in slices:
        sliced[row["case_id"]].append(row)
    lesions: dict[str, dict[int, Row]] = defaultdict(dict)
    for row in lesion_slices:
        lesions[row["case_id"]][row["index"]] = row
    views: dict[str, CaseView] = {}
    for case in cases:
        case_id = case["case_id"]
        if case_id in exclusions.whole:
            continue
        sampled = {row["index"]: row["image_id"] for row in sorted(sliced[case_id], key=_index) if row["sampled"]}
        if not sampled:
            raise StudyError(
                f"case {case_id} has no sampled slice and no exclusion: a stage lost it. Rerun slice_volumes."
            )
        marks = lesions[case_id]
        flags, total = _lesion_facts(case_id, sampled, {index: row["is_lesion"] for index, row in marks.items()})
        size = lesion_size_ml(sliced[case_id], marks)
        views[case_id] = CaseView(
            case_id=case_id,
            image_of=sampled,
            lesion_flags=flags,
            lesion_slices_in_volume=total,
            strata=_strata(case, len(sampled), flags, size),
            boxes=tuple(_boxes(marks.get(index, {})) for index in sampled),
            excluded_arms=frozenset(exclusions.arms[case_id]),
        )
    return views


def derived_images(rows: Iterable[Row]) -> dict[tuple[TransformName, str, str], str]:
    """The derived image of each (transform, parent image, parameters as canonical JSON)."""
    return {
        (TransformName(row["transform"]), row["parent_id"], row["parameters"]): row["image_id"]
        for row in rows
        if row["parent_id"] is not None
    }


def lesion_size_ml(slices: Iterable[Row], marks: Mapping[int, Row]) -> float | None:
    """The volume of the annotated lesion over all slices of a volume, sampled or not, in millilitres.

    Area of each lesion slice (mm²) times the distance between slices (mm). None where the case is not
    annotated, or area or spacing of a lesion slice is not known (slice tables, ready-made pictures).

    Parameters
    ----------
    slices
        Rows of the case in the slices table.
    marks
        Its rows of the lesion slices table, by slice index.
    """
    if not any(row["is_lesion"] is not None for row in marks.values()):
        return None
    spacing = {row["index"]: row["spacing_mm"] for row in slices}
    volume = 0.0
    for index, row in sorted(marks.items()):
        if row["is_lesion"]:
            if row["lesion_area_mm2"] is None or spacing.get(index) is None:
                return None
            volume += row["lesion_area_mm2"] * spacing[index][2]
    return volume / 1000


def _boxes(mark: Row) -> tuple[Box, ...]:
    return tuple((x0, y0, x1, y1) for x0, y0, x1, y1 in mark.get("lesion_boxes") or ())


def _index(row: Row) -> int:
    index: int = row["index"]
    return index


def _lesion_facts(
    case_id: str, sampled: Iterable[int], flags: Mapping[int, bool | None]
) -> tuple[tuple[bool, ...] | None, int | None]:
    known = {index: flag for index, flag in flags.items() if flag is not None}
    if not known:
        return None, None
    missing = [index for index in sampled if index not in known]
    if missing or len(known) != len(flags):
        raise StudyError(
            f"case {case_id} is annotated, but of {len(missing) or len(flags) - len(known)} of its slices it is not "
            "said whether they show the lesion: slices and lesion slices belong to different runs. Rerun mark_lesions."
        )
    return tuple(known[index] for index in sampled), sum(known.values())


def _strata(case: Row, count: int, flags: tuple[bool, ...] | None, lesion_size: float | None) -> dict[str, str]:
    facts = {
        "sequence": case["sequence"],
        "label": case["label"],
        "site": case["site"],
        "n_slices": count,
        "n_lesion_slices": None if flags is None else sum(flags),
        "lesion_size": None if lesion_size is None else round(lesion_size, 3),
    }
    clash = sorted(({*facts, "runs_matched"}) & set(case["covariates"]))
    if clash:
        raise StudyError(f"covariates {clash} have the names of strata that the study derives itself: rename them")
    strata = {name: str(value) for name, value in facts.items() if value is not None}
    return dict(sorted({**strata, **case["covariates"]}.items()))
