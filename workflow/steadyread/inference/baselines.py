"""Readers with known answers: they test the pipeline and stand in every table (PROTOCOLS 0.3, 0.6)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from ..config.models_table import BaselineKind, BaselineSource
from ..config.words import UNSURE
from ..contracts.enums import FinishReason
from ..contracts.problems import StudyError
from ..identity.seeds import uniform
from .asked import AskedModel
from .backend import Answer, Request

FLOOR = 1e-6
"""Least probability a baseline gives an option, before renormalisation (PROTOCOLS S1, Confidence)."""

ENGINE = "steadyread-baselines 1"
"""Engine and version; the version grows when an answer may change."""


class Baseline:
    """A reader that never looks: constant label, constant slot, or coin.

    - constant_label answers `value`; null stands for the first diagnostic label in alphabetical
      order, a rule of content and not of place, so that it never flips.
    - constant_slot answers slot `value`, counted from 1 as shown. Where fewer options are shown it
      still names its symbol, as a blind reader would: no option is meant, none gets a probability.
    - coin draws among the `labels` (never UNSURE) or among all `options`, by content: the draw is a
      function of (seed, trial id, draw) alone.
    """

    def __init__(self, model: AskedModel, seed: int) -> None:
        source = model.source
        assert isinstance(source, BaselineSource), "the entry's validator ties backend and source"
        self._id, self._kind, self._value, self._seed = model.id, source.baseline, source.value, seed
        if (self._kind is BaselineKind.CONSTANT_SLOT and not (self._value or "").isdecimal()) or self._value == "0":
            raise self._misset("a slot counted from 1, such as '1'")
        if self._kind is BaselineKind.COIN and self._value not in ("labels", "options"):
            raise self._misset("'labels' (draws among the diagnostic labels) or 'options' (among all, UNSURE too)")

    def answer(self, requests: Sequence[Request]) -> Iterator[Answer]:
        """One answer per request, in order.

        Raises
        ------
        StudyError
            If the constant label is no option of a request.
        """
        for request in requests:
            slot = self._slot(request)
            # images_seen: what it was handed; a baseline looks at none.
            seen = len(request.image_ids)
            if slot >= len(request.symbols):
                yield Answer(chr(ord("A") + slot), FinishReason.STOP, seen)
                continue
            weights = [1.0 if place == slot else FLOOR for place in range(len(request.symbols))]
            total = math.fsum(weights)
            logprobs = tuple(math.log(weight / total) for weight in weights)
            yield Answer(request.symbols[slot], FinishReason.STOP, seen, None, logprobs, 0.0)

    def _slot(self, request: Request) -> int:
        if self._kind is BaselineKind.CONSTANT_SLOT:
            return int(self._value or "") - 1
        labels = sorted(option for option in request.options if option != UNSURE)
        if self._kind is BaselineKind.CONSTANT_LABEL:
            label = self._value if self._value is not None else labels[0]
            if label not in request.options:
                raise self._misset(f"one of the options shown, {sorted(request.options)}, or null")
            return request.options.index(label)
        drawn_from = labels if self._value == "labels" else sorted(request.options)
        place = int(uniform(self._seed, "coin", request.trial_id, request.draw) * len(drawn_from))
        return request.options.index(drawn_from[place])

    def _misset(self, expected: str) -> StudyError:
        return StudyError(
            f"model {self._id} ({self._kind.value}): source.value is {self._value!r}, expected {expected}; "
            "change it in config/models.yaml"
        )
