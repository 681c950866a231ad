"""The endpoint table: maps method and path to a handler, checks the caller's kind, and builds the handler's arguments.

`EndpointTable(slices)` verifies at startup that every handler matches its operation. A transport then calls `table.resolve(method,
segments)` for the `Endpoint`, `endpoint.authorize(actor)` to authorize the caller, `endpoint.arguments(...)` for the
handler's arguments, and `run(call, endpoint, arguments)` inside a transaction.
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

from hubbub.protocol import codec, errors, resources
from hubbub.protocol.flags import ApplicationFlags
from hubbub.protocol.ids import Snowflake, WideInt, parse_wide
from hubbub.protocol.images import ImageData, data_uri_length_max
from hubbub.protocol.operation import Auth, Operation, operations_of
from hubbub.protocol.sounds import SoundData
from hubbub.server.core.async_operation import AsyncOperation
from hubbub.server.core.call import Actor, Call
from hubbub.server.core.rate_limits import Rule, build_rule
from hubbub.server.core.slices import Guard, OperatorGuard, Slice

Converter = Callable[[str], Any]
"""Function that parses one path parameter, and raises ValueError if it is invalid."""

READ_METHODS = frozenset(("GET", "HEAD"))
_MEDIA_TYPES = (ImageData, SoundData)


@dataclass(frozen=True, slots=True, eq=False)
class Endpoint:
    """One operation with its handler and everything that can be computed before the first request."""

    operation: Operation[Any, Any]
    name: str
    """The documented operation ID."""
    tag: str
    """The OpenAPI tag: the name of the slice, unless its declaration sets another."""
    function: Callable[..., Any]
    converters: tuple[Converter, ...]
    """One converter per path parameter, in path order."""
    snowflake_parameters: tuple[bool, ...]
    """For each path parameter, whether it is a snowflake, so that `@me` never matches it."""
    argument_positions: tuple[int, ...]
    """The handler's parameters as indexes into (*path parameters, body, query)."""
    writes: bool
    """Whether the handler needs a write transaction."""
    is_async: bool
    """Whether the handler is a coroutine function over an `AsyncOperation` instead of a plain function over a `Call`."""
    is_long: bool
    """Whether the handler reads many rows, so that it must not run on the event loop."""
    is_quick: bool
    """Whether the operation is a frequent write of a few rows."""
    has_updates: bool
    """Whether the operation is a quick write that usually updates or deletes rows."""
    prefetch: Callable[..., None] | None
    """The function that prefetches queries of the handler before the permission check, or None."""
    media: tuple[str, ...]
    """Names of the body fields with images or sounds, which the HTTP server stores before the operation runs."""
    media_bytes: int
    """The size allowed for media, in bytes, in addition to the regular limit of the body."""
    rule: Rule | None
    """The rate limit of the operation, or None."""
    allows_anonymous: bool
    """Whether the operation works without a token."""
    ignores_tokens: bool
    """Whether the Authorization header is ignored, because the path or the body contains the credentials."""
    rejections: dict[str, errors.ErrorCode]
    """The error to raise for each kind of caller that is not allowed."""
    guard: Guard | None
    """The check of the permissions that the operation needs; None if it needs none."""
    operator_guard: OperatorGuard | None
    """The check of the operator role that the operation declares; None if it declares none."""
    guarded_parameter: str
    """The path parameter that the guard checks; empty without a guard."""
    guard_argument: int
    """The index of the handler argument that the guard checks; 0 without a guard."""

    def authorize(self, actor: Actor | None) -> Actor | None:
        """Return the caller, or None if the operation treats the caller as anonymous (spec/http.md#1.3).

        Raise an API error if the caller is not allowed."""
        if actor is None:
            if self.allows_anonymous:
                return None
            raise errors.UNAUTHORIZED()
        rejection = self.rejections.get(actor.kind)
        if rejection is None and actor.kind == "bearer":
            scopes = self.operation.scopes
            if actor.application_flags & ApplicationFlags.PARENT and not self.operation.accepts_publishers:
                rejection = errors.UNAUTHORIZED
            elif scopes and actor.scopes.isdisjoint(scopes):
                rejection = errors.MISSING_OAUTH2_SCOPE
        if rejection is None:
            return actor
        if self.allows_anonymous:
            return None
        raise rejection()

    def read_path(self, texts: Sequence[str]) -> list[Any]:
        """Convert the path parameters to their types. Raise INVALID_FORM_BODY that names every invalid one."""
        path_values: list[Any] = []
        form_errors: errors.FormErrors | None = None
        for position, converter in enumerate(self.converters):
            try:
                path_values.append(converter(texts[position]))
            except ValueError as error:
                form_errors = form_errors or errors.FormErrors()
                form_errors.add((self.operation.parameters[position],), "NUMBER_TYPE_COERCE", str(error))
        if form_errors is not None:
            raise form_errors.error()
        return path_values

    def arguments(self, path: Sequence[Any], body: Any = None, query: Any = None) -> list[Any]:
        """Return the handler's arguments that follow the call, in the order of its parameters."""
        candidates = (*path, body, query)
        return [candidates[position] for position in self.argument_positions]


