"""The rule graph, from dry runs over trees of empty files: which jobs run, and which do not."""

from __future__ import annotations

import os
import re
import shutil
import time
from pathlib import Path

import pytest

from steadyread.config.loading import load_study
from steadyread.identity.digests import digest_json

pytestmark = pytest.mark.workflow

NOW = time.time()
STUDIES = ("default", "real_sample", "s1_full")
PROFILES = ((), ("--profile", "slurm"))
PER_SHARD = ("slice_volumes", "mark_lesions", "perturb_images", "compose_trials")
ONCE = (
    *("register_cohort", "check_cohort", "estimate", "account_cases", "main_table", "flips_figure", "flow_diagram"),
    *("plan_analysis", "published_table", "strata_table", "curves_figure", "calibration_figure", "sensitivity_table"),
)


def fill(root: Path, study: str, *folders: str, shards: int = 2, models: tuple[str, ...] = ()) -> None:
    """Write empty files where a stage's outputs lie."""
    base = root / "results" / study
    files = {
        "cohort": [f"cohort/{n}.parquet" for n in ("cases", "sources", "items", "exclusions")],
        "slices": [
            f"{folder}/{shard}/{n}.parquet"
            for shard in range(shards)
            for folder, names in {
                "slices": ("slices", "exclusions", "lesion_slices", "lesion_exclusions"),
                "images": ("images", "derived"),
            }.items()
            for n in names
        ],
        "trials": [
            "trials/gate.json",
            *(f"trials/r1/{s}/{n}.parquet" for s in range(shards) for n in ("trials", "manifests", "exclusions")),
        ],
        "responses": [f"responses/{model}/0/responses.parquet" for model in models],
        "outcomes": [f"outcomes/{model}/0/outcomes.parquet" for model in models],
    }
    for folder in folders:
        for name in files[folder]:
            (base / name).parent.mkdir(parents=True, exist_ok=True)
            (base / name).touch()
            # What a stage makes is newer than what it was made from, the prompt among it.
            moment = NOW + list(files).index(folder)
            os.utime(base / name, (moment, moment))


@pytest.fixture(autouse=True)
def clean(tree):
    yield
    for name in ("results", "reports", ".snakemake"):
        shutil.rmtree(tree.root / name, ignore_errors=True)


@pytest.mark.parametrize("profile", PROFILES, ids=["default", "slurm"])
@pytest.mark.parametrize("study", STUDIES)
def test_every_study_under_every_profile_plans_the_whole_way(tree, study, profile):
    planned = tree.planned(*profile, "--config", f"study={study}")
    assert planned["default"] == 1
    for rule in ONCE:
        assert planned[rule] == 1, rule
    for rule in PER_SHARD:
        assert planned[rule] == planned["slice_volumes"], rule
    assert planned["infer"] == planned["score"] >= 2
    assert ("make_phantom" in planned) == (study != "real_sample")


def test_every_study_file_is_in_this_matrix(project):
    files = {path.stem for path in (project / "config" / "studies").glob("*.yaml")}
    assert files == set(STUDIES) - {"default"}


@pytest.mark.parametrize("shards", [1, 3, 8])
def test_jobs_grow_with_shards_and_not_with_cases(tree, shards):
    planned = tree.planned("--config", f"shards={shards}")
    assert all(planned[rule] == shards for rule in PER_SHARD)
    study, _ = load_study({}, root=tree.root)
    assert planned["infer"] == len(study.models)


@pytest.mark.parametrize("groups", [1, 2])
def test_inference_is_one_job_per_model_and_group(tree, groups):
    planned = tree.planned("--config", "shards=4", f"inference={{groups: {groups}}}", "models=[coin-2, constant-label]")
    assert planned["infer"] == planned["score"] == 2 * groups
    assert "build_random_model" not in planned


@pytest.mark.parametrize(
    ("target", "absent"),
    [
        ("cohort", "compose_trials"),
        ("trials", "infer"),
        ("outcomes", "estimate"),
        ("tables", "flips_figure"),
        ("figures", "main_table"),
    ],
)
def test_a_target_stops_where_it_says(tree, target, absent):
    planned = tree.planned(target)
    assert absent not in planned
    assert planned["slice_volumes"] == 2


