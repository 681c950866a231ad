"""Pages in Chromium in calls: tones to and from a native client, and video between two pages."""

import asyncio
import os
from array import array
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hubbub.protocol import changes
from hubbub.sdk.audio import CHANNELS, SAMPLE_RATE, SAMPLES_PER_CHANNEL
from hubbub.sdk.media.opus import Decoder, Encoder
from hubbub.server.core.config import Config, VoiceConfig
from tests.chromium import CHROMIUM
from tests.sdk.audio import Tone, tone_share
from tests.server.voice.caller import Caller
from tests.server.voice.conftest import ENDPOINT, MakeCaller
from tests.web.polling import wait_until
from tests.world import Guild, World, small_config

AUDIO_SCRIPT = Path(__file__).with_name("call_page.js").read_text()
VIDEO_SCRIPT = Path(__file__).with_name("video_page.js").read_text()
FRAME_COUNT = 50
"""Number of frames that `receive_tone` receives; it returns the samples of the last ten."""


@pytest.fixture
def world_config() -> Config:
    """A configuration with one store, because stores make no difference to media."""
    return small_config(voice=VoiceConfig(endpoint=ENDPOINT))


async def send_tone(caller: Caller, hertz: float) -> None:
    """Send a tone until the task is canceled."""
    encoder, tone = Encoder(), Tone(hertz)
    while True:
        samples = array("h", bytes(SAMPLES_PER_CHANNEL * CHANNELS * 2))
        tone(samples, SAMPLES_PER_CHANNEL, SAMPLE_RATE, CHANNELS)
        for frame in encoder.encode(samples):
            caller.send_frame(frame)
        await asyncio.sleep(0.02)


async def receive_tone(caller: Caller, ssrc: int) -> "array[int]":
    """Receive `FRAME_COUNT` frames of a sender, and return the samples of the last ten."""
    decoder, decoded = Decoder(), array("h")
    for _ in range(FRAME_COUNT):
        received_ssrc, frame = await caller.receive_media()
        assert received_ssrc == ssrc
        decoded.frombytes(decoder.decode(frame))
    return decoded[-10 * SAMPLES_PER_CHANNEL * CHANNELS :]


@pytest.fixture
async def chromium() -> AsyncIterator[Any]:
    """Chromium with audio that plays without a user gesture."""
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed: make browser")
    playwright = pytest.importorskip("playwright.async_api", reason="playwright is not installed")
    options = ["--disable-dev-shm-usage", "--autoplay-policy=no-user-gesture-required"]
    if os.geteuid() == 0:
        options.append("--no-sandbox")
    async with playwright.async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=CHROMIUM, args=options, timeout=120_000)
        yield browser
        await browser.close()


async def open_page(chromium: Any, world: World) -> Any:
    """Open a response of the platform's origin that has no content security policy."""
    page = await chromium.new_page()
    await page.goto(f"{world.url}/healthz")
    return page


async def join_from_page(world: World, guild: Guild, caller: Caller) -> dict[str, Any]:
    """Join a channel and return the arguments with which a page connects."""
    await caller.join(guild.channels["Lounge"])
    return {
        "url": f"{world.url}/voice?v=8".replace("http", "ws", 1),
        "identify": caller.identify_payload(max_dave_protocol_version=0),
    }


async def test_a_page_and_a_native_client_receive_each_others_tones(
    world: World, guild: Guild, make_caller: MakeCaller, chromium: Any
) -> None:
    # The page has no end-to-end encryption, which was optional until this change.
    world.clock.set(changes.E2EE_VOICE_ONLY.at_ms - 1)
    native, page_user = await make_caller(), await make_caller()
    await native.join_and_connect(guild.channels["Lounge"], max_dave_protocol_version=0)
    arguments = await join_from_page(world, guild, page_user)
    page = await open_page(chromium, world)
    sending_task = asyncio.create_task(send_tone(native, 1000))
    evaluation = asyncio.create_task(page.evaluate(AUDIO_SCRIPT, arguments))
    assert world.app.voice is not None
    try:
        async with asyncio.timeout(60):
            while (session := world.app.voice.calls._sessions.get((guild.id, page_user.actor.id))) is None:
                assert not evaluation.done(), evaluation.result()
                await asyncio.sleep(0.01)
            samples = await receive_tone(native, session.peer.ssrc)
            result = await evaluation
    finally:
        sending_task.cancel()
        evaluation.cancel()
        await asyncio.gather(sending_task, evaluation, return_exceptions=True)
    assert tone_share(samples, 440) > 0.8
    assert abs(result["hertz"] - 1000) < 30
    # Older releases of Chromium leave out the prefix.
    assert result["profile"].removeprefix("SRTP_") == "AEAD_AES_128_GCM"
    assert result["lost"] == 0


async def test_a_page_shows_the_video_of_another_page(
    world: World, guild: Guild, make_caller: MakeCaller, chromium: Any
) -> None:
    world.clock.set(changes.E2EE_VOICE_ONLY.at_ms - 1)
    (sender, sender_arguments), (viewer, viewer_arguments) = [
        (await open_page(chromium, world), await join_from_page(world, guild, await make_caller())) for _ in range(2)
    ]
    await sender.evaluate(VIDEO_SCRIPT, sender_arguments | {"sends": True})
    await wait_until(sender, "async () => (await streamStatistics())?.framesEncoded > 10")
    # The viewer joins after the first key frame, so it has to request another one.
    await viewer.evaluate(VIDEO_SCRIPT, viewer_arguments | {"sends": False})
    await wait_until(viewer, "async () => (await streamStatistics())?.framesDecoded > 10")
    statistics = await sender.evaluate("streamStatistics()")
    assert statistics["pliCount"] > 0
