"""Search login sessions and end one of them."""

from ipaddress import ip_address

from hubbub.protocol import codec
from hubbub.protocol.ids import Snowflake, UserId
from hubbub.protocol.resources import session_administration as wire
from hubbub.server.core.call import Call
from hubbub.server.identity import accounts, users
from hubbub.server.identity.administration import rules
from hubbub.server.identity.administration.audit_entries import audit

__all__ = ["end_session", "list_sessions"]
"""The interface for the command line."""


def list_sessions(call: Call, query: wire.ListSessions) -> list[wire.AdministeredSession]:
    """Return a page of the login sessions that match a query, newest first."""
    rows = accounts.management.search_sign_ins(
        call.tx,
        address=_normalize_address(query.address),
        user_id=query.user_id,
        before_id=query.before,
        limit=query.limit,
    )
    users_by_id = users.find_many(call.tx, [row.user_id for row in rows])
    actor = call.actor_or_none  # None on the command line.
    return [
        wire.AdministeredSession(
            id=Snowflake(row.token_id),
            created_at=codec.timestamp(row.created_ms),
            current=actor is not None and row.token_id == actor.token_id,
            ip=row.ip or None,
            user_agent=row.user_agent or None,
            user_id=UserId(row.user_id),
            username=users_by_id[row.user_id].username,
        )
        for row in rows
    ]


def end_session(call: Call, session_id: Snowflake, *, reason: str | None = None) -> str | None:
    """Revoke a login session. Return the username of its user, or None if the session does not exist.

    Raise FORBIDDEN if the user is an operator, unless the session is one of the caller."""
    user_id = accounts.management.find_session_user(call.tx, session_id)
    user = None if user_id is None else users.find(call.tx, user_id)
    if user is None:
        return None
    if call.user_id_or_none not in (None, user.id):
        rules.require_not_operator(call, user.id)
    accounts.management.sign_out(call, user.id, token_id=session_id)
    audit.log_action(
        call,
        "user.end_session",
        "user",
        target_id=user.id,
        target_name=user.username,
        detail=f"session {int(session_id)}",
        reason=reason,
    )
    return user.username


def _normalize_address(text: str) -> str:
    """Return an address in the form in which addresses are stored: the short form of IPv6 in lower case."""
    try:
        return str(ip_address(text.strip()))
    except ValueError:
        return text.strip().lower()
