"""Section `report`: what is drawn."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ..contracts.enums import Readout
from .base import Section
from .published import PublishedConfig


class ReportConfig(Section):
    """What is drawn and written for people."""

    title: str = "steadyread audit"
    """Title of the summary page."""

    note: str | None = None
    """A sentence shown under the title: what a reader must know of this study before any number."""

    readout: Readout = Readout.TEXT
    """The readout shown first; the other stands in the tables too."""

    dpi: Annotated[int, Field(ge=72, le=1200)] = 300
    """Resolution of raster figures."""

    contact_sheet_cases: Annotated[int, Field(ge=1, le=200)] = 12
    """Cases on the contact sheet, balanced over labels."""

    published: PublishedConfig = PublishedConfig()
    """What of this study is what was published. Only then are published numbers compared with ours."""
