"""Tables keep their contracts, or are refused with what is wrong."""

from __future__ import annotations

import random
import stat

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from steadyread.contracts.files import contract_of, logical_digest, read_rows, read_table, write_table
from steadyread.contracts.table import ContractError
from steadyread.contracts.tables import ALL_TABLES, CASES, EMBEDDINGS, IMAGES, ITEMS, SOURCES, TRIALS

DIGEST = "0123456789abcdef" * 2


def case(**changes):
    row = {
        "case_id": "c1",
        "patient_id": "p1",
        "site": None,
        "sequence": "T1CE",
        "label": "GBM",
        "volume": DIGEST,
        "annotation": None,
        "annotation_kind": "none",
        "split": None,
        "covariates": {"age": "61"},
        "texts": {},
        "deidentified": "unknown",
        "burned_in": None,
        "source_digest": DIGEST,
    }
    return {**row, **changes}


def item(**changes):
    row = {
        "item_id": DIGEST,
        "case_id": "c1",
        "cluster_id": "p1",
        "question": "q",
        "answer_kind": "choice",
        "options": ["GBM", "MET"],
        "keys": [{"name": "label", "kind": "image", "value": "GBM"}],
    }
    return {**row, **changes}


def trial(**changes):
    row = {
        "trial_id": DIGEST,
        "item_id": DIGEST,
        "case_id": "c1",
        "cluster_id": "p1",
        "arm": "base",
        "variant": "base",
        "replicate": 0,
        "draw": 0,
        "reference_trial_id": None,
        "parent_trial_id": None,
        "model_id": None,
        "round": 1,
        "images": [DIGEST],
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "image", "text": None, "image_id": DIGEST},
                    {"type": "text", "text": "Which?", "image_id": None},
                ],
            }
        ],
        "options": ["GBM", "MET"],
        "symbols": ["A", "B"],
        "cue": None,
        "chain_step": None,
        "strata": {},
    }
    return {**row, **changes}


@pytest.mark.parametrize("table", ALL_TABLES.values(), ids=ALL_TABLES.keys())
def test_an_empty_table_keeps_its_contract_and_survives_the_disk(table, tmp_path):
    path = tmp_path / "t.parquet"
    write_table(path, table, [])
    assert read_table(path, table).num_rows == 0
    assert contract_of(path) is table
    assert set(table.key) <= set(table.schema.names)


@pytest.mark.parametrize(
    ("table", "row", "said"),
    [
        (CASES, case(colour="red"), "unknown keys ['colour']"),
        (CASES, {k: v for k, v in case().items() if k != "label"}, "lacks ['label']"),
        (CASES, case(case_id="../Smith"), "opaque id"),
        (CASES, case(annotation_kind="drawing"), "allowed: ['mask'"),
        (CASES, case(annotation_kind="mask"), "annotation is None where annotation_kind is 'mask'"),
        (CASES, case(site=3), "does not fit"),
        (CASES, case(label=True), "bool"),
        (CASES, case(source_digest="abc"), "a digest"),
        (ITEMS, item(options=["GBM", None]), "options[] holds 1 null"),
        (ITEMS, item(options="GBM"), "expected a list"),
        (ITEMS, item(keys=[{"name": "a", "kind": "b", "value": None}]), "keys[].value holds 1 null"),
        (ITEMS, item(keys=[{"name": "a", "kind": "b", "value": "c", "x": 1}]), "unknown keys ['x']"),
        (ITEMS, item(keys=[{"name": "a", "kind": "b"}]), "lacks ['value']"),
        (TRIALS, trial(arm="upside_down"), "arm holds ['upside_down']"),
        (TRIALS, trial(symbols=["A"]), "lengths (2, 1)"),
        (TRIALS, trial(images=[]), "the images of the messages"),
        (TRIALS, trial(round=3), "within [1, 2]"),
        (EMBEDDINGS, {"image_id": DIGEST, "encoder_id": "e", "vector": [1.0, None]}, "vector[] holds 1 null"),
    ],
)
def test_a_row_that_breaks_its_contract_is_refused_with_the_column(table, row, said):
    with pytest.raises(ContractError) as error:
        table.from_rows([row])
    assert said in str(error.value)
    assert f"table {table.name}" in str(error.value)


