"""Sections of the summary page, each with what its numbers mean in plain words, and its tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..contracts.enums import ArmName, Denominator, Metric, Readout
from .format import sentence_value
from .lookup import Book, only
from .names import arm_name
from .notes import scaffold_notes, several_arms
from .page_tables import Fold, PageColumn, PageTable, by_arm, by_model, curve_tables, directions, folds


@dataclass(frozen=True)
class PageSection:
    """A section of the page.

    Attributes
    ----------
    key, title
        Its anchor and its heading.
    meaning
        What the numbers mean, a paragraph each.
    findings
        What came out, a sentence per audited model.
    tables, folded
        Tables that stand open, and those that are folded.
    figure
        Name of its figure; None where it has none.
    notes
        How to read the tables.
    """

    key: str
    title: str
    meaning: tuple[str, ...]
    findings: tuple[str, ...]
    tables: tuple[PageTable, ...]
    folded: tuple[Fold, ...] = ()
    figure: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def all_tables(self) -> list[PageTable]:
        """Open and folded ones."""
        return [*self.tables, *[table for fold in self.folded for table in fold.tables]]


def sections_of(book: Book, readout: Readout, audited: Sequence[str]) -> list[PageSection]:
    """The sections that have anything to show, in the page's order."""
    built = (
        steady(book, readout, audited),
        letting_go(book, readout),
        knowing_when(book, readout),
        slot(book, readout),
    )
    return [section for section in built if section.all_tables]


WITHOUT = (ArmName.NO_IMAGE, ArmName.LESION_REMOVED)


def steady(book: Book, readout: Readout, audited: Sequence[str]) -> PageSection:
    """Steady under everything: ReAcc, ReCon, several orders at once, quadrants, directions, κ."""
    columns = (
        PageColumn("Right under every arm (ReAcc)", Metric.REACC),
        PageColumn("Same answer under every arm (ReCon)", Metric.RECON),
        PageColumn("Orders that disagree, of all pairs of orders", Metric.PAIRWISE_DISAGREEMENT),
        PageColumn("Any flip over slice orders", Metric.ANY_FLIP),
        PageColumn("Accuracy swing over slice orders", Metric.ACCURACY_SWING),
        PageColumn("Cochran's Q of accuracy over the arms", Metric.COCHRAN_Q),
    )
    tables = by_model(book, readout, "Over several arms at once", columns)
    for arm in WITHOUT:
        cells = [
            PageColumn(words, Metric.QUADRANT, arm=arm, variant=name)
            for name, words in (
                ("ideal", "Ideal: steady, moved"),
                ("fragile", "Fragile: unsteady, moved"),
                ("dangerous", "Dangerous: steady, unmoved"),
                ("worst", "Worst: unsteady, unmoved"),
            )
        ]
        cells += [
            PageColumn("Unmoved, among the steady", Metric.UNMOVED_GIVEN_STEADY, arm=arm),
            PageColumn("Unmoved, among the unsteady", Metric.UNMOVED_GIVEN_UNSTEADY, arm=arm),
        ]
        title = f"Steady or not, and moved or not when the evidence goes ({arm_name(arm.value)})"
        tables += by_model(book, readout, title, cells)
    rows = [
        row
        for metric in (Metric.REACC, Metric.RECON, Metric.ANY_FLIP, Metric.PAIRWISE_DISAGREEMENT, Metric.QUADRANT)
        for row in book.select(metric, readout=readout.value)
    ]
    meaning = (
        "An answer is worth something only if it holds however the same evidence is laid out. ReAcc is the share of "
        "cases that were right under every arm that keeps the evidence, ReCon the share that got the same answer under "
        "every one, right or wrong.",
        "A steady answer is no merit by itself: a model that says the same without the evidence is steady and looks at "
        "nothing (dangerous). If the answers that stay unmoved are more frequent among the steady cases than among the "
        "others, steadiness goes with not looking.",
    )
    folded = directions(book, readout)
    title = "Agreement with base beyond chance: Cohen's κ, all pairs but errors"
    folded += folds(by_arm(book, readout, Metric.KAPPA, title))
    return PageSection(
        "steady", "Steady under everything", meaning, tuple(_steady_findings(book, readout, audited)), tuple(tables),
        tuple(folded), notes=tuple(several_arms(rows)),
    )  # fmt: skip


def _steady_findings(book: Book, readout: Readout, audited: Sequence[str]) -> list[str]:
    found = []
    for model in audited:
        right, same = (
            only(book.select(metric, model=model, readout=readout.value)) for metric in (Metric.REACC, Metric.RECON)
        )
        if right is not None and same is not None and right["value"] is not None and same["value"] is not None:
            found.append(
                f"{model}: right under every arm in {sentence_value(right)}; the same answer under every arm in "
                f"{sentence_value(same)}."
            )
    return found


COMMITTED = (
    *(ArmName.BASE, ArmName.ABSTAIN_FIRST, ArmName.LESION_REMOVED, ArmName.LESION_REMOVED_MARGIN),
    *(ArmName.MATCHED_REMOVED, ArmName.NO_IMAGE, ArmName.BLANK_IMAGE, ArmName.MENTION_ONLY),
)


