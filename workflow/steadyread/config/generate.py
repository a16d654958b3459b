"""Generates config/config.yaml, the JSON schemas and config/README.md from the models.

`python -m steadyread.config.generate` writes them; `--check` shows a diff and fails on drift.
"""

from __future__ import annotations

import argparse
import difflib
import json
import sys
import textwrap
import types
import typing
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from .models_table import ModelsTable
from .prompt import Prompt
from .study import StudyConfig

CONFIG_YAML = Path("config/config.yaml")
README = Path("config/README.md")
SCHEMAS = Path("workflow/schemas")


def generated() -> dict[Path, str]:
    """Every generated file, by path relative to the project's root."""
    return {
        CONFIG_YAML: _yaml_text(),
        README: _readme_text(),
        SCHEMAS / "config.schema.json": _schema_text(StudyConfig),
        SCHEMAS / "models.schema.json": _schema_text(ModelsTable),
        SCHEMAS / "prompt.schema.json": _schema_text(Prompt),
    }


def drift(root: Path) -> str:
    """A unified diff between the files on disk and what the models say; empty if there is none."""
    pieces: list[str] = []
    for path, text in generated().items():
        found = (root / path).read_text() if (root / path).is_file() else ""
        pieces += difflib.unified_diff(
            found.splitlines(keepends=True), text.splitlines(keepends=True), f"{path} (on disk)", f"{path} (models)"
        )
    return "".join(pieces)


def _schema_text(model: type[BaseModel]) -> str:
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **model.model_json_schema()}
    return json.dumps(schema, indent=2, sort_keys=True) + "\n"


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value


def _comment(text: str | None, indent: str) -> list[str]:
    if not text:
        return []
    return [f"{indent}# {line}" for line in textwrap.wrap(" ".join(text.split()), 100 - len(indent))]


def _yaml_lines(model: type[BaseModel], indent: str = "") -> Iterator[str]:
    for name, field in model.model_fields.items():
        if not indent:
            yield ""
        yield from _comment(_described(field), indent)
        section = _section(field)
        if section is not None:
            yield f"{indent}{name}:"
            yield from _yaml_lines(section, indent + "  ")
            continue
        value = yaml.safe_dump(_plain(field.default), default_flow_style=True, width=1000, sort_keys=False)
        yield f"{indent}{name}: {value.removesuffix('...' + chr(10)).strip()}"


def _section(field: FieldInfo) -> type[BaseModel] | None:
    kind = field.annotation
    return kind if _is_section(kind) else None


def _described(field: FieldInfo) -> str:
    values = _choices(field.annotation)
    text = (field.description or "").strip()
    return f"{text} One of: {', '.join(values)}." if values else text


def _choices(annotation: Any) -> list[str]:
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return [str(item.value) for item in annotation]
    if typing.get_origin(annotation) is typing.Literal:
        return [str(item) for item in typing.get_args(annotation)]
    return [value for part in typing.get_args(annotation) for value in _choices(part)]


def _yaml_text() -> str:
    head = [
        "# yaml-language-server: $schema=../workflow/schemas/config.schema.json",
        "# The default study: every key, its default and what it means. Generated; do not edit:",
        "# a study of your own is a file in config/studies that states what differs",
        "# (snakemake --config study=<name>).",
    ]
    return "\n".join([*head, *_yaml_lines(StudyConfig)]) + "\n"


def _type_name(annotation: Any) -> str:
    if _choices(annotation) and not typing.get_args(annotation):
        return "choice"
    if annotation is None or annotation is type(None):
        return "null"
    origin = typing.get_origin(annotation)
    if origin is typing.Annotated:
        return _type_name(typing.get_args(annotation)[0])
    if origin in (typing.Union, types.UnionType):
        return " or ".join(_type_name(part) for part in typing.get_args(annotation))
    if origin is tuple:
        if _is_section(typing.get_args(annotation)[0]):
            return "list of mappings"
        return f"list of {_type_name(typing.get_args(annotation)[0])}"
    if origin is dict:
        return "mapping"
    if origin is typing.Literal:
        return "choice"
    return {"str": "text", "int": "whole number", "float": "number", "bool": "true or false"}.get(
        getattr(annotation, "__name__", str(annotation)), getattr(annotation, "__name__", str(annotation))
    )


def _bounds(field: FieldInfo) -> str:
    signs = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<", "min_length": "length ≥"}
    parts = [
        f"{sign} {getattr(item, name)}"
        for item in field.metadata
        for name, sign in signs.items()
        if hasattr(item, name)
    ]
    return f" ({', '.join(parts)})" if parts else ""


def _rows(model: type[BaseModel], prefix: str) -> Iterator[str]:
    for name, field in model.model_fields.items():
        section = _section(field)
        if section is not None:
            yield from _rows(section, f"{prefix}{name}.")
            continue
        default = "required" if field.is_required() else f"`{json.dumps(_plain(field.default), ensure_ascii=False)}`"
        meaning = " ".join(_described(field).split()).replace("|", "\\|")
        yield f"| `{prefix}{name}` | {_type_name(field.annotation)}{_bounds(field)} | {default} | {meaning} |"
        listed = _listed_section(field)
        if listed is not None:
            yield from _rows(listed, f"{prefix}{name}[].")


def _listed_section(field: FieldInfo) -> type[BaseModel] | None:
    """The section that a list holds, if it holds one."""
    item = (*typing.get_args(field.annotation), None)[0] if typing.get_origin(field.annotation) is tuple else None
    return item if _is_section(item) else None


def _is_section(kind: Any) -> typing.TypeGuard[type[BaseModel]]:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _readme_text() -> str:
    head = """
    # Configuration

    Generated from the models in `workflow/steadyread/config`; do not edit.

    - `config.yaml`: the default study, every key with its default.
    - `studies/<name>.yaml`: other studies; each states only what differs. `snakemake --config study=<name>`.
    - `models.yaml`: the models that may be audited; `models.lock.yaml` holds the revisions that
      `steadyread fetch-models` read from the hub.
    - `prompts/<name>.yaml`: versioned wordings.

    Single values are set on the command line: `snakemake --config study=real_sample limit=4 shards=3`.
    A wrong key, type, path, arm or model stops the run before any work, naming file, key and what is allowed.
    """
    lines = textwrap.dedent(head).strip().splitlines()
    table = ["| key | type | default | meaning |", "|---|---|---|---|"]
    lines += ["", "## Study", "", *table]
    lines += [row for row in _rows(StudyConfig, "") if "." not in row.split("`")[1]]
    for name, field in StudyConfig.model_fields.items():
        section = _section(field)
        if section is not None:
            lines += ["", f"## `{name}`", "", " ".join((section.__doc__ or "").split()), "", *table]
            lines += list(_rows(section, f"{name}."))
    return "\n".join(lines) + "\n"


def main(arguments: list[str] | None = None) -> int:
    """Write the generated files, or check them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="show a diff and fail if files and models differ")
    options = parser.parse_args(arguments)
    root = Path.cwd()
    difference = drift(root)
    if options.check:
        sys.stdout.write(difference)
        return 1 if difference else 0
    for path, text in generated().items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
