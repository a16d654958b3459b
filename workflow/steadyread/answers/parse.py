"""From a model's text to one outcome status and, where it chose, a label (PROTOCOLS 0.1).

The rules, in this order; the first that applies decides. Nothing is ever guessed.

1. The request failed: ERROR. Reasoning is no answer: what stands before its end is ignored; reasoning
   that never ends is TRUNCATED.
2. An explicit final statement ("the answer is B", "B is correct", "actually, B"): the last one wins,
   whatever else is mentioned. It is void where it names two options ("A or B"), where letter and label
   contradict, within it or against the explicit answer before it unless a word of correction stands
   between, and where its letter was not shown.
3. An answer given by its place: the text begins with it ("B. The lesions …"), or it stands alone on a
   line or as the last sentence. Several that differ are void.
4. A refusal: REFUSED, even with labels in it ("I cannot diagnose GBM").
5. The evidence is said not to decide: UNSURE, also where UNSURE was not offered (label "UNSURE", no slot).
   After a "but" the rest of the text decides.
6. One option alone is mentioned, neither denied nor asked: it is the answer. Letters count here only in brackets
   or after "option", labels only as whole words.
7. A referral to a doctor alone: REFUSED. Anything else, and a void statement without 4 or 5: UNPARSED.

A text cut at the limit (`length`) answers by rules 2 to 5 alone, for these were said in full before the
cut; else it is TRUNCATED. A text that a provider's filter withheld is REFUSED unless 2 or 3 apply.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..config.words import UNSURE
from ..contracts.enums import FinishReason, OutcomeStatus
from . import phrases
from .reading import CONTEXT, Expression, Reader, cleaned, without_thinking

_FLAGS = re.IGNORECASE | re.UNICODE
# Words of scripts without spaces end where they end.
_WORD_END = r"(?:(?<![a-z])|(?![a-z']))"
_MARKER = re.compile(rf"(?<![^\W\d_])(?:{'|'.join(phrases.FINAL_MARKERS)}){_WORD_END}", _FLAGS)
_VOIDED = re.compile(phrases.MARKER_VOIDED_BY, _FLAGS)
_FILLER = re.compile(rf"[\s:,=>…–—-]+|\.{{2,}}|(?:{phrases.FILLERS}){_WORD_END}", _FLAGS)
_SUFFIX = re.compile(phrases.FINAL_SUFFIX, _FLAGS)
_LEADING = re.compile(phrases.AFTER_LEADING, _FLAGS)
_CORRECTION = re.compile(phrases.CORRECTION, _FLAGS)
_CONTRAST = re.compile(phrases.CONTRAST, _FLAGS)
_REFUSAL = re.compile("|".join(phrases.REFUSALS), _FLAGS)
_REFERRAL = re.compile("|".join(phrases.REFERRALS), _FLAGS)
_REST = re.compile(r"[\s.,:;!?)\]。]*")


@dataclass(frozen=True)
class ParsedAnswer:
    """What a text says.

    Attributes
    ----------
    status
        The one status the response ends with.
    label
        The chosen option's text, "UNSURE" for the abstain option; null unless a choice was made.
    slot
        Shown slot of the label, from 0; null where the label is not among the shown options.
    """

    status: OutcomeStatus
    label: str | None = None
    slot: int | None = None


@dataclass(frozen=True)
class _Statement:
    """An explicit answer: `label` is None where it is void. `letter`, `word`: what it was written as."""

    start: int
    end: int
    label: str | None
    letter: bool
    word: bool


def parse_choice(
    text: str,
    options: Sequence[str],
    symbols: Sequence[str],
    synonyms: Mapping[str, Sequence[str]],
    finish_reason: FinishReason,
) -> ParsedAnswer:
    """Read one choice from a text. A pure function of its arguments; it never raises for any text.

    Parameters
    ----------
    text
        What the model wrote.
    options, symbols
        Labels and their symbols, in shown order.
    synonyms
        Other words for a label or for UNSURE, as the prompt lists them.
    finish_reason
        Why the generation ended.
    """
    if finish_reason is FinishReason.ERROR:
        return ParsedAnswer(OutcomeStatus.ERROR)
    rest, unfinished = without_thinking(text)
    if unfinished:
        return ParsedAnswer(OutcomeStatus.TRUNCATED)
    reader = Reader(options, symbols, synonyms)
    said = reader.without_echo(cleaned(rest))
    explicit = _explicit(reader, said)
    if explicit is not None and explicit.label is not None:
        return _choice(explicit.label, options)
    if finish_reason is FinishReason.CONTENT_FILTER or _REFUSAL.search(said):
        return ParsedAnswer(OutcomeStatus.REFUSED)
    cut = finish_reason is FinishReason.LENGTH
    mentioned = _mentioned(reader, said, cut, explicit is not None)
    if mentioned is not None:
        return _choice(mentioned, options)
    if cut:
        return ParsedAnswer(OutcomeStatus.TRUNCATED)
    if _REFERRAL.search(said) and explicit is None and not any(reader.words(said)):
        return ParsedAnswer(OutcomeStatus.REFUSED)
    return ParsedAnswer(OutcomeStatus.UNPARSED)


def _choice(label: str, options: Sequence[str]) -> ParsedAnswer:
    status = OutcomeStatus.UNSURE if label == UNSURE else OutcomeStatus.ANSWERED
    return ParsedAnswer(status, label, list(options).index(label) if label in options else None)


def _explicit(reader: Reader, text: str) -> _Statement | None:
    """The explicit answer (rules 2 and 3), void or not, or None where there is none."""
    given = list(_given(reader, text))
    final = sorted([*_marked(reader, text), *_suffixed(reader, text)], key=lambda item: (item.end, item.start))
    if final:
        last = final[-1]
        before = [item for item in [*given, *final] if item.end < last.end and item.label and item.start != last.start]
        if before and _contradicts(max(before, key=lambda item: item.end), last, text):
            return _Statement(last.start, last.end, None, last.letter, last.word)
        return last
    if not given:
        return None
    labels = {item.label for item in given}
    return given[0] if len(labels) == 1 else _Statement(given[0].start, given[-1].end, None, True, True)


def _contradicts(first: _Statement, last: _Statement, text: str) -> bool:
    """A letter in one and a label in the other, for different options, with no word of correction."""
    crossed = (first.letter and not first.word and last.word and not last.letter) or (
        first.word and not first.letter and last.letter and not last.word
    )
    differ = first.label != last.label and UNSURE not in (first.label, last.label)
    return crossed and differ and not _CORRECTION.search(text, first.end, last.end)


def _statement(reader: Reader, text: str, found: Expression) -> _Statement | None:
    if reader.unsettled(text, found):
        return None
    label = None if reader.joined(text, found) else found.chosen
    return _Statement(found.start, found.end, label, found.letter is not None, found.label is not None)


def _marked(reader: Reader, text: str) -> Iterator[_Statement]:
    """Statements after a marker: "the answer is B"."""
    for marker in _MARKER.finditer(text):
        if _VOIDED.search(text[max(0, marker.start() - CONTEXT) : marker.start()]):
            continue
        at = marker.end()
        found = None
        while at < min(len(text), marker.end() + CONTEXT):
            found = None if text[at].isspace() else reader.expression(text, at)
            step = _FILLER.match(text, at)
            if found is not None or step is None:
                break
            at = step.end()
        statement = _statement(reader, text, found) if found is not None else None
        if statement is not None:
            yield statement


def _suffixed(reader: Reader, text: str) -> Iterator[_Statement]:
    """Statements before a suffix: "B is correct"."""
    for found in [*reader.words(text), *reader.letters(text)]:
        if _SUFFIX.match(text, found.end):
            statement = _statement(reader, text, found)
            if statement is not None:
                yield statement


def _given(reader: Reader, text: str) -> Iterator[_Statement]:
    """Answers by their place: first in the text, alone on a line, or the last sentence."""
    lines = [0, *(match.end() for match in re.finditer(r"\n", text))]
    sentences = [match.end() for match in re.finditer(r"[.!?;]\s+", text)]
    for start in sorted({*lines, *sentences[-1:]}):
        found = reader.expression(text, start) if start < len(text) else None
        if found is None:
            continue
        end = text.find("\n", found.end)
        alone = _REST.fullmatch(text, found.end, len(text) if end < 0 else end) is not None
        whole = alone and (start in lines or end < 0)
        if whole or (start == 0 and _LEADING.match(text, found.end)):
            statement = _statement(reader, text, found)
            if statement is not None:
                yield statement


def _mentioned(reader: Reader, text: str, cut: bool, void: bool) -> str | None:
    """The one option that is mentioned (rule 6) or UNSURE where doubt is said (rule 5)."""
    mentions = [item for item in reader.words(text) if not reader.unsettled(text, item)]
    doubt = [item for item in mentions if item.chosen == UNSURE]
    if doubt:
        turn = _CONTRAST.search(text, doubt[-1].end)
        if turn is None:
            return UNSURE
        mentions = [item for item in mentions if item.start >= turn.end()]
        if not mentions and not cut:
            return UNSURE
    if cut or void:
        return None
    letters = [] if doubt else [item for item in reader.marked_letters(text) if not reader.unsettled(text, item)]
    labels = {item.chosen for item in [*mentions, *letters]}
    return next(iter(labels)) if len(labels) == 1 else None
