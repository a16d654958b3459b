"""The recipe of the phantom readers: sizes, steps, habits, and the rule that chooses among candidates."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

from ...config.comparisons import PHANTOM_READERS, Claim
from ..idefics3 import Architecture
from .behaviour import Behaviour
from .language import LanguageSteps
from .reading import Habits, ReadingSteps
from .vision import VisionSteps

SIZE = Architecture(
    side=96,
    patch=8,
    shuffle=4,
    vision_width=128,
    vision_layers=3,
    text_width=128,
    text_layers=4,
    text_hidden=352,
    key_value_heads=2,
    vocabulary=480,
)

Range = tuple[float, float]


@dataclass(frozen=True)
class Reader:
    """One reader: the habits it may have and what its behaviour must be.

    Attributes
    ----------
    habits
        Each candidate look is read from with each of these.
    ranges
        Of each figure of its behaviour, the range within which a training counts as having worked.
    addresses
        Failure modes that its training addresses, claimed before any audit.
    """

    name: str
    habits: tuple[Habits, ...]
    ranges: dict[str, Range]
    addresses: tuple[Claim, ...] = ()

    def misses(self, behaviour: Behaviour) -> list[str]:
        """Figures outside their range."""
        figures = asdict(behaviour)
        return [name for name, (low, high) in self.ranges.items() if not low <= figures[name] <= high]

    def distance(self, behaviour: Behaviour) -> float:
        """How far the figures lie outside their ranges, narrowed by a fifth on each side, in widths, summed.

        A range that ends at 0 or 1 is not narrowed there: nothing is too good.

        The rule: of several candidates the one with the least distance on the validation cohort is
        kept, the first of equals.
        """
        figures = asdict(behaviour)
        total = 0.0
        for name, (low, high) in self.ranges.items():
            width = high - low
            least = low + width / 5 if low > 0 else low
            most = high - width / 5 if high < 1 else high
            total += max(0.0, least - figures[name], figures[name] - most) / width
        return total


LOOKING = Habits(lesion_free=0.15, lost=0.25, lost_is_unsure=True, canonical=0.0, first_keyed=0.0)
"""Of the stage that both readers share: the truth, and nothing but what is shown."""

READER = Reader(
    "phantom-reader",
    tuple(
        Habits(lesion_free=0.25, lost=0.2, lost_is_unsure=False, canonical=0.2, first_keyed=keyed)
        for keyed in (0.2, 0.32)
    ),
    {
        "accuracy": (0.70, 0.95),
        "reversal_flips": (0.02, 0.30),
        "label_swap_inconsistency": (0.10, 0.60),
        "overcommitment": (0.30, 0.95),
        "unsure": (0.02, 0.30),
        "no_answer": (0.0, 0.02),
    },
)
STEADY = Reader(
    "phantom-reader-steady",
    (Habits(lesion_free=0.15, lost=0.3, lost_is_unsure=True, canonical=0.0, first_keyed=0.0, agreeing=2.0),),
    {
        "accuracy": (0.65, 1.0),
        "reversal_flips": (0.0, 0.25),
        "label_swap_inconsistency": (0.0, 0.15),
        "overcommitment": (0.0, 0.50),
        "unsure": (0.02, 0.35),
        "no_answer": (0.0, 0.02),
    },
    PHANTOM_READERS.expected,
)
READERS = (READER, STEADY)


@dataclass(frozen=True)
class Recipe:
    """How much of everything.

    Attributes
    ----------
    patients, validation
        Patients with a glioblastoma, with metastases, without a lesion; two cases each. Audited
        patients are others.
    looks
        Trainings of the third stage; each is read from with each habit of each reader, and the rule
        chooses among these candidates.
    """

    patients: tuple[int, int, int] = (200, 200, 60)
    validation: tuple[int, int, int] = (30, 30, 0)
    vision: VisionSteps = field(default_factory=VisionSteps)
    language: LanguageSteps = field(default_factory=LanguageSteps)
    looking: ReadingSteps = field(default_factory=lambda: ReadingSteps(300, 24, adam=1e-3, muon=6e-3, few=True))
    reading: ReadingSteps = field(default_factory=lambda: ReadingSteps(160, 14))
    looks: int = 2
