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

from hubbub.media.ciphers import NUMBER_RESERVE, PACKETS_MAX
from hubbub.protocol.enums import VoiceCloseCode
from hubbub.protocol.voice import AES_GCM, VoiceOpcode
from hubbub.sdk import AudioBackend, CallError, CallStatus, Client, ClientStatus
from hubbub.sdk.calls import CallState, GlobalCallSettings, VoiceTicket
from hubbub.sdk.daemon_threads import new_session
from hubbub.sdk.media.engine import AudioEngine
from hubbub.sdk.media.voice_connection import VoiceConnection
from hubbub.sdk.voice import VoiceCalls, _tls_context
from hubbub.server.commands import certificates
from tests.world import WAIT_TIMEOUT_SECONDS

OWN_USER_ID, OTHER_USER_ID, LOBBY_ID, SSRC = 5, 6, 7, 1000
READY_FIELDS = {"ssrc": SSRC, "ip": "127.0.0.1", "modes": ["another", AES_GCM]}
SESSION_FIELDS = {"mode": AES_GCM, "secret_key": list(range(32)), "dave_protocol_version": 1}

NO_OPCODE = -1
"""Value for `ServerConnection.next` that no message has: wait until the client disconnects."""

Script = Callable[["ServerConnection"], Awaitable[None]]


class ServerConnection:
    """The server's side of one connection."""

    def __init__(self, server: "ScriptedServer", socket: web.WebSocketResponse) -> None:
        self.server = server
        self.socket = socket
        self.received_messages: list[Any] = []

    async def send(self, opcode: int, data: Any, sequence: int | None = None) -> None:
        """Send a message."""
        await self.socket.send_str(
            json.dumps({"op": opcode, "d": data} | ({} if sequence is None else {"seq": sequence}))
        )

    async def next(self, opcode: int) -> Any:
        """Return the client's next message with this opcode; acknowledge heartbeats in between."""
        while True:
            message = await self.socket.receive(timeout=WAIT_TIMEOUT_SECONDS)
            if message.type is aiohttp.WSMsgType.BINARY:
                frame = {"op": message.data[0], "d": message.data[1:]}
            elif message.type is aiohttp.WSMsgType.TEXT:
                frame = json.loads(message.data)
            else:
                raise ConnectionError(f"the client disconnected after it sent {self.received_messages}")
            self.received_messages.append(frame)
            if frame["op"] == VoiceOpcode.HEARTBEAT and self.server.acknowledges_heartbeats:
                await self.send(VoiceOpcode.HEARTBEAT_ACK, {"t": frame["d"]["t"]})
            if frame["op"] == opcode:
                return frame["d"]

    async def complete_handshake(self, **session_fields: Any) -> None:
        """Perform the handshake up to the client's key package."""
        await self.next(VoiceOpcode.IDENTIFY)
        await self.send(VoiceOpcode.READY, READY_FIELDS | {"port": self.server.udp_port})
        await self.next(VoiceOpcode.SELECT_PROTOCOL)
        await self.send(VoiceOpcode.SESSION_DESCRIPTION, SESSION_FIELDS | session_fields)
        await self.next(VoiceOpcode.MLS_KEY_PACKAGE)


class AddressDiscovery(asyncio.DatagramProtocol):
    """Responds to UDP address discovery requests."""

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def datagram_received(self, data: bytes, addr: Any) -> None:
        if len(data) == 74:
            self._transport.sendto(struct.pack(">HHI64sH", 2, 70, SSRC, addr[0].encode(), addr[1]), addr)


class ScriptedServer:
    """A voice server that runs one script for each connection; the last script serves all later connections."""

    def __init__(self) -> None:
        self.scripts: list[Script] = []
        self.connections: list[ServerConnection] = []
        self.acknowledges_heartbeats = True
        self.heartbeat_interval_ms = 60_000
        self.udp_port = self.port = 0
        self.authority = ""
        """Path of the certificate authority that signed the server's certificate."""

    async def handle(self, request: web.Request) -> web.WebSocketResponse:
        """Serve one connection."""
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        connection = ServerConnection(self, socket)
        self.connections.append(connection)
        await connection.send(VoiceOpcode.HELLO, {"v": 8, "heartbeat_interval": self.heartbeat_interval_ms})
        script = self.scripts.pop(0) if len(self.scripts) > 1 else self.scripts[0]
        try:
            await script(connection)
        except ConnectionError:
            pass
        return socket


