"""Tables of the summary page: a line per model, numbers as columns."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PageTable:
    """A table as text.

    Attributes
    ----------
    title
        What stands above it.
    header, lines
        Cells; the first `words` columns hold words, the others numbers.
    """

    title: str
    header: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]
    words: int = 1
