"""A voice session: one member's side of a call, over any number of connections."""

import asyncio
import secrets
from typing import TYPE_CHECKING

from hubbub.protocol import voice as protocol
from hubbub.server.core.clock import Timer
from hubbub.server.core.voice import VoiceTicket
from hubbub.server.transports.voice.connection import BINARY, TEXT, VoiceConnection
from hubbub.server.transports.voice.replay import VoiceReplayBuffer, wire_seq
from hubbub.server.transports.voice.sfu import Peer

if TYPE_CHECKING:
    from hubbub.server.transports.voice.call import VoiceCall


class VoiceSession:
    """A user's participation in a call: ticket, connection, media peer, and the messages sent to the client."""

    __slots__ = (
        "connection",
        "dave_version",
        "detached_number",
        "ended",
        "is_member",
        "resume_timer",
        "media_session_id",
        "known_ssrcs",
        "peer",
        "replay",
        "call",
        "speaking",
        "ticket",
        "announced_dave_version",
        "version",
        "video",
    )

    def __init__(
        self, ticket: VoiceTicket, connection: VoiceConnection, peer: Peer, room: "VoiceCall", dave: int
    ) -> None:
        self.ticket = ticket
        self.connection: VoiceConnection | None = connection
        self.version = connection.version
        self.peer = peer
        self.call = room
        self.dave_version = dave
        """The highest DAVE version that the client supports; 0 means no end-to-end encryption."""
        self.replay = VoiceReplayBuffer()
        self.media_session_id = secrets.token_hex(16)
        self.known_ssrcs: dict[int, int] = {}
        """User ID to SSRC of the members that the client was informed of before it entered the call."""
        self.is_member = False
        """Whether the client was sent its key, which makes it a member of the call."""
        self.announced_dave_version = 0
        """The DAVE version that was sent to the client together with its key."""
        self.speaking = 0
        self.video: protocol.Video | None = None
        self.detached_number = 0
        """The number of the newest message at the time the last connection was lost."""
        self.resume_timer: Timer | None = None
        self.ended = False

    @property
    def user_id(self) -> int:
        return int(self.ticket.user_id)

    @property
    def key(self) -> tuple[int, int]:
        """(server ID, user ID), which identifies the session."""
        return int(self.ticket.server_id), int(self.ticket.user_id)

    def send(self, op: int, payload: object) -> None:
        """Send a message that is not replayed on a resume."""
        if self.connection is not None:
            self.connection.send_payload(op, payload)

    def send_buffered(self, op: int, payload: object) -> None:
        """Send a message, and buffer it for a resume."""
        seq = wire_seq(self.replay.last_number + 1) if self.version >= protocol.BUFFERED_VERSION else None
        self._buffer(TEXT, protocol.encode_frame(op, payload, seq))

    def send_buffered_bytes(self, op: int, payload: bytes) -> None:
        """Send a binary message, which always has a sequence number, and buffer it for a resume."""
        self._buffer(BINARY, protocol.encode_binary_frame(op, payload, wire_seq(self.replay.last_number + 1)))

    def _buffer(self, first: int, payload: bytes) -> None:
        self.replay.append(first, payload, asyncio.get_running_loop().time())
        if self.connection is not None:
            self.connection.write(first, payload)

    def attach(self, connection: VoiceConnection) -> None:
        """Continue the session over another connection. The caller replays missed messages."""
        if self.resume_timer is not None:
            self.resume_timer.cancel()
            self.resume_timer = None
        self.connection = connection
        connection.session = self

    def detach(self) -> None:
        """Record the loss of the connection; further messages are only buffered."""
        self.connection = None
        self.detached_number = self.replay.last_number
