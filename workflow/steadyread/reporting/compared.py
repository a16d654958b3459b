"""What two models' differences are called, which of them are shown, and whether what was claimed held."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from ..config.comparisons import Comparison, Side
from ..contracts.enums import ArmName, Denominator, EstimateStatus, Metric, OutcomeStatus, Readout
from .format import cell, counted, has_interval
from .lookup import Book, Row, only
from .names import DENOMINATORS, OUTCOMES, STATUSES, arm_name, arm_rank, contrast_name

SHOWN = (
    Metric.FLIP_RATE,
    Metric.LABEL_SWAP_INCONSISTENCY,
    Metric.SLOT_FOLLOWING,
    Metric.OVERCOMMITMENT,
    Metric.OVERCOMMITMENT_DIFFERENCE,
    Metric.STATUS_SHARE,
    Metric.ACCURACY,
)
"""Metrics whose differences stand in front of people, in this order; the CSV has all."""
FLIP_DENOMINATORS = (Denominator.ALL, Denominator.BOTH_CATEGORICAL)
"""Denominators of flips in front of people."""


class Held(StrEnum):
    """What the audit says of a claim."""

    YES = "yes"
    NOT_SHOWN = "not shown"
    CONTRADICTED = "contradicted"


@dataclass(frozen=True)
class Compared:
    """One difference between two models, and what was claimed of it before the audit, if anything."""

    row: Row
    claim: Side | None = None

    @property
    def held(self) -> Held | None:
        """Whether the claim held: the interval lies wholly on the claimed side of 0; None without a claim."""
        if self.claim is None:
            return None
        sides = _sides(self.row)
        if not sides:
            return Held.NOT_SHOWN
        return Held.YES if self.claim in sides else Held.CONTRADICTED

    @property
    def claim_text(self) -> str:
        """The claim and whether it held, in words; "" without a claim."""
        if self.claim is None:
            return ""
        if _sides(self.row):
            why = "interval excludes 0"
        elif self.row["estimate_status"] == EstimateStatus.OK and has_interval(self.row):
            why = "interval includes 0"
        else:
            why = STATUSES[EstimateStatus(self.row["estimate_status"])] or "no interval"
        return f"claimed {self.claim}: {self.held} ({why})"

    @property
    def title(self) -> str:
        """What is compared: metric, arms, denominator."""
        metric = Metric(self.row["metric"])
        if metric is Metric.STATUS_SHARE:
            name = f"share of {OUTCOMES[OutcomeStatus(self.row['variant'])]}: {arm_name(self.row['arm'])}"
        elif metric in (Metric.LABEL_SWAP_INCONSISTENCY, Metric.SLOT_FOLLOWING):
            name = contrast_name(metric, None, None)
        else:
            name = contrast_name(metric, self.row["arm"], self.row["reference_arm"])
        return f"{name}, of {DENOMINATORS[Denominator(self.row['denominator'])]}"


def _sides(row: Row) -> tuple[Side, ...]:
    """The side of 0 that the whole interval lies on; none where it holds 0 or may not be read."""
    if row["estimate_status"] != EstimateStatus.OK or not has_interval(row):
        return ()
    return ((Side.LOWER,) if row["high"] < 0 else ()) + ((Side.HIGHER,) if row["low"] > 0 else ())


def pair_name(item: Comparison) -> str:
    """Model − reference."""
    return f"{item.model} − {item.reference}"


def claimed_of(book: Book, readout: Readout, item: Comparison) -> list[Compared]:
    """The differences that something was claimed of, in the order of the claims."""
    rows = book.between(item.model, item.reference, readout.value)
    found = [
        (only([row for row in rows if (row["metric"], row["arm"]) == (claim.metric, claim.arm)]), claim.side)
        for claim in item.expected
    ]
    return [Compared(row, side) for row, side in found if row is not None]


def others_of(book: Book, readout: Readout, item: Comparison) -> list[Compared]:
    """The differences that are shown beside the claimed ones, in display order."""
    claimed = [compared.row for compared in claimed_of(book, readout, item)]
    rows = [row for row in book.between(item.model, item.reference, readout.value) if _is_shown(row)]
    rows.sort(
        key=lambda row: (
            SHOWN.index(Metric(row["metric"])),
            arm_rank(row["arm"]),
            list(Denominator).index(Denominator(row["denominator"])),
        )
    )
    return [Compared(row) for row in rows if not any(row is other for other in claimed)]


def _is_shown(row: Row) -> bool:
    if row["metric"] == Metric.FLIP_RATE and row["arm"] == ArmName.LABEL_SWAP:
        # The same number as the label-swap inconsistency.
        return False
    if row["metric"] in (Metric.FLIP_RATE, Metric.LABEL_SWAP_INCONSISTENCY):
        return row["denominator"] in FLIP_DENOMINATORS
    if row["metric"] == Metric.STATUS_SHARE:
        return bool(row["variant"] == OutcomeStatus.UNSURE)
    return row["metric"] in SHOWN


def claims_by_row(book: Book, comparisons: Sequence[Comparison]) -> dict[int, Compared]:
    """Every difference that something was claimed of, by the identity of its row in the book."""
    return {
        id(compared.row): compared
        for item in comparisons
        for readout in Readout
        for compared in claimed_of(book, readout, item)
    }


def compared_of(
    book: Book, readout: Readout, comparisons: Sequence[Comparison]
) -> Iterator[tuple[Comparison, list[Compared], list[Compared]]]:
    """Per comparison with estimates: the claimed differences, and the others."""
    for item in comparisons:
        claimed, others = claimed_of(book, readout, item), others_of(book, readout, item)
        if claimed or others:
            yield item, claimed, others


@dataclass(frozen=True)
class Beside:
    """Two models beside each other on the page, a line per difference.

    A line holds what is compared, the model's own number, the reference's, the difference, and the
    claim with whether it held ("" where nothing was claimed). `account` says how many claims held.
    """

    model: str
    reference: str
    account: str
    claimed: tuple[tuple[str, ...], ...]
    others: tuple[tuple[str, ...], ...]

    @property
    def name(self) -> str:
        """Model − reference."""
        return f"{self.model} − {self.reference}"


REMARK = "The analysis plan did not stand unchanged since before the answers: read these with that in mind."


def beside_of(
    book: Book, readout: Readout, comparisons: Sequence[Comparison], plan_changed: bool = False
) -> list[Beside]:
    """The comparisons of a study as the page shows them; where the plan changed, claims do not stand without that."""

    def line(compared: Compared) -> tuple[str, ...]:
        row = compared.row
        own = [cell(_own(book, row, model)) for model in (row["model"], row["reference_model"])]
        return compared.title, *own, cell(row), compared.claim_text

    return [
        Beside(
            item.model,
            item.reference,
            " ".join([_account(item, claimed), *([REMARK] if plan_changed and item.expected else [])]),
            tuple(map(line, claimed)),
            tuple(map(line, others)),
        )
        for item, claimed, others in compared_of(book, readout, comparisons)
    ]


def _account(item: Comparison, claimed: Sequence[Compared]) -> str:
    if not item.expected:
        return f"Nothing was claimed of {item.model} before the audit."
    counts = {held: sum(compared.held is held for compared in claimed) for held in Held}
    text = (
        f"Claimed of {item.model} before the audit: {counted(len(item.expected), 'difference')}. "
        f"Held: {counts[Held.YES]}; not shown: {counts[Held.NOT_SHOWN]}; contradicted: {counts[Held.CONTRADICTED]}"
    )
    missing = len(item.expected) - len(claimed)
    return f"{text}; not asked in this study: {missing}." if missing else f"{text}."


def _own(book: Book, row: Row, model: str) -> Row | None:
    """A model's own estimate of what a row compares."""
    key = ("metric", "denominator", "arm", "variant", "reference_arm", "readout")
    found = [own for own in book.rows if own["model"] == model and all(own[name] == row[name] for name in key)]
    return found[0] if found else None
