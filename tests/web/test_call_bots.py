"""Pages in calls with unmodified bots of discord.py and @discordjs/voice: each receives the tones of the others."""

import base64
from array import array
from contextlib import AsyncExitStack

import pytest

from hubbub.protocol.permissions import Permissions
from hubbub.sdk.media.opus import Decoder
from tests.clients.client_setup import AbortableProxy, ClientSetup
from tests.clients.discord_js_bot import JS_FOLDER, NODE, run_js_bot
from tests.clients.voice_calls import authority_path, run_voice_bots
from tests.sdk.audio import WINDOW_SAMPLES, tone_share
from tests.web.calls import inspect_call, open_call, wait_call, wait_tone
from tests.web.chat import ChatPlatform
from tests.web.native_members import encode_tone

pytestmark = [pytest.mark.xdist_group("calls"), pytest.mark.timeout(300)]

PYTHON_HERTZ, JAVASCRIPT_HERTZ = 1000, 1400
FRAME_COUNT = 50
"""Number of frames of a page that a bot receives."""


def tone_frames(hertz: int) -> list[str]:
    """Return Opus frames of a tone, each of 20 ms, encoded with base64."""
    return [base64.b64encode(frame).decode() for frame in encode_tone(hertz, 0.02)]


def decode_frames(frames: list[str]) -> "array[int]":
    """Return the last samples of Opus frames that are encoded with base64."""
    decoder, samples = Decoder(), array("h")
    for frame in frames:
        samples.frombytes(decoder.decode(base64.b64decode(frame)))
    return samples[-WINDOW_SAMPLES:]


@pytest.mark.skipif(
    NODE is None or not (JS_FOLDER / "node_modules" / "@discordjs" / "voice").is_dir(),
    reason="@discordjs/voice is not installed: make client-deps",
)
async def test_a_page_and_bots_of_two_libraries_hear_each_other(certified_call_platform: ChatPlatform) -> None:
    world = certified_call_platform.world
    async with open_call(certified_call_platform, "nora") as call, AsyncExitStack() as stack:
        (window,) = call.windows
        nora, hertz = window.user, call.hertz(window)
        python_actor, js_actor = [
            await world.bot(call.guild, name=name, permissions=Permissions.ADMINISTRATOR) for name in ("crier", "echo")
        ]
        setup = ClientSetup(world, AbortableProxy(), nora, nora, call.guild, python_actor)
        python_bots = await stack.enter_async_context(run_voice_bots(setup, python_actor))
        environment = {"NODE_EXTRA_CA_CERTS": authority_path(setup)}
        js_bot = await stack.enter_async_context(run_js_bot(setup, js_actor.token, environment))
        await js_bot.wait_event("clientReady")
        await python_bots.run_step(0, "join", channel_id=call.channel_id)
        await wait_call(window, python_actor.id)
        await js_bot.run_step("joinCall", guild=str(call.guild.id), channel=str(call.channel_id))
        state = await wait_call(window, python_actor.id, js_actor.id)
        member_ids = [nora.id, python_actor.id, js_actor.id]
        code = await python_bots.run_step(0, "wait_encrypted", channel_id=call.channel_id, user_ids=member_ids)
        assert state["privacyCode"].replace(" ", "") == code.replace(" ", "")

        await python_bots.run_step(0, "play", frames=tone_frames(PYTHON_HERTZ))
        await js_bot.run_step("playFrames", frames=tone_frames(JAVASCRIPT_HERTZ))
        await wait_tone(window, python_actor.id, PYTHON_HERTZ)
        await wait_tone(window, js_actor.id, JAVASCRIPT_HERTZ)

        assert world.app.voice is not None
        ssrc = world.app.voice.calls._sessions[call.guild.id, nora.id].peer.ssrc
        received_frames = await python_bots.run_step(0, "receive_audio", user_id=nora.id, ssrc=ssrc, count=FRAME_COUNT)
        assert tone_share(decode_frames(received_frames), hertz) > 0.8
        await js_bot.run_step("recordFrames", user=str(nora.id), encoding="base64")
        received_frames = await js_bot.run_step("receiveFrames", user=str(nora.id), count=FRAME_COUNT)
        assert tone_share(decode_frames(received_frames), hertz) > 0.8

        last = await inspect_call(window)
        assert last is not None
        assert last["frames"]["failed"] == state["frames"]["failed"]
        await js_bot.run_step("leaveCall")
        await python_bots.run_step(0, "leave")
