"""From the operation table to functions: which handler answers a path, who may call it, and with what arguments.

`Table(slices)` checks at startup that every handler fits its operation. A door then asks `table.find(method, segments)`
for the `Endpoint`, `endpoint.admit(actor)` for the caller, `endpoint.arguments(...)` for what the handler takes, and
runs `run(call, endpoint, arguments)` inside a transaction.
"""

import functools
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import NoneType
from typing import Any, get_args, get_type_hints

import msgspec

from hubbub.protocol import errors, resources, wire
from hubbub.protocol.flags import ApplicationFlags
from hubbub.protocol.ids import Snowflake, WideInt, parse_wide
from hubbub.protocol.images import ImageData, data_uri_bytes
from hubbub.protocol.operation import Auth, Operation, operations_of
from hubbub.protocol.sounds import SoundData
from hubbub.server.core import access
from hubbub.server.core.call import Actor, Call
from hubbub.server.core.rate_limits import Rule, rule
from hubbub.server.core.slices import Slice
from hubbub.server.core.work import Work

Converter = Callable[[str], Any]
"""Reads one path parameter; ValueError where it cannot."""

READING = frozenset(("GET", "HEAD"))
_MEDIA = (ImageData, SoundData)


@dataclass(frozen=True, slots=True, eq=False)
class Endpoint:
    """One operation with the function that answers it, and all that can be worked out before the first call."""

    operation: Operation[Any, Any]
    name: str
    """The documented operation id."""
    tag: str
    """The slice."""
    function: Callable[..., Any]
    converters: tuple[Converter, ...]
    """One for each path parameter, in the order of the path."""
    snowflakes: tuple[bool, ...]
    """Which path parameters are ids, so that `@me` never matches them."""
    order: tuple[int, ...]
    """The handler's parameters as positions in (path parameters, body, query)."""
    writes: bool
    """Whether it needs a writing transaction."""
    waits: bool
    """Whether the handler is a coroutine function over a `Work` instead of a function over a `Call`."""
    long: bool
    """Whether it reads many rows."""
    quick: bool
    """Whether it writes only a few, and often."""
    media: tuple[str, ...]
    """The body's fields that hold pictures or sounds, which the door puts into the file store before the operation runs."""
    media_bytes: int
    """How much longer its body may be for them."""
    rule: Rule | None
    anonymous: bool
    """Whether it works without a token."""
    ignores_tokens: bool
    """Whether an Authorization header is not even looked at (the path holds a token of its own)."""
    refusals: dict[str, errors.ErrorCode]
    """Kinds of caller that are not admitted, and how they are told."""
    guard: Callable[..., Any] | None
    guarded: int
    """Which of the handler's arguments the guard takes."""

    def admit(self, actor: Actor | None) -> Actor | None:
        """The caller as this operation sees it; raises for one it does not admit (http.md 1.3)."""
        if actor is None:
            if self.anonymous:
                return None
            raise errors.UNAUTHORIZED()
        refusal = self.refusals.get(actor.kind)
        if refusal is None and actor.kind == "bearer":
            scopes = self.operation.scopes
            if actor.application_flags & ApplicationFlags.PARENT and not self.operation.publishers:
                refusal = errors.UNAUTHORIZED
            elif scopes and actor.scopes.isdisjoint(scopes):
                refusal = errors.MISSING_OAUTH2_SCOPE
        if refusal is None:
            return actor
        if self.anonymous:
            return None
        raise refusal()

    def read_path(self, values: Sequence[str]) -> list[Any]:
        """The path parameters by their types; raises INVALID_FORM_BODY naming every bad one."""
        read: list[Any] = []
        form: errors.FormErrors | None = None
        for position, converter in enumerate(self.converters):
            try:
                read.append(converter(values[position]))
            except ValueError as error:
                form = form or errors.FormErrors()
                form.add((self.operation.parameters[position],), "NUMBER_TYPE_COERCE", str(error))
        if form is not None:
            raise form.error()
        return read

    def arguments(self, path: Sequence[Any], body: Any = None, query: Any = None) -> list[Any]:
        """What the handler takes after the call, in its order."""
        offered = (*path, body, query)
        return [offered[position] for position in self.order]


def run(call: Call, endpoint: Endpoint, arguments: Sequence[Any]) -> Any:
    """Check the permissions the operation declares, then do it."""
    if endpoint.guard is not None:
        endpoint.guard(call, arguments[endpoint.guarded], endpoint.operation.needs)
    return endpoint.function(call, *arguments)