def run(call: Call, endpoint: Endpoint, arguments: Sequence[Any]) -> Any:
    """Prefetch queries of the handler, check the role and permissions that the operation declares, then run the handler."""
    if endpoint.prefetch is not None:
        endpoint.prefetch(call, *arguments)
    _require_declared(call, endpoint, arguments)
    return endpoint.function(call, *arguments)


async def run_async(async_operation: AsyncOperation, endpoint: Endpoint, arguments: Sequence[Any]) -> Any:
    """Check the role and permissions that the operation declares, then run its coroutine handler."""
    if endpoint.guard is not None or endpoint.operator_guard is not None:
        await async_operation.read(lambda call: _require_declared(call, endpoint, arguments))
    return await endpoint.function(async_operation, *arguments)


def _require_declared(call: Call, endpoint: Endpoint, arguments: Sequence[Any]) -> None:
    """Raise unless the caller has the operator role and the permissions that the operation declares."""
    operation = endpoint.operation
    if endpoint.operator_guard is not None and operation.operator is not None:
        endpoint.operator_guard(call, operation.operator)
    if endpoint.guard is not None:
        endpoint.guard(call, arguments[endpoint.guard_argument], operation.needs)


@functools.cache
def build_endpoint(
    operation: Operation[Any, Any],
    function: Callable[..., Any],
    *,
    name: str,
    tag: str = "",
    guards: tuple[tuple[str, Guard], ...] = (),
    operator_guard: OperatorGuard | None = None,
) -> Endpoint:
    """Match a handler to its operation and return the endpoint, cached across Apps. Raise TypeError on a mismatch.

    `guards` are the permission checks by path parameter; the first whose parameter the handler takes is used.
    `operator_guard` is the check of operator roles."""
    parameters = operation.parameters
    hints = _annotations(function)
    code = function.__code__
    handler_parameters = list(code.co_varnames[1 : code.co_argcount])
    offered_parameters = [*parameters]
    if operation.body is not NoneType:
        offered_parameters.append("body")
    if operation.query is not NoneType:
        offered_parameters.append("query")
    # A handler may omit `body` and `query` if it does not use them, but not path parameters.
    if set(handler_parameters) - set(offered_parameters) or set(parameters) - set(handler_parameters):
        raise TypeError(
            f"{function.__qualname__} takes {handler_parameters}, but {operation.path} offers {offered_parameters}"
        )
    for body_or_query in ("body", "query"):
        declared_type = getattr(operation, body_or_query)
        if body_or_query == "body" and operation.body_condition is not None:
            declared_type |= None
        if body_or_query in handler_parameters and hints.get(body_or_query, Any) not in (Any, declared_type):
            raise TypeError(f"{function.__qualname__} takes a different {body_or_query} type than {name} declares")
    positions = {parameter: position for position, parameter in enumerate(parameters)} | {
        "body": len(parameters),
        "query": len(parameters) + 1,
    }
    parameter_types = [hints.get(parameter, str) for parameter in parameters]
    guarded_parameter, guard = "", None
    if operation.needs:
        guarded_parameter, guard = next(
            ((parameter, check) for parameter, check in guards if parameter in handler_parameters), ("", None)
        )
        if guard is None:
            guarded_names = ", ".join(parameter for parameter, _ in guards) or "no path parameter"
            raise TypeError(
                f"{name} needs permissions; they are checked for {guarded_names}, and its path has none of these"
            )
    if operation.operator is not None and operator_guard is None:
        raise TypeError(f"{name} requires an operator role, which no slice checks")
    writes = getattr(function, "__writes__", None)
    media = _media_fields(operation.body)
    return Endpoint(
        operation=operation,
        name=name,
        tag=tag,
        function=function,
        converters=tuple(_converter(type_) for type_ in parameter_types),
        snowflake_parameters=tuple(isinstance(type_, type) and issubclass(type_, WideInt) for type_ in parameter_types),
        argument_positions=tuple(positions[parameter] for parameter in handler_parameters),
        writes=operation.method not in READ_METHODS if writes is None else writes,
        is_async=inspect.iscoroutinefunction(function),
        is_long=getattr(function, "__long__", False),
        is_quick=getattr(function, "__quick__", False),
        has_updates=getattr(function, "__has_updates__", False),
        prefetch=getattr(function, "__prefetch__", None),
        media=tuple(media),
        media_bytes=sum(map(data_uri_length_max, media.values())),
        rule=build_rule(operation, name),
        allows_anonymous=operation.auth is Auth.NONE or Auth.ANONYMOUS in operation.auth,
        ignores_tokens=operation.auth is Auth.NONE,
        rejections=_rejections_by_kind(operation.auth),
        guard=guard,
        operator_guard=None if operation.operator is None else operator_guard,
        guarded_parameter=guarded_parameter,
        guard_argument=handler_parameters.index(guarded_parameter) if guarded_parameter else 0,
    )


