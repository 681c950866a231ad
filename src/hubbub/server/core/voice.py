"""Voice tickets and the event for changed voice states: the interface between the voice server and voice states.

A user who joins a voice channel, or the call of a lobby or private channel, gets a ticket (VOICE_SERVER_UPDATE or
LOBBY_VOICE_SERVER_UPDATE contains its token). It is valid for one user, one session and one channel, and a newer one
replaces it. The voice server reads the ticket from the store when a client connects, and again on VOICE_CHANGED for a
user in one of its calls, so it works the same in one process and in many.
"""

import hashlib
from typing import Final, Protocol

import msgspec

from hubbub.protocol.ids import Snowflake, UserId
from hubbub.protocol.operation import Event
from hubbub.server.core.call import Call
from hubbub.server.core.store import Tx

HEARTBEAT_MS: Final = 10_000
"""Interval in milliseconds at which each voice server of a cluster records a heartbeat."""
SERVER_TIMEOUT_MS: Final = 35_000
"""Time in milliseconds without a heartbeat after which a voice server counts as lost."""


class VoiceChanged(msgspec.Struct, kw_only=True):
    """Internal event: a user's voice state or ticket was changed or removed."""

    server_id: Snowflake
    """The ID of the guild, lobby or private channel."""
    user_id: UserId
    has_ended: bool = False
    """Whether the voice call ended for all participants, for example because its channel was deleted."""


VOICE_CHANGED = Event("_VOICE_CHANGED", VoiceChanged)
"""Sent between nodes only; event names with a leading underscore never reach a client."""


class VoiceTicket(msgspec.Struct, frozen=True, kw_only=True):
    """A user's permission to connect to a voice server."""

    server_id: Snowflake
    """The ID of the guild, lobby or private channel."""
    user_id: UserId
    channel_id: Snowflake
    """The guild channel of the call; for a lobby or private channel the same as `server_id`."""
    session_id: str
    """The session ID as voice states show it."""
    token_hash: bytes
    """The hash of the ticket's token, which is not stored itself."""
    endpoint: str | None
    """The endpoint of the voice server that the ticket is valid for; None if it is not bound to one."""
    is_silent: bool
    """Whether the user is muted, by themselves or the guild, or suppressed: their audio is not forwarded."""
    is_suppressed: bool
    """Whether the user is in the audience of a stage or may not speak: neither audio nor video is forwarded."""
    is_deaf: bool
    """Whether the user is deafened: no audio is forwarded to them."""
    is_stage: bool
    failures: int
    """Number of recent rejections by the voice server."""

    @property
    def is_in_guild(self) -> bool:
        """Whether the call is in a guild channel, where permissions apply."""
        return self.channel_id != self.server_id


class VoiceTickets(Protocol):
    """Queries and updates that the App provides to the voice server."""

    def find_ticket(self, tx: Tx, token_hash: bytes) -> VoiceTicket | None:
        """Return the ticket of a token if it is the newest of its owner, or None."""
        ...

    def find_ticket_of_user(self, tx: Tx, server_id: int, user_id: int) -> VoiceTicket | None:
        """Return a user's ticket in a guild, lobby or private channel, or None."""
        ...

    def allows_video(self, tx: Tx, ticket: VoiceTicket, now_ms: int) -> bool:
        """Return whether the user may send video in the call; `now_ms` (Unix milliseconds) decides whether a timeout is over."""
        ...

    def on_video_forbidden(self, call: Call, ticket: VoiceTicket) -> None:
        """Remove camera and screen from the voice state of a user who may not send video (any more)."""
        ...

    def on_connected(self, call: Call, ticket: VoiceTicket) -> None:
        """Record that the connection is established, and reset the count of rejections."""
        ...

    def on_rejected(self, call: Call, ticket: VoiceTicket) -> None:
        """Record the rejection of a connection with a valid ticket: the user leaves, and the next join is delayed."""
        ...

    def on_connection_ended(self, call: Call, ticket: VoiceTicket) -> None:
        """Record the final end of a connection: the user leaves the channel unless there is a newer ticket."""
        ...

    def record_heartbeat(self, call: Call, endpoint: str) -> None:
        """Record that a voice server of a cluster is running; calls of lost servers move to other servers."""
        ...

    def remove_server(self, call: Call, endpoint: str) -> None:
        """Remove a voice server of a cluster; its calls move to other servers."""
        ...


def derive_session_id(gateway_session_id: str) -> str:
    """Return the session ID shown in voice states, which cannot be used to resume the gateway session."""
    return hashlib.sha256(f"voice {gateway_session_id}".encode()).hexdigest()[:32]
