"""What the summary page tells engineers: second tests, how responses ended, where every case went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..contracts.enums import Metric, OutcomeStatus, Readout
from .flow_account import reasons_text
from .format import cell
from .lookup import Book
from .names import OUTCOMES, arm_name, arm_rank, in_order, in_words
from .page_tables import PageTable
from .sensitivity import HEADER, MEANING, counted_sentence, sensitivity_lines


def second_tests(
    rows: Sequence[Mapping[str, Any]], book: Book, readout: Readout
) -> tuple[str, str, list[PageTable], list[str]]:
    """What it means, how many agree, the table of the readout, and why some could not be fitted."""
    own = [row for row in rows if row["readout"] == readout.value]
    lines = tuple(line.texts for line in sensitivity_lines(own, book.models))
    tables = [PageTable("The tested contrasts, tested a second time", HEADER, lines, words=2)] if lines else []
    return (
        MEANING,
        counted_sentence(own, readout),
        tables,
        sorted({in_words(row["reason"]) for row in own if row["reason"]}),
    )


def shares(book: Book, readout: Readout) -> list[PageTable]:
    """Statuses as columns, models × arms as lines; none where there are no shares."""
    found = book.select(Metric.STATUS_SHARE, readout=readout.value)
    present = {row["variant"] for row in found}
    statuses = [status for status in OutcomeStatus if status.value in present]
    index = {(row["model"], row["arm"], row["variant"]): row for row in found}
    lines = tuple(
        (model, arm_name(arm), *[cell(index.get((model, arm, status.value))) for status in statuses])
        for model in book.ordered(row["model"] for row in found)
        for arm in in_order(row["arm"] for row in found if row["model"] == model)
    )
    title = "Share of each ending, % of all but errors; the rest named a label"
    header = ("Model", "Arm", *[OUTCOMES[status] for status in statuses])
    return [PageTable(title, header, lines, words=2)] if lines else []


def flow_lines(
    book: Book, flow: Sequence[Mapping[str, Any]], readout: Readout
) -> list[tuple[str, str, int, int, int, int, str]]:
    """The account of cases as a table's lines."""
    models = book.ordered(row["model"] for row in flow)
    rows = [row for row in flow if row["readout"] == readout.value]
    return [
        (
            row["model"],
            arm_name(row["arm"]),
            row["cases_in"],
            row["analysed"],
            row["excluded"],
            row["errors"],
            "; ".join(reasons_text([(item["stage"], item["reason"], item["count"]) for item in row["reasons"]])),
        )
        for row in sorted(rows, key=lambda row: (models.index(row["model"]), arm_rank(row["arm"])))
    ]
