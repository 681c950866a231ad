"""A gateway connection: its settings and limits, non-blocking writes, backpressure, and delayed writes."""

import asyncio
import logging
from collections import deque
from typing import Final, Generic, TypeVar

from aiohttp.web import WebSocketResponse

from hubbub.protocol import codec
from hubbub.protocol.enums import CloseCode, GatewayOpcode
from hubbub.server.core.traffic import Traffic
from hubbub.server.transports.gateway import etf
from hubbub.server.transports.gateway.compression import Compression, Encoding, encode_message, template_index
from hubbub.server.transports.gateway.frame_batches import FrameBatch
from hubbub.server.transports.gateway.packets import Packet
from hubbub.server.transports.rate_window import RateWindow
from hubbub.server.transports.sockets import IGNORE_DISCONNECT, OpenSocket, WritableTransport

log = logging.getLogger(__name__)

SessionT = TypeVar("SessionT")

WRITABLE_BUFFER_MAX: Final = 256 * 1024
"""Write buffer size in bytes up to which bulk sends (guilds at session start, replay, replies to commands) continue."""
WRITABLE_CHECK_SECONDS: Final = 0.01
"""Interval in seconds between checks of the write buffer."""

UNRECORDED_OPCODES: Final = frozenset(
    (GatewayOpcode.HEARTBEAT, GatewayOpcode.HEARTBEAT_ACK, GatewayOpcode.QOS_HEARTBEAT)
)
"""Opcodes that the traffic of a rehearsal does not list."""


class DelayedTransport:
    """A transport that delays writes and keeps their order, for fault injection."""

    def __init__(self, transport: WritableTransport, delay_seconds: float) -> None:
        self._transport = transport
        self._delay_seconds = delay_seconds
        self._delayed_writes: deque[bytes] = deque()
        self._delayed_bytes = 0

    def write(self, data: bytes) -> None:
        """Queue data to be written after the delay."""
        self._delayed_writes.append(data)
        self._delayed_bytes += len(data)
        asyncio.get_running_loop().call_later(self._delay_seconds, self._write)

    def _write(self) -> None:
        data = self._delayed_writes.popleft()
        self._delayed_bytes -= len(data)
        if not self._transport.is_closing():
            self._transport.write(data)

    def get_write_buffer_size(self) -> int:
        """Return the number of bytes that are delayed or not sent yet."""
        return self._delayed_bytes + self._transport.get_write_buffer_size()

    def is_closing(self) -> bool:
        """Return whether the transport no longer accepts writes."""
        return self._transport.is_closing()

    def abort(self) -> None:
        """Close the connection immediately and discard unsent data."""
        self._transport.abort()


