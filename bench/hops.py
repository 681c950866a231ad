"""Count the hops of five paths through the code, for the table in docs/tour.md.

    python -m bench.hops

A hop is a call from a function in one module of `hubbub` to a function in another. Server, SDK and clients run in one
process, on a durable SQLite store; only calls between the modules of the measured side count.
"""

import asyncio
import contextlib
import gc
import json
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from types import FrameType
from typing import Any

import aiohttp

from bench.server import _create_codes
from hubbub.people.voice import FRAME_SAMPLES, VoiceClient, VoiceTicket
from hubbub.protocol import codec
from hubbub.protocol.enums import CommandOptionType, InteractionCallbackType, InteractionType
from hubbub.sdk import AuthorizationTokenType, Client
from hubbub.server import worlds
from hubbub.server.app import App
from hubbub.server.core.config import Config, VoiceConfig
from hubbub.server.ready_document import build_document

WARM_UP_COUNT = 3
SHARED_PACKAGES = ("hubbub.protocol", "hubbub.media")
"""Packages whose calls count for the side that calls them."""
OPUS_PACKET = b"\x78" + bytes(range(60))
COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")


class HopCounter:
    """Counts hops in all threads while it is active."""

    def __init__(self) -> None:
        self.hop_count = 0
        self.modules: set[str] = set()
        self._measured_package = ""
        self._packages: tuple[str, ...] = ()
        self._frames: set[FrameType] = set()
        threading.setprofile(self._record)

    @contextlib.contextmanager
    def count(self, measured_package: str, *, includes_shared: bool) -> Iterator[None]:
        """Count the hops inside the context; `measured_package` is the package whose hops count.

        With `includes_shared`, calls to the shared packages count as well."""
        self.hop_count, self.modules = 0, set()
        self._measured_package, self._packages = (
            measured_package,
            (measured_package, *SHARED_PACKAGES) if includes_shared else (measured_package,),
        )
        sys.setprofile(self._record)
        try:
            yield
        finally:
            sys.setprofile(None)
            self._packages = ()
            self._frames.clear()

    def _record(self, frame: FrameType, event: str, argument: Any) -> None:
        if event != "call" or not self._packages or frame.f_code.co_name in COMPREHENSIONS or frame in self._frames:
            return
        # A coroutine that continues causes a call event again, with the same frame.
        self._frames.add(frame)
        caller = frame.f_back
        while caller is not None and caller.f_code.co_name in COMPREHENSIONS:
            caller = caller.f_back
        if caller is None:
            return
        module, calling_module = (named_frame.f_globals.get("__name__", "") for named_frame in (frame, caller))
        if module.startswith(self._packages) and self._belongs_to_measured_package(frame):
            self.modules.add(module)
            if module != calling_module and calling_module.startswith(self._packages):
                self.hop_count += 1

    def _belongs_to_measured_package(self, frame: FrameType | None) -> bool:
        while frame is not None:
            module = frame.f_globals.get("__name__", "")
            if module.startswith("hubbub.") and not module.startswith(SHARED_PACKAGES):
                return module.startswith(self._measured_package)
            frame = frame.f_back
        return False


