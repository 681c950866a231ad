"""Record and publish audit log entries in the transaction of the audited action, compare wire models, and delete logs."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import UNSET

from hubbub.protocol import codec
from hubbub.protocol.ids import AuditLogEntryId, GuildId, Snowflake, UserId
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import audit_log
from hubbub.protocol.resources.audit_log import AuditLogChange
from hubbub.server.core.call import Call
from hubbub.server.core.event_dispatch import GuildAudience
from hubbub.server.places.audit_log import store
from hubbub.server.places.audit_log.store import EntryRow


def record(
    call: Call,
    guild_id: int,
    action: int,
    *,
    target_id: int | None = None,
    changes: Iterable[AuditLogChange] = (),
    options: Mapping[str, object] | None = None,
    user_id: int | None = None,
) -> AuditLogEntryId:
    """Record an action of the caller, with the reason from the request, publish the entry and return its ID.

    `action` is an `AuditLogAction`. `options` are the additional values of the entry. `user_id` names another user who
    took the action; the caller's reason then does not apply."""
    reason = call.reason if user_id is None else None
    if user_id is None and call.actor_or_none is not None:
        user_id = call.user_id
    entry = audit_log.GuildAuditLogEntry(
        id=call.new_id(AuditLogEntryId),
        guild_id=GuildId(guild_id),
        target_id=None if target_id is None else Snowflake(target_id),
        user_id=None if user_id is None else UserId(user_id),
        action_type=int(action),
        changes=list(changes) or UNSET,
        # spec/http.md#3.11: option values are strings, even counts.
        options={key: str(value) for key, value in options.items()} if options else UNSET,
        reason=reason or UNSET,
    )
    store.insert(
        call.tx,
        guild_id,
        EntryRow(
            entry.id,
            entry.user_id,
            target_id,
            entry.action_type,
            None if entry.changes is UNSET else codec.encode(entry.changes).decode(),
            None if entry.options is UNSET else codec.encode(entry.options).decode(),
            reason,
        ),
    )
    # spec/http.md#3.5: entries are kept for 45 days. Each new entry deletes up to two expired entries, so that the log
    # shrinks.
    store.delete_expired(call.tx, guild_id, audit_log.oldest_entry_id(call.now_ms), limit=2)
    call.tx.emit(
        audit_log.GUILD_AUDIT_LOG_ENTRY_CREATE, entry, GuildAudience(guild_id, permission=Permissions.VIEW_AUDIT_LOG)
    )
    return entry.id


def differences(before: Any, after: Any, compared_fields: Iterable[str] | None = None) -> list[AuditLogChange]:
    """Return the changes between two wire models of one type.

    `before` is None if the object was created, `after` is None if it was deleted. `compared_fields` limits the fields; None
    compares all. A missing value equals null."""
    model = after if after is not None else before
    changes = []
    for field in compared_fields if compared_fields is not None else model.__struct_fields__:
        old_value, new_value = _comparable_value(before, field), _comparable_value(after, field)
        if old_value != new_value:
            changes.append(AuditLogChange(key=field, old_value=old_value, new_value=new_value))
    return changes


def _comparable_value(model: Any, field: str) -> Any:
    """Return a field of a wire model as plain JSON values; UNSET if it is missing or null."""
    value = UNSET if model is None else getattr(model, field, UNSET)
    if value is None:
        return UNSET
    return msgspec.to_builtins(value, enc_hook=codec.encode_hook) if isinstance(value, list | msgspec.Struct) else value


def delete_guild_log(call: Call, guild_id: int) -> None:
    store.delete_guild_log(call.tx, guild_id)
