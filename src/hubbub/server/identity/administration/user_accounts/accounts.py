"""Search, suspend, delete, restore and export accounts, and end their sessions."""

from typing import Any, Final

from hubbub.protocol import codec, errors
from hubbub.protocol.ids import Snowflake, UserId
from hubbub.protocol.resources import administration as wire
from hubbub.protocol.resources.accounts import DataExport
from hubbub.protocol.resources.data_exports import DataExportMessage, ListDataExportMessages
from hubbub.server.core import jobs as job_queue
from hubbub.server.core.call import Actor, Call
from hubbub.server.core.clock import DAY_MS
from hubbub.server.identity import accounts, users
from hubbub.server.identity.administration import ports, rules, store
from hubbub.server.identity.administration.audit_entries import audit
from hubbub.server.identity.administration.signals import DeletionCanceled, DeletionScheduled, UserSuspended
from hubbub.server.identity.administration.store import DeletionRow
from hubbub.server.identity.administration.user_accounts import views
from hubbub.server.identity.users import UserRow

__all__ = [
    "delete_written",
    "end_sessions",
    "export",
    "list_messages",
    "restore",
    "schedule_deletion",
    "search",
    "suspend",
    "unsuspend",
]
"""The interface for the command line and other slices."""

DELETE_USER_JOB: Final = "administration.delete_user"
"""Kind of the job that deletes an account at the end of its grace period."""


# Search


def search(call: Call, query: wire.SearchUsers) -> list[UserRow]:
    """Return a page of the accounts that match a query, by ascending ID."""
    if query.username is not None:
        user = users.names.find_by_username(call.tx, query.username.lower())
        return [] if user is None else [user]
    after_id = query.after or 0
    if query.state is None:
        return users.names.search(call.tx, query.query.strip().lower(), after_id=after_id, limit=query.limit)
    if query.state == wire.UserState.SUSPENDED:
        user_ids = accounts.management.list_banned_ids(call.tx, call.now_ms, after_id=after_id, limit=query.limit)
    else:
        user_ids = [row.user_id for row in store.list_deletions(call.tx, after_id=after_id, limit=query.limit)]
    users_by_id = users.find_many(call.tx, user_ids)
    return [users_by_id[user_id] for user_id in user_ids if user_id in users_by_id]


# Suspension


def suspend(call: Call, user: UserRow, *, reason: str | None, ends_ms: int | None = None) -> None:
    """Suspend an account until `ends_ms` (Unix milliseconds), or until an operator lifts the suspension if it is None."""
    rules.require_not_operator(call, user.id)
    accounts.ban(call, user.id, ends_ms=ends_ms, reason=reason)
    detail = "" if ends_ms is None else f"until {audit.format_time(ends_ms)}"
    _log_action(call, "user.suspend", user, detail=detail, reason=reason)
    call.notify(UserSuspended(user_id=user.id, reason=reason, ends_ms=ends_ms))


def unsuspend(call: Call, user: UserRow, *, reason: str | None = None) -> bool:
    """Lift a suspension. Return False if the account is not suspended.

    Raise FORBIDDEN if the account is being deleted: only its restoration ends the suspension."""
    if store.find_deletion(call.tx, user.id) is not None:
        raise errors.FORBIDDEN(message="This account is being deleted. Restore it instead.")
    if not accounts.unban(call, user.id):
        return False
    _log_action(call, "user.unsuspend", user, reason=reason)
    return True


def end_sessions(call: Call, user: UserRow, *, reason: str | None = None) -> int:
    """Revoke every login session of a user and return their number."""
    session_count = accounts.management.sign_out(call, user.id)
    _log_action(
        call,
        "user.end_sessions",
        user,
        detail=f"{session_count} session{'' if session_count == 1 else 's'}",
        reason=reason,
    )
    return session_count


# Deletion


