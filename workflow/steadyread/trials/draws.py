"""Which requests are asked again, and by whom (PROTOCOLS 0.3, noise floor)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..contracts.enums import ArmName
from ..identity.seeds import uniform


@dataclass(frozen=True)
class Draw:
    """One asking of a request; `model_id` is None where all models ask it."""

    arm: ArmName
    number: int
    model_id: str | None = None


@dataclass(frozen=True)
class DrawPlan:
    """How often requests are asked.

    Attributes
    ----------
    repeat
        Whether the arm `repeat` is enabled: base at draw 1, shared by all models.
    share
        Share of the other arms' requests asked twice by all models.
    draws
        Times a stochastic model is asked each request.
    stochastic
        Ids of the models that are not deterministic.
    """

    repeat: bool
    share: float
    draws: int
    stochastic: Sequence[str]

    def of(self, arm: ArmName, variant: str, replicate: int, seed_parts: Sequence[object]) -> Iterator[Draw]:
        """The draws after draw 0 of one request of an arm (never of `repeat`, which is a draw of base).

        Whether a request is asked twice is a function of the request alone, not of its neighbours.
        """
        if arm is ArmName.REPEAT:
            raise ValueError("repeat is draw 1 of base and has no draws of its own")
        if arm is ArmName.BASE:
            twice = self.repeat
        else:
            twice = uniform(*seed_parts, arm, variant, replicate, "repeat_share") < self.share
        if twice:
            yield Draw(ArmName.REPEAT if arm is ArmName.BASE else arm, 1)
        for model_id in self.stochastic:
            for number in range(2 if twice else 1, self.draws):
                yield Draw(arm, number, model_id)
