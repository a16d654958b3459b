"""config/published.tsv: what the audited papers print, to stand beside our numbers (PROTOCOLS 0.11).

A tab-separated file, a row per published number. Numbers stand as they are printed; what was not
published is empty. Metrics and arms of study s1 are those of this project; the other studies' are free
words until their arms exist here.
"""

from __future__ import annotations

import csv
import difflib
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationError, field_validator, model_validator

from ..contracts.enums import ArmName, Denominator, Mark, Metric, Unit
from ..contracts.problems import StudyError
from .base import Section
from .comparisons import claimable
from .models_table import MODEL_ID

PUBLISHED_FILE = Path("config/published.tsv")
AUDITED = "s1"
"""The study of PROTOCOLS whose arms and metrics exist here."""
MAXIMUM = "maximum over models"
"""`aggregate` of a number that is the largest of several models'."""

_PRINTED = r"^-?(\d+(\.\d+)?|\.\d+)$"
_WORD = r"^[a-z][a-z0-9_.]*$"
_SCALE = {"%": 0.01, "points": 0.01, "share": 1.0}
_LIMITS = {
    Unit.SHARE: {"%": (0, 100), "share": (0, 1)},
    Unit.POINTS: {"points": (-100, 100), "%": (-100, 100), "share": (-1, 1)},
}
"""Least and greatest number as printed, by the metric's unit and the printed one; other metrics have none."""

OF_SEVERAL_ARMS = (
    Metric.ACCURACY_SWING,
    Metric.COCHRAN_Q,
    Metric.ANY_FLIP,
    Metric.PAIRWISE_DISAGREEMENT,
    Metric.REACC,
    Metric.RECON,
)
"""Metrics of several arms together: their numbers belong to none."""

NEVER_OF_BASE = (
    Metric.FLIP_DIRECTION,
    Metric.FIRST_SLOT,
    Metric.RSTD,
    Metric.SLOT_PRIOR,
    Metric.OBSERVED_ACCURACY,
    Metric.DEBIASED_ACCURACY,
    Metric.DEBIASED_DIFFERENCE,
    Metric.DOSE_RESPONSE,
    Metric.DOSE_FLIPS,
    Metric.POSITION_ACCURACY,
    Metric.POSITION_FLIPS,
    Metric.SCAFFOLD_SHARE,
    Metric.QUADRANT,
    Metric.UNMOVED_GIVEN_STEADY,
    Metric.UNMOVED_GIVEN_UNSTEADY,
    Metric.D_CROSS,
)
"""Metrics that set another arm against base, beyond those of which a claim can be made (`claimable`)."""


def arms_of(metric: Metric) -> tuple[ArmName, ...]:
    """Arms that a number of a metric may belong to; none for a metric of several arms."""
    if metric in OF_SEVERAL_ARMS:
        return ()
    every = claimable(Metric.ACCURACY, tuple(ArmName), unsure=True)
    without = tuple(arm for arm in every if arm is not ArmName.BASE)
    return claimable(metric, tuple(ArmName), unsure=True) or (without if metric in NEVER_OF_BASE else every)


Printed = Annotated[str, Field(pattern=_PRINTED)]


