"""Ids that may stand in tables, file names and messages."""

from __future__ import annotations

import re

from ..contracts.tables import CASE_ID


def is_opaque(text: str) -> bool:
    """Whether an id keeps the contract of case_id and patient_id: no path, no spaces, short."""
    return re.fullmatch(CASE_ID, text) is not None
