"""Every protocol model survives encoding and decoding."""

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

BIG = 1_234_567_890_123_456_789
DEPTH_MAX = 3
"""Depth below which a full sample has only required keys: some models are recursive."""

PATTERN_SAMPLES = ("aaaaaaaa", "usd", "user@example.org")
"""Candidate values for strings with a pattern."""


def sample(kind: inspect.Type, *, full: bool, depth: int = 0) -> Any:
    """Build a value of a type, with every optional key or with none."""
    match kind:
        case inspect.Metadata():
            return sample(kind.type, full=full, depth=depth)
        case inspect.StructType():
            more = full and depth < DEPTH_MAX
            return kind.cls(
                **{
                    field.name: sample(field.type, full=more, depth=depth + 1)
                    for field in kind.fields
                    if more or field.required
                }
            )
        case inspect.UnionType():
            return sample(_choice(kind, full=full), full=full, depth=depth)
        case inspect.ListType() | inspect.VarTupleType():
            return [sample(kind.item_type, full=full, depth=depth + 1)] * max(int(full), kind.min_length or 0)
        case inspect.TupleType():
            return tuple(sample(each, full=full, depth=depth + 1) for each in kind.item_types)
        case inspect.DictType():
            key, value = (sample(each, full=full, depth=depth + 1) for each in (kind.key_type, kind.value_type))
            return {key: value} if full else {}
        case inspect.CustomType():
            if issubclass(kind.cls, ImageData):
                return kind.cls(b"\x89PNG\r\n\x1a\n", "image/png")
            return kind.cls(b"OggS") if issubclass(kind.cls, SoundData) else kind.cls(BIG)
        case inspect.StrType():
            if kind.pattern:
                return next(text for text in PATTERN_SAMPLES if _matches(text, kind))
            return "a" * min(max(8, kind.min_length or 0), kind.max_length or 8)
        case inspect.IntType():
            return kind.ge or 1
        case inspect.FloatType():
            return float(max(0.5, kind.ge or 0))
        case inspect.BoolType():
            return True
        case inspect.NoneType() | inspect.AnyType():
            return None
        case inspect.RawType():
            return msgspec.Raw(b'{"x":1}')
        case inspect.LiteralType():
            return kind.values[0]
        case inspect.EnumType():
            return next(iter(kind.cls))
        case inspect.DateTimeType():
            return datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    raise AssertionError(f"no sample for {kind}")


def _matches(text: str, kind: inspect.StrType) -> bool:
    bounds = msgspec.Meta(pattern=kind.pattern, min_length=kind.min_length, max_length=kind.max_length)
    try:
        msgspec.convert(text, Annotated[str, bounds])
    except msgspec.ValidationError:
        return False
    return True


def _choice(union: inspect.UnionType, *, full: bool) -> inspect.Type:
    """Return the union member with the most content for a full sample, and null, if allowed, for a minimal one."""
    if not full:
        for kind in union.types:
            if isinstance(kind, inspect.NoneType):
                return kind
    rank = {inspect.StructType: 0, inspect.ListType: 1, inspect.DictType: 1, inspect.CustomType: 1}
    return min(union.types, key=lambda kind: 9 if isinstance(kind, inspect.NoneType) else rank.get(type(kind), 2))


def models(module: ModuleType) -> Sequence[type[Struct]]:
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
    for model in models(module):
        for full in (True, False):
            original = sample(inspect.type_info(model), full=full)
            data = codec.encode(original)

            decoded = codec.decode(data, model)

            assert codec.encode(decoded) == data, model
            for name in model.__struct_fields__:
                assert type(getattr(decoded, name)) is type(getattr(original, name)), f"{model}.{name}"


@pytest.mark.parametrize("module", resource_modules(), ids=short_name)
def test_each_model_ignores_unknown_keys_and_has_a_docstring(module: ModuleType) -> None:
    for model in models(module):
        body = msgspec.json.decode(codec.encode(sample(inspect.type_info(model), full=True)))
        body["a_key_of_the_future"] = {"x": 1}

        codec.decode(msgspec.json.encode(body), model)

        assert model.__doc__, model
        assert not model.__doc__.startswith(model.__name__), model


@pytest.mark.parametrize("module", resource_modules(), ids=short_name)
def test_queries_decode_from_text(module: ModuleType) -> None:
    for name, operation in operations_of(module):
        if operation.query is NoneType:
            continue
        query = msgspec.json.decode(codec.encode(sample(inspect.type_info(operation.query), full=True)))
        # The HTTP server collects repeated parameters into lists.
        text = {
            key: [_text(each) for each in value] if isinstance(value, list) else _text(value)
            for key, value in query.items()
        }

        decoded = codec.convert(text, operation.query, strict=False)

        assert msgspec.to_builtins(decoded, enc_hook=codec.encode_hook) == query, name


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def test_operation_declarations_are_consistent() -> None:
    problems = {name: found for name, operation in operations().items() if (found := list(_problems(operation)))}

    assert problems == {
        # The body contains the caller's password.
        "delete_application": ["a body with DELETE"],
        # This operation is disabled and always fails with the same error.
        "batch_set_guild_application_command_permissions": ["does not declare UNKNOWN_GUILD"],
    }


def _problems(operation: Operation[Any, Any]) -> list[str]:
    found = []
    if operation.body is not NoneType and operation.method not in {"POST", "PATCH", "PUT"}:
        found.append(f"a body with {operation.method}")
    if operation.needs and not {"guild_id", "channel_id"} & set(operation.parameters):
        found.append("permissions without a guild or channel")
    if "{guild_id}" in operation.path and errors.UNKNOWN_GUILD not in operation.raises:
        found.append("does not declare UNKNOWN_GUILD")
    if operation.success not in {200, 201, 202, 204}:
        found.append(f"succeeds with {operation.success}")
    if operation.scopes and Auth.BEARER not in operation.auth:
        found.append("scopes without bearer authentication")
    return found
