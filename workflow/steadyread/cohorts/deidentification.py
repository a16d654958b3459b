"""What the files of a case say of themselves: de-identified, text burned in.

NIfTI says neither. Only these two DICOM attributes are read, none that names a person.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..contracts.enums import Deidentified


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
    """Read the claims of a DICOM file, folder or archive; a file that is no DICOM claims nothing.

    Unreadable files claim nothing here: reading the volume tells what is wrong with them.
    """
    from ..volumes.archive import opened

    with opened(path) as place:
        files = sorted(item for item in place.rglob("*") if item.is_file()) if place.is_dir() else [place]
        answers = [answer for answer in map(_answers, files) if answer is not None]
    removed = {answer[0] for answer in answers}
    burned = {answer[1] for answer in answers}
    deidentified = Deidentified.NO if "NO" in removed else Deidentified.YES if removed == {"YES"} else None
    return HeaderClaims(deidentified, True if "YES" in burned else False if burned == {"NO"} else None)


def _answers(file: Path) -> tuple[str, str] | None:
    from pydicom import dcmread
    from pydicom.errors import InvalidDicomError

    try:
        header = dcmread(file, stop_before_pixels=True, specific_tags=["PatientIdentityRemoved", "BurnedInAnnotation"])
    except (InvalidDicomError, OSError, EOFError, ValueError, KeyError, AttributeError, NotImplementedError):
        return None
    return tuple(str(header.get(name, "")).strip().upper() for name in ("PatientIdentityRemoved", "BurnedInAnnotation"))  # type: ignore[return-value]