def _annotations(subject: Any) -> dict[str, Any]:
    """Return the annotations of a function or model. Nearly all are types already, which skips the slow evaluation."""
    classes = reversed(subject.__mro__) if isinstance(subject, type) else (subject,)
    annotations: dict[str, Any] = {}
    for owner in classes:
        annotations |= inspect.get_annotations(owner)
    if any(isinstance(hint, str) for hint in annotations.values()):
        return get_type_hints(subject, include_extras=True)
    return annotations


def _media_fields(body: Any) -> dict[str, int]:
    """Return a body's image and sound fields with the maximum size of each in bytes."""
    if not (isinstance(body, type) and issubclass(body, msgspec.Struct)):
        return {}
    hints = _annotations(body)
    return {
        name: type_.bytes_max
        for name in body.__struct_fields__
        for type_ in (hints[name], *get_args(hints[name]))
        if isinstance(type_, type) and issubclass(type_, _MEDIA_TYPES)
    }


def _rejections_by_kind(auth: Auth) -> dict[str, errors.ErrorCode]:
    """Return the error for each kind of caller that an operation does not allow."""
    rejections: dict[str, errors.ErrorCode] = {}
    if Auth.BOT not in auth:
        rejections["bot"] = errors.BOTS_CANNOT_USE_ENDPOINT
    if Auth.USER not in auth:
        rejections["user"] = errors.ONLY_BOTS_CAN_USE_ENDPOINT
    if Auth.BEARER not in auth:
        rejections["bearer"] = errors.UNAUTHORIZED
    return rejections


def _converter(type_: Any) -> Converter:
    """Return the function that parses a path parameter of this type."""
    if type_ is str:
        return str
    if isinstance(type_, type) and issubclass(type_, Snowflake):
        id_type = type_
        return lambda text: parse_wide(id_type, text)

    def convert(text: str) -> Any:
        try:
            return codec.convert(text, type_, strict=False)
        except msgspec.ValidationError:
            raise ValueError(errors.not_number(text)[1]) from None

    return convert


class _PathNode:
    """One node in the tree of path segments."""

    __slots__ = ("children", "endpoints", "snowflake", "text")

    def __init__(self) -> None:
        self.children: dict[str, _PathNode] = {}
        self.snowflake: _PathNode | None = None
        self.text: _PathNode | None = None
        self.endpoints: dict[str, Endpoint] = {}


