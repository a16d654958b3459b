"""The parser against a battery written from the field's reports, and under what must not matter."""

from __future__ import annotations

import csv
import itertools
import re
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steadyread.answers.parse import ParsedAnswer, parse_choice
from steadyread.config.prompt import load_prompt
from steadyread.contracts.enums import FinishReason, OutcomeStatus

PROJECT = Path(__file__).resolve().parents[2]
SYNONYMS = load_prompt(PROJECT / "config" / "prompts" / "diagnose_brain_mri.yaml").synonyms
OPTIONS, SYMBOLS = ("GBM", "MET", "UNSURE"), ("A", "B", "C")
Row = dict[str, str]


def _battery() -> list[Row]:
    with open(PROJECT / "tests" / "data" / "answers.tsv", encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle, delimiter="\t", quoting=csv.QUOTE_NONE))
    for row in rows:
        row["text"] = re.sub(r"\\(n|\\)", lambda match: "\n" if match[1] == "n" else "\\", row["text"])
    return rows


def _shown(row: Row) -> list[tuple[str, str]]:
    return [(symbol, label) for symbol, _, label in (item.partition("=") for item in row["options"].split("|"))]


def _parse(row: Row, shown: list[tuple[str, str]] | None = None, text: str | None = None) -> ParsedAnswer:
    pairs = _shown(row) if shown is None else shown
    options, symbols = [label for _, label in pairs], [symbol for symbol, _ in pairs]
    said = row["text"] if text is None else text
    return parse_choice(said, options, symbols, SYNONYMS, FinishReason(row["finish_reason"]))


BATTERY = _battery()
READ = [row for row in BATTERY if row["kind"] != "known_limit"]
LIMITS = [row for row in BATTERY if row["kind"] == "known_limit"]
WHOLE = ["A", "(A)", "Answer: A", "GBM", "A. GBM", "glioblastoma", "The answer is A", "A) GBM", "Option A"]


def _name(row: Row) -> str:
    return f"{row['kind']}: {row['text'][:40]!r}"


@pytest.mark.parametrize("row", READ, ids=_name)
def test_an_answer_is_read_as_a_person_reads_it(row: Row) -> None:
    found = _parse(row)
    assert (found.status.value, found.label or "") == (row["status"], row["label"])


@pytest.mark.parametrize("row", LIMITS, ids=_name)
def test_what_the_parser_cannot_read_yet_is_unparsed_and_never_another_answer(row: Row) -> None:
    found = _parse(row)
    assert found.status is OutcomeStatus.UNPARSED or found.label == row["label"]


def test_the_battery_covers_every_status() -> None:
    assert {row["status"] for row in BATTERY} == {status.value for status in OutcomeStatus}


@pytest.mark.parametrize("row", READ, ids=_name)
def test_listing_the_options_in_another_order_keeps_the_label_and_moves_the_slot(row: Row) -> None:
    shown = _shown(row)
    for order in itertools.islice(itertools.permutations(shown), 6):
        found = _parse(row, list(order))
        assert (found.status.value, found.label or "") == (row["status"], row["label"])
        labels = [label for _, label in order]
        assert found.slot == (labels.index(found.label) if found.label in labels else None)


@pytest.mark.parametrize("text", ["A", "(A).", "Answer: A", "The answer is A.", "A is correct.", "I choose option A."])
def test_a_letter_means_whatever_label_stands_beside_it(text: str) -> None:
    for labels in itertools.permutations(OPTIONS):
        found = parse_choice(text, labels, SYMBOLS, SYNONYMS, FinishReason.STOP)
        assert (found.label, found.slot) == (labels[0], 0)


@pytest.mark.parametrize("text", ["GBM", "Glioblastoma.", "The diagnosis is glioblastoma.", "This is not MET but GBM."])
def test_a_label_means_itself_in_whatever_slot_it_stands(text: str) -> None:
    for labels in itertools.permutations(OPTIONS):
        found = parse_choice(text, labels, SYMBOLS, SYNONYMS, FinishReason.STOP)
        assert (found.label, found.slot) == ("GBM", labels.index("GBM"))


def test_new_names_for_symbols_rename_the_letters_only() -> None:
    for symbols in (("1", "2", "3"), ("i", "ii", "iii"), ("X", "Y", "Z"), ("C", "A", "B")):
        for symbol, label in zip(symbols, OPTIONS, strict=True):
            for text in (symbol, f"({symbol})", f"Answer: {symbol}.", f"{symbol}. {label}"):
                assert parse_choice(text, OPTIONS, symbols, {}, FinishReason.STOP).label == label


