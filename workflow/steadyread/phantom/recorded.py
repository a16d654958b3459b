"""The phantom cohort's pixels on record: what another machine makes is compared with them."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata, resources
from pathlib import Path
from typing import Any

import numpy as np

from ..config.phantom import PhantomConfig
from ..identity.digests import digest_bytes
from ..identity.seeds import uniform
from .design import PhantomCase

FILE = "recorded.json"
VERSIONS = ("nilearn", "numpy", "scipy")
"""Distributions whose version the pixels may depend on."""
SAMPLES = 32
"""Voxels a case that are kept as they are."""
_LOG = logging.getLogger("steadyread.phantom")


@dataclass(frozen=True)
class Fingerprint:
    """What is kept of a case: a digest of its volume and lesion map, and some voxels in scanner units."""

    digest: str
    samples: tuple[int, ...]


def fingerprint(case: PhantomCase) -> Fingerprint:
    """The fingerprint of a case's pixels."""
    volume, labels = case.volume(), case.lesion_map()
    shape = json.dumps(volume.shape).encode()
    content = digest_bytes(shape, volume.astype("<i2").tobytes(), labels.tobytes())
    samples = []
    for number in range(SAMPLES):
        # Around the middle, where there is a head and no air.
        place = [int(n * (0.25 + 0.5 * uniform("phantom", "recorded", case.case_id, number, n, axis)))
                 for axis, n in enumerate(volume.shape)]  # fmt: skip
        samples.append(int(volume[tuple(place)]))
    return Fingerprint(content, tuple(samples))


def recorded() -> dict[str, Any]:
    """The record: seed, options, versions, and of each case the digest and the samples."""
    record: dict[str, Any] = json.loads((resources.files(__package__) / FILE).read_text(encoding="utf-8"))
    return record


def versions() -> dict[str, str]:
    """Installed versions of what the pixels may depend on."""
    return {name: metadata.version(name) for name in VERSIONS}


def compare(seed: int, options: PhantomConfig, found: Mapping[str, Fingerprint]) -> dict[str, Any]:
    """How a cohort's pixels differ from the record, in plain values.

    Only the cohort that was recorded can be compared; `compared` says whether it was. Differences are
    in scanner units (12 bits), at the sampled voxels. A difference is logged as a warning.

    Parameters
    ----------
    seed, options
        Of the cohort.
    found
        Its fingerprints by case_id; may be some of its cases.
    """
    record = recorded()
    report: dict[str, Any] = {"compared": False, "versions": versions(), "recorded_versions": record["versions"]}
    if (seed, options.model_dump(mode="json")) != (record["seed"], record["options"]):
        return report
    different = sorted(name for name, item in found.items() if record["cases"][name]["digest"] != item.digest)
    largest = max((_difference(found[name].samples, record["cases"][name]["samples"]) for name in different), default=0)
    report |= {
        "compared": True,
        "equal": not different,
        "cases": len(found),
        "different": len(different),
        "largest_difference": largest,
        "unit": "scanner units of 12 bits, at sampled voxels",
    }
    if different:
        _LOG.warning(
            "%d of %d phantom cases differ from the pixels on record, by at most %d scanner units at %d voxels a case "
            "(expected on another processor or other versions; the numbers of a study may differ as much)",
            len(different), len(found), largest, SAMPLES,
        )  # fmt: skip
    return report


def _difference(found: Sequence[int], expected: Sequence[int]) -> int:
    return int(np.max(np.abs(np.asarray(found) - np.asarray(expected))))


def write(path: Path, seed: int, options: PhantomConfig, found: Mapping[str, Fingerprint]) -> None:
    """Write a record."""
    head = {"seed": seed, "options": options.model_dump(mode="json"), "versions": versions()}
    cases = [
        f"{json.dumps(name)}: {json.dumps({'digest': item.digest, 'samples': item.samples})}"
        for name, item in found.items()
    ]
    body = json.dumps(head, sort_keys=True).removesuffix("}")
    path.write_text(body + ', "cases": {\n' + ",\n".join(cases) + "\n}}\n", encoding="utf-8")
