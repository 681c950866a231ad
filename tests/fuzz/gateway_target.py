"""Fuzzing of the gateway: connection parameters, Identify, commands, encodings, compression and raw WebSocket frames."""

import asyncio
import base64
import json
import random
import struct
import zlib
from typing import Any

import aiohttp

from hubbub.protocol.enums import GatewayOpcode
from hubbub.protocol.intents import Intents
from hubbub.protocol.operation import Command
from hubbub.protocol.resources import gateway, lobby_calls, presence, private_calls, voice_states
from hubbub.server.transports.gateway import etf
from tests.fuzz.mutations import encode_json, mutate_bytes, mutate_value
from tests.fuzz.platform import Platform
from tests.fuzz.report import Report
from tests.fuzz.target import FuzzTarget, InvalidResponse
from tests.fuzz.values import ObjectPool, ValueSource, random_hostile

COMMANDS: list[Command[Any]] = [
    value
    for module in (gateway, lobby_calls, presence, private_calls, voice_states)
    for value in vars(module).values()
    if isinstance(value, Command)
]

QUERIES = (
    "?v=10&encoding=json",
    "?v=9&encoding=json",
    "?v=10&encoding=json&compress=zlib-stream",
    "?v=10&encoding=json&compress=zstd-stream",
    "?v=10&encoding=etf",
    "?v=10&encoding=etf&compress=zlib-stream",
    "?v=6&encoding=json",
    "?v=99&encoding=json",
    "?v=²&encoding=json",
    "?encoding=xml",
    "",
    "?v=10&encoding=json&compress=foo",
)

OUTCOME_SECONDS_MAX = 100.0


