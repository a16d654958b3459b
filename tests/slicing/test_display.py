"""Slices are shown as a radiologist expects them, and masks and boxes follow the image."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage

from steadyread.config.slicing import PlaneChoice
from steadyread.contracts.enums import Plane
from steadyread.slicing.display import Fit, display_spacing, displayed, slice_axis, slice_position_mm
from steadyread.slicing.window import Window, to_uint8
from steadyread.volumes.loaded import LoadedVolume
from steadyread.volumes.volume import Volume

SHAPE = (7, 9, 11)
R, A, S = 0, 1, 2


def marked(*sides: int) -> np.ndarray:
    """A volume with one bright voxel at the patient's right, front or top end, else in the middle."""
    array = np.zeros(SHAPE, dtype=np.uint8)
    array[tuple(SHAPE[axis] - 1 if axis in sides else SHAPE[axis] // 2 for axis in range(3))] = 255
    return array


def loaded(affine: np.ndarray | None = None, native: int = 2) -> LoadedVolume:
    volume, mapping = Volume(marked(), np.eye(4) if affine is None else affine).canonical()
    return LoadedVolume(volume, mapping, native)


def place(array: np.ndarray, axis: int) -> tuple[int, int, int]:
    """(slice, row, column) at which the marker is shown."""
    shown = np.stack([displayed(array, axis, k) for k in range(array.shape[axis])])
    k, row, column = (int(value) for value in np.argwhere(shown)[0])
    return k, row, column


def test_axial_shows_the_right_on_the_left_and_the_front_at_the_top() -> None:
    assert place(marked(R), 2) == (5, 4, 0)
    assert place(marked(A), 2) == (5, 0, 3)
    assert place(marked(S), 2) == (10, 4, 3)


def test_coronal_shows_the_right_on_the_left_and_the_head_up() -> None:
    assert place(marked(R), 1) == (4, 5, 0)
    assert place(marked(S), 1) == (4, 0, 3)
    assert place(marked(A), 1) == (8, 5, 3)


def test_sagittal_shows_the_front_on_the_left_and_the_head_up() -> None:
    assert place(marked(A), 0) == (3, 5, 0)
    assert place(marked(S), 0) == (3, 0, 4)
    # Index 0 is the rightmost slice.
    assert place(marked(R), 0) == (0, 5, 4)


def test_positions_run_feet_to_head_right_to_left_back_to_front() -> None:
    volume = Volume(marked(), np.diag([1.0, 2.0, 3.0, 1.0]))
    steps = [slice_position_mm(volume, axis, 1) - slice_position_mm(volume, axis, 0) for axis in range(3)]
    assert steps == pytest.approx([-1, 2, 3])


def test_spacing_is_given_as_row_then_column() -> None:
    volume = Volume(marked(), np.diag([1.0, 2.0, 3.0, 1.0]))
    assert [display_spacing(volume, axis) for axis in range(3)] == [(3, 2), (3, 1), (2, 1)]


def test_the_plane_is_the_native_one_or_the_one_asked_for() -> None:
    case = loaded(native=0)
    assert slice_axis(case, PlaneChoice.NATIVE) == (0, Plane.SAGITTAL)
    assert slice_axis(case, PlaneChoice.AXIAL) == (2, Plane.AXIAL)
    assert slice_axis(case, PlaneChoice.CORONAL) == (1, Plane.CORONAL)
    assert slice_axis(case, PlaneChoice.SAGITTAL) == (0, Plane.SAGITTAL)


def test_a_displayed_slice_is_a_view() -> None:
    array = marked(R)
    assert np.shares_memory(displayed(array, 1, 0), array)


@pytest.mark.parametrize(
    ("shape", "spacing", "scaled", "offset"),
    [
        ((100, 100), (1.0, 1.0), (64, 64), (0, 0)),
        ((100, 50), (1.0, 1.0), (64, 32), (0, 16)),
        ((100, 50), (1.0, 2.0), (64, 64), (0, 0)),
        ((20, 40), (5.0, 1.0), (64, 26), (0, 19)),
        ((1, 500), (0.01, 1.0), (1, 64), (31, 0)),
        ((33, 64), (1.0, 1.0), (33, 64), (15, 0)),
    ],
)
def test_millimetres_become_square_and_the_slice_is_centred(
    shape: tuple[int, int], spacing: tuple[float, float], scaled: tuple[int, int], offset: tuple[int, int]
) -> None:
    fit = Fit(shape, spacing, 64)
    assert (fit.scaled, fit.offset) == (scaled, offset)
    stored = fit.apply_image(np.full(shape, 200, dtype=np.uint8))
    assert stored.shape == (64, 64) and stored.dtype == np.uint8
    inside = np.zeros((64, 64), dtype=bool)
    inside[offset[0] : offset[0] + scaled[0], offset[1] : offset[1] + scaled[1]] = True
    np.testing.assert_array_equal(stored, np.where(inside, 200, 0))


def test_a_slice_that_fits_is_not_touched() -> None:
    pixels = np.random.default_rng(1).integers(0, 256, (32, 32), dtype=np.uint8)
    np.testing.assert_array_equal(Fit((32, 32), (0.7, 0.7), 32).apply_image(pixels), pixels)


def test_no_value_is_invented_by_scaling() -> None:
    pixels = np.zeros((40, 40), dtype=np.uint8)
    pixels[:, 20:] = 100
    assert Fit((40, 40), (1, 1), 97).apply_image(pixels).max() == 100


def test_shrinking_averages_rather_than_skips() -> None:
    stripes = np.zeros((256, 256), dtype=np.uint8)
    stripes[::2] = 200
    stored = Fit((256, 256), (1, 1), 32).apply_image(stripes)
    assert abs(stored[4:-4].astype(int) - 100).max() <= 2


@pytest.mark.parametrize("array", [np.zeros((4, 4), dtype=np.int16), np.zeros((4, 5), dtype=np.uint8)])
def test_a_slice_of_another_type_or_shape_is_refused(array: np.ndarray) -> None:
    with pytest.raises(ValueError, match="expected uint8"):
        Fit((4, 4), (1, 1), 16).apply_image(array)


SHAPES = st.tuples(st.integers(1, 90), st.integers(1, 90))
SPACINGS = st.tuples(st.floats(0.3, 6), st.floats(0.3, 6))


@given(SHAPES, SPACINGS, st.integers(16, 40), st.integers(0, 2**32 - 1), st.floats(0.001, 0.2))
@settings(deadline=None, max_examples=150)
def test_no_lesion_component_vanishes_and_none_appears_far_away(
    shape: tuple[int, int], spacing: tuple[float, float], size: int, seed: int, density: float
) -> None:
    fit = Fit(shape, spacing, size)
    mask = np.random.default_rng(seed).random(shape) < density
    stored = fit.apply_mask(mask)
    assert stored.any() == mask.any()
    eight = np.ones((3, 3))
    labels, count = ndimage.label(mask, eight)
    for label in range(1, count + 1):
        rows, columns = np.nonzero(labels == label)
        x0, y0, x1, y1 = fit.map_box([columns.min(), rows.min(), columns.max() + 1, rows.max() + 1])
        top, bottom, left, right = int(y0 - 0.5), int(np.ceil(y1 + 0.5)), int(x0 - 0.5), int(np.ceil(x1 + 0.5))
        assert stored[max(0, top) : bottom, max(0, left) : right].any()
    if not mask.any():
        return
    rows, columns = np.nonzero(mask)
    x0, y0, x1, y1 = fit.map_box([columns.min(), rows.min(), columns.max() + 1, rows.max() + 1])
    down, across = np.nonzero(stored)
    assert across.min() >= x0 - 1 and across.max() + 1 <= x1 + 1
    assert down.min() >= y0 - 1 and down.max() + 1 <= y1 + 1


def test_a_mask_lies_on_what_it_marks() -> None:
    pixels, mask = np.zeros((100, 60), dtype=np.uint8), np.zeros((100, 60), dtype=bool)
    pixels[20:50, 10:30], mask[20:50, 10:30] = 255, True
    fit = Fit((100, 60), (1.0, 2.0), 120)
    stored, marks = fit.apply_image(pixels), fit.apply_mask(mask)
    np.testing.assert_array_equal(stored > 127, marks)
    x0, y0, x1, y1 = (round(value) for value in fit.map_box([10, 20, 30, 50]))
    box = np.zeros_like(marks)
    box[y0:y1, x0:x1] = True
    np.testing.assert_array_equal(box, marks)


def test_one_voxel_survives_a_strong_reduction() -> None:
    mask = np.zeros((1000, 1000), dtype=bool)
    mask[501, 733] = True
    fit = Fit((1000, 1000), (1, 1), 16)
    assert np.argwhere(fit.apply_mask(mask)).tolist() == [[501 * 16 // 1000, 733 * 16 // 1000]]


def test_the_whole_slice_maps_to_the_whole_inset() -> None:
    fit = Fit((30, 60), (1, 1), 64)
    assert fit.map_box([0, 0, 60, 30]) == [0, 16, 64, 48]


def test_display_and_conversion_meet_in_the_marker() -> None:
    array = marked(R, A) * np.int16(100)
    stored = Fit((9, 7), (1, 1), 18).apply_image(to_uint8(displayed(array, 2, 5), Window(0, 25500)))
    row, column = np.unravel_index(stored.argmax(), stored.shape)
    assert row <= 1 and 2 <= column <= 3
