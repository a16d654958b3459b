"""The card of a phantom reader: what it is, what it was trained on, how it behaves, what it is not for."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import yaml
from jinja2 import Environment, PackageLoader, StrictUndefined

from ...contracts.problems import StudyError
from ...identity.digests import digest_file
from .reading import share_unsure
from .recipe import Recipe
from .train import Trained

NAME = "README.md"
WEIGHTS = "model.safetensors"
_FENCE = "---\n"

STEPS = {"one": "one slice", "few": "a few slices", "some": "some slices of a case", "whole": "whole cases"}

FIGURES = {
    "accuracy": "right on base",
    "unsure": "UNSURE on base",
    "reversal_flips": "decisions that change when the slices are reversed",
    "label_swap_inconsistency": "decisions that change when the labels change places",
    "overcommitment": "diagnoses where the lesion slices are gone",
    "matched_commitment": "diagnoses where as many other slices are gone",
    "no_answer": "answers that are no shown letter",
}


def write_card(folder: Path, trained: Trained, recipe: Recipe, seed: int, prompts: str, slicing: str) -> None:
    """Write a reader's card beside its weights.

    Parameters
    ----------
    prompts, slicing
        Digests of what it was trained through; a study that asks otherwise needs another reader.
    """
    reader = trained.reader
    front = {
        "license": "apache-2.0",
        "library_name": "transformers",
        "pipeline_tag": "image-text-to-text",
        "tags": ["synthetic", "not-for-clinical-use"],
        "steadyread": {
            "reader": reader.name,
            "seed": seed,
            "prompts": prompts,
            "slicing": slicing,
            "weights": digest_file(folder / WEIGHTS),
            "addresses": [item.model_dump(mode="json") for item in reader.addresses],
            "validation": {name: round(value, 4) for name, value in asdict(trained.kept.behaviour).items()},
        },
    }
    text = _FENCE + yaml.safe_dump(front, sort_keys=False) + _FENCE + _prose(trained, recipe, seed)
    (folder / NAME).write_text(text, encoding="utf-8")


def read_card(folder: Path) -> dict[str, Any]:
    """The part of a card that machines read.

    Raises
    ------
    StudyError
        If the folder has no card of a phantom reader.
    """
    path = folder / NAME
    parts = path.read_text(encoding="utf-8").split(_FENCE, 2) if path.is_file() else []
    front = yaml.safe_load(parts[1]) if len(parts) == 3 else None
    if not isinstance(front, dict) or "steadyread" not in front:
        raise StudyError(f"the folder of a phantom reader holds no card ({NAME} with its front matter)")
    card: dict[str, Any] = front["steadyread"]
    return card


def check_trained_through(card: dict[str, Any], prompts: str, slicing: str) -> None:
    """Refuse a reader whose prompts or slicing are not the study's.

    Raises
    ------
    StudyError
        Saying what changed, and to retrain.
    """
    changed = [name for name, digest in (("prompts", prompts), ("slicing", slicing)) if card[name] != digest]
    if changed:
        raise StudyError(
            f"{card['reader']} was trained through other {' and '.join(changed)} than the study's: retrain "
            "(make readers) and ship what it writes"
        )


def _prose(trained: Trained, recipe: Recipe, seed: int) -> str:
    environment = Environment(  # noqa: S701  Markdown, not a page: nothing to escape
        loader=PackageLoader(__package__, "templates"), undefined=StrictUndefined, keep_trailing_newline=True
    )
    return environment.get_template("card.md.j2").render(
        reader=trained.reader,
        habits=trained.kept.habits,
        recipe=recipe,
        seed=seed,
        percent=lambda share: f"{share:.0%}".replace("%", " %"),
        gates=", ".join(f"{STEPS[name]} after {count} batches" for name, count, _ in trained.gates),
        share_unsure=share_unsure(trained.kept.habits),
        figures=FIGURES,
        behaviour=asdict(trained.kept.behaviour),
        candidates=[
            {**asdict(item.behaviour), "keyed": item.habits.first_keyed, "kept": item is trained.kept}
            for item in trained.candidates
        ],
    )
