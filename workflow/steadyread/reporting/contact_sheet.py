"""Stage `contact_sheet`: the slices that models were shown, with annotated lesions marked, for a person to check.

Only stored images are used: what is on the sheet is what a model saw. Display is radiological.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
from PIL import Image, ImageDraw, ImageFont

from ..config.base import Section
from ..config.report import ReportConfig
from ..config.slicing import SubsampleRule
from ..contracts.enums import LESION_ARMS, Plane, Reason
from ..contracts.files import read_rows, read_table
from ..contracts.problems import StudyError
from ..contracts.table import Table
from ..contracts.tables import CASES, EXCLUSIONS, IMAGES, LESION_SLICES, SLICES
from ..identity.seeds import seed_of
from ..slicing.subsample import sampled_indices
from ..stages.job import Files
from .format import counted

TILE, COLUMNS = 144, 12
"""Side of a slice on the sheet in pixels; slices in a row at most."""
MARGIN, GAP, CAPTION, LABEL, HEAD = 10, 6, 15, 196, 46
FRAME, LINE = 3, 18
BACKGROUND, INK, SOFT = (255, 255, 255), (26, 26, 26), (102, 102, 102)
LESION, BOX = (230, 120, 0), (255, 214, 10)
"""Frame of a lesion slice, outline of a lesion box."""

SIDES: dict[str | None, tuple[str, str]] = {
    Plane.AXIAL.value: ("R", "L"),
    Plane.CORONAL.value: ("R", "L"),
    Plane.SAGITTAL.value: ("A", "P"),
    None: ("", ""),
}
"""What stands at the left and at the right of a displayed slice."""

DATA_COLUMNS = ("row", "column", "case_id", "label", "sequence", "plane", "index", "image_id", "is_lesion", "boxes")


REFUSALS = frozenset(reason.value for reason in Reason if reason.value.startswith("annotation_"))
"""Reasons that speak of an annotation."""


class ContactSheetSettings(Section):
    """Settings of `contact_sheet`."""

    report: ReportConfig
    """How many cases."""
    seed: int
    """Draws the cases."""


@dataclass(frozen=True)
class Shown:
    """A slice on the sheet; boxes in pixels of the stored image; `is_lesion` None: not annotated."""

    index: int
    image_id: str
    plane: str | None
    is_lesion: bool | None
    boxes: tuple[tuple[float, float, float, float], ...]


@dataclass(frozen=True)
class Strip:
    """A row of the sheet.

    Attributes
    ----------
    case
        The case.
    shown
        Its slices on the sheet.
    sampled, total
        Slices that the models saw; slices of the volume.
    lesion
        How many of those the models saw are annotated as lesion; None: not known.
    refused
        An annotation is there and could not be used.
    """

    case: Mapping[str, Any]
    shown: tuple[Shown, ...]
    sampled: int
    total: int
    lesion: int | None
    refused: bool = False


def choose_cases(cases: Sequence[Mapping[str, Any]], count: int, seed: int) -> list[Mapping[str, Any]]:
    """At most `count` cases, balanced over labels, drawn from names alone; sorted by label and id."""
    by_label: dict[str, list[Mapping[str, Any]]] = {}
    for case in sorted(cases, key=lambda case: seed_of("contact_sheet", seed, case["case_id"])):
        by_label.setdefault(case["label"] or "", []).append(case)
    ranked = sorted(
        ((place, label, case) for label, group in by_label.items() for place, case in enumerate(group)),
        key=lambda item: item[:2],
    )
    chosen = [case for _, _, case in ranked[:count]]
    return sorted(chosen, key=lambda case: (case["label"] or "", case["case_id"]))


def contact_sheet(inputs: Files, outputs: Files, settings: ContactSheetSettings, wildcards: Mapping[str, str]) -> None:
    """Draw the contact sheet.

    inputs: `cases`, `slices`, `lesion_slices`, `images` (all shards), `exclusions` (all).
    outputs: `png`, `data` (CSV: a row per slice shown).
    """
    strips = strips_of(inputs, settings)
    pictures = _pictures(inputs.all("images"), {item.image_id for strip in strips for item in strip.shown})
    sheet = draw_sheet(strips, pictures)
    sheet.save(outputs.one("png"), format="PNG", optimize=False)
    with open(outputs.one("data"), "w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(DATA_COLUMNS)
        for row, strip in enumerate(strips):
            for column, item in enumerate(strip.shown):
                boxes = ";".join(" ".join(f"{side:g}" for side in box) for box in item.boxes)
                case = strip.case
                lesion = "" if item.is_lesion is None else str(item.is_lesion).lower()
                writer.writerow(
                    [row, column, case["case_id"], case["label"], case["sequence"], item.plane, item.index,
                     item.image_id, lesion, boxes]
                )  # fmt: skip


def strips_of(inputs: Files, settings: ContactSheetSettings) -> list[Strip]:
    """The rows of the sheet, from the tables."""
    slices = _rows_of(inputs.all("slices"), SLICES, ("case_id", "index", "image_id", "plane", "sampled"))
    sampled: dict[str, list[dict[str, Any]]] = {}
    total = Counter(row["case_id"] for row in slices)
    for row in slices:
        if row["sampled"]:
            sampled.setdefault(row["case_id"], []).append(row)
    cases = [case for case in read_rows(inputs.one("cases"), CASES) if case["case_id"] in sampled]
    chosen = choose_cases(cases, settings.report.contact_sheet_cases, settings.seed)
    wanted = {case["case_id"] for case in chosen}
    columns = ("case_id", "index", "is_lesion", "lesion_boxes")
    marks = {
        (row["case_id"], row["index"]): row
        for row in _rows_of(inputs.all("lesion_slices"), LESION_SLICES, columns, wanted)
    }
    refused = refused_annotations(read_rows(inputs.all("exclusions"), EXCLUSIONS))
    strips = []
    for case in chosen:
        case_id = case["case_id"]
        own = [_shown(row, marks) for row in sorted(sampled[case_id], key=lambda row: row["index"])]
        known = [item.is_lesion for item in own if item.is_lesion is not None]
        shown = tuple(own[place] for place in sampled_indices(len(own), COLUMNS, SubsampleRule.EVEN))
        lesion = sum(known) if known else None
        strips.append(Strip(case, shown, len(own), total[case_id], lesion, case_id in refused))
    return strips


def refused_annotations(exclusions: Iterable[Mapping[str, Any]]) -> set[str]:
    """Cases whose annotation is there and could not be used: not the same as not being annotated."""
    return {
        row["case_id"]
        for row in exclusions
        if row["reason"] in REFUSALS or (row["stage"] == "mark_lesions" and row["arm"] in LESION_ARMS)
    }


def _shown(row: Mapping[str, Any], marks: Mapping[tuple[str, int], Mapping[str, Any]]) -> Shown:
    mark = marks.get((row["case_id"], row["index"]), {})
    boxes = tuple(tuple(box) for box in mark.get("lesion_boxes") or ())
    return Shown(row["index"], row["image_id"], row["plane"], mark.get("is_lesion"), boxes)


def _rows_of(
    paths: Iterable[Path], contract: Table, columns: Sequence[str], cases: set[str] | None = None
) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for path in paths:
        table = read_table(path, contract, columns)
        if cases is not None:
            table = table.filter(pc.is_in(table["case_id"], value_set=_array(sorted(cases))))
        rows += table.to_pylist()
    return rows


def _array(values: Sequence[str]) -> Any:
    import pyarrow as pa

    return pa.array(values, pa.string())


def _pictures(paths: Iterable[Path], wanted: set[str]) -> dict[str, Image.Image]:
    """The stored images asked for, one shard in memory at a time."""
    found: dict[str, Image.Image] = {}
    for path in paths:
        ids = read_table(path, IMAGES, ("image_id",))["image_id"]
        if not wanted.intersection(ids.to_pylist()):
            continue
        table = read_table(path, IMAGES, ("image_id", "png"))
        table = table.filter(pc.is_in(table["image_id"], value_set=_array(sorted(wanted))))
        for row in table.to_pylist():
            with Image.open(io.BytesIO(row["png"])) as image:
                found[row["image_id"]] = image.convert("RGB")
    missing = sorted(wanted - set(found))
    if missing:
        raise StudyError(
            f"the contact sheet needs {len(missing)} image(s) that no images table holds, first {missing[0]}: "
            "slices and images belong to different runs; rerun slice_volumes"
        )
    return found


def tile_origin(row: int, column: int) -> tuple[int, int]:
    """The pixel (x, y) at which the slice of a row and column starts on the sheet."""
    return (
        MARGIN + LABEL + column * (TILE + 2 * FRAME + GAP) + FRAME,
        MARGIN + HEAD + row * (TILE + 2 * FRAME + CAPTION + GAP) + FRAME,
    )


def draw_sheet(strips: Sequence[Strip], pictures: Mapping[str, Image.Image]) -> Image.Image:
    """The sheet: a row a case, slices in anatomical order, lesion slices framed, boxes drawn."""
    columns = max([4, *[len(strip.shown) for strip in strips]])
    right, bottom = tile_origin(max(len(strips), 1), columns)
    sheet = Image.new("RGB", (right - FRAME - GAP + MARGIN, bottom - FRAME - GAP + MARGIN), BACKGROUND)
    pen = ImageDraw.Draw(sheet)
    bold, plain, small = (ImageFont.load_default(size) for size in (15, 13, 12))
    _key(pen, plain)
    if not strips:
        pen.text((MARGIN, MARGIN + HEAD), "no case has slices", fill=SOFT, font=bold)
    for row, strip in enumerate(strips):
        _, top = tile_origin(row, 0)
        _label(pen, strip, top, bold, plain)
        for column, item in enumerate(strip.shown):
            _tile(sheet, pen, item, pictures[item.image_id], tile_origin(row, column), small)
    return sheet


def _key(pen: ImageDraw.ImageDraw, font: Any) -> None:
    y = MARGIN + 4
    pen.rectangle((MARGIN, y, MARGIN + 16, y + 16), outline=LESION, width=FRAME)
    pen.text((MARGIN + 24, y), "slice annotated as lesion", fill=INK, font=font)
    pen.rectangle((MARGIN + 204, y + 2, MARGIN + 218, y + 14), fill=(60, 60, 60), outline=BOX, width=2)
    pen.text((MARGIN + 226, y), "lesion box, where the annotation gives one", fill=INK, font=font)
    pen.text(
        (MARGIN, y + 20), "R, L: the patient's right and left (A, P: front and back). Under a slice: its index.",
        fill=SOFT, font=font,
    )  # fmt: skip


def _label(pen: ImageDraw.ImageDraw, strip: Strip, top: int, bold: Any, plain: Any) -> None:
    case = strip.case
    lines = [
        (_fit(pen, case["case_id"], bold), bold, INK),
        (_fit(pen, case["label"] or "label unknown", plain), plain, INK),
        (_fit(pen, case["sequence"] or "", plain), plain, SOFT),
        (_fit(pen, strip.shown[0].plane or "plane unknown", plain), plain, SOFT),
        *[(line, plain, SOFT) for text in (shown_text(strip), lesion_text(strip)) for line in _wrap(pen, text, plain)],
    ]
    y = top
    for text, font, colour in lines:
        if text:
            pen.text((MARGIN, y), text, fill=colour, font=font)
            y += LINE


def shown_text(strip: Strip) -> str:
    """Which slices stand on the sheet, of those the models saw, of those of the volume."""
    shown, sampled, total = len(strip.shown), strip.sampled, strip.total
    if shown == sampled == total:
        return f"all {total} slices" if total > 1 else "its only slice"
    if shown == sampled:
        return f"the {counted(shown, 'slice')} the models saw, of {total} in the volume"
    volume = f"of {total} in the volume" if total > sampled else "the whole volume"
    return f"{shown} of the {sampled} slices the models saw, {volume}"


def lesion_text(strip: Strip) -> str:
    """What the annotation says of the slices the models saw."""
    if strip.refused:
        return "annotation not usable"
    if strip.lesion is None:
        return "not annotated"
    return f"{strip.lesion} of {strip.sampled} annotated as lesion"


def _wrap(pen: ImageDraw.ImageDraw, text: str, font: Any) -> list[str]:
    """The text in lines that fit into the label's column."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and pen.textlength(longer, font=font) > LABEL - 10:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


