"""The naive path, tried on the random-weight model: what is asked is what is answered."""

from __future__ import annotations

import io
import json
import math
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import AutoModelForImageTextToText, AutoProcessor, PreTrainedTokenizerFast

from steadyread.contracts.enums import FinishReason
from steadyread.contracts.problems import StudyError
from steadyread.identity.pixels import image_digest
from steadyread.inference.option_tokens import option_logprobs, option_tokens
from steadyread.inference.rendering import chat_messages, render_prompt
from steadyread.inference.transformers_backend import TransformersBackend

MET_FIRST = ("MET", "GBM", "UNSURE")


@pytest.fixture(scope="module")
def folder(built):
    return built.parent / "snapshot"


@pytest.fixture
def backend(random_entry, folder):
    return TransformersBackend(random_entry(), folder, 8)


@pytest.fixture(scope="module")
def processor(folder):
    return AutoProcessor.from_pretrained(folder)


def test_the_prompt_is_the_one_the_processor_renders(world, folder, processor):
    for row in (world.ask(0, world.case(0)), world.ask(0, [])):
        row["messages"].insert(
            0, {"role": "system", "content": [{"type": "text", "text": "Be brief.", "image_id": None}]}
        )
        theirs = processor.apply_chat_template(
            chat_messages(row["messages"]), tokenize=False, add_generation_prompt=True
        )
        assert render_prompt(folder, row["messages"]) == theirs
        assert theirs.count("<image>") == len(row["images"])


def test_a_request_with_another_prompt_than_its_key_is_never_asked(world, folder, backend):
    request = world.request(world.ask(0, []), folder)
    with pytest.raises(StudyError, match="another prompt"):
        list(backend.answer([replace(request, prompt=request.prompt + " ")]))


def test_text_and_log_probabilities_are_those_of_a_plain_forward_pass(world, folder, backend, processor):
    # The oracle: logits of one forward pass, argmax by hand, without generate or this package's readers.
    model = AutoModelForImageTextToText.from_pretrained(folder, dtype=torch.float32).eval()
    for case in range(4):
        row = world.ask(case, world.case(case))
        (answer,) = backend.answer([world.request(row, folder)])
        slices = [np.asarray(Image.open(io.BytesIO(world.pngs[image]))) for image in row["images"]]
        inputs = processor(
            text=[render_prompt(folder, row["messages"])],
            images=[[Image.fromarray(np.stack([pixels] * 3, -1)) for pixels in slices]],
            add_special_tokens=False,
            return_tensors="pt",
        )
        ids = inputs.pop("input_ids")
        inputs.pop("attention_mask")
        grown, spoken = ids, []
        with torch.no_grad():
            for _ in range(8):
                logits = model(input_ids=grown, **inputs).logits[0, -1]
                if not spoken:
                    chances = torch.softmax(logits.double(), -1)
                spoken.append(int(logits.argmax()))
                grown = torch.cat([grown, torch.tensor([[spoken[-1]]])], 1)
                if spoken[-1] == processor.tokenizer.eos_token_id:
                    break
        assert answer.text == processor.tokenizer.decode(spoken, skip_special_tokens=True).strip()
        stopped = spoken[-1] == processor.tokenizer.eos_token_id
        assert answer.finish_reason is (FinishReason.STOP if stopped else FinishReason.LENGTH)
        assert (answer.input_tokens, answer.output_tokens) == (ids.shape[1], len(spoken))
        vocabulary = processor.tokenizer.get_vocab()
        share = [sum(float(chances[vocabulary[t]]) for t in (s, f"Ġ{s}")) for s in "ABC"]
        expected = [math.log(value / sum(share)) for value in share]
        assert answer.option_logprobs == pytest.approx(expected, abs=1e-4)
        assert answer.mass_outside_options == pytest.approx(1 - sum(share), abs=1e-6)


def test_an_answer_is_exactly_the_same_cold_or_warm_first_or_last(world, random_entry, folder, backend):
    rows = [world.ask(case, world.case(case, 5 + case)) for case in range(4)]
    requests = [world.request(row, folder) for row in rows]
    first = list(backend.answer(requests))
    again = list(backend.answer(requests[::-1]))[::-1]
    cold = [next(TransformersBackend(random_entry(), folder, 8).answer([request])) for request in requests]
    assert first == again == cold
    assert len({answer.option_logprobs for answer in first}) == len(first)


def test_images_are_bound_in_order_and_counted_in_what_the_model_gets(world, folder, backend):
    images = world.case(0)
    forward, backward = (world.request(world.ask(0, order), folder) for order in (images, images[::-1]))
    a, b = backend.answer([forward, backward])
    assert a.images_seen == b.images_seen == len(images)
    assert a.option_logprobs != b.option_logprobs
    (none,) = backend.answer([world.request(world.ask(0, []), folder)])
    assert (none.images_seen, none.resized_shape) == (0, None)
    assert a.resized_shape == (64, 64)
    assert a.input_tokens > none.input_tokens


