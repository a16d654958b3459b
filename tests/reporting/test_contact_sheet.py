"""The contact sheet shows what models saw, and marks exactly the slices that show the lesion."""

from __future__ import annotations

import csv
from collections import Counter

import numpy as np
import pytest
from PIL import Image

from steadyread.contracts.problems import StudyError
from steadyread.reporting.contact_sheet import (
    BACKGROUND,
    BOX,
    COLUMNS,
    FRAME,
    LABEL,
    LESION,
    TILE,
    ContactSheetSettings,
    Strip,
    choose_cases,
    contact_sheet,
    lesion_text,
    refused_annotations,
    shown_text,
    tile_origin,
)
from steadyread.stages.job import Files


@pytest.fixture
def sheet(tmp_path, put):
    def make(tables, cases=12, seed=1, exclusions=()):
        inputs = {name: put(name, rows) for name, rows in {**tables, "exclusions": list(exclusions)}.items()}
        outputs = {"png": tmp_path / "sheet.png", "data": tmp_path / "sheet.csv"}
        settings = ContactSheetSettings.model_validate({"report": {"contact_sheet_cases": cases}, "seed": seed})
        contact_sheet(Files(inputs), Files(outputs), settings, {})
        with Image.open(outputs["png"]) as image:
            pixels = np.asarray(image.convert("RGB"))
        return pixels, list(csv.DictReader(outputs["data"].open())), outputs["png"].read_bytes()

    return make


