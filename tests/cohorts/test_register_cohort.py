"""Registering a cohort: every case accounted for, every file digested, no path where it may leak."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
import pytest

from steadyread.cohorts.register import RegisterCohortSettings, register_cohort
from steadyread.config.cohort import CohortConfig
from steadyread.config.question import QuestionConfig
from steadyread.config.study import StudyConfig
from steadyread.config.words import OnBadCase
from steadyread.contracts.enums import LESION_ARMS
from steadyread.contracts.files import read_rows, read_table
from steadyread.contracts.problems import StudyError
from steadyread.contracts.tables import CASES, EXCLUSIONS, ITEMS, SOURCES
from steadyread.identity.digests import digest_file
from steadyread.stages.job import Files
from steadyread.stages.registry import stage

TABLES = {"cases": CASES, "sources": SOURCES, "items": ITEMS, "exclusions": EXCLUSIONS}
Row = Mapping[str, str]
Register = Callable[..., dict[str, list[dict[str, Any]]]]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A data folder with volumes a.nii.gz … e.nii.gz and a mask."""
    data = tmp_path / "data"
    data.mkdir()
    for number, name in enumerate("abcde"):
        image = nibabel.Nifti1Image(np.arange(60, dtype=np.float32).reshape(3, 4, 5) + number, np.eye(4))
        nibabel.save(image, data / f"{name}.nii.gz")
    nibabel.save(nibabel.Nifti1Image(np.ones((3, 4, 5), dtype=np.uint8), np.eye(4)), data / "mask.nii.gz")
    return data


@pytest.fixture
def register(root: Path, tmp_path: Path) -> Register:
    def run(rows: list[Row], local: Mapping[str, str] | None = None, **settings: Any) -> dict[str, Any]:
        table = root / "cohort.tsv"
        columns = list(dict.fromkeys(name for row in rows for name in row))
        lines = ["\t".join(columns), *("\t".join(row.get(name, "") for name in columns) for row in rows)]
        table.write_text("\n".join(lines) + "\n")
        outputs = {name: tmp_path / f"{name}.parquet" for name in TABLES}
        config = RegisterCohortSettings(**{"seed": 7, **settings})
        named = {"item_table" if name == "items" else name: path for name, path in outputs.items()}
        register_cohort(Files({"table": table}), Files(named), config, {}, local)
        return {name: read_rows(outputs[name], contract) for name, contract in TABLES.items()}

    return run


def case(case_id: str, **cells: str) -> dict[str, str]:
    return {"case_id": case_id, "patient_id": f"p{case_id}", "volume": f"{case_id}.nii.gz", **cells}


def test_a_case_its_files_and_its_item_are_recorded(register: Register, root: Path) -> None:
    found = register([case("a", label="met", annotation="mask.nii.gz", lesion_labels="1"), case("b")])
    a, b = found["cases"]
    assert (a["volume"], a["annotation"], a["annotation_kind"], a["label"]) == (
        digest_file(root / "a.nii.gz"), digest_file(root / "mask.nii.gz"), "mask", "MET"
    )  # fmt: skip
    assert (b["annotation"], b["annotation_kind"], b["label"]) == (None, "none", None)
    assert [(row["case_id"], row["role"], row["path"], row["options"]) for row in found["sources"]] == [
        ("a", "annotation", str(root / "mask.nii.gz"), {"lesion_labels": "1"}),
        ("a", "volume", str(root / "a.nii.gz"), {}),
        ("b", "volume", str(root / "b.nii.gz"), {}),
    ]
    items = {item["case_id"]: item for item in found["items"]}
    assert items["a"]["keys"] == [{"name": "label", "kind": "image", "value": "MET"}]
    assert items["b"]["keys"] == [] and items["b"]["cluster_id"] == "pb"
    assert items["a"]["options"] == ["GBM", "MET", "UNSURE"]
    assert found["exclusions"] == []


def test_settings_come_without_the_keys_that_say_where_files_lie() -> None:
    from steadyread.config.models_table import ModelsTable
    from steadyread.stages.settings import settings_of

    plain = settings_of("register_cohort", StudyConfig(), ModelsTable(models=()))
    assert "table" not in plain["cohort"] and "data_root" not in plain["cohort"]
    assert RegisterCohortSettings.model_validate(plain).cohort.labels == StudyConfig().cohort.labels
    assert stage("register_cohort").load() is register_cohort


