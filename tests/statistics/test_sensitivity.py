"""The sensitivity analysis covers exactly the contrasts that carry a p, over the same cases."""

from __future__ import annotations

import pytest

from steadyread.contracts.enums import Metric
from steadyread.contracts.files import read_rows, write_table
from steadyread.contracts.tables import CASES, ESTIMATES, OUTCOMES, SENSITIVITY, TRIALS
from steadyread.identity.seeds import uniform
from steadyread.stages.dispatch import run_stage
from steadyread.statistics.sensitivity import (
    OUTCOMES_OF,
    CheckSensitivitySettings,
    contrasts_with_p,
    sensitivity_rows,
)

KEY = ("model", "readout", "metric", "denominator", "arm", "variant", "reference_arm")


def settings(models, needed=5):
    return CheckSensitivitySettings.model_validate(
        {
            "cohort": {"labels": ("GBM", "MET")},
            "models": models,
            "statistics": {"confidence": 0.95, "min_patients_with_event": needed},
        }
    )


def moody(asked):
    """Right, but for the patient's own share of the trials, reversed slices twice as often."""
    share = 0.6 * uniform("mood", asked.case.split("-")[0]) * (2 if asked.arm == "reverse" else 1)
    if uniform("moody", asked.trial_id) < share:
        return ("GBM", "MET", "UNSURE")[int(uniform("which", asked.trial_id) * 3)]
    return asked.truth


def needs_the_lesion(asked):
    """Lets go of five in six patients where the lesion is gone, of one in six where as much else is."""
    lets_go = {"lesion_removed": 5, "matched_removed": 1}.get(asked.arm, 0)
    return "UNSURE" if int(asked.case[1:4]) % 6 < lets_go else asked.truth


def lossy(asked):
    return "ERROR" if asked.case < "p003" and asked.arm == "reverse" else moody(asked)


READERS = {"moody": moody, "needs": needs_the_lesion, "constant": lambda asked: "GBM", "lossy": lossy}


@pytest.fixture(scope="module")
def study(made):
    """Tables of a made-up study, its estimates, and its sensitivity analysis."""
    tables = (whole := made(patients=36)).tables(READERS)
    estimates = whole.estimates(READERS).rows
    return tables, estimates, sensitivity_rows(*tables, estimates, settings(list(READERS)), "made")


def one(rows, **wanted):
    (row,) = [row for row in rows if all(row[name] == value for name, value in wanted.items())]
    return row


def test_there_is_a_row_for_every_contrast_that_carries_a_p_and_no_other(study):
    _, estimates, found = study
    tested = contrasts_with_p(estimates)
    assert {tuple(row[name] for name in KEY) for row in found} == {tuple(row[name] for name in KEY) for row in tested}
    metrics = {row["metric"] for row in found}
    assert {Metric.ACCURACY_DIFFERENCE, Metric.FLIP_DIFFERENCE, Metric.OVERCOMMITMENT_DIFFERENCE} == metrics
    SENSITIVITY.from_rows(found)


def test_every_tested_contrast_has_an_event(study):
    _, estimates, found = study
    assert {Metric(row["metric"]) for row in contrasts_with_p(estimates)} <= set(OUTCOMES_OF)
    assert not [row for row in found if "no event is defined" in (row["reason"] or "")]


def test_it_runs_over_the_cases_of_the_estimates(study):
    _, estimates, found = study
    for row in found:
        primary = one(contrasts_with_p(estimates), **{name: row[name] for name in KEY})
        assert (row["n"], row["clusters"]) == (primary["n"], primary["clusters"]), row
        assert row["p_primary"] == primary["p"]


def test_a_reader_that_needs_the_lesion_is_found_by_both_tests(study):
    row = one(study[2], model="needs", metric="overcommitment_difference")
    # commits in 5 of 6 patients and in 1 of 6: odds 5 over odds ⅕
    assert row["odds_ratio"] == pytest.approx(25, rel=1e-4)
    assert row["low"] > 1
    assert row["p"] < 0.001
    assert row["p_primary"] == 1 / 1000
    assert row["agrees"] is True


def test_odds_ratios_and_differences_point_the_same_way(study):
    _, estimates, found = study
    compared = 0
    for row in found:
        primary = one(contrasts_with_p(estimates), **{name: row[name] for name in KEY})
        if row["p"] is not None and row["metric"] != "flip_difference":
            assert (row["odds_ratio"] > 1) == (primary["value"] > 0) or primary["value"] == 0
            compared += 1
    assert compared >= 4


def test_the_two_tests_agree_where_both_are_on_one_side_of_the_level(study):
    fitted = [row for row in study[2] if row["p"] is not None]
    assert fitted
    for row in fitted:
        assert row["level"] == 0.05
        assert row["agrees"] == ((row["p"] <= 0.05) == (row["p_primary"] <= 0.05))


def test_a_reader_that_never_changes_has_no_odds_ratio_and_a_reason(study):
    for row in study[2]:
        if row["model"] == "constant" and row["arm"] == "reverse":
            assert row["estimate_status"] == "undefined"
            assert row["agrees"] is None
            assert "no case differs" in row["reason"] or "no case counts" in row["reason"]


def test_lost_answers_make_it_incomplete(study):
    row = one(study[2], model="lossy", metric="accuracy_difference", arm="reverse")
    assert row["estimate_status"] == "incomplete"
    assert row["reason"].startswith("answers of 6 cases ended in an ERROR")
    assert row["n"] == 66


def test_the_order_of_rows_and_columns_beyond_those_read_do_not_matter(study):
    (trials, cases, outcomes), estimates, found = study
    shuffled = [table.take(list(reversed(range(table.num_rows)))) for table in (trials, cases, outcomes)]
    again = sensitivity_rows(*shuffled, estimates[::-1], settings(list(READERS)), "made")
    assert SENSITIVITY.from_rows(again).equals(SENSITIVITY.from_rows(found))


def test_the_stage_writes_what_its_functions_say(study, tmp_path):
    tables, estimates, found = study
    paths = {name: tmp_path / f"{name}.parquet" for name in ("trials", "cases", "outcomes", "estimates", "out")}
    for (name, contract), table in zip(
        {"trials": TRIALS, "cases": CASES, "outcomes": OUTCOMES, "estimates": ESTIMATES}.items(),
        (*tables, estimates),
        strict=True,
    ):
        write_table(paths[name], contract, table)
    inputs = {name: path for name, path in paths.items() if name != "out"}
    run_stage(
        "check_sensitivity",
        inputs,
        {"sensitivity": paths["out"]},
        settings(list(READERS)).model_dump(mode="json"),
        {"study": "made"},
        root=tmp_path,
    )
    assert read_rows(paths["out"], SENSITIVITY) == SENSITIVITY.from_rows(found).to_pylist()


def test_a_study_without_a_tested_contrast_has_an_empty_table(made):
    study = made(arms=("base",))
    readers = {"constant": lambda asked: "GBM"}
    rows = study.estimates(readers).rows
    assert sensitivity_rows(*study.tables(readers), rows, settings(["constant"]), "made") == []