class EndpointTable:
    """All endpoints, by method and path."""

    def __init__(self, slices: Iterable[Slice]) -> None:
        self._root = _PathNode()
        self.endpoints: list[Endpoint] = []
        self._by_operation: dict[Operation[Any, Any], Endpoint] = {}
        names = operation_names()
        slices = tuple(slices)
        guards = tuple(guard for resource_slice in slices for guard in resource_slice.guards.items())
        operator_guards = [resource_slice.operator_guard for resource_slice in slices if resource_slice.operator_guard]
        if len(operator_guards) > 1:
            raise TypeError("several slices check operator roles")
        for resource_slice in slices:
            for operation, function in resource_slice.handlers():
                name = names.get(operation, function.__name__)
                self.add(
                    build_endpoint(
                        operation,
                        function,
                        name=name,
                        tag=resource_slice.tag_of(function),
                        guards=guards,
                        operator_guard=operator_guards[0] if operator_guards else None,
                    )
                )

    def __iter__(self) -> Iterator[Endpoint]:
        return iter(self.endpoints)

    def add(self, endpoint: Endpoint) -> None:
        """Add an endpoint. Raise TypeError if its path is invalid, or if its method and path are already taken."""
        operation = endpoint.operation
        node = self._root
        snowflakes = iter(endpoint.snowflake_parameters)
        for segment in operation.path.strip("/").split("/"):
            if segment.startswith("{") and segment.endswith("}"):
                if next(snowflakes):
                    node.snowflake = node = node.snowflake or _PathNode()
                else:
                    node.text = node = node.text or _PathNode()
            elif "{" in segment:
                raise TypeError(f"a path parameter must be a whole segment: {operation.path}")
            else:
                node = node.children.setdefault(segment, _PathNode())
        if operation.path.endswith("/"):
            # spec/activities.md#9: clients call some list operations with a trailing slash and some without.
            node.children.setdefault("", _PathNode()).endpoints[operation.method] = endpoint
        for method in (operation.method, *operation.other_methods):
            existing = node.endpoints.setdefault(method, endpoint)
            if existing is not endpoint:
                raise TypeError(f"{method} {operation.path} is handled twice: {existing.name}, {endpoint.name}")
        self.endpoints.append(endpoint)
        self._by_operation[operation] = endpoint

    def for_operation(self, operation: Operation[Any, Any]) -> Endpoint:
        """Return the endpoint of an operation. Raise NOT_FOUND if no slice handles it."""
        endpoint = self._by_operation.get(operation)
        if endpoint is None:
            raise errors.NOT_FOUND()
        return endpoint

    def resolve(self, method: str, segments: Sequence[str]) -> tuple[Endpoint, list[str]]:
        """Return the endpoint and its path parameters. Raise NOT_FOUND or MethodNotAllowed."""
        path_values: list[str] = []
        allowed_methods: set[str] = set()
        endpoint = _find_endpoint(self._root, method, segments, 0, path_values, allowed_methods)
        if endpoint is not None:
            return endpoint, path_values
        if allowed_methods:
            raise MethodNotAllowed(allowed_methods)
        raise errors.NOT_FOUND()


class MethodNotAllowed(errors.ApiError):
    """The path exists, but not with this method."""

    def __init__(self, allowed_methods: Iterable[str]) -> None:
        super().__init__(errors.METHOD_NOT_ALLOWED)
        self.allowed = sorted(allowed_methods)


def _find_endpoint(
    node: _PathNode, method: str, segments: Sequence[str], depth: int, path_values: list[str], allowed_methods: set[str]
) -> Endpoint | None:
    """Return the endpoint of a path below a node, or None.

    Append the path parameters to `path_values` and, without an endpoint for the method, the path's methods to
    `allowed_methods`."""
    # Descend while there is a single candidate, as in most paths.
    while depth < len(segments):
        child = node.children.get(segments[depth])
        if child is None or node.snowflake is not None or node.text is not None:
            break
        node, depth = child, depth + 1
    if depth == len(segments):
        endpoint = node.endpoints.get(method)
        if endpoint is None:
            allowed_methods.update(node.endpoints)
        return endpoint
    segment = segments[depth]
    child = node.children.get(segment)
    if child is not None:
        endpoint = _find_endpoint(child, method, segments, depth + 1, path_values, allowed_methods)
        if endpoint is not None:
            return endpoint
    if not segment:
        return None
    # Literal segments come first (`@me`, `bulk-delete`), then IDs, then free text. Text that is not a number matches an
    # ID only as a last resort, so that the error can explain what is wrong with it.
    candidates = (node.snowflake, node.text) if segment.isdecimal() else (node.text, node.snowflake)
    for child in candidates:
        if child is None or (child is node.snowflake and segment[0] == "@"):
            continue
        path_values.append(segment)
        endpoint = _find_endpoint(child, method, segments, depth + 1, path_values, allowed_methods)
        if endpoint is not None:
            return endpoint
        path_values.pop()
    return None


@functools.cache
def operation_names() -> dict[Operation[Any, Any], str]:
    """Return the documented ID of every operation that the protocol declares."""
    names: dict[Operation[Any, Any], str] = {}
    for module_info in pkgutil.iter_modules(resources.__path__, f"{resources.__name__}."):
        for name, operation in operations_of(importlib.import_module(module_info.name)):
            names.setdefault(operation, name)
    return names
