"""Stage slice_volumes: every case's volume becomes 8-bit slices."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..config.base import Section
from ..config.slicing import SlicingConfig
from ..config.words import OnBadCase
from ..contracts.enums import Reason
from ..contracts.files import read_rows, write_table
from ..contracts.problems import CaseProblem
from ..contracts.tables import CASES, EXCLUSIONS, IMAGES, SLICES, SOURCES
from ..stages.job import ExclusionLog, Files, shard_of
from ..stages.progress import progress
from ..volumes.loaded import LoadedVolume
from ..volumes.read import digest_source, read_volume
from .display import Fit, display_spacing, displayed, slice_axis, slice_position_mm, slice_source_index
from .encode import image_row
from .subsample import sampled_indices
from .window import Window, to_uint8, window_of

_LOG = logging.getLogger("steadyread.slicing")
Row = dict[str, Any]


class SliceVolumesSettings(Section):
    """What of the configuration matters to slice_volumes."""

    shards: int
    """Number of shards."""

    on_bad_case: OnBadCase
    """What happens to a case that cannot be used."""

    slicing: SlicingConfig
    """How a volume becomes slices."""


def slice_volumes(inputs: Files, outputs: Files, settings: SliceVolumesSettings, wildcards: Mapping[str, str]) -> None:
    """Cut the volumes of one shard.

    Parameters
    ----------
    inputs
        `cases`, `sources`.
    outputs
        `slices`: every slice of every usable volume; `images`: the sampled ones, each distinct image
        once; `exclusions`: the cases that could not be used.
    wildcards
        `shard`: patients whose `shard_of` is this number.
    """
    shard = int(wildcards["shard"])
    sources = {row["case_id"]: row for row in read_rows(inputs.one("sources"), SOURCES) if row["role"] == "volume"}
    cases = [
        row for row in read_rows(inputs.one("cases"), CASES) if shard_of(row["patient_id"], settings.shards) == shard
    ]
    log = ExclusionLog("slice_volumes", settings.on_bad_case)
    slices: list[Row] = []
    images: dict[str, Row] = {}
    for case in progress(cases, "volumes sliced"):
        case_id = case["case_id"]
        try:
            loaded = _load(case_id, sources)
            rows, cut = cut_slices(case_id, loaded, settings.slicing)
        except CaseProblem as problem:
            log.add(case_id, problem)
            continue
        slices += rows
        images.update(cut)
    write_table(outputs.one("slices"), SLICES, slices)
    write_table(outputs.one("images"), IMAGES, images.values())
    write_table(outputs.one("exclusions"), EXCLUSIONS, log.rows)


def cut_slices(case_id: str, loaded: LoadedVolume, config: SlicingConfig) -> tuple[list[Row], dict[str, Row]]:
    """Rows of the slices table for all slices of a volume, and rows of the images table by image_id.

    Raises
    ------
    CaseProblem
        CONSTANT.
    """
    volume = loaded.volume
    axis, plane = slice_axis(loaded, config.plane)
    window = window_of(volume.array, config.window)
    row_mm, column_mm = display_spacing(volume, axis)
    stored = dict(stored_slices(loaded, config, window))
    images: dict[str, Row] = {}
    rows: list[Row] = []
    for index in range(volume.shape[axis]):
        image_id = None
        if index in stored:
            image = image_row(stored[index])
            image_id = image["image_id"]
            images[image_id] = image
        rows.append(
            {
                "case_id": case_id,
                "index": index,
                "image_id": image_id,
                "position_mm": slice_position_mm(volume, axis, index),
                "plane": plane.value,
                "window_low": window.low,
                "window_high": window.high,
                "spacing_mm": [row_mm, column_mm, volume.spacing[axis]],
                "sampled": image_id is not None,
                "lossy": loaded.lossy,
                "source_index": slice_source_index(loaded, axis, index),
            }
        )
    return rows, images


def stored_slices(
    loaded: LoadedVolume, config: SlicingConfig, window: Window | None = None
) -> Iterator[tuple[int, NDArray[np.uint8]]]:
    """Index and stored pixels of each sampled slice, uint8, (size, size), feet to head.

    Parameters
    ----------
    window
        The volume's window; None: computed here.

    Raises
    ------
    CaseProblem
        CONSTANT.
    """
    volume = loaded.volume
    axis, _ = slice_axis(loaded, config.plane)
    window = window_of(volume.array, config.window) if window is None else window
    spacing = display_spacing(volume, axis)
    for index in sampled_indices(volume.shape[axis], config.max_slices, config.subsample):
        cut = displayed(volume.array, axis, index)
        yield index, Fit((cut.shape[0], cut.shape[1]), spacing, config.size).apply_image(to_uint8(cut, window))


def _load(case_id: str, sources: Mapping[str, Row]) -> LoadedVolume:
    source = sources.get(case_id)
    if source is None:
        raise CaseProblem(Reason.MISSING_FILE, "the case names no volume")
    path = Path(source["path"])
    if digest_source(path) != source["digest"]:
        raise CaseProblem(
            Reason.CHANGED_SINCE_REGISTERED,
            "the volume's files are not those that were registered; run register_cohort again to accept them",
        )
    loaded = read_volume(path)
    if loaded.nonfinite:
        _LOG.info("case %s: %d voxels are NaN or infinite and shown as black or white", case_id, loaded.nonfinite)
    return loaded
