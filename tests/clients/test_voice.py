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

from hubbub.protocol.enums import ChannelType
from hubbub.protocol.permissions import Permissions
from tests.clients.client_setup import TIMEOUT_SECONDS, ClientSetup
from tests.clients.discord_js_bot import JS_FOLDER, NODE, run_js_bot
from tests.world import Actor

FRAME_COUNT = 20
VERIFICATION_CODE_DIGITS = 30

pytestmark = pytest.mark.timeout(300)


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

    async def wait_same_code(self, channel: int, previous_code: str = "") -> str:
        """Wait until both bots have the same verification code, other than `previous_code`, and return it."""
        user_ids = [bot.id for bot in self.bots]
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while True:
                first, second = [
                    await self.run_step(index, "wait_encrypted", channel=channel, user_ids=user_ids)
                    for index in range(2)
                ]
                if first == second != previous_code:
                    code: str = first
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


async def test_two_discord_py_bots_receive_each_others_audio_also_after_a_move(setup: ClientSetup) -> None:
    second = await setup.world.bot(setup.guild, name="echo", permissions=Permissions.ADMINISTRATOR)
    den = await setup.guild.channel("Den", type=ChannelType.GUILD_VOICE)
    lounge = setup.guild.channels["General"]
    user_ids, code = [setup.bot.id, second.id], ""
    async with run_voice_bots(setup, setup.bot, second) as voice_bots:
        for index in range(2):
            await voice_bots.run_step(index, "join", channel=lounge)
        for channel in (lounge, den):
            if channel == den:
                for index, user_id in enumerate(user_ids):
                    path = f"/guilds/{setup.guild.id}/members/{user_id}"
                    (await setup.alice.patch(path, json={"channel_id": str(den)})).ok()
                    # The bots are moved one after the other, because the library's reader fails if its socket closes
                    # while it handles the departure of the other bot.
                    await voice_bots.run_step(index, "wait_moved")
            code = await voice_bots.wait_same_code(channel, code)
            assert len(code) == VERIFICATION_CODE_DIGITS
            for sender, receiver in ((0, 1), (1, 0)):
                assert (
                    await voice_bots.run_step(sender, "send_frames", count=FRAME_COUNT)
                    == "aead_xchacha20_poly1305_rtpsize"
                )
                received = await voice_bots.run_step(
                    receiver, "receive_frames", user=user_ids[sender], count=FRAME_COUNT
                )
                assert sort_frames(received) == sent_frames(voice_bots.bots[sender])
        for index in range(2):
            await voice_bots.run_step(index, "leave")
    assert (await setup.alice.get(f"/guilds/{setup.guild.id}/voice-states/{second.id}")).status == 404


@pytest.mark.skipif(
    NODE is None or not (JS_FOLDER / "node_modules" / "@discordjs" / "voice").is_dir(),
    reason="@discordjs/voice is not installed: make client-deps",
)
async def test_discord_py_and_discord_js_receive_each_others_audio(setup: ClientSetup) -> None:
    second = await setup.world.bot(setup.guild, name="echo", permissions=Permissions.ADMINISTRATOR)
    lounge = setup.guild.channels["General"]
    environment = {"NODE_EXTRA_CA_CERTS": authority_path(setup)}
    async with run_voice_bots(setup, setup.bot) as voice_bots, run_js_bot(setup, second.token, environment) as js_bot:
        await js_bot.wait_event("clientReady")
        await voice_bots.run_step(0, "join", channel=lounge)
        await js_bot.run_step("joinCall", guild=str(setup.guild.id), channel=str(lounge))
        code = await voice_bots.run_step(0, "wait_encrypted", channel=lounge, user_ids=[setup.bot.id, second.id])
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while await js_bot.run_step("verificationCode") != code:
                await asyncio.sleep(0.05)
        await js_bot.run_step("recordFrames", user=str(setup.bot.id))
        await voice_bots.run_step(0, "send_frames", count=FRAME_COUNT)
        received = await js_bot.run_step("receiveFrames", user=str(setup.bot.id), count=FRAME_COUNT)
        assert sort_frames(received) == sent_frames(setup.bot)
        await js_bot.run_step("sendFrames", count=FRAME_COUNT)
        received = await voice_bots.run_step(0, "receive_frames", user=second.id, count=FRAME_COUNT)
        assert sort_frames(received) == sent_frames(second)
        await js_bot.run_step("leaveCall")
        await voice_bots.run_step(0, "leave")
