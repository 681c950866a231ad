"""Calls in the chat client: encrypted audio of pages and native clients, controls, stages, private calls, unsupported browsers."""

import asyncio
from array import array
from typing import Any

import davey
import pytest

from hubbub.protocol.enums import ChannelType
from hubbub.protocol.voice import VoiceOpcode
from hubbub.sdk.audio import CHANNELS, SAMPLE_RATE, SAMPLES_PER_CHANNEL
from hubbub.sdk.media.opus import Decoder, Encoder
from tests.sdk.audio import Tone, tone_share
from tests.server.voice.caller import Caller
from tests.server.voice.encrypted_caller import EncryptedCaller
from tests.server.voice.private_caller import open_direct_channel
from tests.web.calls import (
    call_button,
    inspect_call,
    join_call,
    open_call,
    open_options,
    tone_microphone_script,
    wait_call,
    wait_silence,
    wait_tone,
)
from tests.web.chat import ChatPlatform
from tests.world import befriend

pytestmark = [pytest.mark.xdist_group("calls"), pytest.mark.timeout(300)]

FRAME_COUNT = 50
"""Number of frames of a page that a native client examines."""


async def test_a_page_and_a_native_client_exchange_audio(call_platform: ChatPlatform) -> None:
    world = call_platform.world
    nora = await world.user("nora")
    guild = await world.guild(nora)
    lounge_id = await guild.channel("lounge", type=ChannelType.GUILD_VOICE)
    native = Caller(world, await (await world.bot(guild)).connect(), guild)
    bot = EncryptedCaller(native, lounge_id)
    await bot.join_and_connect()
    window_options: dict[str, Any] = {"init_script": tone_microphone_script(440)}
    async with call_platform.open_window(nora, f"/app/channels/{guild.id}/{lounge_id}", **window_options) as window:
        await join_call(window)
        call = await wait_call(window, native.actor.id)
        assert call["privacyCode"].replace(" ", "") == bot.dave_session.voice_privacy_code.replace(" ", "")
        sending_task = asyncio.create_task(send_tone(bot, 1000))
        try:
            await wait_tone(window, native.actor.id, 1000)
            samples = await receive_tone(bot, nora.id)
        finally:
            sending_task.cancel()
            await asyncio.gather(sending_task, return_exceptions=True)
        assert tone_share(samples, 440) > 0.8
        last_state = await inspect_call(window)
        assert last_state is not None
        assert last_state["frames"]["failed"] == 0
    await bot.stop()
    await native.close()


async def send_tone(bot: EncryptedCaller, hertz: float) -> None:
    """Send an encrypted tone until the task is canceled."""
    encoder, tone = Encoder(), Tone(hertz)
    await bot.caller.send_json(VoiceOpcode.SPEAKING, {"speaking": 1, "delay": 0, "ssrc": bot.caller.ready["ssrc"]})
    while True:
        samples = array("h", bytes(SAMPLES_PER_CHANNEL * CHANNELS * 2))
        tone(samples, SAMPLES_PER_CHANNEL, SAMPLE_RATE, CHANNELS)
        for frame in encoder.encode(samples):
            bot.caller.send_frame(bytes(bot.dave_session.encrypt_opus(frame)))
        await asyncio.sleep(0.02)


async def receive_tone(bot: EncryptedCaller, user_id: int) -> "array[int]":
    """Decrypt frames of a user and return the last samples; a frame that cannot be decrypted fails the test."""
    decoder, decoded = Decoder(), array("h")
    while not bot.caller.datagrams.received.empty():
        bot.caller.datagrams.received.get_nowait()
    for _ in range(FRAME_COUNT):
        _, frame = await bot.caller.receive_media()
        plain = bytes(bot.dave_session.decrypt(user_id, davey.MediaType.audio, frame))
        decoded.frombytes(decoder.decode(plain))
    return decoded[-10 * SAMPLES_PER_CHANNEL * CHANNELS :]


