"""What a stage is handed: its files by name, and a way to record cases it leaves out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..config.words import OnBadCase
from ..contracts.enums import LESION_ARMS, ArmName
from ..contracts.problems import CaseProblem, StudyError
from ..identity.seeds import seed_of


class Files(Mapping[str, list[Path]]):
    """Named files of a stage. A name holds one file (`one`) or several (`all`)."""

    def __init__(self, files: Mapping[str, str | Path | Sequence[str | Path]]) -> None:
        self._files = {
            name: [Path(value)] if isinstance(value, (str, Path)) else [Path(item) for item in value]
            for name, value in files.items()
        }

    def __getitem__(self, name: str) -> list[Path]:
        return self._files[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)

    def one(self, name: str) -> Path:
        """The single file of a name.

        Raises
        ------
        StudyError
            If the name is unknown or holds several files.
        """
        files = self._files.get(name, [])
        if len(files) != 1:
            raise StudyError(f"expected one file named {name!r}, found {len(files)}; names: {sorted(self._files)}")
        return files[0]

    def all(self, name: str) -> list[Path]:
        """The files of a name, in the order given."""
        return list(self._files[name])


class ExclusionLog:
    """Collects the cases a stage leaves out, as rows of the exclusions table."""

    def __init__(self, stage: str, on_bad_case: OnBadCase = OnBadCase.EXCLUDE) -> None:
        self._stage = stage
        self._on_bad_case = on_bad_case
        self.rows: list[dict[str, Any]] = []

    def add_to_lesion_arms(self, case_id: str, problem: CaseProblem) -> None:
        """Record a bad annotation: the arms that need lesions suffer, the others do not.

        Raises
        ------
        StudyError
            Where the study is to stop at a bad case.
        """
        self._stop_if_asked(case_id, problem)
        for arm in LESION_ARMS:
            self.add(case_id, problem, arm)

    def _stop_if_asked(self, case_id: str, problem: CaseProblem) -> None:
        if self._on_bad_case is OnBadCase.STOP:
            raise StudyError(
                f"case {case_id} cannot be used ({problem.reason.value}: {problem.detail}). Mend or remove it, "
                "or set on_bad_case: exclude to leave such cases out and count them."
            )

    def add(self, case_id: str, problem: CaseProblem, arm: ArmName | None = None, model_id: str | None = None) -> None:
        """Record one exclusion.

        A whole case (no arm) stops the study where the configuration says `on_bad_case: stop`; a
        case that an arm does not fit is no bad case.

        Raises
        ------
        StudyError
            Where the study is to stop at a bad case.
        """
        if arm is None:
            self._stop_if_asked(case_id, problem)
        self.rows.append(
            {
                "case_id": case_id,
                "stage": self._stage,
                "arm": None if arm is None else arm.value,
                "model_id": model_id,
                "reason": problem.reason.value,
                "detail": problem.detail,
            }
        )


def shard_of(patient_id: str, shards: int) -> int:
    """The shard of a patient: a function of the id alone, the same on every machine."""
    return seed_of("shard", patient_id) % shards
