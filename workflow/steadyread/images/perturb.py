"""Stage `perturb_images`: the derived images that the enabled arms need."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..config.arms import ArmsConfig
from ..config.base import Section
from ..contracts.files import read_rows, write_table
from ..contracts.problems import StudyError
from ..contracts.tables import IMAGES, LESION_SLICES, SLICES
from ..identity.pixels import image_digest
from ..slicing.encode import pixels_of_png, png_bytes
from ..stages.job import Files
from ..stages.progress import progress
from .crops import box_in_crop
from .severity import measure
from .transforms import Pixels, Transform, box_parameters, parameters_text, transforms_for

Row = Mapping[str, Any]


class PerturbImagesSettings(Section):
    """What the stage sees of the configuration."""

    arms: ArmsConfig
    """The arms decide which derived images are needed."""


def perturb_images(
    inputs: Files, outputs: Files, settings: PerturbImagesSettings, wildcards: Mapping[str, str]
) -> None:
    """Derive images from the sampled slices, with their parent and the severity measured against it.

    The table is empty where no enabled arm shows derived images.

    Raises
    ------
    StudyError
        If a sampled slice has no image, or a graded transform changes no pixel.
    """
    transforms = transforms_for(settings.arms.enabled)
    rows: list[dict[str, Any]] = []
    if transforms:
        sampled = [row for row in read_rows(inputs.all("slices"), SLICES) if row["sampled"]]
        boxes = lesion_boxes(sampled, read_rows(inputs.all("lesion_slices"), LESION_SLICES))
        image_ids = sorted({row["image_id"] for row in sampled})
        parents = {row["image_id"]: row["png"] for row in read_rows(inputs.all("images"), IMAGES)}
        missing = [image_id for image_id in image_ids if image_id not in parents]
        if missing:
            raise StudyError(
                f"{len(missing)} of {len(image_ids)} sampled slices have no image ({missing[0]} …): the tables of "
                "slices and images belong to different runs. Rerun slice_volumes."
            )
        for image_id in progress(image_ids, "images"):
            pixels = pixels_of_png(parents[image_id])
            for transform in transforms:
                if transform.around_boxes:
                    rows += (boxed_row(image_id, pixels, transform, box) for box in boxes.get(image_id, ()))
                else:
                    rows += derived_rows(image_id, pixels, transform)
    write_table(outputs.one("images"), IMAGES, rows)


def lesion_boxes(sampled: Iterable[Row], lesion_slices: Iterable[Row]) -> dict[str, list[tuple[float, ...]]]:
    """The distinct lesion boxes of each image, ascending; a picture may be in several cases.

    Parameters
    ----------
    sampled
        Rows of the slices table, sampled ones.
    lesion_slices
        Rows of the lesion slices table.
    """
    image_of = {(row["case_id"], row["index"]): row["image_id"] for row in sampled}
    found: dict[str, set[tuple[float, ...]]] = defaultdict(set)
    for row in lesion_slices:
        image_id = image_of.get((row["case_id"], row["index"]))
        if image_id is not None and row["is_lesion"]:
            found[image_id].update(map(tuple, row["lesion_boxes"] or ()))
    return {image_id: sorted(boxes) for image_id, boxes in found.items()}


def boxed_row(parent_id: str, pixels: Pixels, transform: Transform, box: Sequence[float]) -> dict[str, Any]:
    """The row of the images table for one box of one image.

    No severity: a crop shows other places at the same pixels, so that SSIM or PSNR against the parent
    would measure where the lesion lies and not how much was changed (PROTOCOLS 0.10 is about
    degradations). A crop that changes no pixel, since its margin reaches around the slice, is its own
    parent; a case that has no other crops is left out of the arm where trials are composed.

    Parameters
    ----------
    parent_id, pixels, transform
        As for `derived_rows`; the parent is square.
    box
        [x0, y0, x1, y1) in pixels of the parent.
    """
    derived = transform.function(pixels, box)
    row = _row(parent_id, transform, derived)
    return {**row, "parameters": box_parameters(box), "box": box_in_crop(box, len(pixels))}


def derived_rows(parent_id: str, pixels: Pixels, transform: Transform) -> Iterator[dict[str, Any]]:
    """Rows of the images table for every level of one transform of one image.

    Parameters
    ----------
    parent_id
        Digest of the parent's pixels.
    pixels
        The parent: uint8, shape (height, width), greyscale as every stored slice.
    transform
        What is done to it.

    Raises
    ------
    StudyError
        If a level changes no pixel.
    """
    for level, parameters in transform.levels.items():
        derived = transform.function(pixels, **parameters)
        severity = measure(pixels, derived)
        yield {
            **_row(parent_id, transform, derived),
            "parameters": parameters_text(parameters),
            "severity": level,
            "ssim": severity.ssim,
            "psnr": severity.psnr,
            "max_abs_delta": severity.max_abs_delta,
        }


def _row(parent_id: str, transform: Transform, derived: Pixels) -> dict[str, Any]:
    return {
        "image_id": image_digest(derived, "L"),
        "parent_id": parent_id,
        "transform": transform.name.value,
        "severity": 1,
        "ssim": None,
        "psnr": None,
        "max_abs_delta": None,
        "box": None,
        "width": derived.shape[1],
        "height": derived.shape[0],
        "png": png_bytes(derived),
    }
