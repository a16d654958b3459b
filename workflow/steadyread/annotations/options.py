"""How an annotation is to be read: the options that stand beside its path in the cohort's table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from ..contracts.enums import AnnotationKind
from ..identity.digests import digest_json


class IndexOrder(StrEnum):
    """What a slice number of a slice table counts."""

    STORAGE = "storage"
    """Slices along the last axis of the file's own array (NIfTI), or sorted by position as the series
    is read (DICOM)."""
    INSTANCE = "instance"
    """DICOM InstanceNumber."""
    FEET_TO_HEAD = "feet_to_head"
    """Axial slices from the feet up, whatever the file's own order."""


NO_SLICE = "none"
OPTIONS: dict[AnnotationKind, tuple[str, ...]] = {
    AnnotationKind.MASK: ("lesion_labels",),
    AnnotationKind.SEG: ("segments",),
    AnnotationKind.SLICE_TABLE: ("index", "index_base", "index_order"),
    AnnotationKind.NONE: (),
}
"""Options that each kind of annotation understands."""


@dataclass(frozen=True)
class AnnotationOptions:
    """Parsed options.

    Attributes
    ----------
    lesion_labels
        Mask labels that are lesion; None: every label above 0.
    segments
        DICOM SEG segments that are lesion, by label or number; None: the only one there is.
    index
        Slice numbers given in the cohort's table itself, without a slice table; the word `none` says
        that no slice shows a lesion.
    index_base
        Number of the first slice, 0 or 1.
    index_order
        What the slice numbers count.
    """

    lesion_labels: frozenset[int] | None = None
    segments: tuple[str, ...] | None = None
    index: tuple[int, ...] | None = None
    index_base: int | None = None
    index_order: IndexOrder | None = None

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> AnnotationOptions:
        """Parse the texts of the cohort's table; empty texts count as not given.

        Raises
        ------
        ValueError
            Saying which option, and what it may hold.
        """
        given = {name: text.strip() for name, text in options.items() if text.strip()}
        labels = _integers("lesion_labels", given)
        return cls(
            lesion_labels=None if labels is None else frozenset(labels),
            segments=_parts(given["segments"]) if "segments" in given else None,
            index=_integers("index", given),
            index_base=parse_base(given["index_base"]) if "index_base" in given else None,
            index_order=parse_order(given["index_order"]) if "index_order" in given else None,
        )


def digest_inline(options: Mapping[str, str]) -> str:
    """Digest of an annotation that stands in the cohort's table as a list of slices."""
    return digest_json({name: options[name] for name in OPTIONS[AnnotationKind.SLICE_TABLE] if name in options})


def parse_base(text: str) -> int:
    """The number of the first slice: 0 or 1.

    Raises
    ------
    ValueError
        For anything else.
    """
    if text.strip() not in ("0", "1"):
        raise ValueError("index_base must be 0 or 1")
    return int(text)


def parse_order(text: str) -> IndexOrder:
    """What slice numbers count.

    Raises
    ------
    ValueError
        Naming the words allowed.
    """
    try:
        return IndexOrder(text.strip().casefold())
    except ValueError:
        raise ValueError(f"index_order must be one of {[item.value for item in IndexOrder]}") from None


def _parts(text: str) -> tuple[str, ...]:
    # Segment labels may hold commas; a semicolon then parts them.
    return tuple(part.strip() for part in text.split(";" if ";" in text else ",") if part.strip())


def _integers(name: str, given: Mapping[str, str]) -> tuple[int, ...] | None:
    if name not in given:
        return None
    if name == "index" and given[name].casefold() == NO_SLICE:
        return ()
    try:
        numbers = tuple(int(part) for part in given[name].split(","))
    except ValueError:
        raise ValueError(f"{name} must be integers parted by commas, such as 1,2,4") from None
    if name == "lesion_labels" and 0 in numbers:
        raise ValueError("lesion_labels must not hold 0, which is background")
    return numbers
