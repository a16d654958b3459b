"""A user's own folder of NIfTI files and a table: what works, and what is said where it does not."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import nibabel
import numpy as np
import pytest

from steadyread.contracts.enums import LESION_ARMS
from steadyread.contracts.files import read_rows
from steadyread.contracts.tables import CASES, EXCLUSIONS, FLOW, RESPONSES
from steadyread.phantom.random_model import write_random_model
from steadyread.stages.dispatch import run_stage

pytestmark = [pytest.mark.workflow, pytest.mark.slow]

NAME = "Zweistein_Otto"
MINE = """study: mine
cohort: {table: mydata/cohort.tsv, labels: [GBM, MET]}
models: [constant-slot-1, coin-2]
shards: 1
"""


@pytest.fixture(scope="module")
def volumes(tmp_path_factory) -> list[tuple[Path, Path]]:
    """NIfTI volumes of the phantom with their masks."""
    folder = tmp_path_factory.mktemp("phantom")
    outputs = {"table": folder / "cohort.tsv", "files": folder / "files", "recorded": folder / "recorded.json"}
    settings = {"seed": 7, "phantom": {"patients": 12}}
    run_stage("make_phantom", {}, outputs, settings, {}, root=folder, receipts=False)
    lines = [line.split("\t") for line in (folder / "cohort.tsv").read_text().splitlines()]
    rows = [dict(zip(lines[0], line, strict=True)) for line in lines[1:]]
    masked = [row for row in rows if row["annotation_kind"] == "mask"]
    return [(folder / row["volume"], folder / row["annotation"]) for row in masked]


@pytest.fixture
def mine(clone, volumes):
    """A clone with a user's folder of six cases, named after a patient."""
    made = clone("mine")
    data = made.root / "mydata"
    rows = ["case_id\tpatient_id\tlabel\tvolume\tannotation\tlesion_labels"]
    for number, (volume, mask) in enumerate(volumes[:6]):
        folder = data / f"{NAME}_{number}"
        folder.mkdir(parents=True)
        shutil.copy(volume, folder / "t1.nii.gz")
        shutil.copy(mask, folder / "mask.nii.gz")
        label = ("GBM", "MET", "")[number % 3]
        rows.append(f"c{number}\tp{number}\t{label}\t{NAME}_{number}/t1.nii.gz\t{NAME}_{number}/mask.nii.gz\t1,2")
    (data / "cohort.tsv").write_text("\n".join(rows) + "\n")
    (made.root / "config" / "studies" / "mine.yaml").write_text(MINE)
    return made


def exclusions(made) -> set[tuple[str, str | None, str]]:
    files = sorted((made.root / "results" / "mine").rglob("*xclusions.parquet"))
    return {(row["case_id"], row["arm"], row["reason"]) for row in read_rows(files, EXCLUSIONS)}


def test_a_folder_and_a_table_are_all_it_takes(mine):
    mine.run("--config", "study=mine")
    cases = read_rows(mine.root / "results/mine/cohort/cases.parquet", CASES)
    assert [row["label"] for row in cases] == ["GBM", "MET", None] * 2
    assert (mine.root / "reports/mine/summary.html").is_file()
    assert exclusions(mine) == set()
    page = (mine.root / "reports/mine/summary.html").read_text()
    assert "made, not acquired" not in page


def test_no_name_in_a_path_reaches_a_log_a_table_a_receipt_or_a_report(mine):
    mine.run("--config", "study=mine")
    seen = 0
    for path in [*(mine.root / "results").rglob("*"), *(mine.root / "reports").rglob("*")]:
        if path.is_file() and path.name != "sources.parquet":
            seen += 1
            content = path.read_bytes()
            assert NAME.encode() not in content, path
            if path.suffix == ".parquet":
                import pyarrow.parquet as pq

                assert NAME not in str(pq.read_table(path).drop_columns(_binary(path)).to_pylist()), path
    assert seen > 30


def _binary(path: Path) -> list[str]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    return [item.name for item in pq.read_schema(path) if pa.types.is_binary(item.type)]


