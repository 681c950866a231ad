"""Voice connections to a misbehaving or unresponsive voice server: they reconnect or end with an error."""

import asyncio
import json
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from hubbub.protocol.voice import AES_GCM
from hubbub.sdk import AudioBackend, CallError, CallStatus, Client, ClientStatus
from hubbub.sdk.calls import CallState, GlobalCallSettings, VoiceTicket
from hubbub.sdk.daemon_threads import new_session
from hubbub.sdk.media.engine import AudioEngine
from hubbub.sdk.media.voice_connection import VoiceConnection
from hubbub.sdk.voice import VoiceCalls, _tls_context
from hubbub.server.commands import certificates
from tests.world import WAIT_TIMEOUT_SECONDS

ME, OTHER, LOBBY, SSRC = 5, 6, 7, 1000
READY = {"ssrc": SSRC, "ip": "127.0.0.1", "modes": ["another", AES_GCM]}
KEY = {"mode": AES_GCM, "secret_key": list(range(32)), "dave_protocol_version": 1}

Script = Callable[["Conversation"], Awaitable[None]]


class Conversation:
    """One connection, seen from the server."""

    def __init__(self, server: "Server", socket: web.WebSocketResponse) -> None:
        self.server = server
        self.socket = socket
        self.received: list[Any] = []

    async def send(self, op: int, d: Any, seq: int | None = None) -> None:
        """Send a message."""
        await self.socket.send_str(json.dumps({"op": op, "d": d} | ({} if seq is None else {"seq": seq})))

    async def next(self, op: int) -> Any:
        """Return the client's next message with this opcode; acknowledge heartbeats in between."""
        while True:
            message = await self.socket.receive(timeout=WAIT_TIMEOUT_SECONDS)
            if message.type is aiohttp.WSMsgType.BINARY:
                frame = {"op": message.data[0], "d": message.data[1:]}
            elif message.type is aiohttp.WSMsgType.TEXT:
                frame = json.loads(message.data)
            else:
                raise ConnectionError(f"the client hung up, after {self.received}")
            self.received.append(frame)
            if frame["op"] == 3 and self.server.answers:
                await self.send(6, {"t": frame["d"]["t"]})
            if frame["op"] == op:
                return frame["d"]

    async def admit(self, **key: Any) -> None:
        """Do everything a correct server does until the client has a key."""
        await self.next(0)
        await self.send(2, READY | {"port": self.server.udp_port})
        await self.next(1)
        await self.send(4, KEY | key)
        await self.next(26)


class AddressDiscovery(asyncio.DatagramProtocol):
    """Answers UDP address discovery requests."""

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def datagram_received(self, data: bytes, addr: Any) -> None:
        if len(data) == 74:
            self._transport.sendto(struct.pack(">HHI64sH", 2, 70, SSRC, addr[0].encode(), addr[1]), addr)


class Server:
    """A voice server that runs one script for each connection; the last script serves all further connections."""

    def __init__(self) -> None:
        self.scripts: list[Script] = []
        self.conversations: list[Conversation] = []
        self.answers = True
        self.interval = 60_000
        self.udp_port = self.port = 0

    async def handle(self, request: web.Request) -> web.WebSocketResponse:
        """Serve one connection."""
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        conversation = Conversation(self, socket)
        self.conversations.append(conversation)
        await conversation.send(8, {"v": 8, "heartbeat_interval": self.interval})
        script = self.scripts.pop(0) if len(self.scripts) > 1 else self.scripts[0]
        try:
            await script(conversation)
        except ConnectionError:
            pass
        return socket


class TicketSource:
    """A platform that always returns the same voice ticket."""

    def __init__(self) -> None:
        self.words: list[str] = []

    async def rejoin(self, state: CallState) -> None:
        self.words.append("rejoin")

    async def ping(self, state: CallState) -> None:
        self.words.append("ping")


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Server]:
    """Run the scripted server during a test."""
    made = certificates.issue(tmp_path / "voice", [])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made.certificate, made.key)
    server = Server()
    server.authority = str(made.authority)  # type: ignore[attr-defined]
    app = web.Application()
    app.router.add_get("/", server.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    listener = socket.create_server(("127.0.0.1", 0))
    server.port = listener.getsockname()[1]
    await web.SockSite(runner, listener, ssl_context=context).start()
    transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
        AddressDiscovery, local_addr=("127.0.0.1", 0)
    )
    server.udp_port = transport.get_extra_info("sockname")[1]
    yield server
    transport.close()
    await runner.cleanup()


