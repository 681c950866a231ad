"""The SDK, the agent and the pytest plugin take their routes from the operations of the protocol."""

import ast
import importlib
import pkgutil
import re

import pytest

from hubbub.protocol import resources as protocol_resources
from hubbub.protocol.operation import Operation
from hubbub.sdk import resources
from tests.contract.tables import SOURCE


def without_parameter_names(path: str) -> str:
    """Return a path without the names of its parameters."""
    return re.sub(r"\{\w*\}", "{}", path)


def operation_paths() -> set[str]:
    """Return the paths of all operations, without the names of their parameters."""
    return {
        without_parameter_names(value.path)
        for module in pkgutil.iter_modules(protocol_resources.__path__)
        for value in vars(importlib.import_module(f"{protocol_resources.__name__}.{module.name}")).values()
        if isinstance(value, Operation)
    }


def strings(source: str) -> set[str]:
    """Return the string constants of a source file, except those inside f-strings, which are URLs of web pages."""
    nodes = list(ast.walk(ast.parse(source)))
    literal_parts = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    return {
        node.value
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in literal_parts
    }


@pytest.mark.parametrize("package", ["sdk", "agent", "testing"])
def test_source_contains_no_route(package: str) -> None:
    paths = operation_paths()
    routes = {
        f"{file.relative_to(SOURCE)}: {text}"
        for file in (SOURCE / package).rglob("*.py")
        for text in strings(file.read_text(encoding="utf-8"))
        if without_parameter_names(text) in paths
    }

    assert len(paths) > 200
    assert routes == set()


def test_client_operations_are_modules_of_the_protocol() -> None:
    assert resources.lobbies is importlib.import_module("hubbub.protocol.resources.lobbies")
    with pytest.raises(ImportError):
        resources.lobbys  # type: ignore[attr-defined] # noqa: B018
    assert not hasattr(resources, "__path__")