async def run_waiting(work: Work, endpoint: Endpoint, arguments: Sequence[Any]) -> Any:
    """The same for a handler that waits between its transactions."""
    guard = endpoint.guard
    if guard is not None:
        await work.read(lambda call: guard(call, arguments[endpoint.guarded], endpoint.operation.needs))
    return await endpoint.function(work, *arguments)


@functools.cache
def endpoint(operation: Operation[Any, Any], function: Callable[..., Any], *, name: str, tag: str = "") -> Endpoint:
    """Fit a handler to its operation, or raise TypeError saying what does not fit. The same for every App, so worked out once."""
    parameters = operation.parameters
    hints = _annotations(function)
    code = function.__code__
    takes = list(code.co_varnames[1 : code.co_argcount])
    expected = [*parameters]
    if operation.body is not NoneType:
        expected.append("body")
    if operation.query is not NoneType:
        expected.append("query")
    # `body` and `query` may be left out by a handler that has no use for them, path parameters may not.
    if set(takes) - set(expected) or set(parameters) - set(takes):
        raise TypeError(f"{function.__qualname__} takes {takes}, but {operation.path} offers {expected}")
    for part in ("body", "query"):
        declared = getattr(operation, part)
        if part == "body" and operation.body_of is not None:
            declared |= None
        if part in takes and hints.get(part, Any) not in (Any, declared):
            raise TypeError(f"{function.__qualname__} takes another {part} than {name} declares")
    places = {name: place for place, name in enumerate(parameters)} | {
        "body": len(parameters),
        "query": len(parameters) + 1,
    }
    kinds = [hints.get(parameter, str) for parameter in parameters]
    guard: Callable[..., Any] | None = None
    guarded = 0
    if operation.needs:
        if "channel_id" in takes:
            guard, guarded = access.require_channel, takes.index("channel_id")
        elif "guild_id" in takes:
            guard, guarded = access.require_guild, takes.index("guild_id")
        else:
            raise TypeError(f"{name} needs permissions, but its path has neither channel_id nor guild_id")
    writes = getattr(function, "__writes__", None)
    media = _media(operation.body)
    return Endpoint(
        operation=operation,
        name=name,
        tag=tag,
        function=function,
        converters=tuple(_converter(kind) for kind in kinds),
        snowflakes=tuple(isinstance(kind, type) and issubclass(kind, WideInt) for kind in kinds),
        order=tuple(places[parameter] for parameter in takes),
        writes=operation.method not in READING if writes is None else writes,
        waits=inspect.iscoroutinefunction(function),
        long=getattr(function, "__long__", False),
        quick=getattr(function, "__quick__", False),
        media=tuple(media),
        media_bytes=sum(map(data_uri_bytes, media.values())),
        rule=rule(operation, name),
        anonymous=operation.auth is Auth.NONE or Auth.ANYONE in operation.auth,
        ignores_tokens=operation.auth is Auth.NONE,
        refusals=_refusals(operation.auth),
        guard=guard,
        guarded=guarded,
    )


def _annotations(subject: Any) -> dict[str, Any]:
    """What a function or a model declares. Nearly all say it with types, and those need no evaluation, which is slow."""
    classes = reversed(subject.__mro__) if isinstance(subject, type) else (subject,)
    found: dict[str, Any] = {}
    for each in classes:
        found |= vars(each).get("__annotations__", {}) if isinstance(each, type) else each.__annotations__
    if any(isinstance(hint, str) for hint in found.values()):
        return get_type_hints(subject, include_extras=True)
    return found


def _media(body: Any) -> dict[str, int]:
    """A body's fields of pictures and sounds, and how many bytes each takes."""
    if not (isinstance(body, type) and issubclass(body, msgspec.Struct)):
        return {}
    hints = _annotations(body)
    return {
        name: kind.bytes_max
        for name in body.__struct_fields__
        for kind in (hints[name], *get_args(hints[name]))
        if isinstance(kind, type) and issubclass(kind, _MEDIA)
    }


def _refusals(auth: Auth) -> dict[str, errors.ErrorCode]:
    refusals: dict[str, errors.ErrorCode] = {}
    if Auth.BOT not in auth:
        refusals["bot"] = errors.BOTS_CANNOT_USE_ENDPOINT
    if Auth.USER not in auth:
        refusals["user"] = errors.ONLY_BOTS_CAN_USE_ENDPOINT
    if Auth.BEARER not in auth:
        refusals["bearer"] = errors.UNAUTHORIZED
    return refusals


def _converter(kind: Any) -> Converter:
    if kind is str:
        return str
    if isinstance(kind, type) and issubclass(kind, Snowflake):
        wide = kind
        return lambda text: parse_wide(wide, text)

    def convert(text: str) -> Any:
        try:
            return wire.convert(text, kind, strict=False)
        except msgspec.ValidationError:
            raise ValueError(errors.not_number(text)[1]) from None

    return convert


