"""Tables for a terminal: aligned columns, nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]], words: int = 1) -> Iterator[str]:
    """The lines of a table; its first `words` columns are set left, the others right.

    Raises
    ------
    ValueError
        If a row is longer or shorter than the header.
    """
    lines = [list(header), *map(list, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lines.insert(1, ["-" * width for width in widths])
    for line in lines:
        cells = [
            text.ljust(width) if place < words else text.rjust(width)
            for place, (text, width) in enumerate(zip(line, widths, strict=True))
        ]
        yield "  ".join(cells).rstrip()
