"""A study by the name of its result tree, and what to run where something of it is not there."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from ..config.loading import load_study
from ..config.models_table import ModelsTable
from ..config.study import StudyConfig
from ..contracts.problems import StudyError


def named_study(name: str, root: Path) -> tuple[StudyConfig, ModelsTable]:
    """The configuration of a study; `<study>-limitN` is the study with `limit: N`.

    Raises
    ------
    StudyError
        If there is no such study, naming those that exist.
    """
    found = re.fullmatch(r"(.+)-limit(\d+)", name)
    overrides = {"study": found[1], "limit": int(found[2])} if found else {"study": name}
    return load_study(overrides, root=root)


def snakemake_command(study: StudyConfig, targets: Sequence[str] = ()) -> str:
    """The command that makes some files of a study, or all of it."""
    config = [] if study.study == "default" else [f"study={study.study}"]
    config += [] if study.limit is None else [f"limit={study.limit}"]
    parts = ["snakemake", *targets, *(["--config", *config] if config else [])]
    return " ".join(parts)


def near_miss(found: str, known: Iterable[str]) -> str:
    """What may have been meant, as a sentence with a space before it; "" where nothing is near."""
    near = difflib.get_close_matches(found, list(known), n=1)
    return f" Did you mean {near[0]}?" if near else ""


def require_files(paths: Iterable[str], root: Path, what: str, study: StudyConfig) -> None:
    """Stop where files are missing, with the command that makes them.

    Raises
    ------
    StudyError
        Naming how many are missing and the command.
    """
    missing = [path for path in paths if not (root / path).is_file()]
    if missing:
        raise StudyError(
            f"{what} of study {study.name}: {len(missing)} file{'s' if len(missing) > 1 else ''} missing, "
            f"the first is {missing[0]}. Make them with\n  {snakemake_command(study, missing[:3])}"
        )
