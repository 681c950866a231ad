"""The audit log over HTTP."""

from msgspec import UNSET

from hubbub.protocol.ids import GuildId
from hubbub.protocol.resources import audit_log as wire
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.resources import users
from hubbub.server.resources.audit_log import store, views
from hubbub.server.resources.audit_log.facts import AuditLogRead


@handles(wire.LIST_GUILD_AUDIT_LOG_ENTRIES)
def list_guild_audit_log_entries(call: Call, guild_id: GuildId, query: wire.ListAuditLogEntries) -> wire.AuditLog:
    """What was done in a guild, and by whom."""
    filters = {
        column: int(value)
        for column in ("user_id", "target_id", "action_type")
        if (value := getattr(query, column)) is not UNSET
    }
    rows = store.page(
        call.tx,
        guild_id,
        call.now,
        filters=filters,
        before=None if query.before is UNSET else query.before,
        after=None if query.after is UNSET else query.after,
        limit=query.limit,
    )
    # A target may be anything; those that are users are found by their ids.
    named = {row.user_id for row in rows} | {row.target_id for row in rows}
    people = users.find_many(call.tx, sorted(each for each in named if each is not None))
    log = views.audit_log(rows, people.values())
    call.tell(AuditLogRead(guild_id, log))
    return log