@given(
    st.sampled_from(WHOLE),
    st.sampled_from([str.upper, str.lower, str.title, str]),
    st.sampled_from(["", " ", "\n", "\t ", "  \n"]),
    st.sampled_from(["", ".", "!", " .", "\n", ".\n\n", "**", "</s>"]),
)
def test_case_white_space_and_closing_marks_do_not_matter(text: str, case, before: str, after: str) -> None:
    found = parse_choice(before + case(text) + after, OPTIONS, SYMBOLS, SYNONYMS, FinishReason.STOP)
    assert found == ParsedAnswer(OutcomeStatus.ANSWERED, "GBM", 0)


FRAGMENTS = [
    "A", "B", "C", "D", "GBM", "MET", "UNSURE", "not", "no", "the answer is", "Answer:", "or", "and", "but", "if",
    "is correct", "is unlikely", "cannot be determined", "I can't provide", "<think>", "</think>", "(", ")", ".", ",",
    ":", "\n", "\\boxed{", "}", "<answer>", "</answer>", "actually", "however", "consult a doctor", "**", "'",
    "neither",
]  # fmt: skip
TEXTS = st.one_of(st.text(max_size=60), st.lists(st.sampled_from(FRAGMENTS), max_size=12).map(" ".join))


@settings(max_examples=300, deadline=None)
@given(TEXTS, st.permutations(OPTIONS), st.booleans(), st.sampled_from(list(FinishReason)))
def test_any_text_ends_with_one_status_and_a_label_exactly_where_a_choice_was_made(
    text: str, labels: list[str], unsure: bool, reason: FinishReason
) -> None:
    options = [label for label in labels if unsure or label != "UNSURE"]
    found = parse_choice(text, options, SYMBOLS[: len(options)], SYNONYMS, reason)
    chosen = found.status in (OutcomeStatus.ANSWERED, OutcomeStatus.UNSURE)
    assert chosen == (found.label is not None)
    assert (found.label == "UNSURE") == (found.status is OutcomeStatus.UNSURE)
    assert found.slot == (options.index(found.label) if found.label in options else None)
    assert (found.status is OutcomeStatus.TRUNCATED) <= (reason is FinishReason.LENGTH or "<think" in text.lower())


@settings(max_examples=200, deadline=None)
@given(TEXTS)
def test_without_a_letter_a_name_or_doubt_there_is_no_credit(text: str) -> None:
    silent = re.sub(r"(?i)[a-z]", "-", text)
    found = parse_choice(silent, ("GBM", "MET", "UNSURE"), SYMBOLS, SYNONYMS, FinishReason.STOP)
    assert found.status is OutcomeStatus.UNPARSED


@settings(max_examples=100, deadline=None)
@given(
    st.text(min_size=1, max_size=20),
    st.text(max_size=3),
    st.dictionaries(st.text(max_size=8), st.tuples(st.text(max_size=8))),
)
def test_odd_options_symbols_and_synonyms_do_not_break_it(label: str, symbol: str, synonyms) -> None:
    parse_choice(f"Answer: {symbol} {label}", (label, "UNSURE"), (symbol, "B"), synonyms, FinishReason.STOP)