class TicketSource:
    """A ticket source that records requests and leaves the call's ticket unchanged."""

    def __init__(self) -> None:
        self.requests: list[str] = []

    async def rejoin(self, state: CallState) -> None:
        self.requests.append("rejoin")

    async def ping(self, state: CallState) -> None:
        self.requests.append("ping")


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[ScriptedServer]:
    """A running scripted server."""
    certificate_files = certificates.issue(tmp_path / "voice", [])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate_files.certificate_path, certificate_files.key_path)
    server = ScriptedServer()
    server.authority = str(certificate_files.authority_path)
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

    def __init__(self, server: ScriptedServer) -> None:
        self.client = Client(threaded=False)
        # The platform exists only as `ticket_source`.
        self.client._core.status = ClientStatus.READY
        self.state = CallState(self.client._core, LOBBY_ID, GlobalCallSettings())
        self.state.set_status(CallStatus.JOINING)
        self.state.ticket = VoiceTicket(f"127.0.0.1:{server.port}", "token", "session")
        self.reported_statuses: list[tuple[CallStatus, CallError, int]] = []
        self._status_reported = asyncio.Event()
        self.state.callbacks["status"] = self._record
        self.ticket_source, self.logged = TicketSource(), []
        self.engine = AudioEngine(AudioBackend(), self.client._parts[VoiceCalls], self.logged.append)
        self.http = new_session()
        self.connection = VoiceConnection(
            self.state,
            OWN_USER_ID,
            self.engine,
            self.http,
            _tls_context(server.authority),
            self.ticket_source,
            self.client._core.driver.post,
            self.logged.append,
        )

    def _record(self, *args: Any) -> None:
        self.reported_statuses.append(args)  # type: ignore[arg-type]
        self._status_reported.set()

    async def run_to_end(self) -> tuple[CallError, int]:
        """Run the connection to its end, and return the error and the detail that it reported."""
        async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
            await self.connection.run()
        self.client.run_callbacks()
        status, error, detail = self.reported_statuses[-1]
        assert status is CallStatus.DISCONNECTED, self.reported_statuses
        return error, detail

    async def wait_status(self, status: CallStatus, times: int = 1) -> None:
        """Wait until a status was reported this many times."""
        async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
            while sum(args[0] is status for args in self.reported_statuses) < times:
                self._status_reported.clear()
                await self._status_reported.wait()

    async def close(self) -> None:
        """Close the connection and its client."""
        await asyncio.to_thread(self.engine.join)
        await self.http.close()
        await self.client.close()


@pytest.fixture
async def voice_connection(server: ScriptedServer) -> AsyncIterator[ScriptedConnection]:
    """A voice connection that is not running yet."""
    scripted_connection = ScriptedConnection(server)
    yield scripted_connection
    await scripted_connection.close()


async def test_a_call_without_end_to_end_encryption_is_rejected(
    server: ScriptedServer, voice_connection: ScriptedConnection
) -> None:
    async def offer_no_encryption(connection: ServerConnection) -> None:
        await connection.complete_handshake(dave_protocol_version=0)

    server.scripts = [offer_no_encryption]

    assert await voice_connection.run_to_end() == (CallError.VOICE_CONNECTION_FAILED, 0)
    assert "does not offer end-to-end encryption" in voice_connection.logged[0]
    assert not [
        frame
        for connection in server.connections
        for frame in connection.received_messages
        if frame["op"] == VoiceOpcode.MLS_KEY_PACKAGE
    ]


