"""What the numbers say, in sentences for a clinician, and how far they may be trusted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..contracts.enums import LESION_ARMS, ArmName, Denominator, EstimateStatus, Metric, Readout
from .format import cell, detectable, has_interval, not_asked_twice, percent, sentence_value, text_list
from .lookup import Book, Row, only
from .names import LESION_MEANS, SYNTHETIC, arm_name
from .understood import misunderstood_sentence, understood_cell

Entry = Mapping[str, Any]


@dataclass(frozen=True)
class Answer:
    """What is said of one model: who it is, and the findings, each with its number."""

    model: str
    about: str
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Headline:
    """A headline metric: its column's title and how to find it."""

    title: str
    metric: Metric
    denominator: Denominator
    arm: ArmName
    reference: ArmName | None = None


HEADLINES = (
    Headline("Answers changed, slices reversed, %", Metric.FLIP_RATE, Denominator.ALL, ArmName.REVERSE),
    Headline(
        "Answers changed, labels swapped, %", Metric.LABEL_SWAP_INCONSISTENCY, Denominator.ALL, ArmName.LABEL_SWAP
    ),
    Headline(
        "Still a diagnosis, lesion slices removed, %", Metric.OVERCOMMITMENT, Denominator.ALL, ArmName.LESION_REMOVED
    ),
    Headline(
        "Lets go more often than with other slices removed, points",
        Metric.OVERCOMMITMENT_DIFFERENCE,
        Denominator.ALL,
        ArmName.MATCHED_REMOVED,
        ArmName.LESION_REMOVED,
    ),
    Headline("Right on the base arm, %", Metric.ACCURACY, Denominator.LABEL_KNOWN, ArmName.BASE),
)


BLIND = (ArmName.NO_IMAGE, ArmName.MENTION_ONLY)
"""Arms without any image: a diagnosis named there cannot come from one."""
BLIND_TITLE = "Still a diagnosis, no image, %"


def find(book: Book, headline: Headline, model: str, readout: Readout) -> Row | None:
    """The estimate of a headline metric for a model."""
    return only(
        book.select(
            headline.metric,
            model=model,
            readout=readout.value,
            denominator=headline.denominator,
            arm=headline.arm.value,
            reference_arm=None if headline.reference is None else headline.reference.value,
        )
    )


def overview_of(
    book: Book, readout: Readout, models: Sequence[Entry]
) -> tuple[list[str], list[tuple[str, str, list[str]]]]:
    """The headline table: (titles, [(model, what it is, cells)]); a study that always showed images lacks the last."""
    asked = [_committed(book, model, readout, ArmName.NO_IMAGE) for model in book.models]
    blind = [BLIND_TITLE] if any(asked) else []
    lines = [
        (
            model,
            about(model, models),
            [
                understood_cell(book, model, readout),
                *[cell(find(book, item, model, readout)) for item in HEADLINES],
                *[cell(_committed(book, model, readout, ArmName.NO_IMAGE)) for _ in blind],
            ],
        )
        for model in book.models
    ]
    return ["Understood on base, %", *[item.title for item in HEADLINES], *blind], lines


def about(model: str, models: Sequence[Entry]) -> str:
    """What a model is, in a few words."""
    entry = next((item for item in models if item["id"] == model), None)
    if entry is None:
        return ""
    source = entry["source"]
    if source["kind"] == "baseline":
        return "a reader with known answers, to test the study itself"
    if source["kind"] == "built":
        return f"random weights ({entry['family']}): it has never seen an image"
    if source["kind"] == "hub":
        return f"{source['repository']}, revision {(source['revision'] or 'not pinned')[:12]}"
    return f"a local snapshot ({entry['family']})"


def answers_of(book: Book, readout: Readout, models: Sequence[Entry]) -> list[Answer]:
    """What is said of each audited model; of the baselines only where there is no other model."""
    return [
        Answer(model, about(model, models), tuple(_sentences(book, readout, model)))
        for model in audited_models(book, models)
    ]


def audited_models(book: Book, models: Sequence[Entry]) -> list[str]:
    """The models with estimates without the readers with known answers, which stand only where nothing else does."""
    baselines = {entry["id"] for entry in models if entry["source"]["kind"] == "baseline"}
    return [model for model in book.models if model not in baselines] or book.models