def schedule_deletion(
    call: Call, user: UserRow, *, reason: str, grace_days: int = wire.GRACE_DAYS_DEFAULT
) -> DeletionRow:
    """Suspend an account and schedule its deletion. An account that is already being deleted keeps its date."""
    rules.require_not_operator(call, user.id)
    scheduled_deletion = store.find_deletion(call.tx, user.id)
    if scheduled_deletion is not None:
        return scheduled_deletion
    users.ports.check_deletion(call, user.id)
    suspension = accounts.management.find_ban(call.tx, user.id, call.now_ms)
    # A suspension that ends by itself must not end before the deletion.
    must_suspend = suspension is None or suspension.ends_ms is not None
    if must_suspend:
        accounts.ban(call, user.id, reason="The account is being deleted.")
    row = DeletionRow(
        user_id=user.id,
        operator_id=call.user_id_or_none,
        reason=reason,
        created_ms=call.now_ms,
        due_ms=call.now_ms + grace_days * DAY_MS,
        has_suspended=int(must_suspend),
    )
    store.insert_deletion(call.tx, row)
    call.tx.enqueue(DELETE_USER_JOB, user.id, due_ms=row.due_ms, key=_job_key(user.id))
    _log_action(call, "user.delete", user, detail=f"on {audit.format_time(row.due_ms)}", reason=reason)
    call.notify(DeletionScheduled(user_id=user.id, due_ms=row.due_ms))
    return row


def restore(call: Call, user: UserRow, *, reason: str | None = None) -> bool:
    """Cancel the deletion of an account. Return False if none is scheduled or it has begun."""
    row = store.find_deletion(call.tx, user.id)
    if row is None or row.due_ms <= call.now_ms:
        return False
    store.delete_deletion(call.tx, user.id)
    job_queue.cancel_jobs(call.tx, DELETE_USER_JOB, _job_key(user.id))
    if row.has_suspended:
        accounts.unban(call, user.id)
    _log_action(call, "user.restore", user, reason=reason)
    call.notify(DeletionCanceled(user_id=user.id))
    return True


def continue_deletion(call: Call, user_id: UserId) -> None:
    """Delete a batch of what a user wrote, and after the last batch the account.

    Do nothing if the deletion is not scheduled any more."""
    user = users.find(call.tx, user_id)
    if user is None or store.find_deletion(call.tx, user_id) is None:
        return
    if delete_written(call, user_id):
        call.tx.enqueue(DELETE_USER_JOB, user_id, key=_job_key(user_id))
        return
    accounts.management.delete(call, user_id)
    _log_action(call, "user.deleted", user, detail="The grace period ended.")


def delete_written(call: Call, user_id: UserId) -> bool:
    """Delete a batch of what a user or bot wrote. Return whether there may be more.

    Threads are deleted after the messages, because a thread in which other users wrote stays."""
    return ports.delete_messages(call, user_id) or any(ports.delete_written(call, user_id))


# Export


def export(call: Call, user: UserRow, *, reason: str | None = None) -> DataExport:
    """Return the stored data of a user, except messages, and record the export in the audit log."""
    records: dict[str, Any] = {}
    for sections in users.ports.export_data(call, user.id):
        records |= sections
    _log_action(call, "user.export", user, reason=reason)
    return DataExport(
        created_at=codec.timestamp(Snowflake(user.id).created_ms),
        user=users.my_user(user, Actor(user_id=user.id, kind="user")),
        sessions=views.sessions(call, user.id),
        records=records,
    )


def list_messages(call: Call, user: UserRow, query: ListDataExportMessages) -> list[DataExportMessage]:
    """Return a page of a user's messages for a data export, by ascending ID."""
    return ports.list_messages(call, user.id, query)


def _job_key(user_id: int) -> str:
    return f"{DELETE_USER_JOB}:{user_id}"


def _log_action(call: Call, action: str, user: UserRow, *, detail: str = "", reason: str | None = None) -> None:
    audit.log_action(call, action, "user", target_id=user.id, target_name=user.username, detail=detail, reason=reason)
