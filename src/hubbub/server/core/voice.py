"""Where the voice door and the voice states meet: tickets, and the word that somebody's voice state is another now.

Whoever joins a voice channel, or the call of a lobby or of a private channel, gets a ticket (VOICE_SERVER_UPDATE or
LOBBY_VOICE_SERVER_UPDATE carries its token). It is good for one user, one session and one channel, and a newer one takes its place.
The voice door reads it from the store when a client comes, and again whenever it hears VOICE_CHANGED of somebody who is in one of
its calls; so it is the same in one process and in many.
"""

import hashlib
from typing import Final, Protocol

import msgspec

from hubbub.protocol.ids import Snowflake, UserId
from hubbub.protocol.operation import Event
from hubbub.server.core.call import Call
from hubbub.server.core.store import Tx

BEAT_MS: Final = 10_000
"""How often voice servers of several processes say that they are there,"""
LOST_MS: Final = 35_000
"""and after how long without a word one is gone."""


class VoiceChanged(msgspec.Struct, kw_only=True):
    """Internal: somebody's voice state or ticket is another now, or gone."""

    server_id: Snowflake
    user_id: UserId
    ended: bool = False
    """Whether the whole call is over, since its channel is gone."""


VOICE_CHANGED = Event("_VOICE_CHANGED", VoiceChanged)
"""Travels between nodes only; names with an underscore never reach a client."""


class Ticket(msgspec.Struct, frozen=True, kw_only=True):
    """What the voice door needs to know of somebody."""

    server_id: Snowflake
    """The guild, the lobby, or the private channel."""
    user_id: UserId
    channel_id: Snowflake
    """Whose call it is: a guild's channel, or the same again."""
    session_id: str
    """As voice states show it."""
    token_hash: bytes
    server: str | None
    """The endpoint of the voice server that it is good at."""
    silent: bool
    """Muted, by themselves or the guild, or held back from speaking: nothing of theirs is forwarded."""
    deaf: bool
    """Nothing is forwarded to them."""
    stage: bool
    failures: int
    """How often the voice server refused them lately."""


class VoiceSource(Protocol):
    """What the App gives the voice door to read and write the world with."""

    def find_ticket(self, tx: Tx, token_hash: bytes) -> Ticket | None:
        """The ticket of a token, as long as it is the newest of its owner."""
        ...

    def ticket_of(self, tx: Tx, server_id: int, user_id: int) -> Ticket | None:
        """The ticket of somebody in a guild, lobby or private channel."""
        ...

    def entered(self, call: Call, ticket: Ticket) -> None:
        """A connection stands: earlier refusals are forgotten."""
        ...

    def refused(self, call: Call, ticket: Ticket) -> None:
        """A connection with a good ticket was refused: they are not in the channel, and the next join waits."""
        ...

    def gone(self, call: Call, ticket: Ticket) -> None:
        """A connection is gone for good: unless there is a newer ticket they leave the channel."""
        ...

    def serve(self, call: Call, endpoint: str) -> None:
        """A voice server of several is there; calls of those that are not go to others."""
        ...

    def withdraw(self, call: Call, endpoint: str) -> None:
        """A voice server of several ends; its calls go to others."""
        ...


def session_id(gateway_session_id: str) -> str:
    """The session id that voice states show: nobody resumes a gateway session by it."""
    return hashlib.sha256(f"voice {gateway_session_id}".encode()).hexdigest()[:32]