def _sentences(book: Book, readout: Readout, model: str) -> list[str]:
    reverse, swap, removed, contrast, right = (find(book, item, model, readout) for item in HEADLINES)
    garbage = misunderstood_sentence(book, model, readout)
    sentences = [] if garbage is None else [garbage]
    sentences += _danger(book, model, readout)
    if reverse is not None:
        noise = _floor(book, model, readout)
        beside = (
            ""
            if noise is None
            else f" Asked the same thing twice, it disagreed with itself in {sentence_value(noise)}."
        )
        sentences.append(_said("With the slices in reverse order its answer changed in", reverse) + beside)
    if swap is not None:
        follow = only(
            book.select(Metric.SLOT_FOLLOWING, model=model, readout=readout.value, arm=ArmName.LABEL_SWAP.value)
        )
        beside = ""
        if follow is not None and follow["value"] is not None:
            share = sentence_value(follow)
            beside = f" Where it named a label both times, it kept to the same place in the list in {share}."
        sentences.append(_said("With the answer options in another order its diagnosis changed in", swap) + beside)
    if removed is not None:
        sentences.append(_said("With the slices annotated as lesion taken out it still named a diagnosis in", removed))
    if contrast is not None:
        sentences.append(_contrast_sentence(contrast))
    if right is not None:
        sentences.append(_said("On the base arm it was right in", right))
    return sentences


def _committed(book: Book, model: str, readout: Readout, arm: ArmName) -> Row | None:
    return only(
        book.select(
            Metric.OVERCOMMITMENT, model=model, readout=readout.value, denominator=Denominator.ALL, arm=arm.value
        )
    )


def _danger(book: Book, model: str, readout: Readout) -> list[str]:
    """Diagnoses named without any image, and how often a steady answer outlived every image."""
    rows = {arm: _committed(book, model, readout, arm) for arm in BLIND}
    known = {arm: row for arm, row in rows.items() if row is not None and row["value"] is not None}
    # As printed: 0.0 % is none.
    named = {arm: row for arm, row in known.items() if percent(row["value"]) != percent(0.0)}
    sentences = []
    if named:
        where = "; ".join(f"{arm_name(arm.value)}: {sentence_value(row)}" for arm, row in named.items())
        sentences.append(
            f"Danger: it named a diagnosis though it was shown no image at all ({where}). Such a diagnosis comes from "
            "the words of the question, and nothing in the answer tells it from one that was seen."
        )
    if len(known) > len(named):
        where = "; ".join(f"{arm_name(arm.value)}, n = {row['n']}" for arm, row in known.items() if arm not in named)
        sentences.append(f"It named no diagnosis where no image was shown ({where}).")
    dangerous = [
        row
        for row in book.select(Metric.QUADRANT, model=model, readout=readout.value, arm=ArmName.NO_IMAGE.value)
        if row["variant"] == "dangerous" and row["value"] is not None
    ]
    if dangerous:
        sentences.append(
            'Steady and unmoved (quadrant "dangerous"): the same answer under every arm that keeps the evidence, and '
            f"still the same without any image, in {sentence_value(dangerous[0])}."
        )
    return sentences


def _said(words: str, row: Row) -> str:
    if row["value"] is None:
        return f"{words}: not known ({row['reason']})."
    return f"{words} {sentence_value(row)}."


def _contrast_sentence(row: Row) -> str:
    text = _compared(row)
    if row["value"] is None or not has_interval(row) or row["estimate_status"] != EstimateStatus.OK:
        return (
            f"{text} Whether it lets go more often where the annotated lesion is gone than where as much else is taken "
            "away cannot be said from these cases."
        )
    if row["low"] > 0:
        return (
            f"{text} It lets go more often where the annotated lesion is gone than where as much else is taken away; "
            "this compares the two, and does not say that it lets go as a rule."
        )
    if row["high"] < 0:
        return (
            f"{text} It commits itself more often where the annotated lesion is gone than where as much else is taken "
            "away."
        )
    return (
        f"{text} The interval includes 0: no sign, in these cases, that it lets go more often where the annotated "
        "lesion is gone than where as much else is taken away."
    )


def _compared(row: Row) -> str:
    """How often a diagnosis was named with other slices taken out, against those annotated as lesion."""
    value = row["value"]
    if value is None:
        return (
            "How much less often it named a diagnosis with the slices annotated as lesion taken out than with as many "
            f"others: not known ({row['reason']})."
        )
    # As printed: a difference that rounds to 0.0 points is none.
    none = percent(value) == percent(0.0)
    often, than = ("as", "as") if none else ("more" if value > 0 else "less", "than")
    return (
        f"It named a diagnosis {often} often with other slices taken out {than} with the slices annotated as lesion: "
        f"difference {sentence_value(row)}."
    )


