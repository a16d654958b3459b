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
    LESION,
    TILE,
    ContactSheetSettings,
    choose_cases,
    contact_sheet,
    tile_origin,
)
from steadyread.stages.job import Files


@pytest.fixture
def sheet(tmp_path, put):
    def make(tables, cases=12, seed=1):
        inputs = {name: put(name, rows) for name, rows in tables.items()}
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