def test_items_depend_on_case_question_and_options_only(register: Register) -> None:
    def ids(**settings: Any) -> list[str]:
        return [item["item_id"] for item in register([case("a"), case("b")], **settings)["items"]]

    assert ids() == ids(seed=8)
    assert not set(ids()) & set(ids(question=QuestionConfig(unsure=False)))
    assert not set(ids()) & set(ids(cohort=CohortConfig(labels=("MET", "GBM"))))


@pytest.mark.parametrize(("missing", "arms"), [("volume", [None]), ("annotation", sorted(LESION_ARMS))])
def test_a_missing_file_costs_its_case_what_needs_it_and_leaves_it_in_the_account(
    register: Register, missing: str, arms: list[str | None]
) -> None:
    found = register([case("a", annotation="mask.nii.gz") | {missing: "gone.nii.gz"}, case("b")])
    assert [row["case_id"] for row in found["cases"]] == ["a", "b"]
    assert len(found["items"]) == 2
    assert [row["arm"] for row in found["exclusions"]] == arms
    for exclusion in found["exclusions"]:
        assert (exclusion["case_id"], exclusion["reason"]) == ("a", "missing_file")
        assert missing in exclusion["detail"] and "gone" not in exclusion["detail"]
    assert found["cases"][0][missing] is None
    other = {"volume": "annotation", "annotation": "volume"}[missing]
    assert found["cases"][0][other] is not None


def test_a_missing_file_stops_a_study_that_is_to_stop(register: Register) -> None:
    with pytest.raises(StudyError, match="case a cannot be used"):
        register([case("a", annotation="gone.nii.gz")], on_bad_case=OnBadCase.STOP)


def test_an_empty_folder_and_an_empty_cell_are_missing_files(register: Register, root: Path) -> None:
    (root / "empty").mkdir()
    found = register([case("a") | {"volume": "empty"}, case("b") | {"volume": ""}])
    assert [row["reason"] for row in found["exclusions"]] == ["missing_file"] * 2


def test_paths_that_leave_the_root_are_refused_unless_allowed(register: Register, root: Path, tmp_path: Path) -> None:
    shutil.copy(root / "a.nii.gz", tmp_path / "outside.nii.gz")
    (root / "link.nii.gz").symlink_to(tmp_path / "outside.nii.gz")
    (root / "series").mkdir()
    (root / "series" / "1.dcm").symlink_to(tmp_path / "outside.nii.gz")
    ways = ["../outside.nii.gz", str(tmp_path / "outside.nii.gz"), "link.nii.gz", "series", "../gone.nii.gz"]
    for way in ways:
        for column in ("volume", "annotation"):
            cells = {"annotation": "mask.nii.gz"} | {column: way}
            with pytest.raises(StudyError, match="row 3") as caught:
                register([case("a"), case("b", annotation_kind="mask") | cells])
            assert "nii" not in str(caught.value)
    found = register([case("a") | {"volume": ways[0]}], cohort=CohortConfig(allow_outside_root=True))
    assert found["exclusions"] == []


def test_what_the_file_system_cannot_follow_is_a_missing_file(register: Register, root: Path) -> None:
    (root / "circle").symlink_to(root / "circle")
    found = register([case("a") | {"volume": "circle"}, case("b") | {"volume": "x" * 5000}, case("c")])
    assert {(row["case_id"], row["reason"]) for row in found["exclusions"]} == {
        ("a", "missing_file"),
        ("b", "missing_file"),
    }
    assert all(str(root) not in row["detail"] for row in found["exclusions"])


def test_paths_may_be_absolute_or_turn_back_within_the_root(register: Register, root: Path) -> None:
    (root / "sub").mkdir()
    found = register([case("a") | {"volume": str(root / "a.nii.gz")}, case("b") | {"volume": "sub/../b.nii.gz"}])
    assert found["exclusions"] == []


def test_the_data_root_may_lie_elsewhere_and_changes_no_number(register: Register, root: Path, tmp_path: Path) -> None:
    here = register([case("a"), case("b")])
    shutil.copytree(root, tmp_path / "moved")
    there = register([case("a"), case("b")], local={"data_root": str(tmp_path / "moved")})
    assert there["sources"][0]["path"].startswith(str(tmp_path / "moved"))
    for name in ("cases", "items", "exclusions"):
        assert here[name] == there[name]
    for wrong in (str(tmp_path / "nowhere"), "$STEADYREAD_NOT_SET/data"):
        with pytest.raises(StudyError, match="data_root"):
            register([case("a")], local={"data_root": wrong})


