"""Server processes that tests start, kill and drain, their users, and the gateway sessions of these users.

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

from hubbub.protocol.enums import ChannelType, GatewayOpcode
from tests.fixtures import validator
from tests.world import ApiResponse

START_TIMEOUT_SECONDS = 60.0
TIMEOUT_SECONDS = 60.0
"""Timeout in seconds for an event that must happen, on a busy machine."""
PASSWORD = "correct horse"

_numbers = itertools.count(1)

Frame = dict[str, Any]


class Server:
    """One `hubbub serve` or `hubbub dev` process, on a free port that it keeps across restarts.

    `startup_code` is Python code that the process runs before anything else.
    """

    def __init__(
        self, directory: Path, command: str, *flags: str, startup_code: str = "", source: Path | None = None
    ) -> None:
        self.directory = directory
        self.source = source
        """The folder with the package of another version, which the next start uses; None for this version."""
        self.document: dict[str, Any] = {}
        """The content of the ready file."""
        self.log = directory / f"log-{next(_numbers)}"
        self.ready_file = self.log.with_suffix(".ready")
        """The ready file, which the process writes when it accepts connections."""
        program = f"{startup_code}\nimport sys; from hubbub.server.cli import main; sys.exit(main())"
        self._command = [sys.executable, "-c", program, command, *flags]
        self._process: subprocess.Popen[bytes] | None = None
        self.port = 0

    @property
    def url(self) -> str:
        """The base URL, from the ready file."""
        web: str = self.document["web"]
        return web

    @property
    def gateway(self) -> str:
        """The gateway URL, from the ready file."""
        gateway: str = self.document["gateway"]
        return gateway

    @property
    def general_channel_id(self) -> str:
        """ID of the general channel of the demo guild."""
        channel_id: str = self.document["guilds"]["Town Square"]["channels"]["general"]
        return channel_id

    @property
    def pid(self) -> int:
        """ID of the running process."""
        assert self._process is not None
        return self._process.pid

    async def start(self) -> "Server":
        """Start the process and wait until it accepts connections."""
        self.ready_file.unlink(missing_ok=True)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("HUBBUB_")}
        # Users of these tests join and leave guilds as fast as they can.
        environment["HUBBUB_PROTECTION_RAID_JOINS_MAX"] = "0"
        # The first folder with the package wins.
        folders = [*([] if self.source is None else [str(self.source)]), *sys.path]
        environment["PYTHONPATH"] = os.pathsep.join(path for path in folders if path)
        flags = ["--port", str(self.port), "--ready-file", str(self.ready_file)]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*self._command, *flags], stdout=log, stderr=log, env=environment, cwd=self.directory
            )
        async with asyncio.timeout(START_TIMEOUT_SECONDS):
            while not self.ready_file.exists():
                assert self._process.poll() is None, f"the server ended by itself: {self.log_text()}"
                await asyncio.sleep(0.02)
        self.document = jsonlib.loads(self.ready_file.read_bytes())
        self.port = int(self.url.rpartition(":")[2])
        return self

    def log_text(self) -> str:
        """Return the log so far."""
        return self.log.read_text(errors="replace")

    async def wait_logged(self, text: str) -> None:
        """Wait until the log contains a text."""
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while text not in self.log_text():
                await asyncio.sleep(0.02)

    def kill(self) -> None:
        """Kill the process with SIGKILL."""
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        assert self._process.wait() == -signal.SIGKILL, self.log_text()

    def terminate(self) -> None:
        """Send SIGTERM."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)

    async def wait_ended(self, timeout_seconds: float = TIMEOUT_SECONDS) -> int:
        """Wait for the process to end and return its exit code."""
        assert self._process is not None
        async with asyncio.timeout(timeout_seconds):
            while (code := self._process.poll()) is None:
                await asyncio.sleep(0.01)
        return code

    def stop(self) -> None:
        """Kill the process if it still runs."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()


@contextlib.asynccontextmanager
async def running_server(directory: Path, command: str, *flags: str, startup_code: str = "") -> AsyncIterator[Server]:
    """Run a server until the `async with` block ends."""
    server = Server(directory, command, *flags, startup_code=startup_code)
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

    def at_server(self, server: Server) -> "ApiUser":
        """Return the same user with requests to another server."""
        return ApiUser(self.client, server.url, self.id, self.token)

    async def request(self, method: str, path: str, *, json: Any = None, **options: Any) -> ApiResponse:
        """Send an API request, let the current monitor check the response, and return it."""
        headers = {"Authorization": self.token} if self.token else {}
        headers |= options.pop("headers", {})
        if json is not None:
            headers["Content-Type"] = "application/json"
            options["data"] = jsonlib.dumps(json)
        async with self.client.request(method, f"{self.url}/api/v10{path}", headers=headers, **options) as response:
            api_response = ApiResponse(response.status, response.headers, await response.read())
        if validator.current_monitor is not None:
            validator.current_monitor.check_response(method, path, api_response)
        return api_response

    async def get(self, path: str, **options: Any) -> ApiResponse:
        return await self.request("GET", path, **options)

    async def post(self, path: str, json: Any = None, **options: Any) -> ApiResponse:
        """Send a POST request; the default body is an empty JSON object."""
        return await self.request("POST", path, json={} if json is None else json, **options)

    async def create_message(self, channel_id: str, content: str) -> Any:
        return (await self.post(f"/channels/{channel_id}/messages", {"content": content})).ok()


async def read_metric(user: ApiUser, name: str) -> float:
    """Return the sum of a metric over its labels."""
    async with user.client.get(f"{user.url}/metrics") as response:
        text = await response.text()
    values = re.findall(rf"^hubbub_{name}(?:{{[^}}]*}})? (\S+)$", text, re.MULTILINE)
    assert values, name
    return sum(map(float, values))


def demo_users(client: aiohttp.ClientSession, server: Server) -> dict[str, ApiUser]:
    """Return the users and bots of the demo world by name."""
    credentials_by_name = {name: (user["id"], user["token"]) for name, user in server.document["users"].items()}
    for name, application in server.document["applications"].items():
        if application["bot"] is not None:
            credentials_by_name[name] = (application["bot"]["id"], f"Bot {application['bot']['token']}")
    return {name: ApiUser(client, server.url, *credentials) for name, credentials in credentials_by_name.items()}


async def register_user(client: aiohttp.ClientSession, server: Server, name: str) -> ApiUser:
    anonymous_user = ApiUser(client, server.url, "", "")
    body = {"username": f"{name}{next(_numbers)}", "password": PASSWORD}
    session = (await anonymous_user.post("/auth/register", body)).ok()
    return ApiUser(client, server.url, session["user_id"], session["token"])


async def create_guild(owner: ApiUser, *members: ApiUser) -> tuple[str, str, str]:
    """Create a guild with these members; return its ID, its first text channel's ID and the code of an unlimited invite."""
    guild_id = (await owner.post("/guilds", {"name": "Guild"})).ok()["id"]
    channels = (await owner.get(f"/guilds/{guild_id}/channels")).ok()
    channel_id = next(channel["id"] for channel in channels if channel["type"] == ChannelType.GUILD_TEXT)
    code = (await owner.post(f"/channels/{channel_id}/invites", {"max_age": 0})).ok()["code"]
    for member in members:
        (await member.post(f"/invites/{code}")).ok()
    return guild_id, channel_id, code