class GatewayTarget(FuzzTarget):
    """Sends frames to the gateway."""

    name = "gateway"

    def __init__(self, platform: Platform, rng: random.Random, report: Report) -> None:
        super().__init__(platform, rng, report)
        self._pool = ObjectPool(rng)
        self._value_source = ValueSource(rng, self._pool)
        self._socket: aiohttp.ClientWebSocketResponse | None = None
        self._is_etf = False
        self._frames: list[dict[str, Any]] = []
        """Frames of the current connection: the last 12 before the latest batch, and the first 12 of that batch."""
        self._query = ""
        self._has_hello = False
        """Whether the first message of the connection was received."""

    async def start(self) -> None:
        """Add the IDs of the prepared objects to the pool."""
        for name, value in self.platform.prepared_guild.object_ids.items():
            self._pool.add(name, value)

    async def step(self) -> None:
        """Send a few frames, on a new connection if the old one is closed or at random."""
        if self._socket is None or self._socket.closed or self.random.random() < 0.05:
            await self._connect()
        frames = [self._build_frame() for _ in range(self.random.choice((1, 1, 1, 2, 5)))]
        if self.random.random() < 0.01:
            frames = frames * 130
        await self._send_frames(frames)

    # Building frames

    async def _connect(self, query: str | None = None) -> None:
        await self.close()
        if query is None:
            query = QUERIES[0] if self.random.random() < 0.5 else self.random.choice(QUERIES)
        self._query, self._frames = query, []
        self._is_etf, self._has_hello = "etf" in query, False
        url = f"{self.platform.world.gateway}{query}"
        self.last_input = {"query": query, "frames": []}
        self._socket = await self.platform.world.client.ws_connect(url, max_msg_size=0)
        if self.random.random() < 0.85:
            await self._send_frames([self._json_frame(self._build_identify())])

    def _build_identify(self) -> Any:
        kind = self.random.choice(("bot", "bot", "member", "stranger", "bearer"))
        identify: Any = {
            "token": f"${{{kind}}}",
            "properties": {"os": "linux", "browser": "test", "device": "test"},
            "intents": int(Intents.BOT_MASK),
        }
        if self.random.random() < 0.3:
            identify = mutate_value(identify, self.random)
        if self.random.random() < 0.2 and isinstance(identify, dict):
            identify |= {
                "compress": self.random.choice((True, False, 1)),
                "large_threshold": self.random.choice((50, 250, 0, -1, 2**40)),
                "shard": self.random.choice(([0, 1], [1, 1], [0, 0], [-1, 2], [2**40, 2**41], "x", [1])),
                "capabilities": self.random.choice((0, 69680, -1, 2**70)),
                "presence": random_hostile(self.random),
                "client_state": random_hostile(self.random),
            }
        return {"op": int(GatewayOpcode.IDENTIFY), "d": identify}

    def _build_frame(self) -> dict[str, Any]:
        choice = self.random.random()
        if choice < 0.55:
            command = self.random.choice(COMMANDS)
            payload = self._value_source.build(command.payload)
            if self.random.random() < 0.2:
                payload = mutate_value(payload, self.random)
            return self._json_frame({"op": command.opcode, "d": payload})
        if choice < 0.65:
            opcode = self.random.choice([*GatewayOpcode, -1, 99, 2**40])
            return self._json_frame({"op": int(opcode), "d": random_hostile(self.random)})
        if choice < 0.7:
            resume = {"token": "${bot}", "session_id": "x", "seq": self.random.choice((0, 1, -1, 2**40, "1", None))}
            return self._json_frame({"op": int(GatewayOpcode.RESUME), "d": resume})
        if choice < 0.73:
            return self._json_frame(self._build_identify())
        if choice < 0.8:
            return self._json_frame(random_hostile(self.random))
        if choice < 0.84:
            return _binary(etf.encode({"op": 1, "d": self.random.choice((None, 1, "x"))}), self.random)
        if choice < 0.88:
            return _binary(zlib.compress(b'{"op":1,"d":null}'), self.random)
        if choice < 0.9:
            return {"text": "x" * self.random.choice((4096, 4097, 16_000, 70_000))}
        if choice < 0.93:
            return {"raw": base64.b64encode(self._build_raw_frame()).decode()}
        return _binary(self._build_etf(), self.random)

    def _json_frame(self, value: Any) -> dict[str, Any]:
        if self._is_etf and self.random.random() < 0.7:
            try:
                return {"base64": base64.b64encode(etf.encode(value)).decode()}
            except (TypeError, ValueError, UnicodeError):
                pass
        encoded = encode_json(value, self.random)
        try:
            return {"text": encoded.decode()}
        except UnicodeDecodeError:
            return {"base64": base64.b64encode(encoded).decode()}

    def _build_etf(self) -> bytes:
        """Return an ETF term, usually with a wrong length or an unsupported tag."""
        terms = (
            b"\x83t\x00\x00\x00\x01w\x02opa\x01",
            b"\x83t\xff\xff\xff\xff",
            b"\x83l\xff\xff\xff\xffj",
            b"\x83m\xff\xff\xff\xff",
            b"\x83n\xff\x00" + b"\xff" * 255,
            b"\x83o\x00\x00\xff\xff\x00" + b"\xff" * 65535,
            b"\x83" + b"l\x00\x00\x00\x01" * 3000 + b"j" * 3001,
            b"\x83F" + struct.pack(">d", float("nan")),
            b"\x83P\x00\x00\xff\xff" + zlib.compress(b"t" * 1000),
            b"\x83k\x00\x03abc",
            b"\x83w\x03nil",
            b"\x82a\x01",
            b"",
        )
        return self.random.choice(terms)

    def _build_raw_frame(self) -> bytes:
        """Return a masked WebSocket frame that may violate RFC 6455 or be a part of a message."""
        first_byte = self.random.choice((0x01, 0x80, 0x82, 0x83, 0x87, 0x89, 0x8A, 0x88, 0xC1, 0xF1, 0x8F, 0x00))
        payload = self.random.choice(
            (b"", b"{}", b"\xff\xfe", b"x" * 125, struct.pack(">H", 1005), struct.pack(">H", 70))
        )
        if self.random.random() < 0.2:
            return bytes((first_byte, 0xFF)) + b"\x7f" * 8 + bytes(4)
        return bytes((first_byte, 0x80 | len(payload))) + bytes(4) + payload

    # Sending

    async def _send_frames(self, frames: list[dict[str, Any]]) -> None:
        assert self._socket is not None
        self._frames = [*self._frames[-12:], *frames[:12]]
        self.last_input = {"query": self._query, "frames": self._frames}
        socket = self._socket
        try:
            for frame in frames:
                await self._send_frame(socket, frame)
            await self._send_frame(socket, self._heartbeat())
        except (ConnectionError, aiohttp.ClientError):
            pass
        outcome = await self._wait_outcome(socket)
        self.report.count(self.name, outcome, len(frames))
        # 1006 is accepted: the close frame is lost if the server closes while it still receives frames.
        if outcome == "closed with 1011":
            raise InvalidResponse(f"the gateway {outcome}")

    def _heartbeat(self) -> dict[str, Any]:
        heartbeat = {"op": int(GatewayOpcode.HEARTBEAT), "d": None}
        if self._is_etf:
            return {"base64": base64.b64encode(etf.encode(heartbeat)).decode()}
        return {"text": json.dumps(heartbeat)}

    async def _send_frame(self, socket: aiohttp.ClientWebSocketResponse, frame: dict[str, Any]) -> None:
        if "text" in frame:
            await socket.send_str(self._fill_tokens(frame["text"]))
        elif "base64" in frame:
            await socket.send_bytes(self._fill_bytes(base64.b64decode(frame["base64"])))
        elif socket._conn is not None and socket._conn.transport is not None:
            socket._conn.transport.write(base64.b64decode(frame["raw"]))

    def _fill_tokens(self, text: str) -> str:
        for kind, caller in self.platform.callers.items():
            if caller is not None and "${" in text:
                text = text.replace(f"${{{kind}}}", caller.header)
        return text

    def _fill_bytes(self, data: bytes) -> bytes:
        if b"${" not in data or not data.startswith(b"\x83"):
            return data
        try:
            return etf.encode(json.loads(self._fill_tokens(json.dumps(etf.decode(data)))))
        except (ValueError, TypeError):
            return data

    async def _wait_outcome(self, socket: aiohttp.ClientWebSocketResponse) -> str:
        """Read until the heartbeat is acknowledged, a binary message follows Hello, or the connection ends."""
        async with asyncio.timeout(OUTCOME_SECONDS_MAX):
            while True:
                message = await socket.receive()
                if message.type in (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED, aiohttp.WSMsgType.CLOSING):
                    return f"closed with {socket.close_code}"
                if message.type is aiohttp.WSMsgType.ERROR:
                    return "invalid frame"
                if message.type is aiohttp.WSMsgType.TEXT and '"op":11' in message.data:
                    return "acknowledged"
                if message.type is aiohttp.WSMsgType.BINARY and self._has_hello:
                    # Binary messages are not decoded; any message after Hello counts.
                    return "binary message"
                self._has_hello = True

    async def replay(self, stored_input: Any) -> None:
        """Send stored frames on a new connection."""
        await self.start()
        self.random = random.Random(0)
        await self.close()
        self._has_hello = False
        self._query, self._frames, self._is_etf = stored_input["query"], [], "etf" in stored_input["query"]
        self._socket = await self.platform.world.client.ws_connect(
            f"{self.platform.world.gateway}{stored_input['query']}", max_msg_size=0
        )
        await self._send_frames(stored_input["frames"])

    async def close(self) -> None:
        """Close the connection."""
        if self._socket is not None:
            socket, self._socket = self._socket, None
            if socket._conn is not None and socket._conn.transport is not None:
                socket._conn.transport.abort()
            await socket.close()


def _binary(data: bytes, rng: random.Random) -> dict[str, Any]:
    if rng.random() < 0.5:
        data = mutate_bytes(data, rng)
    return {"base64": base64.b64encode(data).decode()}
