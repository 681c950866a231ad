"""Calls in the chat client over a bad network: lost, delayed and reordered packets, little bandwidth, and interruptions."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio

from tests.time_bounds import time_bound
from tests.web.calls import TIMEOUT_SECONDS, OpenCall, call_button, inspect_call, open_call, wait_tone, wait_video
from tests.web.chat import ChatWindow
from tests.web.lossy_network import LossyNetwork
from tests.web.shared_calls import SharedCall, run_call_platform
from tests.web.test_chat_modules import modules_url

pytestmark = [pytest.mark.xdist_group("calls"), pytest.mark.timeout(600)]


@dataclass
class NetworkCall:
    """A call of nora and tom in which the packets of tom pass through a proxy."""

    call: OpenCall
    network: LossyNetwork


@asynccontextmanager
async def open_network_call(browser: Any) -> AsyncIterator[NetworkCall]:
    """Run a platform, and open the call."""
    async with run_call_platform(browser) as platform:
        network = await LossyNetwork.open(platform.world.app.voice.sockets.udp_port)
        try:
            async with open_call(platform, "nora", later=["tom"]) as call:
                await call.join("tom", network.init_script)
                yield NetworkCall(call, network)
        finally:
            await network.close()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def shared_network_call(headless_browser: Any) -> AsyncIterator[SharedCall[NetworkCall]]:
    """The call that the tests of this module share."""
    shared_call = SharedCall(lambda: open_network_call(headless_browser))
    yield shared_call
    await shared_call.close()


@pytest_asyncio.fixture(loop_scope="session")
async def network_call(
    shared_network_call: SharedCall[NetworkCall], request: pytest.FixtureRequest
) -> AsyncIterator[NetworkCall]:
    """A call of nora and tom; the test turns cameras off."""
    async with shared_network_call.use(request.session) as network_call:
        yield network_call
        network_call.network.clear_faults()


async def turn_off_camera(sender: ChatWindow, receiver: ChatWindow) -> None:
    """Turn off the camera of a window, and wait until the other window shows no video."""
    await call_button(sender, "Turn off camera").click()
    await receiver.page.get_by_label(f"Camera of {sender.user.name}").wait_for(state="detached")


async def test_audio_and_video_continue_with_ten_percent_of_packets_lost(network_call: NetworkCall) -> None:
    call, network = network_call.call, network_call.network
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
    network.loss = 0.0
    await turn_off_camera(nora, tom)


async def test_a_call_continues_after_an_interruption_that_the_client_reports(network_call: NetworkCall) -> None:
    call, network = network_call.call, network_call.network
    nora, tom = call.windows
    await wait_tone(tom, nora.user.id, call.hertz(nora))
    network.loss = 1.0
    await tom.page.get_by_text("The connection was lost. Reconnecting…").wait_for()
    network.loss = 0.0
    await call.wait_connected()
    await wait_tone(tom, nora.user.id, call.hertz(nora))
    await wait_tone(nora, tom.user.id, call.hertz(tom))


@pytest.mark.chaos
async def test_audio_continues_while_packets_are_delayed_and_reordered(network_call: NetworkCall) -> None:
    call, network = network_call.call, network_call.network
    nora, tom = call.windows
    failed_count_before = await count_failed_frames(nora, tom)
    network.jitter_seconds = 0.05
    await wait_tone(nora, tom.user.id, call.hertz(tom))
    await wait_tone(tom, nora.user.id, call.hertz(nora))
    overtaken_before = network.overtaken_count
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while network.overtaken_count < overtaken_before + 100:
            await asyncio.sleep(0.1)
    for window, other in ((nora, tom), (tom, nora)):
        await wait_tone(window, other.user.id, call.hertz(other))
    assert await count_failed_frames(nora, tom) == failed_count_before
    network.jitter_seconds = 0.0


async def count_failed_frames(*windows: ChatWindow) -> int:
    """Return the number of frames that connected windows could not decrypt."""
    count = 0
    for window in windows:
        state = await inspect_call(window)
        assert state is not None
        assert state["state"] == "connected"
        count += state["frames"]["failed"]
    return count


READ_VIDEO_BITRATE = """async folder => {
  const { getCalls } = await import(`${folder}/voice/calls.js`);
  const { call } = getCalls(document.querySelector("hubbub-sidebar").context);
  const { report } = await call.statistics();
  return report.find(({ type, kind }) => type === "outbound-rtp" && kind === "video")?.targetBitrate ?? 0;
}"""
"""A JavaScript function that returns the bits per second that the encoder of the page's video aims at."""


