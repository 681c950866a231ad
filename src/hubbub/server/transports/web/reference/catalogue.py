"""All subjects of the reference, collected from the protocol tables: resources, commands, objects, enums, events, errors.

Each item has one URL, which every mention of the item links to.
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
from hubbub.protocol import enums, errors, flags, intents, operation, permissions, rpc_names, shared_enums, voice
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

ROOT_PATH: Final = "/docs"
RESOURCES_PATH: Final = f"{ROOT_PATH}/resources"
OBJECTS_PATH: Final = f"{ROOT_PATH}/objects"
ENUMS_PATH: Final = f"{ROOT_PATH}/enums"
EVENTS_PATH: Final = f"{ROOT_PATH}/events"
GATEWAY_PATH: Final = f"{ROOT_PATH}/gateway"
INTENTS_PATH: Final = f"{ROOT_PATH}/intents"
PERMISSIONS_PATH: Final = f"{ROOT_PATH}/permissions"
SCOPES_PATH: Final = f"{ROOT_PATH}/scopes"
ERRORS_PATH: Final = f"{ROOT_PATH}/errors"
WEBHOOK_EVENTS_PATH: Final = f"{ROOT_PATH}/webhook-events"

ENUM_PAGES: Final[Mapping[type, str]] = {
    enums.GatewayOpcode: GATEWAY_PATH,
    enums.CloseCode: GATEWAY_PATH,
    intents.Capabilities: GATEWAY_PATH,
    voice.VoiceOpcode: GATEWAY_PATH,
    enums.VoiceCloseCode: GATEWAY_PATH,
    enums.Scope: SCOPES_PATH,
    enums.WebhookEventType: WEBHOOK_EVENTS_PATH,
    permissions.Permissions: PERMISSIONS_PATH,
    intents.Intents: INTENTS_PATH,
}
"""Pages of enums and flags that are not listed under `ENUMS_PATH`."""

_FORM_ERROR_CODE_PATTERN: Final = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
_EXCLUDED_MODULES: Final = (operation, rpc_names)
"""Modules whose enums are not part of the HTTP API and the gateway: declarations, and names of the local RPC."""


@dataclass(frozen=True)
class EnumValue:
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
    class_: type
    """The class that declares the values."""
    href: str
    is_flags: bool
    summary: Spans
    values: tuple[EnumValue, ...]


@dataclass(frozen=True)
class ErrorCodeEntry:
    """An error code with its name and URL."""

    name: str
    error_code: ErrorCode
    href: str


class Catalogue:
    """Everything that the protocol tables declare. Each property is computed on first use."""

    def __init__(self, endpoints: Iterable[Endpoint]) -> None:
        self._endpoints = list(endpoints)
        self.by_name: dict[str, Endpoint] = {endpoint.name: endpoint for endpoint in self._endpoints}

    # Operations

    @cached_property
    def _modules_by_operation(self) -> dict[Operation[Any, Any], ModuleType]:
        """The protocol module that declares each operation."""
        return {operation: module for module in resource_modules() for _, operation in operations_of(module)}

    @cached_property
    def _resource_of(self) -> dict[Endpoint, str]:
        """The resource of each operation: its protocol module, or its slice if the module declares no other operation."""
        operation_counts = Counter(self._modules_by_operation.values())
        resources = {}
        for endpoint in self._endpoints:
            # A slice from outside this package declares its operations in its own modules.
            module = self._modules_by_operation.get(endpoint.operation)
            resources[endpoint] = (
                endpoint.tag if module is None or operation_counts[module] == 1 else _resource_name(module)
            )
        return resources

    @cached_property
    def resources(self) -> dict[str, list[Endpoint]]:
        """The operations of each resource."""
        endpoints_by_resource: dict[str, list[Endpoint]] = defaultdict(list)
        for endpoint in self._endpoints:
            endpoints_by_resource[self._resource_of[endpoint]].append(endpoint)
        return dict(sorted(endpoints_by_resource.items()))

    @cached_property
    def resource_descriptions(self) -> dict[str, Spans]:
        """The description of each resource."""
        modules = {_resource_name(module): module for module in resource_modules()}
        return {name: _resource_description(name, modules[name]) if name in modules else () for name in self.resources}

    def operation_href(self, endpoint: Endpoint) -> str:
        """Return the URL of an operation."""
        return f"{RESOURCES_PATH}/{self._resource_of[endpoint]}#{endpoint.name}"

    @cached_property
    def operations_by_error(self) -> dict[ErrorCode, list[Endpoint]]:
        """The operations that declare each error."""
        endpoints_by_error: dict[ErrorCode, list[Endpoint]] = defaultdict(list)
        for endpoint in self._endpoints:
            for error_code in endpoint.operation.raises:
                endpoints_by_error[error_code].append(endpoint)
        return endpoints_by_error

    @cached_property
    def operations_by_event(self) -> dict[Event[Any], list[Endpoint]]:
        """The operations that emit each event."""
        endpoints_by_event: dict[Event[Any], list[Endpoint]] = defaultdict(list)
        for endpoint in self._endpoints:
            for event in endpoint.operation.emits:
                endpoints_by_event[event].append(endpoint)
        return endpoints_by_event

    @cached_property
    def operations_by_scope(self) -> dict[str, list[Endpoint]]:
        """The operations that each scope grants."""
        endpoints_by_scope: dict[str, list[Endpoint]] = defaultdict(list)
        for endpoint in self._endpoints:
            for scope in endpoint.operation.scopes:
                endpoints_by_scope[scope].append(endpoint)
        return endpoints_by_scope

    # The gateway

    @cached_property
    def events(self) -> list[Event[Any]]:
        """Every gateway event, by name."""
        unique_events = dict.fromkeys(event for module in resource_modules() for event in events_of(module))
        return sorted(unique_events, key=lambda event: event.name)

    @cached_property
    def commands(self) -> list[Command[Any]]:
        """Every gateway command, by opcode."""
        module_members = (member for module in resource_modules() for member in vars(module).values())
        return sorted(
            dict.fromkeys(member for member in module_members if isinstance(member, Command)),
            key=lambda command: command.opcode,
        )

    @cached_property
    def payloads(self) -> dict[tuple[type, int], type[Struct]]:
        """The payload model of each opcode that has one."""
        models: dict[tuple[type, int], type[Struct]] = {}
        for opcodes, module in ((enums.GatewayOpcode, gateway), (voice.VoiceOpcode, voice)):
            for opcode in opcodes:
                model = getattr(module, "".join(word.capitalize() for word in opcode.name.split("_")), None)
                if isinstance(model, type) and issubclass(model, Struct):
                    models[opcodes, int(opcode)] = model
        for command in self.commands:
            if _is_model(command.payload):
                models[enums.GatewayOpcode, command.opcode] = command.payload
        return models

    # Objects and enums

    @cached_property
    def enums(self) -> dict[str, Enumeration]:
        """Every enum and set of flags, by displayed name."""
        classes = [
            value
            for module in _protocol_modules()
            if module not in _EXCLUDED_MODULES
            for value in vars(module).values()
            if isinstance(value, type) and value.__module__ == module.__name__ and _is_enumeration(value)
        ]
        return {name: self._enumeration(name, class_) for name, class_ in sorted(_unique_names(classes).items())}

    def _enumeration(self, name: str, class_: type) -> Enumeration:
        page_enums = [member_name for member_name, url in ENUM_PAGES.items() if url == ENUM_PAGES.get(class_)]
        page_path = ENUM_PAGES.get(class_, f"{ENUMS_PATH}/{name}")
        # Several enumerations on one page: prefix the fragments to keep them unique.
        fragment_prefix = f"{name}." if len(page_enums) > 1 else ""
        docstrings = attribute_docstrings(class_)
        is_flags = not issubclass(class_, Enum) or issubclass(class_, IntFlag)
        values = tuple(
            EnumValue(
                member_name,
                str(value),
                f"{page_path}#{fragment_prefix}{member_name}",
                docstrings.get(member_name, ()),
                value.bit_length() - 1 if is_flags else None,
            )
            for member_name, value in _enum_values(class_)
        )
        return Enumeration(
            name, class_, f"{page_path}#{name}" if fragment_prefix else page_path, is_flags, summary(class_), values
        )

    def enumeration(self, class_: type) -> Enumeration:
        """Return the enumeration of a class."""
        return next(candidate for candidate in self.enums.values() if candidate.class_ is class_)

    @cached_property
    def _model_names(self) -> dict[type[Struct], str]:
        """The models that have a page, with their names.

        These are all reachable models except whole bodies and queries, which are shown with their operation.
        """
        models: dict[type[Struct], None] = {}
        pending_types: list[Any] = [event.payload for event in self.events]
        pending_types += [*self.payloads.values(), webhook_events.WebhookPing, webhook_events.WebhookEventPayload]
        pending_types += [data_type for data_type in webhook_events.EVENT_DATA_TYPES.values() if data_type is not None]
        inline_models: list[Any] = []
        for endpoint in self._endpoints:
            operation = endpoint.operation
            pending_types += [operation.result, operation.error_model]
            for wire_type in (operation.body, operation.query):
                (inline_models if _is_model(wire_type) else pending_types).append(wire_type)
        pending_types += [
            hint for wire_type in inline_models if wire_type is not NoneType for hint in _field_types(wire_type)
        ]
        while pending_types:
            for class_ in types.classes(pending_types.pop()):
                if _is_model(class_) and class_ not in models:
                    models[class_] = None
                    pending_types += _field_types(class_)
        return {class_: name for name, class_ in _unique_names(models).items()}

    @cached_property
    def request_models(self) -> set[type]:
        """The models used in requests."""
        models: set[type] = set()
        pending_types: list[Any] = [endpoint.operation.body for endpoint in self._endpoints]
        pending_types += [endpoint.operation.query for endpoint in self._endpoints]
        pending_types += [command.payload for command in self.commands] + [gateway.Identify, gateway.Resume]
        while pending_types:
            for class_ in types.classes(pending_types.pop()):
                if _is_model(class_) and class_ not in models:
                    models.add(class_)
                    pending_types += _field_types(class_)
        return models

    @cached_property
    def objects(self) -> dict[str, type[Struct]]:
        """Every object with a page, by displayed name."""
        return dict(sorted((name, class_) for class_, name in self._model_names.items()))

    @cached_property
    def links(self) -> dict[Any, TextSpan]:
        """The displayed name and URL of each class."""
        spans: dict[Any, TextSpan] = {
            enumeration.class_: TextSpan(enumeration.name, enumeration.href) for enumeration in self.enums.values()
        }
        spans[permissions.Permissions] = TextSpan("permission bits", PERMISSIONS_PATH)
        return spans | {class_: TextSpan(name, f"{OBJECTS_PATH}/{name}") for class_, name in self._model_names.items()}

    @cached_property
    def mentions(self) -> dict[type, list[TextSpan]]:
        """The operations, events and objects that refer to each class."""
        links_by_class: dict[type, dict[TextSpan, None]] = defaultdict(dict)

        def add_mention(wire_type: Any, link: TextSpan) -> None:
            for class_ in types.classes(wire_type):
                links_by_class[class_][link] = None

        for endpoint in self._endpoints:
            operation = endpoint.operation
            link = TextSpan(endpoint.name, self.operation_href(endpoint))
            for wire_type in (operation.body, operation.query, operation.result, operation.error_model):
                add_mention(wire_type, link)
                if _is_model(wire_type) and wire_type not in self._model_names:
                    for hint in _field_types(wire_type):
                        add_mention(hint, link)
        for event in self.events:
            add_mention(event.payload, TextSpan(event.name, f"{EVENTS_PATH}#{event.name}"))
        for name, class_ in self.objects.items():
            for hint in _field_types(class_):
                add_mention(hint, TextSpan(name, f"{OBJECTS_PATH}/{name}"))
        return {class_: list(links) for class_, links in links_by_class.items()}

    # Errors

    @cached_property
    def errors(self) -> list[ErrorCodeEntry]:
        """Every error code, by number and status."""
        entries = [
            ErrorCodeEntry(name, value, f"{ERRORS_PATH}#{name}")
            for name, value in vars(errors).items()
            if isinstance(value, ErrorCode)
        ]
        return sorted(entries, key=lambda entry: (entry.error_code.code, entry.error_code.status))

    @cached_property
    def errors_by_code(self) -> dict[ErrorCode, ErrorCodeEntry]:
        """The error entries by error code."""
        return {entry.error_code: entry for entry in self.errors}

    @cached_property
    def form_errors(self) -> list[tuple[str, Spans]]:
        """The codes inside a form error, with their descriptions."""
        return sorted(_form_errors().items())


def resource_modules() -> list[ModuleType]:
    """Return the protocol modules that declare one resource each."""
    return [module for module in _protocol_modules() if ".resources." in module.__name__]


def _protocol_modules() -> list[ModuleType]:
    """Return all protocol modules: shared enums and flags first, then resources, then the others."""
    modules = [
        importlib.import_module(module_info.name)
        for module_info in pkgutil.walk_packages(protocol.__path__, f"{protocol.__name__}.")
        if not module_info.ispkg
    ]
    shared_modules = (shared_enums, enums, flags, permissions, intents)
    return sorted(modules, key=lambda module: (module not in shared_modules, ".resources." not in module.__name__))


def _unique_names(classes: Iterable[type]) -> dict[str, type]:
    """Map unique names to classes. If two classes have one name, that of the later module is prefixed with its module."""
    module_order = {module.__name__: index for index, module in enumerate(_protocol_modules())}
    classes_by_name: dict[str, type] = {}
    for class_ in sorted(
        classes, key=lambda candidate: (module_order.get(candidate.__module__, 0), candidate.__name__)
    ):
        name = class_.__name__
        if name in classes_by_name:
            name = _camel_case(class_.__module__.rpartition(".")[2]) + name
        classes_by_name[name] = class_
    return classes_by_name


def _resource_description(name: str, module: ModuleType) -> Spans:
    """Return the first sentence of a module docstring, without a "Name: " prefix that repeats the heading."""
    sentence = " ".join((module.__doc__ or "").split()).partition(". ")[0].rstrip(".")
    heading, _, description = sentence.partition(": ")
    if description and heading.lower().removeprefix("the ") == name.replace("_", " "):
        sentence = description[:1].upper() + description[1:]
    return parse_docstring(f"{sentence}.")


def _camel_case(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))


def _resource_name(module: ModuleType) -> str:
    return module.__name__.rpartition(".")[2]


def _is_model(type_: Any) -> bool:
    return isinstance(type_, type) and issubclass(type_, Struct)


def _is_enumeration(class_: type) -> bool:
    """Return whether a class is an enum or a set of flags."""
    if issubclass(class_, Enum):
        return True
    return class_.__module__ in (flags.__name__, intents.__name__) or class_ is permissions.Permissions


def _enum_values(class_: type) -> Iterator[tuple[str, Any]]:
    """Yield the names and values of an enum, or the single bits of a set of flags, whose other constants are combinations."""
    if issubclass(class_, Enum):
        for name, member in class_.__members__.items():
            # A scope is known by its value, not by the member name.
            yield (member.value if class_ is enums.Scope else name), member.value
        return
    for name, value in vars(class_).items():
        if name.isupper() and isinstance(value, int) and value.bit_count() == 1:
            yield name, value


def _field_types(class_: type[Struct]) -> list[Any]:
    return list(types.hints(class_).values())


def _form_errors() -> dict[str, Spans]:
    """Return the codes and docstrings of the functions that build form errors.

    The code is found among the constants of each function.
    """
    spans_by_code: dict[str, Spans] = {}
    for function in vars(errors).values():
        if inspect.isfunction(function) and function.__annotations__.get("return") is errors.FormError:
            code = next(_form_error_codes(function.__code__.co_consts), None)
            if code is not None:
                spans = parse_docstring(function.__doc__)
                spans_by_code[code] = (*spans_by_code[code], TextSpan(" "), *spans) if code in spans_by_code else spans
    return spans_by_code


def _form_error_codes(constants: Iterable[Any]) -> Iterator[str]:
    """Yield the strings among constants, at any depth, that look like form error codes."""
    for constant in constants:
        if isinstance(constant, tuple):
            yield from _form_error_codes(constant)
        elif isinstance(constant, str) and _FORM_ERROR_CODE_PATTERN.fullmatch(constant):
            yield constant