async def test_a_click_joins_a_voice_channel_and_the_bar_controls_the_call(call_platform: ChatPlatform) -> None:
    nora, tom = await call_platform.world.user("nora"), await call_platform.world.user("tom")
    guild = await call_platform.world.guild(nora, tom)
    lounge_id = await guild.channel("lounge", type=ChannelType.GUILD_VOICE)
    den_channel_id = await guild.channel("den", type=ChannelType.GUILD_VOICE)
    async with (
        call_platform.open_window(nora, f"/app/channels/{guild.id}/{guild.general}") as nora_window,
        call_platform.open_window(
            tom, f"/app/channels/{guild.id}/{lounge_id}", init_script=tone_microphone_script(880)
        ) as tom_window,
    ):
        page = nora_window.page
        await page.get_by_role("link", name="lounge").click()
        bar = page.locator("hubbub-sidebar").get_by_role("group", name="Voice")
        await bar.get_by_text("Voice connected").wait_for()
        await join_call(tom_window)
        await wait_call(nora_window, tom.id)

        # The view shows participants, the speaking user, and users who are muted or deafened.
        call = page.get_by_role("region", name="Call")
        await call.locator(".tile.speaking").get_by_text("tom").wait_for()
        await tom_window.page.locator("hubbub-sidebar").get_by_role("button", name="Mute").click()
        await call.get_by_label("muted").wait_for()
        await bar.get_by_role("button", name="Deafen").click()
        await tom_window.page.get_by_role("region", name="Call").get_by_label("deafened").wait_for()

        # Both windows show the same privacy code.
        await call.get_by_role("button", name="End-to-end encrypted").click()
        code = await page.locator(".privacy-code").inner_text()
        await page.get_by_role("dialog").get_by_role("button", name="Close").click()
        await tom_window.page.get_by_role("button", name="End-to-end encrypted").click()
        assert await tom_window.page.locator(".privacy-code").inner_text() == code

        # A moderator moves and disconnects the member.
        member_path = f"/guilds/{guild.id}/members/{nora.id}"
        (await nora.patch(member_path, json={"channel_id": str(den_channel_id)})).ok()
        await page.get_by_text("You were moved to den.").wait_for()
        await bar.get_by_text("den", exact=False).wait_for()
        (await nora.patch(member_path, json={"channel_id": None})).ok()
        await page.get_by_text("You were disconnected from den.").wait_for()
        await bar.wait_for(state="detached")


async def test_a_listener_on_a_stage_asks_to_speak(call_platform: ChatPlatform) -> None:
    async with open_call(call_platform, "nora", "tom", channel_type=ChannelType.GUILD_STAGE_VOICE) as call:
        nora, tom = call.windows
        await tom.page.get_by_text("You are in the audience. Others cannot hear you.").wait_for()
        assert await call_button(tom, "Turn on camera").count() == 0
        assert await tom.page.get_by_role("button", name="Mute", exact=True).count() == 0
        await nora.page.get_by_text("Audience · 1").wait_for()
        await call_button(tom, "Request to speak").click()
        await nora.page.get_by_label("wants to speak").wait_for()
        await call_button(tom, "Cancel request to speak").click()
        await nora.page.get_by_label("wants to speak").wait_for(state="detached")
        await call_button(tom, "Request to speak").click()
        await nora.page.get_by_label("wants to speak").wait_for()
        await (await open_options(nora, "tom")).get_by_role("button", name="Allow to speak").click()
        await wait_tone(nora, tom.user.id, call.hertz(tom))
        await call_button(tom, "Move to audience").click()
        await wait_silence(nora, tom.user.id)


async def test_a_friend_misses_declines_and_accepts_calls(call_platform: ChatPlatform) -> None:
    nora, tom = await call_platform.world.user("nora"), await call_platform.world.user("tom")
    await befriend(nora, tom)
    channel_id = await open_direct_channel(nora, tom)
    async with (
        call_platform.open_window(
            nora, f"/app/channels/@me/{channel_id}", init_script=tone_microphone_script(440)
        ) as nora_window,
        call_platform.open_window(tom, "/app", init_script=tone_microphone_script(880)) as tom_window,
    ):
        ring_dialog = tom_window.page.get_by_role("dialog", name="Incoming call")
        # A call that ends before the answer is missed.
        await nora_window.page.get_by_role("button", name="Start call").click()
        await ring_dialog.wait_for()
        await call_button(nora_window, "Leave voice").click()
        await tom_window.page.get_by_text("You missed a call from nora.").wait_for()
        await ring_dialog.wait_for(state="detached")

        # A declined call stops ringing.
        await nora_window.page.get_by_role("button", name="Start call").click()
        await nora_window.page.get_by_text("Calling tom…").wait_for()
        await ring_dialog.get_by_role("button", name="Decline").click()
        await ring_dialog.wait_for(state="detached")
        await nora_window.page.get_by_text("Calling tom…").wait_for(state="hidden")
        assert await inspect_call(tom_window) is None
        await call_button(nora_window, "Leave voice").click()

        await nora_window.page.get_by_role("button", name="Start call").click()
        await ring_dialog.get_by_role("button", name="Accept").click()
        await wait_call(nora_window, tom.id)
        await wait_call(tom_window, nora.id)
        await wait_tone(tom_window, nora.id, 440)


async def test_a_browser_without_a_needed_feature_shows_a_notice(platform: ChatPlatform) -> None:
    nora = await platform.world.user("nora")
    guild = await platform.world.guild(nora)
    lounge_id = await guild.channel("lounge", type=ChannelType.GUILD_VOICE)
    script = "delete window.RTCRtpScriptTransform"
    async with platform.open_window(nora, f"/app/channels/{guild.id}/{lounge_id}", init_script=script) as window:
        await window.page.get_by_text("This browser cannot encrypt calls end to end.").wait_for()
        assert await window.page.get_by_role("button", name="Join", exact=True).is_disabled()
