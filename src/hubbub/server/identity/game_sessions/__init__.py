"""OAuth2 sessions: the connections of users to games.

A gateway session opened with a user's OAuth2 token has a row from READY until it ends, so that every node and every
operation can look up which users are playing. Lobbies use these rows to count connected members, and direct messages use
them to check whether both users are in the game.
"""

import msgspec

from hubbub.protocol.enums import Scope
from hubbub.protocol.ids import ApplicationId, UserId
from hubbub.server.core.call import Call
from hubbub.server.core.slices import Slice
from hubbub.server.identity.game_sessions import store
from hubbub.server.identity.game_sessions.store import (
    OAuth2SessionRow,
    filter_connected,
    is_playing,
    list_reading_application_ids,
)


class OAuth2SessionStarted(msgspec.Struct, frozen=True, kw_only=True):
    """An OAuth2 session of a user started. The user may have other sessions in the same game."""

    user_id: UserId
    application_id: ApplicationId
    is_first: bool
    """Whether the user has no other session in this game."""


class OAuth2SessionEnded(msgspec.Struct, frozen=True, kw_only=True):
    """An OAuth2 session of a user ended."""

    user_id: UserId
    application_id: ApplicationId
    is_last: bool
    """Whether the user has no other session in this game."""


def on_session_began(call: Call, user_id: int, session_id: str) -> None:
    """Record the start of an OAuth2 session and send the signal `OAuth2SessionStarted`.

    Do nothing if the caller's token does not belong to an application."""
    actor = call.actor
    if actor.application_id is None:
        return
    is_first = not filter_connected(call.tx, actor.application_id, (user_id,))
    row = OAuth2SessionRow(
        session_id=session_id,
        user_id=user_id,
        application_id=actor.application_id,
        family_id=actor.family_id or actor.application_id,
        began_ms=call.now_ms,
        reads_messages=int(Scope.DM_CHANNELS_MESSAGES_READ in actor.scopes),
    )
    store.insert(call.tx, row)
    call.notify(OAuth2SessionStarted(user_id=UserId(user_id), application_id=actor.application_id, is_first=is_first))


def on_session_ended(call: Call, user_id: int, session_id: str) -> None:
    """Delete an ended OAuth2 session and send the signal `OAuth2SessionEnded`. Do nothing if the session was not recorded."""
    ended_application_id = store.delete(call.tx, session_id)
    if ended_application_id is not None:
        application_id = ApplicationId(ended_application_id)
        is_last = not filter_connected(call.tx, application_id, (user_id,))
        call.notify(OAuth2SessionEnded(user_id=UserId(user_id), application_id=application_id, is_last=is_last))


def reset(call: Call) -> None:
    """End all recorded sessions when a single-process server starts or a snapshot is restored."""
    for user_id, session_id in store.list_sessions(call.tx):
        on_session_ended(call, user_id, session_id)


SLICE = Slice(
    name="game_sessions",
    modules=(),
    session_began=on_session_began,
    session_ended=on_session_ended,
    stored_sessions=store.list_started_before,
)

__all__ = [
    "SLICE",
    "OAuth2SessionStarted",
    "OAuth2SessionEnded",
    "filter_connected",
    "is_playing",
    "list_reading_application_ids",
    "reset",
]