async def test_the_client_leaves_a_call_that_downgrades_encryption(
    server: ScriptedServer, voice_connection: ScriptedConnection
) -> None:
    async def downgrade(connection: ServerConnection) -> None:
        await connection.complete_handshake()
        await connection.send(
            VoiceOpcode.DAVE_PREPARE_TRANSITION, {"protocol_version": 0, "transition_id": 3}, sequence=1
        )
        await connection.next(NO_OPCODE)

    server.scripts = [downgrade]

    assert await voice_connection.run_to_end() == (CallError.VOICE_CONNECTION_FAILED, 0)
    assert not [
        frame
        for connection in server.connections
        for frame in connection.received_messages
        if frame["op"] == VoiceOpcode.DAVE_TRANSITION_READY
    ]


@pytest.mark.parametrize(
    ("opcode", "payload", "expected"),
    [
        (VoiceOpcode.READY, "no object", CallError.VOICE_CONNECTION_FAILED),
        (VoiceOpcode.READY, {"ssrc": 1}, CallError.VOICE_CONNECTION_FAILED),
        (VoiceOpcode.READY, READY_FIELDS | {"port": 70_000}, CallError.VOICE_CONNECTION_FAILED),
        (VoiceOpcode.READY, READY_FIELDS | {"port": 1, "ip": "voice.example"}, CallError.VOICE_CONNECTION_FAILED),
        (
            VoiceOpcode.READY,
            READY_FIELDS | {"port": 1, "modes": ["xsalsa20_poly1305"]},
            CallError.VOICE_CONNECTION_FAILED,
        ),
        (VoiceOpcode.SESSION_DESCRIPTION, SESSION_FIELDS, CallError.SIGNALING_CONNECTION_FAILED),
        (VoiceOpcode.SESSION_DESCRIPTION, "nothing", CallError.SIGNALING_CONNECTION_FAILED),
    ],
)
async def test_an_invalid_or_unexpected_message_ends_a_connecting_call(
    server: ScriptedServer, voice_connection: ScriptedConnection, opcode: int, payload: Any, expected: CallError
) -> None:
    async def send_invalid_message(connection: ServerConnection) -> None:
        await connection.next(VoiceOpcode.IDENTIFY)
        await connection.send(opcode, payload)
        await connection.next(NO_OPCODE)

    server.scripts = [send_invalid_message]

    assert await voice_connection.run_to_end() == (expected, 0)


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        (0, CallError.SIGNALING_CONNECTION_FAILED),
        (1, CallError.VOICE_CONNECTION_FAILED),
        (2, CallError.VOICE_CONNECTION_FAILED),
    ],
)
async def test_a_server_that_stops_during_the_handshake_times_out(
    server: ScriptedServer,
    voice_connection: ScriptedConnection,
    monkeypatch: pytest.MonkeyPatch,
    steps: int,
    expected: CallError,
) -> None:
    # A busy machine must reach the step at which the server stops before the timeout.
    seconds = 3.0 if steps else 0.1
    monkeypatch.setattr("hubbub.sdk.media.voice_connection.CONNECT_TIMEOUT_SECONDS", seconds)

    async def stop_responding(connection: ServerConnection) -> None:
        if steps:
            await connection.next(VoiceOpcode.IDENTIFY)
            await connection.send(VoiceOpcode.READY, READY_FIELDS | {"port": server.udp_port})
        if steps > 1:
            await connection.next(VoiceOpcode.SELECT_PROTOCOL)
        await connection.next(NO_OPCODE)

    server.scripts = [stop_responding]

    assert await voice_connection.run_to_end() == (expected, 0)


@pytest.mark.parametrize(
    "code",
    [
        VoiceCloseCode.AUTHENTICATION_FAILED,
        VoiceCloseCode.SESSION_NO_LONGER_VALID,
        VoiceCloseCode.SERVER_NOT_FOUND,
        VoiceCloseCode.E2EE_REQUIRED,
        VoiceCloseCode.RATE_LIMITED,
    ],
)
async def test_a_rejected_connection_reports_the_close_code(
    server: ScriptedServer, voice_connection: ScriptedConnection, code: int
) -> None:
    async def reject_identify(connection: ServerConnection) -> None:
        await connection.next(VoiceOpcode.IDENTIFY)
        await connection.socket.close(code=code)

    server.scripts = [reject_identify]

    assert await voice_connection.run_to_end() == (CallError.SIGNALING_CONNECTION_FAILED, code)