def test_what_is_there_is_not_made_again(tree):
    study, _ = load_study({}, root=tree.root)
    options = digest_json(study.phantom.model_dump(mode="json"))[:8]
    phantom = tree.root / "results" / "phantom_cohort" / f"{study.seed}-{options}"
    (phantom / "files").mkdir(parents=True)
    for name in ("cohort.tsv", "recorded.json"):
        (phantom / name).touch()
        os.utime(phantom / name, (1_600_000_000, 1_600_000_000))
    fill(tree.root, "default", "cohort", "slices")
    assert not {"slice_volumes", "register_cohort", "make_phantom"} & set(tree.planned())
    fill(tree.root, "default", "trials")
    assert "compose_trials" not in tree.planned()
    fill(tree.root, "default", "responses", "outcomes", models=study.models)
    assert not {"infer", "score"} & set(tree.planned())


def test_a_limit_is_a_tree_of_its_own(tree):
    text = tree.run("-n", "--config", "limit=4")
    assert "results/default-limit4/cohort/cases.parquet" in text
    assert "results/default/cohort" not in text


def test_a_dry_run_writes_nothing_into_a_study(tree):
    """Not even the plan of its analysis."""
    assert tree.planned()["plan_analysis"] == 1
    assert not (tree.root / "results").exists()


def test_a_changed_analysis_asks_no_model_again(tree):
    """The plan is no input of inference."""
    text = (tree.root / "workflow" / "rules" / "inference.smk").read_text()
    assert "analysis_plan" not in text
    planned = tree.planned("outcomes", "--config", "models=[coin-2]")
    assert "infer" in planned
    assert "plan_analysis" not in planned


def test_a_configfile_is_read_whole(tree):
    (tree.root / "other.yaml").write_text("study: other\nshards: 5\nmodels: [coin-2]\n")
    planned = tree.planned("--configfile", "other.yaml")
    assert planned["slice_volumes"] == 5
    assert planned["infer"] == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--config", "shrds=3"), ["shrds: unknown key", "Did you mean shards?"]),
        (("--config", "study=nothing"), ["no study 'nothing'", "real_sample"]),
        (("--config", "arms={enabled: [base, sideways]}"), ["arms.enabled", "sideways", "reverse"]),
        (("--config", "models=[gpt-17]"), ["gpt-17", "constant-label"]),
        (("--config", "cohort={table: nowhere.tsv}"), ["cohort.table", "nowhere.tsv"]),
        (("--configfile", "wrong.yaml"), ["wrong.yaml", "slicing.sise"]),
    ],
)
def test_a_wrong_configuration_stops_at_parse_time(tree, arguments, words):
    (tree.root / "wrong.yaml").write_text("study: wrong\nslicing: {sise: 3}\n")
    text = tree.run("-n", *arguments, expect=1)
    for word in words:
        assert word in text
    assert "Traceback" not in text


def test_targets_are_documented(tree):
    text = tree.run("--list-target-rules")
    for target in ("all", "cohort", "trials", "outcomes", "tables", "figures", "notebook"):
        assert re.search(rf"^{target} \(\w.+\)", text, flags=re.MULTILINE), f"{target} is listed without a word"


def test_snakemake_s_linter_finds_nothing_but_the_missing_conda_directives(tree):
    """One environment serves every rule; that is the design."""
    text = tree.run("--lint", expect=1)
    titles = set(re.findall(r"^    \* (.+?):?$", text, flags=re.MULTILINE))
    assert titles == {"Specify a conda environment or container for each rule."}


def test_the_profiles_set_no_key_twice(project):
    import yaml

    default, slurm = (
        yaml.safe_load((project / "profiles" / name / "profile.yaml").read_text()) for name in ("default", "slurm")
    )
    assert not set(default) & set(slurm)


def test_rules_keep_one_order_of_directives(project):
    order = ["input", "output", "log", "threads", "resources", "params", "message", "script"]
    for file in (project / "workflow" / "rules").glob("*.smk"):
        for body in re.split(r"^rule \w+:", file.read_text(), flags=re.MULTILINE)[1:]:
            found = re.findall(r"^    (\w+):", body, flags=re.MULTILINE)
            assert found == [name for name in order if name in found], f"{file.name}: {found}"
