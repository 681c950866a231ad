"""A voice server that does what it should not, or nothing at all: the line ends in words, or comes back."""

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
from hubbub.sdk.aside import new_session
from hubbub.sdk.calls import AllCalls, CallState, Ticket
from hubbub.sdk.media.engine import Engine
from hubbub.sdk.media.line import Line
from hubbub.sdk.voice import Voice, _trust
from hubbub.server.commands import certificates
from tests.world import PATIENCE

ME, OTHER, LOBBY, SSRC = 5, 6, 7, 1000
READY = {"ssrc": SSRC, "ip": "127.0.0.1", "modes": ["another", AES_GCM]}
KEY = {"mode": AES_GCM, "secret_key": list(range(32)), "dave_protocol_version": 1}

Script = Callable[["Conversation"], Awaitable[None]]


class Conversation:
    """One connection, as the server has it."""

    def __init__(self, server: "Server", socket: web.WebSocketResponse) -> None:
        self.server = server
        self.socket = socket
        self.heard: list[Any] = []

    async def say(self, op: int, d: Any, seq: int | None = None) -> None:
        """A message."""
        await self.socket.send_str(json.dumps({"op": op, "d": d} | ({} if seq is None else {"seq": seq})))

    async def next(self, op: int) -> Any:
        """The client's next message of a kind; heartbeats are answered by the way."""
        while True:
            message = await self.socket.receive(timeout=PATIENCE)
            if message.type is aiohttp.WSMsgType.BINARY:
                frame = {"op": message.data[0], "d": message.data[1:]}
            elif message.type is aiohttp.WSMsgType.TEXT:
                frame = json.loads(message.data)
            else:
                raise ConnectionError(f"the client hung up, after {self.heard}")
            self.heard.append(frame)
            if frame["op"] == 3 and self.server.answers:
                await self.say(6, {"t": frame["d"]["t"]})
            if frame["op"] == op:
                return frame["d"]

    async def let_in(self, **key: Any) -> None:
        """All that a good server does, until there is a key."""
        await self.next(0)
        await self.say(2, READY | {"port": self.server.udp_port})
        await self.next(1)
        await self.say(4, KEY | key)
        await self.next(26)


class Answers(asyncio.DatagramProtocol):
    """Answers who asks where they are."""

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def datagram_received(self, data: bytes, addr: Any) -> None:
        if len(data) == 74:
            self._transport.sendto(struct.pack(">HHI64sH", 2, 70, SSRC, addr[0].encode(), addr[1]), addr)


class Server:
    """A voice server that follows a script for each connection, the last one for all that come after."""

    def __init__(self) -> None:
        self.scripts: list[Script] = []
        self.conversations: list[Conversation] = []
        self.answers = True
        self.interval = 60_000
        self.udp_port = self.port = 0

    async def handle(self, request: web.Request) -> web.WebSocketResponse:
        """One connection."""
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        conversation = Conversation(self, socket)
        self.conversations.append(conversation)
        await conversation.say(8, {"v": 8, "heartbeat_interval": self.interval})
        script = self.scripts.pop(0) if len(self.scripts) > 1 else self.scripts[0]
        try:
            await script(conversation)
        except ConnectionError:
            pass
        return socket


class Asked:
    """The platform, which gives the same ticket again."""

    def __init__(self) -> None:
        self.words: list[str] = []

    async def rejoin(self, state: CallState) -> None:
        self.words.append("rejoin")

    async def ping(self, state: CallState) -> None:
        self.words.append("ping")


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Server]:
    """Ours for a while."""
    made = certificates.make(tmp_path / "voice", [])
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
    transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(Answers, local_addr=("127.0.0.1", 0))
    server.udp_port = transport.get_extra_info("sockname")[1]
    yield server
    transport.close()
    await runner.cleanup()


