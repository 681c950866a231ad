"""Every word about users, guilds and the gateway survives the wire, and the tables that hold them agree with themselves."""

from datetime import UTC, datetime
from types import ModuleType, NoneType
from typing import Any

import msgspec
import pytest
from msgspec import UNSET, Struct, inspect

from hubbub.protocol import errors, wire
from hubbub.protocol.enums import GatewayOpcode
from hubbub.protocol.ids import GuildId, RoleId, UserId, WideInt
from hubbub.protocol.images import ImageData
from hubbub.protocol.intents import Intents
from hubbub.protocol.operation import Auth, Command, Event, Operation, events_of, operations_of
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import (
    accounts,
    applications,
    audit_log,
    bans,
    gateway,
    guilds,
    invites,
    members,
    presence,
    roles,
    soundboard,
    users,
    voice_states,
)
from hubbub.protocol.sounds import SoundData

MODULES: tuple[ModuleType, ...] = (
    accounts,
    applications,
    audit_log,
    bans,
    gateway,
    guilds,
    invites,
    members,
    presence,
    roles,
    soundboard,
    users,
    voice_states,
)

MODELS = [
    value
    for module in MODULES
    for value in vars(module).values()
    if isinstance(value, type) and issubclass(value, Struct) and value.__module__ == module.__name__
]
OPERATIONS = [pair for module in MODULES for pair in operations_of(module)]
EVENTS = [event for module in MODULES for event in events_of(module)]
COMMANDS = [value for module in MODULES for value in vars(module).values() if isinstance(value, Command)]

PATH_PARAMETERS = {
    "guild_id",
    "user_id",
    "role_id",
    "channel_id",
    "message_id",
    "application_id",
    "overwrite_id",
    "session_id",
    "code",
    "sound_id",
}
BIG = 1_234_567_890_123_456_789


def sample(kind: inspect.Type, *, full: bool) -> Any:
    """A value of a type: with every optional key, or with none."""
    match kind:
        case inspect.StructType():
            return kind.cls(
                **{field.name: sample(field.type, full=full) for field in kind.fields if full or field.required}
            )
        case inspect.UnionType():
            return sample(_choice(kind, full=full), full=full)
        case inspect.ListType():
            return [sample(kind.item_type, full=full)] * (1 if full else kind.min_length or 0)
        case inspect.DictType():
            return {sample(kind.key_type, full=full): sample(kind.value_type, full=full)} if full else {}
        case inspect.CustomType():
            if issubclass(kind.cls, ImageData):
                return kind.cls(b"\x89PNG\r\n\x1a\n", "image/png")
            return kind.cls(b"OggS") if issubclass(kind.cls, SoundData) else kind.cls(BIG)
        case inspect.StrType():
            return "user@example.org" if kind.pattern else "a" * max(8, kind.min_length or 0)
        case inspect.IntType():
            return kind.ge or 1
        case inspect.FloatType():
            return 0.5
        case inspect.BoolType():
            return True
        case inspect.NoneType() | inspect.AnyType():
            return None
        case inspect.LiteralType():
            return kind.values[0]
        case inspect.EnumType():
            return next(iter(kind.cls))
        case inspect.DateTimeType():
            return datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    raise AssertionError(f"no sample for {kind}")


def _choice(union: inspect.UnionType, *, full: bool) -> inspect.Type:
    """The richest member of a union for a full sample, null where it may be for a bare one."""
    if not full:
        for kind in union.types:
            if isinstance(kind, inspect.NoneType):
                return kind
    rank = {inspect.StructType: 0, inspect.ListType: 1, inspect.DictType: 1, inspect.CustomType: 1}
    return min(union.types, key=lambda kind: 9 if isinstance(kind, inspect.NoneType) else rank.get(type(kind), 2))


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
@pytest.mark.parametrize("full", [True, False], ids=["full", "bare"])
def test_each_model_survives_a_round_trip(model: type[Struct], full: bool) -> None:
    said = sample(inspect.type_info(model), full=full)
    data = wire.encode(said)

    heard = wire.decode(data, model)

    assert wire.encode(heard) == data
    for name in model.__struct_fields__:
        assert type(getattr(heard, name)) is type(getattr(said, name)), name


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_each_model_ignores_keys_it_does_not_know(model: type[Struct]) -> None:
    said = msgspec.json.decode(wire.encode(sample(inspect.type_info(model), full=True)))
    said["a_key_of_the_future"] = {"x": 1}

    wire.convert(said, model)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_each_model_says_what_it_is(model: type[Struct]) -> None:
    assert model.__doc__
    assert not model.__doc__.startswith(model.__name__)


