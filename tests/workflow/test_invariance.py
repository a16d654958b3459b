"""No number depends on the number of shards, or on what the journal already knew."""

from __future__ import annotations

from pathlib import Path

import pytest

from steadyread.contracts.files import logical_digest, read_table
from steadyread.contracts.tables import ALL_TABLES

pytestmark = [pytest.mark.workflow, pytest.mark.slow]

MODELS = "models=[random-idefics3, constant-slot-1, coin-2]"
PER_SHARD = {
    "slices": "slices/*/slices.parquet",
    "lesion_slices": "slices/*/lesion_slices.parquet",
    "images": "images/*/images.parquet",
    "trials": "trials/r1/*/trials.parquet",
    "manifests": "trials/r1/*/manifests.parquet",
    "responses": "responses/*/*/responses.parquet",
    "outcomes": "outcomes/*/*/outcomes.parquet",
    "estimates": "estimates/estimates.parquet",
    "flow": "estimates/flow.parquet",
}


def tables(results: Path) -> dict[str, str]:
    """The logical digest of each table, whatever its shards."""
    found = {}
    for name, pattern in PER_SHARD.items():
        files = sorted(results.glob(pattern))
        assert files, pattern
        found[name] = logical_digest(read_table(files, ALL_TABLES[name]), ALL_TABLES[name])
    return found


@pytest.fixture(scope="module")
def by_shards(clone):
    """Tables of a study of four patients in 1, 3 and 8 shards, each asked anew."""
    found = {}
    for shards in (1, 3, 8):
        made = clone(f"shards{shards}")
        made.run("--config", "limit=4", f"shards={shards}", MODELS)
        found[shards] = (tables(made.root / "results/default-limit4"), made)
    return found


def test_one_three_and_eight_shards_give_equal_tables(by_shards):
    one, three, eight = (by_shards[shards][0] for shards in (1, 3, 8))
    assert one == three == eight


def test_main_tables_are_equal_to_the_byte(by_shards):
    texts = {(made.root / "reports/default-limit4/tables/main.csv").read_bytes() for _, made in by_shards.values()}
    assert len(texts) == 1


def test_groups_and_a_full_journal_change_nothing(by_shards):
    whole, made = by_shards[3]
    results = made.root / "results/default-limit4"
    for name in ("responses", "outcomes", "estimates"):
        for path in sorted((results / name).rglob("*.parquet")):
            path.unlink()
    made.run("--config", "limit=4", "shards=3", MODELS, "inference={groups: 3}")
    assert len(list((results / "responses").glob("*/*/responses.parquet"))) == 9
    assert tables(results) == whole
