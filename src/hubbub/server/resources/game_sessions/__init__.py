"""OAuth2 sessions: which users are connected to which game.

A gateway session opened with a user's OAuth2 token has a row from READY until it ends, so that every node and every
operation knows which users are playing. Lobbies count connected members with it, and direct messages check whether both
users are in the game.
"""

import msgspec

from hubbub.protocol.enums import Scope
from hubbub.protocol.ids import ApplicationId, UserId
from hubbub.server.core.call import Call
from hubbub.server.core.slices import Slice
from hubbub.server.resources.game_sessions import store
from hubbub.server.resources.game_sessions.store import SessionRow, connected, is_playing, readers_of


class GameSessionBegan(msgspec.Struct, frozen=True, kw_only=True):
    """An OAuth2 session of a user started. The user may have other sessions in the same game."""

    user_id: UserId
    application_id: ApplicationId
    first: bool
    """Whether the user has no other session in this game."""


class GameSessionEnded(msgspec.Struct, frozen=True, kw_only=True):
    """An OAuth2 session of a user ended."""

    user_id: UserId
    application_id: ApplicationId
    last: bool
    """Whether the user has no other session in this game."""


def began(call: Call, user_id: int, session_id: str) -> None:
    """Record the start of an OAuth2 session and raise `GameSessionBegan`."""
    actor = call.actor
    if actor.application_id is None:
        return
    first = not connected(call.tx, actor.application_id, (user_id,))
    row = SessionRow(
        session_id=session_id,
        user_id=user_id,
        application_id=actor.application_id,
        family_id=actor.family_id or actor.application_id,
        began_ms=call.now,
        reads_messages=int(Scope.DM_CHANNELS_MESSAGES_READ in actor.scopes),
    )
    store.insert(call.tx, row)
    call.tell(GameSessionBegan(user_id=UserId(user_id), application_id=actor.application_id, first=first))


def ended(call: Call, user_id: int, session_id: str) -> None:
    """Delete an ended OAuth2 session and raise `GameSessionEnded`."""
    found = store.delete(call.tx, session_id)
    if found is not None:
        application_id = ApplicationId(found)
        last = not connected(call.tx, application_id, (user_id,))
        call.tell(GameSessionEnded(user_id=UserId(user_id), application_id=application_id, last=last))


def reset(call: Call) -> None:
    """End all recorded sessions when a single-process platform starts."""
    for user_id, session_id in store.all_sessions(call.tx):
        ended(call, user_id, session_id)


SLICE = Slice(
    name="game_sessions", modules=(), session_began=began, session_ended=ended, sessions_kept=store.sessions_before
)

__all__ = ["SLICE", "GameSessionBegan", "GameSessionEnded", "connected", "is_playing", "readers_of", "reset"]
