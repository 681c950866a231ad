"""A WebSocket of the voice gateway: frame limit, session and non-blocking writes. `OpenSocket` closes it."""

from collections.abc import Callable
from typing import Final, Generic, TypeVar

from aiohttp.web import WebSocketResponse

from hubbub.protocol import voice as protocol
from hubbub.server.transports.frames import TEXT, frame
from hubbub.server.transports.rate_window import RateWindow
from hubbub.server.transports.sockets import IGNORE_DISCONNECT, OpenSocket, WritableTransport

SessionT = TypeVar("SessionT")

FRAMES_MAX: Final = 600
"""Maximum number of frames that a client may send per window; a user who speaks in short bursts sends two for each burst."""
FRAMES_WINDOW_SECONDS: Final = 60.0
"""Length of the rate limit window in seconds."""
WRITE_BUFFER_MAX: Final = 1024 * 1024
"""Write buffer limit in bytes; a client that exceeds it is disconnected as too slow."""


class VoiceWebSocket(OpenSocket, Generic[SessionT]):
    """A voice WebSocket with its protocol version, limits and session."""

    __slots__ = (
        "client_ip",
        "last_heartbeat_at",
        "is_identifying",
        "frame_limit",
        "on_write",
        "opened_at",
        "session",
        "version",
    )

    def __init__(
        self,
        socket: WebSocketResponse,
        transport: WritableTransport,
        *,
        version: int,
        now: float,
        client_ip: str,
        on_write: Callable[["VoiceWebSocket[SessionT]", int, bytes], None],
    ) -> None:
        super().__init__(socket, transport)
        self.client_ip = client_ip
        """The IP address from which the client connected, as reported by trusted proxies."""
        self.on_write = on_write
        """Function that is called with each frame before it is written: first byte and payload."""
        self.version = version
        # Times of connecting and of the last heartbeat, in seconds of the event loop's clock (decisions/0005).
        self.opened_at = self.last_heartbeat_at = now
        self.frame_limit = RateWindow(FRAMES_MAX, FRAMES_WINDOW_SECONDS)
        self.session: SessionT | None = None
        """The session of the connection; None before Identify or Resume, and after another connection resumed it."""
        self.is_identifying = False
        """Whether an Identify is being processed."""

    @property
    def has_sequence_numbers(self) -> bool:
        """Whether the client acknowledges sequence numbers, after which a resume continues."""
        return self.version >= protocol.BUFFERED_VERSION

    def send_payload(self, op: int, payload: object) -> None:
        """Write a message that is not replayed on a resume."""
        self.write(TEXT, protocol.encode_frame(op, payload, None))

    def write(self, first_byte: int, payload: bytes) -> None:
        """Write a frame, or drop the connection if the client is too slow; the client may resume.

        `first_byte` is the first byte of the WebSocket frame: `frames.TEXT` or `frames.BINARY`.
        """
        if self.close_task is not None:
            return
        if self.transport.get_write_buffer_size() > WRITE_BUFFER_MAX:
            self.abort()
            return
        self.on_write(self, first_byte, payload)
        with IGNORE_DISCONNECT:
            self.transport.write(frame(first_byte, payload))
