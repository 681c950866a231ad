"""The functions, methods and files that docs/tour.md names exist."""

import ast
import re
from collections import defaultdict
from functools import cache

from tests.contract.language import ROOT
from tests.contract.tables import SOURCE, parse_file, python_files

FILE_SUFFIXES = {"md", "py", "svg", "toml", "js"}
LIBRARY_NAMES = {"datetime.now", "sys.setprofile", "time.time"}
"""Dotted names of the tour that Python's standard library defines."""

_DOTTED_NAME_PATTERN = re.compile(r"`([A-Za-z_]\w*)\.(\w+)(?:\.\w+)*(?:\([^`]*\))?`")
_FILE_PATTERN = re.compile(r"`((?:[\w-]+/)*\w+\.py)`")


def tour() -> str:
    return (ROOT / "docs" / "tour.md").read_text(encoding="utf-8")


@cache
def members() -> dict[str, set[str]]:
    """Return the names that classes and modules define, by the name of the class or module.

    Names of modules and classes are in lower case, so that `call.notify` is found as a method of `Call`."""
    names_by_owner: dict[str, set[str]] = defaultdict(set)
    for path in python_files(SOURCE):
        tree = parse_file(path)
        names_by_owner[path.stem] |= defined_names(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                names_by_owner[node.name.lower()] |= defined_names(node)
    return names_by_owner


def defined_names(scope: ast.Module | ast.ClassDef) -> set[str]:
    """Return the functions, classes and variables of a module or class, and the attributes that a class assigns to `self`."""
    names: set[str] = set()
    for node in scope.body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                names.add(name)
    if isinstance(scope, ast.ClassDef):
        names |= {
            node.attr
            for node in ast.walk(scope)
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and ast.unparse(node.value) == "self"
        }
    return names


def test_dotted_names_of_the_tour_exist() -> None:
    dotted_names = {
        f"{match[1]}.{match[2]}" for match in _DOTTED_NAME_PATTERN.finditer(tour()) if match[2] not in FILE_SUFFIXES
    }

    assert len(dotted_names) > 20
    assert {
        dotted_name
        for dotted_name in dotted_names - LIBRARY_NAMES
        for owner, _, name in [dotted_name.partition(".")]
        if name not in members()[owner.lower()]
    } == set()


def test_files_of_the_tour_exist() -> None:
    paths = {
        f"/{path.relative_to(ROOT).as_posix()}"
        for folder in ("src", "tests", "tools")
        for path in python_files(ROOT / folder)
    }

    assert {
        name for name in _FILE_PATTERN.findall(tour()) if not any(path.endswith(f"/{name}") for path in paths)
    } == set()
