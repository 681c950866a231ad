"""discord.py bots in calls, which play and receive frames of audio (`voice_bots.py`)."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.clients.client_setup import TIMEOUT_SECONDS, ClientSetup
from tests.world import Actor

FRAME_COUNT = 20


class VoiceBots:
    """A process with discord.py bots (`voice_bots.py`)."""

    def __init__(self, process: asyncio.subprocess.Process, bots: list[Actor]) -> None:
        self._process = process
        self.bots = bots

    async def run_step(self, bot_index: int, step: str, **args: Any) -> Any:
        """Run the method `do_<step>` of voice_bots.py on the bot with this index and return its result."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"bot_index": bot_index, "step": step, "args": args}).encode() + b"\n")
        async with asyncio.timeout(2 * TIMEOUT_SECONDS):
            line = await self._process.stdout.readline()
        assert line, f"the process ended before the step {step} completed"
        return json.loads(line)

    async def wait_same_code(self, channel_id: int, previous_code: str = "") -> str:
        """Wait until both bots have the same verification code, other than `previous_code`, and return it."""
        user_ids = [bot.id for bot in self.bots]
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while True:
                first_bot, second_bot = [
                    await self.run_step(index, "wait_encrypted", channel_id=channel_id, user_ids=user_ids)
                    for index in range(2)
                ]
                if first_bot == second_bot != previous_code:
                    code: str = first_bot
                    return code
                await asyncio.sleep(0.05)


@asynccontextmanager
async def run_voice_bots(setup: ClientSetup, *bots: Actor) -> AsyncIterator[VoiceBots]:
    """Start the bots in a process that trusts the voice server's certificate authority."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(Path(__file__).parent / "voice_bots.py"),
        setup.world.api,
        setup.world.gateway,
        ",".join(bot.token for bot in bots),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env=os.environ | {"SSL_CERT_FILE": authority_path(setup)},
    )
    try:
        yield VoiceBots(process, list(bots))
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


def authority_path(setup: ClientSetup) -> str:
    """Return the path of the CA certificate that clients must trust."""
    path = setup.world.app.config.voice.ca_file
    assert path is not None
    return path


def sent_frames(bot: Actor) -> list[str]:
    """Return all frames that a bot sends."""
    return [f"{bot.id} frame {number}" for number in range(FRAME_COUNT)]


def sort_frames(frames: list[str]) -> list[str]:
    """Return the frames in the order in which they were sent, which UDP does not preserve."""
    return sorted(frames, key=lambda frame: int(frame.split()[-1]))
