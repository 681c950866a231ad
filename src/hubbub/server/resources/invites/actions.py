"""Making, using and ending invites: write, audit, publish."""

import secrets
import string
from typing import Any, Final

import msgspec

from hubbub.protocol import errors
from hubbub.protocol.enums import AuditLogAction
from hubbub.protocol.ids import ChannelId, GuildId, RoleId, UserId
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import invites as wire
from hubbub.protocol.resources.audit_log import AuditLogChange
from hubbub.server.core import audit, jobs
from hubbub.server.core.call import Call
from hubbub.server.core.dispatches import Audience
from hubbub.server.resources import members, roles, vanity_urls
from hubbub.server.resources.channels import ChannelsDeleted
from hubbub.server.resources.invites import rules, store, views
from hubbub.server.resources.invites.facts import GroupInviteAccepted
from hubbub.server.resources.invites.store import InviteRow, Targets
from hubbub.server.resources.invites.targets import Listed

EXPIRE: Final = "invites.expire"
READ_TARGETS: Final = "invites.read_targets"

AT_ONCE: Final = 1000
"""So many target users are read in with the request; longer lists go on in jobs of that size, so that none holds the store long."""

_BASE62: Final = string.digits + string.ascii_letters


class Expiry(msgspec.Struct):
    """What the job that ends an invite knows."""

    code: str


class MoreTargets(msgspec.Struct):
    """The next target users of a long list."""

    code: str
    created_ms: int
    """Of the list they belong to: it may have been replaced meanwhile."""
    user_ids: list[int]


def create(call: Call, wanted: InviteRow, listed: Listed | None = None, *, logged: bool = True) -> InviteRow:
    """Make an invite like this one, under a new code; one that nobody asked for by name is not `logged`."""
    if wanted.guild_id is not None and store.count(call.tx, wanted.guild_id, call.now) >= wire.INVITES_MAX:
        raise errors.MAX_INVITES()
    row = wanted._replace(code=_new_code())
    while not store.insert(call.tx, row):
        row = row._replace(code=_new_code())
    if row.expires_ms is not None:
        call.tx.enqueue(EXPIRE, Expiry(row.code), due_ms=row.expires_ms, key=f"{EXPIRE}:{row.code}")
    if listed is not None:
        row = _take_targets(call, row, listed)
    if row.guild_id is not None:
        if logged:
            changes = [AuditLogChange(key=key, new_value=value) for key, value in _traits(row).items()]
            audit.record(call, row.guild_id, AuditLogAction.INVITE_CREATE, changes=changes)
        call.tx.emit(wire.INVITE_CREATE, views.created(call, row), _managers(row))
    return row


def _new_code() -> str:
    return "".join(secrets.choice(_BASE62) for _ in range(wire.INVITE_CODE_LENGTH))


def _traits(row: InviteRow) -> dict[str, Any]:
    """What the audit log shows of an invite."""
    traits: dict[str, Any] = {
        "code": row.code,
        "channel_id": ChannelId(row.channel_id),
        "inviter_id": None if row.inviter_id is None else UserId(row.inviter_id),
        "max_age": row.max_age,
        "max_uses": row.max_uses,
        "uses": row.uses,
        "temporary": bool(row.temporary),
        "flags": row.flags,
        "target_type": row.target_type,
        "role_ids": row.roles or None,
    }
    return {key: value for key, value in traits.items() if value is not None}


def _managers(row: InviteRow) -> Audience:
    """gateway.md 5.1: events of invites are for those who hold MANAGE_CHANNELS in the channel."""
    return Audience.viewers(row.guild_id or 0, row.channel_id, permission=Permissions.MANAGE_CHANNELS)


# Target users


def change_targets(call: Call, row: InviteRow, listed: Listed) -> None:
    """Mean an invite for these users and no others."""
    store.clear_targets(call.tx, row.code)
    jobs.cancel(call.tx, READ_TARGETS, f"{READ_TARGETS}:{row.code}")
    before = row.target_users
    after = _take_targets(call, row, listed).target_users
    if row.guild_id is not None and after is not None:
        # The ids themselves may be many thousands: the log tells how many.
        old, new = None if before is None else before.total, after.total
        change = AuditLogChange(key="target_users_count", new_value=new)
        if old is not None:
            change.old_value = old
        traits = [AuditLogChange(key="code", old_value=row.code, new_value=row.code), change]
        audit.record(call, row.guild_id, AuditLogAction.INVITE_UPDATE, changes=traits)


