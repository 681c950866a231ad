"""The SDK decodes payloads of older and newer platforms with the protocol's models."""

import ast
from collections.abc import Iterator
from enum import Enum, IntEnum
from types import NoneType
from typing import Annotated, Any, Literal, NewType, get_args, get_origin

import msgspec
import pytest
from msgspec import UNSET, Struct, UnsetType

from hubbub.protocol.ids import Snowflake
from hubbub.protocol.resources.gateway import Ready
from hubbub.protocol.resources.lobbies import GatewayLobby, LinkedLobbyMessage
from hubbub.protocol.resources.presence import Activity
from hubbub.protocol.resources.users import User
from hubbub.sdk import ClientCreateOptions
from hubbub.sdk.core import Core
from hubbub.sdk.events import GatewayEventHandlers, event_table
from hubbub.sdk.tolerant_models import convert, decode, sent_or, value_or
from tests.contract.tables import SOURCE

HANDLED_EVENTS = sorted(event_table.handlers)

OWN_STRUCTS = {"sdk/gateway.py: GatewayFrame", "sdk/media/voice_socket.py: VoiceFrame"}
"""Structs of the SDK outside of its cache: frames whose payload is decoded later, depending on the opcode."""


class Color(IntEnum):
    RED = 1


class Size(Enum):
    SMALL = "small"


class Leaf(Struct, kw_only=True):
    name: str
    trace: list[str] = msgspec.field(name="_trace", default_factory=list)


class Tree(Struct, kw_only=True):
    id: Snowflake
    color: Color
    size: Size
    shape: Literal["round", "flat"]
    height: Annotated[int, msgspec.Meta(le=5)]
    leaves: list[Leaf]
    leaf: Leaf
    parent: "Tree | UnsetType" = UNSET

    @property
    def doubled(self) -> int:
        return 2 * self.height


@pytest.fixture
def events() -> Iterator[GatewayEventHandlers]:
    """The event handlers of a client without a connection."""
    core = Core(ClientCreateOptions(), threaded=True)
    yield GatewayEventHandlers(core)
    core.close()


def build_sample(hint: Any, *, ids_as_text: bool, depth: int = 0) -> Any:
    """Return JSON for a type, with unknown fields, unknown values of enumerations and all optional parts."""
    if isinstance(hint, NewType):
        return build_sample(hint.__supertype__, ids_as_text=ids_as_text, depth=depth)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return "unknown value"
    if origin is Annotated:
        return build_sample(arguments[0], ids_as_text=ids_as_text, depth=depth)
    if origin is dict:
        return {"5": build_sample(arguments[1], ids_as_text=ids_as_text, depth=depth)}
    if (isinstance(origin, type) and issubclass(origin, list)) or (origin is not None and "Sequence" in str(origin)):
        return [build_sample(arguments[0], ids_as_text=ids_as_text, depth=depth)]
    if arguments:
        known_arguments = [argument for argument in arguments if argument not in (NoneType, UnsetType)]
        return build_sample(known_arguments[0], ids_as_text=ids_as_text, depth=depth)
    if not isinstance(hint, type):
        return {"anything": 1}
    if issubclass(hint, Struct):
        fields = {
            field.encode_name: build_sample(field.type, ids_as_text=ids_as_text, depth=depth + 1)
            for field in msgspec.structs.fields(hint)
            if depth < 6
        }
        return {"id": "7" if ids_as_text else 7} | fields | {"field_of_a_newer_platform": {"nested": [1]}}
    if issubclass(hint, Snowflake):
        return "7" if ids_as_text else 7
    if issubclass(hint, bool):
        return True
    if issubclass(hint, int):
        return 987_654
    if issubclass(hint, float):
        return 0.5
    return "2026-01-02T03:04:05+00:00"


def dispatch(events: GatewayEventHandlers, event: str, payload: object) -> None:
    events.dispatch(event, msgspec.Raw(msgspec.json.encode(payload)))


@pytest.mark.parametrize("event", HANDLED_EVENTS)
@pytest.mark.parametrize("ids_as_text", [True, False], ids=["IDs as strings", "IDs as numbers"])
def test_events_with_unknown_fields_and_values_are_handled(
    events: GatewayEventHandlers, event: str, ids_as_text: bool
) -> None:
    model, _ = event_table.handlers[event]
    payload = build_sample(model, ids_as_text=ids_as_text)

    decoded = decode(msgspec.json.encode(payload), model)
    assert isinstance(decoded, model)
    assert all(getattr(decoded, name) is not UNSET for name in model.__struct_fields__)
    if "id" in model.__struct_fields__:
        assert decoded.id == 7
    # The expiry of invites requires an event loop, which this test does not have.
    events._schedule_expiry = lambda: None  # type: ignore[method-assign]
    dispatch(events, "READY", {"user": {"id": "1", "username": "mary"}, "session_id": "s"})
    dispatch(events, event, payload)


