"""Unmodified voice clients in end-to-end encrypted calls through the voice server: each receives the other's frames."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.clients import test_discord_js as javascript
from tests.clients.scene import ADMINISTRATOR, TIMEOUT_SECONDS, ClientScene
from tests.world import Actor

FRAMES = 20

pytestmark = pytest.mark.timeout(300)


class Callers:
    """A process with discord.py bots."""

    def __init__(self, process: asyncio.subprocess.Process, bots: list[Actor]) -> None:
        self._process = process
        self.bots = bots

    async def do(self, bot: int, step: str, **args: Any) -> Any:
        """Run a step of calling.py on one bot and return its result."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"bot": bot, "step": step, "args": args}).encode() + b"\n")
        async with asyncio.timeout(2 * TIMEOUT_SECONDS):
            line = await self._process.stdout.readline()
        assert line, f"the bots ended before they could {step}"
        return json.loads(line)

    async def agreed(self, channel: int, before: str = "") -> str:
        """Wait until both bots have the same verification code, different from the previous one, and return it."""
        people = [bot.id for bot in self.bots]
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while True:
                first, second = [await self.do(bot, "wait", channel=channel, people=people) for bot in range(2)]
                if first == second != before:
                    code: str = first
                    return code
                await asyncio.sleep(0.05)


@asynccontextmanager
async def calling(town: ClientScene, *bots: Actor) -> AsyncIterator[Callers]:
    """Start the bots in a process that trusts the voice server's certificate authority."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(Path(__file__).parent / "calling.py"),
        town.world.api,
        town.world.gateway,
        ",".join(bot.token for bot in bots),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env=os.environ | {"SSL_CERT_FILE": authority(town)},
    )
    try:
        yield Callers(process, list(bots))
    finally:
        if process.returncode is None:
            assert process.stdin is not None
            process.stdin.close()
            try:
                async with asyncio.timeout(TIMEOUT_SECONDS):
                    await process.wait()
            except TimeoutError:
                process.kill()
                await process.wait()


def authority(town: ClientScene) -> str:
    """Return the certificate authority that clients must trust."""
    path = town.world.app.config.voice.authority
    assert path is not None
    return path


def frames_of(bot: Actor) -> list[str]:
    """Return all frames that a bot sends."""
    return [f"{bot.id} says {number}" for number in range(FRAMES)]


def in_order(frames: list[str]) -> list[str]:
    """Sort frames, since UDP may reorder them."""
    return sorted(frames, key=lambda frame: int(frame.split()[-1]))


async def test_two_discord_py_bots_hear_each_other_also_after_a_move(town: ClientScene) -> None:
    second = await town.world.bot(town.guild, name="echo", permissions=ADMINISTRATOR)
    den = await town.guild.channel("Den", type=2)
    lounge = town.guild.channels["General"]
    people, code = [town.bot.id, second.id], ""
    async with calling(town, town.bot, second) as callers:
        for bot in range(2):
            await callers.do(bot, "join", channel=lounge)
        for channel in (lounge, den):
            if channel == den:
                for bot, user_id in enumerate(people):
                    path = f"/guilds/{town.guild.id}/members/{user_id}"
                    (await town.alice.patch(path, json={"channel_id": str(den)})).ok()
                    # One after the other: the library's reader fails when its socket closes while it handles the other
                    # bot's departure.
                    await callers.do(bot, "arrive")
            code = await callers.agreed(channel, code)
            assert len(code) == 30
            for speaker, listener in ((0, 1), (1, 0)):
                assert await callers.do(speaker, "say", count=FRAMES) == "aead_xchacha20_poly1305_rtpsize"
                received = await callers.do(listener, "heard", user=people[speaker], count=FRAMES)
                assert in_order(received) == frames_of(callers.bots[speaker])
        for bot in range(2):
            await callers.do(bot, "leave")
    assert (await town.alice.get(f"/guilds/{town.guild.id}/voice-states/{second.id}")).status == 404


@pytest.mark.skipif(
    javascript.NODE is None or not (javascript.JS / "node_modules" / "@discordjs" / "voice").is_dir(),
    reason="@discordjs/voice is not installed: make client-deps",
)
async def test_discord_py_and_discord_js_hear_each_other(town: ClientScene) -> None:
    second = await town.world.bot(town.guild, name="echo", permissions=ADMINISTRATOR)
    lounge = town.guild.channels["General"]
    environment = {"NODE_EXTRA_CA_CERTS": authority(town)}
    async with calling(town, town.bot) as callers, javascript.running(town, second.token, environment) as other:
        await other.received("clientReady")
        await callers.do(0, "join", channel=lounge)
        await other.do("enterCall", guild=str(town.guild.id), channel=str(lounge))
        code = await callers.do(0, "wait", channel=lounge, people=[town.bot.id, second.id])
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while await other.do("code") != code:
                await asyncio.sleep(0.05)
        await other.do("listen", user=str(town.bot.id))
        await callers.do(0, "say", count=FRAMES)
        received = await other.do("heard", user=str(town.bot.id), count=FRAMES)
        assert in_order(received) == frames_of(town.bot)
        await other.do("say", count=FRAMES)
        received = await callers.do(0, "heard", user=second.id, count=FRAMES)
        assert in_order(received) == frames_of(second)
        await other.do("leaveCall")
        await callers.do(0, "leave")
