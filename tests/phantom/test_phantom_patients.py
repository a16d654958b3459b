"""What a phantom patient is, and what its options change: statements about pixels, no files."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest
from scipy import ndimage

from steadyread.config.phantom import PhantomConfig
from steadyread.phantom.anatomy import Anatomy
from steadyread.phantom.contrast import SEQUENCES
from steadyread.phantom.fields import WaveField
from steadyread.phantom.geometry import Grid
from steadyread.phantom.lesions import CORE, ENHANCING, JUNCTION, OEDEMA, Seen, draw_lesions
from steadyread.phantom.patients import Acquisition, acquire, grid_of
from steadyread.phantom.template import sample

PLAIN = PhantomConfig()


@lru_cache(maxsize=64)
def patient(
    number: int, label: str | None, options: PhantomConfig = PLAIN, *, tilted: bool = False, site: int = 0
) -> Acquisition:
    name = f"somebody-{number}"
    return acquire(5, name, label, grid_of(5, name, tilted), options, site)


@lru_cache(maxsize=128)
def lesions_of(number: int, label: str, scale: float = 1.0) -> tuple[Anatomy, Grid, list[Seen]]:
    name = f"somebody-{number}"
    anatomy, grid = Anatomy.draw(5, name), grid_of(5, name, tilted=number % 2 == 0)
    return anatomy, grid, draw_lesions(5, name, label, anatomy, grid.lattice, scale)


def test_the_same_patient_has_the_same_pixels_and_another_has_others() -> None:
    first, again = patient(1, "GBM"), acquire(5, "somebody-1", "GBM", grid_of(5, "somebody-1", False), PLAIN)
    for sequence in SEQUENCES:
        np.testing.assert_array_equal(first.volumes[sequence], again.volumes[sequence])
    np.testing.assert_array_equal(first.labels, again.labels)
    grid = grid_of(5, "somebody-1", False)
    for seed, name in ((6, "somebody-1"), (5, "somebody-2")):
        assert (acquire(seed, name, "GBM", grid, PLAIN).volumes["T2"] != first.volumes["T2"]).mean() > 0.9


def test_an_unknown_label_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"'PML'.*GBM.*MET"):
        acquire(5, "somebody-1", "PML", grid_of(5, "somebody-1", False), PLAIN)


def test_sequences_share_their_anatomy() -> None:
    """Ventricles are dark in T1CE and bright in T2 at the same place, nowhere else in the brain."""
    found = patient(1, None)
    one, two = (ndimage.gaussian_filter(found.volumes[s].astype(float), (1, 1, 0)) for s in SEQUENCES)
    middle = (slice(46, 66), slice(45, 75), slice(8, 11))
    if found.labels.shape[0] == 104:
        middle = (slice(43, 61), slice(45, 75), slice(8, 11))
    dark = one[middle] < 0.5 * np.median(one[middle])
    assert dark.sum() > 20
    assert two[middle][dark].mean() > 1.3 * two[middle][~dark].mean()


def test_a_patient_without_lesion_is_the_same_patient_and_equal_far_away() -> None:
    for number, label in ((1, "GBM"), (2, "MET"), (4, "MET"), (5, "MET")):
        ill, well = patient(number, label), patient(number, None)
        assert not well.labels.any()
        assert well.lesions == []
        touched = ill.labels > 0
        name, grid = f"somebody-{number}", grid_of(5, f"somebody-{number}", False)
        seen = draw_lesions(5, name, label, Anatomy.draw(5, name), grid.lattice, 1.0)
        far = np.ones(grid.shape, dtype=bool)
        for item in seen:
            distance = np.linalg.norm(grid.lattice.points() - item.lesion.centre.reshape(3, 1, 1, 1), axis=0)
            far &= distance > max(4 * item.lesion.radius, 1.5 * item.lesion.radius + 2.5 * item.lesion.oedema) + 1
        assert far.mean() > 0.2
        for sequence in SEQUENCES:
            np.testing.assert_array_equal(ill.volumes[sequence][far], well.volumes[sequence][far])
            assert (ill.volumes[sequence][touched] != well.volumes[sequence][touched]).mean() > 0.5


@pytest.mark.parametrize("number", range(0, 30, 3))
def test_a_glioblastoma_is_one_large_ring_around_a_core(number: int) -> None:
    anatomy, grid, seen = lesions_of(number, "GBM")
    assert len(seen) == 1
    outlined, core = seen[0].voxels, seen[0].core_voxels
    assert outlined.sum() * np.prod(grid.spacing) > 3000, "millilitres, not specks"
    assert core.any()
    # In its largest slice the core hardly touches what lies around the lesion: the rim is thin in places.
    k = int(core.sum(axis=(0, 1)).argmax())
    assert (ndimage.binary_dilation(core[:, :, k]) & ~outlined[:, :, k]).sum() <= 0.2 * core[:, :, k].sum()
    depth = -sample("outside", anatomy.template_points(seen[0].lesion.centre.astype(np.float32)[:, None]))[0]
    assert depth > 8.5


def test_most_glioblastomas_are_deep() -> None:
    depths = []
    for number in range(30):
        anatomy, _, seen = lesions_of(number, "GBM")
        depths.append(-sample("outside", anatomy.template_points(seen[0].lesion.centre.astype(np.float32)[:, None]))[0])
    assert np.mean(np.array(depths) > 18.5) > 0.7


def test_metastases_are_one_to_four_small_ones_at_the_junction() -> None:
    counts = set()
    for number in range(30):
        anatomy, grid, seen = lesions_of(number, "MET")
        counts.add(len(seen))
        centres = np.stack([item.lesion.centre for item in seen], axis=1).astype(np.float32)
        points = anatomy.template_points(centres)
        assert (
            (-sample("outside", points) > JUNCTION[0] - 0.5) & (-sample("outside", points) < JUNCTION[1] + 0.5)
        ).all()
        assert (sample("gm", points) > 0.2).all()
        assert (sample("wm", points) > 0.2).all()
        volumes = [item.voxels.sum() * np.prod(grid.spacing) / 1000 for item in seen]
        assert max(volumes) < 20
        assert np.median(volumes) < 10
    assert counts == {1, 2, 3, 4}


@pytest.mark.parametrize("scale", [0.5, 1.0, 2.0])
def test_lesions_show_and_leave_more_slices_free_than_they_take(scale: float) -> None:
    for number in range(16):
        _, grid, seen = lesions_of(number, ("GBM", "MET")[number % 2], scale)
        shown = np.array([item.voxels.any(axis=(0, 1)) for item in seen])
        assert shown.any(axis=1).all()
        assert shown.any(axis=0).sum() + 1 <= grid.shape[2] - shown.any(axis=0).sum()


def test_the_lesion_scale_is_a_factor_on_volume() -> None:
    def volume(number: int, scale: float) -> float:
        _, _, seen = lesions_of(number, ("GBM", "MET")[number % 2], scale)
        return float(sum(item.voxels.sum() for item in seen))

    # The median: a few are drawn anew, where the larger ones leave too few slices.
    for scale in (0.5, 2.0):
        ratios = [volume(number, scale) / volume(number, 1.0) for number in range(16)]
        assert np.median(ratios) == pytest.approx(scale, rel=0.1)


def test_a_mirrored_patient_is_the_mirror_image_but_for_the_capsule() -> None:
    mirrored = PhantomConfig(mirrored=True)
    for number, label in ((1, "GBM"), (4, "MET")):
        plain, turned = patient(number, label), patient(number, label, mirrored)
        np.testing.assert_array_equal(turned.labels, plain.labels[::-1])
        for one, other in zip(plain.lesions, turned.lesions, strict=True):
            np.testing.assert_array_equal(other, one[::-1])
        right = plain.labels.shape[0] * 3 // 4
        for found in (plain, turned):
            assert np.nonzero(found.capsule)[0].min() > right
        for sequence in SEQUENCES:
            # Coil and noise are the scanner's: compared through both, smoothed and without the capsule.
            a, b = (
                ndimage.gaussian_filter(item.volumes[sequence].astype(float), (1, 1, 0)) for item in (plain, turned)
            )
            same, flipped = np.corrcoef(a.ravel(), b.ravel())[0, 1], np.corrcoef(a[::-1].ravel(), b.ravel())[0, 1]
            assert flipped > 0.97
            assert flipped > same


def test_a_mirrored_patient_cut_obliquely_is_what_the_mirrored_slices_of_the_patient_show() -> None:
    """The mirror image of an oblique stack is another stack: there the lesion map is the mirror image."""
    name = "somebody-8"
    grid = grid_of(5, name, tilted=True)
    pitch, roll, yaw = grid.tilt
    # Turns about A and S change sign in a mirror, the turn about R does not (extrinsic x, y, z in order).
    other = Grid(grid.shape, grid.spacing, (-grid.centre[0], *grid.centre[1:]), (pitch, -roll, -yaw))
    np.testing.assert_allclose(other.lattice.points(), grid.lattice.mirrored().points(), atol=1e-3)
    plain = acquire(5, name, "GBM", other, PLAIN)
    turned = acquire(5, name, "GBM", grid, PhantomConfig(mirrored=True))
    assert (turned.labels != plain.labels[::-1]).mean() < 1e-4


def test_sites_differ_in_contrast_noise_and_shading_and_not_in_anatomy() -> None:
    options = PhantomConfig(site_effects=True)
    one, two = (patient(3, "MET", options, site=site) for site in (0, 1))
    np.testing.assert_array_equal(one.labels, two.labels)
    for sequence in SEQUENCES:
        a, b = one.volumes[sequence].astype(float), two.volumes[sequence].astype(float)
        air = (slice(0, 8), slice(0, 8), slice(None))
        assert b[air].std() / a[air].std() == pytest.approx(1.7, abs=0.1)
        front, back = (slice(40, 70), slice(80, 95), 9), (slice(40, 70), slice(15, 30), 9)
        assert b[front].mean() / b[back].mean() < 0.95 * a[front].mean() / a[back].mean()
        edges = [np.abs(np.diff(ndimage.gaussian_filter(item[..., 9], 1.5), axis=0)).ravel() for item in (a, b)]
        assert np.corrcoef(edges)[0, 1] > 0.9


def test_without_site_effects_all_sites_are_alike() -> None:
    one, two = (patient(3, "MET", site=site) for site in (0, 1))
    np.testing.assert_array_equal(one.volumes["T1CE"], two.volumes["T1CE"])


def test_the_capsule_sits_on_the_skin_of_the_right_temple() -> None:
    for number in range(4):
        found = patient(number, None, tilted=number % 2 == 0)
        signal = found.volumes["T1CE"].astype(float)
        i, j, k = (round(index.mean()) for index in np.nonzero(found.capsule))
        line = ndimage.gaussian_filter1d(signal[:, j, k], 0.7)
        air = np.median(signal[:8, :8])
        assert signal[found.capsule].mean() > 1.2 * np.percentile(signal, 99)
        assert (line[i + 6 :] < line[i] / 3).all(), "air to the right of it"
        assert (line[i - 8 : i] > 2 * air).all(), "skin, fat and bone to the left of it"


def test_a_wave_field_on_a_lattice_is_the_field_at_its_points() -> None:
    lattice = grid_of(5, "somebody-2", tilted=True).lattice
    field = WaveField.draw(np.random.default_rng(3), 8, 60)
    values = field.on(lattice)
    np.testing.assert_allclose(values, field.at(lattice.points()), atol=2e-3)
    assert values.std() == pytest.approx(1, abs=0.3)


def test_labels_are_core_rim_and_oedema() -> None:
    labels = patient(1, "GBM").labels
    assert set(np.unique(labels)) == {0, CORE, ENHANCING, OEDEMA}
    assert (labels == OEDEMA).sum() > 0.3 * (labels == ENHANCING).sum()
