"""Small Idefics3 models (SmolVLM's architecture): tokenizer, processor and configuration from a size.

Shared by the random-weight model and the phantom readers; both are loaded like any model of the hub.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

START, END, PAD, IMAGE = "<|im_start|>", "<end_of_utterance>", "<pad>", "<image>"
AROUND, WHOLE = "<fake_token_around_image>", "<global-img>"
SPECIAL = (PAD, START, END, AROUND, IMAGE, WHOLE)

CHAT_TEMPLATE = (
    "<|im_start|>{% for message in messages %}{{ message['role'] | capitalize }}:"
    "{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}<image>{% else %} {{ part['text'] }}{% endif %}"
    "{% endfor %}<end_of_utterance>\n{% endfor %}"
    "{% if add_generation_prompt %}Assistant:{% endif %}"
)


@dataclass(frozen=True)
class Architecture:
    """Sizes of a model.

    Attributes
    ----------
    side
        Pixels to which the processor scales a slice (Lanczos on RGB).
    patch
        Side of a patch of the vision transformer, pixels.
    shuffle
        Patches on the side of the square that becomes one image token (pixel shuffle).
    vision_width, vision_layers, text_width, text_layers, text_hidden, key_value_heads
        Widths and depths; each transformer has four heads.
    vocabulary
        Size of the byte-level BPE before the special tokens of the processor.
    """

    side: int
    patch: int
    shuffle: int
    vision_width: int
    vision_layers: int
    text_width: int
    text_layers: int
    text_hidden: int
    key_value_heads: int
    vocabulary: int
    positions: int = 4096

    @property
    def grid(self) -> int:
        """Patches on the side of a slice."""
        return self.side // self.patch

    @property
    def tokens_per_slice(self) -> int:
        """Image tokens that the language model sees of one slice."""
        return (self.grid // self.shuffle) ** 2


def build_processor(size: Architecture, corpus: Sequence[str]) -> Any:
    """An Idefics3 processor whose byte-level BPE was learnt from a corpus."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import Idefics3ImageProcessorPil, Idefics3Processor, PreTrainedTokenizerFast

    pieces = Tokenizer(models.BPE())
    pieces.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    pieces.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size.vocabulary,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        special_tokens=list(SPECIAL),
        show_progress=False,
    )
    pieces.train_from_iterator(corpus, trainer)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=pieces,
        pad_token=PAD,
        bos_token=START,
        eos_token=END,
        additional_special_tokens=list(SPECIAL),
        padding_side="left",
        model_max_length=size.positions,
    )
    side = {"longest_edge": size.side}
    images = Idefics3ImageProcessorPil(do_image_splitting=False, size=side, max_image_size=side)
    return Idefics3Processor(images, tokenizer, image_seq_len=size.tokens_per_slice, chat_template=CHAT_TEMPLATE)


def build_model(size: Architecture, processor: Any) -> Any:
    """An Idefics3 with the library's own initialisation, drawn from torch's global stream.

    Build it after the processor: that one adds tokens of its own to the vocabulary.
    """
    from transformers import AutoModelForImageTextToText, Idefics3Config

    tokenizer = processor.tokenizer
    config = Idefics3Config(
        text_config={
            "model_type": "llama",
            "hidden_size": size.text_width,
            "intermediate_size": size.text_hidden,
            "num_hidden_layers": size.text_layers,
            "num_attention_heads": 4,
            "num_key_value_heads": size.key_value_heads,
            "vocab_size": len(tokenizer),
            "max_position_embeddings": size.positions,
            "pad_token_id": tokenizer.pad_token_id,
            "bos_token_id": tokenizer.bos_token_id,
            "eos_token_id": tokenizer.eos_token_id,
            "tie_word_embeddings": False,
        },
        vision_config={
            "hidden_size": size.vision_width,
            "intermediate_size": 2 * size.vision_width,
            "num_hidden_layers": size.vision_layers,
            "num_attention_heads": 4,
            "image_size": size.side,
            "patch_size": size.patch,
        },
        image_token_id=tokenizer.convert_tokens_to_ids(IMAGE),
        scale_factor=size.shuffle,
        pad_token_id=tokenizer.pad_token_id,
        tie_word_embeddings=False,
    )
    model = AutoModelForImageTextToText.from_config(config, attn_implementation="sdpa")
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    return model


def save(folder: Path, model: Any, processor: Any) -> None:
    """Write weights (safetensors), configuration and processor into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
