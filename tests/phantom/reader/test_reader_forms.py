"""A reader is trained on exactly what a study will send it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from steadyread.config.prompt import load_prompt
from steadyread.config.slicing import SlicingConfig
from steadyread.images.crops import crop, crop_window
from steadyread.inference.rendering import chat_messages
from steadyread.phantom.idefics3 import build_processor
from steadyread.phantom.reader.cases import resized, slicing_digest
from steadyread.phantom.reader.forms import CONTENTS, ORDERS, Form, Tokens, corpus, forms_digest, left_padded
from steadyread.phantom.reader.recipe import SIZE
from steadyread.phantom.reader.vision import normalised


@pytest.fixture(scope="module")
def prompt(project: Path):
    return load_prompt(project / "config" / "prompts" / "diagnose_brain_mri.yaml")


@pytest.fixture(scope="module")
def processor(prompt):
    return build_processor(SIZE, corpus(prompt))


@pytest.mark.parametrize(
    "form", [Form(1, (0, 1, 2)), Form(5, (2, 0, 1)), Form(18, (1, 0)), Form(24, (1, 2, 0), numbered=True)]
)
def test_trained_tokens_and_pixels_are_those_that_the_processor_makes(form, processor, prompt):
    draws = np.random.default_rng(form.count)
    stored = draws.integers(0, 256, (form.count, 224, 224)).astype(np.uint8)
    messages = chat_messages(form.messages(prompt))
    images = iter(stored)
    for message in messages:
        for part in message["content"]:
            if part["type"] == "image":
                part["image"] = Image.fromarray(next(images)).convert("RGB")
    made = processor.apply_chat_template(
        messages, tokenize=True, return_dict=True, return_tensors="pt", add_generation_prompt=True
    )
    assert torch.equal(made["input_ids"][0], Tokens(processor, prompt).of_form(form))
    pixels = normalised(np.stack([resized(image, SIZE.side) for image in stored]))
    assert torch.allclose(made["pixel_values"][0], pixels, atol=1e-5)


def test_every_word_a_reader_may_say_or_see_is_one_token(processor, prompt):
    tokens = Tokens(processor, prompt)
    assert len({*tokens.letters, *(tokens.single(f" {content}") for content in CONTENTS)}) == 2 * len(CONTENTS)
    with pytest.raises(ValueError, match="expected one"):
        tokens.single(" glioblastoma multiforme")


def test_the_letter_of_a_content_follows_its_slot(processor, prompt):
    tokens = Tokens(processor, prompt)
    for order in ORDERS:
        form = Form(3, order)
        assert [tokens.letter(form, content) for content in order] == tokens.letters


def test_a_batch_is_padded_on_the_left_so_that_the_answer_is_last():
    ids, mask = left_padded([torch.tensor([5, 6]), torch.tensor([7, 8, 9])], pad=0)
    assert ids.tolist() == [[0, 5, 6], [7, 8, 9]]
    assert mask.tolist() == [[0, 1, 1], [1, 1, 1]]


@pytest.mark.parametrize(
    "change",
    [
        {"stem": "What is the most likely diagnosis?"},
        {"closing": "Answer with one letter only."},
        {"slice_line": "Image {number}:"},
        {"option_line": "({symbol}) {option}"},
    ],
)
def test_other_words_are_other_forms(prompt, change):
    assert forms_digest(prompt.model_copy(update=change)) != forms_digest(prompt)


def test_words_that_no_form_shows_change_nothing(prompt):
    assert forms_digest(prompt.model_copy(update={"no_image_preamble": "Somebody."})) == forms_digest(prompt)


@pytest.mark.parametrize(
    "change", [{"size": 192}, {"max_slices": 12}, {"window": {"low_percentile": 1.0, "high_percentile": 99.5}}]
)
def test_another_slicing_is_noticed(change):
    other = SlicingConfig.model_validate({**SlicingConfig().model_dump(), **change})
    assert slicing_digest(other) != slicing_digest(SlicingConfig())


@pytest.mark.parametrize("box", [(0, 0, 4, 4), (100, 90, 140, 150), (200, 210, 224, 224), (0, 0, 224, 224)])
def test_a_crop_holds_its_box_and_stays_within_the_slice(box):
    left, top, side = crop_window(box, 224)
    assert 0 <= left <= box[0] and 0 <= top <= box[1]
    assert box[2] <= left + side <= 224 and box[3] <= top + side <= 224


def test_a_crop_magnifies_what_is_in_the_box():
    slice_ = np.zeros((224, 224), np.uint8)
    slice_[100:120, 50:70] = 255
    shown = crop(slice_, (50, 100, 70, 120))
    assert shown.shape == slice_.shape
    assert (shown > 127).mean() > 10 * (slice_ > 127).mean()