def test_row_order_changes_nothing(register: Register) -> None:
    rows = [case(name, label=label) for name, label in zip("abcde", ["GBM", "MET", "GBM", "", "MET"], strict=True)]
    assert register(rows, limit=3) == register(rows[::-1], limit=3)


def test_a_limit_keeps_whole_patients(register: Register) -> None:
    rows = [case("a", label="GBM"), case("b", label="MET"), case("c", label="GBM"), case("d", label="MET")]
    for row, patient in zip(rows, ["p1", "p2", "p1", "p3"], strict=True):
        row["patient_id"] = patient
    found = register(rows, limit=2)
    assert {row["patient_id"] for row in found["cases"]} in ({"p1", "p2"}, {"p1", "p3"})
    assert len(found["cases"]) == 3 == len(found["items"])


def test_the_kind_is_inferred_only_where_the_file_tells(register: Register, root: Path) -> None:
    (root / "slices.csv").write_text("index\n")
    (root / "odd.dcm").write_bytes(b"nothing known")
    rows = [case("a", annotation="mask.nii.gz"), case("b", annotation="slices.csv"), case("c")]
    assert [row["annotation_kind"] for row in register(rows)["cases"]] == ["mask", "slice_table", "none"]
    with pytest.raises(StudyError, match="row 2: annotation_kind cannot be told"):
        register([case("a", annotation="odd.dcm")])


@pytest.mark.parametrize(
    "cells",
    [
        {"annotation": "mask.nii.gz", "annotation_kind": "none"},
        {"annotation_kind": "mask"},
        {"annotation": "mask.nii.gz", "segments": "1"},
        {"annotation": "mask.nii.gz", "index": "3"},
        {"lesion_labels": "1"},
        {"annotation": "mask.nii.gz", "annotation_kind": "seg", "lesion_labels": "1"},
    ],
)
def test_a_row_that_contradicts_itself_is_refused(register: Register, cells: dict[str, str]) -> None:
    with pytest.raises(StudyError, match="row 2"):
        register([case("a", **cells)])


def test_slices_may_be_listed_in_the_table_itself(register: Register) -> None:
    rows = [case("a", index="3,4", index_base="1", index_order="feet_to_head"), case("b", index="none")]
    found = register(rows)
    assert [row["annotation_kind"] for row in found["cases"]] == ["slice_table"] * 2
    assert found["sources"][0]["options"] == {"index": "3,4", "index_base": "1", "index_order": "feet_to_head"}
    rows[0]["index"] = "3,5"
    assert register(rows)["cases"][0]["annotation"] != found["cases"][0]["annotation"]


@pytest.mark.parametrize(
    ("cell", "attested", "expected"),
    [("", False, "unknown"), ("", True, "attested"), ("no", True, "no"), ("Yes", False, "yes")],
)
def test_what_is_known_of_deidentification(register: Register, cell: str, attested: bool, expected: str) -> None:
    found = register([case("a", deidentified=cell)], cohort=CohortConfig(attested_deidentified=attested))
    assert (found["cases"][0]["deidentified"], found["cases"][0]["burned_in"]) == (expected, None)


def test_a_changed_file_is_another_source(register: Register, root: Path) -> None:
    before = register([case("a"), case("b")])["cases"]
    (root / "a.nii.gz").write_bytes((root / "b.nii.gz").read_bytes())
    after = register([case("a"), case("b")])["cases"]
    assert before[0]["source_digest"] != after[0]["source_digest"] == after[1]["source_digest"]
    assert before[1] == after[1]


def test_one_volume_under_two_patients_is_noticed(
    register: Register, root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shutil.copy(root / "a.nii.gz", root / "b.nii.gz")
    register([case("a"), case("b"), case("c")])
    assert "1 volumes stand under several patient_ids" in caplog.text


def test_paths_are_local_and_enter_no_digest(register: Register, tmp_path: Path) -> None:
    register([case("a")])
    assert SOURCES.local == {"path"}
    for name in ("cases", "items", "exclusions"):
        assert str(tmp_path) not in str(read_table(tmp_path / f"{name}.parquet", TABLES[name]).to_pylist())