def test_bad_cases_are_left_out_with_their_reason_and_the_rest_goes_on(mine):
    data = mine.root / "mydata"
    (data / f"{NAME}_0" / "t1.nii.gz").unlink()
    truncated = data / f"{NAME}_1" / "t1.nii.gz"
    truncated.write_bytes(truncated.read_bytes()[:4000])
    image = nibabel.load(data / f"{NAME}_2" / "t1.nii.gz")
    flat = nibabel.Nifti1Image(np.zeros(image.shape, np.int16), image.affine)
    nibabel.save(flat, data / f"{NAME}_2" / "t1.nii.gz")
    other = nibabel.Nifti1Image(np.ones((5, 6, 7), np.uint8), np.diag([1, 1, 1, 1]) + np.eye(4, k=3) * 4000)
    nibabel.save(other, data / f"{NAME}_3" / "mask.nii.gz")
    (data / f"{NAME}_4" / "mask.nii.gz").write_bytes(gzip.compress(b"no image"))
    mine.run("--config", "study=mine")
    found = exclusions(mine)
    lesion_arms = [arm.value for arm in LESION_ARMS]
    assert {item for item in found if item[1] is None} == {
        ("c0", None, "missing_file"),
        ("c1", None, "truncated_file"),
        ("c2", None, "constant"),
    }
    assert {item for item in found if item[0] == "c3"} == {("c3", arm, "annotation_other_space") for arm in lesion_arms}
    assert {item for item in found if item[0] == "c4"} == {("c4", arm, "annotation_unreadable") for arm in lesion_arms}
    flow = read_rows(mine.root / "results/mine/estimates/flow.parquet", FLOW)
    base = next(row for row in flow if row["arm"] == "base")
    assert (base["cases_in"], base["analysed"], base["excluded"]) == (6, 3, 3)
    removed = next(row for row in flow if row["arm"] == "lesion_removed")
    assert (removed["analysed"], removed["excluded"]) == (1, 5)


def test_a_bad_case_stops_a_study_that_is_to_stop_and_says_which(mine):
    (mine.root / "mydata" / f"{NAME}_0" / "t1.nii.gz").unlink()
    text = mine.run("--config", "study=mine", "on_bad_case=stop", expect=1)
    assert "case c0 cannot be used" in text
    assert "Traceback" not in text


def test_too_few_cases_stop_before_any_model_is_asked(mine):
    text = mine.run("--config", "study=mine", "cohort={min_patients: 7}", expect=1)
    assert "7" in text
    assert not (mine.root / "results/mine/responses").exists()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("label\t", "lable\t", ["unknown columns", "lable", "label"]),
        ("GBM", "GMB", ["label", "allowed are ['GBM', 'MET']"]),
        ("c1\t", "c0\t", ["case_id stands more than once"]),
        ("c1\t", "../c1\t", ["case_id", "opaque id"]),
        (f"{NAME}_1/t1", "../../elsewhere/t1", ["row"]),
    ],
)
def test_a_wrong_table_stops_and_says_where(mine, old, new, words):
    table = mine.root / "mydata" / "cohort.tsv"
    table.write_text(table.read_text().replace(old, new, 1))
    text = mine.run("--config", "study=mine", expect=1)
    for word in words:
        assert word in text, text[-2000:]
    assert "Traceback" not in text


def test_an_own_model_is_a_folder_and_one_line_and_a_change_in_it_is_noticed(mine):
    """The README's "own model in three", with the random model as somebody's folder."""
    folder = mine.root / "elsewhere"
    write_random_model(folder, 3)
    models = mine.root / "config" / "models.yaml"
    entry = (
        "{id: my-model, family: idefics3, backend: transformers, source: {kind: folder, path: elsewhere}, licence: MIT}"
    )
    models.write_text(models.read_text() + f"  - {entry}\n")
    study = ("--config", "study=mine", "models=[my-model, constant-slot-1]", "limit=2")
    mine.run(*study)
    rows = read_rows(mine.root / "results/mine-limit2/responses/my-model/0/responses.parquet", RESPONSES)
    assert len(rows) > 10
    assert {row["error"] for row in rows} == {None}
    assert mine.planned(*study) == {}
    write_random_model(folder, 4)
    planned = mine.planned(*study)
    assert {"list_snapshot", "infer", "score", "estimate"} <= set(planned)
    assert planned["infer"] == 1
    assert "slice_volumes" not in planned
