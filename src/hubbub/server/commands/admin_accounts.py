"""Actions of `hubbub admin` on accounts, job queues and operators, and the operator audit log."""

import argparse

from hubbub.protocol import codec
from hubbub.protocol.ids import Snowflake
from hubbub.protocol.operator_roles import OperatorRole
from hubbub.protocol.resources import administration as wire
from hubbub.protocol.resources import session_administration
from hubbub.protocol.resources.data_exports import DATA_EXPORT_PAGE_MAX, ListDataExportMessages
from hubbub.server.commands.admin_actions import (
    AdminError,
    action,
    format_search_results,
    parse_future_time,
    parse_id,
    require_grace_days,
    require_user,
)
from hubbub.server.core.call import Call
from hubbub.server.identity import administration
from hubbub.server.talk import file_administration

# Accounts


@action("list-users")
def list_users(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Print the accounts that match a search."""
    query = wire.SearchUsers(
        query=arguments.query,
        state=None if arguments.state is None else wire.UserState(arguments.state),
        limit=wire.PAGE_LIMIT_MAX,
    )
    rows = administration.accounts.search(call, query)
    lines = [f"{row.id} {row.username}" + ("" if row.email is None else f" {row.email}") for row in rows]
    return format_search_results(lines, "accounts")


@action("show-user")
def show_user(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Print an account with its storage and its login sessions."""
    user = administration.user_details(call, require_user(call, arguments.username))
    storage = file_administration.user_storage(call, user.id)
    quota_text = "" if storage.quota_bytes is None else f" of {storage.quota_bytes}"
    lines = [
        f"id: {int(user.id)}",
        f"username: {user.username}",
        f"created: {user.created_at}",
        "email: " + ("none" if user.email is None else user.email + ("" if user.verified else " (not confirmed)")),
        f"two-factor authentication: {'on' if user.mfa_enabled else 'off'}",
        f"storage: {storage.bytes}{quota_text} bytes in {storage.file_count} files",
    ]
    if user.operator_role is not None:
        lines.append(f"operator: {user.operator_role.value}")
    if user.suspension is not None:
        suspension_end = "" if user.suspension.ends_at is None else f" until {user.suspension.ends_at}"
        lines.append(f"suspended{suspension_end}: {user.suspension.reason or 'without a reason'}")
    if user.deletion is not None:
        lines.append(f"deleted at: {user.deletion.due_at}")
    lines += [
        f"session: {int(session.id)} {session.created_at} from {session.ip or 'an unknown address'}"
        + ("" if session.user_agent is None else f" with {session.user_agent}")
        for session in user.sessions
    ]
    return lines


@action("ban-user")
def ban_user(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Suspend an account, permanently or until a given time."""
    row = require_user(call, arguments.username)
    ends_ms = None if arguments.until is None else parse_future_time(call, arguments.until)
    administration.accounts.suspend(call, row, ends_ms=ends_ms, reason=arguments.reason)
    duration_text = "permanently" if ends_ms is None else f"until {codec.timestamp(ends_ms)}"
    return [f"Banned {row.username} {duration_text}; all tokens are revoked and all game accounts are unlinked."]


@action("unban-user")
def unban_user(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Enable a suspended account again."""
    row = require_user(call, arguments.username)
    if not administration.accounts.unsuspend(call, row):
        raise AdminError(f"{row.username} is not banned")
    return [f"Unbanned {row.username}."]


@action("end-sessions")
def end_sessions(call: Call, arguments: argparse.Namespace) -> list[str]:
    """End every login session of a user."""
    row = require_user(call, arguments.username)
    session_count = administration.accounts.end_sessions(call, row, reason=arguments.reason)
    return [f"Ended {session_count} session{'' if session_count == 1 else 's'} of {row.username}."]


@action("list-sessions")
def list_sessions(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Print the newest login sessions, of all users or of a given one."""
    query = session_administration.ListSessions(
        address=arguments.address,
        user_id=None if arguments.user is None else require_user(call, arguments.user).id,
        limit=wire.PAGE_LIMIT_MAX,
    )
    lines = [
        f"{int(session.id)} {session.username} {session.created_at} from {session.ip or 'an unknown address'}"
        + ("" if session.user_agent is None else f" with {session.user_agent}")
        for session in administration.sessions.list_sessions(call, query)
    ]
    if len(lines) == wire.PAGE_LIMIT_MAX:
        lines.append(f"Only the newest {wire.PAGE_LIMIT_MAX} sessions are shown; search for an address or a user.")
    return lines or ["No sessions found."]


@action("end-session")
def end_session(call: Call, arguments: argparse.Namespace) -> list[str]:
    """End one login session of a user."""
    session_id = Snowflake(parse_id(arguments.session_id))
    username = administration.sessions.end_session(call, session_id, reason=arguments.reason)
    if username is None:
        raise AdminError(f"there is no session {arguments.session_id}; see hubbub admin list-sessions")
    return [f"Ended a session of {username}."]


@action("delete-user")
def delete_user(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Suspend an account and schedule the deletion of the account and its messages."""
    row = require_user(call, arguments.username)
    grace_days = require_grace_days(arguments)
    deletion = administration.accounts.schedule_deletion(call, row, reason=arguments.reason, grace_days=grace_days)
    return [
        f"{row.username} is suspended. The account and its messages are deleted at {codec.timestamp(deletion.due_ms)}.",
        f"Until then, hubbub admin restore-user {row.username} cancels the deletion.",
    ]


@action("restore-user")
def restore_user(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Cancel the deletion of an account."""
    row = require_user(call, arguments.username)
    if not administration.accounts.restore(call, row):
        raise AdminError(f"{row.username} is not being deleted")
    return [f"Restored {row.username}."]


@action("export-user")
def export_user(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Print the stored data of a user as one JSON document, with a line for each message."""
    row = require_user(call, arguments.username)
    account = codec.encode(administration.accounts.export(call, row, reason=arguments.reason)).decode()
    lines: list[str] = []
    query = ListDataExportMessages(limit=DATA_EXPORT_PAGE_MAX)
    while page := administration.accounts.list_messages(call, row, query):
        lines += [codec.encode(message).decode() + "," for message in page]
        query = ListDataExportMessages(after=page[-1].id, limit=DATA_EXPORT_PAGE_MAX)
    if lines:
        lines[-1] = lines[-1].removesuffix(",")
    return [account.removesuffix("}") + ',"messages":[', *lines, "]}"]


# Queues


@action("list-jobs")
def list_jobs(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Print the numbers of jobs by kind, and the jobs that failed or are being retried."""
    lines = [
        f"{queue.kind}: {queue.waiting} waiting, {queue.retrying} retrying, {queue.failed} failed"
        for queue in administration.queues.list_queues(call)
    ]
    for state in wire.JobState:
        query = wire.ListJobs(state=state, limit=wire.PAGE_LIMIT_MAX)
        lines += [
            f"{int(job.id)} {job.kind} {state.value} after {job.attempts} attempts: {job.error}"
            for job in administration.queues.list_jobs(call, query)
        ]
    return lines or ["No jobs."]


@action("retry-jobs")
def retry_jobs(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Retry the jobs of a kind that failed permanently."""
    return [f"Retrying {administration.queues.retry_failed(call, arguments.kind)} jobs."]


@action("retry-job")
def retry_job(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Retry a job whose attempts failed."""
    if not administration.queues.retry(call, parse_id(arguments.job_id), reason=arguments.reason):
        raise AdminError(f"there is no job {arguments.job_id} whose attempts failed; see hubbub admin list-jobs")
    return [f"Retrying job {arguments.job_id}."]


@action("discard-job")
def discard_job(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Delete a job that failed permanently."""
    if not administration.queues.discard(call, parse_id(arguments.job_id), reason=arguments.reason):
        raise AdminError(f"there is no job {arguments.job_id} that failed permanently; see hubbub admin list-jobs")
    return [f"Deleted job {arguments.job_id}."]


# Operators


@action("list-operators")
def list_operators(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Print the operators of the server with their roles."""
    lines = [
        f"{row.username} {row.role.value}" + ("" if row.mfa_enabled else " (two-factor authentication is off)")
        for row in administration.operators.list_operators(call)
    ]
    return lines or ["No operators. Create the first one with hubbub admin set-operator NAME owner."]


@action("set-operator")
def set_operator(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Grant a user the role of an operator, or change it."""
    row = require_user(call, arguments.username)
    role = OperatorRole(arguments.role)
    administration.operators.set_role(call, row, role, reason=arguments.reason)
    lines = [f"{row.username} is now an operator with the role {role.value} and manages this server at /admin."]
    if not row.mfa_enabled:
        lines.append(f"{row.username} must enable two-factor authentication in the account settings first.")
    return lines


@action("remove-operator")
def remove_operator(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Remove the role of an operator, who can then no longer manage the server."""
    row = require_user(call, arguments.username)
    administration.operators.remove(call, row, reason=arguments.reason)
    return [f"{row.username} is not an operator anymore."]


@action("audit-log")
def print_audit_log(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Print the newest actions of operators, of all operators and kinds or of given ones."""
    query = wire.ListOperatorAudit(
        operator_id=None if arguments.operator is None else require_user(call, arguments.operator).id,
        action=arguments.action,
        target_id=None if arguments.target is None else Snowflake(parse_id(arguments.target)),
        limit=wire.PAGE_LIMIT_MAX,
    )
    lines = []
    for entry in administration.audit.list_entries(call, query):
        operator = "command line" if entry.operator_id is None else entry.operator_name or str(int(entry.operator_id))
        texts = [entry.created_at[:19] + "Z", operator + ":", entry.action, entry.target_name, entry.detail]
        if entry.reason is not None:
            texts.append(f"({entry.reason})")
        lines.append(" ".join(text for text in texts if text))
    return lines or ["No actions found."]
