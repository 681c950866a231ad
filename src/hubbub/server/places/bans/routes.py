"""HTTP handlers for guild bans."""

from msgspec import UNSET

from hubbub.protocol import errors
from hubbub.protocol.ids import GuildId, UserId
from hubbub.protocol.resources import bans as wire
from hubbub.server.core.call import Call
from hubbub.server.core.denials import Denial, PermissionDenied
from hubbub.server.core.slices import handles
from hubbub.server.identity import users
from hubbub.server.places.bans import actions, rules, store
from hubbub.server.places.standing import access

DAY_SECONDS = 86_400


@handles(wire.LIST_GUILD_BANS, long=True)
def list_guild_bans(call: Call, guild_id: GuildId, query: wire.ListGuildBans) -> list[wire.Ban]:
    """List guild bans."""
    rows = store.list_page(
        call.tx,
        guild_id,
        before=None if query.before is UNSET else query.before,
        after=None if query.after is UNSET else query.after,
        limit=query.limit,
    )
    users_by_id = users.find_many(call.tx, [row.user_id for row in rows])
    return [
        wire.Ban(user=users.user_view(users_by_id[row.user_id]), reason=row.reason)
        for row in rows
        if row.user_id in users_by_id
    ]


@handles(wire.GET_GUILD_BAN)
def get_guild_ban(call: Call, guild_id: GuildId, user_id: UserId) -> wire.Ban:
    """Get a guild ban."""
    row = store.find(call.tx, guild_id, user_id)
    target_user = users.find(call.tx, user_id)
    if row is None or target_user is None:
        raise errors.UNKNOWN_BAN()
    return wire.Ban(user=users.user_view(target_user), reason=row.reason)


@handles(wire.BAN_USER_FROM_GUILD)
def ban_user_from_guild(call: Call, guild_id: GuildId, user_id: UserId, body: wire.BanUser) -> None:
    """Ban a user from a guild.

    The user need not be a member. If the user is already banned, only their recent messages are deleted."""
    target_user = users.find(call.tx, user_id)
    if target_user is None:
        raise errors.UNKNOWN_USER()
    if not rules.filter_bannable(call.tx, access.get_guild_standing(call, guild_id), (user_id,)):
        raise PermissionDenied(Denial(guild_id=guild_id, user_id=user_id))
    delete_message_seconds = body.delete_message_seconds or (body.delete_message_days or 0) * DAY_SECONDS
    if store.find(call.tx, guild_id, user_id) is None:
        actions.ban(call, guild_id, [target_user], delete_message_seconds)
    else:
        actions.notify_user_banned(call, guild_id, user_id, delete_message_seconds)


@handles(wire.UNBAN_USER_FROM_GUILD)
def unban_user_from_guild(call: Call, guild_id: GuildId, user_id: UserId) -> None:
    """Remove a guild ban."""
    target_user = users.find(call.tx, user_id)
    if target_user is None or store.find(call.tx, guild_id, user_id) is None:
        raise errors.UNKNOWN_BAN()
    actions.unban(call, guild_id, target_user)


@handles(wire.BULK_BAN_USERS_FROM_GUILD)
def bulk_ban_users_from_guild(call: Call, guild_id: GuildId, body: wire.BulkBanUsers) -> wire.BulkBanResult:
    """Ban users from a guild.

    Unknown users, users already banned and users ranked too high are returned as failed."""
    user_ids = list(dict.fromkeys(body.user_ids))
    users_by_id = users.find_many(call.tx, user_ids)
    already_banned_ids = store.find_banned_ids(call.tx, guild_id, user_ids)
    bannable_ids = rules.filter_bannable(call.tx, access.get_guild_standing(call, guild_id), user_ids)
    banned_ids = [user_id for user_id in bannable_ids if user_id in users_by_id and user_id not in already_banned_ids]
    if not banned_ids:
        raise errors.FAILED_TO_BAN_USERS()
    actions.ban(call, guild_id, [users_by_id[user_id] for user_id in banned_ids], body.delete_message_seconds or 0)
    return wire.BulkBanResult(
        banned_users=[UserId(user_id) for user_id in banned_ids],
        failed_users=[user_id for user_id in user_ids if user_id not in set(banned_ids)],
    )