async def wait_video_bitrate(window: ChatWindow, accepts: Any) -> None:
    """Wait until the bitrate of the window's video is accepted."""
    bitrate = 0.0
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while not accepts(bitrate):
                await asyncio.sleep(0.1)
                bitrate = await window.page.evaluate(READ_VIDEO_BITRATE, modules_url())
    except TimeoutError:
        raise AssertionError(f"{bitrate} bits per second") from None


FAST_BITRATE, SLOW_BITRATE = 800_000, 300_000
"""Bits per second above which a video has much bandwidth, and below which it adapted to a link of 250,000."""
RECOVERED_BITRATE = 350_000
"""Bits per second that a link of 250,000 does not carry. A machine without free CPU does not reach much more in a test."""


@pytest.mark.chaos
@pytest.mark.parametrize("sender_name", ["nora", "tom"])
async def test_video_adapts_to_a_slow_network_of_its_receiver_or_sender(
    network_call: NetworkCall, sender_name: str
) -> None:
    call, network = network_call.call, network_call.network
    sender, receiver = call.windows if sender_name == "nora" else reversed(call.windows)
    await call_button(sender, "Turn on camera").click()
    await wait_video(receiver, sender.user.id, f"Camera of {sender_name}")
    await wait_video_bitrate(sender, lambda bitrate: bitrate > FAST_BITRATE)
    # Only tom's network is slow.
    network.bits_per_second = 250_000
    await wait_video_bitrate(sender, lambda bitrate: 0 < bitrate < SLOW_BITRATE)
    await wait_tone(receiver, sender.user.id, call.hertz(sender))
    await wait_video(receiver, sender.user.id, f"Camera of {sender_name}")
    network.bits_per_second = None
    await wait_video_bitrate(sender, lambda bitrate: bitrate > RECOVERED_BITRATE)
    await turn_off_camera(sender, receiver)


@pytest.mark.chaos
async def test_audio_continues_in_a_network_that_is_too_slow_for_video(network_call: NetworkCall) -> None:
    call, network = network_call.call, network_call.network
    nora, tom = call.windows
    await call_button(nora, "Turn on camera").click()
    await wait_video(tom, nora.user.id, "Camera of nora")
    network.bits_per_second = 64_000
    voice = call.platform.world.app.voice
    assert voice is not None
    peer = voice.calls._sessions[call.guild.id, tom.user.id].peer
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while not peer.pause_timers:
            await asyncio.sleep(0.1)
    await wait_tone(tom, nora.user.id, call.hertz(nora))
    await wait_tone(nora, tom.user.id, call.hertz(tom))
    network.bits_per_second = None
    # The video continues after the pause.
    await wait_video(tom, nora.user.id, "Camera of nora")
    await turn_off_camera(nora, tom)


INTERRUPTION_SECONDS = 10
RECONNECT_SECONDS_MAX = 3.0


@pytest.mark.chaos
async def test_a_call_continues_within_seconds_after_a_long_interruption(network_call: NetworkCall) -> None:
    call, network = network_call.call, network_call.network
    nora, tom = call.windows
    await wait_tone(tom, nora.user.id, call.hertz(nora))
    network.loss = 1.0
    await tom.page.get_by_text("The connection was lost. Reconnecting…").wait_for()
    interrupted_at = time.monotonic()
    while time.monotonic() - interrupted_at < INTERRUPTION_SECONDS:
        await asyncio.sleep(0.1)
    network.loss = 0.0
    async with time_bound(RECONNECT_SECONDS_MAX):
        await call.wait_connected()
    await wait_tone(tom, nora.user.id, call.hertz(nora))
    await wait_tone(nora, tom.user.id, call.hertz(tom))


async def test_a_call_continues_within_seconds_after_the_address_of_a_page_changed(network_call: NetworkCall) -> None:
    call, network = network_call.call, network_call.network
    nora, tom = call.windows
    await wait_tone(tom, nora.user.id, call.hertz(nora))
    voice = call.platform.world.app.voice
    assert voice is not None
    peer = voice.calls._sessions[call.guild.id, tom.user.id].peer
    old_address = peer.address
    async with time_bound(RECONNECT_SECONDS_MAX):
        await network.change_address()
        while peer.address == old_address:
            await asyncio.sleep(0.01)
    # The page has answered the server's request at the new address.
    assert peer.browser is not None
    assert peer.address is not None
    assert peer.browser.has_proven(peer.address)
    await wait_tone(tom, nora.user.id, call.hertz(nora))
    await wait_tone(nora, tom.user.id, call.hertz(tom))
