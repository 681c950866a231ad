"""Disable, enable, delete and restore applications, and record each action in the audit log of operators."""

from typing import Final

from hubbub.protocol import errors
from hubbub.protocol.resources import administration as wire
from hubbub.server.core import jobs as job_queue
from hubbub.server.core.call import Call
from hubbub.server.identity import administration, applications, users
from hubbub.server.identity.administration import audit
from hubbub.server.identity.application_administration import store
from hubbub.server.identity.application_administration.store import ApplicationDeletionRow
from hubbub.server.identity.applications import ApplicationRow
from hubbub.server.identity.applications.interface.administration import DisabledRow
from hubbub.server.identity.applications.signals import ApplicationDeleting

DELETE_APPLICATION_JOB: Final = "administration.delete_application"
"""Kind of the job that deletes an application at the end of its grace period."""
DAY_MS: Final = 24 * 3_600_000


def disable(call: Call, row: ApplicationRow, *, reason: str) -> None:
    """Disable an application, or change the reason."""
    deletion = store.find(call.tx, row.id)
    if deletion is not None and deletion.has_disabled:
        # A restoration must not enable an application that an operator disabled during its grace period.
        store.delete(call.tx, row.id)
        store.insert(call.tx, deletion._replace(has_disabled=0))
    _disable(call, row, reason)
    _log_action(call, "application.disable", row, reason=reason)


def enable(call: Call, row: ApplicationRow, *, reason: str | None = None) -> bool:
    """Enable an application. Return False if it is not disabled.

    Raise FORBIDDEN if the application is being deleted: only its restoration enables it."""
    if store.find(call.tx, row.id) is not None:
        raise errors.FORBIDDEN(message="This application is being deleted. Restore it instead.")
    if not row.disabled:
        return False
    applications.administration.enable(call, row)
    _log_action(call, "application.enable", row, reason=reason)
    return True


def schedule_deletion(
    call: Call,
    row: ApplicationRow,
    *,
    reason: str,
    grace_days: int = wire.GRACE_DAYS_DEFAULT,
    includes_messages: bool = False,
) -> ApplicationDeletionRow:
    """Disable an application and schedule its deletion. An application that is already being deleted keeps its date.

    With `includes_messages` everything that the bot wrote is deleted, too."""
    scheduled_deletion = store.find(call.tx, row.id)
    if scheduled_deletion is not None:
        return scheduled_deletion
    applications.administration.require_deletable(call, row)
    if not row.disabled:
        _disable(call, row, "The application is being deleted.")
    deletion = ApplicationDeletionRow(
        application_id=row.id,
        operator_id=call.user_id_or_none,
        reason=reason,
        created_ms=call.now_ms,
        due_ms=call.now_ms + grace_days * DAY_MS,
        has_disabled=int(not row.disabled),
        deletes_messages=int(includes_messages),
    )
    store.insert(call.tx, deletion)
    call.tx.enqueue(DELETE_APPLICATION_JOB, int(row.id), due_ms=deletion.due_ms, key=_job_key(row.id))
    detail = f"on {audit.format_time(deletion.due_ms)}" + (" with its messages" if includes_messages else "")
    _log_action(call, "application.delete", row, detail=detail, reason=reason)
    return deletion


def restore(call: Call, row: ApplicationRow, *, reason: str | None = None) -> bool:
    """Cancel the deletion of an application. Return False if none is scheduled or it has begun."""
    deletion = store.find(call.tx, row.id)
    if deletion is None or deletion.due_ms <= call.now_ms:
        return False
    store.delete(call.tx, row.id)
    job_queue.cancel_jobs(call.tx, DELETE_APPLICATION_JOB, _job_key(row.id))
    if deletion.has_disabled:
        applications.administration.enable(call, row)
    _log_action(call, "application.restore", row, reason=reason)
    return True


def continue_deletion(call: Call, application_id: int) -> None:
    """Delete a batch of what a bot wrote if the deletion includes it, and after the last batch the application.

    Do nothing if the deletion is not scheduled any more."""
    row, deletion = applications.find(call.tx, application_id), store.find(call.tx, application_id)
    if row is None or deletion is None:
        return
    if deletion.deletes_messages and row.bot_id is not None:
        if administration.accounts.delete_written(call, row.bot_id):
            call.tx.enqueue(DELETE_APPLICATION_JOB, application_id, key=_job_key(application_id))
            return
    applications.management.delete(call, row)
    if deletion.deletes_messages and row.bot_id is not None:
        users.delete(call, row.bot_id)
    _log_action(call, "application.deleted", row, detail="The grace period ended.")


def on_application_deleting(call: Call, signal: ApplicationDeleting) -> None:
    """Delete the scheduled deletion of an application that is deleted."""
    store.delete(call.tx, signal.row.id)


def _disable(call: Call, row: ApplicationRow, reason: str) -> None:
    applications.administration.disable(call, row, DisabledRow(row.id, call.user_id_or_none, reason, call.now_ms))


def _job_key(application_id: int) -> str:
    return f"{DELETE_APPLICATION_JOB}:{int(application_id)}"


def _log_action(call: Call, action: str, row: ApplicationRow, *, detail: str = "", reason: str | None = None) -> None:
    audit.log_action(call, action, "application", target_id=row.id, target_name=row.name, detail=detail, reason=reason)
