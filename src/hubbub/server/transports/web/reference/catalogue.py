"""Everything the reference documents, collected from the protocol tables: resources, objects, enums, events and errors.

Each item has one URL with a fragment; every mention of it links there.
"""

import importlib
import inspect
import pkgutil
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, IntFlag
from functools import cached_property
from types import ModuleType, NoneType
from typing import Any, Final

from msgspec import Struct

from hubbub import protocol
from hubbub.protocol import enums, errors, flags, intents, operation, permissions, voice
from hubbub.protocol.errors import ErrorCode
from hubbub.protocol.operation import Command, Event, Operation, events_of, operations_of
from hubbub.protocol.resources import gateway, webhook_events
from hubbub.server.core.endpoints import Endpoint
from hubbub.server.transports.docstrings import (
    Spans,
    TextSpan,
    attribute_docstrings,
    parse_docstring,
    summary,
)
from hubbub.server.transports.web.reference import types

ROOT: Final = "/docs"
RESOURCES: Final = f"{ROOT}/resources"
OBJECTS: Final = f"{ROOT}/objects"
ENUMS: Final = f"{ROOT}/enums"
EVENTS: Final = f"{ROOT}/events"
GATEWAY: Final = f"{ROOT}/gateway"
INTENTS: Final = f"{ROOT}/intents"
PERMISSIONS: Final = f"{ROOT}/permissions"
SCOPES: Final = f"{ROOT}/scopes"
ERRORS: Final = f"{ROOT}/errors"
WEBHOOK_EVENTS: Final = f"{ROOT}/webhook-events"

ENUM_PAGES: Final[Mapping[type, str]] = {
    enums.GatewayOpcode: GATEWAY,
    enums.CloseCode: GATEWAY,
    intents.Capabilities: GATEWAY,
    voice.VoiceOpcode: GATEWAY,
    enums.VoiceCloseCode: GATEWAY,
    enums.Scope: SCOPES,
    enums.WebhookEventType: WEBHOOK_EVENTS,
    permissions.Permissions: PERMISSIONS,
    intents.Intents: INTENTS,
}
"""Pages of enums and flags that are not listed under `ENUMS`."""

_CODE: Final = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
_NOT_ON_WIRE: Final = (operation,)
"""Modules whose enums are not part of the wire protocol."""


@dataclass(frozen=True)
class Value:
    """One value of an enum, or one bit of a set of flags."""

    name: str
    value: str
    href: str
    note: Spans = ()
    bit: int | None = None
    """Index of the bit in a set of flags, else None."""


@dataclass(frozen=True)
class Enumeration:
    """An enum or a set of flags."""

    name: str
    kind: type
    href: str
    is_flags: bool
    summary: Spans
    values: tuple[Value, ...]


@dataclass(frozen=True)
class ErrorCodeEntry:
    """One error code."""

    name: str
    kind: ErrorCode
    href: str