def test_operation_names_and_routes_are_unique() -> None:
    names = [name for name, _ in OPERATIONS]
    routes = [(operation.method, operation.path) for _, operation in OPERATIONS]

    assert len(set(names)) == len(names)
    assert len(set(routes)) == len(routes)


def test_event_names_and_opcodes_are_unique() -> None:
    names = [event.name for event in EVENTS]
    opcodes = [command.opcode for command in COMMANDS]

    assert len(set(names)) == len(names)
    assert len(set(opcodes)) == len(opcodes)
    assert set(opcodes) <= set(GatewayOpcode)


@pytest.mark.parametrize(("name", "operation"), OPERATIONS, ids=lambda value: value if isinstance(value, str) else "")
def test_an_operation_agrees_with_itself(name: str, operation: Operation[Any, Any]) -> None:
    assert set(operation.parameters) <= PATH_PARAMETERS
    assert operation.auth is not Auth.NONE
    assert bool(operation.scopes) == bool(Auth.BEARER in operation.auth and Auth.ANYONE not in operation.auth)
    assert operation.body is NoneType or operation.method in {"POST", "PATCH", "PUT"}
    assert not operation.needs or errors.MISSING_PERMISSIONS in operation.raises
    assert not operation.needs or {"guild_id", "channel_id"} & set(operation.parameters)
    assert ("{guild_id}" in operation.path) <= (errors.UNKNOWN_GUILD in operation.raises)
    assert len(set(operation.raises)) == len(operation.raises)
    assert operation.success in {200, 201, 204}
    assert all(isinstance(event, Event) for event in operation.emits)


@pytest.mark.parametrize("operation", [operation for _, operation in OPERATIONS if operation.query is not NoneType])
def test_a_query_needs_only_text(operation: Operation[Any, Any]) -> None:
    said = msgspec.json.decode(wire.encode(sample(inspect.type_info(operation.query), full=True)))
    text = {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in said.items()}

    heard = wire.convert(text, operation.query, strict=False)

    assert msgspec.to_builtins(heard, enc_hook=wire.encode_hook) == said


def test_events_name_the_intents_of_the_specification() -> None:
    intents = {event.name: event.intents for event in EVENTS}

    assert intents["GUILD_MEMBER_ADD"] == Intents.GUILD_MEMBERS
    assert intents["GUILD_BAN_ADD"] == Intents.GUILD_MODERATION
    assert intents["INVITE_CREATE"] == Intents.GUILD_INVITES
    assert {name for name, bits in intents.items() if not bits} == {
        "READY",
        "READY_SUPPLEMENTAL",
        "OAUTH2_TOKEN_REVOKE",
        "RESUMED",
        "RATE_LIMITED",
        "USER_UPDATE",
        "VOICE_SERVER_UPDATE",
        "GUILD_MEMBERS_CHUNK",
        "SOUNDBOARD_SOUNDS",
        "CHANNEL_INFO",
    }


def test_ids_and_permissions_are_strings_on_the_wire_and_numbers_may_be_sent() -> None:
    body = wire.decode(b'{"permissions": 8, "name": "mods"}', roles.CreateRole)
    same = wire.decode(b'{"permissions": "8"}', roles.CreateRole)

    assert body.permissions == same.permissions == Permissions.ADMINISTRATOR
    assert isinstance(body.permissions, WideInt)
    assert wire.encode(body) == b'{"name":"mods","permissions":"8"}'
    assert wire.encode({RoleId(5): 2}) == b'{"5":2}'
    assert wire.decode(b'{"5":2}', dict[RoleId, int]) == {RoleId(5): 2}