async def test_an_unknown_opcode_is_ignored_and_a_broken_group_is_rejoined(
    server: ScriptedServer, voice_connection: ScriptedConnection
) -> None:
    async def break_group(connection: ServerConnection) -> None:
        await connection.complete_handshake()
        await connection.send(99, {"new": True}, sequence=1)
        await connection.socket.send_bytes(
            b"\x00\x02" + bytes((VoiceOpcode.MLS_WELCOME,)) + b"\x00\x09" + b"no welcome"
        )
        assert (await connection.next(VoiceOpcode.MLS_INVALID_COMMIT_WELCOME)) == {"transition_id": 9}
        assert len(await connection.next(VoiceOpcode.MLS_KEY_PACKAGE)) > 300
        await connection.send(VoiceOpcode.DAVE_PREPARE_EPOCH, {"protocol_version": 1, "epoch": 1}, sequence=3)
        await connection.next(VoiceOpcode.MLS_KEY_PACKAGE)
        await connection.socket.close(code=VoiceCloseCode.CALL_TERMINATED)

    server.scripts = [break_group]

    assert await voice_connection.run_to_end() == (CallError.SIGNALING_UNEXPECTED_CLOSE, VoiceCloseCode.CALL_TERMINATED)


async def test_the_connection_resumes_then_identifies_then_requests_a_new_ticket(
    server: ScriptedServer, voice_connection: ScriptedConnection
) -> None:
    resume_payloads: list[Any] = []

    async def connect_then_crash(connection: ServerConnection) -> None:
        await connection.complete_handshake()
        await connection.send(VoiceOpcode.CLIENTS_CONNECT, {"user_ids": [str(OTHER_USER_ID)]}, sequence=41)
        await connection.send(VoiceOpcode.CLIENT_DISCONNECT, {"user_id": str(OTHER_USER_ID)}, sequence=42)
        await voice_connection.wait_status(CallStatus.CONNECTED)
        await connection.socket.close(code=VoiceCloseCode.SERVER_CRASHED)

    async def reject_resume(connection: ServerConnection) -> None:
        resume_payloads.append(await connection.next(VoiceOpcode.RESUME))
        await connection.socket.close(code=VoiceCloseCode.SESSION_NO_LONGER_VALID)

    async def reject_identify(connection: ServerConnection) -> None:
        await connection.next(VoiceOpcode.IDENTIFY)
        await connection.socket.close(code=VoiceCloseCode.AUTHENTICATION_FAILED)

    async def reconnect_then_terminate(connection: ServerConnection) -> None:
        await connection.complete_handshake()
        await voice_connection.wait_status(CallStatus.CONNECTED, times=2)
        await connection.socket.close(code=VoiceCloseCode.CALL_TERMINATED)

    server.scripts = [connect_then_crash, reject_resume, reject_identify, reconnect_then_terminate]

    assert await voice_connection.run_to_end() == (CallError.SIGNALING_UNEXPECTED_CLOSE, VoiceCloseCode.CALL_TERMINATED)
    assert resume_payloads == [{"server_id": str(LOBBY_ID), "session_id": "session", "token": "token", "seq_ack": 42}]
    assert voice_connection.ticket_source.requests == ["rejoin"]
    assert [args[0] for args in voice_connection.reported_statuses] == [
        CallStatus.JOINING,
        CallStatus.CONNECTING,
        CallStatus.SIGNALING_CONNECTED,
        CallStatus.CONNECTED,
        CallStatus.RECONNECTING,
        CallStatus.CONNECTED,
        CallStatus.DISCONNECTED,
    ]


