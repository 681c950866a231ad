"""Signals are facts without a result; ports are declared by their slices and bound in `composition.py`."""

import ast
import importlib
import re
from collections.abc import Iterator
from typing import get_args

import msgspec
import pytest

from hubbub.server import composition
from hubbub.server.core.ports import MultiPort, Port, declared_ports
from tests.contract.tables import SOURCE, display_path, parse_file, python_files

SERVER = SOURCE / "server"
REQUEST_NAME_PATTERN = re.compile(r"(Asked|Requested|Drafted|Presented|Checked)$|Must")
"""Pattern of names of questions and instructions, which are ports and not signals."""
MUTABLE_TYPES = (list, dict, set, bytearray)


def signals() -> list[type]:
    """Return every class in a `signals.py`, and every class that a slice listens to."""
    declared_signals = {
        value
        for path in python_files(SERVER)
        if path.name == "signals.py"
        for module in [importlib.import_module(display_path(path).removesuffix(".py").replace("/", "."))]
        for value in vars(module).values()
        if isinstance(value, type) and value.__module__ == module.__name__
    }
    heard_signals = {kind for part in composition.SLICES for kind in part.listeners}
    return sorted(declared_signals | heard_signals, key=lambda kind: kind.__name__)


@pytest.mark.parametrize("kind", signals(), ids=lambda kind: kind.__name__)
def test_signals_are_immutable(kind: type) -> None:
    assert issubclass(kind, msgspec.Struct)
    assert kind.__struct_config__.frozen
    for field in msgspec.structs.fields(kind):
        assert field.type not in MUTABLE_TYPES, field.name
        assert getattr(field.type, "__origin__", None) not in MUTABLE_TYPES, field.name


@pytest.mark.parametrize("kind", signals(), ids=lambda kind: kind.__name__)
def test_signals_are_facts(kind: type) -> None:
    assert REQUEST_NAME_PATTERN.search(kind.__name__) is None


@pytest.mark.parametrize("kind", signals(), ids=lambda kind: kind.__name__)
def test_fields_of_signals_contain_only_frozen_structs(kind: type) -> None:
    assert [field.name for field in msgspec.structs.fields(kind) if list(_unfrozen_structs(field.type))] == []


def _unfrozen_structs(field_type: object) -> Iterator[type]:
    """Yield the structs that a type consists of and that can be changed."""
    if isinstance(field_type, type) and issubclass(field_type, msgspec.Struct):
        if not field_type.__struct_config__.frozen:
            yield field_type
    for argument in get_args(field_type):
        yield from _unfrozen_structs(argument)


def notifications() -> Iterator[tuple[str, ast.Call]]:
    """Yield the location and syntax tree of every `call.notify(...)`."""
    for path in python_files(SERVER):
        for node in ast.walk(parse_file(path)):
            # A call without arguments is `Condition.notify()`.
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr == "notify"
                and node.args
            ):
                yield f"{display_path(path)}:{node.lineno}", node


def test_a_signal_is_constructed_where_it_is_raised_so_that_nothing_reads_it_afterwards() -> None:
    calls = list(notifications())

    assert len(calls) > 50
    assert [where for where, node in calls if not isinstance(node.args[0], ast.Call)] == []


def listeners() -> Iterator[tuple[str, ast.FunctionDef | ast.Lambda, str]]:
    """Yield the file of every listener, its syntax tree, and the name of its parameter for the signal."""
    for slice_ in composition.SLICES:
        for listener in slice_.listeners.values():
            code = listener.__code__  # type: ignore[attr-defined]
            path = next(path for path in python_files(SERVER) if str(path) == code.co_filename)
            for node in ast.walk(parse_file(path)):
                if isinstance(node, ast.FunctionDef | ast.Lambda) and node.lineno == code.co_firstlineno:
                    yield display_path(path), node, code.co_varnames[1]


def test_listeners_do_not_change_a_signal() -> None:
    assert [f"{path}:{line}" for path, node, name in listeners() for line in _changes(node, name)] == []


def test_listeners_do_not_decide() -> None:
    found_listeners = list(listeners())

    assert len(found_listeners) > 150
    assert [f"{path}:{line}" for path, node, _ in found_listeners for line in _decisions(node)] == []


def _decisions(function: ast.AST) -> Iterator[int]:
    """Yield the lines that raise or call a function that requires something; a port decides before the change instead."""
    for node in ast.walk(function):
        if isinstance(node, ast.Raise) or (
            isinstance(node, ast.Call) and re.search(r"(^|\.)require(_\w+)?$", ast.unparse(node.func))
        ):
            yield node.lineno


def test_the_check_finds_a_listener_that_decides() -> None:
    source = "def listen(call, signal):\n    rules.require_quota(call)\n    if signal.row:\n        raise errors.X()"

    assert sorted(_decisions(ast.parse(source))) == [2, 4]


@pytest.mark.parametrize("name", ["InstallationAsked", "ParticipantMustLeave", "MessageDrafted"])
def test_the_check_finds_names_of_questions_and_instructions(name: str) -> None:
    assert REQUEST_NAME_PATTERN.search(name)


def _changes(function: ast.FunctionDef | ast.Lambda, name: str) -> Iterator[int]:
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
            if _root(node) == name:
                yield node.lineno
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in {"append", "extend", "update", "add", "setdefault", "pop", "remove", "clear"}:
                if _root(node.func.value) == name:
                    yield node.lineno


def _root(node: ast.expr) -> str | None:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def test_the_check_finds_a_listener_that_changes_a_signal() -> None:
    source = (
        'def listen(call, signal):\n    signal.answer = 1\n    signal.log.rows.append(2)\n    signal.records["x"] = 3'
    )
    (function,) = ast.parse(source).body
    assert isinstance(function, ast.FunctionDef)

    assert sorted(_changes(function, "signal")) == [2, 3, 4]


def test_every_port_is_declared_by_a_slice() -> None:
    declared_by_slices = [port for part in composition.SLICES for port in declared_ports(part)]
    undeclared_ports = []
    for path in python_files(SERVER):
        if "import port" in (text := path.read_text()) or "import multi_port" in text:
            module = importlib.import_module(display_path(path).removesuffix(".py").replace("/", "."))
            undeclared_ports += [
                value.name
                for value in vars(module).values()
                if isinstance(value, Port | MultiPort) and value not in declared_by_slices
            ]

    assert undeclared_ports == []
    assert len(declared_by_slices) > 20