def _floor(book: Book, model: str, readout: Readout) -> Row | None:
    row = only(book.select(Metric.D_SAME, model=model, readout=readout.value, arm=ArmName.BASE.value))
    return None if row is None or row["value"] is None else row


def limits_of(
    book: Book, readout: Readout, synthetic: bool, models: Sequence[Entry] = (), warning: str | None = None
) -> list[str]:
    """What these numbers cannot say.

    Parameters
    ----------
    models
        The study's models: what could have been found is said of the audited ones.
    warning
        What must be known of the analysis plan, if anything.
    """
    rows = [row for row in book.rows if row["readout"] == readout.value]
    limits = ([SYNTHETIC] if synthetic else []) + ([warning] if warning else [])
    audited = audited_models(book, models)
    if any(row["arm"] in LESION_ARMS for row in rows):
        limits.append(LESION_MEANS)
    limits += _missing_labels(book, readout)
    contrast = HEADLINES[3]
    limits += _power(
        book,
        [
            row
            for row in book.select(
                contrast.metric,
                readout=readout.value,
                arm=contrast.arm.value,
                reference_arm=ArmName.LESION_REMOVED.value,
            )
            if row["mde"] and row["model"] in audited
        ],
    )
    few = [row for row in rows if row["estimate_status"] == EstimateStatus.TOO_FEW_EVENTS]
    if few:
        what = sorted({Metric(row["metric"]).label for row in few})
        shown = "; ".join(what[:4]) + (f"; and {len(what) - 4} more" if len(what) > 4 else "")
        limits.append(f"Too few events for an interval in {len(few)} of {len(rows)} estimates ({shown}).")
    broken = [row for row in rows if row["estimate_status"] == EstimateStatus.INCOMPLETE]
    if broken:
        whose = ", ".join(book.ordered(row["model"] for row in broken))
        limits.append(
            f"Incomplete: {len(broken)} of {len(rows)} estimates lack responses that ended in an error of the "
            f"machine ({whose}); their bounds stand beside them."
        )
    once = [row for row in rows if not_asked_twice(row)]
    if once:
        limits.append(
            f"Not asked twice: {len(once)} of {len(rows)} estimates of noise have no value, because no request of "
            "theirs was repeated."
        )
    none = [row for row in rows if row["estimate_status"] == EstimateStatus.UNDEFINED and not not_asked_twice(row)]
    if none:
        what = sorted({Metric(row["metric"]).label for row in none})
        limits.append(f"Undefined: {len(none)} of {len(rows)} estimates have no value ({', '.join(what)}).")
    limits.append(
        "The wording of the question is our own, and so are all definitions marked O: numbers published elsewhere "
        "were made with other words and stand beside these for orientation only."
    )
    return limits


def _power(book: Book, contrasts: Sequence[Row]) -> list[str]:
    """What the lesion contrast could have found, and for whom nothing."""
    powers = sorted(row["mde"] for row in contrasts if row["mde"] < 1)
    blind = book.ordered(row["model"] for row in contrasts if row["mde"] >= 1)
    limits = []
    if powers:
        span = " to ".join(dict.fromkeys([detectable(powers[0]), detectable(powers[-1])]))
        limits.append(
            f"Power: for the lesion contrast a difference below {span} points could have gone unnoticed, so a "
            "difference that was not found is no proof that there is none."
        )
    if blind:
        whose = "" if not powers else f" of {text_list(blind)}"
        limits.append(
            f"Power: for the lesion contrast{whose} no difference could have been found, since more than 100 points "
            "would have been needed: there are too few patients."
        )
    return limits


def _missing_labels(book: Book, readout: Readout) -> list[str]:
    known = [row["n"] for row in book.select(Metric.ACCURACY, readout=readout.value, arm=ArmName.BASE.value)]
    asked = [
        row["n"]
        for row in book.select(
            Metric.OVERCOMMITMENT, readout=readout.value, denominator=Denominator.ALL, arm=ArmName.BASE.value
        )
    ]
    if not known or max(known) == 0:
        return ["No case has a known diagnosis: whether a model is right cannot be said, only whether it is steady."]
    if asked and max(known) < max(asked):
        return [f"The diagnosis is known for {max(known)} of {max(asked)} cases; accuracy speaks of those only."]
    return []