def test_a_box_has_four_sides():
    row = {
        "image_id": DIGEST,
        "parent_id": None,
        "transform": "none",
        "parameters": "{}",
        "severity": 0,
        "ssim": None,
        "psnr": None,
        "max_abs_delta": None,
        "box": [0.0, 0.0, 1.0],
        "width": 1,
        "height": 1,
        "png": b"x",
    }
    with pytest.raises(ContractError, match="does not fit"):
        IMAGES.from_rows([row])
    assert IMAGES.from_rows([{**row, "box": [0.0, 0.0, 1.0, 1.0]}]).num_rows == 1


def test_a_key_that_stands_twice_is_refused():
    with pytest.raises(ContractError, match="stands twice"):
        CASES.from_rows([case(), case(label="MET")])


def test_nothing_is_written_when_a_table_breaks_its_contract(tmp_path):
    with pytest.raises(ContractError):
        write_table(tmp_path / "cases.parquet", CASES, [case(case_id="a/b")])
    assert list(tmp_path.iterdir()) == []


def test_a_foreign_file_is_refused_with_what_differs(tmp_path):
    path = tmp_path / "cases.parquet"
    pq.write_table(pa.table({"case_id": ["a"], "colour": ["red"]}), path)
    with pytest.raises(ContractError, match="column patient_id is missing"):
        read_table(path, CASES)
    path.write_bytes(b"no parquet")
    with pytest.raises(ContractError, match="cannot read"):
        read_table(path, CASES)


def test_maps_come_back_as_dictionaries(tmp_path):
    write_table(tmp_path / "c.parquet", CASES, [case()])
    assert read_rows(tmp_path / "c.parquet", CASES) == [case()]


def test_written_files_follow_the_umask(tmp_path):
    write_table(tmp_path / "c.parquet", CASES, [case()])
    (tmp_path / "plain").write_text("")
    mode = stat.S_IMODE((tmp_path / "c.parquet").stat().st_mode)
    assert mode == stat.S_IMODE((tmp_path / "plain").stat().st_mode)


@given(st.permutations(range(6)))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20)
def test_the_order_of_rows_and_shards_does_not_count(tmp_path, order):
    rows = [case(case_id=f"c{index}") for index in range(6)]
    whole = logical_digest(CASES.from_rows(rows), CASES)
    assert logical_digest(CASES.from_rows([rows[index] for index in order]), CASES) == whole
    for number, part in enumerate((order[:2], order[2:])):
        write_table(tmp_path / f"{number}.parquet", CASES, [rows[index] for index in part])
    shards = [tmp_path / "1.parquet", tmp_path / "0.parquet"]
    assert logical_digest(read_table(shards, CASES), CASES) == whole


def test_an_image_that_two_shards_hold_counts_once(tmp_path):
    row = dict.fromkeys(IMAGES.schema.names)
    row |= {"image_id": DIGEST, "transform": "none", "parameters": "{}", "severity": 0}
    row |= {"width": 1, "height": 1, "png": b"x"}
    for name in "ab":
        write_table(tmp_path / name, IMAGES, [row])
    both = [tmp_path / "a", tmp_path / "b"]
    assert read_table(both, IMAGES).num_rows == 1
    assert read_table(both, IMAGES, columns=list(IMAGES.key)).num_rows == 1
    with pytest.raises(ContractError, match="stands twice"):
        IMAGES.from_rows([row, row])


def test_the_order_of_a_map_does_not_count():
    covariates = [(f"k{index}", str(index)) for index in range(5)]
    shuffled = covariates[:]
    random.Random(3).shuffle(shuffled)
    one, two = (CASES.from_rows([case(covariates=dict(pairs))]) for pairs in (covariates, shuffled))
    assert logical_digest(one, CASES) == logical_digest(two, CASES)


def test_every_digested_cell_counts_and_a_local_path_does_not():
    row = {"case_id": "c", "role": "volume", "path": "/a/b", "digest": DIGEST, "options": {}}

    def digest(**changes):
        return logical_digest(SOURCES.from_rows([{**row, **changes}]), SOURCES)

    assert digest() == digest(path="/elsewhere")
    assert digest() != digest(options={"x": "1"})
    assert digest() != digest(case_id="d")
