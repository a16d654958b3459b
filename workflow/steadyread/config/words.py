"""Words that several sections and stages share."""

from __future__ import annotations

from enum import StrEnum


class OnBadCase(StrEnum):
    """What happens to a case that cannot be used."""

    EXCLUDE = "exclude"
    STOP = "stop"


UNSURE = "UNSURE"
"""The abstain option, as it is shown and as it stands in outcomes."""
