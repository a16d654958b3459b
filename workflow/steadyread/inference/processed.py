"""What a processor made of a request: images counted in its output, never taken from the request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..config.models_table import Family


def images_seen(family: Family, processor: Any, config: Any, inputs: Mapping[str, Any]) -> int:
    """Count the images that reach the model, in text and in pixels.

    Parameters
    ----------
    family
        The model's architecture.
    processor, config
        The model's processor and configuration.
    inputs
        The processor's output for one request; `input_ids` has shape (1, tokens).

    Returns
    -------
    int
        The smaller of two counts, of placeholders in the text and of images in the pixel input, so
        that an image dropped on either side shows.
    """
    ids: list[int] = inputs["input_ids"][0].tolist()
    pixels = inputs.get("pixel_values")
    if pixels is None:
        return 0
    convert = processor.tokenizer.convert_tokens_to_ids
    if family in (Family.QWEN2_VL, Family.QWEN2_5_VL, Family.QWEN3_VL):
        merge = int(processor.image_processor.merge_size) ** 2
        grid = inputs["image_grid_thw"]
        tokens = [int(count) // merge for count in grid.prod(dim=-1)]
        placeholders = ids.count(config.image_token_id)
        return len(tokens) if placeholders == sum(tokens) else 0
    if family in (Family.IDEFICS3, Family.SMOLVLM):
        # Each image ends in its whole view, marked by the global tag; tiles, if any, come before it.
        tags = ids.count(convert(processor.global_image_tag))
        # Images whose normalised pixels are all 0 count as padding and are dropped by the model.
        real = int((pixels != 0).flatten(2).any(dim=-1).sum())
        tiles = real if _unsplit(processor) else tags
        return min(tags, tiles)
    if family is Family.GEMMA3:
        return min(ids.count(convert(processor.boi_token)), int(pixels.shape[0]))
    if family is Family.INTERNVL:
        return ids.count(convert(processor.start_image_token))
    # LLaVA: a fixed number of placeholders per image; LLaVA-OneVision: as many sizes as images.
    if family is Family.LLAVA_ONEVISION:
        return len(inputs["image_sizes"])
    per_image = int(config.image_seq_length)
    placeholders, rest = divmod(ids.count(config.image_token_id), per_image)
    return min(placeholders if rest == 0 else 0, int(pixels.shape[0]))


def resized_shape(processor: Any, inputs: Mapping[str, Any]) -> tuple[int, int] | None:
    """(height, width) in pixels of the first image as the vision tower gets it, None without images."""
    pixels = inputs.get("pixel_values")
    if pixels is None:
        return None
    grid = inputs.get("image_grid_thw")
    if grid is not None:
        patch = int(processor.image_processor.patch_size)
        return int(grid[0][1]) * patch, int(grid[0][2]) * patch
    return int(pixels.shape[-2]), int(pixels.shape[-1])


def position_limit(config: Any) -> int | None:
    """Most positions of the language model, prompt and answer together; None where unknown."""
    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    limit = getattr(text, "max_position_embeddings", None)
    return None if limit is None else int(limit)


def _unsplit(processor: Any) -> bool:
    return not processor.image_processor.do_image_splitting
