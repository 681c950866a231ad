"""Bans over HTTP."""

from msgspec import UNSET

from hubbub.protocol import errors
from hubbub.protocol.ids import GuildId, UserId
from hubbub.protocol.resources import bans as wire
from hubbub.server.core import access
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.resources import users
from hubbub.server.resources.bans import actions, rules, store

DAY_SECONDS = 86_400


@handles(wire.LIST_GUILD_BANS, long=True)
def list_guild_bans(call: Call, guild_id: GuildId, query: wire.ListGuildBans) -> list[wire.Ban]:
    """A page of a guild's bans."""
    rows = store.page(
        call.tx,
        guild_id,
        before=None if query.before is UNSET else query.before,
        after=None if query.after is UNSET else query.after,
        limit=query.limit,
    )
    people = users.find_many(call.tx, [row.user_id for row in rows])
    return [wire.Ban(user=users.user(people[row.user_id]), reason=row.reason) for row in rows if row.user_id in people]


@handles(wire.GET_GUILD_BAN)
def get_guild_ban(call: Call, guild_id: GuildId, user_id: UserId) -> wire.Ban:
    """One ban."""
    row = store.find(call.tx, guild_id, user_id)
    person = users.find(call.tx, user_id)
    if row is None or person is None:
        raise errors.UNKNOWN_BAN()
    return wire.Ban(user=users.user(person), reason=row.reason)


@handles(wire.BAN_USER_FROM_GUILD)
def ban_user_from_guild(call: Call, guild_id: GuildId, user_id: UserId, body: wire.BanUser) -> None:
    """Ban anybody, member or not; a second ban changes nothing but still takes messages back."""
    person = users.find(call.tx, user_id)
    if person is None:
        raise errors.UNKNOWN_USER()
    if not rules.bannable(call.tx, access.guild(call, guild_id), (user_id,)):
        raise errors.MISSING_PERMISSIONS()
    seconds = body.delete_message_seconds or (body.delete_message_days or 0) * DAY_SECONDS
    if store.find(call.tx, guild_id, user_id) is None:
        actions.ban(call, guild_id, [person], seconds)
    else:
        actions.silence(call, guild_id, user_id, seconds)


@handles(wire.UNBAN_USER_FROM_GUILD)
def unban_user_from_guild(call: Call, guild_id: GuildId, user_id: UserId) -> None:
    """Lift a ban."""
    person = users.find(call.tx, user_id)
    if person is None or store.find(call.tx, guild_id, user_id) is None:
        raise errors.UNKNOWN_BAN()
    actions.unban(call, guild_id, person)


@handles(wire.BULK_BAN_USERS_FROM_GUILD)
def bulk_ban_users_from_guild(call: Call, guild_id: GuildId, body: wire.BulkBanUsers) -> wire.BulkBanned:
    """Ban many; who is unknown, banned already or stands too high is named as failed."""
    wanted = list(dict.fromkeys(body.user_ids))
    people = users.find_many(call.tx, wanted)
    known = store.find_ids(call.tx, guild_id, wanted)
    allowed = rules.bannable(call.tx, access.guild(call, guild_id), wanted)
    banned = [user_id for user_id in allowed if user_id in people and user_id not in known]
    if not banned:
        raise errors.FAILED_TO_BAN_USERS()
    actions.ban(call, guild_id, [people[user_id] for user_id in banned], body.delete_message_seconds or 0)
    return wire.BulkBanned(
        banned_users=[UserId(user_id) for user_id in banned],
        failed_users=[user_id for user_id in wanted if user_id not in set(banned)],
    )
