"""HTTP handlers for the administration of accounts."""

from hubbub.protocol import codec, errors
from hubbub.protocol.ids import UserId
from hubbub.protocol.resources import administration as wire
from hubbub.protocol.resources.accounts import DataExport
from hubbub.protocol.resources.data_exports import DataExportMessage, ListDataExportMessages
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.identity.administration import rules
from hubbub.server.identity.administration.user_accounts import accounts, views


@handles(wire.SEARCH_USERS)
def search_users(call: Call, query: wire.SearchUsers) -> list[wire.AdministeredUser]:
    """Search the accounts of the server.

    Bots are not included.
    """
    return views.users(call, accounts.search(call, query))


@handles(wire.GET_ADMINISTERED_USER)
def get_administered_user(call: Call, user_id: UserId) -> wire.AdministeredUserDetails:
    """Get an account with its sessions."""
    return views.user_details(call, rules.require_user(call, user_id))


@handles(wire.SUSPEND_USER)
def suspend_user(call: Call, user_id: UserId, body: wire.SuspendUser) -> wire.AdministeredUser:
    """Disable an account, permanently or until a given time.

    Every token of the account and of its bots is revoked. The user sees the reason at login. Operators cannot be
    suspended.
    """
    user = rules.require_user(call, user_id)
    ends_ms = None if body.ends_at is None else codec.milliseconds(body.ends_at)
    if ends_ms is not None and ends_ms <= call.now_ms:
        raise errors.invalid("ends_at", "TIME_IN_PAST", "Choose a time in the future.")
    accounts.suspend(call, user, reason=body.reason, ends_ms=ends_ms)
    return views.user(call, user)


@handles(wire.UNSUSPEND_USER)
def unsuspend_user(call: Call, user_id: UserId, body: wire.AdministrativeAction) -> wire.AdministeredUser:
    """Enable a suspended account again.

    Revoked tokens stay revoked.
    """
    user = rules.require_user(call, user_id)
    accounts.unsuspend(call, user, reason=body.reason)
    return views.user(call, user)


@handles(wire.END_USER_SESSIONS)
def end_user_sessions(call: Call, user_id: UserId, body: wire.AdministrativeAction) -> None:
    """End every login session of a user."""
    user = rules.require_user(call, user_id)
    rules.require_not_operator(call, user_id)
    accounts.end_sessions(call, user, reason=body.reason)


@handles(wire.DELETE_USER)
def delete_user(call: Call, user_id: UserId, body: wire.DeleteUser) -> wire.AdministeredUser:
    """Delete an account and everything that its user wrote, after a grace period.

    The account is suspended immediately. When the grace period ends, the account is deleted with its messages, reactions,
    votes, threads and scheduled events.
    """
    user = rules.require_user(call, user_id)
    accounts.schedule_deletion(call, user, reason=body.reason, grace_days=body.grace_days)
    return views.user(call, user)


@handles(wire.RESTORE_USER)
def restore_user(call: Call, user_id: UserId, body: wire.AdministrativeAction) -> wire.AdministeredUser:
    """Cancel the deletion of an account.

    A suspension that the deletion caused is lifted.
    """
    user = rules.require_user(call, user_id)
    if not accounts.restore(call, user, reason=body.reason):
        raise errors.FORBIDDEN(message="No deletion of this account can be canceled.")
    return views.user(call, user)


@handles(wire.EXPORT_USER, long=True)
def export_user(call: Call, user_id: UserId, body: wire.AdministrativeAction) -> DataExport:
    """Export the stored data of an account, except its messages.

    Use it for a user who cannot log in, for example because the account is suspended. The export is recorded in the
    audit log.
    """
    return accounts.export(call, rules.require_user(call, user_id), reason=body.reason)


@handles(wire.LIST_EXPORTED_MESSAGES, long=True)
def list_exported_messages(call: Call, user_id: UserId, query: ListDataExportMessages) -> list[DataExportMessage]:
    """List the messages of an account for a data export.

    The list is in ascending order of IDs. A page with fewer messages than requested is the last one.
    """
    return accounts.list_messages(call, rules.require_user(call, user_id), query)