def letting_go(book: Book, readout: Readout) -> PageSection:
    """Letting go: overcommitment by arm, dose–response, what a mention of MRI does."""
    difference = Metric.OVERCOMMITMENT_DIFFERENCE
    columns = (
        PageColumn("Other slices − lesion slices removed", difference, arm=ArmName.MATCHED_REMOVED),
        PageColumn("Base − lesion slices removed", difference, arm=ArmName.BASE),
        PageColumn("Share of the shift due to a mention of MRI", Metric.SCAFFOLD_SHARE),
    )
    tables = by_arm(
        book,
        readout,
        Metric.OVERCOMMITMENT,
        "A diagnosis is named, % of all but errors",
        {arm.value for arm in COMMITTED},
    )
    tables += by_model(book, readout, "Does it let go where the annotated lesion is gone?", columns)
    metrics = (Metric.DOSE_RESPONSE, Metric.DOSE_FLIPS, Metric.POSITION_ACCURACY, Metric.POSITION_FLIPS)
    meaning = (
        "A careful reader names a diagnosis less often as the lesion disappears, and says UNSURE instead. A line that "
        "stays flat while the lesion goes means that the diagnosis does not come from the slices that show it. Taking "
        "neighbouring slices away too (the margin) shows whether what lies around the lesion was enough; offering "
        "UNSURE first shows whether it is avoided only because it stands last.",
        "Mere words can do what images should. The last column is a share of the shift base − no image, of how much "
        "more often a diagnosis is named with the slices than blind: 1 says that mentioning an MRI does all of it, 0 "
        "that it does nothing. Where that shift is negative, or the value lies outside 0 to 1, it is not to be read as "
        "a share.",
    )
    folded = folds(curve_tables(book, readout, metrics))
    notes = tuple(scaffold_notes(book, readout, book.models))
    return PageSection("letting-go", "Letting go", meaning, (), tuple(tables), tuple(folded), "curves_figure", notes)


def knowing_when(book: Book, readout: Readout) -> PageSection:
    """Knowing when: calibration and selective prediction on base."""
    told = (
        PageColumn("A diagnosis is given (coverage)", Metric.COVERAGE),
        PageColumn("Right, where one is given", Metric.SELECTIVE_ACCURACY),
        PageColumn("Right, of all; UNSURE counts as wrong", Metric.ACCURACY, arm=ArmName.BASE),
        PageColumn("Expected calibration error", Metric.ECE),
        PageColumn("AURC", Metric.AURC),
        PageColumn("AUGRC", Metric.AUGRC),
    )
    kept = [
        PageColumn(f"Kept, at most {100 * risk:g} % wrong", Metric.COVERAGE_AT_RISK, parameter=risk)
        for risk in _parameters(book, Metric.COVERAGE_AT_RISK, readout)
    ]
    kept += [
        PageColumn(
            f"Effective reliability, a wrong answer costs {cost:g}", Metric.EFFECTIVE_RELIABILITY, parameter=cost
        )
        for cost in _parameters(book, Metric.EFFECTIVE_RELIABILITY, readout)
    ]
    meaning = (
        "Does the model know when it is wrong? Points below the dashed diagonal are answers given with more confidence "
        "than they deserve. If confidence tells right from wrong, the curve on the right stays low for long: the "
        "surest answers can be kept and the others handed to a person.",
        "Coverage at a risk is the share of cases that could be kept, surest first, before more than so many of them "
        "were wrong; 0 says that no threshold on confidence is safe enough. Its threshold was chosen and tried on the "
        "same cases, so that it is optimistic: on other cases more of those kept would be wrong. AURC and AUGRC are "
        "areas under risk: less is better. Effective reliability Φ is what answering is worth, a right answer being "
        "worth 1, no answer 0, and a wrong one costing what its column says; here the confidence from which a model "
        "may answer was chosen on other patients than those it is tried on, so that Φ is not flattered in this way.",
    )
    tables = by_model(book, readout, "What was answered, and how far confidence can be believed", told)
    tables += by_model(book, readout, "Cases that could be kept, surest first, and what answering is worth", kept)
    folded = folds(curve_tables(book, readout, (Metric.RELIABILITY, Metric.RISK_AT_COVERAGE)))
    return PageSection("knowing", "Knowing when", meaning, (), tuple(tables), tuple(folded), "calibration_figure")


def _parameters(book: Book, metric: Metric, readout: Readout) -> list[float]:
    return sorted({row["parameter"] for row in book.select(metric, readout=readout.value)} - {None})


def slot(book: Book, readout: Readout) -> PageSection:
    """The slot: what follows the place in the list instead of what stands there."""
    swap, cycle, logprob = ArmName.LABEL_SWAP, ArmName.LABEL_CYCLE, Readout.LOGPROB
    told = (
        PageColumn("Diagnosis changed, labels swapped", Metric.LABEL_SWAP_INCONSISTENCY, Denominator.ALL, swap),
        PageColumn("Kept the place in the list", Metric.SLOT_FOLLOWING, arm=swap),
        PageColumn("First place, among those that kept it", Metric.FIRST_SLOT, arm=swap),
        PageColumn("Spread of recall over places (RStd)", Metric.RSTD, arm=swap),
    )
    prior = [
        PageColumn(f"Pull of place {place:g}", Metric.SLOT_PRIOR, parameter=place, readout=logprob)
        for place in _parameters(book, Metric.SLOT_PRIOR, logprob)
    ]
    corrected = (
        PageColumn("Right, as observed", Metric.OBSERVED_ACCURACY, arm=cycle, readout=logprob),
        PageColumn("Right, without the pull", Metric.DEBIASED_ACCURACY, arm=cycle, readout=logprob),
        PageColumn("Difference", Metric.DEBIASED_DIFFERENCE, arm=cycle, readout=logprob),
    )
    meaning = (
        "The same diagnoses were offered in another order. A model that keeps to a place in the list, whatever stands "
        "there, reads the list and not the images.",
        "PriDe measures the pull of each place from some of the patients and takes it out for the others. Without any "
        "pull every place has the same; where the corrected accuracy is higher, the model knew more than it said.",
    )
    tables = by_model(book, readout, "Labels swapped", told)
    title = "PriDe, read from the first token's log-probabilities"
    tables += by_model(book, readout, title, [*prior, *corrected])
    return PageSection("slot", "The slot", meaning, (), tuple(tables))
