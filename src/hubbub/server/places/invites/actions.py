"""Create, accept and delete invites, and store their target users."""

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
from hubbub.server.core import jobs
from hubbub.server.core.call import Call
from hubbub.server.core.event_dispatch import GuildAudience
from hubbub.server.core.personal_data import export_row
from hubbub.server.identity.users.signals import UserDeleting
from hubbub.server.places import join_limits, members, roles, vanity_urls
from hubbub.server.places.audit_log import audit
from hubbub.server.places.channels.signals import ChannelsDeleting
from hubbub.server.places.invites import ports, rules, store, views
from hubbub.server.places.invites.formats.target_files import TargetList
from hubbub.server.places.invites.store import InviteRow, TargetsProgress

EXPIRE_JOB: Final = "invites.expire"
"""Kind of the job that deletes an expired invite."""
STORE_TARGETS_JOB: Final = "invites.store_targets"
"""Kind of the job that stores a batch of target users."""

TARGETS_BATCH_SIZE: Final = 1000
"""Number of target users in a batch.

The request stores the first batch and jobs store the others, so that no transaction runs long."""

_CODE_ALPHABET: Final = string.digits + string.ascii_letters


class InviteExpiry(msgspec.Struct):
    """Payload of the job that deletes an expired invite."""

    code: str


class TargetsBatch(msgspec.Struct):
    """Payload of the job that stores a batch of target users of a long list."""

    code: str
    created_ms: int
    """Creation time of the target list in Unix milliseconds. If the list was replaced, the time differs."""
    user_ids: list[int]


def create(
    call: Call, template: InviteRow, target_list: TargetList | None = None, *, is_audited: bool = True
) -> InviteRow:
    """Create an invite from a template row, under a new code. Raise MAX_INVITES if the guild has too many invites.

    `target_list` limits the invite to the listed users; None allows all users. With `is_audited=False`, for invites that
    the platform creates itself, no audit log entry is recorded."""
    if template.guild_id is not None and store.count(call.tx, template.guild_id, call.now_ms) >= wire.INVITES_MAX:
        raise errors.MAX_INVITES()
    row = template._replace(code=_new_code())
    while not store.insert(call.tx, row):
        row = row._replace(code=_new_code())
    if row.expires_ms is not None:
        call.tx.enqueue(EXPIRE_JOB, InviteExpiry(row.code), due_ms=row.expires_ms, key=_expire_job_key(row.code))
    if target_list is not None:
        row = _store_targets(call, row, target_list)
    if row.guild_id is not None:
        if is_audited:
            changes = [AuditLogChange(key=key, new_value=value) for key, value in _audit_values(row).items()]
            audit.record(call, row.guild_id, AuditLogAction.INVITE_CREATE, changes=changes)
        call.tx.emit(wire.INVITE_CREATE, views.invite_created(call, row), _managers_audience(row))
    return row


def _expire_job_key(code: str) -> str:
    return f"{EXPIRE_JOB}:{code}"


def _targets_job_key(code: str) -> str:
    return f"{STORE_TARGETS_JOB}:{code}"


def _new_code() -> str:
    return "".join(secrets.choice(_CODE_ALPHABET) for _ in range(wire.INVITE_CODE_LENGTH))


def _audit_values(row: InviteRow) -> dict[str, Any]:
    """Return the values of an invite that the audit log records, by key."""
    values: dict[str, Any] = {
        "code": row.code,
        "channel_id": ChannelId(row.channel_id),
        "inviter_id": None if row.inviter_id is None else UserId(row.inviter_id),
        "max_age": row.max_age,
        "max_uses": row.max_uses,
        "uses": row.uses,
        "temporary": bool(row.temporary),
        "flags": row.flags,
        "target_type": row.target_type,
        "role_ids": row.granted_role_ids or None,
    }
    return {key: value for key, value in values.items() if value is not None}


def _managers_audience(row: InviteRow) -> GuildAudience:
    """Return the audience of invite events: members with MANAGE_CHANNELS in the channel (spec/gateway.md#5.1)."""
    return GuildAudience(row.guild_id or 0, row.channel_id, permission=Permissions.MANAGE_CHANNELS)


# Target users


def replace_targets(call: Call, row: InviteRow, target_list: TargetList) -> None:
    """Replace the target users of an invite, and record their number in the audit log of the guild."""
    store.clear_targets(call.tx, row.code)
    jobs.cancel_jobs(call.tx, STORE_TARGETS_JOB, _targets_job_key(row.code))
    old_progress = row.targets_progress
    new_progress = _store_targets(call, row, target_list).targets_progress
    if row.guild_id is not None and new_progress is not None:
        # There may be many thousands of IDs, so the audit log records only their number.
        change = AuditLogChange(key="target_users_count", new_value=new_progress.total)
        if old_progress is not None:
            change.old_value = old_progress.total
        changes = [AuditLogChange(key="code", old_value=row.code, new_value=row.code), change]
        audit.record(call, row.guild_id, AuditLogAction.INVITE_UPDATE, changes=changes)


