"""Operations, commands, events, errors and enums are declared once, and are used."""

import ast
import re
from collections import Counter
from itertools import pairwise

import pytest

from hubbub.protocol import errors
from hubbub.protocol.enums import WebhookEventType
from hubbub.protocol.operation import Auth, Operation
from hubbub.protocol.operator_roles import OperatorRole
from hubbub.protocol.resources import webhook_events
from hubbub.server.composition import SLICES
from hubbub.server.core.endpoints import EndpointTable
from hubbub.server.transports.http import openapi_texts
from tests.contract.tables import (
    SOURCE,
    commands,
    display_path,
    events,
    operations,
    parse_file,
    python_files,
    resource_modules,
)


def test_every_declared_operation_has_exactly_one_handler() -> None:
    handler_counts = Counter(operation for part in SLICES for operation, _ in part.handlers())

    assert {
        name: handler_counts[operation] for name, operation in operations().items() if handler_counts[operation] != 1
    } == {}


def test_every_handler_serves_a_declared_operation() -> None:
    declared_operations = set(operations().values())

    assert [
        handler.__qualname__
        for part in SLICES
        for operation, handler in part.handlers()
        if operation not in declared_operations
    ] == []


def test_handlers_match_their_operations_and_no_two_share_a_method_and_path() -> None:
    table = EndpointTable(SLICES)

    assert {endpoint.operation for endpoint in table} == set(operations().values())


def test_handlers_are_named_like_their_operations() -> None:
    names = {operation: name for name, operation in operations().items()}

    assert {
        handler.__name__: names[operation]
        for part in SLICES
        for operation, handler in part.handlers()
        if handler.__name__ != names[operation]
    } == {}


def test_details_of_operations_are_in_the_docstrings_of_their_handlers() -> None:
    """The API reference and the OpenAPI file publish the docstring of a handler, and no string after a declaration."""
    unpublished_names = [
        f"{display_path(path)}:{next_statement.lineno}"
        for path in python_files(SOURCE / "protocol")
        for statement, next_statement in pairwise(parse_file(path).body)
        if isinstance(statement, ast.Assign)
        and isinstance(statement.value, ast.Call)
        and ast.unparse(statement.value.func) == Operation.__name__
        and isinstance(next_statement, ast.Expr)
    ]

    assert unpublished_names == []


def test_operations_of_operators_declare_a_role_and_its_errors() -> None:
    assert {name for name, operation in operations().items() if operation.operator is not None} == {
        name for name, operation in operations().items() if operation.path.startswith("/admin/")
    }
    for name, operation in operations().items():
        if operation.operator is not None:
            assert operation.auth is Auth.USER, name
            assert {errors.FORBIDDEN, errors.TWO_FACTOR_REQUIRED} <= set(operation.raises), name
            # An auditor changes nothing.
            assert operation.method == "GET" or operation.operator is not OperatorRole.AUDITOR, name


def test_the_role_of_an_operator_is_published() -> None:
    for endpoint in EndpointTable(SLICES):
        role, description = endpoint.operation.operator, openapi_texts.operation_description(endpoint)
        assert ("two-factor authentication." in description and f"`{role}`" in description) or role is None


def test_every_declared_command_has_exactly_one_handler() -> None:
    handler_counts = Counter(command for part in SLICES for command, _ in part.commands())

    assert {command.name: handler_counts[command] for command in commands() if handler_counts[command] > 1} == {}
    assert {command.name for command in commands() if not handler_counts[command]} <= GATEWAY_COMMANDS


def test_every_event_has_a_unique_summary_of_when_it_is_sent() -> None:
    counts = Counter(event.summary for event in events())

    assert [event.name for event in events() if not re.fullmatch(r"Sent [^\n]+\.", event.summary)] == []
    assert [summary for summary, count in counts.items() if count > 1] == []


# Commands that the gateway handles itself, because they concern the session and not a resource.
GATEWAY_COMMANDS = {"PRESENCE_UPDATE"}


def test_every_enum_and_set_of_flags_is_used() -> None:
    texts = {path: path.read_text() for path in python_files(SOURCE)}
    names = {
        statement.name: path
        for path in (SOURCE / "protocol").glob("*.py")
        for statement in parse_file(path).body
        if isinstance(statement, ast.ClassDef) and (path.stem == "flags" or _is_enum(statement))
    }

    assert [
        name
        for name, declaring_path in names.items()
        if not any(len(re.findall(rf"\b{name}\b", text)) > (path == declaring_path) for path, text in texts.items())
    ] == []


def _is_enum(statement: ast.ClassDef) -> bool:
    return any(ast.unparse(base) in ("IntEnum", "StrEnum", "IntFlag") for base in statement.bases)


def test_error_codes_are_unique_and_found_by_their_number() -> None:
    kinds = [value for value in vars(errors).values() if isinstance(value, errors.ErrorCode)]
    codes = Counter(kind.code or ("generic", kind.status) for kind in kinds)

    assert {code: count for code, count in codes.items() if count > 1} == {}
    for kind in kinds:
        assert errors.find(kind.code, kind.status) is kind


@pytest.mark.parametrize("kind", ["event names", "operation ids"])
def test_events_and_operations_are_declared_once(kind: str) -> None:
    if kind == "event names":
        name_counts = Counter(event.name for event in events())
    else:
        # Several modules may import the same constant, but two constants must not have the same name.
        values = {
            (name, id(value)) for module in resource_modules() for name, value in vars(module).items() if name.isupper()
        }
        name_counts = Counter(name.lower() for name, _ in values if name.lower() in operations())

    assert {name: count for name, count in name_counts.items() if count > 1} == {}


def test_operation_declarations_are_consistent() -> None:
    for name, operation in operations().items():
        assert len(set(operation.raises)) == len(operation.raises), f"{name} lists an error twice"
        assert len(set(operation.emits)) == len(operation.emits), f"{name} lists an event twice"
        assert not operation.scopes or Auth.BEARER in operation.auth, (
            f"{name} declares scopes, but does not accept access tokens"
        )
        assert operation.method in {"GET", "POST", "PUT", "PATCH", "DELETE"}, name
        assert operation.path.startswith("/"), name
        assert not (operation.method == "GET" and operation.emits), f"{name} is a GET, but declares events"


def test_every_emitted_event_is_declared() -> None:
    declared_events = set(events())

    assert {
        name for name, operation in operations().items() if not declared_events.issuperset(operation.emits)
    } == set()


def test_every_webhook_event_declares_its_data() -> None:
    also_by_gateway = {event.name: event.payload for event in events() if event.is_webhook_event}

    assert set(webhook_events.EVENT_DATA_TYPES) == set(WebhookEventType)
    assert {
        name: webhook_events.EVENT_DATA_TYPES[WebhookEventType(name)] for name in also_by_gateway
    } == also_by_gateway
    assert {type for type, data in webhook_events.EVENT_DATA_TYPES.items() if data is None} == {
        WebhookEventType.QUEST_USER_ENROLLMENT
    }