def test_absent_and_null_differ_in_a_patch() -> None:
    assert wire.decode(b"{}", members.UpdateMyGuildMember).nick is UNSET
    assert wire.decode(b'{"nick": null}', members.UpdateMyGuildMember).nick is None


def test_role_tags_are_true_by_being_there() -> None:
    assert wire.encode(roles.RoleTags(premium_subscriber=None)) == b'{"premium_subscriber":null}'
    assert wire.encode(roles.RoleTags(bot_id=UserId(7))) == b'{"bot_id":"7"}'


@pytest.mark.parametrize(
    ("body", "model"),
    [
        ({"name": "x"}, guilds.CreateGuild),
        ({"name": "x" * 101}, guilds.CreateGuild),
        ({"afk_timeout": 61}, guilds.UpdateGuild),
        ({"name": ""}, roles.CreateRole),
        ({"color": 1 << 24}, roles.CreateRole),
        ({"nick": "x" * 33}, members.UpdateGuildMember),
        ({"communication_disabled_until": "soon"}, members.UpdateGuildMember),
        ({"user_ids": []}, bans.BulkBanUsers),
        ({"user_ids": [str(n) for n in range(201)]}, bans.BulkBanUsers),
        ({"delete_message_seconds": 604_801}, bans.BanUser),
        ({"max_age": 604_801}, invites.CreateChannelInvite),
        ({"max_uses": 101}, invites.CreateChannelInvite),
        ({"role_ids": ["1"] * 251}, invites.CreateChannelInvite),
        ({"status": "x" * 501}, voice_states.UpdateVoiceChannelStatus),
        ({"username": "x"}, users.UpdateMyUser),
        ({"avatar": "not a picture"}, users.UpdateMyUser),
        ({"tags": ["x"] * 6}, applications.UpdateApplication),
        ({"event_webhooks_status": 3}, applications.UpdateApplication),
        ({"username": "alice", "password": "short"}, accounts.Register),
        ({"username": "alice", "password": "long enough", "email": "nowhere"}, accounts.Register),
    ],
)
def test_what_is_past_a_limit_is_refused(body: dict[str, Any], model: type[Struct]) -> None:
    with pytest.raises(msgspec.ValidationError):
        wire.convert(body, model)


def test_an_applications_flags_are_told_in_both_forms() -> None:
    assert applications.flags_on_the_wire(1 << 33 | 1 << 17) == (1 << 17, str(1 << 33 | 1 << 17))


def test_an_activity_under_the_old_key_is_shown() -> None:
    old = wire.decode(b'{"status": "idle", "game": {"name": "chess", "type": 0}}', presence.SetPresence)
    both = wire.decode(b'{"activities": [], "game": {"name": "chess"}}', presence.SetPresence)

    assert [activity.name for activity in old.shown] == ["chess"]
    assert both.shown == []


@pytest.mark.parametrize("extra", ["{}", '{"compress": "true", "x": 1}', '{"shard": [0, 2], "capabilities": 32768}'])
def test_identify_takes_what_libraries_send(extra: str) -> None:
    said = {"token": "Bot a.b.c", "intents": 513, "properties": {"$os": "linux"}} | msgspec.json.decode(extra)

    assert wire.convert(said, gateway.Identify).intents == 513


def test_requested_members_keep_their_ids_as_sent() -> None:
    one = wire.decode(b'{"guild_id": "5", "user_ids": 7}', gateway.RequestGuildMembers)
    many = wire.decode(b'{"guild_id": ["5", 6], "user_ids": ["7", 8]}', gateway.RequestGuildMembers)
    none = wire.decode(b'{"guild_id": "5", "query": "", "limit": 0}', gateway.RequestGuildMembers)

    assert (one.guild_ids, one.wanted) == ([GuildId(5)], [7])
    assert (many.guild_ids, many.wanted) == ([GuildId(5), GuildId(6)], ["7", 8])
    assert none.wanted == []


def test_resumed_is_an_object_and_a_real_join_does_not_mention_availability() -> None:
    assert wire.encode(gateway.Resumed()) == b'{"_trace":[]}'
    assert wire.encode(guilds.UnavailableGuild(id=GuildId(1))) == b'{"id":"1"}'
