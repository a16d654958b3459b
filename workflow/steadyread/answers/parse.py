"""From a model's text to one outcome status and, where it chose, a label (PROTOCOLS 0.1).

The rules, in this order; the first that applies decides. Nothing is ever guessed.

1. The request failed: ERROR. Reasoning is no answer: what stands before its end is ignored; reasoning
   that never ends is TRUNCATED. A copied list of options says nothing.
2. A word of correction after a mention of an option ("wait, no", "scratch that", "sorry, I meant") takes
   back all before it: what follows the last one is read alone, bare letters too. Where that names no
   clear option the answer is UNPARSED (or what rules 5 and 6 say of it), never the one withdrawn.
3. Options rated one by one (numbers, verdicts, places in a list) are taken out: they are no choice,
   whichever is rated best, nor is a single option rated below a half. Then rule 7 does not apply.
4. An explicit answer, whatever else is mentioned and whatever doubt is said before or after it: a forced
   choice is a choice ("uncertain; A", "B. It cannot be determined").
   a. A final statement ("the answer is B", "B is correct", "if forced, B"): the last one wins. It is void
      where it names two options ("A or B", "grade 2 or 3"), where letter and label contradict, within it
      or against the explicit answer before it unless a word of contrast stands between, and where its
      letter was not shown.
   b. Else by its place: the text begins with it ("B. The lesions …"), or it stands alone on a line, as the
      last sentence or, where doubt is said, as a clause. Several that differ are void.
   UNSURE is such an answer by its letter or written as it is shown; "uncertain" and its like are doubt.
   Denied, asked, supposed and other people's options ("I doubt it is A", "some might say A") answer nothing.
5. A refusal: REFUSED, even with labels in it ("I cannot diagnose GBM", "I can't choose A").
6. Doubt, or "I abstain": UNSURE, also where UNSURE was not offered (label "UNSURE", no slot).
7. One option alone is mentioned, neither denied nor asked nor spoken of in general: it is the answer.
   Letters count here only in brackets or after "option", labels only as whole words.
8. A referral to a doctor alone: REFUSED. Anything else, and a void statement without 5 or 6: UNPARSED.

A text cut at the limit (`length`) answers by rules 2 to 6 alone, for these were said in full before the
cut; else it is TRUNCATED. A text that a provider's filter withheld is REFUSED unless 4 applies.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ..config.words import UNSURE
from ..contracts.enums import FinishReason, OutcomeStatus
from . import phrases
from .ratings import without_ratings
from .reading import CONTEXT, Expression, Reader, cleaned, is_doubt, without_thinking

_FLAGS = re.IGNORECASE | re.UNICODE
# Words of scripts without spaces end where they end.
_WORD_END = r"(?:(?<![a-z])|(?![a-z']))"
_MARKER = re.compile(rf"(?<![^\W\d_])(?:{'|'.join(phrases.FINAL_MARKERS)}){_WORD_END}", _FLAGS)
_VOIDED = re.compile(phrases.MARKER_VOIDED_BY, _FLAGS)
_FILLER = re.compile(rf"[\s:,=>…–—-]+|\.{{2,}}|(?:{phrases.FILLERS}){_WORD_END}", _FLAGS)
_SUFFIX = re.compile(phrases.FINAL_SUFFIX, _FLAGS)
_LEADING = re.compile(phrases.AFTER_LEADING, _FLAGS)
_CORRECTION = re.compile(phrases.CORRECTION, _FLAGS)
_RETRACTION = re.compile(phrases.RETRACTION, _FLAGS)
_CLAUSE_START = re.compile(phrases.ALONE_START, _FLAGS)
_CLAUSE_END = re.compile(phrases.ALONE_END, _FLAGS)
_REFUSAL = re.compile("|".join(phrases.REFUSALS), _FLAGS)
_REFERRAL = re.compile("|".join(phrases.REFERRALS), _FLAGS)
_HEADS = re.compile(phrases.HEADING_BEFORE, _FLAGS)
_HEADED = re.compile(phrases.HEADING_AFTER, _FLAGS)
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
    """An explicit answer: `label` is None where it is void. `letter`, `word`: what it was written as.

    `doubt`: it says UNSURE in words, not by the option's letter or its name as shown.
    """

    start: int
    end: int
    label: str | None
    letter: bool
    word: bool
    doubt: bool = False


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
    tail = _after_retraction(reader, said)
    said, rated = without_ratings(reader, said if tail is None else tail)
    explicit = _unless_taken_back(reader, said, _explicit(reader, said))
    if explicit is not None and explicit.label is not None:
        return _choice(explicit.label, options)
    if finish_reason is FinishReason.CONTENT_FILTER or _REFUSAL.search(said):
        return ParsedAnswer(OutcomeStatus.REFUSED)
    void = explicit is not None
    if _doubted(reader, said, void or rated):
        return _choice(UNSURE, options)
    if finish_reason is FinishReason.LENGTH:
        return ParsedAnswer(OutcomeStatus.TRUNCATED)
    mentioned = None if void or rated else _mentioned(reader, said, tail is not None)
    if mentioned is not None:
        return _choice(mentioned, options)
    if _REFERRAL.search(said) and not void and tail is None and not rated and not any(reader.words(said)):
        return ParsedAnswer(OutcomeStatus.REFUSED)
    return ParsedAnswer(OutcomeStatus.UNPARSED)


def _after_retraction(reader: Reader, text: str) -> str | None:
    """What follows the last word of correction, or None where nothing was said that it could take back."""
    last = None
    for match in _RETRACTION.finditer(text):
        if match["no"] is None or not reader.is_name(match["no"]):
            last = match
    if last is None:
        return None
    before = text[: last.start()]
    named = any(reader.option_places(before)) or _explicit(reader, before) is not None
    return text[last.end() :].lstrip(" \n,.:;!?…—–-)") if named else None


def _choice(label: str, options: Sequence[str]) -> ParsedAnswer:
    status = OutcomeStatus.UNSURE if label == UNSURE else OutcomeStatus.ANSWERED
    return ParsedAnswer(status, label, list(options).index(label) if label in options else None)


def _explicit(reader: Reader, text: str) -> _Statement | None:
    """The explicit answer (rule 4), void or not, or None where there is none. Doubt yields to any other."""
    final = sorted([*_marked(reader, text), *_suffixed(reader, text)], key=lambda item: (item.end, item.start))
    given = list(_given(reader, text))
    doubts = [item for item in (*final, *given) if item.doubt]
    if doubts or any(item.chosen == UNSURE for item in reader.words(text)):
        given += _alone(reader, text)
    final = [item for item in final if not item.doubt]
    given = [item for item in given if not item.doubt]
    if final:
        last = final[-1]
        before = [item for item in [*given, *final] if item.end < last.end and item.label and item.start != last.start]
        if before and _contradicts(max(before, key=lambda item: item.end), last, text):
            return _Statement(last.start, last.end, None, last.letter, last.word)
        # "Answer: B. Let me check. A." gives two.
        if any(item.start >= last.end and item.label != last.label for item in given):
            return replace(last, label=None)
        return last
    if given:
        labels = {item.label for item in given}
        return given[0] if len(labels) == 1 else _Statement(given[0].start, given[-1].end, None, True, True)
    return doubts[0] if doubts else None


def _unless_taken_back(reader: Reader, text: str, answer: _Statement | None) -> _Statement | None:
    """The answer, void where the text denies that option after it: "A. No, not A"."""
    if answer is None or answer.label is None or answer.doubt:
        return answer
    for found in (*reader.words(text), *reader.letters(text)):
        again = found.start >= answer.end and found.chosen == answer.label and not is_doubt(text, found)
        if again and reader.denied(text, found):
            return _Statement(answer.start, found.end, None, answer.letter, answer.word)
    return answer


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
    letter, word = found.letter is not None, found.label is not None
    return _Statement(found.start, found.end, label, letter, word, is_doubt(text, found))


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
    if _SUFFIX.search(text) is None:
        return
    for found in [*reader.words(text), *reader.letters(text)]:
        if _SUFFIX.match(text, found.end):
            statement = _statement(reader, text, found)
            if statement is not None:
                yield statement


def _given(reader: Reader, text: str) -> Iterator[_Statement]:
    """Answers by their place: first in the text, alone on a line, or the last sentence."""
    lines = [0, *(match.end() for match in re.finditer(r"\n", text))]
    sentences = [match.end() for match in re.finditer(r"[.!?;]\s+", text)]
    starts: set[int] = set(lines)
    for start in sorted({*lines, *sentences[-1:]}):
        found = reader.expression(text, start) if start < len(text) else None
        if found is None:
            continue
        end = text.find("\n", found.end)
        alone = _REST.fullmatch(text, found.end, len(text) if end < 0 else end) is not None
        whole = alone and (start in starts or end < 0)
        numbered = found.foreign and text[start].isdigit()
        if whole or (start == 0 and not numbered and _LEADING.match(text, found.end)):
            statement = _statement(reader, text, found)
            if statement is not None:
                listed = not whole and _heads_a_list(reader, text, found)
                yield replace(statement, label=None) if listed else statement


def _heads_a_list(reader: Reader, text: str, found: Expression) -> bool:
    """Whether another option heads a part of the text as this one does: "A: solitary. B: multiple"."""
    if _HEADED.match(text, found.end) is None:
        return False
    for start, end, label in reader.option_places(text):
        if start < found.end or label == found.chosen or _HEADED.match(text, end) is None:
            continue
        other = Expression(start, end, None, label)
        if _HEADS.search(text, max(0, start - 8), start) and not reader.denied(text, other):
            return True
    return False


def _alone(reader: Reader, text: str) -> Iterator[_Statement]:
    """Options that make up a clause, beside a doubt: "uncertain, A", "GBM, but not sure"."""
    for clause in _CLAUSE_START.finditer(text):
        found = reader.expression(text, clause.end()) if clause.end() < len(text) else None
        if found is not None and _CLAUSE_END.match(text, found.end):
            statement = _statement(reader, text, found)
            if statement is not None:
                yield statement


def _doubted(reader: Reader, text: str, void: bool) -> bool:
    """Whether doubt is said; beside a void statement the option's own name does not count as doubt."""
    for item in reader.words(text):
        if item.chosen == UNSURE and not reader.unsettled(text, item):
            listed = not is_doubt(text, item) and (void or reader.joined(text, item))
            if not listed:
                return True
    return False


def _mentioned(reader: Reader, text: str, bare: bool) -> str | None:
    """The one option that is mentioned (rule 7); `bare` letters count after a correction."""
    letters = reader.letters(text) if bare else reader.marked_letters(text)
    labels: set[str | None] = set()
    for item in (*reader.words(text), *letters):
        if not reader.unsettled(text, item) and not reader.hypothetical(text, item):
            several = reader.joined(text, item) if bare else reader.stem_joined(text, item)
            labels.add(None if several else item.chosen)
    return next(iter(labels)) if len(labels) == 1 else None
