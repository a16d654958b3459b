"""Options that are rated, numbered or ticked one by one: a table of options is no choice."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .reading import Reader

_FLAGS = re.IGNORECASE | re.UNICODE
_NUMBER = r"(\d{1,3}(?:[.,]\d+)?|[.,]\d+)\s*(%|percent\b|per cent\b|(?:/|out of)\s*\d+)?"
# What may stand between an option and its number: "A: 20 %", "of B is about 0.8", "'A': 0.1".
_BETWEEN = (
    r"(?:[\s:=~≈(\[|,.'→–—-]|\b(?:is|are|at|has|have|with|about|around|approximately|roughly|probability|likelihood"
    r"|confidence|score|chance|of|an?|the|estimated|only)\b){0,10}"
)
_AFTER = re.compile(
    rf"[)\]'}}]?{_BETWEEN}{_NUMBER}(?![\w.]*\w)(?=(?(2)|\s*(?:$|[,;.)\]}}|\n/]|(?:and|or)\b|-\s)))", _FLAGS
)
_VERDICT = re.compile(
    r"[)\]'}]?(?:\s*[:=(\[|→–—-]+\s*(?:(?:very|highly|most|more|less|quite)\s+)?(?:yes|no|true|false|(?:un)?likely|(?:im)?possible"
    r"|(?:im)?probable|(?:im)?plausible|high|low|moderate|medium|(?:in)?correct|wrong|right|present|absent|(?:in)?consistent"
    r"|excluded|ruled out|positive|negative|[x+-])(?![\w-])|\s*[:=(\[|→–—-]*\s*[✓✔✗✘✅❌☑☒])",
    _FLAGS,
)
_BEFORE = re.compile(
    r"(?<![\w.])(\d{1,3}(?:[.,]\d+)?)\s*(%|percent\b)?\s*"
    r"(?:(?:for|of|chance|probability|likelihood|confidence|likely|that|it|is)\s+|[:=).-]\s*){0,5}(?:(?:an?|the)\s+)?$",
    _FLAGS,
)
_STATED = re.compile(r"(?:answer|choice|diagnosis|option|choose|select|pick)\W*(?:is\s*)?$", _FLAGS)
_GAP = re.compile(r"[\s,;|/&]*(?:and|or)?[\s{'(]*", _FLAGS)


@dataclass(frozen=True)
class _Rating:
    start: int
    end: int
    label: str
    low: bool


def without_ratings(reader: Reader, text: str) -> tuple[str, bool]:
    """The text without options that are rated, and whether there were any.

    Two or more options with a number, a verdict or a place in a list each are no choice, whichever is
    rated best; one alone is none where it is rated below a half (0.2, 20 %) and not stated as the answer.
    """
    found = _ratings(reader, text)
    if not found or (len({item.label for item in found}) == 1 and not all(item.low for item in found)):
        return text, False
    return "\n".join(_left(reader, text, found)).strip(), True


def _ratings(reader: Reader, text: str) -> list[_Rating]:
    found, at = [], 0
    for start, end, label in reader.option_places(text):
        after = _AFTER.match(text, end) or _VERDICT.match(text, end)
        before = _BEFORE.search(text, max(at, start - 40), start)
        if before is not None and reader.is_symbol(before[1]):
            before = None
        if after is None and before is None:
            continue
        first = start if before is None or after is not None else before.start()
        stop = end if after is None else after.end()
        verdict = after is not None and after.re is _VERDICT
        number = None if verdict else after or before
        low = number is not None and _low(number[1], number[2])
        stated = _STATED.search(text, max(0, first - 40), first) is not None
        found.append(_Rating(first, stop, label, low and not stated))
        at = end
    return found


def _low(number: str, unit: str | None) -> bool:
    value = float(number.replace(",", "."))
    if unit is None:
        return value < 0.5 and not number.isdigit()
    return value < 50 if unit[0] in "%pP" else False


def _left(reader: Reader, text: str, found: list[_Rating]) -> list[str]:
    """What is left: options that stand beside a rated one without a rating of their own go with it."""
    spans = sorted([(item.start, item.end) for item in found] + [item[:2] for item in reader.option_places(text)])
    rated = {(item.start, item.end) for item in found}
    runs: list[tuple[int, int, bool]] = []
    for start, end in spans:
        if runs and (start <= runs[-1][1] or _GAP.fullmatch(text, runs[-1][1], start)):
            first, last, some = runs[-1]
            runs[-1] = (first, max(last, end), some or (start, end) in rated)
        else:
            runs.append((start, end, (start, end) in rated))
    kept, at = [], 0
    for start, end, some in runs:
        if some:
            kept.append(text[at:start])
            at = end
    return [*kept, text[at:]]
