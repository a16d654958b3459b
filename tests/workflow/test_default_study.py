"""The default cohort and both phantom readers, run whole through Snakemake: what cards and ranges promise."""

from __future__ import annotations

import pytest

from steadyread.contracts.files import read_rows
from steadyread.contracts.tables import ESTIMATES
from steadyread.phantom.reader.card import read_card
from steadyread.phantom.reader.recipe import READER, STEADY

pytestmark = [pytest.mark.workflow, pytest.mark.slow]

ARMS = "arms={enabled: [base, repeat, reverse, label_swap, lesion_removed, matched_removed]}"
RANGES = {
    ("accuracy", "base", None): (0.70, 0.95),
    ("flip_rate", "reverse", None): (0.02, 0.30),
    ("label_swap_inconsistency", "label_swap", None): (0.10, 1.0),
    ("overcommitment", "lesion_removed", None): (0.30, 0.95),
    ("status_share", "base", "UNSURE"): (0.02, 0.30),
}


@pytest.fixture(scope="module")
def rows(clone):
    """Estimates of both readers on all ninety patients, text readout, the whole cohort."""
    study = clone("default_readers")
    readers = f"models=[{READER.name}, {STEADY.name}]"
    study.run("--cores", "2", "--config", "phantom={patients: 90}", readers, ARMS)
    found = read_rows(study.root / "results/default/estimates/estimates.parquet", ESTIMATES)
    return [row for row in found if (row["readout"], row["stratum"]) == ("text", "all")]


def one(rows, model, metric, arm, variant=None, reference=None, denominators=("all", "label_known")):
    (row,) = (
        row
        for row in rows
        if (row["model"], row["reference_model"], row["metric"], row["arm"]) == (model, reference, metric, arm)
        and row["denominator"] in denominators
        and (variant is None or row["variant"] == variant)
    )
    return row


@pytest.mark.parametrize(("what", "bounds"), RANGES.items(), ids=[key[0] for key in RANGES])
def test_the_phantom_reader_is_as_imperfect_as_it_should_be(rows, what, bounds):
    metric, arm, variant = what
    row = one(rows, READER.name, metric, arm, variant)
    assert row["n"] == 180 and row["clusters"] == 90
    assert bounds[0] <= row["value"] <= bounds[1]


def test_what_the_steadier_reader_s_card_claims_is_shown_by_the_audit(rows, project):
    claims = read_card(project / "models" / STEADY.name)["addresses"]
    assert len(claims) >= 2
    for claim in claims:
        row = one(rows, STEADY.name, claim["metric"], claim["arm"], reference=READER.name)
        assert row["estimate_status"] == "ok"
        low, high = row["low"], row["high"]
        assert high < 0 if claim["side"] == "lower" else low > 0, row


def test_the_floor_of_both_readers_is_exactly_zero(rows):
    for name in (READER.name, STEADY.name):
        row = one(rows, name, "d_same", "base", denominators=("pairs_of_draws",))
        assert (row["value"], row["n"]) == (0, 180)