def test_exactly_the_lesion_slices_are_framed_and_boxed(sheet, imaging):
    pixels, rows, _ = sheet(imaging(cases=3, count=6, size=64))
    assert {(row["index"], row["is_lesion"]) for row in rows} == {
        ("0", "false"), ("1", "false"), ("2", "true"), ("3", "true"), ("4", "false"),
    }  # fmt: skip
    for row in rows:
        x, y = tile_origin(int(row["row"]), int(row["column"]))
        frame = tuple(pixels[y - FRAME, x + TILE // 2])
        # The box [16, 24, 40, 48) of a 64-pixel image; its outline stands just outside.
        scale = TILE / 64
        edge = tuple(pixels[y + round(24 * scale) - 1, x + round(28 * scale)])
        inside = tuple(pixels[y + round(36 * scale), x + round(28 * scale)])
        lesion = row["is_lesion"] == "true"
        assert frame == (LESION if lesion else BACKGROUND)
        assert (edge == BOX) == lesion
        assert inside != BOX
        assert (row["boxes"] == "16 24 40 48") == lesion


def test_the_pixels_on_the_sheet_are_the_stored_ones(sheet, imaging):
    tables = imaging(cases=2, count=4)
    pixels, rows, _ = sheet(tables)
    for row in rows:
        number = int(row["case_id"][-2:]) * 4 + int(row["index"])
        x, y = tile_origin(int(row["row"]), int(row["column"]))
        assert tuple(pixels[y + TILE // 2, x + TILE // 8]) == (40 + number % 50,) * 3


def test_slices_run_in_anatomical_order_and_unsampled_ones_are_not_shown(sheet, imaging):
    _, rows, _ = sheet(imaging(cases=2, count=20))
    for case in {row["case_id"] for row in rows}:
        shown = [int(row["index"]) for row in rows if row["case_id"] == case]
        assert shown == sorted(shown)
        assert len(shown) == COLUMNS
        assert 19 not in shown


def test_the_order_of_rows_and_shards_changes_nothing(tmp_path, put, sheet, imaging):
    tables = imaging(cases=4, count=4)
    _, _, first = sheet(tables)
    _, _, second = sheet({name: rows[::-1] for name, rows in tables.items()})
    assert first == second


@pytest.mark.parametrize("count", [1, 2, 3, 7, 12])
def test_cases_are_balanced_over_labels(count):
    cases = [{"case_id": f"c{n}", "label": label} for n, label in enumerate(["GBM"] * 10 + ["MET"] * 4 + [None] * 3)]
    chosen = choose_cases(cases, count, seed=5)
    sizes = Counter(case["label"] for case in chosen)
    assert len(chosen) == count
    assert max(sizes.values()) - min(sizes.get(label, 0) for label in ("GBM", "MET", None)) <= (1 if count <= 9 else 2)
    assert choose_cases(cases[::-1], count, seed=5) == chosen


def test_another_seed_draws_other_cases():
    cases = [{"case_id": f"c{n}", "label": "GBM"} for n in range(40)]
    assert len({tuple(case["case_id"] for case in choose_cases(cases, 3, seed)) for seed in range(5)}) == 5


def test_sagittal_slices_are_marked_front_and_back_and_unknown_planes_not_at_all(sheet, imaging):
    views = {plane: sheet(imaging(cases=1, count=2, plane=plane))[0] for plane in ("axial", "sagittal", None)}
    x, y = tile_origin(0, 0)
    corner = {plane: view[y + TILE - 18 : y + TILE, x : x + 18] for plane, view in views.items()}
    assert not np.array_equal(corner["axial"], corner["sagittal"])
    assert corner[None].max() < 100 < corner["axial"].max()


def test_a_missing_image_stops_the_sheet_with_what_to_do(sheet, imaging):
    tables = imaging(cases=1, count=3)
    with pytest.raises(StudyError, match="rerun slice_volumes"):
        sheet({**tables, "images": tables["images"][:1]})


def test_cases_without_annotation_are_shown_unmarked(sheet, imaging):
    tables = imaging(cases=1, count=3)
    bare = [{**row, "is_lesion": None, "lesion_boxes": None} for row in tables["lesion_slices"]]
    pixels, rows, _ = sheet({**tables, "lesion_slices": bare})
    assert {row["is_lesion"] for row in rows} == {""}
    _, y = tile_origin(0, 0)
    assert not (pixels[y - FRAME :] == LESION).all(axis=2).any()


def test_no_case_with_slices_is_still_a_sheet(sheet, imaging):
    tables = {name: [] for name in imaging(cases=1)}
    pixels, rows, _ = sheet(tables)
    assert rows == []
    assert (pixels != 255).any()


@pytest.mark.parametrize(
    ("shown", "sampled", "total", "said"),
    [
        (12, 14, 155, "12 of the 14 slices the models saw, of 155 in the volume"),
        (14, 14, 155, "the 14 slices the models saw, of 155 in the volume"),
        (1, 1, 155, "the 1 slice the models saw, of 155 in the volume"),
        (12, 14, 14, "12 of the 14 slices the models saw, the whole volume"),
        (6, 6, 6, "all 6 slices"),
        (1, 1, 1, "its only slice"),
    ],
)
def test_the_label_says_shown_of_seen_of_all(shown, sampled, total, said):
    assert shown_text(Strip({}, (None,) * shown, sampled, total, None)) == said


def test_a_refused_annotation_is_not_the_same_as_none(exclusion):
    both = ("lesion_removed", "matched_removed")
    rows = [
        *[exclusion("a", stage="mark_lesions", arm=arm, reason="annotation_other_space") for arm in both],
        *[exclusion("b", stage="compose_trials", arm=arm, reason="no_annotation") for arm in both],
        *[exclusion("c", stage="mark_lesions", arm=arm, reason="missing_file") for arm in both],
        exclusion("d"),
    ]
    assert refused_annotations(rows) == {"a", "c"}
    assert lesion_text(Strip({}, (), 5, 5, None, refused=True)) == "annotation not usable"
    assert lesion_text(Strip({}, (), 5, 5, None)) == "not annotated"
    assert lesion_text(Strip({}, (), 5, 5, 0)) == "0 of 5 annotated as lesion"


def test_a_refused_annotation_changes_the_label_of_its_case_and_nothing_else(sheet, imaging, exclusion):
    tables = imaging(cases=2, count=4)
    tables = {**tables, "lesion_slices": [{**row, "is_lesion": None} for row in tables["lesion_slices"]]}
    before, rows, _ = sheet(tables)
    refusal = exclusion("case01", stage="mark_lesions", arm="lesion_removed", reason="annotation_labels")
    after, _, _ = sheet(tables, exclusions=[refusal])
    changed = np.argwhere((before != after).any(axis=2))
    top = next(tile_origin(int(row["row"]), 0)[1] for row in rows if row["case_id"] == "case01")
    assert len(changed)
    assert changed[:, 1].max() < LABEL + 10
    assert top <= changed[:, 0].min()
    assert changed[:, 0].max() < top + TILE
