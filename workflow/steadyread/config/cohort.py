"""Section `cohort`: where the cases come from."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, model_validator

from .base import Section


class Adapter(StrEnum):
    """Ways to read a cohort from disk."""

    TABLE = "table"


class CohortConfig(Section):
    """Where the cases come from and what is known of them."""

    adapter: Adapter = Adapter.TABLE
    """How the cohort is laid out on disk. `table`: one TSV, a row per case."""

    table: str | None = None
    """The cohort's TSV, relative to the project's root; environment variables are expanded. Left out:
    the phantom cohort, which the workflow writes itself."""

    data_root: str | None = None
    """Folder that paths in the table are relative to. Default: the table's own folder."""

    labels: Annotated[tuple[str, ...], Field(min_length=2)] = ("GBM", "MET")
    """The diagnostic labels in canonical order, as they stand in the table and in the answer options."""

    synthetic: bool | None = None
    """True where the images were made, not acquired: the report then carries a banner. Default: true
    for the phantom cohort, else false."""

    attested_deidentified: bool = False
    """You attest that these files were de-identified. Recorded as `attested` where the files do not
    say so themselves (NIfTI never does)."""

    allow_outside_root: bool = False
    """Allow paths of the table to leave `data_root` through `..` or symbolic links."""

    min_patients: Annotated[int, Field(ge=1)] = 2
    """Fewer usable patients than this stop the study before inference."""

    @model_validator(mode="after")
    def _phantom_is_synthetic(self) -> Self:
        if self.table is None and self.data_root is not None:
            raise ValueError("data_root goes with a table; the phantom cohort (no table) has none")
        return self

    @property
    def is_synthetic(self) -> bool:
        """Whether the report carries the banner."""
        return self.table is None if self.synthetic is None else self.synthetic

    @model_validator(mode="after")
    def _labels_distinct(self) -> Self:
        folded = [label.casefold().strip() for label in self.labels]
        if len(set(folded)) != len(folded):
            raise ValueError(f"labels must differ, found {list(self.labels)}")
        if "unsure" in folded:
            raise ValueError("UNSURE is the abstain option, not a label: set question.unsure instead")
        return self
