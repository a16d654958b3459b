"""Array and affine move together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nibabel import orientations

from steadyread.volumes.volume import Volume

ORDERS = st.permutations([0, 1, 2])
SIGNS = st.tuples(*[st.sampled_from([-1, 1])] * 3)
ANGLES = st.tuples(*[st.floats(-0.5, 0.5)] * 3)


def rotation(angles: tuple[float, float, float]) -> np.ndarray:
    """Rotation about x, y, z by less than 30°."""
    a, b, c = angles
    about_x = np.array([[1, 0, 0], [0, np.cos(a), -np.sin(a)], [0, np.sin(a), np.cos(a)]])
    about_y = np.array([[np.cos(b), 0, np.sin(b)], [0, 1, 0], [-np.sin(b), 0, np.cos(b)]])
    about_z = np.array([[np.cos(c), -np.sin(c), 0], [np.sin(c), np.cos(c), 0], [0, 0, 1]])
    return about_z @ about_y @ about_x


def canonical_volume(angles: tuple[float, float, float] = (0.1, -0.2, 0.05)) -> Volume:
    affine = np.eye(4)
    affine[:3, :3] = rotation(angles) @ np.diag([1.0, 2.0, 5.0])
    affine[:3, 3] = [-7, 11, 13]
    return Volume(np.arange(3 * 4 * 5).reshape(3, 4, 5), affine)


def stored_otherwise(volume: Volume, order: list[int], signs: tuple[int, int, int]) -> Volume:
    """The same volume with its axes permuted and flipped, by indexing alone."""
    flips = np.eye(4)
    for axis, sign in enumerate(signs):
        if sign < 0:
            flips[axis, axis], flips[axis, 3] = -1, volume.shape[axis] - 1
    array = volume.array[tuple(slice(None, None, sign) for sign in signs)].transpose(order)
    shuffle = np.eye(4)
    shuffle[:3, :3] = np.eye(3)[:, order]
    return Volume(array, volume.affine @ flips @ shuffle)


@given(ORDERS, SIGNS)
@settings(deadline=None, max_examples=60)
def test_every_axis_order_is_the_same_volume(order: list[int], signs: tuple[int, int, int]) -> None:
    volume = canonical_volume()
    canonical, mapping = stored_otherwise(volume, order, signs).canonical()
    np.testing.assert_array_equal(canonical.array, volume.array)
    np.testing.assert_allclose(canonical.affine, volume.affine, atol=1e-12)
    assert canonical.axis_codes == ("R", "A", "S")
    assert mapping.axes == tuple(order.index(axis) for axis in range(3))
    assert mapping.flipped == tuple(sign < 0 for sign in signs)


@given(ORDERS, SIGNS)
@settings(deadline=None, max_examples=40)
def test_the_source_index_finds_the_same_slice_in_the_stored_array(
    order: list[int], signs: tuple[int, int, int]
) -> None:
    stored = stored_otherwise(canonical_volume(), order, signs)
    canonical, mapping = stored.canonical()
    for axis in range(3):
        for index in range(canonical.shape[axis]):
            there = stored.array.take(mapping.source_index(axis, index), axis=mapping.axes[axis])
            here = canonical.array.take(index, axis=axis)
            assert sorted(here.ravel()) == sorted(there.ravel())


@given(ORDERS, SIGNS, ANGLES)
@settings(deadline=None, max_examples=60)
def test_canonicalising_twice_is_canonicalising_once(
    order: list[int], signs: tuple[int, int, int], angles: tuple
) -> None:
    once, _ = stored_otherwise(canonical_volume(angles), order, signs).canonical()
    twice, mapping = once.canonical()
    np.testing.assert_array_equal(twice.array, once.array)
    np.testing.assert_array_equal(twice.affine, once.affine)
    assert mapping.axes == (0, 1, 2) and mapping.flipped == (False, False, False)


@given(ORDERS, SIGNS, st.tuples(*[st.integers(0, 2)] * 3))
@settings(deadline=None, max_examples=40)
def test_a_voxel_keeps_its_place_in_the_body(order: list[int], signs: tuple, voxel: tuple[int, int, int]) -> None:
    stored = stored_otherwise(canonical_volume(), order, signs)
    canonical, _ = stored.canonical()
    value = stored.array[voxel]
    found = np.argwhere(canonical.array == value)[0]
    np.testing.assert_allclose(canonical.affine @ [*found, 1], stored.affine @ [*voxel, 1], atol=1e-9)


def test_positions_grow_towards_right_front_and_head_by_the_spacing() -> None:
    volume = canonical_volume()
    for axis in range(3):
        steps = np.diff([volume.position_mm(axis, index) for index in range(volume.shape[axis])])
        np.testing.assert_allclose(steps, volume.spacing[axis])


def test_a_position_does_not_depend_on_how_the_axis_is_stored() -> None:
    volume = canonical_volume()
    flipped = stored_otherwise(volume, [0, 1, 2], (-1, 1, -1))
    assert flipped.position_mm(2, 0) == pytest.approx(volume.position_mm(2, 4))
    assert flipped.position_mm(0, 2) == pytest.approx(volume.position_mm(0, 0))


def test_a_volume_cannot_be_written_to_and_does_not_follow_its_affine_argument() -> None:
    affine = np.eye(4)
    volume = Volume(np.zeros((2, 2, 2)), affine)
    affine[0, 0] = 9
    assert volume.spacing == (1, 1, 1)
    with pytest.raises(ValueError, match="read-only"):
        volume.array[0, 0, 0] = 1
    with pytest.raises(ValueError, match="read-only"):
        volume.affine[0, 0] = 1


@pytest.mark.parametrize(
    ("array", "affine"),
    [(np.zeros((2, 2)), np.eye(4)), (np.zeros((2, 2, 2)), np.eye(3)), (np.zeros((2, 2, 2)), np.zeros((4, 4)))],
)
def test_what_is_no_volume_is_refused(array: np.ndarray, affine: np.ndarray) -> None:
    with pytest.raises(ValueError, match="affine"):
        Volume(array, affine)


def test_axis_codes_agree_with_nibabel() -> None:
    stored = stored_otherwise(canonical_volume(), [2, 0, 1], (-1, 1, 1))
    assert stored.axis_codes == orientations.aff2axcodes(stored.affine) == ("S", "L", "A")
