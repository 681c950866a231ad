"""Round trips of every protocol model and query, and the consistency of operation declarations."""

from collections.abc import Sequence
from datetime import UTC, datetime
from types import ModuleType, NoneType
from typing import Annotated, Any

import msgspec
import pytest
from msgspec import Struct, inspect

from hubbub.protocol import codec, errors
from hubbub.protocol.images import ImageData
from hubbub.protocol.operation import Auth, Operation, operations_of
from hubbub.protocol.sounds import SoundData
from tests.contract.tables import operations, resource_modules

WIDE_ID = 1_234_567_890_123_456_789
DEPTH_MAX = 3
"""Depth at and below which a full sample has only required keys, because some models are recursive."""

PATTERN_SAMPLES = ("aaaaaaaa", "usd", "user@example.org")
"""Candidate values for strings with a pattern."""


def sample(type_info: inspect.Type, *, include_optional: bool, depth: int = 0) -> Any:
    """Build a value of a type, with every optional key or with none."""
    match type_info:
        case inspect.Metadata():
            return sample(type_info.type, include_optional=include_optional, depth=depth)
        case inspect.StructType():
            include_nested_optional = include_optional and depth < DEPTH_MAX
            return type_info.cls(
                **{
                    field.name: sample(field.type, include_optional=include_nested_optional, depth=depth + 1)
                    for field in type_info.fields
                    if include_nested_optional or field.required
                }
            )
        case inspect.UnionType():
            return sample(
                choose_union_member(type_info, include_optional=include_optional),
                include_optional=include_optional,
                depth=depth,
            )
        case inspect.ListType() | inspect.VarTupleType():
            return [sample(type_info.item_type, include_optional=include_optional, depth=depth + 1)] * max(
                int(include_optional), type_info.min_length or 0
            )
        case inspect.TupleType():
            return tuple(
                sample(item_type, include_optional=include_optional, depth=depth + 1)
                for item_type in type_info.item_types
            )
        case inspect.DictType():
            key, value = (
                sample(item_type, include_optional=include_optional, depth=depth + 1)
                for item_type in (type_info.key_type, type_info.value_type)
            )
            return {key: value} if include_optional else {}
        case inspect.CustomType():
            if issubclass(type_info.cls, ImageData):
                return type_info.cls(b"\x89PNG\r\n\x1a\n", "image/png")
            return type_info.cls(b"OggS") if issubclass(type_info.cls, SoundData) else type_info.cls(WIDE_ID)
        case inspect.StrType():
            if type_info.pattern:
                return next(text for text in PATTERN_SAMPLES if _matches(text, type_info))
            return "a" * min(max(8, type_info.min_length or 0), type_info.max_length or 8)
        case inspect.IntType():
            return type_info.ge or 1
        case inspect.FloatType():
            return float(max(0.5, type_info.ge or 0))
        case inspect.BoolType():
            return True
        case inspect.NoneType() | inspect.AnyType():
            return None
        case inspect.RawType():
            return msgspec.Raw(b'{"x":1}')
        case inspect.LiteralType():
            return type_info.values[0]
        case inspect.EnumType():
            return next(iter(type_info.cls))
        case inspect.DateTimeType():
            return datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    raise AssertionError(f"no sample for {type_info}")


def _matches(text: str, type_info: inspect.StrType) -> bool:
    bounds = msgspec.Meta(pattern=type_info.pattern, min_length=type_info.min_length, max_length=type_info.max_length)
    try:
        msgspec.convert(text, Annotated[str, bounds])
    except msgspec.ValidationError:
        return False
    return True


def choose_union_member(union: inspect.UnionType, *, include_optional: bool) -> inspect.Type:
    """Return the union member with the most content for a full sample, and null, if allowed, for a minimal one."""
    if not include_optional:
        for member in union.types:
            if isinstance(member, inspect.NoneType):
                return member
    rank = {inspect.StructType: 0, inspect.ListType: 1, inspect.DictType: 1, inspect.CustomType: 1}
    return min(union.types, key=lambda member: 9 if isinstance(member, inspect.NoneType) else rank.get(type(member), 2))


def models_of(module: ModuleType) -> Sequence[type[Struct]]:
    """Return the models that are defined in a module, without imported ones."""
    return [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Struct) and value.__module__ == module.__name__
    ]


def short_name(module: ModuleType) -> str:
    """Return the last part of a module's name."""
    return module.__name__.rpartition(".")[2]


@pytest.mark.parametrize("module", resource_modules(), ids=short_name)
def test_each_model_survives_a_round_trip(module: ModuleType) -> None:
    for model in models_of(module):
        for include_optional in (True, False):
            original = sample(inspect.type_info(model), include_optional=include_optional)
            data = codec.encode(original)

            decoded = codec.decode(data, model)

            assert codec.encode(decoded) == data, model
            for name in model.__struct_fields__:
                assert type(getattr(decoded, name)) is type(getattr(original, name)), f"{model}.{name}"


@pytest.mark.parametrize("module", resource_modules(), ids=short_name)
def test_each_model_ignores_unknown_keys_and_has_a_docstring(module: ModuleType) -> None:
    for model in models_of(module):
        body = msgspec.json.decode(codec.encode(sample(inspect.type_info(model), include_optional=True)))
        body["a_key_of_the_future"] = {"x": 1}

        codec.decode(msgspec.json.encode(body), model)

        assert model.__doc__, model
        assert not model.__doc__.startswith(model.__name__), model


@pytest.mark.parametrize("module", resource_modules(), ids=short_name)
def test_queries_decode_from_text(module: ModuleType) -> None:
    for name, operation in operations_of(module):
        if operation.query is NoneType:
            continue
        query = msgspec.json.decode(codec.encode(sample(inspect.type_info(operation.query), include_optional=True)))
        # The HTTP server collects repeated parameters into lists.
        parameters = {
            key: [query_text(item) for item in value] if isinstance(value, list) else query_text(value)
            for key, value in query.items()
        }

        decoded = codec.convert(parameters, operation.query, strict=False)

        assert msgspec.to_builtins(decoded, enc_hook=codec.encode_hook) == query, name


def query_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def test_operation_declarations_are_consistent() -> None:
    problems = {
        name: operation_problems
        for name, operation in operations().items()
        if (operation_problems := list(declaration_problems(operation)))
    }

    assert problems == {
        # The body contains the caller's password.
        "delete_application": ["a body with DELETE"],
        # This operation is disabled and always fails with the same error.
        "batch_set_guild_application_command_permissions": ["does not declare UNKNOWN_GUILD"],
    }


def declaration_problems(operation: Operation[Any, Any]) -> list[str]:
    problems = []
    if operation.body is not NoneType and operation.method not in {"POST", "PATCH", "PUT"}:
        problems.append(f"a body with {operation.method}")
    if operation.needs and not {"guild_id", "channel_id"} & set(operation.parameters):
        problems.append("permissions without a guild or channel")
    if "{guild_id}" in operation.path and errors.UNKNOWN_GUILD not in operation.raises:
        problems.append("does not declare UNKNOWN_GUILD")
    if operation.success not in {200, 201, 202, 204}:
        problems.append(f"succeeds with {operation.success}")
    if operation.scopes and Auth.BEARER not in operation.auth:
        problems.append("scopes without bearer authentication")
    return problems
