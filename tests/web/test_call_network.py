"""Calls in the chat client over a bad network: lost packets, and an interrupted media connection."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.web.calls import OpenCall, call_button, inspect_call, open_call, wait_tone, wait_video
from tests.web.chat import ChatPlatform
from tests.web.lossy_network import LossyNetwork

pytestmark = [pytest.mark.xdist_group("chromium"), pytest.mark.timeout(600)]


@asynccontextmanager
async def open_call_with_loss(platform: ChatPlatform) -> AsyncIterator[tuple[OpenCall, LossyNetwork]]:
    """Open a call of nora and tom in which the packets of tom pass through a proxy; yield the call and the proxy."""
    voice = platform.world.app.voice
    assert voice is not None
    network = await LossyNetwork.open(voice.sockets.udp_port)
    try:
        async with open_call(platform, "nora", later=["tom"]) as call:
            await call.join("tom", network.init_script)
            yield call, network
    finally:
        await network.close()


async def test_audio_and_video_continue_with_ten_percent_of_packets_lost(call_platform: ChatPlatform) -> None:
    async with open_call_with_loss(call_platform) as (call, network):
        nora, tom = call.windows
        network.loss = 0.1
        await wait_tone(nora, tom.user.id, call.hertz(tom))
        await wait_tone(tom, nora.user.id, call.hertz(nora))
        # Frames after a loss need a key frame, which the receiver requests.
        await call_button(nora, "Turn on camera").click()
        await wait_video(tom, nora.user.id, "Camera of nora")
        lost_before = network.dropped_count
        while network.dropped_count < lost_before + 100:
            await asyncio.sleep(0.1)
        await wait_video(tom, nora.user.id, "Camera of nora")
        await wait_tone(tom, nora.user.id, call.hertz(nora))
        assert (await inspect_call(tom) or {})["state"] == "connected"


async def test_a_call_continues_after_an_interruption_that_the_client_reports(call_platform: ChatPlatform) -> None:
    async with open_call_with_loss(call_platform) as (call, network):
        nora, tom = call.windows
        await wait_tone(tom, nora.user.id, call.hertz(nora))
        network.loss = 1.0
        await tom.page.get_by_text("The connection was lost. Reconnecting…").wait_for()
        network.loss = 0.0
        await call.wait_connected()
        await wait_tone(tom, nora.user.id, call.hertz(nora))
        await wait_tone(nora, tom.user.id, call.hertz(tom))
