"""Trials, images and a built model, as the stages before `infer` would leave them."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from steadyread.contracts.files import read_rows, write_table
from steadyread.contracts.tables import IMAGES, RESPONSES, TRIALS
from steadyread.identity.digests import digest_json
from steadyread.identity.pixels import image_digest
from steadyread.inference.asked import AskedModel
from steadyread.inference.backend import Request
from steadyread.inference.infer import InferSettings, infer
from steadyread.inference.rendering import render_prompt
from steadyread.phantom.random_model import RandomModelSettings, build_random_model
from steadyread.stages.job import Files

Row = dict[str, Any]
GBM_FIRST, MET_FIRST = ("GBM", "MET", "UNSURE"), ("MET", "GBM", "UNSURE")


def brain(case: int, count: int, side: int = 96) -> list[np.ndarray]:
    """`count` uint8 slices (side × side) of a head with a bright spot on some; a function of `case`."""
    rng = np.random.default_rng(case)
    y, x = np.mgrid[:side, :side] - side / 2
    width, height = rng.uniform(0.28, 0.42, 2) * side
    centre, (px, py), size = rng.integers(count), rng.uniform(-0.15, 0.15, 2) * side, rng.uniform(3, 8)
    slices = []
    for index in range(count):
        scale = 0.5 + 0.5 * np.sin(np.pi * (index + 0.8) / (count + 0.6))
        radius = (x / (width * scale)) ** 2 + (y / (height * scale)) ** 2
        image = 110.0 * (radius < 1) + 90 * ((radius >= 1) & (radius < 1.15)) + rng.normal(0, 8, radius.shape)
        if abs(index - centre) <= 1:
            image += 90 * np.exp(-(((x - px) ** 2 + (y - py) ** 2) / size**2))
        slices.append(np.clip(image, 0, 255).astype(np.uint8))
    return slices


def png(pixels: np.ndarray, level: int = 6) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG", compress_level=level)
    return buffer.getvalue()


def trial(
    case: int,
    images: Sequence[str],
    options: Sequence[str] = GBM_FIRST,
    arm: str = "base",
    draw: int = 0,
    model_id: str | None = None,
) -> Row:
    """A row of the trials table."""
    symbols = "ABCDEFG"[: len(options)]
    preamble = f"{len(images)} slices of a brain MRI of one patient:" if images else "One patient."
    lines = [f"{symbol}. {option}" for symbol, option in zip(symbols, options, strict=True)]
    question = "\n".join(["Which diagnosis is most likely?", *lines, "Answer with one letter."])
    parts = [("text", preamble, None), *(("image", None, image) for image in images), ("text", question, None)]
    return {
        "trial_id": digest_json([case, list(images), list(options), arm, draw, model_id]),
        "item_id": digest_json(["item", case]),
        "case_id": f"case{case}",
        "cluster_id": f"patient{case}",
        "arm": arm,
        "variant": "",
        "replicate": 0,
        "draw": draw,
        "reference_trial_id": None,
        "parent_trial_id": None,
        "model_id": model_id,
        "round": 1,
        "images": list(images),
        "messages": [
            {"role": "user", "content": [dict(zip(("type", "text", "image_id"), p, strict=True)) for p in parts]}
        ],
        "options": list(options),
        "symbols": list(symbols),
        "cue": None,
        "chain_step": None,
        "strata": {},
    }


@dataclass
class World:
    """A cohort's images, trials over them, and the means to ask a model."""

    root: Path
    pngs: dict[str, bytes] = field(default_factory=dict)
    trials: list[Row] = field(default_factory=list)

    def case(self, number: int, count: int = 6) -> list[str]:
        """Slices of one case, added to the images; returns their ids."""
        ids = []
        for pixels in brain(number, count):
            ids.append(image_digest(pixels, "L"))
            self.pngs[ids[-1]] = png(pixels)
        return ids

    def ask(self, *arguments: Any, **keywords: Any) -> Row:
        """Add a trial, see `trial`."""
        row = trial(*arguments, **keywords)
        self.trials.append(row)
        return row

    def infer(
        self, model: AskedModel, listing: Path | None = None, shards: int = 1, local: dict[str, str] | None = None
    ) -> list[Row]:
        """Run the stage over so many shards; rows of the responses."""
        folder = self.root / f"run{len(list(self.root.glob('run*')))}"
        folder.mkdir()
        (folder / "gate.json").write_text("{}")
        images = [
            {
                "image_id": image_id,
                "parent_id": None,
                "transform": "none",
                "parameters": "{}",
                "severity": 0,
                "ssim": None,
                "psnr": None,
                "max_abs_delta": None,
                "box": None,
                "width": 96,
                "height": 96,
                "png": data,
            }
            for image_id, data in self.pngs.items()
        ]
        for shard in range(shards):
            write_table(folder / f"trials{shard}.parquet", TRIALS, self.trials[shard::shards])
            # Every shard holds all images: the same pixels may lie in several.
            write_table(folder / f"images{shard}.parquet", IMAGES, images)
            write_table(folder / f"derived{shard}.parquet", IMAGES, [])
        inputs: dict[str, Any] = {
            name: [folder / f"{name}{shard}.parquet" for shard in range(shards)]
            for name in ("trials", "images", "derived")
        }
        inputs |= {"gate": folder / "gate.json", "listing": [] if listing is None else [listing]}
        settings = InferSettings.model_validate(
            {"seed": 7, "model": model.model_dump(mode="json"), "inference": {"max_new_tokens": 8}}
        )
        output = folder / "responses.parquet"
        infer(Files(inputs), Files({"responses": output}), settings, {"model": model.id, "group": "0"}, local)
        return read_rows(output, RESPONSES)

    def request(self, row: Row, folder: Path) -> Request:
        """A trial as a request to a model with weights."""
        return Request(
            row["trial_id"],
            row["case_id"],
            row["draw"],
            row["messages"],
            tuple(row["images"]),
            tuple(self.pngs[image] for image in row["images"]),
            tuple(row["options"]),
            tuple(row["symbols"]),
            render_prompt(folder, row["messages"]),
            "0" * 32,
        )


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """An empty world with a store of its own."""
    monkeypatch.setenv("STEADYREAD_STORE", str(tmp_path / "store"))
    return World(tmp_path)


def entry(**changes: Any) -> AskedModel:
    """The random model's entry as a stage sees it."""
    plain = {"id": "random", "family": "idefics3", "backend": "transformers", "source": {"kind": "built", "seed": 0}}
    return AskedModel.model_validate({**plain, **changes})


@pytest.fixture
def random_entry() -> Callable[..., AskedModel]:
    """Makes the random model's entry, with changes."""
    return entry


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The listing of the random model of seed 0, as the stage builds it."""
    folder = tmp_path_factory.mktemp("built")
    outputs = Files({"snapshot": folder / "snapshot", "listing": folder / "snapshot.json"})
    build_random_model(Files({}), outputs, RandomModelSettings(model=entry()), {"model": "random"})
    return folder / "snapshot.json"


@pytest.fixture
def make_trial() -> Callable[..., Row]:
    """Makes a row of the trials table."""
    return trial


@pytest.fixture
def baseline() -> Callable[[str, str | None], AskedModel]:
    """Makes a baseline's entry from its kind and value."""

    def make(kind: str, value: str | None = None) -> AskedModel:
        return AskedModel.model_validate(
            {
                "id": f"{kind.replace('_', '-')}-{value or 'null'}".lower(),
                "family": "baseline",
                "backend": "baselines",
                "source": {"kind": "baseline", "baseline": kind, "value": value},
                "deterministic": kind != "coin",
            }
        )

    return make