class GatewayWebSocket(OpenSocket, Generic[SessionT]):
    """A gateway WebSocket with its compression, limits and session."""

    __slots__ = (
        "client_ip",
        "last_heartbeat_at",
        "frame_batch",
        "write_buffer_max",
        "waiting_bytes",
        "waiting_frames",
        "compression",
        "encoding",
        "frame_limit",
        "is_person",
        "opened_at",
        "resume_url",
        "session",
        "template_index",
        "traffic",
        "user_id",
        "version",
    )

    def __init__(
        self,
        socket: WebSocketResponse,
        transport: WritableTransport,
        *,
        compression: Compression,
        encoding: Encoding = Encoding.JSON,
        version: int,
        resume_url: str,
        now: float,
        frame_limit: RateWindow,
        write_buffer_max: int,
        client_ip: str = "",
        is_person: bool = False,
        traffic: Traffic | None = None,
        frame_batch: FrameBatch | None = None,
    ) -> None:
        super().__init__(socket, transport)
        self.frame_batch = frame_batch or FrameBatch()
        """The batch to which events are added while it is open."""
        self.waiting_frames: list[bytes] | None = None
        """Frames that were added to the batch; None if there are none."""
        self.waiting_bytes = 0
        self.client_ip = client_ip
        self.write_buffer_max = write_buffer_max
        """Write buffer limit in bytes; a client that exceeds it is disconnected as too slow."""
        self.is_person = is_person
        """Whether a person of the control API opened the connection."""
        self.traffic = traffic
        """The timeline of a rehearsal, which lists the frames that are sent to this client only; None if there is none."""
        self.encoding = encoding
        self.set_compression(compression)
        self.version = version
        """The API version that the client requested; 0 if it is invalid."""
        self.resume_url = resume_url
        # Times of connecting and of the last heartbeat, in seconds of the event loop's clock.
        self.opened_at = self.last_heartbeat_at = now
        self.frame_limit = frame_limit
        """The rate limit of the frames that the client sends."""
        self.session: SessionT | None = None
        """The session of the connection; None before Identify or Resume, and after the session left the connection."""
        self.user_id: int | None = None
        """The user of the last authenticated Identify or Resume, or None."""

    def set_compression(self, compression: Compression) -> None:
        """Set the compression of all later messages."""
        self.compression = compression
        self.template_index = template_index(compression, self.encoding)
        """The index of the encoded form of a packet for this connection."""

    def write_waiting(self) -> None:
        """Write the frames that were added to the batch, in one write."""
        frames, self.waiting_frames, self.waiting_bytes = self.waiting_frames, None, 0
        if frames:
            with IGNORE_DISCONNECT:
                self.transport.write(frames[0] if len(frames) == 1 else b"".join(frames))

    def send_dispatch(self, packet: Packet, seq: int) -> None:
        """Write a dispatch with its sequence number."""
        self.write_waiting()
        with IGNORE_DISCONNECT:
            self.transport.write(packet.template(self.template_index).frame(seq))
        self.record_event(packet, "Sent again after a resume")

    def record_event(self, packet: Packet, note: str | None = None) -> None:
        """Record an event that is sent to this client only, if the traffic log is enabled."""
        if self.traffic is not None and self.traffic.is_enabled:
            self.traffic.add_sent_frame(
                "gateway", packet.event, self.user_id, packet.body, connection=id(self), note=note
            )

    def send_payload(self, opcode: GatewayOpcode, payload_data: object = None, *, starts_stream: bool = False) -> None:
        """Write a payload other than a dispatch, or close the connection if its write buffer is over the limit.

        All four keys are present: client libraries require them (spec/gateway.md#1).
        """
        self.write_waiting()
        if self.close_task is None and self.transport.get_write_buffer_size() > self.write_buffer_max:
            # This also catches a client that sends heartbeats but does not read the acknowledgments.
            self.close(CloseCode.UNKNOWN_ERROR, "Too slow")
        elif self.close_task is None:
            encoded_data = codec.encode(payload_data)
            payload = b'{"t":null,"s":null,"op":%d,"d":%b}' % (opcode, encoded_data)
            if self.traffic is not None and self.traffic.is_enabled and opcode not in UNRECORDED_OPCODES:
                self.traffic.add_sent_frame("gateway", opcode.name, self.user_id, encoded_data, connection=id(self))
            if self.encoding is Encoding.ETF:
                payload = etf.encode(codec.decode_any(payload))
            message = encode_message(self.compression, payload, encoding=self.encoding, starts_stream=starts_stream)
            with IGNORE_DISCONNECT:
                self.transport.write(message)

    async def wait_writable(self) -> bool:
        """Wait until the write buffer is at most `WRITABLE_BUFFER_MAX`; return False if the connection closed meanwhile."""
        while self.close_task is None and not self.transport.is_closing():
            if self.transport.get_write_buffer_size() <= WRITABLE_BUFFER_MAX:
                return True
            await asyncio.sleep(WRITABLE_CHECK_SECONDS)
        return False

    def delay_writes(self, delay_ms: int) -> None:
        """Delay all later writes by `delay_ms` milliseconds, for fault injection; an earlier delay stays in effect."""
        self.write_waiting()
        if not isinstance(self.transport, DelayedTransport):
            self.transport = DelayedTransport(self.transport, delay_ms / 1000)