def _store_targets(call: Call, row: InviteRow, target_list: TargetList) -> InviteRow:
    """Store the first batch of target users, schedule the other batches, and return the updated invite."""
    user_ids = [int(user_id) for user_id in target_list.user_ids]
    first_batch = user_ids[:TARGETS_BATCH_SIZE]
    store.add_targets(call.tx, row.code, first_batch)
    progress = TargetsProgress(
        total=len(user_ids),
        processed=len(first_batch),
        created_ms=call.now_ms,
        completed_ms=call.now_ms if len(first_batch) == len(user_ids) else None,
        header=target_list.header,
    )
    store.set_targets_progress(call.tx, row.code, progress)
    for start in range(TARGETS_BATCH_SIZE, len(user_ids), TARGETS_BATCH_SIZE):
        batch = TargetsBatch(row.code, call.now_ms, user_ids[start : start + TARGETS_BATCH_SIZE])
        call.tx.enqueue(STORE_TARGETS_JOB, batch, key=_targets_job_key(row.code))
    updated_row = store.find(call.tx, row.code)
    if updated_row is None:
        raise errors.UNKNOWN_INVITE()
    return updated_row


def store_targets_batch(call: Call, batch: TargetsBatch) -> None:
    """Store a batch of target users, unless the invite was deleted or its target list was replaced."""
    row = store.find(call.tx, batch.code)
    progress = None if row is None else row.targets_progress
    if progress is None or progress.created_ms != batch.created_ms:
        return
    store.add_targets(call.tx, batch.code, batch.user_ids)
    progress.processed += len(batch.user_ids)
    if progress.processed >= progress.total:
        progress.completed_ms = call.now_ms
    store.set_targets_progress(call.tx, batch.code, progress)


# Acceptance


def accept(call: Call, row: InviteRow) -> None:
    """Add the caller to the guild or group, and grant the invite's roles. An existing member only gets the roles."""
    if row.guild_id is None:
        ports.add_to_group(call, row.channel_id, call.user_id)
        _record_use(call, row)
        return
    granted_role_ids = list(roles.find_many(call.tx, row.guild_id, row.granted_role_ids))
    member = members.find(call.tx, row.guild_id, call.user_id)
    if member is not None:
        missing_role_ids = [role_id for role_id in granted_role_ids if RoleId(role_id) not in member.role_ids]
        if missing_role_ids:
            members.membership.grant_roles(call, row.guild_id, call.user_id, missing_role_ids)
            # Granting roles counts as a use, so that a single-use invite cannot grant its roles to several members.
            _record_use(call, row)
        return
    members.membership.require_can_join(call, row.guild_id, call.user_id)
    rules.require_invites_enabled(call, row.guild_id)
    join_limits.require_join_allowed(call)
    members.membership.add(
        call, row.guild_id, call.user_id, role_ids=granted_role_ids, is_temporary=bool(row.temporary)
    )
    _record_use(call, row)


def _record_use(call: Call, row: InviteRow) -> None:
    """Increment the uses of an invite, or delete it after its last permitted use."""
    if row.is_vanity:
        vanity_urls.increment_uses(call.tx, row.code)
    elif row.max_uses and row.uses + 1 >= row.max_uses:
        delete(call, row)
    else:
        store.increment_uses(call.tx, row.code)


# Deletion


def revoke(call: Call, row: InviteRow) -> None:
    """Delete an invite at a user's request and record it in the audit log."""
    delete(call, row)
    if row.guild_id is not None:
        changes = [AuditLogChange(key=key, old_value=value) for key, value in _audit_values(row).items()]
        audit.record(call, row.guild_id, AuditLogAction.INVITE_DELETE, changes=changes)


def delete(call: Call, row: InviteRow) -> None:
    """Delete an invite and cancel its jobs; publish INVITE_DELETE if it belongs to a guild."""
    store.delete(call.tx, row.code)
    if row.expires_ms is not None:
        jobs.cancel_jobs(call.tx, EXPIRE_JOB, _expire_job_key(row.code))
    if row.targets is not None:
        jobs.cancel_jobs(call.tx, STORE_TARGETS_JOB, _targets_job_key(row.code))
    if row.guild_id is not None:
        payload = wire.InviteDeleted(
            channel_id=ChannelId(row.channel_id), code=row.code, guild_id=GuildId(row.guild_id)
        )
        call.tx.emit(wire.INVITE_DELETE, payload, _managers_audience(row))


def on_channels_deleting(call: Call, signal: ChannelsDeleting) -> None:
    """Delete the invites to deleted channels."""
    for row in store.list_channel_invites(call.tx, signal.channel_ids):
        delete(call, row)


def delete_guild_invites(call: Call, guild_id: int) -> None:
    """Delete the invites of a deleted guild without events."""
    store.delete_guild_invites(call.tx, guild_id)


def on_user_deleting(call: Call, signal: UserDeleting) -> None:
    """Remove a deleted user from the invites that they created and from lists of target users.

    The invites to their stream are deleted."""
    for row in store.list_by_target_user(call.tx, signal.user_id):
        delete(call, row)
    store.clear_user(call.tx, signal.user_id)


def export_data(call: Call, user_id: UserId) -> dict[str, Any]:
    """Return the invites that a user created, for the export of their data."""
    return {"invites": [export_row(row, "inviter_id") for row in store.list_by_inviter(call.tx, user_id)]}