class Calling:
    """A line to that server, and what becomes of the call."""

    def __init__(self, server: Server) -> None:
        self.client = Client(threaded=False)
        # The platform is there, and speaks through `asked`.
        self.client._core.status = ClientStatus.READY
        self.state = CallState(self.client._core, LOBBY, AllCalls())
        self.state.become(CallStatus.JOINING)
        self.state.ticket = Ticket(f"127.0.0.1:{server.port}", "token", "session")
        self.told: list[tuple[CallStatus, CallError, int]] = []
        self._moved = asyncio.Event()
        self.state.callbacks["status"] = self._tell
        self.asked, self.logged = Asked(), []
        self.engine = Engine(AudioBackend(), self.client._parts[Voice], self.logged.append)
        self.http = new_session()
        self.line = Line(
            self.state,
            ME,
            self.engine,
            self.http,
            _trust(server.authority),  # type: ignore[attr-defined]
            self.asked,
            self.client._core.driver.post,
            self.logged.append,
        )

    def _tell(self, *told: Any) -> None:
        self.told.append(told)  # type: ignore[arg-type]
        self._moved.set()

    async def ends(self) -> tuple[CallError, int]:
        """Run to the end; why."""
        async with asyncio.timeout(PATIENCE):
            await self.line.run()
        self.client.run_callbacks()
        status, error, detail = self.told[-1]
        assert status is CallStatus.DISCONNECTED, self.told
        return error, detail

    async def becomes(self, status: CallStatus, times: int = 1) -> None:
        """Wait for a status, the so-manieth time."""
        async with asyncio.timeout(PATIENCE):
            while sum(told[0] is status for told in self.told) < times:
                self._moved.clear()
                await self._moved.wait()

    async def close(self) -> None:
        """Let everything go."""
        await asyncio.to_thread(self.engine.join)
        await self.http.close()
        await self.client.close()


@pytest.fixture
async def calling(server: Server) -> AsyncIterator[Calling]:
    """A line that is not running yet."""
    made = Calling(server)
    yield made
    await made.close()


async def test_a_call_without_end_to_end_encryption_is_not_made(server: Server, calling: Calling) -> None:
    async def plain(conversation: Conversation) -> None:
        await conversation.let_in(dave_protocol_version=0)

    server.scripts = [plain]

    assert await calling.ends() == (CallError.VOICE_CONNECTION_FAILED, 0)
    assert "does not offer end-to-end encryption" in calling.logged[0]
    assert not [frame for each in server.conversations for frame in each.heard if frame["op"] == 26]


async def test_a_call_that_is_to_go_on_without_encryption_goes_on_without_us(server: Server, calling: Calling) -> None:
    async def downgrades(conversation: Conversation) -> None:
        await conversation.let_in()
        await conversation.say(21, {"protocol_version": 0, "transition_id": 3}, seq=1)
        await conversation.next(-1)

    server.scripts = [downgrades]

    assert await calling.ends() == (CallError.VOICE_CONNECTION_FAILED, 0)
    assert not [frame for each in server.conversations for frame in each.heard if frame["op"] == 23]


@pytest.mark.parametrize(
    ("op", "words"),
    [
        (2, "no object"),
        (2, {"ssrc": 1}),
        (2, READY | {"port": 70_000}),
        (2, READY | {"port": 1, "ip": "voice.example"}),
        (2, READY | {"port": 1, "modes": ["xsalsa20_poly1305"]}),
        (4, KEY),
        (4, "nothing"),
    ],
)
async def test_what_cannot_be_read_ends_a_call_that_begins(
    server: Server, calling: Calling, op: int, words: Any
) -> None:
    async def nonsense(conversation: Conversation) -> None:
        await conversation.next(0)
        await conversation.say(op, words)
        await conversation.next(-1)

    server.scripts = [nonsense]

    error, _ = await calling.ends()
    assert error in (CallError.SIGNALING_CONNECTION_FAILED, CallError.VOICE_CONNECTION_FAILED)


@pytest.mark.parametrize("steps", [0, 1, 2])
async def test_a_server_that_stops_in_the_middle_is_not_waited_for(
    server: Server, calling: Calling, monkeypatch: pytest.MonkeyPatch, steps: int
) -> None:
    monkeypatch.setattr("hubbub.sdk.media.line.ESTABLISH_S", 0.3)

    async def stops(conversation: Conversation) -> None:
        if steps:
            await conversation.next(0)
            await conversation.say(2, READY | {"port": server.udp_port})
        if steps > 1:
            await conversation.next(1)
        await conversation.next(-1)

    server.scripts = [stops]

    error, _ = await calling.ends()
    assert error in (CallError.SIGNALING_CONNECTION_FAILED, CallError.VOICE_CONNECTION_FAILED)


@pytest.mark.parametrize("code", [4004, 4006, 4011, 4017, 4021])
async def test_a_refusal_says_its_code(server: Server, calling: Calling, code: int) -> None:
    async def refuse(conversation: Conversation) -> None:
        await conversation.next(0)
        await conversation.socket.close(code=code)

    server.scripts = [refuse]

    assert await calling.ends() == (CallError.SIGNALING_CONNECTION_FAILED, code)


