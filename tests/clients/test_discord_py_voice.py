"""discord.py's voice client, unmodified: two bots in an end-to-end encrypted call through our voice server hear each other."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.clients.town import ADMINISTRATOR, PATIENCE, Town
from tests.world import Actor

FRAMES = 20


class Callers:
    """The process with both bots."""

    def __init__(self, process: asyncio.subprocess.Process, bots: list[Actor]) -> None:
        self._process = process
        self.bots = bots

    async def do(self, what: str, **more: Any) -> Any:
        """One step."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"do": what, **more}).encode() + b"\n")
        async with asyncio.timeout(2 * PATIENCE):
            line = await self._process.stdout.readline()
        assert line, f"the bots ended before they could {what}"
        return json.loads(line)

    async def hear_each_other(self, channel: int) -> None:
        """Everything that one says reaches the other, in order and as it was said."""
        talked = await self.do("talk", channel=channel)
        for index, heard in enumerate(talked["heard"]):
            other = self.bots[1 - index].application_id
            assert sorted(heard, key=lambda frame: int(frame.split()[-1])) == [
                f"{other} says {number}" for number in range(FRAMES)
            ]
        assert talked["mode"] == ["aead_xchacha20_poly1305_rtpsize"] * 2
        # What people compare to know that nobody sits between them.
        first, second = talked["codes"]
        assert len(first) == 30
        assert first == second


@asynccontextmanager
async def calling(town: Town, bots: list[Actor]) -> AsyncIterator[Callers]:
    """Both bots, started as an operator of bots would, who trusts the authority of the voice server."""
    authority = town.world.app.config.voice.authority
    assert authority is not None
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(Path(__file__).parent / "calling.py"),
        town.world.api,
        town.world.gateway,
        ",".join(bot.token for bot in bots),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env=os.environ | {"SSL_CERT_FILE": authority},
    )
    try:
        yield Callers(process, bots)
    finally:
        if process.returncode is None:
            assert process.stdin is not None
            process.stdin.close()
            try:
                async with asyncio.timeout(PATIENCE):
                    await process.wait()
            except TimeoutError:
                process.kill()
                await process.wait()


@pytest.mark.timeout(300)
async def test_two_bots_hear_each_other_end_to_end_encrypted_and_after_a_move(town: Town) -> None:
    second = await town.world.bot(town.guild, name="echo", permissions=ADMINISTRATOR)
    den = await town.guild.channel("Den", type=2)
    lounge = town.guild.channels["General"]
    async with calling(town, [town.bot, second]) as callers:
        await callers.do("join", channel=lounge)
        await callers.hear_each_other(lounge)
        for bot in callers.bots:
            path = f"/guilds/{town.guild.id}/members/{bot.id}"
            (await town.alice.patch(path, json={"channel_id": str(den)})).ok()
        await callers.hear_each_other(den)
        await callers.do("leave")
    states = (await town.alice.get(f"/guilds/{town.guild.id}/voice-states/{second.id}")).status
    assert states == 404
