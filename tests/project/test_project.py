"""The project as a whole says one thing in one place, and nothing that does not belong in it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from steadyread.cli.doctor import locked_versions
from steadyread.cohorts.table_adapter import COLUMNS


def tracked(project: Path) -> list[Path]:
    done = subprocess.run(["git", "ls-files", "-z"], cwd=project, capture_output=True, text=True, check=False)
    names = [name for name in done.stdout.split("\0") if name]
    if not names:
        names = [str(item.relative_to(project)) for item in project.glob("workflow/**/*.py")]
    return [project / name for name in names if (project / name).is_file()]


def test_the_conda_file_holds_the_same_pins_as_the_lock(project):
    environment = yaml.safe_load((project / "envs" / "environment.yaml").read_text())
    pip = next(item["pip"] for item in environment["dependencies"] if isinstance(item, dict))
    pins = (project / "envs" / "lock.txt").read_text().splitlines()
    assert pip == [line for line in pins if "==" in line]


def test_the_lock_holds_names_and_versions_only(project):
    lines = (project / "envs" / "lock.txt").read_text().splitlines()
    assert all(re.fullmatch(r"#.*|[a-z0-9][a-z0-9.-]*==[0-9][0-9A-Za-z.]*", line) for line in lines)


def test_what_pyproject_pins_is_what_the_lock_pins(project):
    locked = locked_versions(project / "envs" / "lock.txt")
    text = (project / "pyproject.toml").read_text()
    pinned = re.findall(r'"([a-zA-Z0-9-]+)(?:\[\w+\])?==([0-9.]+)"', text)
    assert len(pinned) >= 5
    for name, version in pinned:
        assert locked[name] == version


def test_every_import_of_the_package_is_declared(project):
    """A distribution that only came along with another may leave with it."""
    text = (project / "pyproject.toml").read_text().lower().replace("_", "-")
    modules = set()
    for path in (project / "workflow").rglob("*.py"):
        modules.update(re.findall(r"^\s*(?:import|from)\s+([a-zA-Z0-9_]+)", path.read_text(), flags=re.MULTILINE))
    foreign = {name for name in modules if name not in sys.stdlib_module_names and name != "steadyread"}
    names = {"yaml": "pyyaml", "PIL": "pillow", "skimage": "scikit-image", "ruamel": "ruamel.yaml"}
    undeclared = {name for name in foreign if names.get(name, name).lower().replace("_", "-") not in text}
    assert undeclared == set()


def test_the_table_documentation_names_every_column(project):
    text = (project / "docs" / "cohort_table.md").read_text()
    assert [name for name in COLUMNS if f"`{name}`" not in text] == []


def test_links_in_the_documents_lead_somewhere(project):
    for document in [*project.glob("*.md"), *project.glob("docs/*.md")]:
        for target in re.findall(r"\]\(([^)#]+)\)", document.read_text()):
            if not target.startswith("https://"):
                assert (document.parent / target).exists(), f"{document.name} links to {target}"


def test_commands_of_the_readme_exist(project):
    makefile = (project / "Makefile").read_text()
    for target in re.findall(r"(?:`|^)make ([a-z]+)", (project / "README.md").read_text(), flags=re.MULTILINE):
        assert f"\n{target}:" in makefile, target


def test_no_file_is_over_five_hundred_lines(project):
    long = {
        path.name: count
        for path in tracked(project)
        if path.suffix in (".py", ".smk") and (count := len(path.read_text().splitlines())) > 500
    }
    assert long == {}


def test_no_absolute_path_of_a_machine_and_no_big_file_is_in_the_project(project):
    pattern = re.compile(r"(?<![\w.])/(?:home|root|Users)/\w+")
    for path in tracked(project):
        # Nothing but the weights of the readers that ship may be large.
        most = 8_000_000 if path.match("models/*/model.safetensors") else 2_000_000
        assert path.stat().st_size < most, path.name
        if path.suffix in (".py", ".md", ".yaml", ".smk", ".toml", ".tsv", ".txt", ".rst", ".json"):
            found = pattern.search(path.read_text())
            assert found is None, f"{path.name}: {found.group()}"


@pytest.mark.parametrize("word", ["trust_remote_code=True", "pickle.load", "torch.load("])
def test_nothing_in_the_package_runs_code_that_came_with_data(project, word):
    assert [path.name for path in (project / "workflow").rglob("*.py") if word in path.read_text()] == []


def test_the_workflow_is_parsed_without_numpy_tables_or_models(project):
    files = [project / "workflow" / "Snakefile", *(project / "workflow" / "rules").glob("*.smk")]
    named = {name for file in files for name in re.findall(r"^from (steadyread\S*) import", file.read_text(), re.M)}
    assert "steadyread.stages.plan" in named
    heavy = ("numpy", "pyarrow", "scipy", "pandas", "torch", "transformers", "pydicom", "nibabel", "matplotlib")
    code = f"import sys, {', '.join(sorted(named))}; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
