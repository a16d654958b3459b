"""What a study of some size can show, and how large it has to be: for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from ..contracts.enums import Metric, Readout, Unit
from ..contracts.problems import StudyError
from ..reporting.format import cell, detectable, percent
from ..reporting.lookup import Book, Row
from ..reporting.names import arm_rank, contrast_name
from ..statistics.power import POWER, Design, detectable_difference, patients_for_precision, patients_needed, precision
from .studies import named_study, require_files
from .text_table import text_table

T = TypeVar("T")


def for_difference(difference: float, discordance: float, design: Design) -> Iterator[str]:
    """Patients needed for a paired difference.

    Parameters
    ----------
    difference
        In percentage points.

    Raises
    ------
    StudyError
        If what is asked cannot be.
    """
    if difference > 100:
        raise StudyError(f"found --difference {difference:g}, expected points: above 0 and at most 100")
    patients = _checked(lambda: patients_needed(difference / 100, discordance, design))
    yield (
        f"{patients} patients, {_cases(patients, design)}, to find a paired difference of {difference:g} points "
        f"with {100 * design.power:g} % power."
    )
    yield from _assumptions(discordance, design)


def for_patients(patients: int, discordance: float, share: float, design: Design) -> Iterator[str]:
    """What so many patients can show: a paired difference, and the precision of a share.

    Raises
    ------
    StudyError
        If what is asked cannot be.
    """
    found = _checked(lambda: detectable_difference(patients, discordance, design))
    half = _checked(lambda: precision(patients, share, design))
    yield f"{patients} patients, {_cases(patients, design)}:"
    if found is None:
        yield (
            f"  no paired difference can be found with {100 * design.power:g} % power: it would have to be greater "
            f"than the {percent(discordance)} % of cases whose outcomes differ"
        )
    else:
        yield f"  smallest paired difference found with {100 * design.power:g} % power: {percent(found)} points"
    yield f"  interval of a share of {percent(share)} %: within ± {percent(half)} points"
    yield from _assumptions(discordance, design)


def for_precision(half_width: float, share: float, design: Design) -> Iterator[str]:
    """Patients needed for an interval of a share that reaches no further than ± half_width points.

    Raises
    ------
    StudyError
        If what is asked cannot be.
    """
    patients = _checked(lambda: patients_for_precision(half_width / 100, share, design))
    yield (
        f"{patients} patients, {_cases(patients, design)}, for a {100 * design.confidence:g} % interval of ± "
        f"{half_width:g} points around a share of {percent(share)} %."
    )
    yield ""
    yield f"Assumed: the interval is Wilson's with Student's t, as in the tables; {_worth(design)}."
    yield (
        f"Shares of {50 - half_width:g} and {50 + half_width:g} % need the most patients, those further from 50 % "
        "fewer; --share says what is expected."
    )


def for_study(name: str, readout: Readout, root: Path) -> Iterator[str]:
    """The differences that a study had the power to detect, per model and contrast of a family that is tested.

    Raises
    ------
    StudyError
        If there is no such study, or it has no estimates yet.
    """
    study, _ = named_study(name, root)
    estimates = f"results/{study.name}/estimates/estimates.parquet"
    require_files([estimates], root, "estimates", study)
    book = Book.read(root / estimates, study.models)
    lines = [
        [model, contrast_name(row["metric"], row["arm"], row["reference_arm"]), cell(row), detectable(row["mde"])]
        for model in book.models
        for row in _tested(book, model, readout)
    ]
    if not lines:
        raise StudyError(f"study {study.name} has no confirmatory contrast under readout {readout.value}")
    yield f"Study {study.name}, readout {readout.value}"
    yield ""
    yield from text_table(("Model", "Contrast", "Difference, points", "Detectable, points"), lines, words=2)
    yield ""
    yield (
        f"Detectable: the smallest true difference that this study would have found with {100 * POWER:g} % power, if "
        "its cases differ between the arms as often, and patients as much from each other, as they did here."
    )
    yield (
        "A model that hardly ever differs could have hidden no less than what so few patients can show: that bound "
        "is given for it."
    )


def _tested(book: Book, model: str, readout: Readout) -> list[Row]:
    rows = [
        row
        for row in book.rows
        if (row["model"], row["readout"]) == (model, readout)
        and row["family"] is not None
        and row["mde"] is not None
        and Metric(row["metric"]).unit is Unit.POINTS
    ]
    metrics = list(Metric)
    return sorted(
        rows,
        key=lambda row: (metrics.index(Metric(row["metric"])), arm_rank(row["arm"]), arm_rank(row["reference_arm"])),
    )


def _cases(patients: int, design: Design) -> str:
    return f"{patients * design.cases:g} cases"


def _worth(design: Design) -> str:
    if design.cases == 1:
        return "each patient has one case"
    return (
        f"the cases of one patient are correlated by {design.icc:g}, so that {design.cases:g} of them say as much as "
        f"{design.per_patient:.2g} independent ones"
    )


def _assumptions(discordance: float, design: Design) -> Iterator[str]:
    yield ""
    yield f"Assumed: the two outcomes differ in {percent(discordance)} % of the cases; {_worth(design)}."
    yield (
        f"The test flips the signs of whole patients, two-sided at {1 - design.confidence:.3g}; one contrast alone, "
        "with no correction for testing several."
    )


def _checked(calculate: Callable[[], T]) -> T:
    """A calculation whose bad numbers are the user's."""
    try:
        return calculate()
    except ValueError as error:
        raise StudyError(str(error)) from error