class Published(Section):
    """One published number, or the ends of a published range."""

    study: Literal["s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8"]
    """Study of PROTOCOLS."""
    arm: Annotated[str, Field(pattern=_WORD)] | None = None
    """The arm; null where it is none of ours, or the number belongs to no arm."""
    metric: Annotated[str, Field(pattern=_WORD)]
    """The metric."""
    denominator: str | None = None
    """What it is a share of; in s1 one of our denominators."""
    stratum: Annotated[str, Field(pattern=r"^[a-z_]+=\S+$")] | None = None
    """Part of the cohort, name=value; null: all of it."""
    model: str | None = None
    """The model as the authors name it; null where none is named."""
    aggregate: str | None = None
    """What the number is of several models, e.g. `maximum over models`."""
    value: Printed | None = None
    """The number as printed."""
    low: Printed | None = None
    """Lower end of a range; alone: all that is known is that it is more."""
    high: Printed | None = None
    """Upper end of a range; alone: all that is known is that it is less."""
    unit: Literal["%", "points", "share", "count"]
    """Unit of the number as printed."""
    n: Annotated[int, Field(ge=1)] | None = None
    """What it is a share of, in numbers; null where it was not published."""
    cohort: str | None = None
    """The data set."""
    source: str
    """Where it is printed."""
    version: Annotated[str, Field(pattern=r"^v\d+$")] | None = None
    """Version of the preprint."""
    mark: Mark
    """Who says so: P the authors, C read in their code, T a third party's note, O our own."""
    note: str | None = None
    """What a reader must know of the number."""

    @field_validator("n", mode="before")
    @classmethod
    def _counted(cls, value: Any) -> Any:
        return int(value) if isinstance(value, str) and value.isdigit() else value

    @model_validator(mode="after")
    def _one_number_or_a_range(self) -> Self:
        ranged = self.low is not None or self.high is not None
        if (self.value is not None) == ranged:
            raise ValueError("expected either value, or low and high (one of them where the range is open)")
        if self.low is not None and self.high is not None and float(self.low) >= float(self.high):
            raise ValueError(f"low {self.low} is not below high {self.high}")
        return self

    @model_validator(mode="after")
    def _words_of_the_audited_study(self) -> Self:
        if self.study == AUDITED:
            known: tuple[tuple[str, str | None, Iterable[str]], ...] = (
                ("metric", self.metric, Metric),
                ("arm", self.arm, ArmName),
                ("denominator", self.denominator, Denominator),
            )
            for column, word, members in known:
                allowed = [str(member) for member in members]
                if word is not None and word not in allowed:
                    near = difflib.get_close_matches(word, allowed, n=1)
                    hint = f"; did you mean {near[0]}?" if near else ""
                    raise ValueError(f"{column} {word!r} is none of study {AUDITED}: {', '.join(allowed)}{hint}")
            if self.denominator is None:
                raise ValueError(f"a number of study {AUDITED} names its denominator")
            self._check_arm(Metric(self.metric))
            self._check_range(Metric(self.metric))
        return self

    def _check_arm(self, metric: Metric) -> None:
        allowed = arms_of(metric)
        if self.arm is None or self.arm in allowed:
            return
        if not allowed:
            raise ValueError(f"{metric} is of several arms together: found arm {self.arm}, expected none")
        raise ValueError(f"{metric} has no number under arm {self.arm}; arms that have one: {', '.join(allowed)}")

    def _check_range(self, metric: Metric) -> None:
        if metric.unit not in _LIMITS:
            return
        limits = _LIMITS[metric.unit]
        if self.unit not in limits:
            raise ValueError(f"{metric} is printed in {self.unit}: expected {' or '.join(limits)}")
        least, most = limits[self.unit]
        for column, text in (("value", self.value), ("low", self.low), ("high", self.high)):
            if text is not None and not least <= float(text) <= most:
                raise ValueError(f"{column} {text} of {metric} in {self.unit}: expected within [{least}, {most}]")

    @property
    def printed(self) -> str:
        """The number as people read it: 48.9 %, 41 to 58 %, < 8 points, .347."""
        if self.value is not None:
            text = self.value
        elif self.low is not None and self.high is not None:
            text = f"{self.low} to {self.high}"
        else:
            text = f"> {self.low}" if self.low is not None else f"< {self.high}"
        text = text.replace("-", "\N{MINUS SIGN}")
        return text if self.unit in ("share", "count") else f"{text} {self.unit}"

    @property
    def ends(self) -> tuple[float | None, float | None]:
        """Least and greatest value it may stand for, as a share where it is one; None: open."""
        low, high = (self.value, self.value) if self.value is not None else (self.low, self.high)
        scale = _SCALE.get(self.unit, 1.0)
        return (None if low is None else float(low) * scale, None if high is None else float(high) * scale)

    @property
    def where(self) -> str:
        """Source and version."""
        return f"{self.source} {self.version}" if self.version else self.source


COLUMNS = tuple(Published.model_fields)


