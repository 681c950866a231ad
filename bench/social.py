"""What players hear of each other, against a guild's message: a lobby's message, and a friend who does something else.

All sessions are compressed as the SDK's are. What is asked of the platform to cause a delivery is part of its cost, on both sides.
"""

import asyncio
import json
import statistics
import tempfile
from collections.abc import Awaitable, Callable
from typing import Any

from bench.load import GatewayConnection, Subject, drive, masked, quiet, request

STREAM = "&compress=zlib-stream"
GUILD = 1 << 0 | 1 << 9 | 1 << 15
PLAYING = (1 << 32) - 1
"""A game is told what its scopes allow, whatever it asks for."""
MEMBERS = 50
ROUNDS = 3
PAUSE_S = 0.02
"""As between two messages, so that buffers drain as they do in life."""
PATIENCE_S = 20.0


async def social_bench(wanted: set[str], note: Callable[..., None], quick: bool) -> None:
    """Both on one platform, in turns with the guild's message, so that a slow moment of the machine hits both."""
    friends, messages = (300, 20) if quick else (1000, 50)
    with tempfile.TemporaryDirectory() as folder:
        with Subject("hubbub", folder) as subject:
            about = subject.about
        with Subject("hubbub-players", folder, about["user_id"], str(friends)) as subject:
            subject.about = about | subject.about
            if "lobby" in wanted:
                await _lobby(subject, note, messages * 4)
            if "presence" in wanted:
                await _presence(subject, note, messages)


async def _lobby(subject: Subject, note: Callable[..., None], messages: int) -> None:
    """A message to a full lobby."""
    players = subject.about["players"][:MEMBERS]
    url = subject.about["url"]
    joining = [request("PUT", "/api/v10/lobbies", f"Bearer {token}", {"secret": "bench"}) for token in players]
    await drive(url, joining, 1)
    inside = await _connect(subject, players, PLAYING)
    saying = request(
        "POST",
        f"/api/v10/lobbies/{await _lobby_id(url, players[0])}/messages",
        f"Bearer {players[0]}",
        {"content": "a message that says hello"},
    )

    async def say(count: int) -> None:
        await drive(url, [saying] * count, 1, PAUSE_S)

    await _compare(subject, note, "lobby message to 50 members", inside, say, messages)


async def _presence(subject: Subject, note: Callable[..., None], changes: int) -> None:
    """Somebody whom many have as a friend plays something else."""
    friends = await _connect(subject, subject.about["players"], PLAYING)
    [star] = await _connect(subject, [subject.about["star"]], PLAYING)
    number = 0

    async def change(count: int) -> None:
        nonlocal number
        for _ in range(count):
            number += 1
            activity = {"name": "Bench", "type": 0, "state": f"In match {number}", "details": "Winning, for now"}
            said = {"status": "online", "activities": [activity], "since": None, "afk": False}
            before = friends[-1].received
            star.transport.write(masked(json.dumps({"op": 3, "d": said}).encode()))
            async with asyncio.timeout(PATIENCE_S):
                while friends[-1].received == before:
                    await asyncio.sleep(0.001)
            await asyncio.sleep(PAUSE_S)

    await _compare(subject, note, f"presence seen by {len(friends):,} friends", friends, change, changes)
    star.transport.close()


async def _compare(
    subject: Subject,
    note: Callable[..., None],
    name: str,
    sessions: list[GatewayConnection],
    cause: Callable[[int], Awaitable[None]],
    count: int,
) -> None:
    """The same number of deliveries by a guild's message to as many sessions, and by what is measured."""
    chat = await _connect(subject, [subject.about["bot_token"]] * len(sessions), GUILD)
    path = f"/api/v10/channels/{subject.about['channel']}/messages"
    posting = request("POST", path, subject.about["user_token"], {"content": "a message that says hello"})

    async def post(times: int) -> None:
        await drive(subject.about["url"], [posting] * times, 1, PAUSE_S)

    async def cost(heard: list[GatewayConnection], act: Callable[[int], Awaitable[None]]) -> tuple[float, float]:
        start = await quiet(heard)
        before = subject.cpu()
        await act(count)
        # Each delivery is some tens of bytes at the least: nobody may have been passed over.
        arrived = await quiet(heard, least=start + count * len(heard) * 30) - start
        return (subject.cpu() - before) / count / len(heard) * 1e6, arrived / count / len(heard)

    for act in (post, cause):
        await act(3)
    guild, measured = [], []
    for _ in range(ROUNDS):
        guild.append((await cost(chat, post))[0])
        spent, size = await cost(sessions, cause)
        measured.append(spent)
    for connection in (*chat, *sessions):
        connection.transport.close()
    floor, each = statistics.median(guild), statistics.median(measured)
    detail = f"{each:.2f} us ({size:.0f} B) against {floor:.2f} us"
    note(f"{name} / guild message, CPU of a delivery", each / floor, 1.5, "x", detail)


async def _connect(subject: Subject, tokens: list[str], intents: int) -> list[GatewayConnection]:
    host, _, port = subject.about["url"].removeprefix("http://").partition(":")
    loop = asyncio.get_running_loop()
    opened = []
    for number, token in enumerate(tokens):
        _, protocol = await loop.create_connection(
            lambda token=token: GatewayConnection(token, STREAM, intents), host, int(port)
        )
        opened.append(protocol)
        if number % 50 == 49:
            await asyncio.sleep(0.02)
    await quiet(opened, least=len(tokens) * 300)
    return opened


async def _lobby_id(url: str, token: str) -> Any:
    """The lobby that everybody is in."""
    import aiohttp

    async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {token}"}) as client:
        async with client.put(f"{url}/api/v10/lobbies", json={"secret": "bench"}) as answer:
            return (await answer.json())["id"]
