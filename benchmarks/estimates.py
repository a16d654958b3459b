"""All estimates of a large study: 25 models × 20 arms × 10,000 cases of 5,000 patients.

`python -m benchmarks.estimates whole|strata` runs one part in a process of its own and prints JSON,
so that its peak memory is its own.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from steadyread.arms.registry import EVIDENCE_PRESERVING
from steadyread.config.statistics import StatisticsConfig
from steadyread.config.words import UNSURE
from steadyread.contracts.enums import SLICE_ORDER_ARMS, ArmName, Metric
from steadyread.identity.digests import digest_json
from steadyread.identity.seeds import generator
from steadyread.statistics.estimand import Context
from steadyread.statistics.estimate import side_by_side, strata_rows, whole_rows
from steadyread.statistics.evaluate import Draws
from steadyread.statistics.metrics import asked_of
from steadyread.statistics.multiplicity import adjust
from steadyread.statistics.reading import read_model
from steadyread.statistics.strata import strata_of
from steadyread.statistics.trial_index import TrialIndex, index_trials

MODELS, CASES, PATIENTS, RESAMPLES = 25, 10_000, 5_000, 10_000
LABELS = ("GBM", "MET")
OPTIONS = (*LABELS, UNSURE)
CURVES = tuple(
    metric
    for metric in Metric
    if metric.value.startswith(("dose_", "position_", "aurc", "augrc", "risk_", "coverage_at", "reliability"))
)
"""Curves, and what is read from the risk–coverage curve."""


PARTS = {
    "whole": "rates, contrasts and statistics of the whole cohort, 10,000 resamples",
    "strata": "strata and curves, 2,000 resamples",
}
HEADER = "| 25 models × 20 arms × 10,000 cases | wall, s | CPU, s | peak, GiB | rows |\n|---|---:|---:|---:|---:|"


def row(part: str, found: dict[str, float]) -> str:
    """A row of the results table."""
    return (
        f"| {PARTS[part]} | {found['seconds']:.1f} | {found['cpu_seconds']:.1f} | {found['gib']:.2f} | "
        f"{found['rows']:.0f} |"
    )


def tables() -> tuple[pa.Table, pa.Table]:
    """Trials (a row an arm and case; `repeat` is base at draw 1) and cases."""
    case = [f"c{number:05d}" for number in range(CASES)]
    patient = [f"p{number // 2:05d}" for number in range(CASES)]
    variant = {ArmName.REMOVE_FRACTION: "0.5", ArmName.ROI_AT: "0.5", ArmName.LESION_REMOVED_MARGIN: "1"}
    strata = [
        {"sequence": ("T1CE", "T2")[n % 2], "site": f"s{n // 2 % 3}", "n_slices": str(12 + n * 7919 % 13)}
        for n in range(CASES)
    ]
    parts = []
    base = [digest_json(["base", name]) for name in case]
    for arm in ArmName:
        repeat = arm is ArmName.REPEAT
        order = OPTIONS if arm is not ArmName.LABEL_SWAP else ("MET", "GBM", UNSURE)
        order = order if arm is not ArmName.LABEL_CYCLE else (UNSURE, "GBM", "MET")
        ids = base if arm is ArmName.BASE else [digest_json([arm, name]) for name in case]
        parts.append(
            pa.table(
                {
                    "trial_id": ids,
                    "item_id": case,
                    "case_id": case,
                    "cluster_id": patient,
                    "arm": [arm.value] * CASES,
                    "variant": [variant.get(arm, "")] * CASES,
                    "replicate": pa.array([0] * CASES, pa.int32()),
                    "draw": pa.array([int(repeat)] * CASES, pa.int32()),
                    "reference_trial_id": base,
                    "parent_trial_id": pa.array(base if repeat else [None] * CASES, pa.string()),
                    "model_id": pa.nulls(CASES, pa.string()),
                    "options": [list(order)] * CASES,
                    "strata": pa.array([list(facts.items()) for facts in strata], pa.map_(pa.string(), pa.string())),
                }
            )
        )
    label = [LABELS[number // 2 % 2] for number in range(CASES)]
    cases = pa.table({"case_id": case, "label": label, "split": pa.nulls(CASES, pa.string())})
    return pa.concat_tables(parts), cases


def outcomes(trials: pa.Table, model: int) -> pa.Table:
    """One model's answers: right more often than not, UNSURE at times, with a confidence."""
    random = generator("benchmark", "outcomes", model)
    count = trials.num_rows
    choice = random.choice(len(OPTIONS), size=count, p=[0.5, 0.35, 0.15])
    words = np.array(OPTIONS)[choice]
    return pa.table(
        {
            "trial_id": trials["trial_id"],
            "model_id": [f"m{model:02d}"] * count,
            "readout": ["text"] * count,
            "outcome_status": np.where(words == UNSURE, "UNSURE", "ANSWERED"),
            "answer_kind": ["choice"] * count,
            "label": words,
            "slot": pa.array(choice, pa.int32()),
            "confidence": random.beta(4, 2, size=count),
            "option_logprobs": pa.array([[-0.5, -1.5, -2.0]] * count, pa.list_(pa.float64())),
        }
    )


def contexts(index: TrialIndex, answers: Iterator[pa.Table]) -> Iterator[tuple[str, Context]]:
    """Each model's id and context, from its outcomes."""
    arms = tuple(arm for arm in ArmName if arm is not ArmName.REPEAT)
    for number, table in enumerate(answers):
        model = f"m{number:02d}"
        reading = read_model(index, table, model, "text")
        yield model, Context(reading, {"text": reading}, arms, True, EVIDENCE_PRESERVING, SLICE_ORDER_ARMS, 7)


def run_part(part: str) -> dict[str, float]:
    """Estimate one part of the study and say how long it took and how much memory the process had."""
    trials, cases = tables()
    answers = [outcomes(trials, number) for number in range(MODELS)]
    rules = StatisticsConfig(resamples=RESAMPLES, curve_resamples=2000, comparisons=())
    start, began = time.perf_counter(), time.process_time()
    index = index_trials(trials, cases, LABELS)
    draws = Draws.of(rules, index.units.patients, 7)
    if part == "strata":
        draws = replace(draws, resamples=draws.curve_resamples)
    strata = strata_of(index.units)
    rows = []

    def estimated(named: tuple[str, Context]) -> list[dict[str, Any]]:
        model, context = named
        if part == "whole":
            found = whole_rows(asked_of(context, [name for name in Metric if name not in CURVES]), index.units, draws)
        else:
            found = whole_rows(asked_of(context, CURVES), index.units, draws)
            found += strata_rows(asked_of(context), index.units, draws, strata)
        return [{"model": model, "readout": "text", **row} for row in found]

    for found in side_by_side(estimated, contexts(index, iter(answers))):
        rows += found
    adjust(rows)
    seconds, cpu = time.perf_counter() - start, time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {"seconds": seconds, "cpu_seconds": cpu, "gib": peak, "rows": len(rows), "strata": len(strata)}


def measured(part: str) -> dict[str, float]:
    """The same in a process of its own."""
    done = subprocess.run([sys.executable, "-m", "benchmarks.estimates", part], check=True, capture_output=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


if __name__ == "__main__":
    print(json.dumps(run_part(sys.argv[1])))
