"""Game sessions: who is in which game right now.

A session that a game opened with a player's token is a row from READY until it is gone for good, so that every node, and every
operation, knows who is playing: lobbies count who is connected, direct messages ask whether both are in the game.
"""

import msgspec

from hubbub.protocol.enums import Scope
from hubbub.protocol.ids import ApplicationId, UserId
from hubbub.server.core.call import Call
from hubbub.server.core.slices import Slice
from hubbub.server.resources.game_sessions import store
from hubbub.server.resources.game_sessions.store import SessionRow, connected, is_playing, readers_of


class GameSessionBegan(msgspec.Struct, frozen=True, kw_only=True):
    """A player came into a game; others of their sessions may be there already."""

    user_id: UserId
    application_id: ApplicationId
    first: bool


class GameSessionEnded(msgspec.Struct, frozen=True, kw_only=True):
    """A player's session in a game is over."""

    user_id: UserId
    application_id: ApplicationId
    last: bool
    """Whether no other session of theirs is in this game."""


def began(call: Call, user_id: int, session_id: str) -> None:
    """A game opened a session for its player."""
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
    """A session is gone for good."""
    found = store.delete(call.tx, session_id)
    if found is not None:
        application_id = ApplicationId(found)
        last = not connected(call.tx, application_id, (user_id,))
        call.tell(GameSessionEnded(user_id=UserId(user_id), application_id=application_id, last=last))


def reset(call: Call) -> None:
    """A platform of one process starts with nobody in a game."""
    for user_id, session_id in store.all_sessions(call.tx):
        ended(call, user_id, session_id)


SLICE = Slice(
    name="game_sessions", modules=(), session_began=began, session_ended=ended, sessions_kept=store.sessions_before
)

__all__ = ["SLICE", "GameSessionBegan", "GameSessionEnded", "connected", "is_playing", "readers_of", "reset"]
