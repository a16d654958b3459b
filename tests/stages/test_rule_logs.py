"""What a failing stage writes into its log."""

from __future__ import annotations

import logging
from types import SimpleNamespace

import pytest

from steadyread.contracts.problems import StudyError
from steadyread.stages import dispatch
from steadyread.stages.rule import run_rule


@pytest.fixture
def job(tmp_path):
    empty = SimpleNamespace(items=list)
    root = logging.getLogger()
    before, level = list(root.handlers), root.level
    root.handlers.clear()
    yield SimpleNamespace(
        rule="stage",
        log=[str(tmp_path / "x.log")],
        threads=1,
        input=empty,
        output=empty,
        wildcards=empty,
        params=SimpleNamespace(settings={}),
        config={},
    )
    logging.captureWarnings(False)
    root.handlers[:] = before
    root.setLevel(level)


def failing(monkeypatch, error):
    def fail(*args, **kwargs):
        raise error

    monkeypatch.setattr(dispatch, "run_stage", fail)


@pytest.mark.parametrize("quoted", ["'/data/Zweistein Otto/t1.nii.gz'", "/data/Zweistein_Otto/t1.nii.gz: gone"])
def test_an_unforeseen_error_leaves_its_place_and_no_path(job, monkeypatch, quoted, tmp_path):
    failing(monkeypatch, OSError(f"cannot open {quoted}"))
    with pytest.raises(SystemExit):
        run_rule(job)
    text = (tmp_path / "x.log").read_text()
    assert "OSError: cannot open" in text
    assert "in fail" in text
    assert "Zweistein" not in text


def test_a_study_error_is_its_message_alone(job, monkeypatch, tmp_path):
    failing(monkeypatch, StudyError("too few cases: found 1, expected 2"))
    with pytest.raises(SystemExit):
        run_rule(job)
    text = (tmp_path / "x.log").read_text()
    assert "too few cases: found 1, expected 2" in text
    assert "Traceback" not in text
    assert "File " not in text
