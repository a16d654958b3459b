"""Stage `train_readers`: trains the phantom readers anew, an opt-in of minutes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ...config.base import Section
from ...config.prompt import Prompt, load_prompt
from ...config.slicing import SlicingConfig
from ...contracts.problems import StudyError
from ...stages.job import Files
from ..idefics3 import build_model, save
from .card import write_card
from .cases import slicing_digest
from .forms import forms_digest
from .recipe import SIZE, Recipe
from .train import train


class TrainReadersSettings(Section):
    """What a training depends on besides its seed."""

    slicing: SlicingConfig
    """The study's slicing."""


def train_readers(inputs: Files, outputs: Files, settings: TrainReadersSettings, wildcards: Mapping[str, str]) -> None:
    """Train both readers from a seed and write them as model folders with their cards.

    Parameters
    ----------
    inputs
        `prompt`: the study's wording.
    outputs
        `readers`: a folder that holds a folder a reader, as `save_pretrained` writes it.
    wildcards
        `seed`: of weights and draws.

    Raises
    ------
    StudyError
        If the behaviour of a reader lies outside its ranges: this seed did not work.
    """
    prompt = load_prompt(inputs.one("prompt"))
    failed = write_readers(outputs.one("readers"), int(wildcards["seed"]), prompt, settings.slicing, Recipe())
    if failed:
        raise StudyError(f"this seed did not train readers within their ranges ({'; '.join(failed)}): take another")


def write_readers(folder: Path, seed: int, prompt: Prompt, slicing: SlicingConfig, recipe: Recipe) -> list[str]:
    """Train and write; returns what lies outside its range, reader by reader."""
    from transformers import logging

    logging.disable_progress_bar()
    processor, chosen = train(seed, prompt, slicing, recipe)
    failed = []
    for trained in chosen:
        model = build_model(SIZE, processor).half()
        model.load_state_dict(trained.state)
        own = folder / trained.reader.name
        save(own, model, processor)
        write_card(own, trained, recipe, seed, forms_digest(prompt), slicing_digest(slicing))
        for name in trained.reader.misses(trained.kept.behaviour):
            low, high = trained.reader.ranges[name]
            value = getattr(trained.kept.behaviour, name)
            failed.append(f"{trained.reader.name}: {name} is {value:.3f}, expected {low:.2f} to {high:.2f}")
    return failed
