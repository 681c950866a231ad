"""The SDK, the agent, the pytest plugin and `people` take routes, events and RPC names from the protocol."""

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterator
from types import ModuleType

import pytest

from hubbub.protocol import control, operation
from hubbub.protocol import resources as protocol_resources
from hubbub.protocol.rpc_names import RpcCommand, RpcEvent
from hubbub.sdk import resources
from tests.contract.tables import SOURCE

PACKAGES = ("sdk", "agent", "people", "testing")

OTHER_NAMES = {"PUSH_TO_TALK": "a voice mode of the agent has the name of a command"}
"""Names of RPC commands and events that are also names of something else, with the reason."""


def declaring_modules() -> Iterator[ModuleType]:
    """Import and yield the modules that declare operations and events."""
    for package in (protocol_resources, control):
        for module in pkgutil.iter_modules(package.__path__):
            yield importlib.import_module(f"{package.__name__}.{module.name}")


def without_parameter_names(path: str) -> str:
    """Return a path without its query and the names of its parameters."""
    return re.sub(r"\{\w*\}", "{}", path.partition("?")[0])


def operation_paths() -> set[str]:
    """Return the paths of all operations, without the names of their parameters."""
    paths = {
        without_parameter_names(item.path)
        for module in declaring_modules()
        for _, item in operation.operations_of(module)
    }
    # The ready document is at the URL of the control API itself.
    return paths - {""}


def event_names() -> set[str]:
    """Return the names of all gateway events."""
    return {event.name for module in declaring_modules() for event in operation.events_of(module)}


def parse_files(package: str) -> Iterator[tuple[str, ast.Module]]:
    """Yield the path and the syntax tree of the source files of a package."""
    for file in sorted((SOURCE / package).rglob("*.py")):
        yield str(file.relative_to(SOURCE)), ast.parse(file.read_text(encoding="utf-8"))


def strings(tree: ast.AST) -> Iterator[str]:
    """Yield the string constants and f-strings, in which `{}` stands for a value."""
    nodes = list(ast.walk(tree))
    parts = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            yield "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            yield node.value


@pytest.mark.parametrize("package", PACKAGES)
def test_source_contains_no_route(package: str) -> None:
    paths = operation_paths()

    routes = {
        f"{file}: {text}"
        for file, tree in parse_files(package)
        for text in strings(tree)
        if without_parameter_names(text) in paths
    }

    assert len(paths) > 250
    assert routes == set()


@pytest.mark.parametrize("package", PACKAGES)
def test_source_contains_no_name_of_a_gateway_event(package: str) -> None:
    names = event_names()

    # The agent publishes local RPC events, some of which have the names of gateway events, so only its comparisons count.
    found_texts = {
        f"{file}: {text}"
        for file, tree in parse_files(package)
        for part in (
            [node for node in ast.walk(tree) if isinstance(node, ast.Compare)] if package == "agent" else [tree]
        )
        for text in strings(part)
        if text in names
    }

    assert len(names) > 80
    assert found_texts == set()


@pytest.mark.parametrize("package", PACKAGES)
def test_source_contains_no_name_of_an_rpc_command_or_event(package: str) -> None:
    # ERROR is a log level as well; mypy checks the types of the names that the SDK and the agent send.
    names = {*RpcCommand, *RpcEvent} - {RpcEvent.ERROR, *OTHER_NAMES}

    found_texts = {f"{file}: {text}" for file, tree in parse_files(package) for text in strings(tree) if text in names}

    assert len(names) > 90
    assert found_texts == set()


@pytest.mark.parametrize("enum", [RpcCommand, RpcEvent])
def test_the_values_of_rpc_names_are_their_names(enum: type[RpcCommand] | type[RpcEvent]) -> None:
    assert [member.value for member in enum] == [member.name for member in enum]


@pytest.mark.parametrize(
    "source", ['request("POST", "/settle")', 'f"/snapshots/{number}/restore"', 'f"/worlds?seed={seed}"']
)
def test_routes_are_found_in_strings_and_f_strings(source: str) -> None:
    assert any(without_parameter_names(text) in operation_paths() for text in strings(ast.parse(source)))


def test_client_operations_are_modules_of_the_protocol() -> None:
    assert resources.lobbies is importlib.import_module("hubbub.protocol.resources.lobbies")
    with pytest.raises(ImportError):
        resources.lobbys  # type: ignore[attr-defined] # noqa: B018
    assert not hasattr(resources, "__path__")