def test_an_image_that_does_not_reach_the_model_is_an_error_and_no_answer(world, folder, backend, monkeypatch):
    # Idefics3 takes images whose normalised pixels are all 0 for padding and drops them.
    processing = backend._processor.image_processor
    monkeypatch.setattr(processing, "do_rescale", False)
    monkeypatch.setattr(processing, "do_normalize", False)
    black = np.zeros((64, 64), np.uint8)
    image_id = image_digest(black, "L")
    buffer = io.BytesIO()
    Image.fromarray(black).save(buffer, "PNG")
    world.pngs[image_id] = buffer.getvalue()
    (answer,) = backend.answer([world.request(world.ask(0, [*world.case(0, 3), image_id]), folder)])
    assert answer.finish_reason is FinishReason.ERROR
    assert (answer.images_seen, answer.error) == (3, "4 images were sent, 3 reach the model")


def test_pixels_that_are_not_those_of_their_digest_stop_the_study(world, folder, backend):
    images = world.case(0)
    world.pngs[images[0]] = world.pngs[images[1]]
    with pytest.raises(StudyError, match="pixels"):
        list(backend.answer([world.request(world.ask(0, images), folder)]))


def test_a_prompt_that_is_too_long_is_not_cut_and_the_next_request_is_answered(world, folder, backend):
    long = world.ask(0, world.case(0))
    long["messages"][0]["content"][0]["text"] = "one patient " * 4096
    short = world.ask(1, world.case(1))
    failed, fine = backend.answer([world.request(long, folder), world.request(short, folder)])
    assert failed.finish_reason is FinishReason.ERROR
    assert failed.text == ""
    assert "exceed the model's 4096 positions" in failed.error
    assert fine.finish_reason is not FinishReason.ERROR


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (torch.OutOfMemoryError("CUDA out of memory"), "out of memory"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried"), "out of memory"),
        (ValueError("cannot open /data/someone/patient.nii\nmore"), "ValueError: cannot open …"),
    ],
)
def test_a_failure_is_an_error_row_in_a_few_words_without_paths(world, folder, backend, monkeypatch, error, said):
    def fail(**_):
        raise error

    monkeypatch.setattr(backend._model, "generate", fail)
    (answer,) = backend.answer([world.request(world.ask(0, []), folder)])
    assert (answer.finish_reason, answer.error) == (FinishReason.ERROR, said)


def test_nothing_of_the_snapshots_generation_config_but_its_stop_tokens_is_used(
    world, random_entry, folder, backend, tmp_path
):
    copy = shutil.copytree(folder, tmp_path / "copy")
    path = copy / "generation_config.json"
    shipped = {**json.loads(path.read_text()), "do_sample": True, "temperature": 9.0, "repetition_penalty": 3.0}
    path.write_text(json.dumps({**shipped, "top_k": 3, "min_new_tokens": 8, "suppress_tokens": [40, 41, 42]}))
    row = world.ask(2, world.case(2))
    spiced = TransformersBackend(random_entry(), copy, 8)
    assert list(spiced.answer([world.request(row, copy)])) == list(backend.answer([world.request(row, folder)]))


def test_code_in_a_snapshot_is_refused_before_anything_is_loaded(random_entry, folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "copy")
    (copy / "modeling_evil.py").write_text("raise SystemExit")
    with pytest.raises(StudyError, match="modeling_evil"):
        TransformersBackend(random_entry(), copy, 8)


def test_a_model_that_cannot_be_loaded_is_a_study_error_that_says_what_to_do(random_entry, folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "copy")
    (copy / "config.json").write_text("{}")
    with pytest.raises(StudyError, match="cannot be loaded") as caught:
        TransformersBackend(random_entry(), copy, 8)
    assert str(tmp_path) not in str(caught.value)


def test_symbols_are_found_with_and_without_their_space_and_add_up(processor):
    tokens = option_tokens(processor.tokenizer, ("A", "B"))
    spelled = [sorted(processor.tokenizer.decode([token]) for token in ids) for ids in tokens]
    assert spelled == [[" A", "A"], [" B", "B"]]
    logits = torch.zeros(10)
    logits[[1, 2]] = math.log(3.0)
    logprobs, outside = option_logprobs(logits, [[1, 2], [3]])
    assert [math.exp(value) for value in logprobs] == pytest.approx([6 / 7, 1 / 7])
    assert outside == pytest.approx(7 / 14)


def test_a_symbol_that_is_no_single_token_is_refused(processor):
    with pytest.raises(StudyError, match="no single token"):
        option_tokens(processor.tokenizer, ("A", "Option 1"))


def test_a_tokenizer_that_puts_a_space_before_every_text_still_has_both_spellings():
    # Sentencepiece's habit: encoding "A" gives "▁A"; the bare piece "A" is only found in the vocabulary.
    vocabulary = {"<unk>": 0, "A": 1, "▁A": 2, "▁": 3, "B": 4, "▁B": 5}
    pieces = Tokenizer(models.BPE(vocab=vocabulary, merges=[("▁", "A"), ("▁", "B")], unk_token="<unk>"))
    pieces.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    pieces.decoder = decoders.Metaspace(prepend_scheme="always")
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=pieces, unk_token="<unk>")
    assert tokenizer.encode("A", add_special_tokens=False) == [2]
    assert option_tokens(tokenizer, ("A", "B")) == [[1, 2], [4, 5]]