class GatewaySession:
    """A gateway session over any number of connections; it stores the dispatches of all of them."""

    def __init__(self, user: ApiUser, gateway: str, *, compress: str = "", intents: int = 0) -> None:
        self.user = user
        self.compress = compress
        self.intents = intents
        self.dispatches: list[Frame] = []
        """Every dispatch, in order of arrival."""
        self.other_frames: list[Frame] = []
        """Every frame that is not a dispatch, in order of arrival."""
        self.ready: Any = None
        self.seq = 0
        self.close_code: int | None = None
        self.socket: aiohttp.ClientWebSocketResponse | None = None
        self.reading_allowed = asyncio.Event()
        """Event that is cleared to pause reading."""
        self.reading_allowed.set()
        self._gateway = gateway
        self._reader_task: asyncio.Task[None] | None = None
        self._frame_arrived = asyncio.Condition()

    async def open(self) -> "GatewaySession":
        """Connect, identify, wait for READY and for the first guild if there is any, and return this object."""
        await self.connect()
        await self.identify()
        for _ in self.ready["guilds"]:
            await self.wait_event("GUILD_CREATE", since=0)
        return self

    async def identify(self) -> None:
        """Start a session on the current connection."""
        payload = {"token": self.user.token.removeprefix("Bot "), "intents": self.intents, "properties": {}}
        frame_count = len(self.dispatches)
        await self.send(GatewayOpcode.IDENTIFY, payload)
        self.ready = await self.wait_event("READY", since=frame_count)

    async def connect(self, url: str | None = None) -> None:
        """Open a connection and read its Hello."""
        query = "v=10&encoding=json" + (f"&compress={self.compress}" if self.compress else "")
        self.close_code = None
        socket = await self.user.client.ws_connect(f"{url or self._gateway}?{query}", max_msg_size=0)
        self.socket = socket
        frame_count = len(self.other_frames)
        self._reader_task = asyncio.create_task(self._read_frames(socket))
        await self.wait_until(lambda: len(self.other_frames) > frame_count)
        assert self.other_frames[frame_count]["op"] == GatewayOpcode.HELLO, self.other_frames[frame_count]

    async def resume(self, url: str | None = None) -> None:
        """Resume from the last sequence number on a new connection, by default at the resume URL.

        Do not wait for the replay.
        """
        await self.connect(url or self.ready["resume_gateway_url"])
        payload = {
            "token": self.user.token.removeprefix("Bot "),
            "session_id": self.ready["session_id"],
            "seq": self.seq,
        }
        await self.send(GatewayOpcode.RESUME, payload)

    async def send(self, opcode: int, data: Any) -> None:
        """Send a frame."""
        assert self.socket is not None
        await self.socket.send_json({"op": opcode, "d": data})

    async def abort_connection(self) -> None:
        """Break the connection without a closing handshake."""
        assert self.socket is not None
        assert self._reader_task is not None
        connection = self.socket._response.connection
        if connection is not None and connection.transport is not None:
            connection.transport.abort()
        # Data that arrived before is either read or discarded; a resume requests the missing events in both cases.
        self._reader_task.cancel()
        await asyncio.gather(self._reader_task, return_exceptions=True)

    async def close(self) -> None:
        """Close the connection."""
        if self._reader_task is not None:
            self._reader_task.cancel()
            await asyncio.gather(self._reader_task, return_exceptions=True)
        if self.socket is not None:
            await self.socket.close()

    async def _read_frames(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        decompressor: Any = None
        if self.compress == "zlib-stream":
            decompressor = zlib.decompressobj()
        elif self.compress == "zstd-stream":
            decompressor = zstandard.ZstdDecompressor().decompressobj()
        async for message in socket:
            await self.reading_allowed.wait()
            frame_text = message.data if decompressor is None else decompressor.decompress(message.data)
            frame = jsonlib.loads(frame_text)
            async with self._frame_arrived:
                if frame["op"] == GatewayOpcode.DISPATCH:
                    self.dispatches.append(frame)
                    self.seq = frame["s"]
                else:
                    self.other_frames.append(frame)
                self._frame_arrived.notify_all()
        async with self._frame_arrived:
            self.close_code = socket.close_code
            self._frame_arrived.notify_all()

    async def wait_until(self, condition: Callable[[], bool], timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        """Wait for a condition, checked whenever a frame arrives and when the connection closes."""
        try:
            async with asyncio.timeout(timeout_seconds), self._frame_arrived:
                await self._frame_arrived.wait_for(condition)
        except TimeoutError:
            names = [frame["t"] for frame in self.dispatches[-20:]]
            raise AssertionError(
                f"no matching frame arrived; last events: {names}, last other frames: {self.other_frames[-3:]}, "
                f"close code: {self.close_code}"
            ) from None

    async def wait_event(self, name: str, matches: Callable[[Any], bool] = lambda _: True, *, since: int = 0) -> Any:
        """Wait for the first dispatch from index `since` on with this name that matches; return its data."""
        position = since

        def has_event() -> bool:
            nonlocal position
            while position < len(self.dispatches):
                frame = self.dispatches[position]
                if frame["t"] == name and matches(frame["d"]):
                    return True
                position += 1
            return False

        await self.wait_until(has_event)
        return self.dispatches[position]["d"]

    async def wait_message(self, content: str, *, since: int = 0) -> Any:
        """Wait for the message with this content, from index `since` of the dispatches on, and return it."""
        return await self.wait_event("MESSAGE_CREATE", lambda message: message["content"] == content, since=since)

    async def wait_opcode(self, opcode: int) -> Frame:
        """Wait for the first frame with this opcode and return it."""
        await self.wait_until(lambda: any(frame["op"] == opcode for frame in self.other_frames))
        return next(frame for frame in self.other_frames if frame["op"] == opcode)

    async def wait_closed(self) -> int | None:
        """Wait for the close and return its code."""
        await self.wait_until(lambda: self.close_code is not None)
        return self.close_code

    def message_contents(self) -> list[str]:
        """Return the contents of received messages, in order."""
        return [frame["d"]["content"] for frame in self.dispatches if frame["t"] == "MESSAGE_CREATE"]

    def sequence_numbers(self) -> list[int]:
        """Return the sequence numbers of all dispatches."""
        return [frame["s"] for frame in self.dispatches]
