"""The identity of code: syntax trees of an entry function's module closure.

Comments, formatting and docstrings do not count; every steadyread module that the entry module
imports, directly or through others, does. Nothing is imported to find out.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from .digests import digest_bytes

PACKAGE = "steadyread"
PACKAGE_ROOT = Path(__file__).resolve().parent.parent


def module_path(module: str) -> Path | None:
    """The file of a steadyread module, or None if there is no such module."""
    relative = Path(*module.split(".")[1:])
    file = (PACKAGE_ROOT / relative).with_suffix(".py") if module != PACKAGE else None
    if file is not None and file.is_file():
        return file
    package = PACKAGE_ROOT / relative / "__init__.py"
    return package if package.is_file() else None


def normalised_source(source: str) -> bytes:
    """The syntax tree of a source text as bytes, without comments, layout and docstrings."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [  # type: ignore[attr-defined]
                statement
                for statement in body
                if not (
                    isinstance(statement, ast.Expr)
                    and isinstance(statement.value, ast.Constant)
                    and isinstance(statement.value.value, str)
                )
            ]
    return ast.dump(tree, include_attributes=False).encode()


@cache
def imported_modules(module: str) -> frozenset[str]:
    """The steadyread modules that one module names in its import statements, wherever they stand."""
    path = module_path(module)
    if path is None:
        return frozenset()
    is_package = path.name == "__init__.py"
    package = module if is_package else module.rpartition(".")[0]
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                parts = package.split(".")
                base = ".".join(parts[: len(parts) - node.level + 1])
                source = f"{base}.{node.module}" if node.module else base
            else:
                source = node.module or ""
            found.add(source)
            found.update(f"{source}.{alias.name}" for alias in node.names)
    return frozenset(name for name in found if name.split(".")[0] == PACKAGE and module_path(name) is not None)


def module_closure(module: str) -> list[str]:
    """A module and all steadyread modules it reaches through imports, sorted.

    Raises
    ------
    ModuleNotFoundError
        If the module is not part of steadyread.
    """
    if module_path(module) is None:
        raise ModuleNotFoundError(f"{module} is not a module of {PACKAGE}")
    seen: set[str] = set()
    todo = [module]
    while todo:
        current = todo.pop()
        if current in seen:
            continue
        seen.add(current)
        todo.extend(imported_modules(current))
    return sorted(seen)


@cache
def closure_digest(module: str, assets: tuple[str, ...] = ()) -> str:
    """Digest a module's closure and the package's data files that belong to it.

    Parameters
    ----------
    module
        Dotted name of the entry module.
    assets
        Glob patterns below the package, for templates and the like; their bytes count.
    """
    parts: list[bytes] = []
    for name in module_closure(module):
        path = module_path(name)
        assert path is not None
        parts += [name.encode(), normalised_source(path.read_text())]
    for pattern in assets:
        files = sorted(PACKAGE_ROOT.glob(pattern))
        if not files:
            raise FileNotFoundError(f"asset pattern {pattern!r} matches nothing in {PACKAGE_ROOT}")
        for file in files:
            parts += [file.relative_to(PACKAGE_ROOT).as_posix().encode(), file.read_bytes()]
    return digest_bytes(*parts)