@pytest.mark.parametrize("event", HANDLED_EVENTS)
@pytest.mark.parametrize("value", ["missing", None, {"unexpected": "object"}, [[1]], "text", -1, True])
def test_events_with_missing_and_unexpected_values_are_handled(
    events: GatewayEventHandlers, event: str, value: object
) -> None:
    model, _ = event_table.handlers[event]
    events._schedule_expiry = lambda: None  # type: ignore[method-assign]
    dispatch(events, "READY", {"user": {"id": "1", "username": "mary"}, "session_id": "s"})
    names = [field.encode_name for field in msgspec.structs.fields(model)]
    payload = {} if value == "missing" else dict.fromkeys(names, value)

    if event == "READY":
        payload["user"] = {"id": "1"}
    dispatch(events, event, payload | {"id": "7"})


@pytest.mark.parametrize("event", HANDLED_EVENTS)
def test_parts_with_missing_fields_are_handled(events: GatewayEventHandlers, event: str) -> None:
    model, _ = event_table.handlers[event]
    events._schedule_expiry = lambda: None  # type: ignore[method-assign]
    dispatch(events, "READY", {"user": {"id": "1", "username": "mary"}, "session_id": "s"})
    payload = {
        name: [{"id": "7"}] if isinstance(value, list) else {"id": "7"} if isinstance(value, dict) else value
        for name, value in build_sample(model, ids_as_text=True).items()
    }

    dispatch(events, event, payload)


def test_an_object_without_id_is_rejected(events: GatewayEventHandlers) -> None:
    for data in (b'{"username":"mary"}', b'{"id":null}', b'{"id":"mary"}', b"[]", b"5"):
        with pytest.raises(msgspec.ValidationError):
            decode(data, User)
    with pytest.raises(msgspec.DecodeError):
        decode(b'{"id":', User)
    with pytest.raises(msgspec.DecodeError):
        decode(b'{"id":"5","banner":' + b"[" * 100_000, User)


def test_a_derived_model_is_a_subclass_of_its_model() -> None:
    tree = decode(
        b'{"id":"7","height":6,"leaf":{"_trace":["a"]},"color":9,"size":"huge","shape":"square","new":1}', Tree
    )

    assert isinstance(tree, Tree)
    assert isinstance(tree.leaf, Leaf)
    assert (tree.id, tree.height, tree.doubled, tree.leaf.trace) == (7, 6, 12, ["a"])
    assert (tree.color, tree.size, tree.shape) == (9, "huge", "square")  # type: ignore[comparison-overlap]
    assert not tree.leaves
    assert type(convert({"id": 7}, Tree)) is type(tree)


def test_a_value_of_an_unexpected_type_counts_as_missing() -> None:
    tree = convert(
        {
            "id": 7,
            "height": {"meters": 5},
            "leaves": [{"name": "a"}, 5, {"name": ["b"]}, {"name": 5}],
            "leaf": "oak",
            "color": "1",
        },
        Tree,
    )

    assert not tree.height
    assert [leaf.name or None for leaf in tree.leaves] == ["a", None, "5"]
    assert not tree.leaf
    assert tree.color == Color.RED


def test_a_part_without_id_is_left_out() -> None:
    message = decode(
        b'{"id":"7","content":"hi","author":{"username":"zoe"},"mentions":[{"id":"5"},{}]}', LinkedLobbyMessage
    )

    assert message.content == "hi"
    assert not message.author
    assert [user.id for user in message.mentions] == [5]


def test_missing_and_null_differ() -> None:
    user, unnamed_user = decode(b'[{"id":"5"},{"id":"5","global_name":null,"flags":0}]', list[User])

    assert (sent_or(user.global_name, "Zoe"), sent_or(unnamed_user.global_name, "Zoe")) == ("Zoe", None)
    assert (value_or(user.flags, 4), value_or(unnamed_user.flags, 4)) == (4, 0)
    assert not user.global_name
    assert not unnamed_user.global_name


def test_models_of_a_session_are_derived_once() -> None:
    ready = decode(b'{"lobbies":[{"id":"5"}],"presences":[{"activities":[{"name":"Puddle"}]}]}', Ready)

    assert ready.lobbies
    assert type(ready.lobbies[0]) is type(convert({"id": 5}, GatewayLobby))
    assert type(ready.presences[0].activities[0]) is type(convert({}, Activity))


def test_the_sdk_declares_no_payloads() -> None:
    found_names = {
        f"{file.relative_to(SOURCE)}: {node.name}"
        for file in (SOURCE / "sdk").rglob("*.py")
        if file != SOURCE / "sdk/cache.py"
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef) and any(ast.unparse(base).endswith("Struct") for base in node.bases)
    }

    assert found_names == OWN_STRUCTS
