"""Create, update, reorder and delete roles: store, record in the audit log, publish."""

from collections.abc import Sequence

from hubbub.protocol.enums import AuditLogAction
from hubbub.protocol.ids import GuildId, RoleId
from hubbub.protocol.resources import roles as wire
from hubbub.server.core.call import Call
from hubbub.server.core.event_dispatch import GuildAudience
from hubbub.server.places.audit_log import audit
from hubbub.server.places.roles import store, views
from hubbub.server.places.roles.signals import RoleDeleted
from hubbub.server.places.roles.store import RoleRow

_AUDITED_FIELDS = (
    "name",
    "permissions",
    "color",
    "colors",
    "hoist",
    "mentionable",
    "icon",
    "unicode_emoji",
)
"""Fields that the audit log records when a role is created or deleted."""
_AUDITED_UPDATE_FIELDS = (*_AUDITED_FIELDS, "position")
"""Fields that the audit log records when a role is updated."""


def create(call: Call, row: RoleRow, *, is_audited: bool = True) -> wire.Role:
    """Store and publish a new role. With `is_audited=False` no audit log entry is recorded."""
    store.insert(call.tx, row)
    role = views.role(row, call.now_ms)
    if is_audited:
        audit.record(
            call,
            row.guild_id,
            AuditLogAction.ROLE_CREATE,
            target_id=row.id,
            changes=audit.differences(None, role, _AUDITED_FIELDS),
        )
    call.tx.emit(
        wire.GUILD_ROLE_CREATE,
        wire.GuildRole(guild_id=GuildId(row.guild_id), role=role),
        GuildAudience(row.guild_id),
        refresh="guild",
    )
    return role


def update(call: Call, before: RoleRow, after: RoleRow) -> wire.Role:
    """Update a role. Do nothing if nothing changed."""
    role = views.role(after, call.now_ms)
    if after != before:
        store.update(call.tx, after)
        _record_and_publish_update(call, before, role)
    return role


def reorder(call: Call, old_rows: Sequence[RoleRow], new_rows: Sequence[RoleRow]) -> None:
    """Store the new positions of roles and publish each moved role.

    Both sequences contain the same roles."""
    old_rows_by_id = {row.id: row for row in old_rows}
    moved_rows = [row for row in new_rows if row.position != old_rows_by_id[row.id].position]
    store.set_positions(call.tx, moved_rows)
    for row in moved_rows:
        _record_and_publish_update(call, old_rows_by_id[row.id], views.role(row, call.now_ms))


def delete(call: Call, row: RoleRow) -> None:
    """Delete a role and remove it from its members, without an event for each member (spec/http.md#4.4)."""
    store.delete(call.tx, row)
    audit.record(
        call,
        row.guild_id,
        AuditLogAction.ROLE_DELETE,
        target_id=row.id,
        changes=audit.differences(views.role(row, call.now_ms), None, _AUDITED_FIELDS),
    )
    call.tx.emit(
        wire.GUILD_ROLE_DELETE,
        wire.GuildRoleDeleted(guild_id=GuildId(row.guild_id), role_id=RoleId(row.id)),
        GuildAudience(row.guild_id),
        refresh="guild",
    )
    call.notify(RoleDeleted(GuildId(row.guild_id), RoleId(row.id)))


def _record_and_publish_update(call: Call, before: RoleRow, role: wire.Role) -> None:
    audit.record(
        call,
        before.guild_id,
        AuditLogAction.ROLE_UPDATE,
        target_id=before.id,
        changes=audit.differences(views.role(before, call.now_ms), role, _AUDITED_UPDATE_FIELDS),
    )
    call.tx.emit(
        wire.GUILD_ROLE_UPDATE,
        wire.GuildRole(guild_id=GuildId(before.guild_id), role=role),
        GuildAudience(before.guild_id),
        refresh="guild",
    )
