"""The pixels on record: they are these, and a difference is said with its size."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from steadyread.config.phantom import PhantomConfig
from steadyread.config.study import StudyConfig
from steadyread.phantom.cohort import by_patient
from steadyread.phantom.design import PhantomCase, plan
from steadyread.phantom.record import fingerprints
from steadyread.phantom.recorded import Fingerprint, compare, fingerprint, recorded, versions, write

STUDY = StudyConfig()


@pytest.fixture(scope="module")
def some() -> dict[str, Fingerprint]:
    """Fingerprints of a patient of each storage and label of the default study."""
    patients = ("phantom-01", "phantom-32", "phantom-90")
    cases = plan(STUDY.seed, STUDY.phantom)
    return {case.case_id: fingerprint(case) for case in cases if case.patient_id in patients}


def test_the_default_study_is_on_record() -> None:
    record = recorded()
    assert (record["seed"], record["options"]) == (STUDY.seed, STUDY.phantom.model_dump(mode="json"))
    assert list(record["cases"]) == [case.case_id for case in plan(STUDY.seed, STUDY.phantom)]
    assert len({item["digest"] for item in record["cases"].values()}) == 180


def test_pixels_are_those_on_record_or_differ_by_no_more_than_rounding(some: dict[str, Fingerprint]) -> None:
    report = compare(STUDY.seed, STUDY.phantom, some)
    assert report["compared"]
    assert report["cases"] == 6
    # Another processor may round otherwise; a changed phantom differs by tens, noise alone does.
    assert report["largest_difference"] <= 2
    known = recorded()["cases"]
    assert report["different"] == sum(known[name]["digest"] != item.digest for name, item in some.items())
    assert report["equal"] == (report["different"] == 0)


def test_a_difference_is_reported_with_its_size_and_logged(
    some: dict[str, Fingerprint], caplog: pytest.LogCaptureFixture
) -> None:
    name, item = next(iter(some.items()))
    known = recorded()["cases"][name]["samples"]
    changed = {**some, name: Fingerprint("0" * 32, (known[0] - 7, *known[1:]))}
    with caplog.at_level(logging.WARNING):
        report = compare(STUDY.seed, STUDY.phantom, changed)
    assert not report["equal"]
    assert report["largest_difference"] == 7
    assert "at most 7 scanner units" in caplog.text
    assert item.digest != "0" * 32


def test_another_cohort_is_not_compared(some: dict[str, Fingerprint]) -> None:
    assert compare(1, STUDY.phantom, some)["compared"] is False
    for options in (PhantomConfig(patients=12), PhantomConfig(mirrored=True), PhantomConfig(lesion_scale=0.5)):
        assert compare(STUDY.seed, options, some)["compared"] is False


def test_the_stage_writes_whether_it_compared(cohort: Path) -> None:
    report = json.loads((cohort / "recorded.json").read_text())
    assert report["compared"] is False
    assert report["versions"] == versions()


def test_what_is_written_is_what_is_read(some: dict[str, Fingerprint], tmp_path: Path) -> None:
    write(tmp_path / "record.json", 3, PhantomConfig(patients=6), some)
    record = json.loads((tmp_path / "record.json").read_text())
    assert {name: Fingerprint(item["digest"], tuple(item["samples"])) for name, item in record["cases"].items()} == some
    assert record["options"]["patients"] == 6


def test_one_process_and_two_make_the_same_pixels_in_the_same_order(cases: tuple[PhantomCase, ...]) -> None:
    one, two = ([*by_patient(fingerprints, cases[:8], processes)] for processes in (1, 2))
    assert one == two
    assert [name for some in two for name in some] == [case.case_id for case in cases[:8]]