def _take_targets(call: Call, row: InviteRow, listed: Listed) -> InviteRow:
    user_ids = [int(user_id) for user_id in listed.user_ids]
    first = user_ids[:AT_ONCE]
    store.add_targets(call.tx, row.code, first)
    targets = Targets(
        total=len(user_ids),
        processed=len(first),
        created_ms=call.now,
        completed_ms=call.now if len(first) == len(user_ids) else None,
        header=listed.header,
    )
    store.set_targets(call.tx, row.code, targets)
    for start in range(AT_ONCE, len(user_ids), AT_ONCE):
        more = MoreTargets(row.code, call.now, user_ids[start : start + AT_ONCE])
        call.tx.enqueue(READ_TARGETS, more, key=f"{READ_TARGETS}:{row.code}")
    kept = store.find(call.tx, row.code)
    if kept is None:
        raise errors.UNKNOWN_INVITE()
    return kept


def read_more_targets(call: Call, more: MoreTargets) -> None:
    """Read in the next part of a long list, unless the invite or the list is gone."""
    row = store.find(call.tx, more.code)
    targets = None if row is None else row.target_users
    if targets is None or targets.created_ms != more.created_ms:
        return
    store.add_targets(call.tx, more.code, more.user_ids)
    targets.processed += len(more.user_ids)
    if targets.processed >= targets.total:
        targets.completed_ms = call.now
    store.set_targets(call.tx, more.code, targets)


# Coming in


def accept(call: Call, row: InviteRow) -> None:
    """Let the caller in, with the roles the invite gives; who is in already only gets those."""
    if row.guild_id is None:
        call.tell(GroupInviteAccepted(channel_id=ChannelId(row.channel_id), user_id=call.user_id))
        _use(call, row)
        return
    granted = list(roles.find_many(call.tx, row.guild_id, row.roles))
    member = members.find(call.tx, row.guild_id, call.user_id)
    if member is not None:
        lacking = [role for role in granted if RoleId(role) not in member.roles]
        if lacking:
            members.give_roles(call, row.guild_id, call.user_id, lacking)
            # A use is what somebody gained by it, else one use would give its roles to all members.
            _use(call, row)
        return
    members.require_can_join(call, row.guild_id, call.user_id)
    rules.require_open(call, row.guild_id)
    members.add(call, row.guild_id, call.user_id, roles=granted, temporary=bool(row.temporary))
    _use(call, row)


def _use(call: Call, row: InviteRow) -> None:
    if row.is_vanity:
        vanity_urls.use(call.tx, row.code)
    elif row.max_uses and row.uses + 1 >= row.max_uses:
        delete(call, row)
    else:
        store.use(call.tx, row.code)


# The end


def revoke(call: Call, row: InviteRow) -> None:
    """End an invite on somebody's word."""
    delete(call, row)
    if row.guild_id is not None:
        changes = [AuditLogChange(key=key, old_value=value) for key, value in _traits(row).items()]
        audit.record(call, row.guild_id, AuditLogAction.INVITE_DELETE, changes=changes)


def delete(call: Call, row: InviteRow) -> None:
    """An invite is no more: revoked, used up, expired, or its channel went."""
    store.delete(call.tx, row.code)
    if row.expires_ms is not None:
        jobs.cancel(call.tx, EXPIRE, f"{EXPIRE}:{row.code}")
    if row.targets is not None:
        jobs.cancel(call.tx, READ_TARGETS, f"{READ_TARGETS}:{row.code}")
    if row.guild_id is not None:
        gone = wire.InviteDeleted(channel_id=ChannelId(row.channel_id), code=row.code, guild_id=GuildId(row.guild_id))
        call.tx.emit(wire.INVITE_DELETE, gone, _managers(row))


def delete_with_channels(call: Call, fact: ChannelsDeleted) -> None:
    """Channels are going, and the ways to them."""
    for row in store.list_of_channels(call.tx, fact.channel_ids):
        delete(call, row)
