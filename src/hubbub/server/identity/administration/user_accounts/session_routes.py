"""HTTP handlers for the administration of login sessions."""

from hubbub.protocol import errors
from hubbub.protocol.ids import Snowflake
from hubbub.protocol.resources import session_administration as wire
from hubbub.protocol.resources.administration import AdministrativeAction
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.identity.administration.user_accounts import sessions


@handles(wire.LIST_SESSIONS, long=True)
def list_sessions(call: Call, query: wire.ListSessions) -> list[wire.AdministeredSession]:
    """List the login sessions of the server, newest first."""
    return sessions.list_sessions(call, query)


@handles(wire.END_SESSION)
def end_session(call: Call, session_id: Snowflake, body: AdministrativeAction) -> None:
    """End a login session.

    The token of the session is revoked, and its gateway sessions are closed. Other sessions of the user are not
    affected. Sessions of other operators cannot be ended.
    """
    if sessions.end_session(call, session_id, reason=body.reason) is None:
        raise errors.UNKNOWN_SESSION()
