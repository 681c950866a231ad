"""The server as separate processes that tests kill, drain and multiply, and users of those processes.

Everything here uses the public interfaces: the command line, HTTP and the gateway.
"""

import asyncio
import contextlib
import itertools
import json as jsonlib
import os
import re
import signal
import subprocess
import sys
import zlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import aiohttp
import zstandard

from tests.fixtures import validator
from tests.world import ApiResponse

START_TIMEOUT_SECONDS = 60.0
TIMEOUT_SECONDS = 60.0
"""Timeout in seconds for an event that must happen, on a busy machine."""
PASSWORD = "correct horse"

_names = itertools.count(1)

Frame = dict[str, Any]


class Server:
    """One `hubbub serve` or `hubbub dev` process, on a free port that it keeps across restarts.

    `first` is Python code that the process runs before anything else.
    """

    def __init__(self, directory: Path, command: str, *flags: str, first: str = "") -> None:
        self.directory = directory
        self.document: dict[str, Any] = {}
        """The content of the ready file."""
        self.log = directory / f"log-{next(_names)}"
        self._ready_file = self.log.with_suffix(".ready")
        program = f"{first}\nimport sys; from hubbub.server.cli import main; sys.exit(main())"
        self._command = [sys.executable, "-c", program, command, *flags]
        self._process: subprocess.Popen[bytes] | None = None
        self.port = 0

    @property
    def url(self) -> str:
        """The base URL."""
        web: str = self.document["web"]
        return web

    @property
    def gateway(self) -> str:
        """The gateway URL."""
        gateway: str = self.document["gateway"]
        return gateway

    @property
    def pid(self) -> int:
        """The id of the running process."""
        assert self._process is not None
        return self._process.pid

    async def start(self) -> "Server":
        """Start the process and wait until it accepts connections."""
        self._ready_file.unlink(missing_ok=True)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("HUBBUB_")}
        environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
        flags = ["--port", str(self.port), "--ready-file", str(self._ready_file)]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*self._command, *flags], stdout=log, stderr=log, env=environment, cwd=self.directory
            )
        async with asyncio.timeout(START_TIMEOUT_SECONDS):
            while not self._ready_file.exists():
                assert self._process.poll() is None, f"the server ended by itself: {self.log_text()}"
                await asyncio.sleep(0.02)
        self.document = jsonlib.loads(self._ready_file.read_bytes())
        self.port = int(self.url.rpartition(":")[2])
        return self

    def log_text(self) -> str:
        """Return the log so far."""
        return self.log.read_text(errors="replace")

    def kill(self) -> None:
        """Kill the process with SIGKILL."""
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        assert self._process.wait() == -signal.SIGKILL, self.log_text()

    def terminate(self) -> None:
        """Send SIGTERM."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)

    async def ended(self, within: float = TIMEOUT_SECONDS) -> int:
        """Wait for the process to end and return its exit code."""
        assert self._process is not None
        async with asyncio.timeout(within):
            while (code := self._process.poll()) is None:
                await asyncio.sleep(0.01)
        return code

    def stop(self) -> None:
        """Kill the process if it still runs."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()


@contextlib.asynccontextmanager
async def running(directory: Path, command: str, *flags: str, first: str = "") -> AsyncIterator[Server]:
    """Run a server during a block."""
    server = Server(directory, command, *flags, first=first)
    try:
        yield await server.start()
    finally:
        server.stop()


