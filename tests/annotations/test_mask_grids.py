"""Where a mask lies: the volume's own grid in other clothes, another grid, another place."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nibabel import Nifti1Image
from nibabel.orientations import apply_orientation, axcodes2ornt, inv_ornt_aff, ornt_transform
from nibabel.processing import resample_from_to
from scipy.spatial.transform import Rotation

from steadyread.annotations.grids import place_mask
from steadyread.contracts.enums import Reason
from steadyread.contracts.problems import CaseProblem
from steadyread.volumes.volume import Volume

TOLERANCE = 0.01
ORDERS = [
    "".join(pair[sign] for pair, sign in zip(order, signs, strict=True))
    for order in permutations(("LR", "PA", "IS"))
    for signs in product((0, 1), repeat=3)
]


def affine_of(spacing: tuple[float, ...] = (0.9, 1.1, 5.0), angles: tuple[float, ...] = (7, -4, 3)) -> np.ndarray:
    affine = np.eye(4)
    affine[:3, :3] = Rotation.from_euler("xyz", angles, degrees=True).as_matrix() @ np.diag(spacing)
    affine[:3, 3] = (-30, 12, 41)
    return affine


def volume_of(shape: tuple[int, int, int] = (12, 10, 7), affine: np.ndarray | None = None) -> Volume:
    return Volume(np.zeros(shape, dtype=np.float32), affine_of() if affine is None else affine)


def lesion(shape: tuple[int, int, int], seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).random(shape) > 0.8


def stored(mask: np.ndarray, affine: np.ndarray, axcodes: str) -> tuple[np.ndarray, np.ndarray]:
    change = ornt_transform(axcodes2ornt("RAS"), axcodes2ornt(axcodes))
    return apply_orientation(mask, change), affine @ inv_ornt_aff(change, mask.shape)


def refused(mask: np.ndarray, affine: np.ndarray, volume: Volume, resample: bool = True) -> str:
    with pytest.raises(CaseProblem) as caught:
        place_mask(mask, affine, volume, TOLERANCE, resample)
    assert caught.value.reason is Reason.ANNOTATION_OTHER_SPACE
    return caught.value.detail


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(ORDERS), st.tuples(*[st.floats(-25, 25)] * 3), st.integers(0, 9))
def test_the_order_in_which_a_mask_is_stored_changes_nothing(
    axcodes: str, angles: tuple[float, ...], seed: int
) -> None:
    volume = volume_of(affine=affine_of(angles=angles))
    mask = lesion(volume.shape, seed)
    placed = place_mask(*stored(mask, volume.affine, axcodes), volume, TOLERANCE, resample=False)
    assert np.array_equal(placed, mask)


def test_an_affine_that_differs_by_rounding_is_the_same_grid() -> None:
    volume, mask = volume_of(), lesion((12, 10, 7))
    nearly = volume.affine + 4.8e-7 * np.array([[1, -1, 1, 1], [1, 1, -1, 1], [-1, 1, 1, 1], [0, 0, 0, 0]])
    assert np.array_equal(place_mask(mask, nearly, volume, TOLERANCE, resample=False), mask)


def test_corners_further_apart_than_the_tolerance_are_another_grid() -> None:
    volume, mask = volume_of(), lesion((12, 10, 7))
    grown = volume.affine.copy()
    grown[:3, 0] *= 1 + 2 * TOLERANCE / (0.9 * 11)
    assert "12 × 10 × 7" in refused(mask, grown, volume, resample=False)
    assert np.array_equal(place_mask(mask, grown, volume, 3 * TOLERANCE, resample=False), mask)


def test_a_mask_of_part_of_the_volume_lands_in_its_part() -> None:
    volume, whole = volume_of(), np.zeros((12, 10, 7), dtype=bool)
    part = lesion((5, 4, 3))
    whole[3:8, 2:6, 4:7] = part
    affine = volume.affine.copy()
    affine[:, 3] = volume.affine @ (3, 2, 4, 1)
    assert np.array_equal(place_mask(*stored(part, affine, "PIR"), volume, TOLERANCE, resample=False), whole)


def test_a_mask_that_reaches_beyond_the_volume_is_cut_to_it() -> None:
    volume, mask = volume_of(), lesion((16, 14, 9))
    affine = volume.affine.copy()
    affine[:, 3] = volume.affine @ (-2, -3, -1, 1)
    placed = place_mask(mask, affine, volume, TOLERANCE, resample=False)
    assert np.array_equal(placed, mask[2:14, 3:13, 1:8])


@pytest.mark.parametrize("axcodes", ["RAS", "LPI", "SAL"])
def test_a_mask_of_twice_the_resolution_says_the_same(axcodes: str) -> None:
    volume, mask = volume_of(), lesion((12, 10, 7))
    fine = mask.repeat(2, 0).repeat(2, 1).repeat(2, 2)
    affine = volume.affine @ np.array([[0.5, 0, 0, -0.25], [0, 0.5, 0, -0.25], [0, 0, 0.5, -0.25], [0, 0, 0, 1]])
    placed = place_mask(*stored(fine, affine, axcodes), volume, TOLERANCE, resample=True)
    assert np.array_equal(placed, mask)
    refused(fine, affine, volume, resample=False)


def test_resampling_agrees_with_nibabel_on_oblique_and_sheared_grids() -> None:
    blob = np.zeros((24, 26, 11), dtype=bool)
    blob[6:18, 5:20, 2:9] = True
    for shear in (0.0, 0.12):
        affine = affine_of((0.7, 0.8, 3.1), (-5, 9, 2))
        affine[1, 2] += shear
        volume = volume_of()
        affine[:3, 3] = volume.affine[:3] @ (5.5, 4.5, 3, 1) - affine[:3, :3] @ (11.5, 12.5, 5)
        ours = place_mask(blob, affine, volume, TOLERANCE, resample=True)
        theirs = resample_from_to(Nifti1Image(blob.astype(np.uint8), affine), (volume.shape, volume.affine), order=0)
        assert np.array_equal(ours, np.asarray(theirs.dataobj) > 0)
        assert 0 < ours.sum() < ours.size


def test_a_mask_that_lost_its_header_is_refused_with_the_sizes() -> None:
    detail = refused(lesion((24, 20, 7)), np.eye(4), volume_of())
    assert "24 × 20 × 7" in detail and "12 × 10 × 7" in detail


def test_a_mask_of_the_volumes_matrix_that_lost_its_position_is_refused_though_it_lies_inside() -> None:
    affine = np.diag([4.0, 4.0, 4.0, 1.0])
    affine[:3, 3] = -2
    volume = volume_of((12, 10, 7), affine)
    assert "lost its position" in refused(lesion((12, 10, 7)), np.eye(4), volume)
    # A volume without a position of its own has a mask like that.
    alike = volume_of((12, 10, 7), np.eye(4))
    assert place_mask(lesion((12, 10, 7)), np.eye(4), alike, TOLERANCE, resample=True).any()


def test_a_mask_of_another_place_is_refused_even_where_its_shape_fits() -> None:
    volume, affine = volume_of(), affine_of()
    affine[:3, 3] += 1000
    refused(lesion((12, 10, 7)), affine, volume)
    refused(np.zeros((12, 10, 7), dtype=bool), affine, volume)


def test_a_lesion_wholly_outside_the_volume_is_refused() -> None:
    volume, mask = volume_of(), np.zeros((12, 10, 13), dtype=bool)
    mask[:, :, 10] = True
    assert "none of the 120 lesion voxels" in refused(mask, volume.affine, volume)


def test_a_lesion_too_thin_to_be_met_by_the_volumes_voxels_is_not_read_as_no_lesion() -> None:
    volume = volume_of(affine=affine_of((1, 1, 5), (0, 0, 0)))
    fine = np.zeros((12, 10, 35), dtype=bool)
    fine[4:6, 4:6, 5] = True
    affine = volume.affine @ np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0.2, -0.4], [0, 0, 0, 1]])
    assert "none of the 4 lesion voxels" in refused(fine, affine, volume)


def test_an_empty_mask_on_another_grid_stays_empty() -> None:
    volume = volume_of()
    affine = volume.affine @ np.diag([0.5, 0.5, 1, 1])
    assert not place_mask(np.zeros((24, 20, 7), dtype=bool), affine, volume, TOLERANCE, resample=True).any()
