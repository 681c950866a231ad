"""Every word of the protocol survives the wire, whichever module it is in."""

from collections.abc import Sequence
from datetime import UTC, datetime
from types import ModuleType, NoneType
from typing import Annotated, Any

import msgspec
import pytest
from msgspec import Struct, inspect

from hubbub.protocol import errors, wire
from hubbub.protocol.images import ImageData
from hubbub.protocol.operation import Auth, Operation, operations_of
from hubbub.protocol.sounds import SoundData
from tests.contract.tables import operations, vocabulary

BIG = 1_234_567_890_123_456_789
DEEP = 3
"""Below this a full sample has what it must: some words hold themselves."""

WORDS = ("aaaaaaaa", "usd", "user@example.org")
"""For what has a pattern of its own."""


def sample(kind: inspect.Type, *, full: bool, depth: int = 0) -> Any:
    """A value of a type: with every optional key, or with none."""
    match kind:
        case inspect.Metadata():
            return sample(kind.type, full=full, depth=depth)
        case inspect.StructType():
            more = full and depth < DEEP
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
                return next(word for word in WORDS if _fits(word, kind))
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


def _fits(word: str, kind: inspect.StrType) -> bool:
    bounds = msgspec.Meta(pattern=kind.pattern, min_length=kind.min_length, max_length=kind.max_length)
    try:
        msgspec.convert(word, Annotated[str, bounds])
    except msgspec.ValidationError:
        return False
    return True


def _choice(union: inspect.UnionType, *, full: bool) -> inspect.Type:
    """The richest member of a union for a full sample, null where it may be for a bare one."""
    if not full:
        for kind in union.types:
            if isinstance(kind, inspect.NoneType):
                return kind
    rank = {inspect.StructType: 0, inspect.ListType: 1, inspect.DictType: 1, inspect.CustomType: 1}
    return min(union.types, key=lambda kind: 9 if isinstance(kind, inspect.NoneType) else rank.get(type(kind), 2))


def models(module: ModuleType) -> Sequence[type[Struct]]:
    """The models that a module declares itself."""
    return [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Struct) and value.__module__ == module.__name__
    ]


def short(module: ModuleType) -> str:
    """A module's own name."""
    return module.__name__.rpartition(".")[2]


@pytest.mark.parametrize("module", vocabulary(), ids=short)
def test_each_model_survives_a_round_trip(module: ModuleType) -> None:
    for model in models(module):
        for full in (True, False):
            said = sample(inspect.type_info(model), full=full)
            data = wire.encode(said)

            heard = wire.decode(data, model)

            assert wire.encode(heard) == data, model
            for name in model.__struct_fields__:
                assert type(getattr(heard, name)) is type(getattr(said, name)), f"{model}.{name}"


@pytest.mark.parametrize("module", vocabulary(), ids=short)
def test_each_model_ignores_keys_it_does_not_know_and_says_what_it_is(module: ModuleType) -> None:
    for model in models(module):
        said = msgspec.json.decode(wire.encode(sample(inspect.type_info(model), full=True)))
        said["a_key_of_the_future"] = {"x": 1}

        wire.decode(msgspec.json.encode(said), model)

        assert model.__doc__, model
        assert not model.__doc__.startswith(model.__name__), model


@pytest.mark.parametrize("module", vocabulary(), ids=short)
def test_a_query_needs_only_text(module: ModuleType) -> None:
    for name, operation in operations_of(module):
        if operation.query is NoneType:
            continue
        said = msgspec.json.decode(wire.encode(sample(inspect.type_info(operation.query), full=True)))
        # The door splits what may come several times.
        text = {
            key: [_text(each) for each in value] if isinstance(value, list) else _text(value)
            for key, value in said.items()
        }

        heard = wire.convert(text, operation.query, strict=False)

        assert msgspec.to_builtins(heard, enc_hook=wire.encode_hook) == said, name


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def test_an_operation_agrees_with_itself() -> None:
    problems = {name: found for name, operation in operations().items() if (found := list(_problems(operation)))}

    assert problems == {
        # Its body is the password of whoever deletes it.
        "delete_application": ["a body with DELETE"],
        # It was closed, and says nothing else to anybody.
        "batch_set_guild_application_command_permissions": ["a guild that is never unknown"],
    }


def _problems(operation: Operation[Any, Any]) -> list[str]:
    found = []
    if operation.body is not NoneType and operation.method not in {"POST", "PATCH", "PUT"}:
        found.append(f"a body with {operation.method}")
    if operation.needs and not {"guild_id", "channel_id"} & set(operation.parameters):
        found.append("permissions in no place")
    if "{guild_id}" in operation.path and errors.UNKNOWN_GUILD not in operation.raises:
        found.append("a guild that is never unknown")
    if operation.success not in {200, 201, 202, 204}:
        found.append(f"succeeds with {operation.success}")
    if operation.scopes and Auth.BEARER not in operation.auth:
        found.append("scopes without bearers")
    return found