async def test_an_unknown_word_is_passed_over_and_a_broken_group_is_joined_anew(
    server: Server, calling: Calling
) -> None:
    async def breaks(conversation: Conversation) -> None:
        await conversation.let_in()
        await conversation.say(99, {"new": True}, seq=1)
        await conversation.socket.send_bytes(b"\x00\x02" + bytes((30,)) + b"\x00\x09" + b"no welcome")
        assert (await conversation.next(31)) == {"transition_id": 9}
        assert len(await conversation.next(26)) > 300
        await conversation.say(24, {"protocol_version": 1, "epoch": 1}, seq=3)
        await conversation.next(26)
        await conversation.socket.close(code=4022)

    server.scripts = [breaks]

    assert await calling.ends() == (CallError.SIGNALING_UNEXPECTED_CLOSE, 4022)


async def test_it_resumes_with_the_last_number_and_then_begins_anew_and_then_asks_for_another_ticket(
    server: Server, calling: Calling
) -> None:
    resumed: list[Any] = []

    async def live(conversation: Conversation) -> None:
        await conversation.let_in()
        await conversation.say(11, {"user_ids": [str(OTHER)]}, seq=41)
        await conversation.say(13, {"user_id": str(OTHER)}, seq=42)
        await calling.becomes(CallStatus.CONNECTED)
        await conversation.socket.close(code=4015)

    async def forgot(conversation: Conversation) -> None:
        resumed.append(await conversation.next(7))
        await conversation.socket.close(code=4006)

    async def refuse(conversation: Conversation) -> None:
        await conversation.next(0)
        await conversation.socket.close(code=4004)

    async def last(conversation: Conversation) -> None:
        await conversation.let_in()
        await calling.becomes(CallStatus.CONNECTED, times=2)
        await conversation.socket.close(code=4022)

    server.scripts = [live, forgot, refuse, last]

    assert await calling.ends() == (CallError.SIGNALING_UNEXPECTED_CLOSE, 4022)
    assert resumed == [{"server_id": str(LOBBY), "session_id": "session", "token": "token", "seq_ack": 42}]
    assert calling.asked.words == ["rejoin"]
    assert [told[0] for told in calling.told] == [
        CallStatus.JOINING,
        CallStatus.CONNECTING,
        CallStatus.SIGNALING_CONNECTED,
        CallStatus.CONNECTED,
        CallStatus.RECONNECTING,
        CallStatus.CONNECTED,
        CallStatus.DISCONNECTED,
    ]


async def test_a_server_that_does_not_answer_heartbeats_is_left_and_come_back_to(
    server: Server, calling: Calling
) -> None:
    async def silent(conversation: Conversation) -> None:
        await conversation.let_in()
        await calling.becomes(CallStatus.CONNECTED)
        await conversation.next(-1)

    async def awake(conversation: Conversation) -> None:
        await conversation.next(7)
        await conversation.say(9, None)
        await calling.becomes(CallStatus.CONNECTED, times=2)
        await conversation.socket.close(code=4022)

    server.scripts, server.answers, server.interval = [silent, awake], False, 200

    assert await calling.ends() == (CallError.SIGNALING_UNEXPECTED_CLOSE, 4022)
    assert CallStatus.RECONNECTING in [told[0] for told in calling.told]


async def test_a_way_that_is_lost_for_too_long_is_the_end(
    server: Server, calling: Calling, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hubbub.sdk.media.line.RETURN_S", 0.2)

    async def live(conversation: Conversation) -> None:
        await conversation.let_in()
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


async def test_packets_that_stop_begin_another_connection(
    server: Server, calling: Calling, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hubbub.sdk.media.line.DEAF_FRAMES", 5)

    async def mute(conversation: Conversation) -> None:
        await conversation.let_in()
        await conversation.next(-1)

    async def last(conversation: Conversation) -> None:
        await conversation.let_in()
        await calling.becomes(CallStatus.CONNECTED, times=2)
        await conversation.socket.close(code=4022)

    server.scripts = [mute, last]

    assert await calling.ends() == (CallError.SIGNALING_UNEXPECTED_CLOSE, 4022)
    assert "No packet arrived" in calling.logged[0]
