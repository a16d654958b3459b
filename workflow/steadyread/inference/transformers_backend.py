"""Asks a model through transformers' Auto* classes, one request after another: the naive path.

It is the measure of every faster path. All calls that moved between releases of transformers 5 live
in this file; the supported range stands in pyproject.toml.
"""

from __future__ import annotations

import io
import logging
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from PIL import Image
from transformers import (
    AutoImageProcessor,
    AutoModelForImageTextToText,
    AutoProcessor,
    BitsAndBytesConfig,
    GenerationConfig,
)

from ..config.models_table import BuiltSource
from ..contracts.enums import FinishReason
from ..contracts.problems import StudyError
from ..identity.pixels import image_digest
from .asked import AskedModel
from .backend import Answer, Request
from .decoding import decoding
from .keys import IMAGE_PROCESSOR_BACKEND
from .option_tokens import option_logprobs, option_tokens
from .processed import images_seen, position_limit, resized_shape
from .rendering import chat_messages
from .snapshots import check_safe

_LOG = logging.getLogger("steadyread.inference")
_PATH = re.compile(r"\S*[/\\]\S*")


class TransformersBackend:
    """One model in memory.

    Parameters
    ----------
    model
        The model's entry.
    snapshot
        Its local folder; nothing is ever downloaded, no code in it is ever run.
    max_new_tokens
        Longest answer in tokens.

    Raises
    ------
    StudyError
        If the snapshot is unsafe or cannot be loaded with what is installed.
    """

    def __init__(self, model: AskedModel, snapshot: Path, max_new_tokens: int) -> None:
        check_safe(snapshot, f"the snapshot of model {model.id}")
        self._entry = model
        self._max_new_tokens = max_new_tokens
        self._options: dict[tuple[str, ...], list[list[int]]] = {}
        _make_deterministic(model)
        try:
            self._processor = _load_processor(snapshot)
            self._model = _load_model(model, snapshot)
        except (ImportError, OSError, ValueError, RuntimeError) as error:
            raise StudyError(
                f"model {model.id} ({model.family.value}) cannot be loaded: {_short(error)}. Video-capable families "
                "need torchvision, auto_map needs accelerate, quantisation needs bitsandbytes: install what it names"
            ) from error
        self._model.generation_config = self._decoding()

    def answer(self, requests: Sequence[Request]) -> Iterator[Answer]:
        """One answer per request, in order. A request that fails on this machine gives an error row.

        Raises
        ------
        StudyError
            If a prompt or an image is not what its key says, or a symbol is no token.
        """
        for request in requests:
            try:
                yield self._ask(request)
            except (MemoryError, torch.OutOfMemoryError):
                if torch.cuda.is_available():
                    torch.cuda.empty_cache()
                yield Answer.failed("out of memory")
            except (ValueError, IndexError, RuntimeError) as error:
                memory = "allocate memory" in str(error)
                yield Answer.failed("out of memory" if memory else _short(error))

    def _ask(self, request: Request) -> Answer:
        inputs = self._process(request)
        length = int(inputs["input_ids"].shape[1])
        seen = images_seen(self._entry.family, self._processor, self._model.config, inputs)
        if seen != len(request.images):
            return Answer.failed(f"{len(request.images)} images were sent, {seen} reach the model", seen, length)
        limit = position_limit(self._model.config)
        if limit is not None and length + self._max_new_tokens > limit:
            return Answer.failed(
                f"{length} prompt tokens and {self._max_new_tokens} new ones exceed the model's {limit} positions",
                seen,
                length,
            )
        with torch.inference_mode():
            output = self._model.generate(**inputs.to(self._model.device))
        generated = output.sequences[0, length:].tolist()
        stopped = bool(generated) and generated[-1] in self._stop_tokens()
        logprobs, outside = option_logprobs(output.logits[0][0].cpu(), self._tokens(request.symbols))
        return Answer(
            text=self._processor.tokenizer.decode(generated, skip_special_tokens=True).strip(),
            finish_reason=FinishReason.STOP if stopped else FinishReason.LENGTH,
            images_seen=seen,
            option_logprobs=logprobs,
            mass_outside_options=outside,
            input_tokens=length,
            output_tokens=len(generated),
            resized_shape=resized_shape(self._processor, inputs),
        )

    def _process(self, request: Request) -> Any:
        """Template, tokens and pixels in one go, so that special tokens are put in once."""
        messages = chat_messages(request.messages)
        template = {"add_generation_prompt": True}
        rendered = self._processor.apply_chat_template(messages, tokenize=False, **template)
        if rendered != request.prompt:
            raise StudyError(
                f"model {self._entry.id}: the processor renders another prompt than the request key holds; "
                "steadyread does not read this snapshot's chat template rightly, please report it"
            )
        images = iter(_decode(request))
        for message in messages:
            for part in message["content"]:
                if part["type"] == "image":
                    part["image"] = next(images)
        inputs = self._processor.apply_chat_template(
            messages, tokenize=True, return_dict=True, return_tensors="pt", **template
        )
        bos = self._processor.tokenizer.bos_token_id
        start = inputs["input_ids"][0, :2].tolist()
        if bos is not None and start == [bos, bos]:
            raise StudyError(f"model {self._entry.id}: the prompt begins with two beginning-of-sequence tokens")
        # Pixels take the weights' number format; token ids stay integers.
        return inputs.to(self._model.dtype)

    def _tokens(self, symbols: tuple[str, ...]) -> list[list[int]]:
        if symbols not in self._options:
            self._options[symbols] = option_tokens(self._processor.tokenizer, symbols)
        return self._options[symbols]

    def _stop_tokens(self) -> list[int]:
        stop = self._model.generation_config.eos_token_id
        return [stop] if isinstance(stop, int) else list(stop or [])

    def _decoding(self) -> Any:
        """Decoding with every parameter explicit; of the snapshot's own only the stop tokens are kept."""
        shipped = self._model.generation_config
        tokenizer = self._processor.tokenizer
        stop = shipped.eos_token_id if shipped.eos_token_id is not None else tokenizer.eos_token_id
        pad = tokenizer.pad_token_id
        return GenerationConfig(
            **decoding(self._max_new_tokens),
            eos_token_id=stop,
            pad_token_id=pad if pad is not None else (stop if isinstance(stop, int) else (stop or [None])[0]),
            bos_token_id=tokenizer.bos_token_id,
            return_dict_in_generate=True,
            output_logits=True,
        )


