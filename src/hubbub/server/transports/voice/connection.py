"""One open voice socket: frames out without waiting, and an orderly end."""

from typing import TYPE_CHECKING, Final

from aiohttp.web import WebSocketResponse

from hubbub.protocol import voice as words
from hubbub.server.transports.gateway.frames import BINARY, TEXT, frame
from hubbub.server.transports.gateway.limits import Window
from hubbub.server.transports.sockets import GONE, OpenSocket, Writing

if TYPE_CHECKING:
    from hubbub.server.transports.voice.session import VoiceSession

FRAMES_MOST: Final = 600
FRAMES_SECONDS: Final = 60.0
"""Frames that a client may send in so long; a person who speaks in short bursts sends two for each."""
WAITING_MOST: Final = 1024 * 1024
"""Bytes that may wait for a slow client."""


class VoiceConnection(OpenSocket):
    """A socket, its version of the protocol, and the session it carries."""

    __slots__ = (
        "beat_at",
        "busy",
        "frames",
        "opened_at",
        "session",
        "version",
    )

    def __init__(self, socket: WebSocketResponse, transport: Writing, *, version: int, now: float) -> None:
        super().__init__(socket, transport)
        self.version = version
        self.opened_at = self.beat_at = now
        """By the event loop's time (decisions/0005)."""
        self.frames = Window(FRAMES_MOST, FRAMES_SECONDS)
        self.session: VoiceSession | None = None
        self.busy = False
        """Whether a ticket is being read."""

    @property
    def buffered(self) -> bool:
        """Whether messages carry numbers."""
        return self.version >= words.BUFFERED_VERSION

    def say(self, op: int, payload: object) -> None:
        """Write a message that is not told again."""
        self.write(TEXT, words.numbered(op, payload, None))

    def write(self, first: int, payload: bytes) -> None:
        """Write a frame, unless the client is too slow: it is cut off, and may resume."""
        if self.closing is not None:
            return
        if self.transport.get_write_buffer_size() > WAITING_MOST:
            self.cut()
            return
        with GONE:
            self.transport.write(frame(first, payload))


__all__ = ["BINARY", "TEXT", "VoiceConnection"]
