"""Ban and unban users, and delete the bans of a deleted guild."""

from collections.abc import Sequence

from hubbub.protocol.enums import AuditLogAction
from hubbub.protocol.ids import GuildId, UserId
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import bans as wire
from hubbub.server.core.call import Call
from hubbub.server.core.event_dispatch import GuildAudience
from hubbub.server.identity import users
from hubbub.server.identity.users import UserRow
from hubbub.server.places import members
from hubbub.server.places.audit_log import audit
from hubbub.server.places.bans import store
from hubbub.server.places.bans.signals import UserBanned
from hubbub.server.places.bans.store import BanRow

_BAN_EVENT_PERMISSIONS = Permissions.BAN_MEMBERS | Permissions.VIEW_AUDIT_LOG
"""Permissions to receive GUILD_BAN_ADD and GUILD_BAN_REMOVE; one of them is enough (spec/gateway.md#5.1)."""


def ban(call: Call, guild_id: GuildId, target_users: Sequence[UserRow], delete_message_seconds: int) -> None:
    """Ban users and remove the members among them. The caller must have checked that the users are not banned yet.

    The messages that the users sent in the last `delete_message_seconds` seconds are deleted; 0 deletes none."""
    store.insert_many(
        call.tx, [BanRow(guild_id, target_user.id, call.reason, call.now_ms) for target_user in target_users]
    )
    for target_user in target_users:
        audit.record(call, guild_id, AuditLogAction.MEMBER_BAN_ADD, target_id=target_user.id)
        call.tx.emit(
            wire.GUILD_BAN_ADD,
            wire.GuildBan(guild_id=guild_id, user=users.user_view(target_user)),
            GuildAudience(guild_id, permission=_BAN_EVENT_PERMISSIONS, excluded_user_id=target_user.id),
        )
    members.membership.remove_many(call, guild_id, [target_user.id for target_user in target_users])
    for target_user in target_users:
        notify_user_banned(call, guild_id, target_user.id, delete_message_seconds)


def notify_user_banned(call: Call, guild_id: GuildId, user_id: int, delete_message_seconds: int) -> None:
    """Send the signal `UserBanned`, so that listeners delete the recent messages of a banned user."""
    call.notify(UserBanned(guild_id=guild_id, user_id=UserId(user_id), delete_message_seconds=delete_message_seconds))


def unban(call: Call, guild_id: GuildId, target_user: UserRow) -> None:
    """Remove the ban of a user, with an audit log entry and an event."""
    store.delete(call.tx, guild_id, target_user.id)
    audit.record(call, guild_id, AuditLogAction.MEMBER_BAN_REMOVE, target_id=target_user.id)
    call.tx.emit(
        wire.GUILD_BAN_REMOVE,
        wire.GuildBan(guild_id=guild_id, user=users.user_view(target_user)),
        GuildAudience(guild_id, permission=_BAN_EVENT_PERMISSIONS),
    )


def delete_guild_bans(call: Call, guild_id: int) -> None:
    store.delete_guild_bans(call.tx, guild_id)
