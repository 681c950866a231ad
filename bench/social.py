"""The cost of deliveries to players (a lobby message, a friend's presence), against a guild's message.

All sessions are compressed like those of the SDK. The cost of the request that causes a delivery is included on both
sides.
"""

import asyncio
import json
import statistics
import tempfile
from collections.abc import Awaitable, Callable
from typing import Any

from bench.load import GatewayConnection, Subject, encode_request, masked_frame, send_requests, wait_until_idle
from hubbub.protocol.enums import GatewayOpcode
from hubbub.protocol.intents import Intents

COMPRESSION_QUERY = "&compress=zlib-stream"
GUILD_INTENTS = Intents.GUILDS | Intents.GUILD_MESSAGES | Intents.MESSAGE_CONTENT
ALL_INTENTS = (1 << 32) - 1
"""All bits; the server ignores intents that the scopes of a player's token do not grant."""
LOBBY_MEMBER_COUNT = 50
ROUND_COUNT = 3
PAUSE_SECONDS = 0.02
"""Pause between two messages, so that buffers drain as they do in production."""
TIMEOUT_SECONDS = 20.0


async def run_social_benchmark(benchmarks: set[str], record_figure: Callable[..., None], is_quick: bool) -> None:
    """Measure lobby messages and presences, alternating with guild messages, so that a slowdown of the machine affects both."""
    friend_count, message_count = (300, 20) if is_quick else (1000, 50)
    with tempfile.TemporaryDirectory() as folder:
        with Subject("hubbub", folder) as subject:
            connection_info = subject.connection_info
        with Subject("hubbub-players", folder, connection_info["user_id"], str(friend_count)) as subject:
            subject.connection_info = connection_info | subject.connection_info
            if "lobby" in benchmarks:
                await _measure_lobby(subject, record_figure, message_count * 4)
            if "presence" in benchmarks:
                await _measure_presence(subject, record_figure, message_count)


async def _measure_lobby(subject: Subject, record_figure: Callable[..., None], message_count: int) -> None:
    """Measure a message to a lobby with `LOBBY_MEMBER_COUNT` members."""
    tokens = subject.connection_info["player_tokens"][:LOBBY_MEMBER_COUNT]
    url = subject.connection_info["url"]
    join_requests = [
        encode_request("PUT", "/api/v10/lobbies", f"Bearer {token}", {"secret": "bench"}) for token in tokens
    ]
    await send_requests(url, join_requests, 1)
    sessions = await _connect(subject, tokens, ALL_INTENTS)
    message_request = encode_request(
        "POST",
        f"/api/v10/lobbies/{await join_lobby(url, tokens[0], 'bench')}/messages",
        f"Bearer {tokens[0]}",
        {"content": "a message that says hello"},
    )

    async def send(count: int) -> None:
        await send_requests(url, [message_request] * count, 1, PAUSE_SECONDS)

    await _compare(
        subject, record_figure, f"lobby message to {LOBBY_MEMBER_COUNT} members", sessions, send, message_count
    )


async def _measure_presence(subject: Subject, record_figure: Callable[..., None], change_count: int) -> None:
    """Measure the presence update of a user with many friends."""
    friends = await _connect(subject, subject.connection_info["player_tokens"], ALL_INTENTS)
    [player] = await _connect(subject, [subject.connection_info["shared_friend_token"]], ALL_INTENTS)
    number = 0

    async def update_presence(count: int) -> None:
        nonlocal number
        for _ in range(count):
            number += 1
            activity = {"name": "Bench", "type": 0, "state": f"In match {number}", "details": "Winning, for now"}
            presence = {"status": "online", "activities": [activity], "since": None, "afk": False}
            bytes_before = friends[-1].received_bytes
            player.transport.write(
                masked_frame(json.dumps({"op": GatewayOpcode.PRESENCE_UPDATE, "d": presence}).encode())
            )
            async with asyncio.timeout(TIMEOUT_SECONDS):
                while friends[-1].received_bytes == bytes_before:
                    await asyncio.sleep(0.001)
            await asyncio.sleep(PAUSE_SECONDS)

    await _compare(
        subject, record_figure, f"presence seen by {len(friends):,} friends", friends, update_presence, change_count
    )
    player.transport.close()


async def _compare(
    subject: Subject,
    record_figure: Callable[..., None],
    name: str,
    sessions: list[GatewayConnection],
    trigger: Callable[[int], Awaitable[None]],
    count: int,
) -> None:
    """Compare the cost of deliveries that `trigger(count)` makes to `sessions` with that of guild messages to as many sessions."""
    guild_sessions = await _connect(subject, [subject.connection_info["bot_token"]] * len(sessions), GUILD_INTENTS)
    path = f"/api/v10/channels/{subject.connection_info['channel']}/messages"
    message_request = encode_request(
        "POST", path, subject.connection_info["user_token"], {"content": "a message that says hello"}
    )

    async def post_messages(count: int) -> None:
        await send_requests(subject.connection_info["url"], [message_request] * count, 1, PAUSE_SECONDS)

    async def measure_cost(
        receivers: list[GatewayConnection], cause_deliveries: Callable[[int], Awaitable[None]]
    ) -> tuple[float, float]:
        bytes_before = await wait_until_idle(receivers)
        cpu_before = subject.cpu_seconds()
        await cause_deliveries(count)
        # Each delivery has at least some tens of bytes, so this detects a session that received nothing.
        received_bytes = (
            await wait_until_idle(receivers, bytes_min=bytes_before + count * len(receivers) * 30) - bytes_before
        )
        return (subject.cpu_seconds() - cpu_before) / count / len(receivers) * 1e6, received_bytes / count / len(
            receivers
        )

    for cause_deliveries in (post_messages, trigger):
        await cause_deliveries(3)
    guild_costs, delivery_costs = [], []
    for _ in range(ROUND_COUNT):
        guild_cost, _ = await measure_cost(guild_sessions, post_messages)
        guild_costs.append(guild_cost)
        round_cost, delivery_bytes = await measure_cost(sessions, trigger)
        delivery_costs.append(round_cost)
    for connection in (*guild_sessions, *sessions):
        connection.transport.close()
    baseline, delivery_cost = statistics.median(guild_costs), statistics.median(delivery_costs)
    detail = f"{delivery_cost:.2f} us ({delivery_bytes:.0f} B) against {baseline:.2f} us"
    record_figure(f"{name} / guild message, CPU of a delivery", delivery_cost / baseline, 1.5, "x", detail)


async def _connect(subject: Subject, tokens: list[str], intents: int) -> list[GatewayConnection]:
    host, _, port = subject.connection_info["url"].removeprefix("http://").partition(":")
    loop = asyncio.get_running_loop()
    connections = []
    for number, token in enumerate(tokens):
        _, protocol = await loop.create_connection(
            lambda token=token: GatewayConnection(token, COMPRESSION_QUERY, intents), host, int(port)
        )
        connections.append(protocol)
        if number % 50 == 49:
            await asyncio.sleep(0.02)
    await wait_until_idle(connections, bytes_min=len(tokens) * 300)
    return connections


async def join_lobby(url: str, token: str, secret: str) -> Any:
    """Create or join the lobby with this secret as a player and return its ID."""
    import aiohttp

    async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {token}"}) as client:
        async with client.put(f"{url}/api/v10/lobbies", json={"secret": secret}) as response:
            return (await response.json())["id"]
