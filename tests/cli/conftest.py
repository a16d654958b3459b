"""A project in a folder of its own, and a small study that has been run in it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steadyread.contracts.files import write_table
from steadyread.contracts.tables import CASES, OUTCOMES, TRIALS
from steadyread.identity.digests import digest_json

PATIENTS = 16
ARMS = ("base", "reverse", "lesion_removed", "matched_removed")
Said = Callable[[int, str], str]
"""From a patient's number and an arm to an answer."""


@pytest.fixture
def root(tmp_path, project, monkeypatch) -> Path:
    """A project with the real configuration and lock, as the working directory."""
    shutil.copytree(project / "config", tmp_path / "config")
    for folder in ("envs", "models"):
        shutil.copytree(project / folder, tmp_path / folder)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STEADYREAD_STORE", str(tmp_path / "store"))
    monkeypatch.delenv("STEADYREAD_REALDATA", raising=False)
    return tmp_path


def truth(patient: int) -> str:
    """Patients have GBM and MET in turn."""
    return ("GBM", "MET")[patient % 2]


def trial_rows() -> list[dict[str, Any]]:
    """Two cases a patient, asked under every arm."""
    return [
        {
            **dict.fromkeys(TRIALS.schema.names),
            "trial_id": digest_json([patient, case, arm]),
            "item_id": digest_json([patient, case]),
            "case_id": f"p{patient:02d}-s{case}",
            "cluster_id": f"p{patient:02d}",
            "arm": arm,
            "variant": "",
            "replicate": 0,
            "draw": 0,
            "round": 1,
            "images": [],
            "messages": [],
            "options": ["GBM", "MET", "UNSURE"],
            "symbols": ["A", "B", "C"],
            "strata": {},
        }
        for patient in range(PATIENTS)
        for case in range(2)
        for arm in ARMS
    ]


def outcome_rows(model: str, said: Said) -> list[dict[str, Any]]:
    """What a model said, read from the text."""
    return [
        {
            **dict.fromkeys(OUTCOMES.schema.names),
            "trial_id": trial["trial_id"],
            "model_id": model,
            "draw": 0,
            "readout": "text",
            "outcome_status": "UNSURE" if answer == "UNSURE" else "ANSWERED",
            "answer_kind": "choice",
            "label": answer,
            "slot": trial["options"].index(answer),
            "scores": [],
        }
        for trial in trial_rows()
        for answer in [said(int(trial["cluster_id"][1:]), trial["arm"])]
    ]


@pytest.fixture
def asked(root) -> Path:
    """The default study, in which two models were asked: coin-2 flips twelve patients on reversal, coin-3 four."""
    results = root / "results" / "default"
    cases = [
        {
            **dict.fromkeys(CASES.schema.names),
            "case_id": f"p{patient:02d}-s{case}",
            "patient_id": f"p{patient:02d}",
            "label": truth(patient),
            "annotation_kind": "none",
            "covariates": {},
            "texts": {},
            "deidentified": "yes",
            "source_digest": "0" * 32,
        }
        for patient in range(PATIENTS)
        for case in range(2)
    ]
    write_table(results / "cohort" / "cases.parquet", CASES, cases)
    trials = trial_rows()
    for shard in (0, 1):
        write_table(results / "trials" / "r1" / str(shard) / "trials.parquet", TRIALS, trials[shard::2])
    other = {"GBM": "MET", "MET": "GBM"}

    def flips(count: int) -> Said:
        return lambda patient, arm: other[truth(patient)] if arm == "reverse" and patient < count else truth(patient)

    for model, said in {"coin-2": flips(12), "coin-3": flips(4)}.items():
        write_table(results / "outcomes" / model / "0" / "outcomes.parquet", OUTCOMES, outcome_rows(model, said))
    return root