class ScriptedConnection:
    """A voice connection to the scripted server, and a record of its call."""

    def __init__(self, server: Server) -> None:
        self.client = Client(threaded=False)
        # The platform exists only as `asked`.
        self.client._core.status = ClientStatus.READY
        self.state = CallState(self.client._core, LOBBY, GlobalCallSettings())
        self.state.set_status(CallStatus.JOINING)
        self.state.ticket = VoiceTicket(f"127.0.0.1:{server.port}", "token", "session")
        self.reported: list[tuple[CallStatus, CallError, int]] = []
        self._moved = asyncio.Event()
        self.state.callbacks["status"] = self._record
        self.asked, self.logged = TicketSource(), []
        self.engine = AudioEngine(AudioBackend(), self.client._parts[VoiceCalls], self.logged.append)
        self.http = new_session()
        self.line = VoiceConnection(
            self.state,
            ME,
            self.engine,
            self.http,
            _tls_context(server.authority),  # type: ignore[attr-defined]
            self.asked,
            self.client._core.driver.post,
            self.logged.append,
        )

    def _record(self, *args: Any) -> None:
        self.reported.append(args)  # type: ignore[arg-type]
        self._moved.set()

    async def ends(self) -> tuple[CallError, int]:
        """Run the connection to its end and return the reason."""
        async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
            await self.line.run()
        self.client.run_callbacks()
        status, error, detail = self.reported[-1]
        assert status is CallStatus.DISCONNECTED, self.reported
        return error, detail

    async def becomes(self, status: CallStatus, times: int = 1) -> None:
        """Wait until a status was reported this many times."""
        async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
            while sum(args[0] is status for args in self.reported) < times:
                self._moved.clear()
                await self._moved.wait()

    async def close(self) -> None:
        """Close the connection and its client."""
        await asyncio.to_thread(self.engine.join)
        await self.http.close()
        await self.client.close()


@pytest.fixture
async def calling(server: Server) -> AsyncIterator[ScriptedConnection]:
    """A voice connection that is not running yet."""
    made = ScriptedConnection(server)
    yield made
    await made.close()


async def test_a_call_without_end_to_end_encryption_is_refused(server: Server, calling: ScriptedConnection) -> None:
    async def plain(conversation: Conversation) -> None:
        await conversation.admit(dave_protocol_version=0)

    server.scripts = [plain]

    assert await calling.ends() == (CallError.VOICE_CONNECTION_FAILED, 0)
    assert "does not offer end-to-end encryption" in calling.logged[0]
    assert not [frame for each in server.conversations for frame in each.received if frame["op"] == 26]


async def test_the_client_leaves_a_call_that_downgrades_encryption(server: Server, calling: ScriptedConnection) -> None:
    async def downgrades(conversation: Conversation) -> None:
        await conversation.admit()
        await conversation.send(21, {"protocol_version": 0, "transition_id": 3}, seq=1)
        await conversation.next(-1)

    server.scripts = [downgrades]

    assert await calling.ends() == (CallError.VOICE_CONNECTION_FAILED, 0)
    assert not [frame for each in server.conversations for frame in each.received if frame["op"] == 23]


@pytest.mark.parametrize(
    ("op", "payload", "expected"),
    [
        (2, "no object", CallError.VOICE_CONNECTION_FAILED),
        (2, {"ssrc": 1}, CallError.VOICE_CONNECTION_FAILED),
        (2, READY | {"port": 70_000}, CallError.VOICE_CONNECTION_FAILED),
        (2, READY | {"port": 1, "ip": "voice.example"}, CallError.VOICE_CONNECTION_FAILED),
        (2, READY | {"port": 1, "modes": ["xsalsa20_poly1305"]}, CallError.VOICE_CONNECTION_FAILED),
        (4, KEY, CallError.SIGNALING_CONNECTION_FAILED),
        (4, "nothing", CallError.SIGNALING_CONNECTION_FAILED),
    ],
)
async def test_an_undecodable_message_ends_a_connecting_call(
    server: Server, calling: ScriptedConnection, op: int, payload: Any, expected: CallError
) -> None:
    async def nonsense(conversation: Conversation) -> None:
        await conversation.next(0)
        await conversation.send(op, payload)
        await conversation.next(-1)

    server.scripts = [nonsense]

    assert await calling.ends() == (expected, 0)


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        (0, CallError.SIGNALING_CONNECTION_FAILED),
        (1, CallError.VOICE_CONNECTION_FAILED),
        (2, CallError.VOICE_CONNECTION_FAILED),
    ],
)
async def test_a_server_that_stops_during_the_handshake_times_out(
    server: Server, calling: ScriptedConnection, monkeypatch: pytest.MonkeyPatch, steps: int, expected: CallError
) -> None:
    # A busy machine must reach the step at which the server stops before the timeout.
    seconds = 3.0 if steps else 0.1
    monkeypatch.setattr("hubbub.sdk.media.voice_connection.CONNECT_TIMEOUT_SECONDS", seconds)

    async def stops(conversation: Conversation) -> None:
        if steps:
            await conversation.next(0)
            await conversation.send(2, READY | {"port": server.udp_port})
        if steps > 1:
            await conversation.next(1)
        await conversation.next(-1)

    server.scripts = [stops]

    assert await calling.ends() == (expected, 0)


