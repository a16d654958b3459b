"""Crops: what they show, and where the box lies in them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from steadyread.images.crops import LEAST, box_in_crop, crop, crop_window


@st.composite
def boxes(draw, size=64):
    """A size and a box of at least half a pixel within it."""
    low = [draw(st.floats(0, size - 0.5)) for _ in range(2)]
    high = [draw(st.floats(edge + 0.5, size)) for edge in low]
    return size, (low[0], low[1], high[0], high[1])


@given(boxes())
def test_the_window_lies_in_the_image_and_holds_the_box(drawn):
    size, box = drawn
    left, top, side = crop_window(box, size)
    assert 0 <= left <= left + side <= size
    assert 0 <= top <= top + side <= size
    assert side >= round(LEAST * size)
    # Whole pixels: an edge may lie within half a pixel of the window's.
    assert left - 0.5 <= box[0]
    assert box[2] <= left + side + 0.5
    assert top - 0.5 <= box[1]
    assert box[3] <= top + side + 0.5


@given(boxes())
def test_what_lies_in_the_box_lies_in_the_box_of_the_crop(drawn):
    """A bright box on black: outside of its place in the crop, beyond the filter's reach, the crop is black."""
    size, box = drawn
    low = [int(np.floor(edge)) for edge in box[:2]]
    high = [int(np.ceil(edge)) for edge in box[2:]]
    pixels = np.zeros((size, size), np.uint8)
    pixels[low[1] : high[1], low[0] : high[0]] = 200
    whole = (float(low[0]), float(low[1]), float(high[0]), float(high[1]))
    shown = crop(pixels, whole)
    scale = size / crop_window(whole, size)[2]
    x0, y0, x1, y1 = box_in_crop(whole, size)
    assert 0 <= x0 < x1 <= size
    assert 0 <= y0 < y1 <= size
    assert np.isclose(x1 - x0, (high[0] - low[0]) * scale)
    assert np.isclose(y1 - y0, (high[1] - low[1]) * scale)
    reach = int(np.ceil(scale)) + 1
    inside = np.zeros_like(pixels, dtype=bool)
    rows = slice(max(int(y0) - reach, 0), int(np.ceil(y1)) + reach)
    columns = slice(max(int(x0) - reach, 0), int(np.ceil(x1)) + reach)
    inside[rows, columns] = True
    assert shown.max() > 0
    assert not shown[~inside].any()


def test_a_window_of_the_whole_image_is_the_image():
    pixels = np.random.default_rng(0).integers(0, 256, (32, 32), dtype=np.uint8)
    assert np.array_equal(crop(pixels, (4.0, 4.0, 28.0, 28.0)), pixels)
