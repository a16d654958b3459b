"""One window per volume, set by tissue; 8 bits by an explicit, safe conversion."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steadyread.config.slicing import SubsampleRule, WindowConfig
from steadyread.contracts.enums import Reason
from steadyread.contracts.problems import CaseProblem
from steadyread.slicing.encode import image_row, pixels_of_png, png_bytes
from steadyread.slicing.subsample import sampled_indices
from steadyread.slicing.window import Window, to_uint8, window_of

CONFIG = WindowConfig()
FULL = WindowConfig(low_percentile=0, high_percentile=100)


def head(background: float, tissue: np.ndarray, dtype: type = np.float32) -> np.ndarray:
    """A cube of tissue in the middle of a constant background, 27 times as large."""
    array = np.full((30, 30, 30), background, dtype=dtype)
    array[10:20, 10:20, 10:20] = tissue.reshape(10, 10, 10)
    return array


TISSUE = np.linspace(100, 1099, 1000)


@pytest.mark.parametrize("background", [-1000.0, 0.0, 50.0])
def test_the_background_does_not_count_however_much_there_is(background: float) -> None:
    window = window_of(head(background, TISSUE), CONFIG)
    expected = np.percentile(TISSUE, [0.5, 99.5])
    assert [window.low, window.high] == pytest.approx(expected.tolist(), abs=1e-3)


def test_a_skull_stripped_z_scored_volume_is_windowed_by_its_tissue() -> None:
    z = np.random.default_rng(3).normal(size=1000)
    for background in (-3.6244, 0.0):
        window = window_of(head(background, z), FULL)
        assert [window.low, window.high] == pytest.approx([z.min(), z.max()], abs=1e-5)


def test_nan_and_infinity_do_not_move_the_window() -> None:
    array = head(0, TISSUE)
    before = window_of(array, CONFIG)
    array[0, :5], array[1, 2, 3], array[1, 2, 4] = np.nan, np.inf, -np.inf
    assert window_of(array, CONFIG) == before


def test_a_volume_whose_faces_are_all_nan_is_windowed() -> None:
    window = window_of(head(np.nan, TISSUE), FULL)
    # The smallest value stands for the background that is not there.
    assert (window.low, window.high) == (101, 1099)


def test_the_window_of_integers_equals_that_of_floats() -> None:
    tissue = np.arange(1000) * 7 + 3
    assert window_of(head(0, tissue, np.int16), CONFIG) == window_of(head(0, tissue, np.float32), CONFIG)


def test_two_values_make_a_window() -> None:
    assert window_of(head(0, np.full(1000, 9)), CONFIG) == Window(0, 9)
    assert window_of(head(9, np.full(1000, -4)), CONFIG) == Window(-4, 9)


@pytest.mark.parametrize("fill", [3.0, np.nan])
def test_one_value_makes_none(fill: float) -> None:
    with pytest.raises(CaseProblem) as caught:
        window_of(np.full((3, 3, 3), fill, dtype=np.float32), CONFIG)
    assert caught.value.reason is Reason.CONSTANT


@given(st.permutations([0, 1, 2]), st.tuples(*[st.sampled_from([-1, 1])] * 3))
@settings(deadline=None, max_examples=12)
def test_the_window_does_not_depend_on_the_axis_order(order: list[int], signs: tuple[int, int, int]) -> None:
    array = head(0, np.random.default_rng(5).normal(500, 90, 1000))
    other = array[tuple(slice(None, None, sign) for sign in signs)].transpose(order)
    assert window_of(other, CONFIG) == window_of(array, CONFIG)


def test_windowing_does_not_change_the_volume() -> None:
    array = head(0, TISSUE)
    array.flags.writeable = False
    window_of(array, CONFIG)


def test_eight_bits_are_linear_cut_off_and_rounded_to_even() -> None:
    values = np.array([[-1e9, 0, 0.5, 1, 1.5, 127.4, 254.5, 255, 1e9]])
    assert to_uint8(values, Window(0, 255)).tolist() == [[0, 0, 0, 1, 2, 127, 254, 255, 255]]


def test_nothing_wraps_around() -> None:
    assert to_uint8(np.array([[-5, 32767, -32768]], dtype=np.int16), Window(0, 100)).tolist() == [[0, 255, 0]]
    assert to_uint8(np.array([[0, 65535]], dtype=np.uint16), Window(10, 100)).tolist() == [[0, 255]]


def test_nan_is_black_and_infinity_is_cut_off() -> None:
    values = np.array([[np.nan, np.inf, -np.inf]], dtype=np.float32)
    assert to_uint8(values, Window(-1, 1)).tolist() == [[0, 255, 0]]


@given(st.floats(-1e4, 1e4), st.floats(1e-2, 1e4))
@settings(deadline=None, max_examples=50)
def test_the_window_ends_are_black_and_white(low: float, width: float) -> None:
    window = Window(low, low + width)
    assert to_uint8(np.array([[window.low, window.high]]), window).tolist() == [[0, 255]]


@given(st.integers(1, 400), st.integers(1, 60))
def test_sampled_slices_are_distinct_ascending_and_within(count: int, most: int) -> None:
    indices = sampled_indices(count, most, SubsampleRule.EVEN)
    assert indices == sorted(set(indices))
    assert len(indices) == min(count, most)
    assert min(indices) >= 0 and max(indices) < count


@given(st.integers(2, 400), st.integers(1, 60))
def test_sampled_slices_are_the_middles_of_equal_parts(count: int, most: int) -> None:
    if count > most:
        for part, index in enumerate(sampled_indices(count, most, SubsampleRule.EVEN)):
            assert abs(index - ((part + 0.5) * count / most - 0.5)) <= 0.5


def test_known_samples() -> None:
    assert sampled_indices(155, 5, SubsampleRule.EVEN) == [15, 46, 77, 108, 139]
    assert sampled_indices(4, 2, SubsampleRule.EVEN) == [1, 3]
    assert sampled_indices(3, 24, SubsampleRule.EVEN) == [0, 1, 2]


def test_a_png_gives_its_pixels_back() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (20, 30), dtype=np.uint8)
    np.testing.assert_array_equal(pixels_of_png(png_bytes(pixels)), pixels)
    row = image_row(pixels)
    assert (row["width"], row["height"], row["transform"], row["parameters"]) == (30, 20, "none", "{}")
    assert row["image_id"] == image_row(pixels[:, ::-1][:, ::-1])["image_id"] != image_row(pixels.T)["image_id"]


@pytest.mark.parametrize("array", [np.zeros((4, 4), dtype=np.uint16), np.zeros((4, 4, 3), dtype=np.uint8)])
def test_only_eight_bit_grey_becomes_a_png(array: np.ndarray) -> None:
    with pytest.raises(ValueError, match="uint8"):
        png_bytes(array)
