"""How a resource slice offers what it does: handlers of operations and commands, jobs, and its parts of READY and GUILD_CREATE."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, TypeVar

import msgspec

from hubbub.protocol.operation import Command, Operation
from hubbub.server.core.call import Call
from hubbub.server.core.realtime import GuildView
from hubbub.server.core.store import Tx

F = TypeVar("F", bound=Callable[..., Any])


class Answer(msgspec.Struct, frozen=True):
    """A success with a status of its own (201 new, 204 already there), or with headers."""

    status: int
    result: Any = None
    headers: Mapping[str, str] = {}


def handles(
    operation: Operation[Any, Any], *, writes: bool | None = None, long: bool = False, quick: bool = False
) -> Callable[[F], F]:
    """Mark a function as the handler of an operation: `(call, *path parameters, body?, query?) -> result`.

    A GET reads and everything else writes, unless `writes` says otherwise. `long` marks a read of many rows, which must not hold
    up others; `quick` a write of a few, on a path so often taken that the way to the store's thread is felt."""

    def mark(function: F) -> F:
        function.__operation__ = operation  # type: ignore[attr-defined]
        function.__writes__ = writes  # type: ignore[attr-defined]
        function.__long__ = long  # type: ignore[attr-defined]
        function.__quick__ = quick  # type: ignore[attr-defined]
        return function

    return mark


def obeys(command: Command[Any], *, writes: bool = False) -> Callable[[F], F]:
    """Mark a function as what a gateway command does: `(call, payload) -> None`, answering through `call.replies`."""

    def mark(function: F) -> F:
        function.__command__ = command  # type: ignore[attr-defined]
        function.__writes__ = writes  # type: ignore[attr-defined]
        return function

    return mark


ReadyPart = Callable[[Call], dict[str, Any]]
"""The keys a slice adds to READY for `call.actor`."""

FindAsset = Callable[[Tx, int], str | bytes | None]
"""The file of something that the CDN knows by its id: its key in the file store, or its bytes if it comes with the program."""

GuildPart = Callable[[Call, GuildView], dict[str, Any]]
"""The keys a slice adds to GUILD_CREATE for one viewer."""


@dataclass(frozen=True, kw_only=True)
class Slice:
    """One resource as the App mounts it."""

    name: str
    modules: tuple[ModuleType, ...]
    """Where its handlers and commands are."""
    jobs: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    """What to do for a kind of job: `(call, job)` in the transaction that ends it, or `async (work, job)`."""
    hears: Mapping[type, Callable[[Call, Any], None]] = field(default_factory=dict)
    """What to do, in the same transaction, when a lower floor tells a fact of this type (`call.tell`)."""
    ready: ReadyPart | None = None
    guild: GuildPart | None = None
    assets: Mapping[str, FindAsset] = field(default_factory=dict)
    """What the CDN serves by an id, by the first word of its address."""
    session_began: Callable[[Call, int, str], None] | None = None
    """Called in a write, with user and session id, before READY of an OAuth2 session is read: a player comes into the game."""
    session_ended: Callable[[Call, int, str], None] | None = None
    """Called in a write, with user and session id, when a gateway session is gone for good: a voice state ends with it."""

    sessions_kept: Callable[[Tx, int], list[tuple[int, str]]] | None = None
    """User and id of each session that the slice keeps something of since before a moment; where all nodes were killed at once
    nobody told it of their end."""

    def handlers(self) -> Iterator[tuple[Operation[Any, Any], Callable[..., Any]]]:
        """Every operation this slice handles, with its function."""
        for module in self.modules:
            for value in vars(module).values():
                operation = getattr(value, "__operation__", None)
                if operation is not None and value.__module__ == module.__name__:
                    yield operation, value

    def commands(self) -> Iterator[tuple[Command[Any], Callable[..., Any]]]:
        """Every gateway command this slice obeys, with its function."""
        for module in self.modules:
            for value in vars(module).values():
                command = getattr(value, "__command__", None)
                if command is not None and value.__module__ == module.__name__:
                    yield command, value
