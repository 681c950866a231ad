"""An interaction from the person's request to the app's accepted callback, against posting a message."""

import asyncio
import json
import statistics
import tempfile
from collections.abc import Callable
from typing import Any

import aiohttp

from bench.load import GatewayConnection, Subject, drive, request

CONNECTIONS = 32
TOGETHER = 100
"""So many are asked before they are answered: an app has three seconds."""
GUILDS = 1 << 0


class Hearing(GatewayConnection):
    """An app that notes the interactions it is told of."""

    def __init__(self, token: str) -> None:
        super().__init__(token, "", GUILDS)
        self.heard: list[tuple[str, str]] = []
        self.ready = False
        self._buffer = b""

    def data_received(self, data: bytes) -> None:
        """Read whole frames; the head of the connection is over with the first empty line."""
        before = self.upgraded
        super().data_received(data)
        if not before:
            data = data.partition(b"\r\n\r\n")[2]
        self._buffer += data
        while (frame := self._frame()) is not None:
            self.ready = self.ready or b'"t":"READY"' in frame
            if b'"t":"INTERACTION_CREATE"' in frame:
                told = json.loads(frame)["d"]
                self.heard.append((told["id"], told["token"]))

    def _frame(self) -> bytes | None:
        buffer = self._buffer
        if len(buffer) < 2:
            return None
        size, start = buffer[1], 2
        if size > 125:
            start = 4 if size == 126 else 10
            if len(buffer) < start:
                return None
            size = int.from_bytes(buffer[2:start], "big")
        if len(buffer) < start + size:
            return None
        self._buffer = buffer[start + size :]
        return buffer[start : start + size]


async def until(true: Callable[[], bool]) -> None:
    """Wait for what the app hears."""
    async with asyncio.timeout(30):
        while not true():
            await asyncio.sleep(0.001)


async def interaction_bench(note: Callable[..., None], quick: bool) -> None:
    """Both in turns, on one platform, so that a slow moment of the machine hits both."""
    count = 600 if quick else 4_000
    with tempfile.TemporaryDirectory() as folder, Subject("hubbub", folder) as subject:
        about = subject.about
        url, channel, person = about["url"], about["channel"], about["user_token"]
        application, command = await command_of(subject)
        host, _, port = url.removeprefix("http://").partition(":")
        loop = asyncio.get_running_loop()
        _, app = await loop.create_connection(lambda: Hearing(about["bot_token"]), host, int(port))
        await until(lambda: app.ready)
        asking = request("POST", "/api/v10/interactions", person, asked(application, channel, about["guild"], command))
        saying = request("POST", f"/api/v10/channels/{channel}/messages", person, {"content": "hello there"})

        async def converse(total: int) -> None:
            for _ in range(total // TOGETHER):
                await drive(url, [asking] * TOGETHER, CONNECTIONS)
                await until(lambda: len(app.heard) >= TOGETHER)
                answers = [answering(*each) for each in app.heard]
                app.heard.clear()
                await drive(url, answers, CONNECTIONS)

        async def post(total: int) -> None:
            for _ in range(total // TOGETHER):
                await drive(url, [saying] * TOGETHER, CONNECTIONS)

        async def cost(step: Callable[[int], Any]) -> float:
            before = subject.cpu()
            await step(count)
            return (subject.cpu() - before) / count * 1e6

        await post(TOGETHER)
        await converse(TOGETHER)
        posts, interactions = [], []
        for _ in range(3):
            posts.append(await cost(post))
            interactions.append(await cost(converse))
        app.transport.close()
    floor, spent = statistics.median(posts), statistics.median(interactions)
    detail = f"{spent:.0f} us against {floor:.0f} us"
    note("interaction asked, heard and answered / durable POST message, CPU", spent / floor, 3.0, "x", detail)


async def command_of(subject: Subject) -> tuple[str, dict[str, Any]]:
    """The application's id, and a command that it offers in the guild."""
    headers = {"Authorization": f"Bot {subject.about['bot_token']}"}
    api = f"{subject.about['url']}/api/v10"
    async with aiohttp.ClientSession(headers=headers) as client:
        async with client.get(f"{api}/applications/@me") as answer:
            application = (await answer.json())["id"]
        body = {
            "name": "greet",
            "description": "says hello",
            "options": [{"type": 3, "name": "whom", "description": "x"}],
        }
        address = f"{api}/applications/{application}/guilds/{subject.about['guild']}/commands"
        async with client.post(address, json=body) as answer:
            return application, await answer.json()


def asked(application: str, channel: str, guild: str, command: dict[str, Any]) -> dict[str, Any]:
    """What a person sends."""
    options = [{"type": 3, "name": "whom", "value": "world"}]
    data = {"id": command["id"], "name": "greet", "type": 1, "version": command["version"], "options": options}
    return {
        "type": 2,
        "application_id": application,
        "guild_id": guild,
        "channel_id": channel,
        "nonce": "1",
        "data": data,
    }


def answering(interaction_id: str, token: str) -> bytes:
    """What the app sends."""
    path = f"/api/v10/interactions/{interaction_id}/{token}/callback"
    return request("POST", path, "", {"type": 4, "data": {"content": "hello there"}})
