"""Configuration is typed and closed, and says what is wrong before any work."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from steadyread.config.arms import ArmsConfig
from steadyread.config.generate import drift
from steadyread.config.loading import load_study
from steadyread.config.question import QuestionConfig
from steadyread.config.study import StudyConfig
from steadyread.contracts.enums import ArmName
from steadyread.contracts.problems import StudyError

TABLE = "case_id\tpatient_id\tvolume\n"


@pytest.fixture
def root(tmp_path, project):
    """A project with the real configuration files and a study `mine`."""
    (tmp_path / "config" / "studies").mkdir(parents=True)
    for name in ("config.yaml", "models.yaml"):
        (tmp_path / "config" / name).write_text((project / "config" / name).read_text())
    (tmp_path / "config" / "prompts").symlink_to(project / "config" / "prompts")
    (tmp_path / "cohort.tsv").write_text(TABLE)
    return tmp_path


def write(root: Path, text: str) -> None:
    (root / "config" / "studies" / "mine.yaml").write_text("study: mine\n" + text)


def said(root: Path, text: str, **overrides) -> str:
    write(root, text)
    with pytest.raises(StudyError) as error:
        load_study({"study": "mine", **overrides}, root=root)
    return str(error.value)


def test_generated_files_agree_with_the_models(project, monkeypatch):
    monkeypatch.chdir(project)
    assert drift(project) == ""


def test_the_default_file_says_what_the_models_default_to(project):
    content = yaml.safe_load((project / "config" / "config.yaml").read_text())
    assert StudyConfig.model_validate(content) == StudyConfig()


def test_every_key_is_described(project):
    def undescribed(node, path=""):
        for name, value in node.get("properties", {}).items():
            target = value
            if "$ref" not in value and not value.get("description") and "const" not in value:
                yield f"{path}{name}"
            yield from undescribed(target, f"{path}{name}.")

    for name in ("config", "models", "prompt"):
        schema = json.loads((project / "workflow" / "schemas" / f"{name}.schema.json").read_text())
        nodes = [schema, *schema.get("$defs", {}).values()]
        assert [key for node in nodes for key in undescribed(node)] == []


def test_every_study_file_fits_the_schema(project):
    schema = json.loads((project / "workflow" / "schemas" / "config.schema.json").read_text())
    files = [project / "config" / "config.yaml", *(project / "config" / "studies").glob("*.yaml")]
    assert len(files) >= 2
    for file in files:
        jsonschema.validate(yaml.safe_load(file.read_text()), schema)


def test_the_models_file_fits_its_schema(project):
    schema = json.loads((project / "workflow" / "schemas" / "models.schema.json").read_text())
    jsonschema.validate(yaml.safe_load((project / "config" / "models.yaml").read_text()), schema)


def test_a_study_states_only_what_differs(root):
    write(root, "cohort: {table: cohort.tsv}\nslicing: {max_slices: 8}\n")
    study, _ = load_study({"study": "mine"}, root=root)
    assert study.slicing.max_slices == 8
    assert study.slicing.size == StudyConfig().slicing.size


def test_the_command_line_wins_key_by_key(root):
    write(root, "cohort: {table: cohort.tsv}\nslicing: {max_slices: 8, size: 64}\n")
    study, _ = load_study({"study": "mine", "slicing": {"max_slices": 4}, "limit": 3}, root=root)
    assert (study.slicing.max_slices, study.slicing.size, study.name) == (4, 64, "mine-limit3")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("slicing: {sise: 64}", ["config/studies/mine.yaml", "slicing.sise", "unknown key", "Did you mean size?"]),
        ("slicing: {window: {low: 1}}", ["slicing.window.low", "high_percentile, low_percentile"]),
        ("arm: {enabled: [base]}", ["arm: unknown key", "Did you mean arms?"]),
        ("arms: {enabled: [base, revers]}", ["arms.enabled.1", "'revers'", "Did you mean reverse?"]),
        ("arms: {enabled: [reverse]}", ["arms", "`base`"]),
        ("arms: {enabled: [base, matched_removed]}", ["control for lesion_removed"]),
        ("arms: {shuffles: 6}", ["arms.shuffles", "less than or equal to 5"]),
        ("arms: {shuffles: 0}", ["arms.shuffles", "greater than or equal to 1"]),
        ("arms: {fractions: [0, 0.5]}", ["arms.fractions.0", "greater than 0"]),
        ("arms: {fractions: [0.5, 0.25]}", ["arms.fractions", "ascending and distinct", "[0.5, 0.25]"]),
        ("arms: {fractions: []}", ["arms.fractions", "at least 1"]),
        ("arms: {positions: [0.5, 1.25]}", ["arms.positions.1", "less than or equal to 1"]),
        ("arms: {positions: [0.5, 0.5]}", ["arms.positions", "ascending and distinct"]),
        ("arms: {margin: 0}", ["arms.margin", "greater than or equal to 1"]),
        ("shards: many", ["shards", "integer", "'many'"]),
        ("cohort: {table: cohort.tsv, labels: [glioblastoma, GBM]}", ["cohort.labels", "glioblastoma"]),
        ("cohort: {table: cohort.tsv, labels: [GBM, uncertain]}", ["cohort.labels", "uncertain"]),
        ("cohort: {table: cohort.tsv, labels: [B, A]}", ["cohort.labels"]),
        ("shards: true", ["shards is true"]),
        ("limit: true", ["limit is true"]),
        ("lesions: {min_area_mm2: .inf}", ["lesions.min_area_mm2", "finite"]),
        ("cohort: {synthetic: false}", ["phantom cohort", "made, not acquired"]),
        ("shards: 0", ["shards", "greater than or equal to 1"]),
        ("shards: 1\nshards: 2", ["mine.yaml", "shards"]),
        ("models: [constnt-label]", ["constnt-label", "constant-label", "Did you mean"]),
        ("models: [constant-label, constant-label]", ["named twice"]),
        ("models: [medgemma-4b-it]", ["no revision", "steadyread fetch-models medgemma-4b-it"]),
        ("cohort: {table: nowhere.tsv}", ["cohort.table", "nowhere.tsv"]),
        ("cohort: {table: cohort.tsv, data_root: nowhere}", ["cohort.data_root", "nowhere"]),
        ("cohort: {table: $STEADYREAD_UNSET_X/c.tsv}", ["STEADYREAD_UNSET_X is not set"]),
        ("cohort: {table: cohort.tsv, labels: [GBM, gbm]}", ["labels must differ"]),
        ("cohort: {table: cohort.tsv, labels: [GBM, Unsure]}", ["question.unsure"]),
        ("question: {prompt: nothing}", ["no prompt 'nothing'", "diagnose_brain_mri"]),
        ("slicing: {window: {low_percentile: 99, high_percentile: 1}}", ["low_percentile must be below"]),
        ("statistics: {resamples: 10}", ["statistics.resamples", "5000"]),
        ("inference: {groups: 9}", ["inference.groups", "shards"]),
        ("- a list", ["mine.yaml"]),
        ("seed: [", ["mine.yaml"]),
    ],
)
def test_a_wrong_configuration_stops_naming_file_key_and_what_is_allowed(root, text, words):
    message = said(root, text)
    for word in words:
        assert word in message, f"{word!r} is not in: {message}"


def test_a_reserved_name_is_refused(root):
    (root / "config" / "studies" / "models.yaml").write_text("study: models\n")
    with pytest.raises(StudyError, match="folder of results"):
        load_study({"study": "models"}, root=root)


def test_an_unknown_study_names_those_that_exist(root):
    write(root, "")
    with pytest.raises(StudyError, match=r"known: default, mine\. Did you mean mine\?"):
        load_study({"study": "mien"}, root=root)


def test_more_slices_than_a_model_takes_are_refused(root):
    models = yaml.safe_load((root / "config" / "models.yaml").read_text())
    for entry in models["models"]:
        if entry["id"] == "constant-label":
            entry["max_images"] = 4
    (root / "config" / "models.yaml").write_text(yaml.safe_dump(models))
    assert "slicing.max_slices is 24" in said(root, "models: [constant-label]")


def test_a_folder_of_another_family_is_refused_with_its_own(root):
    (root / "model").mkdir()
    (root / "model" / "config.json").write_text('{"model_type": "idefics3"}')
    entry = {"id": "mine", "family": "llava", "backend": "transformers", "licence": "MIT"}
    models = yaml.safe_load((root / "config" / "models.yaml").read_text())
    models["models"].append({**entry, "source": {"kind": "folder", "path": "model"}})
    (root / "config" / "models.yaml").write_text(yaml.safe_dump(models))
    assert "model_type 'idefics3'" in said(root, "models: [mine]")


def test_the_lock_gives_a_hub_model_its_revision(root):
    revision = "0123456789" * 4
    lock = {"models": {"medgemma-4b-it": {"repository": "google/medgemma-4b-it", "revision": revision, "weights": {}}}}
    (root / "config" / "models.lock.yaml").write_text(yaml.safe_dump(lock))
    write(root, "models: [medgemma-4b-it]\n")
    _, models = load_study({"study": "mine"}, root=root)
    assert models.by_id("medgemma-4b-it").source.revision == revision


def test_a_lock_for_another_repository_is_refused(root):
    lock = {"models": {"medgemma-4b-it": {"repository": "x/y", "revision": "0123456789" * 4, "weights": {}}}}
    (root / "config" / "models.lock.yaml").write_text(yaml.safe_dump(lock))
    assert "Fetch it again" in said(root, "models: [medgemma-4b-it]")


def test_what_the_configuration_shows_is_what_is_asked(project):
    """Without UNSURE there is no first place for it."""
    assert "abstain_first" in StudyConfig().arms.enabled
    for given in ({}, {"arms": {"enabled": ["base", "abstain_first", "reverse"]}}, {"arms": ArmsConfig()}):
        study = StudyConfig.model_validate({"question": {"unsure": False}, **given})
        assert "abstain_first" not in study.arms.enabled
        assert "base" in study.arms.enabled
    assert StudyConfig(question=QuestionConfig(unsure=False)).arms.enabled == tuple(
        arm for arm in ArmName if arm is not ArmName.ABSTAIN_FIRST
    )


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("mention_preamble: ", "# mention_preamble: ", ["mention_only", "mention_preamble is None"]),
        ("Which diagnosis", "Which diagnosis of the right side", ["['right']", "reverse, shuffle"]),
        ("Answer with", "Name what the scan shows with", ["['scan']", "no_image"]),
    ],
)
def test_a_wording_that_an_arm_must_not_use_stops_before_any_work(root, project, old, new, said):
    prompts = root / "config" / "prompts"
    prompts.unlink()
    prompts.mkdir()
    text = (project / "config" / "prompts" / "diagnose_brain_mri.yaml").read_text()
    (prompts / "diagnose_brain_mri.yaml").write_text(text.replace(old, new))
    with pytest.raises(StudyError) as error:
        load_study({}, root=root)
    for words in (*said, "question.prompt"):
        assert words in str(error.value)


def test_the_full_grid_is_the_protocol_s(project):
    study, _ = load_study({"study": "s1_full"}, root=project)
    assert study.arms.enabled == tuple(ArmName)
    assert study.arms.shuffles == 5
    assert study.arms.fractions == (0.25, 0.5, 0.75, 1)
    assert study.arms.positions == (0, 0.25, 0.5, 0.75, 1)
    assert study.cohort.table is None


def test_own_data_are_not_read_by_the_phantom_readers_unasked(project):
    own = {"study": "mine", "cohort": {"table": "README.md"}}
    study = StudyConfig.model_validate(own)
    assert "random-idefics3" in study.models
    assert not [name for name in study.models if name.startswith("phantom-reader")]
    assert StudyConfig.model_validate({**own, "models": ["coin-2"]}).models == ("coin-2",)


def test_a_phantom_reader_is_refused_where_images_were_not_made_for_it(project):
    table = {"cohort": {"table": "README.md"}, "models": ["phantom-reader"]}
    with pytest.raises(StudyError, match="trained on the phantom alone"):
        load_study(table, root=project)


def test_the_phantom_has_its_own_labels(project):
    with pytest.raises(StudyError, match=r"cohort\.labels: \['AAA', 'BBB'\], but the phantom cohort"):
        load_study({"cohort": {"labels": ["AAA", "BBB"]}}, root=project)


@pytest.mark.parametrize(("given", "warned"), [({}, False), ({"slicing": {"size": 112}}, True)])
def test_a_phantom_reader_asked_through_another_slicing_is_said(project, caplog, given, warned):
    load_study(given, root=project)
    assert ("trained through the default prompt and slicing" in caplog.text) == warned
