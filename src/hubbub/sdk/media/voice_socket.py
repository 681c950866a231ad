"""WebSocket connection to the voice gateway, version 8, with heartbeats and sequence numbers (spec/voice.md#3 to 6)."""

import asyncio
import random
import ssl
import time
from typing import Any, Final, TypeVar

import aiohttp
import msgspec

from hubbub.protocol.voice import VoiceHello, VoiceOpcode
from hubbub.sdk.tolerant_models import decode, has_value

T = TypeVar("T")

VOICE_GATEWAY_VERSION: Final = 8
OPEN_TIMEOUT_SECONDS: Final = 10.0
"""Maximum time to connect and receive Hello, in seconds."""
CLOSE_HANDSHAKE_TIMEOUT_SECONDS: Final = 0.5
"""Timeout of the WebSocket closing handshake in seconds."""
MESSAGE_BYTES_MAX: Final = 1024 * 1024
BINARY_HEADER_BYTES: Final = 3
"""Length in bytes of the header of a received binary message: a sequence number of two bytes and the opcode."""
UNACKNOWLEDGED_HEARTBEATS_MAX: Final = 2
"""Number of heartbeats without an acknowledgment after which the connection is closed."""
LEAVE_CLOSE_CODE: Final = 1000
"""Close code with which the client leaves the call."""
UNRESPONSIVE_CLOSE_CODE: Final = 4000
"""Close code for a server that does not respond; the session can be resumed."""


class VoiceFrame(msgspec.Struct):
    """A text message of the voice gateway."""

    op: int
    """Opcode."""
    d: msgspec.Raw = msgspec.Raw(b"null")
    """Payload, not yet decoded."""
    seq: int | None = None
    """Sequence number; None for a message that is not sent again after Resume."""


class VoiceSocketClosed(Exception):
    """Raised when the connection is closed or cannot be opened, or after an invalid message."""

    def __init__(self, code: int) -> None:
        self.code = code
        """Close code; 0 if there is none."""
        super().__init__(f"Voice connection closed with code {code}")


class VoiceSocket:
    """A connection to the voice gateway.

    `endpoint` is the host and port, `tls` the TLS configuration or True for the default, and `seq` the sequence number
    of the last message of a session to resume, or -1."""

    def __init__(self, http: aiohttp.ClientSession, endpoint: str, tls: ssl.SSLContext | bool, seq: int) -> None:
        self._http = http
        self._url = f"wss://{endpoint}/?v={VOICE_GATEWAY_VERSION}"
        self._tls = tls
        self._socket: aiohttp.ClientWebSocketResponse | None = None
        self._heartbeat_task: asyncio.Task[None] | None = None
        self._unacknowledged = 0
        """Number of heartbeats since the last acknowledgment."""
        self.seq = seq
        """Sequence number of the last message; -1 before the first."""

    async def open(self) -> None:
        """Connect, receive Hello and start the heartbeat; raise `VoiceSocketClosed` on failure."""
        try:
            async with asyncio.timeout(OPEN_TIMEOUT_SECONDS):
                self._socket = await self._http.ws_connect(
                    self._url,
                    ssl=self._tls,
                    max_msg_size=MESSAGE_BYTES_MAX,
                    timeout=aiohttp.ClientWSTimeout(ws_close=CLOSE_HANDSHAKE_TIMEOUT_SECONDS),
                )
                op, payload = await self.receive()
        except (aiohttp.ClientError, OSError) as error:
            raise VoiceSocketClosed(0) from error
        if op != VoiceOpcode.HELLO:
            raise VoiceSocketClosed(0)
        hello = decode_voice_payload(payload, VoiceHello, "heartbeat_interval")
        self._heartbeat_task = asyncio.create_task(self._heartbeat(hello.heartbeat_interval / 1000))

    async def receive(self) -> tuple[int, bytes]:
        """Return the opcode and the payload of the next message; raise `VoiceSocketClosed` at the end of the connection."""
        assert self._socket is not None
        while True:
            message = await self._socket.receive()
            if message.type is aiohttp.WSMsgType.TEXT:
                frame = _decode_frame(message.data)
                if frame.seq is not None:
                    self.seq = frame.seq
                if frame.op == VoiceOpcode.HEARTBEAT_ACK:
                    self._unacknowledged = 0
                    continue
                return frame.op, bytes(frame.d)
            if message.type is aiohttp.WSMsgType.BINARY and len(message.data) >= BINARY_HEADER_BYTES:
                self.seq = int.from_bytes(message.data[:2], "big")
                return message.data[2], message.data[BINARY_HEADER_BYTES:]
            if message.type is aiohttp.WSMsgType.BINARY:
                continue
            code = message.data if message.type is aiohttp.WSMsgType.CLOSE else self._socket.close_code
            raise VoiceSocketClosed(code if isinstance(code, int) else 0)

    async def send(self, op: int, payload: Any) -> None:
        """Send a text message; do nothing if the connection is closed, which `receive` reports."""
        await self._send(msgspec.json.encode({"op": op, "d": payload}).decode())

    async def send_bytes(self, op: int, payload: bytes) -> None:
        """Send a binary message; do nothing if the connection is closed."""
        await self._send(bytes((op,)) + payload)

    async def _send(self, message: str | bytes) -> None:
        if self._socket is None or self._socket.closed:
            return
        try:
            await (self._socket.send_str(message) if isinstance(message, str) else self._socket.send_bytes(message))
        except (ConnectionError, aiohttp.ClientError):
            return

    async def close(self, code: int) -> None:
        """Stop the heartbeat and close the connection."""
        if self._heartbeat_task is not None:
            self._heartbeat_task.cancel()
        if self._socket is not None:
            await self._socket.close(code=code)

    async def _heartbeat(self, interval_seconds: float) -> None:
        """Send heartbeats; close the connection if `UNACKNOWLEDGED_HEARTBEATS_MAX` of them are not acknowledged."""
        await asyncio.sleep(interval_seconds * random.random())
        while True:
            if self._unacknowledged >= UNACKNOWLEDGED_HEARTBEATS_MAX:
                assert self._socket is not None
                await self._socket.close(code=UNRESPONSIVE_CLOSE_CODE)
                return
            self._unacknowledged += 1
            await self.send(VoiceOpcode.HEARTBEAT, {"t": time.monotonic_ns() // 1_000_000, "seq_ack": self.seq})
            await asyncio.sleep(interval_seconds)


def _decode_frame(text: str) -> VoiceFrame:
    try:
        return msgspec.json.decode(text, type=VoiceFrame, strict=False)
    except msgspec.MsgspecError as error:
        raise VoiceSocketClosed(0) from error


def decode_voice_payload(data: bytes | str, class_: type[T], *required: str) -> T:
    """Decode a payload to a tolerant model; raise `VoiceSocketClosed` if it is invalid or a required field is missing."""
    try:
        payload = decode(data, class_)
    except msgspec.MsgspecError as error:
        raise VoiceSocketClosed(0) from error
    if not all(has_value(getattr(payload, name)) for name in required):
        raise VoiceSocketClosed(0)
    return payload