def _fit(pen: ImageDraw.ImageDraw, text: str, font: Any) -> str:
    """The text, cut with an ellipsis where it is wider than the label's column."""
    if pen.textlength(text, font=font) <= LABEL - 10:
        return text
    while text and pen.textlength(text + "…", font=font) > LABEL - 10:
        text = text[:-1]
    return text + "…"


def _tile(
    sheet: Image.Image, pen: ImageDraw.ImageDraw, item: Shown, picture: Image.Image, origin: tuple[int, int], font: Any
) -> None:
    x, y = origin
    if item.is_lesion:
        pen.rectangle((x - FRAME, y - FRAME, x + TILE + FRAME - 1, y + TILE + FRAME - 1), fill=LESION)
    sheet.paste(picture.resize((TILE, TILE), Image.Resampling.LANCZOS), (x, y))
    scale_x, scale_y = TILE / picture.width, TILE / picture.height
    for x0, y0, x1, y1 in item.boxes:
        # Boxes are half-open: the last pixel inside is x1 - 1. The outline stands just outside.
        corners = (x + x0 * scale_x - 1, y + y0 * scale_y - 1, x + x1 * scale_x, y + y1 * scale_y)
        pen.rectangle(tuple(round(side) for side in corners), outline=BOX, width=1)
    left, right = SIDES[item.plane]
    for text, place, anchor in ((left, x + 4, "ls"), (right, x + TILE - 4, "rs")):
        pen.text((place, y + TILE - 5), text, fill=(255, 255, 255), font=font, anchor=anchor, stroke_width=1,
                 stroke_fill=(0, 0, 0))  # fmt: skip
    caption = f"{item.index}, lesion" if item.is_lesion else f"{item.index}"
    pen.text(
        (x + TILE / 2, y + TILE + FRAME + 1), caption, fill=INK if item.is_lesion else SOFT, font=font, anchor="ma"
    )
