"""Slice tables: a number means what the table says it means, or is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from steadyread.annotations.lesion_map import LesionSlices
from steadyread.annotations.load import load_annotation
from steadyread.config.lesions import LesionsConfig
from steadyread.contracts.enums import AnnotationKind, Reason
from steadyread.contracts.problems import CaseProblem
from steadyread.volumes.loaded import LoadedVolume

SHAPE = (6, 8, 10)
AFFINE = np.diag([1.0, 1.0, 4.0, 1.0])
AFFINE[:3, 3] = (-3, -4, 100)
Volumes = Callable[..., LoadedVolume]


@pytest.fixture
def table(tmp_path: Path) -> Callable[..., LesionSlices]:
    def load(
        text: str, reference: LoadedVolume, options: dict[str, str] | None = None, name: str = "slices.tsv",
        case_id: str | None = None,
    ) -> LesionSlices:  # fmt: skip
        path = tmp_path / name
        path.write_text(text.replace(" ", "\t" if name.endswith("tsv") else ","))
        found = load_annotation(AnnotationKind.SLICE_TABLE, path, options or {}, reference, LesionsConfig(), case_id)
        assert isinstance(found, LesionSlices)
        return found

    return load


def reason_of(call: Callable[[], object]) -> Reason:
    with pytest.raises(CaseProblem) as caught:
        call()
    return caught.value.reason


def as_series(loaded: LoadedVolume, instances: tuple[int, ...]) -> LoadedVolume:
    order = tuple(sorted(range(len(instances)), key=instances.__getitem__).index(k) for k in range(len(instances)))
    return replace(loaded, native_order=order, instance_numbers=instances)


@pytest.mark.parametrize(("axcodes", "expected"), [("RAS", {2, 3}), ("LPS", {2, 3}), ("RAI", {6, 7}), ("LPI", {6, 7})])
def test_storage_numbers_follow_the_file(
    table: Callable[..., LesionSlices], volume_of: Volumes, axcodes: str, expected: set[int]
) -> None:
    found = table("index index_base index_order\n2 0 storage\n3 0 storage\n", volume_of(SHAPE, AFFINE, axcodes))
    assert (found.axis, set(found.indices)) == (2, expected)


def test_storage_numbers_count_along_the_last_axis_of_the_file_whatever_its_plane(
    table: Callable[..., LesionSlices], volume_of: Volumes
) -> None:
    reference = volume_of(SHAPE, AFFINE, "ASR")
    found = table("index\n1\n", reference, {"index_base": "0", "index_order": "storage"})
    assert (found.axis, set(found.indices)) == (0, {1})


@pytest.mark.parametrize("axcodes", ["RAS", "LPI", "ASR", "SLP"])
def test_numbers_from_the_feet_do_not_depend_on_the_file(
    table: Callable[..., LesionSlices], volume_of: Volumes, axcodes: str
) -> None:
    reference = volume_of(SHAPE, AFFINE, axcodes)
    for base in (0, 1):
        options = {"index_base": str(base), "index_order": "feet_to_head"}
        found = table(f"index\n{4 + base}\n", reference, options)
        assert (found.axis, set(found.indices)) == (2, {4})


def test_instance_numbers_are_dicoms_own(table: Callable[..., LesionSlices], volume_of: Volumes) -> None:
    series = as_series(volume_of(SHAPE, AFFINE), (30, 29, 28, 27, 26, 25, 24, 23, 22, 21))
    options = {"index_base": "1", "index_order": "instance"}
    assert set(table("index\n29\n21\n", series, options).indices) == {1, 9}
    assert set(table("index\n28\n", series, options | {"index_base": "0"}).indices) == {1}


def test_heights_name_the_nearest_slice(table: Callable[..., LesionSlices], volume_of: Volumes) -> None:
    for axcodes in ("RAS", "LPI"):
        found = table("z_mm\n108\n117.5\n", volume_of(SHAPE, AFFINE, axcodes))
        assert (found.axis, set(found.indices)) == (2, {2, 4})


def test_a_comma_separated_table_is_read_as_well(table: Callable[..., LesionSlices], volume_of: Volumes) -> None:
    found = table("z_mm\n108\n", volume_of(SHAPE, AFFINE), name="slices.csv")
    assert set(found.indices) == {2}


@pytest.mark.parametrize("axcodes", ["RAS", "LAS", "RPI", "LPI", "ARS", "PLI"])
def test_boxes_are_voxels_of_the_files_own_array(
    table: Callable[..., LesionSlices], write_nifti: Callable[..., Path], volume_of: Volumes, axcodes: str
) -> None:
    """Oracle: mark the box in the stored array, reorient that, and look where it went."""
    import nibabel

    reference = volume_of(SHAPE, AFFINE, axcodes)
    image = nibabel.load(write_nifti("box.nii.gz", np.zeros(SHAPE, dtype=np.uint8), AFFINE, axcodes))
    stored = np.zeros(image.shape, dtype=np.uint8)
    stored[1:3, 2:6, 3] = 1
    where = np.argwhere(np.asarray(nibabel.as_closest_canonical(nibabel.Nifti1Image(stored, image.affine)).dataobj))
    text = "index x0 y0 x1 y1\n3 1 2 3 6\n"
    found = table(text, reference, {"index_base": "0", "index_order": "storage"})
    low, high = where.min(axis=0), where.max(axis=0) + 1
    assert found.boxes == {int(low[2]): (((low[0], high[0]), (low[1], high[1])),)}


def test_one_table_may_serve_several_cases(table: Callable[..., LesionSlices], volume_of: Volumes) -> None:
    text = "case_id index index_base index_order\na 1 0 storage\nb 2 0 storage\nc  0 storage\n"
    reference = volume_of(SHAPE, AFFINE)
    assert set(table(text, reference, case_id="b").indices) == {2}
    assert not table(text, reference, case_id="c").indices
    assert reason_of(lambda: table(text, reference, case_id="d")) is Reason.ANNOTATION_AMBIGUOUS


def test_a_table_of_its_own_without_rows_says_no_lesion(table: Callable[..., LesionSlices], volume_of: Volumes) -> None:
    assert not table("index\n", volume_of(SHAPE, AFFINE)).indices


STORAGE = {"index_base": "0", "index_order": "storage"}


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("index\n2\n", {}),
        ("index\n2\n", {"index_base": "1"}),
        ("index\n2\n", {"index_order": "storage"}),
        ("index index_base\n2 1\n3 0\n", {"index_order": "storage"}),
        ("index index_base\n2 1\n", STORAGE),
        ("index\n2\n", {"index_base": "2", "index_order": "storage"}),
        ("index\n2\n", {"index_base": "0", "index_order": "top_down"}),
        ("index\n2\n", {"index_base": "0", "index_order": "instance"}),
        ("index z_mm\n2 108\n", STORAGE),
        ("case_id\na\n", STORAGE),
        ("index x0 y0\n2 1 1\n", STORAGE),
        ("z_mm\n110\n", {}),
    ],
)
def test_what_may_mean_two_things_is_refused(
    table: Callable[..., LesionSlices], volume_of: Volumes, text: str, options: dict[str, str]
) -> None:
    reference = volume_of(SHAPE, AFFINE)
    assert reason_of(lambda: table(text, reference, options, case_id="a")) is Reason.ANNOTATION_AMBIGUOUS


def test_a_height_that_meets_several_tilted_slices_is_refused(
    table: Callable[..., LesionSlices], volume_of: Volumes
) -> None:
    affine = AFFINE.copy()
    affine[:3, :3] = Rotation.from_euler("x", 20, degrees=True).as_matrix() @ np.diag([1, 5, 4])
    assert reason_of(lambda: table("z_mm\n116\n", volume_of(SHAPE, affine))) is Reason.ANNOTATION_AMBIGUOUS


def test_a_series_has_no_storage_order(table: Callable[..., LesionSlices], volume_of: Volumes) -> None:
    series = as_series(volume_of(SHAPE, AFFINE), tuple(range(1, 11)))
    assert reason_of(lambda: table("index\n2\n", series, STORAGE)) is Reason.ANNOTATION_AMBIGUOUS


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("index\n10\n", STORAGE),
        ("index\n0\n", STORAGE | {"index_base": "1"}),
        ("index\n-1\n", STORAGE),
        ("z_mm\n140\n", {}),
        ("z_mm\n97\n", {}),
        ("index x0 y0 x1 y1\n2 1 1 7 2\n", STORAGE),
        ("index x0 y0 x1 y1\n2 3 1 3 2\n", STORAGE),
        ("index x0 y0 x1 y1\n2 -1 1 3 2\n", STORAGE),
    ],
)
def test_slices_and_boxes_that_the_volume_lacks_are_refused(
    table: Callable[..., LesionSlices], volume_of: Volumes, text: str, options: dict[str, str]
) -> None:
    reference = volume_of(SHAPE, AFFINE)
    assert reason_of(lambda: table(text, reference, options)) is Reason.ANNOTATION_OTHER_SPACE


@pytest.mark.parametrize(
    "text",
    ["", "slice\n2\n", "index index\n2 2\n", "index\ntwo\n", "index\n2.5\n", "z_mm\nnan\n", "index\n2 3\n"],
)
def test_what_is_no_slice_table_is_unreadable(
    table: Callable[..., LesionSlices], volume_of: Volumes, text: str
) -> None:
    assert reason_of(lambda: table(text, volume_of(SHAPE, AFFINE), STORAGE)) is Reason.ANNOTATION_UNREADABLE


def test_slices_may_be_listed_without_a_table(volume_of: Volumes) -> None:
    def listed(index: str, **options: str) -> LesionSlices:
        given = {"index": index, "index_base": "1", "index_order": "feet_to_head"} | options
        found = load_annotation(
            AnnotationKind.SLICE_TABLE, "unused", given, volume_of(SHAPE, AFFINE, "LPI"), LesionsConfig()
        )
        assert isinstance(found, LesionSlices)
        return found

    assert set(listed("3, 4").indices) == {2, 3}
    assert not listed("none", index_base="", index_order="").indices
    assert reason_of(lambda: listed("3", index_order="")) is Reason.ANNOTATION_AMBIGUOUS
