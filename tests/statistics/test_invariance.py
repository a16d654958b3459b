"""No estimate depends on the order of rows, on shards, or on who else was asked."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest

from steadyread.contracts.files import logical_digest, read_table, write_table
from steadyread.contracts.tables import CASES, ESTIMATES, OUTCOMES, TRIALS
from steadyread.identity.seeds import permutation, uniform
from steadyread.stages.job import Files, shard_of
from steadyread.statistics.estimate import estimate, estimate_rows


def moody(name, share):
    """Right, but for a share of the trials."""

    def answer(asked):
        number = uniform(name, asked.trial_id)
        if number < share:
            return ("GBM", "MET", "UNSURE", "UNPARSED")[int(4 * number / share)]
        return asked.truth

    return answer


ARMS = ("base", "repeat", "reverse", "label_swap", "label_cycle", "lesion_removed", "roi_at", "matched_removed")


def confident(asked):
    """Log-probabilities of the options, another for every trial."""
    raw = [0.1 + uniform("logs", asked.trial_id, place) for place in range(len(asked.options))]
    return [math.log(value / sum(raw)) for value in raw]


@pytest.fixture(scope="module")
def study(made):
    return made(
        patients=20,
        arms=ARMS,
        extra_draws={"base": 2, "reverse": 2, "lesion_removed": 1},
        logprobs=confident,
        strata=lambda case, arm: {"sequence": case[-2:]},
    )


READERS = {"a": moody("a", 0.5), "b": moody("b", 0.9)}


def shuffled(table, name):
    return table.take(permutation(table.num_rows, "order", name))


def test_the_order_of_rows_does_not_matter(study):
    trials, cases, outcomes = study.tables(READERS, ("text", "logprob"))
    settings = study.settings(list(READERS))
    first = estimate_rows(trials, cases, outcomes, settings, "s")
    second = estimate_rows(shuffled(trials, 1), shuffled(cases, 2), shuffled(outcomes, 3), settings, "s")
    assert first == second


@pytest.mark.parametrize("shards", [3, 8])
def test_the_number_of_shards_does_not_matter(study, tmp_path, shards):
    trials, cases, outcomes = study.tables(READERS)
    patient_of = dict(zip(trials["trial_id"].to_pylist(), trials["cluster_id"].to_pylist(), strict=True))

    def estimates(number):
        folder = tmp_path / str(number)
        write_table(folder / "cases.parquet", CASES, cases)
        names = {"trials": [], "outcomes": []}
        for contract, table in ((TRIALS, trials), (OUTCOMES, outcomes)):
            where = [shard_of(patient_of[trial], number) for trial in table["trial_id"].to_pylist()]
            for shard in range(number):
                path = folder / str(shard) / f"{contract.name}.parquet"
                write_table(path, contract, table.filter(pa.array([place == shard for place in where])))
                names[contract.name].append(path)
        estimate(
            Files({"cases": folder / "cases.parquet", **names}),
            Files({"estimates": folder / "estimates.parquet"}),
            study.settings(list(READERS)),
            {"study": "sharded"},
        )
        return read_table(folder / "estimates.parquet", ESTIMATES)

    assert logical_digest(estimates(1), ESTIMATES) == logical_digest(estimates(shards), ESTIMATES)


def test_who_else_was_asked_does_not_matter_but_for_the_discovery_rate_over_the_grid(study):
    def rows_of_a(readers):
        rows = study.estimates(readers, ("text", "logprob")).all(model="a")
        return [{key: value for key, value in row.items() if key != "q_bh"} for row in rows]

    assert rows_of_a({"a": READERS["a"]}) == rows_of_a(READERS)


def test_two_models_with_the_same_answers_have_the_same_rows(study):
    found = study.estimates({"a": READERS["a"], "twin": READERS["a"]})

    def nameless(model):
        return [{key: value for key, value in row.items() if key != "model"} for row in found.all(model=model)]

    assert nameless("a") == nameless("twin")


def test_the_rows_keep_their_contract_and_hold_real_intervals(study):
    rows = study.estimates(READERS, ("text", "logprob")).rows
    table = ESTIMATES.from_rows(rows)
    assert table.num_rows == len(rows)
    methods = {row["interval_method"] for row in rows}
    assert methods == {None, "Wilson, effective n, t", "patient bootstrap, percentile"}
    wide = [row for row in rows if row["metric"] == "accuracy_difference" and row["low"] is not None]
    assert wide
    for row in wide:
        assert row["low"] < row["high"]
        assert row["resamples"] == (5000 if row["stratum"] == "all" else 2000)