class Catalogue:
    """Everything the tables declare, built on first use."""

    def __init__(self, endpoints: Iterable[Endpoint]) -> None:
        self._endpoints = list(endpoints)
        self.by_name: dict[str, Endpoint] = {endpoint.name: endpoint for endpoint in self._endpoints}

    # Operations

    @cached_property
    def _declared(self) -> dict[Operation[Any, Any], ModuleType]:
        return {operation: module for module in resource_modules() for _, operation in operations_of(module)}

    @cached_property
    def _resource_of(self) -> dict[Endpoint, str]:
        """The resource of each operation: its protocol module, or its slice if the module declares only one."""
        several = Counter(self._declared.values())
        found = {}
        for each in self._endpoints:
            # A slice from outside this package declares its operations in its own modules.
            module = self._declared.get(each.operation)
            found[each] = each.tag if module is None or several[module] == 1 else _resource_name(module)
        return found

    @cached_property
    def resources(self) -> dict[str, list[Endpoint]]:
        """The operations of each resource."""
        found: dict[str, list[Endpoint]] = defaultdict(list)
        for endpoint in self._endpoints:
            found[self._resource_of[endpoint]].append(endpoint)
        return dict(sorted(found.items()))

    @cached_property
    def subjects(self) -> dict[str, Spans]:
        """The description of each resource."""
        modules = {_resource_name(module): module for module in resource_modules()}
        return {name: _subject(name, modules[name]) if name in modules else () for name in self.resources}

    def operation_href(self, endpoint: Endpoint) -> str:
        """Return the URL of an operation."""
        return f"{RESOURCES}/{self._resource_of[endpoint]}#{endpoint.name}"

    @cached_property
    def operations_by_error(self) -> dict[ErrorCode, list[Endpoint]]:
        """The operations that declare each error."""
        found: dict[ErrorCode, list[Endpoint]] = defaultdict(list)
        for endpoint in self._endpoints:
            for kind in endpoint.operation.raises:
                found[kind].append(endpoint)
        return found

    @cached_property
    def operations_by_event(self) -> dict[Event[Any], list[Endpoint]]:
        """The operations that emit each event."""
        found: dict[Event[Any], list[Endpoint]] = defaultdict(list)
        for endpoint in self._endpoints:
            for event in endpoint.operation.emits:
                found[event].append(endpoint)
        return found

    @cached_property
    def operations_by_scope(self) -> dict[str, list[Endpoint]]:
        """The operations that each scope grants."""
        found: dict[str, list[Endpoint]] = defaultdict(list)
        for endpoint in self._endpoints:
            for scope in endpoint.operation.scopes:
                found[scope].append(endpoint)
        return found

    # The gateway

    @cached_property
    def events(self) -> list[Event[Any]]:
        """Every gateway event, by name."""
        found = dict.fromkeys(event for module in resource_modules() for event in events_of(module))
        return sorted(found, key=lambda event: event.name)

    @cached_property
    def commands(self) -> list[Command[Any]]:
        """Every gateway command, by opcode."""
        values = (value for module in resource_modules() for value in vars(module).values())
        return sorted(
            dict.fromkeys(value for value in values if isinstance(value, Command)), key=lambda each: each.opcode
        )

    @cached_property
    def payloads(self) -> dict[tuple[type, int], type[Struct]]:
        """The payload model of each opcode that has one."""
        found: dict[tuple[type, int], type[Struct]] = {}
        for opcodes, module in ((enums.GatewayOpcode, gateway), (voice.VoiceOpcode, voice)):
            for opcode in opcodes:
                model = getattr(module, "".join(word.capitalize() for word in opcode.name.split("_")), None)
                if isinstance(model, type) and issubclass(model, Struct):
                    found[opcodes, int(opcode)] = model
        for command in self.commands:
            if _is_model(command.payload):
                found[enums.GatewayOpcode, command.opcode] = command.payload
        return found

    # Objects and enums

    @cached_property
    def enums(self) -> dict[str, Enumeration]:
        """Every enum and set of flags, by displayed name."""
        kinds = [
            value
            for module in _modules()
            if module not in _NOT_ON_WIRE
            for value in vars(module).values()
            if isinstance(value, type) and value.__module__ == module.__name__ and _is_closed(value)
        ]
        return {name: self._enumeration(name, kind) for name, kind in sorted(_unique(kinds).items())}

    def _enumeration(self, name: str, kind: type) -> Enumeration:
        shared = [each for each, url in ENUM_PAGES.items() if url == ENUM_PAGES.get(kind)]
        page = ENUM_PAGES.get(kind, f"{ENUMS}/{name}")
        # Several enumerations on one page: prefix the fragments to keep them unique.
        prefix = f"{name}." if len(shared) > 1 else ""
        docstrings = attribute_docstrings(kind)
        is_flags = not issubclass(kind, Enum) or issubclass(kind, IntFlag)
        values = tuple(
            Value(
                each,
                str(value),
                f"{page}#{prefix}{each}",
                docstrings.get(each, ()),
                value.bit_length() - 1 if is_flags else None,
            )
            for each, value in _values(kind)
        )
        return Enumeration(name, kind, f"{page}#{name}" if prefix else page, is_flags, summary(kind), values)

    def enumeration(self, kind: type) -> Enumeration:
        """Return the enumeration of a class."""
        return next(each for each in self.enums.values() if each.kind is kind)

    @cached_property
    def _named(self) -> dict[type[Struct], str]:
        """The models that have a page, with their names.

        These are all reachable models except whole bodies and queries, which are shown with their operation.
        """
        found: dict[type[Struct], None] = {}
        pending: list[Any] = [event.payload for event in self.events]
        pending += [*self.payloads.values(), webhook_events.WebhookPing, webhook_events.WebhookEventPayload]
        pending += [kind for kind in webhook_events.EVENT_DATA_TYPES.values() if kind is not None]
        inline: list[Any] = []
        for endpoint in self._endpoints:
            operation = endpoint.operation
            pending += [operation.result, operation.error_model]
            for part in (operation.body, operation.query):
                (inline if _is_model(part) else pending).append(part)
        pending += [hint for part in inline if part is not NoneType for hint in _hints(part)]
        while pending:
            for kind in types.classes(pending.pop()):
                if _is_model(kind) and kind not in found:
                    found[kind] = None
                    pending += _hints(kind)
        return {kind: name for name, kind in _unique(found).items()}

    @cached_property
    def request_models(self) -> set[type]:
        """The models used in requests."""
        found: set[type] = set()
        pending: list[Any] = [each.operation.body for each in self._endpoints]
        pending += [each.operation.query for each in self._endpoints]
        pending += [command.payload for command in self.commands] + [gateway.Identify, gateway.Resume]
        while pending:
            for kind in types.classes(pending.pop()):
                if _is_model(kind) and kind not in found:
                    found.add(kind)
                    pending += _hints(kind)
        return found

    @cached_property
    def objects(self) -> dict[str, type[Struct]]:
        """Every object with a page, by displayed name."""
        return dict(sorted((name, kind) for kind, name in self._named.items()))

    @cached_property
    def links(self) -> dict[Any, TextSpan]:
        """The displayed name and URL of each class."""
        found: dict[Any, TextSpan] = {each.kind: TextSpan(each.name, each.href) for each in self.enums.values()}
        found[permissions.Permissions] = TextSpan("permission bits", PERMISSIONS)
        return found | {kind: TextSpan(name, f"{OBJECTS}/{name}") for kind, name in self._named.items()}

    @cached_property
    def mentions(self) -> dict[type, list[TextSpan]]:
        """The operations, events and objects that refer to each class."""
        found: dict[type, dict[TextSpan, None]] = defaultdict(dict)

        def note(part: Any, link: TextSpan) -> None:
            for kind in types.classes(part):
                found[kind][link] = None

        for endpoint in self._endpoints:
            operation = endpoint.operation
            link = TextSpan(endpoint.name, self.operation_href(endpoint))
            for part in (operation.body, operation.query, operation.result, operation.error_model):
                note(part, link)
                if _is_model(part) and part not in self._named:
                    for hint in _hints(part):
                        note(hint, link)
        for event in self.events:
            note(event.payload, TextSpan(event.name, f"{EVENTS}#{event.name}"))
        for name, kind in self.objects.items():
            for hint in _hints(kind):
                note(hint, TextSpan(name, f"{OBJECTS}/{name}"))
        return {kind: list(links) for kind, links in found.items()}

    # Errors

    @cached_property
    def errors(self) -> list[ErrorCodeEntry]:
        """Every error code, by number and status."""
        found = [
            ErrorCodeEntry(name, value, f"{ERRORS}#{name}")
            for name, value in vars(errors).items()
            if isinstance(value, ErrorCode)
        ]
        return sorted(found, key=lambda each: (each.kind.code, each.kind.status))

    @cached_property
    def errors_by_code(self) -> dict[ErrorCode, ErrorCodeEntry]:
        """The error entries by error code."""
        return {each.kind: each for each in self.errors}

    @cached_property
    def form_errors(self) -> list[tuple[str, Spans]]:
        """The codes inside a form error, with their descriptions."""
        return sorted(_form_errors().items())


