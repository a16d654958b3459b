"""Stage 1: the vision tower and the connector learn what each square of a slice shows.

Dense labels are what makes a tower this small learn in minutes: first the finding of each patch in
small crops at their true positions, then whole slices with a label per patch and per image token. A
label per slice did not work in the same time.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional

from ..idefics3 import Architecture
from ..lesions import OEDEMA
from .cases import TUMOUR, Cases
from .findings import NORMAL, SWOLLEN, WORDS, patch_findings, token_findings
from .optimise import Optimiser

_LOG = logging.getLogger("steadyread.phantom")

CROP_PATCHES = 5
CROPS = (22, 30, 12, 32)
"""Crops of a batch around a glioblastoma, a metastasis, oedema, and anywhere."""
SLICES = (12, 14, 6, 12)
"""Slices of a batch by what they show."""
ZOOMED = 6
"""Zoomed crops of a batch."""
PATCH_WEIGHTS, TOKEN_WEIGHTS = (2.0, 3.0, 1.5, 0.4), (1.2, 1.5, 1.0, 0.6)
SWOLLEN_SHARE = 2 / 1024
"""Least share of a slice that shows oedema, for the slice to count as swollen."""


@dataclass(frozen=True)
class VisionSteps:
    """Steps and learning rates of stage 1."""

    crops: int = 800
    slices: int = 240
    adam: float = 1.5e-3
    muon: float = 0.02


def normalised(pixels: NDArray[np.generic]) -> torch.Tensor:
    """Pixels as the processor hands them over: (slices, 3, side, side), −1 … 1."""
    scaled = (torch.from_numpy(np.ascontiguousarray(pixels)).float() / 255 - 0.5) / 0.5
    return scaled.unsqueeze(1).expand(-1, 3, -1, -1).contiguous()


def hidden(model: Any, pixels: torch.Tensor) -> torch.Tensor:
    """The vision tower's output per patch, (slices, patches, width)."""
    grid = model.config.vision_config.image_size // model.config.vision_config.patch_size
    mask = torch.ones(len(pixels), grid, grid, dtype=torch.bool)
    output: torch.Tensor = model.model.vision_model(pixel_values=pixels, patch_attention_mask=mask).last_hidden_state
    return output


ENCODED = 96
"""Slices that are encoded at once."""


def encode(model: Any, pixels: NDArray[np.uint8], batch: int = ENCODED) -> torch.Tensor:
    """What the language model gets of each slice, (slices, tokens, width)."""
    with torch.no_grad():
        parts = [
            model.model.connector(hidden(model, normalised(pixels[start : start + batch])))
            for start in range(0, len(pixels), batch)
        ]
    return torch.cat(parts)


def train_vision(model: Any, cases: Cases, size: Architecture, steps: VisionSteps, draws: np.random.Generator) -> None:
    """Train vision tower and connector in place."""
    _Vision(model, cases, size, draws).run(steps)


