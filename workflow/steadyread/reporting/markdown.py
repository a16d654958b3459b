"""Tables in Markdown: pipe tables whose cells hold text, never markup."""

from __future__ import annotations

from collections.abc import Sequence


def markdown_escape(text: str) -> str:
    """Text as Markdown prints it, on one line."""
    for sign in ("\\", "|", "_", "*", "<", "`"):
        text = text.replace(sign, f"\\{sign}")
    # A bracket is a link only where a parenthesis or another bracket follows.
    text = text.replace("](", "]\\(").replace("][", "]\\[")
    return " ".join(text.split())


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]], words: int) -> str:
    """A pipe table; its first `words` columns are set left, the others right."""
    lines = [list(header), *[list(row) for row in rows]]
    texts = ["| " + " | ".join(markdown_escape(text) for text in line) + " |" for line in lines]
    rule = "|" + "|".join([":--"] * words + ["--:"] * (len(header) - words)) + "|"
    return "\n".join([texts[0], rule, *texts[1:]])
