"""The notebook is kept as papermill needs it and as git can read it."""

from __future__ import annotations

import ast
import json


def test_the_notebook_has_parameters_no_output_and_code_that_parses(project):
    notebook = json.loads((project / "notebooks" / "walkthrough.ipynb").read_text(encoding="utf-8"))
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert [cell["metadata"]["tags"] for cell in code].count(["parameters"]) == 1
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    for cell in code:
        ast.parse("".join(cell["source"]))
    named = {node.targets[0].id for node in ast.parse("".join(code[0]["source"])).body}
    assert {"cases", "slices", "images", "trials", "outcomes"} <= named