class ApiUser:
    """A user with a token, who can use any process of the platform."""

    def __init__(self, client: aiohttp.ClientSession, url: str, id: str, token: str) -> None:
        self.client = client
        self.url = url
        self.id = id
        self.token = token

    def at(self, server: Server) -> "ApiUser":
        """Return the same user at another server."""
        return ApiUser(self.client, server.url, self.id, self.token)

    async def request(self, method: str, path: str, *, json: Any = None, **options: Any) -> ApiResponse:
        """Send an API request and return the decoded body."""
        headers = {"Authorization": self.token} if self.token else {}
        headers |= options.pop("headers", {})
        if json is not None:
            headers["Content-Type"] = "application/json"
            options["data"] = jsonlib.dumps(json)
        async with self.client.request(method, f"{self.url}/api/v10{path}", headers=headers, **options) as response:
            answer = ApiResponse(response.status, response.headers, await response.read())
        if validator.current_monitor is not None:
            validator.current_monitor.check_response(method, path, answer)
        return answer

    async def get(self, path: str, **options: Any) -> ApiResponse:
        """Send a GET request."""
        return await self.request("GET", path, **options)

    async def post(self, path: str, json: Any = None, **options: Any) -> ApiResponse:
        """Send a POST request."""
        return await self.request("POST", path, json={} if json is None else json, **options)

    async def create_message(self, channel_id: str, content: str) -> Any:
        """Create a message."""
        return (await self.post(f"/channels/{channel_id}/messages", {"content": content})).ok()


async def metric(person: ApiUser, name: str) -> float:
    """Return the sum of a metric over its labels."""
    async with person.client.get(f"{person.url}/metrics") as response:
        text = await response.text()
    found = re.findall(rf"^hubbub_{name}(?:{{[^}}]*}})? (\S+)$", text, re.MULTILINE)
    assert found, name
    return sum(map(float, found))


def demo_users(client: aiohttp.ClientSession, server: Server) -> dict[str, ApiUser]:
    """Return the users of the demo world, its bot included."""
    found = {name: (user["id"], user["token"]) for name, user in server.document["users"].items()}
    for name, application in server.document["applications"].items():
        if application["bot"] is not None:
            found[name] = (application["bot"]["id"], f"Bot {application['bot']['token']}")
    return {name: ApiUser(client, server.url, *credentials) for name, credentials in found.items()}


async def register(client: aiohttp.ClientSession, server: Server, name: str) -> ApiUser:
    """Register a new user."""
    stranger = ApiUser(client, server.url, "", "")
    body = {"username": f"{name}{next(_names)}", "password": PASSWORD}
    made = (await stranger.post("/auth/register", body)).ok()
    return ApiUser(client, server.url, made["user_id"], made["token"])


async def create_guild(owner: ApiUser, *others: ApiUser) -> tuple[str, str, str]:
    """Create a guild with these members; return its id, its first text channel and an unlimited invite."""
    guild_id = (await owner.post("/guilds", {"name": "Trouble"})).ok()["id"]
    channels = (await owner.get(f"/guilds/{guild_id}/channels")).ok()
    channel_id = next(channel["id"] for channel in channels if channel["type"] == 0)
    code = (await owner.post(f"/channels/{channel_id}/invites", {"max_age": 0})).ok()["code"]
    for person in others:
        (await person.post(f"/invites/{code}")).ok()
    return guild_id, channel_id, code