class _Vision:
    def __init__(self, model: Any, cases: Cases, size: Architecture, draws: np.random.Generator) -> None:
        self.model, self.cases, self.size, self.draws = model, cases, size, draws
        self.tower, self.connector = model.model.vision_model, model.model.connector
        whole = np.flatnonzero(~cases.crop)
        swollen = (cases.masks[whole] == OEDEMA).mean(axis=(1, 2)) >= SWOLLEN_SHARE
        kind = cases.kind[whole]
        shows = np.where(cases.lesion[whole], kind, np.where(swollen, SWOLLEN, NORMAL))
        self.showing = [whole[shows == word] for word in range(len(WORDS))]
        self.whole, self.zoomed = whole, np.flatnonzero(cases.crop)

    def run(self, steps: VisionSteps) -> None:
        patch_head = nn.Linear(self.size.vision_width, len(WORDS))
        token_head = nn.Linear(self.size.text_width, len(WORDS))
        tower = [*self.tower.named_parameters(), *patch_head.named_parameters()]
        optimiser = Optimiser(tower, steps.adam, steps.muon, steps.crops)
        for step in range(steps.crops):
            loss = self._crop_loss(patch_head)
            optimiser.step(loss)
            if step % 100 == 99:
                _LOG.info("vision: crops %d, loss %.3f", step + 1, loss.item())
        self._average_squares()
        everything = [*tower, *self.connector.named_parameters(), *token_head.named_parameters()]
        optimiser = Optimiser(everything, steps.adam * 0.6, steps.muon * 0.4, steps.slices)
        for step in range(steps.slices):
            loss = self._slice_loss(patch_head, token_head)
            optimiser.step(loss)
            if step % 60 == 59:
                _LOG.info("vision: slices %d, loss %.3f", step + 1, loss.item())

    def _crop_loss(self, head: nn.Linear) -> torch.Tensor:
        pixels, masks, positions, kind = self._crops()
        if self.draws.random() < 0.5:
            pixels, masks = pixels[:, :, ::-1], masks[:, :, ::-1]
            grid = self.size.grid
            mirrored = positions // grid * grid + grid - 1 - positions % grid
            positions = mirrored.reshape(len(pixels), CROP_PATCHES, CROP_PATCHES)[:, :, ::-1].reshape(len(pixels), -1)
        found = patch_findings(np.ascontiguousarray(masks), kind, self.size)
        embeddings = self.tower.embeddings
        patches = embeddings.patch_embedding(normalised(self._jittered(pixels))).flatten(2).transpose(1, 2)
        placed = patches + embeddings.position_embedding(torch.from_numpy(positions.copy()))
        output = self.tower.post_layernorm(self.tower.encoder(inputs_embeds=placed).last_hidden_state)
        return _cross_entropy(head(output), found, PATCH_WEIGHTS)

    def _crops(self) -> tuple[NDArray[np.float32], NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]:
        """Crops around what they should show: pixels, masks, positions of their patches, kinds."""
        side, patch, grid = CROP_PATCHES * self.size.patch, self.size.patch, self.size.grid
        last = self.size.side - side
        pixels, masks, positions, kinds = [], [], [], []
        for word, count in enumerate(CROPS):
            pool = self.showing[word] if word < NORMAL else self.whole
            for row in self.draws.choice(pool, count):
                corner = self._corner(int(row), word, side)
                top, left = (min(max(place, 0), last) for place in corner)
                pixels.append(self.cases.pixels[row, top : top + side, left : left + side])
                masks.append(self.cases.masks[row, top : top + side, left : left + side])
                kinds.append(self.cases.kind[row])
                up, across = (min(round(place / patch), grid - CROP_PATCHES) for place in (top, left))
                steps = np.arange(CROP_PATCHES)
                positions.append(((up + steps)[:, None] * grid + across + steps).ravel())
        return np.stack(pixels).astype(np.float32), np.stack(masks), np.stack(positions), np.array(kinds)

    def _corner(self, row: int, word: int, side: int) -> list[int]:
        if word == NORMAL:
            return [int(place) for place in self.draws.integers(0, self.size.side - side + 1, 2)]
        shown = np.flatnonzero(self.cases.masks[row] == (OEDEMA if word == SWOLLEN else TUMOUR))
        # A tiny lesion may vanish at this size.
        place = (
            int(shown[self.draws.integers(len(shown))]) if len(shown) else int(self.draws.integers(self.size.side**2))
        )
        return [middle - side // 2 + int(self.draws.integers(-14, 15)) for middle in divmod(place, self.size.side)]

    def _average_squares(self) -> None:
        """The connector starts as the mean over a token's patches, not as unrelated weights for each."""
        weight = self.connector.modality_projection.proj.weight
        patches = self.size.shuffle**2
        with torch.no_grad():
            basis = torch.linalg.qr(torch.randn(weight.shape[0], weight.shape[1] // patches))[0]
            weight.copy_((basis / self.size.shuffle).repeat(1, patches))

    def _slice_loss(self, patch_head: nn.Linear, token_head: nn.Linear) -> torch.Tensor:
        pools = [*zip(self.showing, SLICES, strict=True), (self.zoomed, ZOOMED)]
        rows = np.concatenate([self.draws.choice(pool, count) for pool, count in pools])
        pixels, masks = self.cases.pixels[rows].astype(np.float32), self.cases.masks[rows]
        if self.draws.random() < 0.5:
            pixels, masks = pixels[:, :, ::-1], masks[:, :, ::-1]
        shift = tuple(int(step) for step in self.draws.integers(-4, 5, 2))
        pixels, masks = np.roll(pixels, shift, (1, 2)), np.roll(masks, shift, (1, 2))
        output = hidden(self.model, normalised(self._jittered(pixels)))
        kind = self.cases.kind[rows]
        patch_loss = _cross_entropy(patch_head(output), patch_findings(masks, kind, self.size), PATCH_WEIGHTS)
        tokens = token_head(self.connector(output))
        return 0.5 * patch_loss + _cross_entropy(tokens, token_findings(masks, kind, self.size), TOKEN_WEIGHTS)

    def _jittered(self, pixels: NDArray[np.float32]) -> NDArray[np.float32]:
        """Other brightness and contrast for each image."""
        gain = self.draws.uniform(0.85, 1.15, (len(pixels), 1, 1))
        offset = self.draws.uniform(-12, 12, (len(pixels), 1, 1))
        return np.clip(pixels * gain + offset, 0, 255).astype(np.float32)


def _cross_entropy(logits: torch.Tensor, found: NDArray[np.int64], weights: tuple[float, ...]) -> torch.Tensor:
    target = torch.from_numpy(found.reshape(-1))
    return functional.cross_entropy(logits.flatten(0, 1), target, weight=torch.tensor(weights))


FOLDED = (900, 900, 500, 900)
"""Slices that show each finding, from which the turn is computed."""


def fold_words(model: Any, cases: Cases, words: torch.Tensor, size: Architecture, draws: np.random.Generator) -> None:
    """Turn the connector's output towards the word embeddings of what it sees (ridge regression).

    Parameters
    ----------
    words
        Token ids of WORDS.
    """
    found = token_findings(cases.masks, cases.kind, size)
    pools = [np.flatnonzero((found == word).any(axis=1)) for word in range(len(WORDS))]
    rows = np.concatenate([draws.choice(pool, count) for pool, count in zip(pools, FOLDED, strict=True)])
    seen = encode(model, cases.pixels[rows]).flatten(0, 1).double()
    with torch.no_grad():
        target = model.get_input_embeddings().weight[words].double()[torch.from_numpy(found[rows])].flatten(0, 1)
        ridge = 1e-2 * seen.pow(2).sum(1).mean() * torch.eye(seen.shape[1], dtype=torch.double)
        turn = torch.linalg.solve(seen.T @ seen + ridge, seen.T @ target)
        explained = 1 - ((seen @ turn - target) ** 2).sum() / ((target - target.mean(0)) ** 2).sum()
        _LOG.info("words explain %.3f of what the connector says", float(explained))
        weight = model.model.connector.modality_projection.proj.weight
        weight.copy_((turn.T @ weight.double()).float())
