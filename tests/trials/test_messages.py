"""The words of a request."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from steadyread.config.prompt import Prompt, load_prompt, wording_problems
from steadyread.contracts.enums import ArmName
from steadyread.contracts.problems import StudyError
from steadyread.trials.messages import compose_messages, symbols_for

OPTIONS = ["GBM", "MET", "UNSURE"]


def prompt_of(**changes: Any) -> Prompt:
    words = {
        "name": "test",
        "version": 1,
        "mark": "O",
        "images_preamble": "{count} images:",
        "no_image_preamble": "One patient.",
        "stem": "Which one?",
        "option_line": "({symbol}) {option}",
        "closing": "One letter.",
    }
    return Prompt.model_validate({**words, **changes})


def test_every_shipped_prompt_composes_with_and_without_images(project: Path) -> None:
    files = sorted((project / "config" / "prompts").glob("*.yaml"))
    assert files
    for file in files:
        prompt = load_prompt(file)
        assert compose_messages(prompt, ["a" * 32], OPTIONS)
        blind = str(compose_messages(prompt, [], OPTIONS, blind=True))
        assert not re.search(r"mri|scan|slice|picture|brain|magnetic", blind, re.IGNORECASE)


def test_images_stand_in_the_order_given_and_are_counted() -> None:
    [message] = compose_messages(prompt_of(), ["b", "a", "b"], OPTIONS)
    assert message["role"] == "user"
    assert message["content"][0]["text"] == "3 images:"
    assert [part["image_id"] for part in message["content"]] == [None, "b", "a", "b", None]


def test_options_stand_last_with_their_symbols() -> None:
    [message] = compose_messages(prompt_of(), ["a"], ["x", "y"])
    assert message["content"][-1]["text"] == "Which one?\n(A) x\n(B) y\nOne letter."


def test_a_system_message_stands_before_all() -> None:
    system, user = compose_messages(prompt_of(system="Be brief."), ["a"], OPTIONS)
    assert (system["role"], user["role"]) == ("system", "user")
    assert system["content"][0]["text"] == "Be brief."


def test_braces_in_a_label_or_in_the_stem_are_text() -> None:
    [message] = compose_messages(prompt_of(stem="{what}?"), ["a"], ["{symbol}", "y"])
    assert "{what}?\n(A) {symbol}\n" in message["content"][-1]["text"]


@pytest.mark.parametrize(
    "changes",
    [
        {"stem": "What does this MRI show?"},
        {"no_image_preamble": "No image is available."},
        {"system": "You read brain scans."},
        {"closing": "Name what the slices suggest."},
    ],
)
def test_a_prompt_that_speaks_of_images_cannot_be_asked_without(changes: dict[str, str]) -> None:
    prompt = prompt_of(**changes)
    assert compose_messages(prompt, ["a"], OPTIONS)
    with pytest.raises(StudyError, match="neither images nor MRI"):
        compose_messages(prompt, [], OPTIONS, blind=True)


@pytest.mark.parametrize("preamble", [None, "", "One patient.", "No information."])
def test_a_mention_must_mention_the_images_it_does_not_show(preamble: str | None) -> None:
    prompt = prompt_of(mention_preamble=preamble)
    with pytest.raises(StudyError, match="mention_preamble"):
        compose_messages(prompt, [], OPTIONS, blind=True, mention=True)
    assert compose_messages(prompt, [], OPTIONS, blind=True)


def test_a_mention_stands_in_place_of_the_images_and_changes_nothing_else() -> None:
    prompt = prompt_of(mention_preamble="An MRI of one patient.")
    [mention] = compose_messages(prompt, [], OPTIONS, blind=True, mention=True)
    [blind] = compose_messages(prompt, [], OPTIONS, blind=True)
    said, silent = mention["content"][0]["text"].splitlines(), blind["content"][0]["text"].splitlines()
    assert (said[0], said[1:]) == ("An MRI of one patient.", silent[1:])


def test_a_request_with_images_is_no_mere_mention() -> None:
    with pytest.raises(StudyError, match="mere mention"):
        compose_messages(prompt_of(mention_preamble="An MRI."), ["a"], OPTIONS, mention=True)


def test_numbers_stand_before_their_slices() -> None:
    [message] = compose_messages(prompt_of(), ["b", "a"], OPTIONS, numbered=True)
    parts = [part["text"] or part["image_id"] for part in message["content"]]
    assert parts[1:-1] == ["Slice 1:", "b", "Slice 2:", "a"]


MOVING = (ArmName.REVERSE, ArmName.SHUFFLE, ArmName.ROI_FIRST, ArmName.ROI_LAST, ArmName.ROI_AT)


@pytest.mark.parametrize("arm", MOVING)
@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"stem": "What does the last slice show?"}, "last"),
        ({"stem": "What does slice 7 show?"}, "slice 7"),
        ({"closing": "Say which side, left or right."}, "left"),
        ({"images_preamble": "{count} slices in anatomical order:"}, "anatomical order"),
        ({"system": "The first picture counts."}, "first"),
    ],
)
def test_words_that_name_a_place_or_a_side_forbid_the_arms_that_move_slices(
    arm: ArmName, changes: dict[str, str], word: str
) -> None:
    [problem] = wording_problems(prompt_of(**changes), [ArmName.BASE, arm])
    assert word in problem
    assert arm.value in problem
    others = set(ArmName) - set(MOVING) - {ArmName.NO_IMAGE, ArmName.MENTION_ONLY}
    assert wording_problems(prompt_of(**changes), others) == []


def test_the_shipped_prompts_may_ask_every_arm(project: Path) -> None:
    for file in (project / "config" / "prompts").glob("*.yaml"):
        assert wording_problems(load_prompt(file), list(ArmName)) == []


@pytest.mark.parametrize(
    ("changes", "key"),
    [({"images_preamble": "{number} images"}, "images_preamble"), ({"option_line": "{symbol} {"}, "option_line")],
)
def test_a_placeholder_that_cannot_be_filled_is_named(changes: dict[str, str], key: str) -> None:
    with pytest.raises(StudyError, match=key):
        compose_messages(prompt_of(**changes), ["a"], OPTIONS)


@pytest.mark.parametrize(("images", "blind"), [([], False), (["a"], True)])
def test_a_request_is_blind_exactly_where_it_has_no_images(images: list[str], blind: bool) -> None:
    with pytest.raises(StudyError, match="cannot be"):
        compose_messages(prompt_of(), images, OPTIONS, blind)


def test_there_are_as_many_symbols_as_letters() -> None:
    assert symbols_for(3) == ["A", "B", "C"]
    assert len(set(symbols_for(26))) == 26
    with pytest.raises(StudyError, match="27 options"):
        symbols_for(27)
