"""What goes wrong with one case, as opposed to what goes wrong with a study."""

from __future__ import annotations

from .enums import Reason


class CaseProblem(Exception):
    """One case (or one arm of it) cannot be used.

    `detail` says what was found and what was expected, in words fit for a public table: no path, no
    identifier of a patient, no value of an identifying header.
    """

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(f"{reason.value}: {detail}")
        self.reason = reason
        self.detail = detail


class StudyError(Exception):
    """The study cannot go on: says what was found, what was expected, what to do."""