class _Node:
    """One place in the tree of paths."""

    __slots__ = ("children", "endpoints", "snowflake", "text")

    def __init__(self) -> None:
        self.children: dict[str, _Node] = {}
        self.snowflake: _Node | None = None
        self.text: _Node | None = None
        self.endpoints: dict[str, Endpoint] = {}


class Table:
    """Every endpoint, found by method and path."""

    def __init__(self, slices: Iterable[Slice]) -> None:
        self._root = _Node()
        self.endpoints: list[Endpoint] = []
        self._by_operation: dict[Operation[Any, Any], Endpoint] = {}
        names = operation_names()
        for part in slices:
            for operation, function in part.handlers():
                self.add(endpoint(operation, function, name=names.get(operation, function.__name__), tag=part.name))

    def __iter__(self) -> Iterator[Endpoint]:
        return iter(self.endpoints)

    def add(self, endpoint: Endpoint) -> None:
        """Mount an endpoint; TypeError where its place is taken."""
        operation = endpoint.operation
        node = self._root
        snowflakes = iter(endpoint.snowflakes)
        for segment in operation.path.strip("/").split("/"):
            if segment.startswith("{") and segment.endswith("}"):
                if next(snowflakes):
                    node.snowflake = node = node.snowflake or _Node()
                else:
                    node.text = node = node.text or _Node()
            elif "{" in segment:
                raise TypeError(f"a path parameter must be a whole segment: {operation.path}")
            else:
                node = node.children.setdefault(segment, _Node())
        if operation.path.endswith("/"):
            # activities.md 9: clients call some lists with a slash at their end, and others without.
            node.children.setdefault("", _Node()).endpoints[operation.method] = endpoint
        taken = node.endpoints.setdefault(operation.method, endpoint)
        if taken is not endpoint:
            raise TypeError(f"{operation.method} {operation.path} is handled twice: {taken.name}, {endpoint.name}")
        self.endpoints.append(endpoint)
        self._by_operation[operation] = endpoint

    def of(self, operation: Operation[Any, Any]) -> Endpoint:
        """The endpoint of an operation that a door names itself; raises NOT_FOUND where nobody handles it."""
        endpoint = self._by_operation.get(operation)
        if endpoint is None:
            raise errors.NOT_FOUND()
        return endpoint

    def find(self, method: str, segments: Sequence[str]) -> tuple[Endpoint, list[str]]:
        """The endpoint and its path parameters; raises NOT_FOUND, or MethodNotAllowed."""
        values: list[str] = []
        allowed: set[str] = set()
        found = _walk(self._root, method, segments, 0, values, allowed)
        if found is not None:
            return found, values
        if allowed:
            raise MethodNotAllowed(allowed)
        raise errors.NOT_FOUND()


class MethodNotAllowed(errors.ApiError):
    """The path exists, the method on it does not."""

    def __init__(self, allowed: Iterable[str]) -> None:
        super().__init__(errors.METHOD_NOT_ALLOWED)
        self.allowed = sorted(allowed)


def _walk(
    node: _Node, method: str, segments: Sequence[str], depth: int, values: list[str], allowed: set[str]
) -> Endpoint | None:
    if depth == len(segments):
        found = node.endpoints.get(method)
        if found is None:
            allowed.update(node.endpoints)
        return found
    segment = segments[depth]
    child = node.children.get(segment)
    if child is not None:
        found = _walk(child, method, segments, depth + 1, values, allowed)
        if found is not None:
            return found
    if not segment:
        return None
    # Literal words come first (`@me`, `bulk-delete`), then ids, then free text; what is no number is taken for an id
    # only for want of anything better, so that the answer can say what is wrong with it.
    tries = (node.snowflake, node.text) if segment.isdecimal() else (node.text, node.snowflake)
    for child in tries:
        if child is None or (child is node.snowflake and segment[0] == "@"):
            continue
        values.append(segment)
        found = _walk(child, method, segments, depth + 1, values, allowed)
        if found is not None:
            return found
        values.pop()
    return None


@functools.cache
def operation_names() -> dict[Operation[Any, Any], str]:
    """The documented id of every operation that the protocol declares."""
    names: dict[Operation[Any, Any], str] = {}
    for found in pkgutil.iter_modules(resources.__path__, f"{resources.__name__}."):
        for name, operation in operations_of(importlib.import_module(found.name)):
            names.setdefault(operation, name)
    return names
