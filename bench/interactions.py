"""The cost of an interaction, from the user's request to the app's accepted callback, against posting a message."""

import asyncio
import json
import statistics
import tempfile
from collections.abc import Callable
from typing import Any

import aiohttp

from bench.load import GatewayConnection, Subject, encode_request, send_requests
from hubbub.protocol.enums import CommandOptionType, CommandType, InteractionCallbackType, InteractionType
from hubbub.protocol.intents import Intents

CONNECTION_COUNT = 32
BATCH_SIZE = 32
"""Interactions that are requested before the app responds to them; it has three seconds to respond, also on a busy machine."""


class RecordingApp(GatewayConnection):
    """An app that records the interactions it receives."""

    def __init__(self, token: str) -> None:
        super().__init__(token, "", Intents.GUILDS)
        self.interactions: list[tuple[str, str]] = []
        """ID and token of each interaction."""
        self.is_ready = False
        self._buffer = b""

    def data_received(self, data: bytes) -> None:
        """Parse whole frames; the first empty line ends the HTTP header."""
        was_upgraded = self.is_upgraded
        super().data_received(data)
        if not was_upgraded:
            data = data.partition(b"\r\n\r\n")[2]
        self._buffer += data
        while (frame := self._take_frame()) is not None:
            self.is_ready = self.is_ready or b'"t":"READY"' in frame
            if b'"t":"INTERACTION_CREATE"' in frame:
                interaction = json.loads(frame)["d"]
                self.interactions.append((interaction["id"], interaction["token"]))

    def _take_frame(self) -> bytes | None:
        buffer = self._buffer
        if len(buffer) < 2:
            return None
        payload_bytes, payload_start = buffer[1], 2
        if payload_bytes > 125:
            payload_start = 4 if payload_bytes == 126 else 10
            if len(buffer) < payload_start:
                return None
            payload_bytes = int.from_bytes(buffer[2:payload_start], "big")
        if len(buffer) < payload_start + payload_bytes:
            return None
        self._buffer = buffer[payload_start + payload_bytes :]
        return buffer[payload_start : payload_start + payload_bytes]


async def wait_until(condition: Callable[[], bool]) -> None:
    """Poll a condition until it is true; raise TimeoutError after 30 seconds."""
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.001)


class InteractionLoad:
    """A user who runs a command, and an app that responds to each interaction."""

    def __init__(self, subject: Subject, app: RecordingApp, interaction_request: bytes) -> None:
        self.app = app
        self._url = subject.connection_info["url"]
        self._interaction_request = interaction_request

    async def run(self, count: int, batch_size_max: int = BATCH_SIZE) -> None:
        """Run interactions in batches, each with its callback."""
        for started_count in range(0, count, batch_size_max):
            batch_size = min(batch_size_max, count - started_count)
            self.app.send_heartbeat()
            await send_requests(self._url, [self._interaction_request] * batch_size, CONNECTION_COUNT)
            await wait_until(lambda batch_size=batch_size: len(self.app.interactions) >= batch_size)
            callbacks = [callback_request(*interaction) for interaction in self.app.interactions]
            self.app.interactions.clear()
            await send_requests(self._url, callbacks, CONNECTION_COUNT)


async def start_interaction_load(subject: Subject) -> InteractionLoad:
    """Create a command and connect the app."""
    info = subject.connection_info
    application_id, command = await create_command(subject)
    host, _, port = info["url"].removeprefix("http://").partition(":")
    loop = asyncio.get_running_loop()
    _, app = await loop.create_connection(lambda: RecordingApp(info["bot_token"]), host, int(port))
    await wait_until(lambda: app.is_ready)
    body = interaction_body(application_id, info["channel"], info["guild"], command)
    request = encode_request("POST", "/api/v10/interactions", info["user_token"], body)
    return InteractionLoad(subject, app, request)


async def run_interaction_benchmark(record_figure: Callable[..., None], is_quick: bool) -> None:
    """Measure interactions and messages alternately on one server, so that a slowdown of the machine affects both."""
    count = 600 if is_quick else 4_000
    with tempfile.TemporaryDirectory() as folder, Subject("hubbub", folder) as subject:
        info = subject.connection_info
        load = await start_interaction_load(subject)
        message_request = encode_request(
            "POST", f"/api/v10/channels/{info['channel']}/messages", info["user_token"], {"content": "hello there"}
        )

        async def post_messages(total: int) -> None:
            for _ in range(total // BATCH_SIZE):
                await send_requests(info["url"], [message_request] * BATCH_SIZE, CONNECTION_COUNT)

        async def measure_cost(step: Callable[[int], Any]) -> float:
            cpu_before = subject.cpu_seconds()
            await step(count)
            return (subject.cpu_seconds() - cpu_before) / count * 1e6

        await post_messages(BATCH_SIZE)
        await load.run(BATCH_SIZE)
        post_costs, interaction_costs = [], []
        for _ in range(3):
            post_costs.append(await measure_cost(post_messages))
            interaction_costs.append(await measure_cost(load.run))
        load.app.transport.close()
    baseline, interaction_cost = statistics.median(post_costs), statistics.median(interaction_costs)
    detail = f"{interaction_cost:.0f} us against {baseline:.0f} us"
    record_figure(
        "interaction with its callback / durable POST message, CPU", interaction_cost / baseline, 3.0, "x", detail
    )


async def create_command(subject: Subject) -> tuple[str, dict[str, Any]]:
    """Create a guild command. Return the application's ID and the command."""
    headers = {"Authorization": f"Bot {subject.connection_info['bot_token']}"}
    api = f"{subject.connection_info['url']}/api/v10"
    async with aiohttp.ClientSession(headers=headers) as client:
        async with client.get(f"{api}/applications/@me") as response:
            application_id = (await response.json())["id"]
        body = {
            "name": "greet",
            "description": "says hello",
            "options": [{"type": CommandOptionType.STRING, "name": "name", "description": "x"}],
        }
        url = f"{api}/applications/{application_id}/guilds/{subject.connection_info['guild']}/commands"
        async with client.post(url, json=body) as response:
            return application_id, await response.json()


def interaction_body(application_id: str, channel_id: str, guild_id: str, command: dict[str, Any]) -> dict[str, Any]:
    """Return the body of the request with which the user runs the command."""
    options = [{"type": CommandOptionType.STRING, "name": "name", "value": "world"}]
    interaction_data = {
        "id": command["id"],
        "name": "greet",
        "type": CommandType.CHAT_INPUT,
        "version": command["version"],
        "options": options,
    }
    return {
        "type": InteractionType.APPLICATION_COMMAND,
        "application_id": application_id,
        "guild_id": guild_id,
        "channel_id": channel_id,
        "nonce": "1",
        "data": interaction_data,
    }


def callback_request(interaction_id: str, token: str) -> bytes:
    """Return the bytes of the request with which the app responds to an interaction."""
    path = f"/api/v10/interactions/{interaction_id}/{token}/callback"
    return encode_request(
        "POST",
        path,
        "",
        {"type": InteractionCallbackType.CHANNEL_MESSAGE_WITH_SOURCE, "data": {"content": "hello there"}},
    )
