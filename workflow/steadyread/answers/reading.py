"""Finding options in a text: letters, labels and other words for them, denied or not."""

from __future__ import annotations

import re
import sys
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby, islice

from ..config.labels import folded
from ..config.words import UNSURE
from . import phrases

CONTEXT = 240
"""How many characters before a place may bear on it: keeps the time linear in the text's length."""

NEAR = 80
"""How many characters before an option another may be joined to it."""

_FLAGS = re.IGNORECASE | re.UNICODE
_THINK_OPEN = re.compile("|".join(pattern for pattern, _ in phrases.THINKING), _FLAGS)
_THINK_CLOSE = re.compile("|".join(pattern for _, pattern in phrases.THINKING), _FLAGS)
_BEFORE = re.compile(phrases.NEGATION_BEFORE, _FLAGS)
_AFTER = re.compile(phrases.NEGATION_AFTER, _FLAGS)
_CLAUSE = re.compile(phrases.CLAUSE_END, _FLAGS)
_NEITHER = re.compile(phrases.NEGATED_CLAUSE, _FLAGS)
_JOINED = re.compile(phrases.JOINED, _FLAGS)
_STEM_AFTER = re.compile(phrases.STEM_AFTER, _FLAGS)
_STEM_BEFORE = re.compile(phrases.STEM_BEFORE, _FLAGS)
_HYPOTHETICAL = re.compile(phrases.HYPOTHETICAL, _FLAGS)
_JOINED_BEFORE = re.compile(phrases.JOINED + "$", _FLAGS)
_CUT_JOIN = re.compile(phrases.CUT_JOIN, _FLAGS)
_SENTENCE = re.compile(r"[.,–—-]\s|\n")
_EITHER = re.compile(r"[/&+|]|\b(?:or|and|und|oder|ou|o|vs|versus)\b", _FLAGS)
_ARTICLE = re.compile(r"\s[a-z]")
_MARKED = re.compile(r"\W|option|choice", _FLAGS)
_GLUED = re.compile(r"\w[.;|:_\\]$", _FLAGS)
_CLOSING = re.compile(r"\s*[)\]]")
_ASKED = re.compile(rf"[^.;!?\n]{{0,{CONTEXT}}}\?")
_AFTER_LETTER = re.compile(phrases.AFTER_LETTER, _FLAGS)
_REWRITES = tuple(
    (re.compile(pattern, _FLAGS), by)
    for pattern, by in (
        (r"[\u200b-\u200f\u2060\ufeff]", ""),
        (r"[’‘´]", "'"),
        (r"\\(?:text|textbf|mathrm|mathbf)\{([^{}]*)\}", r"\1"),
        (r"\\boxed\{([^{}]*)\}", r"\nAnswer: \1\n"),
        (r"<answer>(.*?)(?:</answer>|$)", r"\nAnswer: \1\n"),
        (r"<[/|]?[a-z_][^<>\n]{0,40}>", " "),  # special tokens and mark-up: </s>, <|im_end|>, <b>
        (r"[*`$\"“”„«»#]|__", ""),
        (r"(?<!\w)'([^'\n]{1,40})'(?!\w)", r"\1"),
        (r"(?m)^[ \t]*[-•>][ \t]+", ""),
        (r"[^\S\n]+", " "),
        (r" ?\n[\n ]*", "\n"),
    )
)


@dataclass(frozen=True)
class Expression:
    """An option as it is written at one place of a text.

    `letter` and `label` are the labels that the written letter and the written words stand for;
    `foreign` says that the letter is not among the symbols shown.
    """

    start: int
    end: int
    letter: str | None = None
    label: str | None = None
    foreign: bool = False

    @property
    def chosen(self) -> str | None:
        """The label meant, or None where letter and label contradict or the letter was not shown."""
        if self.foreign or (self.letter and self.label and self.letter != self.label):
            return None
        return self.letter or self.label


def is_doubt(text: str, found: Expression) -> bool:
    """Whether UNSURE is said in words, not by its letter or its name as it is shown."""
    return found.label == UNSURE and found.letter is None and text[found.start : found.end] != UNSURE


def without_thinking(text: str) -> tuple[str, bool]:
    """The text after the last finished reasoning, and whether an unfinished one follows."""
    closed = [match.end() for match in _THINK_CLOSE.finditer(text)]
    rest = text[closed[-1] :] if closed else text
    return rest, _THINK_OPEN.search(rest) is not None


