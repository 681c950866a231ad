"""HTTP handlers for the audit log."""

from msgspec import UNSET

from hubbub.protocol.ids import GuildId
from hubbub.protocol.resources import audit_log as wire
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.identity import users
from hubbub.server.places.audit_log import ports, store, views


@handles(wire.LIST_GUILD_AUDIT_LOG_ENTRIES)
def list_guild_audit_log_entries(call: Call, guild_id: GuildId, query: wire.ListAuditLogEntries) -> wire.AuditLog:
    """List guild audit log entries."""
    filters = {
        column: int(value)
        for column in ("user_id", "target_id", "action_type")
        if (value := getattr(query, column)) is not UNSET
    }
    rows = store.list_page(
        call.tx,
        guild_id,
        call.now_ms,
        filters=filters,
        before=None if query.before is UNSET else query.before,
        after=None if query.after is UNSET else query.after,
        limit=query.limit,
    )
    # A target may be any object; IDs that are not user IDs are ignored by `find_many`.
    referenced_ids = {row.user_id for row in rows} | {row.target_id for row in rows}
    referenced_users = users.find_many(
        call.tx, sorted(referenced_id for referenced_id in referenced_ids if referenced_id is not None)
    )
    log = views.audit_log(rows, referenced_users.values())
    for referenced_objects in ports.list_referenced(call, guild_id, log.audit_log_entries):
        for field in referenced_objects.__struct_fields__:
            getattr(log, field).extend(getattr(referenced_objects, field))
    return log
