"""Names that tests, tools and benchmarks import from each other exist; mypy reads the package only."""

import ast
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.contract.language import ROOT, statements

FOLDERS = ("tests", "tools", "bench")
"""Folders with modules that import each other."""


class ModuleNames(NamedTuple):
    """The names that a module defines outside functions and classes, and its imports."""

    definitions: set[str]
    imports: list[ast.ImportFrom]


@cache
def read_names(path: Path) -> ModuleNames:
    names = ModuleNames(set(), [])
    for statement, is_global in statements(ast.parse(path.read_bytes())):
        if isinstance(statement, ast.ImportFrom) and statement.module is not None and statement.level == 0:
            names.imports.append(statement)
        if not is_global:
            continue
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                names.definitions.add(statement.name)
            case ast.Import() | ast.ImportFrom():
                names.definitions.update(alias.asname or alias.name.partition(".")[0] for alias in statement.names)
            case ast.Assign() | ast.AnnAssign() | ast.For() | ast.With():
                targets = (node for node in ast.walk(statement) if isinstance(node, ast.Name))
                names.definitions.update(node.id for node in targets if isinstance(node.ctx, ast.Store))
    return names


def find_module(name: str) -> Path | None:
    """Return the file or folder of a module, or None if there is none."""
    path = ROOT.joinpath(*name.split("."))
    candidates = (path.with_suffix(".py"), path / "__init__.py", path)
    return next((candidate for candidate in candidates if candidate.exists()), None)


def is_missing(module: str, name: str) -> bool:
    """Return whether a module of the folders has neither a definition nor a submodule with this name."""
    if module.partition(".")[0] not in FOLDERS or find_module(f"{module}.{name}") is not None:
        return False
    path = find_module(module)
    return path is None or not path.is_file() or {name, "__getattr__"}.isdisjoint(read_names(path).definitions)


def test_names_that_tests_tools_and_benchmarks_import_exist() -> None:
    paths = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
    missing_names = [
        f"{path.relative_to(ROOT)}:{statement.lineno}: {statement.module}.{alias.name}"
        for path in paths
        if "node_modules" not in path.parts
        for statement in read_names(path).imports
        for alias in statement.names
        if is_missing(str(statement.module), alias.name)
    ]

    assert not missing_names, "\n".join(missing_names)


@pytest.mark.parametrize(
    ("module", "name", "expected"),
    [
        ("tests.contract.language", "ROOT", False),
        ("tests.contract.language", "missing", True),
        ("tests.contract.missing", "ROOT", True),
        ("tests.contract", "language", False),
        ("json", "missing", False),
    ],
)
def test_a_missing_name_is_found(module: str, name: str, expected: bool) -> None:
    assert is_missing(module, name) == expected