def cleaned(text: str) -> str:
    """The text without mark-up, special tokens, emphasis and superfluous white space."""
    text = unicodedata.normalize("NFKC", text)
    for pattern, by in _REWRITES:
        text = pattern.sub(by, text)
    # A line said over and over says no more than said twice.
    lines = (line for _, same in groupby(text.split("\n")) for line in islice(same, 2))
    return "\n".join(lines).strip()


class Reader:
    """Reads the options of one question in a text.

    Parameters
    ----------
    options, symbols
        Labels and their symbols, in shown order.
    synonyms
        Other words for a label or for UNSURE; entries for labels that are not shown are ignored.
    """

    def __init__(self, options: Sequence[str], symbols: Sequence[str], synonyms: Mapping[str, Sequence[str]]) -> None:
        self._letters = {
            unicodedata.normalize("NFKC", symbol).casefold(): option
            for symbol, option in zip(symbols, options, strict=False)
        }
        self._names = _names(options, synonyms)
        self._clauses: tuple[str, list[int]] = ("", [])
        symbol = "|".join(sorted(map(re.escape, self._letters), key=len, reverse=True))
        # Any single letter or short number, so that one that was not shown is seen as such.
        self._letter = re.compile(
            r"(?:(?:option|choice|letter)[\s:]+)?([(\[{<]\s*)?"
            + rf"({symbol + '|' if symbol else ''}[a-z]|\d{{1,2}})(?![\w'])(\s*[)\]}}>])?",
            _FLAGS,
        )
        words = sorted((_pattern(name) for name in self._names), key=lambda item: (-len(item), item))
        self._word = re.compile(
            rf"(?<!\w)(?:(?P<name>{'|'.join(words) or '(?!)'})|(?P<unsure>{'|'.join(phrases.UNSURE_PHRASES)}))"
            r"(?![\w'])(?!\.\d)(?!-like\b|-mimic)",
            _FLAGS,
        )
        shown = "|".join(re.escape(unicodedata.normalize("NFKC", item)) for item in symbols if item) or "(?!)"
        name = "|".join(words) or "(?!)"
        self._place = re.compile(
            rf"(?<![\w'])(?:(?:(?P<mark>[(\[{{])\s*)?(?P<letter>{shown})(?![\w'])(?:\s*[.:)\]=–—-]{{0,2}}\s*(?P<pair>{name})(?!\w))?"
            rf"|(?P<name>{name})(?!\w))",
            _FLAGS,
        )
        self._shown = {unicodedata.normalize("NFKC", item) for item in symbols}
        self._separator = re.compile(r"\s*[.:)=–—-]*,?\s*\(?\s*(?:(?:an?|the)\s+)?", _FLAGS)
        self._letter_after = re.compile(r"\s*,?\s*[(\[]\s*(?:(?:option|choice|letter)\s+)?(\w{1,2})\s*[)\]]", _FLAGS)
        self._pair_word = re.compile(r"\s*\)?\s+(?!because|since|with|as|due)[a-z]", re.UNICODE)

    def expression(self, text: str, at: int) -> Expression | None:
        """The option written exactly at a position: a letter, a label, or both."""
        word = self._word_at(text, at)
        if word is not None:
            after = self._letter_after.match(text, word.end)
            known = self._letters.get(after[1].casefold()) if after else None
            return Expression(at, after.end(), known, word.label) if after and known else word
        match = self._letter.match(text, at)
        if match is None:
            return None
        key, bracketed = match[2].casefold(), bool(match[1] and match[3])
        gap = self._separator.match(text, match.end())
        label = self._word_at(text, gap.end()) if gap else None
        adjacent = gap is not None and not gap[0].strip() and "\n" not in gap[0] and not match[3]
        if adjacent and label is not None and key in phrases.ENGLISH_LETTERS:
            return Expression(at, label.end, None, label.label)
        own = self._letters.get(key)
        if label is not None and (self.denied(text, label) or label.label != own):
            # "B. GBM would be solitary": a new sentence, no pair.
            new_sentence = not adjacent and self._pair_word.match(text, label.end)
            label = None if new_sentence or self.denied(text, label) else label
        if (
            label is not None
            and gap is not None
            and own != UNSURE
            and _SENTENCE.search(gap[0])
            and is_doubt(text, label)
        ):
            # "B. Impossible to say": an answer and a doubt, where "A. UNSURE" contradicts itself.
            label = None
        if label is not None:
            closing = _CLOSING.match(text, label.end)
            return Expression(at, closing.end() if closing else label.end, own, label.label, own is None)
        if not bracketed and not _AFTER_LETTER.match(text, match.end()):
            return None
        return Expression(at, match.end(), own, None, own is None)

    def words(self, text: str, low: int = 0, high: int = sys.maxsize) -> Iterator[Expression]:
        """Labels and other words for them anywhere in a text, common words left out."""
        for match in self._word.finditer(text, low, high):
            found = self._from_word(match)
            if found is not None and not self._is_common(match):
                yield found

    def letters(self, text: str, low: int = 0, high: int = sys.maxsize) -> Iterator[Expression]:
        """Letters anywhere in a text that are written as options: capital or in brackets."""
        yield from self._letters_in(self._letter.finditer(text, low, high), text, marked=False)

    def marked_letters(self, text: str) -> Iterator[Expression]:
        """Letters that a mention may be read from: in brackets, or after "option"."""
        yield from self._letters_in(self._letter.finditer(text), text, marked=True)

    def _letters_in(self, matches: Iterator[re.Match[str]], text: str, marked: bool) -> Iterator[Expression]:
        for match in matches:
            start = match.start()
            before = text[start - 1] if start else " "
            if before.isalnum() or before == "'" or _GLUED.search(text, max(0, start - 2), start):
                continue
            if not (match[1] or match[2].isupper()) or (marked and not _MARKED.match(text, start)):
                continue
            found = self.expression(text, start)
            if found is not None and found.letter:
                yield found

    def option_places(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Start, end and label of every option shown or named, in whatever setting it stands."""
        for match in self._place.finditer(text):
            if match["letter"]:
                # A small "a" is an article unless a mark says otherwise.
                if (
                    match["letter"] not in self._shown
                    and not match["mark"]
                    and text[match.end() : match.end() + 1] not in ":="
                ):
                    continue
                label = self._letters.get(match["letter"].casefold())
            else:
                label = self._names.get(folded(match["name"]))
            if label is not None:
                yield match.start(), match.end(), label

    def is_name(self, word: str) -> bool:
        """Whether a word is the name of an option."""
        return folded(word) in self._names

    def is_symbol(self, number: str) -> bool:
        """Whether a number is itself the symbol of an option."""
        return number.casefold() in self._letters

    def denied(self, text: str, found: Expression) -> bool:
        """Whether a mention is negated before or after it, within its clause."""
        before = text[self._clause_start(text, found.start) : found.start]
        if _negated(before):
            return True
        after = _AFTER.match(text, found.end)
        # "GBM, since MET is unlikely" denies MET alone.
        return after is not None and not any(self._others(text, found, after.end()))

    def _clause_start(self, text: str, at: int) -> int:
        if text is not self._clauses[0]:
            self._clauses = (text, [match.end() for match in _CLAUSE.finditer(text)])
        ends = self._clauses[1]
        known = bisect_right(ends, at)
        return max(at - CONTEXT, ends[known - 1] if known else 0, 0)

    def _others(self, text: str, found: Expression, end: int) -> Iterator[bool]:
        for match in self._word.finditer(text, found.end, end):
            other = self._from_word(match)
            yield other is not None and other.label not in (found.chosen, UNSURE)

    def hypothetical(self, text: str, found: Expression) -> bool:
        """Whether a mention says what such a lesion does in general: "a GBM would look different"."""
        return _HYPOTHETICAL.match(text, found.end) is not None

    def unsettled(self, text: str, found: Expression) -> bool:
        """Whether a mention is denied or asked ("GBM? MET?") and so answers nothing; "B?" alone does."""
        asked = _ASKED.match(text, found.end)
        return self.denied(text, found) or bool(asked and (found.start > 0 or asked.end() < len(text)))

    def joined(self, text: str, found: Expression) -> bool:
        """Whether another option stands beside it, joined by "or", "and", "/" or a comma."""
        match = _JOINED.match(text, found.end)
        other = (self.expression(text, match.end()) or self._capital(text, match.end())) if match else None
        if match and other and other.chosen != found.chosen and not self.denied(text, other):
            # "A, not sure" doubts; "A or not sure" offers two.
            offered = not is_doubt(text, other) or _EITHER.search(match[0]) is not None
        else:
            offered = False
        if offered:
            return True
        if _CUT_JOIN.match(text, found.end) or self.stem_joined(text, found):
            return True
        low = max(0, found.start - NEAR)
        before = _JOINED_BEFORE.search(text, low, found.start)
        if before is None:
            return False
        end = before.start()
        return any(
            item.end == end
            and item.chosen != found.chosen
            and not self.denied(text, item)
            and (not is_doubt(text, item) or _EITHER.search(before[0]) is not None)
            for item in [*self.words(text, low, end), *self.letters(text, low, end)]
        )

    def _capital(self, text: str, at: int) -> Expression | None:
        """A letter written as shown, whatever follows it; "A lesion" begins with the article."""
        match = self._letter.match(text, at)
        if match is None or match[2] not in self._shown:
            return None
        article = match[2].casefold() in phrases.ENGLISH_LETTERS and _ARTICLE.match(text, match.end())
        return None if article else Expression(at, match.end(), self._letters.get(match[2].casefold()))

    def stem_joined(self, text: str, found: Expression) -> bool:
        """Whether the part in which labels of one stem differ is given twice ("grade 2 or 3") or left open."""
        if found.label is None:
            return False
        written = re.split(r"[\s-]+", text[found.start : found.end])
        if written[-1].isdigit() and text.startswith("+", found.end):
            return True
        after = _STEM_AFTER.match(text, found.end)
        if after and written[-1].isdigit() and (after[1].isdigit() or after[1].lower() in phrases.OPEN_ENDED):
            return True
        names = [[*written[:-1], after[1]]] if after else []
        before = _STEM_BEFORE.search(text, max(0, found.start - NEAR), found.start)
        names += [[before[1], *written[1:]]] if before else []
        return len(written) > 1 and any(
            self._names.get(folded(" ".join(name)), found.label) != found.label for name in names
        )

    def without_echo(self, text: str) -> str:
        """The text without a copied list of options (two or more letters, each with its own label)."""
        pieces, at = [], 0
        runs = list(self._pairs(text))
        for run in _adjacent(text, runs):
            if len({item.letter for item in run}) > 1:
                pieces.append(text[at : run[0].start])
                at = run[-1].end
        return "\n".join([*pieces, text[at:]]).strip()

    def _pairs(self, text: str) -> Iterator[Expression]:
        at = 0
        for match in self._letter.finditer(text):
            before = text[match.start() - 1] if match.start() else " "
            if match.start() < at or before.isalnum():
                continue
            found = self.expression(text, match.start())
            if found is not None and found.letter is not None and found.letter == found.label:
                yield found
                at = found.end

    def _word_at(self, text: str, at: int) -> Expression | None:
        match = self._word.match(text, at)
        if match is None or (self._is_common(match) and not _AFTER_LETTER.match(text, match.end())):
            return None
        return self._from_word(match)

    def _from_word(self, match: re.Match[str]) -> Expression | None:
        label = UNSURE if match["unsure"] else self._names.get(folded(match["name"]))
        if label is None and match["name"]:
            label = self._names.get(re.sub(r"e?s$", "", folded(match["name"]))) or self._names.get(
                folded(match["name"])[:-1]
            )
        return Expression(match.start(), match.end(), None, label) if label else None

    def _is_common(self, match: re.Match[str]) -> bool:
        name = match["name"]
        if not name:
            return False
        # "the criteria are met" does not say MET.
        abbreviation = len(name) <= 3 and name.islower() and (self._names.get(folded(name)) or "").isupper()
        return abbreviation or folded(name) in phrases.COMMON_WORDS


@lru_cache(maxsize=4096)
def _negated(before: str) -> bool:
    """Whether what stands before a mention in its clause denies it (kept: rambling answers repeat themselves)."""
    return bool(_BEFORE.search(before) or _NEITHER.search(before))


def _names(options: Sequence[str], synonyms: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Folded name → label; a name that would stand for two labels stands for none."""
    labels = {folded(option): option for option in options} | {folded(UNSURE): UNSURE}
    found: dict[str, set[str]] = {}
    for label in labels.values():
        found.setdefault(folded(label), set()).add(label)
    for key, others in synonyms.items():
        if folded(key) in labels:
            for other in others:
                found.setdefault(folded(other), set()).add(labels[folded(key)])
    return {name: next(iter(meant)) for name, meant in found.items() if len(meant) == 1 and name}


def _pattern(name: str) -> str:
    plural = r"(?:e?s)?" if len(name) > 3 and name[-1].isalpha() else ""
    return r"[\s-]+".join(map(re.escape, name.split(" "))) + plural


def _adjacent(text: str, found: Sequence[Expression]) -> Iterator[list[Expression]]:
    """Runs of expressions with nothing but white space and punctuation between them."""
    run: list[Expression] = []
    for item in found:
        if run and re.fullmatch(r"[\s,;.|/)]*(?:and|or)?[\s]*", text[run[-1].end : item.start]) is None:
            yield run
            run = []
        run.append(item)
    if run:
        yield run
