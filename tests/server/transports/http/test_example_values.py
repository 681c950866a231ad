"""Generated examples: they decode as their types, contain realistic values, and respect constraints."""

import json
from types import NoneType
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import codec
from hubbub.protocol.ids import Snowflake, UserId
from hubbub.protocol.resources.channels import Channel
from hubbub.protocol.resources.gateway import Ready
from hubbub.protocol.resources.messages import Message
from hubbub.server.composition import SLICES
from hubbub.server.core.endpoints import EndpointTable
from hubbub.server.transports.http.example_values import example
from tests.contract.tables import commands, events


def assert_decodes(value: Any, kind: Any) -> None:
    codec.decode(json.dumps(value), kind)


def test_every_body_and_result_has_an_example_that_decodes() -> None:
    for endpoint in EndpointTable(SLICES):
        operation = endpoint.operation
        for kind in (operation.result, operation.error_model):
            if kind not in (NoneType, bytes):
                assert_decodes(example(kind), kind)
        if operation.body is not NoneType:
            assert_decodes(example(operation.body, is_in_request=True), operation.body)


def test_every_event_and_command_has_an_example_that_decodes() -> None:
    for event in events():
        assert_decodes(example(event.payload), event.payload)
    for command in commands():
        assert_decodes(example(command.payload, is_in_request=True), command.payload)


def test_values_are_realistic() -> None:
    message = example(Message)
    assert Snowflake(message["id"]).created_ms > 1_700_000_000_000
    assert message["timestamp"] == "2026-03-14T15:19:26.535000+00:00"
    assert message["author"]["username"] == "alice"
    assert len(message["author"]["avatar"]) == 32
    assert example(Channel)["name"] == "general"


def test_the_same_id_type_has_the_same_value_everywhere() -> None:
    message = example(Message)
    assert message["author"]["id"] == example(UserId)
    assert message["channel_id"] == example(Channel)["id"]


def test_examples_are_the_same_in_every_call() -> None:
    assert example(Ready) == example(Ready)


class Leaf(Struct, tag="leaf", tag_field="kind"):
    size: Annotated[int, Meta(ge=3, le=9)]


class Tree(Struct, tag="tree", tag_field="kind"):
    label: Annotated[str, Meta(min_length=12)]
    parts: "list[Tree | Leaf]"
    twin: "Tree | UnsetType" = UNSET
    height: int | UnsetType = UNSET
    parent: "Tree | None" = None
    mode: Literal["slow", "fast"] = "fast"


def test_the_example_of_a_recursive_model_is_finite() -> None:
    assert example(Tree) == {
        "kind": "tree",
        "label": "examplexxxxx",
        "parts": [],
        "parent": None,
        "mode": "fast",
        "height": 600,
    }
    assert_decodes(example(Tree), Tree)


def test_a_request_contains_required_fields_and_optional_ones_with_simple_values() -> None:
    assert set(example(Tree, is_in_request=True)) == {"kind", "label", "parts", "height"}


def test_constraints_are_respected() -> None:
    assert example(Leaf) == {"kind": "leaf", "size": 9}
    assert len(example(Annotated[list[int], Meta(min_length=2)])) == 2
    assert example(Annotated[str, Meta(max_length=3)]) == "exa"
