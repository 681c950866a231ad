"""A call of Firefox and a native client in a network of its own, because Firefox gathers no candidate for loopback addresses.

`run_in_network` starts this module as a program in a new network namespace, which has one other interface.
"""

import asyncio
import os
import shlex
import subprocess
import sys
from array import array
from pathlib import Path

import pytest

from hubbub.protocol.enums import ChannelType
from hubbub.server.core.config import VoiceConfig
from tests.sdk.audio import tone_share
from tests.server.voice.caller import Caller
from tests.server.voice.encrypted_caller import EncryptedCaller
from tests.web.calls import INSPECT_CALL
from tests.web.conftest import run_platform
from tests.web.test_calls import receive_tone, send_tone
from tests.web.test_chat_modules import modules_url
from tests.web.test_firefox import FIREFOX, Firefox, by_role, start_firefox
from tests.world import World, small_config

ROOT = Path(__file__).parents[2]
ADDRESS = "198.51.100.7"
"""Address of the voice server and of Firefox."""
_COMMANDS = (
    "ip link set lo up",
    "ip link add call0 type veth peer name call1",
    f"ip address add {ADDRESS}/24 dev call0",
    "ip link set call0 up",
    "ip link set call1 up",
    "ip route add default via 198.51.100.1",
)
FIREFOX_HERTZ, NATIVE_HERTZ = 440, 1000
TIMEOUT_SECONDS = 240
PREFERENCES = {
    "media.navigator.streams.fake": True,
    "media.navigator.permission.disabled": True,
    "media.navigator.audio.fake_frequency": FIREFOX_HERTZ,
    "media.autoplay.default": 0,
}
_IS_ENCRYPTED = """async folder => {
  const { getCalls } = await import(`${folder}/voice/calls.js`);
  const { call } = getCalls(document.querySelector("hubbub-sidebar").context);
  return call?.state === "connected" && call.isEncrypted;
}"""
"""A JavaScript function that returns whether the call of the page is connected and encrypted."""
_RECORD = """async userId => {
  const element = document.querySelector(`.call-audio audio[data-user-id="${userId}"]`);
  if (!element?.srcObject?.active) return null;
  const recorder = new MediaRecorder(element.srcObject);
  const recorded = new Promise(resolve => recorder.addEventListener("dataavailable", ({ data }) => resolve(data)));
  recorder.start();
  await new Promise(resolve => setTimeout(resolve, 1500));
  recorder.stop();
  const audio = new OfflineAudioContext(1, 48_000, 48_000);
  const samples = (await audio.decodeAudioData(await (await recorded).arrayBuffer())).getChannelData(0);
  return [...samples.slice(-9_600)].map(sample => Math.round(sample * 32_767));
}"""
"""A JavaScript function that records the audio of a user and returns its last samples, 48,000 per second, or null without audio.

A recorder needs no audio device, unlike an AudioContext."""


def run_in_network() -> None:
    """Run the call in a network namespace; fail if it fails, and skip the test if namespaces are not permitted."""
    script = " && ".join((*_COMMANDS, "true"))
    if subprocess.run(["unshare", "-rn", "sh", "-c", script], capture_output=True, check=False).returncode:
        pytest.skip("requires Linux with network namespaces: unshare -rn fails")
    program = shlex.join([sys.executable, "-m", "tests.web.firefox_call"])
    completed = subprocess.run(
        ["unshare", "-rn", "sh", "-c", " && ".join((*_COMMANDS, f"exec {program}"))],
        cwd=ROOT,
        env=os.environ,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS + 60,
        check=False,
    )
    assert completed.returncode == 0, completed.stderr[-4000:]


async def exchange_audio(firefox: Firefox) -> None:
    """Join a call with Firefox and a native client, and check the tones that both receive."""
    config = small_config(voice=VoiceConfig(endpoint="voice.test:443", host="0.0.0.0", public_address=ADDRESS))
    async with run_platform(firefox.open_window, config) as platform:
        world = platform.world
        nora = await world.user("nora")
        guild = await world.guild(nora)
        lounge = await guild.channel("lounge", type=ChannelType.GUILD_VOICE)
        native = Caller(world, await (await world.bot(guild)).connect(), guild)
        bot = EncryptedCaller(native, lounge)
        await bot.join_and_connect()
        async with firefox.open_window(world.url, nora) as window:
            await window.open(f"/app/channels/{guild.id}/{lounge}")
            await window.click(by_role("button", "Join"))
            while not await window.evaluate(f"({_IS_ENCRYPTED})('{modules_url()}')"):
                await asyncio.sleep(0.5)
            sender_task = asyncio.create_task(send_tone(bot, NATIVE_HERTZ))
            samples = array("h")
            while tone_share(samples, NATIVE_HERTZ) < 0.8:
                recorded_tone = await window.evaluate(f"({_RECORD})('{native.actor.id}')")
                # `tone_share` reads samples of two channels.
                samples = array("h", [sample for value in recorded_tone or () for sample in (value, value)])
            received_tone = await receive_tone(bot, nora.id)
            assert tone_share(received_tone, FIREFOX_HERTZ) > 0.8
            state = await window.evaluate(f"({INSPECT_CALL})('{modules_url()}')")
            assert state["privacyCode"].replace(" ", "") == bot.dave_session.voice_privacy_code.replace(" ", "")
            assert state["frames"]["decrypted"] > 0
            assert state["frames"]["failed"] == 0
            await prove_address_again(platform.world, guild.id, nora.id)
            received_tone = await receive_tone(bot, nora.id)
            assert tone_share(received_tone, FIREFOX_HERTZ) > 0.8
            sender_task.cancel()
            await asyncio.gather(sender_task, return_exceptions=True)
        await bot.stop()
        await native.close()


async def prove_address_again(world: World, guild_id: int, user_id: int) -> None:
    """Forget the address of Firefox, as after its consent expired, and wait until it has answered a request of the server."""
    assert world.app.voice is not None
    peer = world.app.voice.calls._sessions[guild_id, user_id].peer
    browser = peer.browser
    assert browser is not None
    browser._browsers.remove_addresses(browser)
    browser._select_address(None)
    while peer.address is None:
        await asyncio.sleep(0.05)
    assert browser.has_proven(peer.address)


async def _main() -> None:
    assert FIREFOX is not None
    firefox = await start_firefox(PREFERENCES)
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            await exchange_audio(firefox)
    finally:
        await firefox.close()


if __name__ == "__main__":
    asyncio.run(_main())