class PublishedConfig(Section):
    """Which of a study's own cohort and models are those that were published (PROTOCOLS 0.11)."""

    cohort: str | None = None
    """The published data set that this study's cohort is, as config/published.tsv names it. Null: another one, and
    published numbers stand beside ours for orientation only."""

    # Pydantic copies a default, and the generated files need it as a value.
    models: dict[Annotated[str, Field(pattern=MODEL_ID)], str] = {}  # noqa: RUF012
    """Which of this study's models are published ones: our id to the name in config/published.tsv."""


def read_published(path: Path) -> list[Published]:
    """The rows of a file of published numbers, in its order.

    Raises
    ------
    StudyError
        One line a problem, with file and line: a column that is missing or unknown, a row of another
        width, a word that does not exist, a number that is none, a row that stands twice.
    """
    name = f"{path.parent.name}/{path.name}"
    try:
        with open(path, encoding="utf-8", newline="") as stream:
            lines = list(csv.reader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))
    except (OSError, UnicodeDecodeError) as error:
        raise StudyError(f"{name}: it cannot be read as UTF-8 text ({type(error).__name__})") from error
    header = lines[0] if lines else []
    if sorted(header) != sorted(COLUMNS):
        missing = [column for column in COLUMNS if column not in header]
        unknown = [column for column in header if column not in COLUMNS]
        raise StudyError(f"{name}: line 1: columns missing: {missing}; unknown or doubled: {unknown}")
    found: list[Published] = []
    problems: list[str] = []
    seen: dict[str, int] = {}
    for number, cells in enumerate(lines[1:], start=2):
        if len(cells) != len(header):
            problems.append(f"{name}: line {number}: {len(cells)} cells, expected {len(header)}")
            continue
        given = {column: cell.strip() for column, cell in zip(header, cells, strict=True)}
        try:
            row = Published.model_validate({column: text for column, text in given.items() if text})
        except ValidationError as error:
            problems += [f"{name}: line {number}: {_said(problem)}" for problem in error.errors()]
            continue
        key = row.model_dump_json(exclude={"value", "low", "high", "n", "note", "mark"})
        if key in seen:
            problems.append(f"{name}: line {number}: says what line {seen[key]} says already")
        seen[key] = number
        found.append(row)
    if problems:
        raise StudyError("\n".join(problems))
    return found


def _said(problem: Any) -> str:
    column = ".".join(str(part) for part in problem["loc"])
    shown = f" (found {problem['input']!r})" if isinstance(problem.get("input"), str) else ""
    text = str(problem["msg"]).removeprefix("Value error, ")
    return f"{column}: {text}{shown}" if column else text


def published_problems(
    declared: PublishedConfig,
    published: Sequence[Published],
    models: Sequence[str],
    *,
    synthetic: bool,
    baselines: Collection[str] = (),
) -> list[str]:
    """What is wrong with what a study declares to be published, a sentence each.

    Parameters
    ----------
    models
        Ids of the study's models.
    synthetic
        Whether the study's images were made: such a cohort is no published one.
    baselines
        Ids of readers with known answers: nobody published them, and they stand in no table of published numbers.
    """
    rows = [row for row in published if row.study == AUDITED]
    found = []
    if declared.cohort is not None:
        if synthetic:
            found.append("cohort: the images of this study were made, so its cohort is no published one")
        found += _unknown("cohort", declared.cohort, [row.cohort for row in rows if row.cohort])
    for model, name in declared.models.items():
        if model not in models:
            found.append(f"models: {model} is not among the study's models: {', '.join(models)}")
        elif model in baselines:
            others = [item for item in models if item not in baselines]
            found.append(
                f"models: {model} is a reader with known answers (source kind baseline), so it is no published model; "
                f"models that may be: {', '.join(others) or 'none of this study'}"
            )
        found += _unknown(f"models.{model}", name, [row.model for row in rows if row.model])
    return found


def _unknown(key: str, name: str, known: Iterable[str]) -> list[str]:
    allowed = sorted(set(known))
    return [] if name in allowed else [f"{key}: {name!r} is not in {PUBLISHED_FILE}; known: {', '.join(allowed)}"]
