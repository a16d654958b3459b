"""Finding estimates: by model, readout, metric, denominator and arm."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..contracts.enums import Denominator, Metric, Readout
from ..contracts.files import read_rows
from ..contracts.tables import ESTIMATES
from .names import in_order

Row = Mapping[str, Any]


class Book:
    """The estimates of a study in a fixed order; over the whole cohort (stratum "all") but in `all_rows`.

    Differences between two models are kept apart from the estimates of one (`between`, not `rows`).
    Wherever models are listed they stand in the order given; one that it does not name comes behind.
    """

    def __init__(self, rows: Iterable[Row], order: Iterable[str] = ()) -> None:
        self._rank = {model: number for number, model in enumerate(order)}
        self.all_rows: list[Row] = list(rows)
        self.whole_rows: list[Row] = [row for row in self.all_rows if row["stratum"] == "all"]
        self.rows: list[Row] = [row for row in self.whole_rows if row["reference_model"] is None]
        self._compared: list[Row] = [row for row in self.whole_rows if row["reference_model"] is not None]
        self._by_metric: dict[str, list[Row]] = {}
        for row in self.rows:
            self._by_metric.setdefault(row["metric"], []).append(row)

    @classmethod
    def read(cls, path: Path, order: Iterable[str] = ()) -> Book:
        """The estimates of a file, checked against their contract."""
        return cls(read_rows(path, ESTIMATES), order)

    @property
    def strata(self) -> list[str]:
        """Names of the strata, name=value: by name, thirds from the lowest, numbers by size."""
        found = {row["stratum"] for row in self.all_rows if row["reference_model"] is None} - {"all"}
        return sorted(found, key=_stratum_rank)

    def within(self, stratum: str) -> Book:
        """The estimates of one stratum, found as those of the whole cohort are."""
        own = [{**row, "stratum": "all"} for row in self.all_rows if row["stratum"] == stratum]
        return Book(own, self._rank)

    @property
    def studies(self) -> list[str]:
        """Names of the studies the estimates belong to; one, usually."""
        return sorted({row["study"] for row in self.all_rows})

    @property
    def models(self) -> list[str]:
        """Ids of the models that have estimates, in the order in which models are listed."""
        return self.ordered({row["model"] for row in self.rows})

    def ordered(self, models: Iterable[str]) -> list[str]:
        """Distinct model ids in the order in which models are listed."""
        return sorted(set(models), key=lambda model: (self._rank.get(model, len(self._rank)), model))

    def readouts(self, first: Readout) -> list[str]:
        """Readouts that occur, the one to show first ahead."""
        found = {row["readout"] for row in self.rows}
        return [str(item.value) for item in sorted(Readout, key=lambda r: r is not first) if item.value in found]

    def select(
        self,
        metric: Metric,
        *,
        model: str | None = None,
        readout: str | None = None,
        denominator: Denominator | None = None,
        arm: str | None = None,
        reference_arm: str | None = None,
    ) -> list[Row]:
        """Rows of a metric; whatever is left out may be anything."""
        wanted = {
            "model": model,
            "readout": readout,
            "denominator": None if denominator is None else denominator.value,
            "arm": arm,
            "reference_arm": reference_arm,
        }
        asked = {key: value for key, value in wanted.items() if value is not None}
        found = self._by_metric.get(metric.value, [])
        return [row for row in found if all(row[key] == value for key, value in asked.items())]

    def between(self, model: str, reference: str, readout: str) -> list[Row]:
        """Differences model − reference under a readout."""
        wanted = (model, reference, readout)
        return [row for row in self._compared if (row["model"], row["reference_model"], row["readout"]) == wanted]

    def arms(self, model: str, readout: str) -> list[str]:
        """Arms that have an estimate for a model, in display order."""
        return in_order(
            row["arm"]
            for row in self.rows
            if row["model"] == model and row["readout"] == readout and row["arm"] is not None
        )


def _stratum_rank(stratum: str) -> tuple[str, int, float, str]:
    name, _, value = stratum.partition("=")
    thirds = ("lowest", "middle", "highest")
    third = thirds.index(value.split(" ")[0]) if value.split(" ")[0] in thirds else 0
    try:
        number = float(value)
    except ValueError:
        number = 0.0
    return name, third, number, value


def only(rows: list[Row]) -> Row | None:
    """The one row that stands for an arm: compared with base or nothing, without variant first.

    Variants (shifts, levels) have rows of their own beside the row that averages over them.
    """
    plain = [row for row in rows if row["reference_arm"] in (None, "base")] or rows
    order = list(Denominator)
    ranked = sorted(
        plain, key=lambda row: (row["variant"] is not None, row["variant"] or "", order.index(row["denominator"]))
    )
    return ranked[0] if ranked else None