def resource_modules() -> list[ModuleType]:
    """Return the protocol modules that declare one resource each."""
    return [module for module in _modules() if ".resources." in module.__name__]


def _modules() -> list[ModuleType]:
    """Return all protocol modules; shared enums and flags first, then resources."""
    found = [
        importlib.import_module(each.name)
        for each in pkgutil.walk_packages(protocol.__path__, f"{protocol.__name__}.")
        if not each.ispkg
    ]
    first = (enums, flags, permissions, intents)
    return sorted(found, key=lambda module: (module not in first, ".resources." not in module.__name__))


def _unique(kinds: Iterable[type]) -> dict[str, type]:
    """Map names to classes. On a name clash the later class, in module order, is prefixed with its module name."""
    order = {module.__name__: index for index, module in enumerate(_modules())}
    found: dict[str, type] = {}
    for kind in sorted(kinds, key=lambda each: (order.get(each.__module__, 0), each.__name__)):
        name = kind.__name__
        if name in found:
            name = _camel(kind.__module__.rpartition(".")[2]) + name
        found[name] = kind
    return found


def _subject(name: str, module: ModuleType) -> Spans:
    """Return the first sentence of a module docstring, without a "Name: " prefix that repeats the heading."""
    sentence = " ".join((module.__doc__ or "").split()).partition(". ")[0].rstrip(".")
    head, _, rest = sentence.partition(": ")
    if rest and head.lower().removeprefix("the ") == name.replace("_", " "):
        sentence = rest[:1].upper() + rest[1:]
    return parse_docstring(f"{sentence}.")


def _camel(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))


def _resource_name(module: ModuleType) -> str:
    return module.__name__.rpartition(".")[2]


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Struct)


def _is_closed(kind: type) -> bool:
    if issubclass(kind, Enum):
        return True
    return kind.__module__ in (flags.__name__, intents.__name__) or kind is permissions.Permissions


def _values(kind: type) -> Iterator[tuple[str, Any]]:
    """Yield names and values. For flags only single bits: all other constants are combinations."""
    if issubclass(kind, Enum):
        for name, member in kind.__members__.items():
            # A scope is known by its value, not by the member name.
            yield (member.value if kind is enums.Scope else name), member.value
        return
    for name, value in vars(kind).items():
        if name.isupper() and isinstance(value, int) and value.bit_count() == 1:
            yield name, value


def _hints(kind: type[Struct]) -> list[Any]:
    return list(types.hints(kind).values())


def _form_errors() -> dict[str, Spans]:
    """Return the codes and docstrings of the functions that build form errors.

    The code is found among the constants of each function.
    """
    found: dict[str, Spans] = {}
    for function in vars(errors).values():
        if inspect.isfunction(function) and function.__annotations__.get("return") is errors.FormError:
            code = next(_codes(function.__code__.co_consts), None)
            if code is not None:
                spans = parse_docstring(function.__doc__)
                found[code] = (*found[code], TextSpan(" "), *spans) if code in found else spans
    return found


def _codes(constants: Iterable[Any]) -> Iterator[str]:
    for value in constants:
        if isinstance(value, tuple):
            yield from _codes(value)
        elif isinstance(value, str) and _CODE.fullmatch(value):
            yield value
