"""A voice session: one member's side of a call, over any number of connections."""

import asyncio
import secrets
from typing import TYPE_CHECKING

from hubbub.protocol import voice as words
from hubbub.server.core.clock import Timer
from hubbub.server.core.voice import Ticket
from hubbub.server.transports.voice.connection import BINARY, TEXT, VoiceConnection
from hubbub.server.transports.voice.replay import Replay, seq_of
from hubbub.server.transports.voice.sfu import Peer

if TYPE_CHECKING:
    from hubbub.server.transports.voice.room import Room


class VoiceSession:
    """Who it is, how they are connected, and what they were told."""

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
        """The newest end-to-end encryption that the client speaks; 0 is none."""
        self.replay = Replay()
        self.media_session_id = secrets.token_hex(16)
        self.met: dict[int, int] = {}
        """Whom they were told of before they entered, and under which SSRC."""
        self.entered = False
        """Whether they have their key, and with it are in the call."""
        self.told_version = 0
        """The end-to-end encryption that came with their key."""
        self.speaking = 0
        self.video: words.Video | None = None
        self.detached_at = 0
        """The number of the newest message when the last connection was lost."""
        self.grace: Timer | None = None
        self.ended = False

    @property
    def user_id(self) -> int:
        """Whose it is."""
        return int(self.ticket.user_id)

    @property
    def key(self) -> tuple[int, int]:
        """Server and user: there is one session for each."""
        return int(self.ticket.server_id), int(self.ticket.user_id)

    def say(self, op: int, payload: object) -> None:
        """Send a message that is not told again."""
        if self.connection is not None:
            self.connection.say(op, payload)

    def tell(self, op: int, payload: object) -> None:
        """Send a message, and keep it for a resume."""
        seq = seq_of(self.replay.last + 1) if self.version >= words.BUFFERED_VERSION else None
        self._keep(TEXT, words.numbered(op, payload, seq))

    def tell_bytes(self, op: int, payload: bytes) -> None:
        """The same of a binary message, which always has its number."""
        self._keep(BINARY, words.binary(op, payload, seq_of(self.replay.last + 1)))

    def _keep(self, first: int, payload: bytes) -> None:
        self.replay.append(first, payload, asyncio.get_running_loop().time())
        if self.connection is not None:
            self.connection.write(first, payload)

    def attach(self, connection: VoiceConnection) -> None:
        """Go on over another connection; what was missed is told separately."""
        if self.grace is not None:
            self.grace.cancel()
            self.grace = None
        self.connection = connection
        connection.session = self

    def detach(self) -> None:
        """The connection is gone; messages are kept."""
        self.connection = None
        self.detached_at = self.replay.last
