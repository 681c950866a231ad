"""Banning and unbanning: write, audit, publish, tell."""

from collections.abc import Sequence

from hubbub.protocol.enums import AuditLogAction
from hubbub.protocol.ids import GuildId, UserId
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import bans as wire
from hubbub.server.core import audit
from hubbub.server.core.call import Call
from hubbub.server.core.dispatches import Audience
from hubbub.server.resources import members, users
from hubbub.server.resources.bans import store
from hubbub.server.resources.bans.facts import MemberBanned
from hubbub.server.resources.bans.store import BanRow
from hubbub.server.resources.users import UserRow

# Spec, gateway.md 5.1: GUILD_BAN_* go to holders of either bit.
_WATCHERS = Permissions.BAN_MEMBERS | Permissions.VIEW_AUDIT_LOG


def ban(call: Call, guild_id: GuildId, people: Sequence[UserRow], delete_message_seconds: int) -> None:
    """Ban users who are not banned yet; members among them are removed."""
    store.insert_many(call.tx, [BanRow(guild_id, person.id, call.reason, call.now) for person in people])
    for person in people:
        audit.record(call, guild_id, AuditLogAction.MEMBER_BAN_ADD, target_id=person.id)
        call.tx.emit(
            wire.GUILD_BAN_ADD,
            wire.GuildBan(guild_id=guild_id, user=users.user(person)),
            Audience.guild(guild_id, permission=_WATCHERS, excluded=person.id),
        )
    members.remove_many(call, guild_id, [person.id for person in people])
    for person in people:
        silence(call, guild_id, person.id, delete_message_seconds)


def silence(call: Call, guild_id: GuildId, user_id: int, delete_message_seconds: int) -> None:
    """Let upper floors take back what a banned user said lately."""
    call.tell(MemberBanned(guild_id=guild_id, user_id=UserId(user_id), delete_message_seconds=delete_message_seconds))


def unban(call: Call, guild_id: GuildId, person: UserRow) -> None:
    """Let a user come back."""
    store.delete(call.tx, guild_id, person.id)
    audit.record(call, guild_id, AuditLogAction.MEMBER_BAN_REMOVE, target_id=person.id)
    call.tx.emit(
        wire.GUILD_BAN_REMOVE,
        wire.GuildBan(guild_id=guild_id, user=users.user(person)),
        Audience.guild(guild_id, permission=_WATCHERS),
    )
