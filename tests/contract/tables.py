"""Lists of the declared operations, events and commands, and of the calls in the source files."""

import ast
import importlib
import pkgutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from hubbub import protocol
from hubbub.protocol import resources
from hubbub.protocol.operation import Command, Event, Operation, events_of, operations_of

SOURCE = Path(protocol.__path__[0]).parent
TIERS = ("play", "talk", "places", "identity")
"""Folders of the slices in `server/`, from the top tier to the bottom."""


def resource_modules() -> list[ModuleType]:
    """Import and return every module of `protocol/resources`."""
    return [
        importlib.import_module(f"{resources.__name__}.{module.name}")
        for module in pkgutil.iter_modules(resources.__path__)
    ]


def operations() -> dict[str, Operation[Any, Any]]:
    """Return every declared operation, keyed by name."""
    return {name: operation for module in resource_modules() for name, operation in operations_of(module)}


def events() -> list[Event[Any]]:
    """Return every declared event, without duplicates."""
    return list(dict.fromkeys(event for module in resource_modules() for event in events_of(module)))


def commands() -> list[Command[Any]]:
    """Return every declared command, without duplicates."""
    return list(
        dict.fromkeys(
            value for module in resource_modules() for value in vars(module).values() if isinstance(value, Command)
        )
    )


@cache
def parse_file(path: Path) -> ast.Module:
    """Return the syntax tree of a file."""
    return ast.parse(path.read_text(), str(path))


def python_files(folder: Path) -> list[Path]:
    """Return every Python file below a folder."""
    return sorted(folder.rglob("*.py"))


def display_path(path: Path) -> str:
    """Return a file's path for failure messages, relative to `src`."""
    return path.relative_to(SOURCE.parent).as_posix()


def calls(path: Path) -> Iterator[tuple[ast.Call, str]]:
    """Yield every call in a file with the source text of its callee, for example `call.tx.emit`."""
    for node in ast.walk(parse_file(path)):
        if isinstance(node, ast.Call):
            yield node, ast.unparse(node.func)


def slice_files() -> list[Path]:
    """Return every Python file of every slice."""
    return [path for tier in TIERS for path in python_files(SOURCE / "server" / tier)]


def slice_of(path: Path) -> str:
    """Return the slice that a file belongs to, as `tier.slice`."""
    tier, name, *_ = path.relative_to(SOURCE / "server").parts
    return f"{tier}.{name.removesuffix('.py')}"
