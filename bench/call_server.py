"""A platform with a voice channel and users, for benchmarks of calls, and the clients that join the call.

As a program it serves the platform in a process of its own: it prints its ready document, and a `Sample` for each line on stdin."""

import asyncio
import json
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import aiohttp
import msgspec

from hubbub.people.voice import VoiceClient, VoiceTicket
from hubbub.protocol import codec
from hubbub.server import worlds
from hubbub.server.app import App
from hubbub.server.core.config import Config, VoiceConfig
from hubbub.server.ready_document import build_document
from hubbub.server.worlds import schema

GUILD, CHANNEL = "Bench", "Lounge"
USER_COUNT = 10
ClientT = TypeVar("ClientT", bound=VoiceClient)


class Sample(msgspec.Struct):
    """The state of the server's process."""

    private_kib: int
    """Resident memory that the process shares with no other process, in KiB."""
    rows: dict[str, int]
    """Number of rows by table."""


@asynccontextmanager
async def run_platform() -> AsyncIterator[tuple[App, dict[str, Any]]]:
    """Run a platform in this process; yield it and its ready document."""
    names = [f"user{number}" for number in range(USER_COUNT)]
    world = schema.read_mapping(
        {
            "users": {name: {} for name in names},
            "guilds": {
                GUILD: {
                    "owner": names[0],
                    "members": {name: {} for name in names[1:]},
                    "channels": {CHANNEL: {"type": "voice"}},
                }
            },
        }
    )
    with tempfile.TemporaryDirectory() as folder:
        app = App(Config(data=folder, port=0, rate_limits="off", voice=VoiceConfig(endpoint="voice.example")))
        await app.start()
        built_world = await worlds.load_initial(app, world, 0)
        yield app, json.loads(codec.encode(build_document(app.config, built_world)))
        await app.stop()


class CallMember:
    """A user of the platform, who joins the call and leaves it."""

    def __init__(self, http: aiohttp.ClientSession, ready: dict[str, Any], name: str) -> None:
        self._http, self._ready, self._name = http, ready, name
        self.id = str(ready["users"][name]["id"])
        self._gateway: aiohttp.ClientWebSocketResponse | None = None
        self._heartbeats: asyncio.Task[None] | None = None

    async def join(self, kind: type[ClientT]) -> ClientT:
        """Open a gateway session, join the call and return the connected voice client."""
        guild = self._ready["guilds"][GUILD]
        gateway = self._gateway = await self._http.ws_connect(f"{self._ready['gateway']}?v=10&encoding=json")
        token = self._ready["users"][self._name]["token"]
        await gateway.send_json({"op": 2, "d": {"token": token, "intents": 1 | 1 << 7, "properties": {}}})
        await self._receive("GUILD_CREATE")
        channel_id = guild["channels"][CHANNEL]
        await gateway.send_json({"op": 4, "d": {"guild_id": guild["id"], "channel_id": channel_id}})
        state = await self._receive("VOICE_STATE_UPDATE", self.id)
        server = await self._receive("VOICE_SERVER_UPDATE")
        self._heartbeats = asyncio.create_task(self._keep_alive())
        ticket = VoiceTicket(guild["id"], channel_id, self.id, state["session_id"], server["token"])
        url = self._ready["gateway"].removesuffix("/gateway") + "/voice"
        return await kind.open(self._http, url, self._name, ticket)

    async def leave(self, client: VoiceClient) -> None:
        """Close the voice client and the gateway session."""
        await client.close()
        assert self._gateway is not None
        assert self._heartbeats is not None
        self._heartbeats.cancel()
        await asyncio.gather(self._heartbeats, return_exceptions=True)
        await self._gateway.close(code=1000)

    async def _receive(self, event: str, user_id: str | None = None) -> Any:
        assert self._gateway is not None
        while True:
            frame = await self._gateway.receive_json(timeout=60)
            if frame["t"] == event and user_id in (None, frame["d"].get("user_id")):
                return frame["d"]

    async def _keep_alive(self) -> None:
        """Send heartbeats, and read the other frames."""
        assert self._gateway is not None
        while not self._gateway.closed:
            await self._gateway.send_json({"op": 1, "d": None})
            try:
                async with asyncio.timeout(20):
                    async for _ in self._gateway:
                        pass
            except TimeoutError:
                continue


async def _serve() -> None:
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    async with run_platform() as (app, ready):
        print(json.dumps(ready), flush=True)
        while await reader.readline():
            sample = Sample(private_kib=_read_private_kib(), rows=await app.database.read(_count_rows))
            print(msgspec.json.encode(sample).decode(), flush=True)


def _count_rows(tx: Any) -> dict[str, int]:
    names = [name for (name,) in tx.all("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return {name: tx.all(f'SELECT count(*) FROM "{name}"')[0][0] for name in names}


def _read_private_kib() -> int:
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_"))


if __name__ == "__main__":
    asyncio.run(_serve())
