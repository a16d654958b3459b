"""Other architectures that load without torchvision, tiny and random: their images are counted rightly."""

from __future__ import annotations

import pytest
import torch
import transformers as tf
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from steadyread.contracts.enums import FinishReason
from steadyread.inference.transformers_backend import TransformersBackend

TEXT = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 2048,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
VISION = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "image_size": 32,
    "patch_size": 8,
    "vision_use_head": False,
}
SIDE = {"height": 32, "width": 32}


def tokenizer(special, named=None):
    pieces = Tokenizer(models.BPE())
    pieces.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    pieces.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=320,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        special_tokens=["<pad>", "<s>", "</s>", *special],
        show_progress=False,
    )
    pieces.train_from_iterator(["Answer with one letter. A. GBM B. MET C. UNSURE"], trainer)
    return tf.PreTrainedTokenizerFast(
        tokenizer_object=pieces,
        pad_token="<pad>",
        bos_token="<s>",
        eos_token="</s>",
        additional_special_tokens=special,
        extra_special_tokens=named,
    )


def template(image):
    return (
        "{{ bos_token }}{% for m in messages %}{{ m['role'] }}: {% for c in m['content'] %}"
        f"{{% if c['type'] == 'image' %}}{image}{{% else %}}{{{{ c['text'] }}}}{{% endif %}}"
        "{% endfor %}\n{% endfor %}{% if add_generation_prompt %}assistant:{% endif %}"
    )


def llava():
    spoken = tokenizer(["<image>"])
    config = tf.LlavaConfig(
        vision_config={**VISION, "model_type": "siglip_vision_model"},
        text_config={**TEXT, "vocab_size": len(spoken), "model_type": "llama"},
        image_token_index=spoken.convert_tokens_to_ids("<image>"),
        vision_feature_select_strategy="full",
        vision_feature_layer=-1,
        image_seq_length=16,
    )
    processor = tf.LlavaProcessor(
        image_processor=tf.SiglipImageProcessorPil(size=SIDE),
        tokenizer=spoken,
        patch_size=8,
        vision_feature_select_strategy="full",
        num_additional_image_tokens=0,
        chat_template=template("<image>"),
    )
    return config, processor


def gemma3():
    special = ["<start_of_image>", "<image_soft_token>", "<end_of_image>"]
    spoken = tokenizer(special, dict(zip(("boi_token", "image_token", "eoi_token"), special, strict=True)))
    boi, image, eoi = (spoken.convert_tokens_to_ids(token) for token in special)
    config = tf.Gemma3Config(
        text_config={
            **TEXT,
            "vocab_size": len(spoken),
            "head_dim": 8,
            "sliding_window": 512,
            "query_pre_attn_scalar": 8,
        },
        vision_config=VISION,
        mm_tokens_per_image=4,
        image_token_index=image,
        boi_token_index=boi,
        eoi_token_index=eoi,
    )
    images = tf.Gemma3ImageProcessorPil(size=SIDE, image_seq_length=4)
    return config, tf.Gemma3Processor(images, spoken, chat_template=template("<start_of_image>"), image_seq_length=4)


@pytest.mark.parametrize(("family", "build"), [("llava", llava), ("gemma3", gemma3)])
def test_a_family_answers_through_the_same_path_and_sees_every_image(world, random_entry, tmp_path, family, build):
    config, processor = build()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = tf.AutoModelForImageTextToText.from_config(config)
        with torch.no_grad():  # Gemma3's image projection starts at zero: it would see nothing
            for weight in model.parameters():
                if weight.dim() > 1:
                    weight.normal_(0, 0.2)
    folder = tmp_path / family
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    backend = TransformersBackend(random_entry(family=family, source={"kind": "folder"}), folder, 4)
    images = world.case(0, 5)
    rows = [world.ask(0, images), world.ask(0, images[::-1]), world.ask(0, images[:1]), world.ask(0, [])]
    answers = list(backend.answer([world.request(row, folder) for row in rows]))
    assert [answer.error for answer in answers] == [None] * 4
    assert [answer.images_seen for answer in answers] == [5, 5, 1, 0]
    assert [answer.resized_shape for answer in answers] == [(32, 32)] * 3 + [None]
    assert answers[0].option_logprobs != answers[1].option_logprobs
    assert all(answer.finish_reason in (FinishReason.STOP, FinishReason.LENGTH) for answer in answers)