async def test_a_server_that_does_not_acknowledge_heartbeats_is_reconnected(
    server: ScriptedServer, voice_connection: ScriptedConnection
) -> None:
    async def ignore_heartbeats(connection: ServerConnection) -> None:
        await connection.complete_handshake()
        await voice_connection.wait_status(CallStatus.CONNECTED)
        await connection.next(NO_OPCODE)

    async def resume_then_terminate(connection: ServerConnection) -> None:
        await connection.next(VoiceOpcode.RESUME)
        await connection.send(VoiceOpcode.RESUMED, None)
        await voice_connection.wait_status(CallStatus.CONNECTED, times=2)
        await connection.socket.close(code=VoiceCloseCode.CALL_TERMINATED)

    server.scripts, server.acknowledges_heartbeats, server.heartbeat_interval_ms = (
        [ignore_heartbeats, resume_then_terminate],
        False,
        200,
    )

    assert await voice_connection.run_to_end() == (CallError.SIGNALING_UNEXPECTED_CLOSE, VoiceCloseCode.CALL_TERMINATED)
    assert CallStatus.RECONNECTING in [args[0] for args in voice_connection.reported_statuses]


async def test_a_connection_lost_for_too_long_ends_the_call(
    server: ScriptedServer, voice_connection: ScriptedConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hubbub.sdk.media.voice_connection.RECONNECT_TIMEOUT_SECONDS", 0.2)

    async def connect_then_close(connection: ServerConnection) -> None:
        await connection.complete_handshake()
        await voice_connection.wait_status(CallStatus.CONNECTED)
        await connection.socket.close(code=1001)

    async def abort_connection(connection: ServerConnection) -> None:
        transport = connection.socket._req.transport  # type: ignore[union-attr]
        assert transport is not None
        transport.abort()

    server.scripts = [connect_then_close, abort_connection]

    error, _ = await voice_connection.run_to_end()
    assert error is CallError.SIGNALING_UNEXPECTED_CLOSE
    assert "ping" in voice_connection.ticket_source.requests


async def test_missing_udp_packets_cause_a_reconnect(
    server: ScriptedServer, voice_connection: ScriptedConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hubbub.sdk.media.voice_connection.SILENT_FRAMES_MAX", 5)

    async def send_no_packets(connection: ServerConnection) -> None:
        await connection.complete_handshake()
        await connection.next(NO_OPCODE)

    async def reconnect_then_terminate(connection: ServerConnection) -> None:
        await connection.complete_handshake()
        await voice_connection.wait_status(CallStatus.CONNECTED, times=2)
        await connection.socket.close(code=VoiceCloseCode.CALL_TERMINATED)

    server.scripts = [send_no_packets, reconnect_then_terminate]

    assert await voice_connection.run_to_end() == (CallError.SIGNALING_UNEXPECTED_CLOSE, VoiceCloseCode.CALL_TERMINATED)
    assert "No packet arrived" in voice_connection.logged[0]


async def test_a_key_with_few_packet_numbers_causes_a_new_session(
    server: ScriptedServer, voice_connection: ScriptedConnection
) -> None:
    keys: list[list[int]] = [list(range(32)), [7] * 32]

    async def exhaust_key(connection: ServerConnection) -> None:
        await connection.complete_handshake(secret_key=keys[0])
        await voice_connection.wait_status(CallStatus.CONNECTED)
        stream = voice_connection.connection._stream
        assert stream is not None
        stream.packet_codec._cipher._sent_count = PACKETS_MAX - NUMBER_RESERVE
        await connection.next(NO_OPCODE)

    async def reconnect_then_terminate(connection: ServerConnection) -> None:
        await connection.complete_handshake(secret_key=keys[1])
        await voice_connection.wait_status(CallStatus.CONNECTED, times=2)
        stream = voice_connection.connection._stream
        assert stream is not None
        assert not stream.packet_codec.needs_new_key
        await connection.socket.close(code=VoiceCloseCode.CALL_TERMINATED)

    server.scripts = [exhaust_key, reconnect_then_terminate]

    assert await voice_connection.run_to_end() == (CallError.SIGNALING_UNEXPECTED_CLOSE, VoiceCloseCode.CALL_TERMINATED)
