"""What the protocol declares and what the server holds, as lists to walk."""

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
SLICES = SOURCE / "server" / "resources"


def vocabulary() -> list[ModuleType]:
    """Every module of `protocol/resources`."""
    return [
        importlib.import_module(f"{resources.__name__}.{found.name}")
        for found in pkgutil.iter_modules(resources.__path__)
    ]


def operations() -> dict[str, Operation[Any, Any]]:
    """Every declared operation by its id."""
    return {name: operation for module in vocabulary() for name, operation in operations_of(module)}


def events() -> list[Event[Any]]:
    """Every declared event, once."""
    return list(dict.fromkeys(event for module in vocabulary() for event in events_of(module)))


def commands() -> list[Command[Any]]:
    """Every declared command, once."""
    return list(
        dict.fromkeys(value for module in vocabulary() for value in vars(module).values() if isinstance(value, Command))
    )


@cache
def tree(path: Path) -> ast.Module:
    """A file's syntax."""
    return ast.parse(path.read_text(), str(path))


def files(folder: Path) -> list[Path]:
    """Every Python file under a folder."""
    return sorted(folder.rglob("*.py"))


def name_of(path: Path) -> str:
    """A file as the reader of a failure finds it."""
    return path.relative_to(SOURCE.parent).as_posix()


def calls(path: Path) -> Iterator[tuple[ast.Call, str]]:
    """Every call in a file, with what is called as it stands there: `call.tx.emit`."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Call):
            yield node, ast.unparse(node.func)


def slice_of(path: Path) -> str:
    """The slice that a file of `server/resources` belongs to."""
    return path.relative_to(SLICES).parts[0].removesuffix(".py")