@pytest.mark.parametrize("text", ["GBM ", "the answer is ", "A or B ", "not ", "(", "I can't ", "<think ", "A. GBM "])
def test_a_rambling_answer_is_read_in_time_that_grows_with_its_length_alone(text: str) -> None:
    # 20,000 repeats; a pattern that backtracks over them would take minutes.
    parse_choice(text * (20_000 // len(text)), OPTIONS, SYMBOLS, SYNONYMS, FinishReason.STOP)


@pytest.mark.parametrize("text", ["A\n", "A\nB\n", "A, ", "uncertain, ", "A: 20%, ", "Wait, no. A. ", "1. GBM "])
def test_an_answer_said_over_and_over_costs_time_by_its_length_alone(text: str) -> None:
    def took(times: int) -> float:
        start = time.process_time()
        parse_choice(text * times, OPTIONS, SYMBOLS, SYNONYMS, FinishReason.STOP)
        return time.process_time() - start

    # 60,000 characters; what grew with the square of them would take minutes.
    assert took(60_000 // len(text)) < 10


ANSWERS = [row for row in READ if row["options"] == "A=GBM|B=MET|C=UNSURE" and row["status"] == "ANSWERED"]
CORRECTIONS = [
    "Wait, no. {}.", "On second thought, {}.", "Sorry, I meant {}.", "Scratch that, {}.", "Hmm, no: {}", "No, {}",
    "Correction: {}", "Actually, it is {}.", "I changed my mind: {}.", "My mistake, {}.", "Hold on. {}", "Oops, {}!",
    "That is wrong. The answer is {}.", "I take that back, {} it is.", "Make that {}.", "Rather, {}.", "Instead, {}.",
]  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(ANSWERS),
    st.sampled_from(CORRECTIONS),
    st.sampled_from([" ", "\n", "\n\n", ". "]),
    st.sampled_from(["A", "B", "GBM", "MET", "A. GBM", "(B)", "glioblastoma"]),
)
def test_a_correction_changes_the_answer_to_what_it_names_or_leaves_none(
    row: Row, correction: str, gap: str, named: str
) -> None:
    meant = "GBM" if named[0] in "Ag" or named == "GBM" else "MET"
    found = parse_choice(
        row["text"].rstrip() + gap + correction.format(named), OPTIONS, SYMBOLS, SYNONYMS, FinishReason.STOP
    )
    assert found.label in (meant, None)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(ANSWERS), st.sampled_from(CORRECTIONS), st.sampled_from(["", "the lesions are many", "A or B"]))
def test_an_answer_taken_back_for_none_is_never_the_one_taken_back(row: Row, correction: str, rest: str) -> None:
    said = row["text"].rstrip() + "\n" + correction.format(rest)
    found = parse_choice(said, OPTIONS, SYMBOLS, SYNONYMS, FinishReason.STOP)
    assert found.status is not OutcomeStatus.ANSWERED


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.sampled_from(["0.1", "20%", "0.85", "3/10", "70 %", "5 percent", "1", "90"]), min_size=3, max_size=3),
    st.sampled_from(["{}: {}", "{} = {}", "{} ({})", "'{}': {}", "{} - {}", "{} is {}", "{}\t{}", "| {} | {} |"]),
    st.sampled_from([", ", "; ", "\n", " and ", "\n\n"]),
    st.sampled_from(["", "Probabilities: ", "Answer: ", "{", "My estimates are "]),
    st.sampled_from([("A", "B", "C"), ("GBM", "MET", "UNSURE"), ("A. GBM", "B. MET", "C. UNSURE")]),
    st.permutations([0, 1, 2]),
)
def test_numbers_for_every_option_are_no_choice(
    numbers: list[str], form: str, gap: str, before: str, names: tuple[str, ...], order: list[int]
) -> None:
    said = before + gap.join(form.format(names[k], numbers[k]) for k in order)
    found = parse_choice(said, OPTIONS, SYMBOLS, SYNONYMS, FinishReason.STOP)
    assert found.status is OutcomeStatus.UNPARSED


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(["uncertain", "not sure", "It cannot be determined.", "Impossible to say.", "I don't know"]),
    st.sampled_from(["A", "B", "GBM", "MET", "Answer: B", "If forced, A", "The answer is GBM"]),
    st.sampled_from(["; ", ". ", "\n", ", ", ", but "]),
)
def test_a_doubt_and_an_answer_say_the_same_in_either_order(doubt: str, answer: str, gap: str) -> None:
    first, last = (
        parse_choice(said, OPTIONS, SYMBOLS, SYNONYMS, FinishReason.STOP)
        for said in (doubt.rstrip(".") + gap + answer, answer + gap + doubt)
    )
    assert first == last and first.status is OutcomeStatus.ANSWERED


DENIALS = [
    "It is false that the answer is {}.", "It is not true that it is {}.", "I doubt it is {}.",
    "I disagree that it is {}.",
    "I highly doubt {}", "{} possible but unlikely", "Someone might choose {}.", "The answer is anything but {}.",
    "If it were {}, it would be larger.", "{} is ruled out.", "The previous report said {}.", "The wrong answer is {}.",
]  # fmt: skip


@pytest.mark.parametrize("denial", DENIALS)
def test_an_option_that_is_denied_doubted_or_anothers_is_not_credited(denial: str) -> None:
    for named in ("A", "B", "GBM", "MET", "glioblastoma"):
        found = parse_choice(denial.format(named), OPTIONS, SYMBOLS, SYNONYMS, FinishReason.STOP)
        assert found.status is OutcomeStatus.UNPARSED, named


def test_reasoning_is_never_an_answer_however_sure_it_sounds() -> None:
    for thought in ("The answer is A.", "A", "Final answer: GBM"):
        cut = parse_choice(f"<think>{thought}", OPTIONS, SYMBOLS, SYNONYMS, FinishReason.LENGTH)
        done = parse_choice(f"<think>{thought}</think>B", OPTIONS, SYMBOLS, SYNONYMS, FinishReason.STOP)
        assert cut.status is OutcomeStatus.TRUNCATED
        assert done.label == "MET"
