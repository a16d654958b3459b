"""What a model is asked and what it answers, whoever asks it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Protocol

from ..config.models_table import BackendName
from ..contracts.enums import FinishReason
from .asked import AskedModel


@dataclass(frozen=True)
class Request:
    """One request, ready to be asked.

    Attributes
    ----------
    trial_id, case_id, draw
        Where it comes from. A request that is asked again has another draw.
    messages
        Roles and content parts as the trial holds them: {"type", "text", "image_id"}.
    image_ids
        Digests of the images' pixels, in order of appearance.
    images
        Their PNG files, in the same order.
    options, symbols
        Answer options and their symbols, in shown order.
    prompt
        The fully rendered prompt, chat template included.
    key
        The request key: equal keys have equal answers.
    """

    trial_id: str
    case_id: str
    draw: int
    messages: Sequence[Mapping[str, Any]]
    image_ids: tuple[str, ...]
    images: tuple[bytes, ...]
    options: tuple[str, ...]
    symbols: tuple[str, ...]
    prompt: str
    key: str


@dataclass(frozen=True)
class Answer:
    """One answer, free of the trial that asked for it: what the journal keeps.

    Attributes
    ----------
    text
        The generated text, special tokens removed.
    thinking
        Reasoning text that the model keeps apart, if any.
    option_logprobs
        Natural logarithms of the first answer token's probability for each option symbol, in shown
        order, renormalised over the symbols; None where the engine offers none.
    mass_outside_options
        Probability of the first answer token that no symbol holds.
    input_tokens, output_tokens
        Lengths in tokens.
    images_seen
        Images counted in the processed input, not taken from the request.
    resized_shape
        [height, width] in pixels of an image as the vision tower gets it.
    finish_reason
        Why the generation ended.
    error
        What went wrong, in a few words without paths, exactly where finish_reason is error.
    """

    text: str
    finish_reason: FinishReason
    images_seen: int
    thinking: str | None = None
    option_logprobs: tuple[float, ...] | None = None
    mass_outside_options: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    resized_shape: tuple[int, ...] | None = None
    error: str | None = None

    def to_plain(self) -> dict[str, Any]:
        """Plain values for JSON; floats survive the round trip exactly."""
        plain = asdict(self)
        plain["finish_reason"] = self.finish_reason.value
        for name in ("option_logprobs", "resized_shape"):
            plain[name] = None if plain[name] is None else list(plain[name])
        return plain

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Answer:
        """The answer that `to_plain` wrote.

        Raises
        ------
        ValueError, KeyError, TypeError
            If the values are no answer.
        """
        known = {field.name for field in fields(cls)}
        if set(plain) != known:
            raise ValueError(f"an answer has the fields {sorted(known)}, found {sorted(plain)}")
        values = dict(plain)
        values["finish_reason"] = FinishReason(values["finish_reason"])
        for name in ("option_logprobs", "resized_shape"):
            values[name] = None if values[name] is None else tuple(values[name])
        return cls(**values)

    @classmethod
    def failed(cls, error: str, images_seen: int = 0, input_tokens: int | None = None) -> Answer:
        """The machine's failure, not the model's: finish_reason error."""
        return cls("", FinishReason.ERROR, images_seen, input_tokens=input_tokens, error=error)


class Backend(Protocol):
    """Asks one model."""

    def answer(self, requests: Sequence[Request]) -> Iterator[Answer]:
        """One answer per request, in the requests' order, given out as they come."""
        ...


@dataclass(frozen=True)
class AskSettings:
    """What a backend is told besides the requests.

    Attributes
    ----------
    model
        The model's entry.
    seed
        The study's seed (the coin draws from it; nothing else does).
    max_new_tokens
        Longest answer in tokens.
    snapshot
        The local folder that holds the weights; None for the baselines.
    """

    model: AskedModel
    seed: int
    max_new_tokens: int
    snapshot: Path | None = None


def open_backend(settings: AskSettings) -> Backend:
    """The backend of a model. What it needs is imported here and not before.

    Raises
    ------
    StudyError
        If the model cannot be loaded.
    """
    if settings.model.backend is BackendName.BASELINES:
        from .baselines import Baseline

        return Baseline(settings.model, settings.seed)
    from .transformers_backend import TransformersBackend

    assert settings.snapshot is not None, "a model with weights comes with its snapshot"
    return TransformersBackend(settings.model, settings.snapshot, settings.max_new_tokens)