@pytest.mark.parametrize("code", [4004, 4006, 4011, 4017, 4021])
async def test_a_rejected_connection_reports_the_close_code(
    server: Server, calling: ScriptedConnection, code: int
) -> None:
    async def refuse(conversation: Conversation) -> None:
        await conversation.next(0)
        await conversation.socket.close(code=code)

    server.scripts = [refuse]

    assert await calling.ends() == (CallError.SIGNALING_CONNECTION_FAILED, code)


async def test_an_unknown_opcode_is_ignored_and_a_broken_group_is_rejoined(
    server: Server, calling: ScriptedConnection
) -> None:
    async def breaks(conversation: Conversation) -> None:
        await conversation.admit()
        await conversation.send(99, {"new": True}, seq=1)
        await conversation.socket.send_bytes(b"\x00\x02" + bytes((30,)) + b"\x00\x09" + b"no welcome")
        assert (await conversation.next(31)) == {"transition_id": 9}
        assert len(await conversation.next(26)) > 300
        await conversation.send(24, {"protocol_version": 1, "epoch": 1}, seq=3)
        await conversation.next(26)
        await conversation.socket.close(code=4022)

    server.scripts = [breaks]

    assert await calling.ends() == (CallError.SIGNALING_UNEXPECTED_CLOSE, 4022)


async def test_the_connection_resumes_then_identifies_then_requests_a_new_ticket(
    server: Server, calling: ScriptedConnection
) -> None:
    resumed: list[Any] = []

    async def live(conversation: Conversation) -> None:
        await conversation.admit()
        await conversation.send(11, {"user_ids": [str(OTHER)]}, seq=41)
        await conversation.send(13, {"user_id": str(OTHER)}, seq=42)
        await calling.becomes(CallStatus.CONNECTED)
        await conversation.socket.close(code=4015)

    async def forgot(conversation: Conversation) -> None:
        resumed.append(await conversation.next(7))
        await conversation.socket.close(code=4006)

    async def refuse(conversation: Conversation) -> None:
        await conversation.next(0)
        await conversation.socket.close(code=4004)

    async def last(conversation: Conversation) -> None:
        await conversation.admit()
        await calling.becomes(CallStatus.CONNECTED, times=2)
        await conversation.socket.close(code=4022)

    server.scripts = [live, forgot, refuse, last]

    assert await calling.ends() == (CallError.SIGNALING_UNEXPECTED_CLOSE, 4022)
    assert resumed == [{"server_id": str(LOBBY), "session_id": "session", "token": "token", "seq_ack": 42}]
    assert calling.asked.words == ["rejoin"]
    assert [args[0] for args in calling.reported] == [
        CallStatus.JOINING,
        CallStatus.CONNECTING,
        CallStatus.SIGNALING_CONNECTED,
        CallStatus.CONNECTED,
        CallStatus.RECONNECTING,
        CallStatus.CONNECTED,
        CallStatus.DISCONNECTED,
    ]


async def test_a_server_that_does_not_acknowledge_heartbeats_is_reconnected(
    server: Server, calling: ScriptedConnection
) -> None:
    async def silent(conversation: Conversation) -> None:
        await conversation.admit()
        await calling.becomes(CallStatus.CONNECTED)
        await conversation.next(-1)

    async def awake(conversation: Conversation) -> None:
        await conversation.next(7)
        await conversation.send(9, None)
        await calling.becomes(CallStatus.CONNECTED, times=2)
        await conversation.socket.close(code=4022)

    server.scripts, server.answers, server.interval = [silent, awake], False, 200

    assert await calling.ends() == (CallError.SIGNALING_UNEXPECTED_CLOSE, 4022)
    assert CallStatus.RECONNECTING in [args[0] for args in calling.reported]


async def test_a_connection_lost_for_too_long_ends_the_call(
    server: Server, calling: ScriptedConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hubbub.sdk.media.voice_connection.RECONNECT_TIMEOUT_SECONDS", 0.2)

    async def live(conversation: Conversation) -> None:
        await conversation.admit()
        await calling.becomes(CallStatus.CONNECTED)
        await conversation.socket.close(code=1001)

    async def away(conversation: Conversation) -> None:
        transport = conversation.socket._req.transport  # type: ignore[union-attr]
        assert transport is not None
        transport.abort()

    server.scripts = [live, away]

    error, _ = await calling.ends()
    assert error is CallError.SIGNALING_UNEXPECTED_CLOSE
    assert "ping" in calling.asked.words


async def test_missing_udp_packets_cause_a_reconnect(
    server: Server, calling: ScriptedConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hubbub.sdk.media.voice_connection.SILENT_FRAMES_MAX", 5)

    async def mute(conversation: Conversation) -> None:
        await conversation.admit()
        await conversation.next(-1)

    async def last(conversation: Conversation) -> None:
        await conversation.admit()
        await calling.becomes(CallStatus.CONNECTED, times=2)
        await conversation.socket.close(code=4022)

    server.scripts = [mute, last]

    assert await calling.ends() == (CallError.SIGNALING_UNEXPECTED_CLOSE, 4022)
    assert "No packet arrived" in calling.logged[0]
