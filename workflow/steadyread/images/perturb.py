"""Stage `perturb_images`: the derived images that the enabled arms need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..config.arms import ArmsConfig
from ..config.base import Section
from ..contracts.files import read_rows, write_table
from ..contracts.problems import StudyError
from ..contracts.tables import IMAGES, SLICES
from ..identity.digests import canonical_json
from ..identity.pixels import image_digest
from ..slicing.encode import pixels_of_png, png_bytes
from ..stages.job import Files
from ..stages.progress import progress
from .severity import measure
from .transforms import Pixels, Transform, transforms_for


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
        If a sampled slice has no image, or a transform changes no pixel.
    """
    transforms = transforms_for(settings.arms.enabled)
    rows: list[dict[str, Any]] = []
    if transforms:
        sampled = sorted({row["image_id"] for row in read_rows(inputs.all("slices"), SLICES) if row["sampled"]})
        parents = {row["image_id"]: row["png"] for row in read_rows(inputs.all("images"), IMAGES)}
        missing = [image_id for image_id in sampled if image_id not in parents]
        if missing:
            raise StudyError(
                f"{len(missing)} of {len(sampled)} sampled slices have no image ({missing[0]} …): the tables of "
                "slices and images belong to different runs. Rerun slice_volumes."
            )
        for image_id in progress(sampled, "images"):
            pixels = pixels_of_png(parents[image_id])
            for transform in transforms:
                rows += derived_rows(image_id, pixels, transform)
    write_table(outputs.one("images"), IMAGES, rows)


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
            "image_id": image_digest(derived, "L"),
            "parent_id": parent_id,
            "transform": transform.name.value,
            "parameters": canonical_json(parameters).decode(),
            "severity": level,
            "ssim": severity.ssim,
            "psnr": severity.psnr,
            "max_abs_delta": severity.max_abs_delta,
            "box": None,
            "width": derived.shape[1],
            "height": derived.shape[0],
            "png": png_bytes(derived),
        }
