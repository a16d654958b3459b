"""What the files of a case say of themselves: de-identified, text burned in.

NIfTI says neither. Only these two DICOM attributes are read, none that names a person.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..contracts.enums import Deidentified
from ..contracts.problems import CaseProblem
from ..volumes.archive import opened
from ..volumes.dicom_files import image_headers, stated_burned_in, stated_deidentified


@dataclass(frozen=True)
class HeaderClaims:
    """What DICOM headers claim.

    Attributes
    ----------
    deidentified
        YES where every file says so, NO where one denies it, else None (PatientIdentityRemoved).
    burned_in
        True where one file says so, False where every file denies it, else None (BurnedInAnnotation).
    """

    deidentified: Deidentified | None = None
    burned_in: bool | None = None


def deidentified_state(table: Deidentified | None, headers: HeaderClaims, attested: bool) -> Deidentified:
    """The table's word, else the headers', else the study's attestation, else unknown."""
    if table is not None:
        return table
    if headers.deidentified is not None:
        return headers.deidentified
    return Deidentified.ATTESTED if attested else Deidentified.UNKNOWN


def header_claims(path: Path) -> HeaderClaims:
    """Read the claims of a DICOM file, folder or archive.

    Files that are no DICOM, or unreadable, claim nothing: reading the volume tells what is wrong.
    """
    try:
        with opened(path) as place:
            files = sorted(item for item in place.rglob("*") if item.is_file()) if place.is_dir() else [place]
            headers = image_headers(files)
    except CaseProblem:
        return HeaderClaims()
    return HeaderClaims(stated_deidentified(headers), stated_burned_in(headers))
