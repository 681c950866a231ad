"""A voice session: one member's side of a call, over any number of connections."""

import asyncio
import secrets
from typing import TYPE_CHECKING

from hubbub.protocol import voice as protocol
from hubbub.server.core.clock import Timer
from hubbub.server.core.voice import Ticket
from hubbub.server.transports.voice.connection import BINARY, TEXT, VoiceConnection
from hubbub.server.transports.voice.replay import Replay, seq_of
from hubbub.server.transports.voice.sfu import Peer

if TYPE_CHECKING:
    from hubbub.server.transports.voice.room import Room


class VoiceSession:
    """A user's participation in a call: ticket, connection, media peer, and the messages sent to the client."""

    __slots__ = (
        "connection",
        "dave",
        "detached_at",
        "ended",
        "entered",
        "grace",
        "media_session_id",
        "met",
        "peer",
        "replay",
        "room",
        "speaking",
        "ticket",
        "told_version",
        "version",
        "video",
    )

    def __init__(self, ticket: Ticket, connection: VoiceConnection, peer: Peer, room: "Room", dave: int) -> None:
        self.ticket = ticket
        self.connection: VoiceConnection | None = connection
        self.version = connection.version
        self.peer = peer
        self.room = room
        self.dave = dave
        """The highest DAVE version that the client supports; 0 means no end-to-end encryption."""
        self.replay = Replay()
        self.media_session_id = secrets.token_hex(16)
        self.met: dict[int, int] = {}
        """User id to SSRC of the members that the client was informed of before it entered the call."""
        self.entered = False
        """Whether the client was sent its key, which makes it a member of the call."""
        self.told_version = 0
        """The DAVE version that was sent to the client together with its key."""
        self.speaking = 0
        self.video: protocol.Video | None = None
        self.detached_at = 0
        """The number of the newest message at the time the last connection was lost."""
        self.grace: Timer | None = None
        self.ended = False

    @property
    def user_id(self) -> int:
        """The id of the user."""
        return int(self.ticket.user_id)

    @property
    def key(self) -> tuple[int, int]:
        """(server id, user id), which identifies the session."""
        return int(self.ticket.server_id), int(self.ticket.user_id)

    def say(self, op: int, payload: object) -> None:
        """Send a message that is not replayed on a resume."""
        if self.connection is not None:
            self.connection.say(op, payload)

    def tell(self, op: int, payload: object) -> None:
        """Send a message, and buffer it for a resume."""
        seq = seq_of(self.replay.last + 1) if self.version >= protocol.BUFFERED_VERSION else None
        self._buffer(TEXT, protocol.numbered(op, payload, seq))

    def tell_bytes(self, op: int, payload: bytes) -> None:
        """Send a binary message, which always has a sequence number, and buffer it for a resume."""
        self._buffer(BINARY, protocol.binary(op, payload, seq_of(self.replay.last + 1)))

    def _buffer(self, first: int, payload: bytes) -> None:
        self.replay.append(first, payload, asyncio.get_running_loop().time())
        if self.connection is not None:
            self.connection.write(first, payload)

    def attach(self, connection: VoiceConnection) -> None:
        """Continue the session over another connection. The caller replays missed messages."""
        if self.grace is not None:
            self.grace.cancel()
            self.grace = None
        self.connection = connection
        connection.session = self

    def detach(self) -> None:
        """Record the loss of the connection; further messages are only buffered."""
        self.connection = None
        self.detached_at = self.replay.last
