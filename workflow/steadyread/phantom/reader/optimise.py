"""One step of training: Muon for the matrices of transformer layers, AdamW for the rest."""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch

WARM_UP = 20
CLIP = 1.0


class Optimiser:
    """Two optimisers that share a schedule; gradients are clipped to norm 1.

    Parameters
    ----------
    named
        Parameters by name; matrices inside layers ("layers.") go to Muon.
    adam, muon
        Learning rates.
    total
        Steps of a cosine schedule down to a twentieth; None: constant after the warm-up.
    """

    def __init__(
        self, named: Iterable[tuple[str, torch.nn.Parameter]], adam: float, muon: float, total: int | None
    ) -> None:
        named = list(named)
        # By name: the list of a whole model's text part begins with "layers." without a dot before.
        hidden = [p for name, p in named if p.ndim == 2 and "layers." in name]
        chosen = {id(p) for p in hidden}
        rest = [p for _, p in named if id(p) not in chosen]
        self._parameters = [p for _, p in named]
        self._rates: list[tuple[torch.optim.Optimizer, float]] = [
            (torch.optim.AdamW(rest, lr=adam, weight_decay=0.03, betas=(0.9, 0.98)), adam)
        ]
        if hidden:
            self._rates.append((torch.optim.Muon(hidden, lr=muon, momentum=0.95, weight_decay=0.03), muon))
        self._total, self._step = total, 0

    def step(self, loss: torch.Tensor, scale: float = 1.0) -> None:
        """Follow a loss's gradient, at `scale` times the scheduled rate."""
        scale *= min(1.0, (self._step + 1) / WARM_UP)
        if self._total is not None:
            scale *= 0.5 * (1 + math.cos(math.pi * min(1.0, self._step / self._total))) * 0.95 + 0.05
        for optimiser, rate in self._rates:
            optimiser.zero_grad()
            for group in optimiser.param_groups:
                group["lr"] = rate * scale
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self._parameters, CLIP)
        for optimiser, _ in self._rates:
            optimiser.step()
        self._step += 1