class Paths:
    """The measured paths, on one platform with the demo world."""

    def __init__(self, app: App, ready: dict[str, Any], http: aiohttp.ClientSession, counter: HopCounter) -> None:
        self._app = app
        self._ready = ready
        self._http = http
        self._counter = counter
        guild = ready["guilds"]["Town Square"]
        self._guild_id = guild["id"]
        self._channel_id = guild["channels"]["general"]
        self._user = ready["users"]["alice"]
        self._application = ready["applications"]["demo-bot"]
        self._access_token = ""

    async def measure(
        self, name: str, path: Callable[[], Awaitable[Any]], measured_package: str = "hubbub.server"
    ) -> None:
        """Run a path until it is warm, count one more run, and print the row of the table."""
        for _ in range(WARM_UP_COUNT):
            await path()
        with self._counter.count(measured_package, includes_shared=measured_package == "hubbub.server"):
            await path()
        print(f"| {name} | {self._counter.hop_count} | {len(self._counter.modules)} |", flush=True)

    async def call(self, method: str, path: str, token: str, body: Any = None, **options: Any) -> Any:
        """Send a request to the API, and return the decoded response."""
        headers = {"Authorization": token} if token else {}
        url = f"{self._ready['api']}{path}"
        async with self._http.request(method, url, json=body, headers=headers, **options) as response:
            text = await response.text()
            if response.status >= 400:
                raise RuntimeError(f"{method} {path}: {response.status} {text}")
            return json.loads(text) if text else None

    async def create_message(self) -> None:
        """Create a message in a guild channel."""
        await self.call(
            "POST", f"/channels/{self._channel_id}/messages", self._user["token"], {"content": "hello there"}
        )

    @contextlib.asynccontextmanager
    async def prepare_interactions(self) -> AsyncIterator[Callable[[], Awaitable[None]]]:
        """Connect the bot to the gateway, and provide the path of an interaction with its callback."""
        bot_token = f"Bot {self._application['bot']['token']}"
        options = [{"type": CommandOptionType.STRING, "name": "name", "description": "A name"}]
        command = await self.call(
            "POST",
            f"/applications/{self._application['id']}/guilds/{self._guild_id}/commands",
            bot_token,
            {"name": "greet", "description": "Greets a user", "options": options},
        )
        async with self._http.ws_connect(f"{self._ready['gateway']}?v=10&encoding=json") as socket:
            identify = {"token": bot_token.removeprefix("Bot "), "intents": 1, "properties": {}}
            await socket.send_json({"op": 2, "d": identify})
            await self._receive(socket, "GUILD_CREATE")

            async def interact() -> None:
                await self.call("POST", "/interactions", self._user["token"], self._interaction_body(command))
                event = await self._receive(socket, "INTERACTION_CREATE")
                response = {"type": InteractionCallbackType.CHANNEL_MESSAGE_WITH_SOURCE, "data": {"content": "hello"}}
                await self.call("POST", f"/interactions/{event['id']}/{event['token']}/callback", "", response)

            yield interact

    def _interaction_body(self, command: dict[str, Any]) -> dict[str, Any]:
        options = [{"type": CommandOptionType.STRING, "name": "name", "value": "world"}]
        return {
            "type": InteractionType.APPLICATION_COMMAND,
            "application_id": self._application["id"],
            "guild_id": self._guild_id,
            "channel_id": self._channel_id,
            "session_id": "bench",
            "data": {key: command[key] for key in ("id", "name", "type", "version")} | {"options": options},
        }

    @staticmethod
    async def _receive(socket: aiohttp.ClientWebSocketResponse, name: str) -> Any:
        while True:
            frame = await socket.receive_json(timeout=10)
            if frame["t"] == name:
                return frame["d"]

    async def prepare_code_exchange(self) -> Callable[[], Awaitable[None]]:
        """Create an application with authorization codes, and return the path of one exchange."""
        count = WARM_UP_COUNT + 1
        fields = await self._app.database.write(
            lambda tx: _create_codes(self._app.make_call(tx), self._user["id"], "identify", str(count))
        )
        client_id = fields["client_id"]
        numbers = iter(range(count))

        async def exchange() -> None:
            form = {
                "grant_type": "authorization_code",
                "code": f"{client_id} {next(numbers)}",
                "client_id": client_id,
                "client_secret": fields["client_secret"],
                "redirect_uri": fields["redirect_uri"],
            }
            self._access_token = (await self.call("POST", "/oauth2/token", "", data=form))["access_token"]

        return exchange

    async def fetch_current_user(self, client: Client) -> None:
        """Fetch the user of the access token through the SDK."""
        await client.fetch_current_user(AuthorizationTokenType.BEARER, self._access_token)

    @contextlib.asynccontextmanager
    async def prepare_voice_packets(self) -> AsyncIterator[Callable[[], Awaitable[None]]]:
        """Connect two users to a voice channel, and provide the path of one packet."""
        async with contextlib.AsyncExitStack() as stack:
            sender, receiver = [await self._join_call(stack, name) for name in ("alice", "bob")]
            await sender.play([OPUS_PACKET], timeout_seconds=10)

            async def send() -> None:
                receiver.recorded.clear()
                sender._send_frame(bytes(sender._dave.encrypt_opus(OPUS_PACKET)), FRAME_SAMPLES)
                await asyncio.wait_for(receiver._wait_until(lambda: receiver.recorded), 10)

            yield send

    async def _join_call(self, stack: contextlib.AsyncExitStack, name: str) -> VoiceClient:
        channel_id = self._ready["guilds"]["Town Square"]["channels"]["Lounge"]
        user = self._ready["users"][name]
        socket = await stack.enter_async_context(self._http.ws_connect(f"{self._ready['gateway']}?v=10&encoding=json"))
        await socket.send_json({"op": 2, "d": {"token": user["token"], "intents": 1 | 1 << 7, "properties": {}}})
        await self._receive(socket, "GUILD_CREATE")
        state = {"guild_id": self._guild_id, "channel_id": channel_id, "self_mute": False, "self_deaf": False}
        await socket.send_json({"op": 4, "d": state})
        session = await self._receive(socket, "VOICE_STATE_UPDATE")
        server = await self._receive(socket, "VOICE_SERVER_UPDATE")
        ticket = VoiceTicket(self._guild_id, channel_id, user["id"], session["session_id"], server["token"])
        url = self._ready["gateway"].removesuffix("/gateway") + "/voice"
        client = await VoiceClient.open(self._http, url, name, ticket)
        stack.push_async_callback(client.close)
        return client


async def main() -> None:
    """Measure the paths and print the table."""
    counter = HopCounter()
    with tempfile.TemporaryDirectory() as folder:
        app = App(Config(data=folder, port=0, rate_limits="off", voice=VoiceConfig(endpoint="voice.example")))
        await app.start()
        built_world = await worlds.load_initial(app, worlds.demo_world(), 0)
        ready = json.loads(codec.encode(build_document(app.config, built_world)))
        async with aiohttp.ClientSession() as http:
            paths = Paths(app, ready, http, counter)
            gc.disable()
            print("| Path | Hops | Modules |\n|---|---|---|")
            await paths.measure("Message", paths.create_message)
            async with paths.prepare_interactions() as interact:
                await paths.measure("Interaction", interact)
            await paths.measure("OAuth2 code", await paths.prepare_code_exchange())
            client = Client(ready["web"] + "/api", ready["web"])
            await paths.measure("SDK call", lambda: paths.fetch_current_user(client), "hubbub.sdk")
            await client.close()
            async with paths.prepare_voice_packets() as send_packet:
                await paths.measure("Voice packet", send_packet)
        await app.stop()


if __name__ == "__main__":
    asyncio.run(main())
