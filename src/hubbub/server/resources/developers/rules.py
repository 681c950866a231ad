"""What an application may ask the operator for."""

from hubbub.protocol import errors
from hubbub.protocol.flags import ApplicationFlags
from hubbub.protocol.resources import developers as wire
from hubbub.protocol.scopes import SCOPES, missing_approvals
from hubbub.server.core.call import Call
from hubbub.server.resources import applications, oauth2
from hubbub.server.resources.applications import ApplicationRow
from hubbub.server.resources.developers import store

RENEWABLE_MS = wire.INTENT_GRACE_DAYS * 86_400_000
"""How long before its end a grant can be renewed."""


def require_askable(call: Call, row: ApplicationRow, body: wire.RequestApproval) -> None:
    """Raise where there is nothing to ask for: no such thing, one that is open, or one that was granted for long enough."""
    if body.kind == "scope":
        rule = SCOPES.get(body.name)
        if rule is None:
            raise errors.invalid("name", *errors.bad_enum(body.name))
        if not missing_approvals([body.name], row.flags, ()):
            raise _not_needed()
        if body.name in oauth2.approved_scopes(call.tx, row.id):
            raise _granted()
        return
    intent = wire.PRIVILEGED_INTENTS.get(body.name)
    if intent is None:
        raise errors.invalid("name", *errors.choices(wire.PRIVILEGED_INTENTS))
    if row.bot_id is None:
        raise errors.invalid("name", "APPROVAL_NEEDS_BOT", "The application has no bot.")
    if row.flags & intent.granted:
        kept = store.find_approval(call.tx, row.id, "intent", body.name)
        if kept is None or kept.ends_ms is None or kept.ends_ms - call.now > RENEWABLE_MS:
            raise _granted()
    elif applications.measure(call, row).free:
        raise _not_needed()


def limited_intents(row: ApplicationRow) -> list[str]:
    """The privileged intents that an application switched on itself and was not granted."""
    return [
        name
        for name, intent in wire.PRIVILEGED_INTENTS.items()
        if row.flags & ApplicationFlags.EDITABLE & intent.limited and not row.flags & intent.granted
    ]


def _not_needed() -> errors.ApiError:
    return errors.invalid("name", "APPROVAL_NOT_NEEDED", "The application needs no approval for this.")


def _granted() -> errors.ApiError:
    return errors.invalid("name", "APPROVAL_GRANTED", "The application is approved for this already.")
