"""The declaration of a resource slice, which the App reads, and the decorators that mark its handlers.

A slice declares its handlers, ports, jobs, signal listeners, permission checks, CDN assets and archive tables, its parts of
READY and GUILD_CREATE, and functions for the start and end of gateway sessions."""

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import FunctionType, ModuleType
from typing import Any, TypeVar

import msgspec

from hubbub.protocol.operation import Command, Operation
from hubbub.protocol.operator_roles import OperatorRole
from hubbub.server.core.archives import ArchiveTable
from hubbub.server.core.call import Call
from hubbub.server.core.gateway_queries import GuildView
from hubbub.server.core.store import Tx

F = TypeVar("F", bound=Callable[..., Any])


class Response(msgspec.Struct, frozen=True):
    """A successful response with an explicit status (201 created, 204 already present) or extra headers."""

    status: int
    result: Any = None
    headers: Mapping[str, str] = {}


def handles(
    operation: Operation[Any, Any],
    *,
    writes: bool | None = None,
    long: bool = False,
    quick: bool = False,
    has_updates: bool = False,
    prefetch: Callable[..., None] | None = None,
) -> Callable[[F], F]:
    """Mark a function as the handler of an operation: `(call, *path parameters, body?, query?) -> result`.

    By default a GET or HEAD runs in a read transaction and every other method in a write transaction; `writes`
    overrides this. `long` marks a read of many rows that must not block other requests. `quick` marks a frequent write
    of a few rows, which runs on the event loop because passing it to a thread would take longer than the write.
    `has_updates` marks a quick write that usually updates or deletes rows, so that PostgreSQL runs it in its own transaction.
    `prefetch` has the parameters of the handler and sends its queries with `tx.prefetch` before the permissions are
    checked."""

    def mark(function: F) -> F:
        function.__operation__ = operation  # type: ignore[attr-defined]
        function.__writes__ = writes  # type: ignore[attr-defined]
        function.__long__ = long  # type: ignore[attr-defined]
        function.__quick__ = quick  # type: ignore[attr-defined]
        function.__has_updates__ = has_updates  # type: ignore[attr-defined]
        function.__prefetch__ = prefetch  # type: ignore[attr-defined]
        return function

    return mark


def handles_command(command: Command[Any], *, writes: bool = False) -> Callable[[F], F]:
    """Mark a function as the handler of a gateway command: `(call, payload) -> None`.

    It responds through `call.replies`. It runs in a read transaction, or in a write transaction with `writes`."""

    def mark(function: F) -> F:
        function.__command__ = command  # type: ignore[attr-defined]
        function.__writes__ = writes  # type: ignore[attr-defined]
        return function

    return mark


ReadyPart = Callable[[Call], dict[str, Any]]
"""Function that returns the fields that a slice adds to READY for `call.actor`."""

FindAsset = Callable[[Tx, int], str | bytes | None]
"""Function that finds the file of a CDN asset by ID: a key in the file store, the bytes of a bundled file, or None."""

GuildPart = Callable[[Call, GuildView], dict[str, Any]]
"""Function that returns the fields that a slice adds to GUILD_CREATE for one viewer."""

Guard = Callable[[Call, int, int], object]
"""Function that raises unless the caller has permission bits (third argument) in the channel or guild with an ID (second)."""

OperatorGuard = Callable[[Call, OperatorRole], object]
"""Function that raises unless the caller is an operator with a role."""


@dataclass(frozen=True, kw_only=True)
class Slice:
    """The declaration of one resource slice."""

    name: str
    modules: tuple[ModuleType, ...]
    """The modules that define its operation and command handlers, and its ports."""
    tags: Mapping[ModuleType, str] = field(default_factory=dict)
    """OpenAPI tags of handler modules; the tag of other modules is the name of the slice."""
    jobs: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    """Job handlers by kind: `(call, job)`, run in the transaction that completes the job, or `async (operation, job)`."""
    listeners: Mapping[type, Callable[[Call, Any], None]] = field(default_factory=dict)
    """Signal listeners by signal type, run in the transaction of the `call.notify` of a lower tier."""
    guards: Mapping[str, Guard] = field(default_factory=dict)
    """Checks of the permissions that operations need, by path parameter; the first whose parameter the handler takes is used."""
    operator_guard: OperatorGuard | None = None
    """Check of the operator role that operations declare; None in all slices but one."""
    ready: ReadyPart | None = None
    """Function that returns the fields that the slice adds to READY; None if it adds none."""
    guild: GuildPart | None = None
    """Function that returns the fields that the slice adds to GUILD_CREATE; None if it adds none."""
    assets: Mapping[str, FindAsset] = field(default_factory=dict)
    """CDN assets that are served by ID, by the first segment of their URL."""
    archive: tuple[ArchiveTable, ...] = ()
    """Tables of the slice whose rows are in the archive of a guild."""
    session_began: Callable[[Call, int, str], None] | None = None
    """Function that is called in a write transaction with user ID and session ID, before READY of an OAuth2 session is read."""
    session_ended: Callable[[Call, int, str], None] | None = None
    """Function that is called in a write transaction with user ID and session ID of a session that can no longer be resumed."""
    stored_sessions: Callable[[Tx, int], list[tuple[int, str]]] | None = None
    """Function that returns (user ID, session ID) of sessions with state stored before a time in Unix milliseconds.

    Used to clean up after a crash of all nodes, when no node reported the end of its sessions."""

    def tag_of(self, function: Callable[..., Any]) -> str:
        """Return the OpenAPI tag of a handler."""
        tags = {module.__name__: tag for module, tag in self.tags.items()}
        return tags.get(function.__module__, self.name)

    def handlers(self) -> Iterator[tuple[Operation[Any, Any], Callable[..., Any]]]:
        """Yield every operation that this slice handles, with its function."""
        for module in self.modules:
            for member in _list_functions(module):
                operation = getattr(member, "__operation__", None)
                if operation is not None:
                    yield operation, member

    def commands(self) -> Iterator[tuple[Command[Any], Callable[..., Any]]]:
        """Yield every gateway command that this slice handles, with its function."""
        for module in self.modules:
            yield from _find_commands(module)


@functools.cache
def _find_commands(module: ModuleType) -> tuple[tuple[Command[Any], Callable[..., Any]], ...]:
    """Return the gateway commands that a module handles; cached, because each App reads the same modules."""
    return tuple((member.__command__, member) for member in _list_functions(module) if hasattr(member, "__command__"))


def _list_functions(module: ModuleType) -> Iterator[FunctionType]:
    """Yield the functions that a module defines."""
    for member in vars(module).values():
        # The class is checked first: reading an absent attribute of some other objects is slow.
        if isinstance(member, FunctionType) and member.__module__ == module.__name__:
            yield member


def collect_listeners(slices: Iterable[Slice]) -> dict[type, list[Callable[[Call, Any], None]]]:
    """Return the listeners of all slices by type of signal."""
    listeners: dict[type, list[Callable[[Call, Any], None]]] = {}
    for resource_slice in slices:
        for signal_type, listener in resource_slice.listeners.items():
            listeners.setdefault(signal_type, []).append(listener)
    return listeners
