"""Disable, enable and delete applications, and record each action in the audit log of operators."""

from hubbub.server.core.call import Call
from hubbub.server.identity import applications
from hubbub.server.identity.administration import audit
from hubbub.server.identity.applications import ApplicationRow
from hubbub.server.identity.applications.interface.administration import DisabledRow


def disable(call: Call, row: ApplicationRow, *, reason: str) -> None:
    """Disable an application, or change the reason."""
    applications.administration.disable(call, row, DisabledRow(row.id, call.user_id_or_none, reason, call.now_ms))
    _log_action(call, "application.disable", row, reason=reason)


def enable(call: Call, row: ApplicationRow, *, reason: str | None = None) -> bool:
    """Enable an application. Return False if it is not disabled."""
    if not row.disabled:
        return False
    applications.administration.enable(call, row)
    _log_action(call, "application.enable", row, reason=reason)
    return True


def delete(call: Call, row: ApplicationRow, *, reason: str) -> None:
    applications.management.delete(call, row)
    _log_action(call, "application.delete", row, reason=reason)


def _log_action(call: Call, action: str, row: ApplicationRow, *, reason: str | None) -> None:
    audit.log_action(call, action, "application", target_id=row.id, target_name=row.name, reason=reason)
