"""`python -m steadyread.phantom.record` writes recorded.json anew, for the default study."""

from __future__ import annotations

from pathlib import Path

from ..config.study import StudyConfig
from .cohort import by_patient
from .design import PhantomCase, plan
from .recorded import FILE, Fingerprint, fingerprint, write


def fingerprints(cases: tuple[PhantomCase, ...]) -> dict[str, Fingerprint]:
    """The fingerprints of the cases of one patient, by case_id."""
    return {case.case_id: fingerprint(case) for case in cases}


def main() -> None:
    """Make the default study's patients and write the record into the package."""
    study = StudyConfig()
    found: dict[str, Fingerprint] = {}
    for some in by_patient(fingerprints, plan(study.seed, study.phantom)):
        found |= some
    write(Path(__file__).with_name(FILE), study.seed, study.phantom, found)


if __name__ == "__main__":
    main()