class GatewaySession:
    """A gateway session over any number of connections; it stores the dispatches of all of them."""

    def __init__(self, person: ApiUser, gateway: str, *, compress: str = "", intents: int = 0) -> None:
        self.person = person
        self.compress = compress
        self.intents = intents
        self.frames: list[Frame] = []
        """Every dispatch, in order of arrival."""
        self.opcodes: list[Frame] = []
        """All other frames."""
        self.ready: Any = None
        self.seq = 0
        self.closed_with: int | None = None
        self.socket: aiohttp.ClientWebSocketResponse | None = None
        self.is_reading = asyncio.Event()
        """Reading pauses while this is cleared."""
        self.is_reading.set()
        self._gateway = gateway
        self._reading: asyncio.Task[None] | None = None
        self._arrived = asyncio.Condition()

    async def open(self) -> "GatewaySession":
        """Connect, identify, and read READY and the guilds."""
        await self.connect()
        await self.identify()
        for _ in self.ready["guilds"]:
            await self.event("GUILD_CREATE", since=0)
        return self

    async def identify(self) -> None:
        """Start a session on the current connection."""
        identify = {"token": self.person.token.removeprefix("Bot "), "intents": self.intents, "properties": {}}
        before = len(self.frames)
        await self.send(2, identify)
        self.ready = await self.event("READY", since=before)

    async def connect(self, url: str | None = None) -> None:
        """Open a connection and read its Hello."""
        query = "v=10&encoding=json" + (f"&compress={self.compress}" if self.compress else "")
        self.closed_with = None
        socket = await self.person.client.ws_connect(f"{url or self._gateway}?{query}", max_msg_size=0)
        self.socket = socket
        hello = len(self.opcodes)
        self._reading = asyncio.create_task(self._read(socket))
        await self.wait_until(lambda: len(self.opcodes) > hello)
        assert self.opcodes[hello]["op"] == 10, self.opcodes[hello]

    async def resume(self) -> None:
        """Resume from the last sequence number on a new connection, without waiting for the replay."""
        await self.connect(self.ready["resume_gateway_url"])
        resume = {
            "token": self.person.token.removeprefix("Bot "),
            "session_id": self.ready["session_id"],
            "seq": self.seq,
        }
        await self.send(6, resume)

    async def send(self, op: int, d: Any) -> None:
        """Send a frame."""
        assert self.socket is not None
        await self.socket.send_json({"op": op, "d": d})

    async def cut(self) -> None:
        """Break the connection without a closing handshake."""
        assert self.socket is not None
        assert self._reading is not None
        connection = self.socket._response.connection
        if connection is not None and connection.transport is not None:
            connection.transport.abort()
        # Data that arrived before the cut is read or lost with the client; a resume requests the rest in both cases.
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)

    async def close(self) -> None:
        """Close the connection."""
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)
        if self.socket is not None:
            await self.socket.close()

    async def _read(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        inflate: Any = None
        if self.compress == "zlib-stream":
            inflate = zlib.decompressobj()
        elif self.compress == "zstd-stream":
            inflate = zstandard.ZstdDecompressor().decompressobj()
        async for message in socket:
            await self.is_reading.wait()
            data = message.data if inflate is None else inflate.decompress(message.data)
            frame = jsonlib.loads(data)
            async with self._arrived:
                if frame["op"] == 0:
                    self.frames.append(frame)
                    self.seq = frame["s"]
                else:
                    self.opcodes.append(frame)
                self._arrived.notify_all()
        async with self._arrived:
            self.closed_with = socket.close_code
            self._arrived.notify_all()

    async def wait_until(self, condition: Callable[[], bool], within: float = TIMEOUT_SECONDS) -> None:
        """Wait for a condition, checked whenever a frame arrives."""
        try:
            async with asyncio.timeout(within), self._arrived:
                await self._arrived.wait_for(condition)
        except TimeoutError:
            names = [frame["t"] for frame in self.frames[-20:]]
            raise AssertionError(f"no matching frame; last: {names}, {self.opcodes[-3:]}, {self.closed_with}") from None

    async def event(self, name: str, matches: Callable[[Any], bool] = lambda _: True, *, since: int = 0) -> Any:
        """Return the first dispatch with this name that matches."""
        position = since

        def find() -> bool:
            nonlocal position
            while position < len(self.frames):
                frame = self.frames[position]
                if frame["t"] == name and matches(frame["d"]):
                    return True
                position += 1
            return False

        await self.wait_until(find)
        return self.frames[position]["d"]

    async def message(self, content: str, *, since: int = 0) -> Any:
        """Return the message with this content."""
        return await self.event("MESSAGE_CREATE", lambda d: d["content"] == content, since=since)

    async def opcode(self, op: int) -> Frame:
        """Return the first frame with this opcode."""
        await self.wait_until(lambda: any(frame["op"] == op for frame in self.opcodes))
        return next(frame for frame in self.opcodes if frame["op"] == op)

    async def wait_closed(self) -> int | None:
        """Wait for the close and return its code."""
        await self.wait_until(lambda: self.closed_with is not None)
        return self.closed_with

    def contents(self) -> list[str]:
        """Return the contents of received messages, in order."""
        return [frame["d"]["content"] for frame in self.frames if frame["t"] == "MESSAGE_CREATE"]

    def sequence_numbers(self) -> list[int]:
        """Return the sequence numbers of all dispatches."""
        return [frame["s"] for frame in self.frames]
