"""The dispatcher hands over files and settings, writes whole or not at all, and leaves receipts."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import get_type_hints

import pytest

from steadyread.config.base import Section
from steadyread.config.loading import load_study
from steadyread.config.words import OnBadCase
from steadyread.contracts.enums import ArmName, Reason
from steadyread.contracts.files import write_table
from steadyread.contracts.problems import CaseProblem, StudyError
from steadyread.contracts.tables import EXCLUSIONS, IMAGES
from steadyread.identity import code
from steadyread.stages import dispatch, receipts, registry, settings
from steadyread.stages.job import ExclusionLog, Files, shard_of
from steadyread.stages.registry import STAGES, Stage
from steadyread.stages.replay import replay_receipt
from steadyread.statistics.account import EXCLUDING_STAGES


class CopySettings(Section):
    """Settings of the stage the tests run."""

    times: int = 1


def copy_text(inputs: Files, outputs: Files, settings: CopySettings, wildcards) -> None:
    """Write the input `times` times; fail where the input says so, after writing half."""
    text = inputs.one("source").read_text()
    outputs.one("target").write_text(text * settings.times)
    if text == "fail":
        raise RuntimeError("half-way")
    if "folder" in outputs and text != "forget":
        outputs.one("folder").mkdir()
        (outputs.one("folder") / "a.txt").write_text(text)


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    """A root folder, and the stage `copy_text` in the registry."""
    spec = Stage("copy_text", "steadyread.contracts.problems", ("seed",))
    monkeypatch.setattr(Stage, "load", lambda self: copy_text)
    monkeypatch.setitem(STAGES, "copy_text", spec)
    (tmp_path / "in.txt").write_text("ab")

    def run(text: str = "ab", times: int = 2, folder: bool = False, **options):
        (tmp_path / "in.txt").write_text(text)
        outputs = {"target": tmp_path / "out" / "t.txt", **({"folder": tmp_path / "out" / "d"} if folder else {})}
        return dispatch.run_stage(
            "copy_text",
            {"source": tmp_path / "in.txt"},
            outputs,
            {"times": times},
            {"shard": "0"},
            root=tmp_path,
            **options,
        )

    return tmp_path, run


def test_outputs_appear_under_their_names_with_a_receipt_beside_each(workspace):
    root, run = workspace
    run(folder=True)
    assert (root / "out" / "t.txt").read_text() == "abab"
    assert (root / "out" / "d" / "a.txt").read_text() == "ab"
    assert sorted(item.name for item in (root / "out").iterdir()) == [
        "d",
        "d.receipt.json",
        "t.txt",
        "t.txt.receipt.json",
    ]


def test_a_failing_stage_leaves_the_old_output_and_no_partial_file(workspace):
    root, run = workspace
    run("ab")
    with pytest.raises(RuntimeError, match="half-way"):
        run("fail")
    assert (root / "out" / "t.txt").read_text() == "abab"
    assert not [item for item in (root / "out").iterdir() if ".part" in item.name]


def test_an_output_left_unwritten_is_an_error(workspace):
    _, run = workspace
    with pytest.raises(StudyError, match=r"unwritten: \['folder'\]"):
        run("forget", folder=True)


def test_settings_are_validated_before_the_stage_runs(workspace):
    root, _ = workspace
    with pytest.raises(ValueError, match="extra"):
        dispatch.run_stage("copy_text", {"source": root / "in.txt"}, {"target": root / "t"}, {"tmes": 2}, {}, root=root)
    assert not (root / "t").exists()


def test_a_receipt_names_no_path_outside_the_project_and_no_host(workspace, tmp_path_factory):
    root, _ = workspace
    outside = tmp_path_factory.mktemp("Smith_John") / "scan.txt"
    outside.write_text("x")
    receipt = dispatch.run_stage("copy_text", {"source": outside}, {"target": root / "t"}, {"times": 1}, {}, root=root)
    text = json.dumps(receipt)
    assert "Smith" not in text
    assert os.uname().nodename not in text
    assert receipt["inputs"][0]["path"] is None
    assert receipt["inputs"][0]["digest"]


def test_the_stage_key_depends_on_code_settings_and_inputs_and_not_on_names_or_places(workspace, monkeypatch):
    root, run = workspace
    key = run()["stage_key"]
    assert run()["stage_key"] == key
    assert run(times=3)["stage_key"] != key
    assert run("abc")["stage_key"] != key
    moved = root / "moved.txt"
    moved.write_text("ab")
    again = dispatch.run_stage(
        "copy_text", {"source": moved}, {"target": root / "x"}, {"times": 2}, {"shard": "0"}, root=root
    )
    assert again["stage_key"] == key
    monkeypatch.setattr(Stage, "code_digest", lambda self: "0" * 32)
    assert run()["stage_key"] != key


def test_receipts_chain_to_the_receipts_of_their_inputs(workspace):
    root, run = workspace
    run()
    first = root / "out" / "t.txt"
    second = dispatch.run_stage("copy_text", {"source": first}, {"target": root / "u"}, {"times": 1}, {}, root=root)
    assert second["inputs"][0]["receipt"] == receipts.receipt_digest(first)
    assert run()["inputs"][0]["receipt"] is None


def test_times_and_hosts_do_not_change_what_a_receipt_claims(workspace):
    root, run = workspace
    run()
    path = root / "out" / "t.txt.receipt.json"
    before = receipts.receipt_digest(root / "out" / "t.txt")
    receipt = json.loads(path.read_text())
    path.write_text(json.dumps({**receipt, "started": "2001-01-01", "git": {}, "hardware": {}}))
    assert receipts.receipt_digest(root / "out" / "t.txt") == before
    receipt["settings"]["times"] = 9
    path.write_text(json.dumps(receipt))
    assert receipts.receipt_digest(root / "out" / "t.txt") != before


def test_a_replay_reproduces_the_output(workspace, tmp_path_factory):
    root, run = workspace
    run(folder=True)
    found = replay_receipt(root / "out" / "t.txt.receipt.json", tmp_path_factory.mktemp("s"), root)
    assert found.holds
    assert {output.name for output in found.outputs} == {"target", "folder"}


@pytest.mark.parametrize("victim", ["out/t.txt", "out/d/a.txt"])
def test_a_replay_notices_a_tampered_output(workspace, tmp_path_factory, victim):
    root, run = workspace
    run(folder=True)
    (root / victim).write_text("tampered")
    found = replay_receipt(root / "out" / "t.txt.receipt.json", tmp_path_factory.mktemp("s"), root)
    assert not found.holds
    assert all(output.identical for output in found.outputs)


def test_a_replay_notices_a_tampered_receipt_and_a_changed_input(workspace, tmp_path_factory):
    root, run = workspace
    run()
    path = root / "out" / "t.txt.receipt.json"
    receipt = json.loads(path.read_text())
    path.write_text(json.dumps({**receipt, "settings": {"times": 5}}))
    assert not replay_receipt(path, tmp_path_factory.mktemp("s"), root).holds
    (root / "in.txt").write_text("other")
    with pytest.raises(StudyError, match="it changed since"):
        replay_receipt(path, tmp_path_factory.mktemp("s"), root)


def test_every_stage_has_an_entry_of_its_name_and_a_code_digest():
    for spec in STAGES.values():
        assert callable(spec.load())
        assert spec.load().__name__ == spec.name
        assert len(spec.code_digest()) == 32


def test_entry_modules_do_not_reach_the_registry():
    """Else every new stage would rerun all of them."""
    for spec in STAGES.values():
        closure = code.module_closure(spec.module)
        assert "steadyread.stages.registry" not in closure, spec.name
        assert "steadyread.config.study" not in closure, spec.name


OWN = {"cohort": {"table": "README.md"}, "models": ["random-idefics3", "coin-2"]}
STUDIES = ({}, OWN, {**OWN, "cohort": {"table": "README.md", "synthetic": True}, "limit": 2})


@pytest.mark.parametrize("given", STUDIES, ids=["phantom", "table", "synthetic table"])
@pytest.mark.parametrize("name", STAGES)
def test_what_a_stage_is_handed_is_what_it_takes(project, name, given):
    """A stage sees no path, so its settings must hold without one."""
    study, models = load_study(given, root=project)
    for model in ("random-idefics3", "coin-2", "medgemma-4b-it"):
        seen = settings.settings_of(name, study, models, {"model": model})
        get_type_hints(STAGES[name].load())["settings"].model_validate(seen)


def test_a_stage_sees_the_settings_it_names_and_no_path(project, monkeypatch):
    study, models = load_study({**OWN, "cohort": {"table": "README.md", "data_root": "tests"}}, root=project)
    seen = settings.settings_of("register_cohort", study, models)
    assert set(seen) == {"seed", "limit", "on_bad_case", "cohort", "question"}
    assert "table" not in seen["cohort"]
    assert "data_root" not in seen["cohort"]
    assert settings.local_of("register_cohort", study, models) == {"table": "README.md", "data_root": "tests"}


def test_what_a_job_asks_of_the_machine_is_no_setting_of_inference(project):
    study, models = load_study({}, root=project)
    seen = settings.settings_of("infer", study, models, {"model": "random-idefics3"})
    assert "resources" not in seen["model"]
    assert "licence" not in seen["model"]
    assert seen["model"]["id"] == "random-idefics3"


def test_only_settings_that_matter_reach_a_stage(project):
    one, models = load_study({}, root=project)
    two, _ = load_study({"report": {"dpi": 100}, "statistics": {"resamples": 6000}}, root=project)
    changed = {
        name
        for name in STAGES
        if settings.settings_of(name, one, models, {"model": "coin-2"})
        != settings.settings_of(name, two, models, {"model": "coin-2"})
    }
    figures = {"calibration_figure", "curves_figure", "flips_figure", "flow_diagram", "validity_table"}
    assert changed == {"estimate", "simulate_validity", "summary", *figures}


def test_files_by_name():
    files = Files({"a": "x", "b": ["y", "z"]})
    assert files.one("a") == Path("x")
    assert files.all("b") == [Path("y"), Path("z")]
    with pytest.raises(StudyError, match="one file named 'b', found 2"):
        files.one("b")


def test_a_bad_case_is_counted_or_stops_the_study():
    problem = CaseProblem(Reason.CONSTANT, "every voxel is 0")
    log = ExclusionLog("slice_volumes")
    log.add("c1", problem)
    log.add("c2", problem, arm=ArmName.REVERSE)
    assert EXCLUSIONS.from_rows(log.rows).num_rows == 2
    strict = ExclusionLog("slice_volumes", OnBadCase.STOP)
    strict.add("c2", problem, arm=ArmName.REVERSE)
    with pytest.raises(StudyError, match="c1 cannot be used"):
        strict.add("c1", problem)


def test_the_shard_of_a_patient_depends_on_the_patient_alone():
    shards = [shard_of(f"p{index}", 7) for index in range(500)]
    assert shards == [shard_of(f"p{index}", 7) for index in range(500)]
    assert set(shards) == set(range(7))
    assert registry.stage("infer").entry == "steadyread.inference.infer:infer"


def test_the_stages_that_leave_cases_out_are_stages_in_the_order_of_the_way():
    order = list(STAGES)
    assert [order.index(name) for name in EXCLUDING_STAGES] == sorted(order.index(name) for name in EXCLUDING_STAGES)


def test_nothing_is_built_on_an_input_that_was_changed_by_hand(workspace):
    root, run = workspace
    run()
    first = root / "out" / "t.txt"
    first.write_text("tampered")
    with pytest.raises(StudyError, match="changed after it was made"):
        dispatch.run_stage("copy_text", {"source": first}, {"target": root / "u"}, {"times": 1}, {}, root=root)
    assert not (root / "u").exists()


def test_what_snakemake_leaves_in_a_folder_is_no_part_of_it(tmp_path):
    (tmp_path / "a").write_text("a")
    before = receipts.output_digest(tmp_path)
    (tmp_path / ".snakemake_timestamp").touch()
    assert receipts.output_digest(tmp_path) == before
    (tmp_path / "b").touch()
    assert receipts.output_digest(tmp_path) != before


FORGERIES = {
    "entry": "steadyread.contracts.problems:other",
    "settings_digest": "0" * 32,
    "stage_key": "0" * 32,
    "code": "0" * 32,
    "distributions": {"numpy": "0"},
}


@pytest.mark.parametrize("field", FORGERIES)
def test_a_replay_notices_a_forged_receipt(workspace, tmp_path_factory, field):
    root, run = workspace
    run()
    path = root / "out" / "t.txt.receipt.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), field: FORGERIES[field]}))
    assert not replay_receipt(path, tmp_path_factory.mktemp("s"), root).holds


def test_a_replay_notices_that_an_inputs_receipt_was_forged(workspace, tmp_path_factory):
    root, run = workspace
    run()
    first = root / "out" / "t.txt"
    dispatch.run_stage("copy_text", {"source": first}, {"target": root / "u"}, {"times": 1}, {}, root=root)
    assert replay_receipt(root / "u.receipt.json", tmp_path_factory.mktemp("s"), root).holds
    beside = receipts.receipt_path(first)
    beside.write_text(json.dumps({**json.loads(beside.read_text()), "code": "0" * 32}))
    found = replay_receipt(root / "u.receipt.json", tmp_path_factory.mktemp("s"), root)
    assert not found.holds
    assert "out/t.txt" in found.faults[0]


def test_bytes_that_a_logical_digest_leaves_out_are_watched_too(workspace, tmp_path_factory):
    """The pictures in an image table are identified by another column."""
    root, _ = workspace
    row = dict.fromkeys(IMAGES.schema.names)
    row |= {"image_id": "0" * 32, "transform": "none", "parameters": "{}", "severity": 0, "width": 1, "height": 1}
    table = root / "images.parquet"
    write_table(table, IMAGES, [{**row, "png": b"one"}])
    output = {"name": "images", "path": "images.parquet", "digest": receipts.output_digest(table)}
    claim = {"receipt_version": 1, "outputs": [{**output, "sha256": receipts.file_sha256(table)}]}
    claim |= {"entry": "e", "settings": {}, "code": "c", "inputs": []}
    receipts.receipt_path(table).write_text(json.dumps(claim))
    run = {"inputs": {"source": table}, "outputs": {"target": root / "u"}, "settings": {"times": 1}, "wildcards": {}}
    write_table(table, IMAGES, [{**row, "png": b"two"}])
    assert receipts.output_digest(table) == output["digest"]
    with pytest.raises(StudyError, match="changed after it was made"):
        dispatch.run_stage("copy_text", **run, root=root)
