"""Rules for approval requests, and the privileged intents that an application has without a grant."""

from hubbub.protocol import errors
from hubbub.protocol.flags import ApplicationFlags
from hubbub.protocol.resources import developers as wire
from hubbub.protocol.scopes import SCOPES, missing_approvals
from hubbub.server.core.call import Call
from hubbub.server.identity import applications, oauth2
from hubbub.server.identity.applications import ApplicationRow
from hubbub.server.identity.developers import store

RENEWAL_WINDOW_MS = wire.INTENT_GRACE_DAYS * 86_400_000
"""Time before the end of a grant during which the grant can be renewed, in milliseconds."""


def require_requestable(call: Call, row: ApplicationRow, body: wire.RequestApproval) -> None:
    """Reject requests for unknown names, for intents without a bot, and for approvals that are not needed or already granted.

    The grant of an intent can be renewed within RENEWAL_WINDOW_MS before its end."""
    if body.kind == "scope":
        scope_rule = SCOPES.get(body.name)
        if scope_rule is None:
            raise errors.invalid("name", *errors.bad_enum(body.name))
        if not missing_approvals([body.name], row.flags, ()):
            raise _approval_not_needed_error()
        if body.name in oauth2.list_approved_scopes(call.tx, row.id):
            raise _already_approved_error()
        return
    intent = wire.PRIVILEGED_INTENTS.get(body.name)
    if intent is None:
        raise errors.invalid("name", *errors.choices(wire.PRIVILEGED_INTENTS))
    if row.bot_id is None:
        raise errors.invalid("name", "APPROVAL_NEEDS_BOT", "The application has no bot.")
    if row.flags & intent.granted_flag:
        grant = store.find_approval(call.tx, row.id, "intent", body.name)
        if grant is None or grant.ends_ms is None or grant.ends_ms - call.now_ms > RENEWAL_WINDOW_MS:
            raise _already_approved_error()
    elif not applications.management.measure_size(call, row).requires_review:
        raise _approval_not_needed_error()


def list_limited_intents(row: ApplicationRow) -> list[str]:
    """Return the names of the privileged intents that an application enabled itself, without a grant."""
    return [
        name
        for name, intent in wire.PRIVILEGED_INTENTS.items()
        if row.flags & ApplicationFlags.EDITABLE & intent.limited_flag and not row.flags & intent.granted_flag
    ]


def _approval_not_needed_error() -> errors.ApiError:
    return errors.invalid("name", "APPROVAL_NOT_NEEDED", "The application does not need approval for this.")


def _already_approved_error() -> errors.ApiError:
    return errors.invalid("name", "APPROVAL_GRANTED", "The application is already approved for this.")
