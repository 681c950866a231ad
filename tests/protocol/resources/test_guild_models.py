"""Wire formats and limits of the models for users, guilds and the gateway."""

from typing import Any

import msgspec
import pytest
from msgspec import UNSET, Struct

from hubbub.protocol import codec
from hubbub.protocol.ids import GuildId, RoleId, UserId, WideInt
from hubbub.protocol.intents import Intents
from hubbub.protocol.operation import events_of
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import (
    accounts,
    applications,
    bans,
    gateway,
    guilds,
    invites,
    members,
    presence,
    roles,
    users,
    voice_states,
)


def test_events_have_the_intents_of_the_specification() -> None:
    intents = {event.name: event.intents for event in (*events_of(members), *events_of(bans), *events_of(invites))}

    assert intents["GUILD_MEMBER_ADD"] == Intents.GUILD_MEMBERS
    assert intents["GUILD_BAN_ADD"] == Intents.GUILD_MODERATION
    assert intents["INVITE_CREATE"] == Intents.GUILD_INVITES


def test_ids_and_permissions_are_encoded_as_strings_and_decoded_from_numbers() -> None:
    body = codec.decode(b'{"permissions": 8, "name": "mods"}', roles.CreateRole)
    string_body = codec.decode(b'{"permissions": "8"}', roles.CreateRole)

    assert body.permissions == string_body.permissions == Permissions.ADMINISTRATOR
    assert isinstance(body.permissions, WideInt)
    assert codec.encode(body) == b'{"name":"mods","permissions":"8"}'
    assert codec.encode({RoleId(5): 2}) == b'{"5":2}'
    assert codec.decode(b'{"5":2}', dict[RoleId, int]) == {RoleId(5): 2}


def test_absent_and_null_differ_in_a_patch() -> None:
    assert codec.decode(b"{}", members.UpdateMyGuildMember).nick is UNSET
    assert codec.decode(b'{"nick": null}', members.UpdateMyGuildMember).nick is None


def test_a_null_role_tag_means_true() -> None:
    assert codec.encode(roles.RoleTags(premium_subscriber=None)) == b'{"premium_subscriber":null}'
    assert codec.encode(roles.RoleTags(bot_id=UserId(7))) == b'{"bot_id":"7"}'


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
def test_invalid_values_are_rejected(body: dict[str, Any], model: type[Struct]) -> None:
    with pytest.raises(msgspec.ValidationError):
        codec.convert(body, model)


def test_application_flags_are_encoded_as_a_number_and_a_string() -> None:
    assert applications.wire_flags(1 << 33 | 1 << 17) == (1 << 17, str(1 << 33 | 1 << 17))


def test_an_activity_under_the_old_key_is_accepted() -> None:
    old_key_only = codec.decode(b'{"status": "idle", "game": {"name": "chess", "type": 0}}', presence.SetPresence)
    both_keys = codec.decode(b'{"activities": [], "game": {"name": "chess"}}', presence.SetPresence)

    assert [activity.name for activity in old_key_only.all_activities] == ["chess"]
    assert both_keys.all_activities == []


@pytest.mark.parametrize("extra", ["{}", '{"compress": "true", "x": 1}', '{"shard": [0, 2], "capabilities": 32768}'])
def test_identify_accepts_what_libraries_send(extra: str) -> None:
    payload = {"token": "Bot a.b.c", "intents": 513, "properties": {"$os": "linux"}} | msgspec.json.decode(extra)

    assert codec.convert(payload, gateway.Identify).intents == 513


def test_requested_members_keep_their_ids_as_sent() -> None:
    single_id = codec.decode(b'{"guild_id": "5", "user_ids": 7}', gateway.RequestGuildMembers)
    several_ids = codec.decode(b'{"guild_id": ["5", 6], "user_ids": ["7", 8]}', gateway.RequestGuildMembers)
    no_ids = codec.decode(b'{"guild_id": "5", "query": "", "limit": 0}', gateway.RequestGuildMembers)

    assert (single_id.guild_ids, single_id.requested_user_ids) == ([GuildId(5)], [7])
    assert (several_ids.guild_ids, several_ids.requested_user_ids) == ([GuildId(5), GuildId(6)], ["7", 8])
    assert no_ids.requested_user_ids == []


def test_resumed_is_an_object_and_a_deleted_guild_has_no_unavailable_key() -> None:
    assert codec.encode(gateway.Resumed()) == b'{"_trace":[]}'
    assert codec.encode(guilds.UnavailableGuild(id=GuildId(1))) == b'{"id":"1"}'