def _load_processor(snapshot: Path) -> Any:
    local: Mapping[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    processor = AutoProcessor.from_pretrained(snapshot, **local)
    # AutoProcessor refuses the choice of a backend where it also has to make a video processor.
    processor.image_processor = AutoImageProcessor.from_pretrained(snapshot, backend=IMAGE_PROCESSOR_BACKEND, **local)
    return processor


def _load_model(model: AskedModel, snapshot: Path) -> Any:
    arguments: dict[str, Any] = {
        "local_files_only": True,
        "trust_remote_code": False,
        "use_safetensors": True,
        "dtype": getattr(torch, model.dtype),
        "attn_implementation": model.attention,
    }
    if model.quantisation != "none":
        arguments["quantization_config"] = BitsAndBytesConfig(
            load_in_8bit=model.quantisation == "int8", load_in_4bit=model.quantisation == "int4"
        )
    placed = model.device == "auto_map" or model.quantisation != "none"
    if placed:
        arguments["device_map"] = "auto" if model.device == "auto_map" else model.device
    loaded = AutoModelForImageTextToText.from_pretrained(snapshot, **arguments).eval()
    return loaded if placed else loaded.to(model.device)


def _make_deterministic(model: AskedModel) -> None:
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    # cuBLAS reads this when it is first used; without it deterministic algorithms are refused.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True, warn_only=model.device != "cpu")
    if isinstance(model.source, BuiltSource):
        # So small that more threads only cost time; one makes sums independent of the machine's cores.
        torch.set_num_threads(1)


def _decode(request: Request) -> list[Image.Image]:
    images = []
    for image_id, png in zip(request.image_ids, request.images, strict=True):
        image = Image.open(io.BytesIO(png))
        image.load()
        if image_digest(np.asarray(image), image.mode) != image_id:
            raise StudyError(f"image {image_id} does not hold the pixels its digest names; slice the case again")
        images.append(image.convert("RGB"))
    return images


def _short(error: BaseException) -> str:
    """An exception in a few words: its kind and first line, without paths."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {_PATH.sub('…', lines[0])[:160]}" if lines else type(error).__name__
