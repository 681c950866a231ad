"""Participants of calls in the chat client: stages, moderators, announcements, ringing, lost connections, groups."""

import asyncio

import pytest

from hubbub.protocol.enums import ChannelType
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
from tests.web.test_chat_modules import modules_url
from tests.world import befriend

pytestmark = [pytest.mark.xdist_group("calls"), pytest.mark.timeout(600)]

KEEP_SOCKETS_SCRIPT = """
window.voiceSockets = [];
window.WebSocket = class extends WebSocket {
  constructor(url) {
    super(url);
    if (new URL(url).pathname === "/voice") window.voiceSockets.push(this);
  }
};
"""
"""A script that stores the sockets of the page to the voice server, so that a test can count and close them."""

READ_ICE_USER_NAME = """async folder => {
  const { getCalls } = await import(`${folder}/voice/calls.js`);
  const { call } = getCalls(document.querySelector("hubbub-sidebar").context);
  const { report } = await call.statistics();
  return report.find(({ type }) => type === "transport").iceLocalUsernameFragment;
}"""
"""A JavaScript function that returns the local ICE user name of the connection's candidates."""


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


async def test_a_moderator_mutes_moves_and_disconnects_with_the_options(call_platform: ChatPlatform) -> None:
    async with open_call(call_platform, "nora", "tom") as call:
        nora, tom = call.windows
        await call.guild.channel("den", type=ChannelType.GUILD_VOICE)
        await wait_tone(nora, tom.user.id, call.hertz(tom))
        await (await open_options(nora, "tom")).get_by_role("button", name="Mute for everyone").click()
        await tom.page.get_by_text("A moderator muted you in this guild.").wait_for()
        await nora.page.get_by_label("muted by a moderator").wait_for()
        await wait_silence(nora, tom.user.id)
        await (await open_options(nora, "tom")).get_by_role("button", name="Unmute for everyone").click()
        await wait_tone(nora, tom.user.id, call.hertz(tom))

        await (await open_options(nora, "tom")).get_by_role("button", name="Move to another channel").click()
        await nora.page.get_by_role("menuitem", name="den").click()
        await tom.page.get_by_text("You were moved to den.").wait_for()
        await nora.page.locator(".tile").filter(has_text="tom").wait_for(state="detached")
        await join_call(tom)
        await call.wait_connected()
        await wait_tone(nora, tom.user.id, call.hertz(tom))
        await (await open_options(nora, "tom")).get_by_role("button", name="Disconnect").click()
        await tom.page.get_by_text("You were disconnected from lounge.").wait_for()


async def test_joining_and_leaving_is_announced_to_screen_readers(call_platform: ChatPlatform) -> None:
    async with open_call(call_platform, "nora", "tom", later=["sam"]) as call:
        nora = call.windows[0]
        announcements = nora.page.locator("[role=log][aria-live=polite]")
        sam = await call.join("sam")
        await announcements.get_by_text("sam joined the call.").wait_for(state="attached")
        await call.leave(sam)
        await announcements.get_by_text("sam left the call.").wait_for(state="attached")


async def test_a_declined_call_stops_ringing(call_platform: ChatPlatform) -> None:
    nora, tom = await call_platform.world.user("nora"), await call_platform.world.user("tom")
    await befriend(nora, tom)
    channel_id = await open_direct_channel(nora, tom)
    async with (
        call_platform.open_window(
            nora, f"/app/channels/@me/{channel_id}", init_script=tone_microphone_script(440)
        ) as nora_window,
        call_platform.open_window(tom, "/app", init_script=tone_microphone_script(880)) as tom_window,
    ):
        await nora_window.page.get_by_role("button", name="Start call").click()
        ring_dialog = tom_window.page.get_by_role("dialog", name="Incoming call")
        await nora_window.page.get_by_text("Calling tom…").wait_for()
        await ring_dialog.get_by_role("button", name="Decline").click()
        await ring_dialog.wait_for(state="detached")
        await nora_window.page.get_by_text("Calling tom…").wait_for(state="hidden")
        assert await inspect_call(tom_window) is None


async def test_a_call_that_ends_before_the_answer_is_missed(call_platform: ChatPlatform) -> None:
    nora, tom = await call_platform.world.user("nora"), await call_platform.world.user("tom")
    await befriend(nora, tom)
    channel_id = await open_direct_channel(nora, tom)
    async with (
        call_platform.open_window(
            nora, f"/app/channels/@me/{channel_id}", init_script=tone_microphone_script(440)
        ) as nora_window,
        call_platform.open_window(tom, "/app", init_script=tone_microphone_script(880)) as tom_window,
    ):
        await nora_window.page.get_by_role("button", name="Start call").click()
        ring_dialog = tom_window.page.get_by_role("dialog", name="Incoming call")
        await ring_dialog.wait_for()
        await call_button(nora_window, "Leave voice").click()
        await tom_window.page.get_by_text("You missed a call from nora.").wait_for()
        await ring_dialog.wait_for(state="detached")


async def test_a_page_that_left_joins_again(call_platform: ChatPlatform) -> None:
    async with open_call(call_platform, "nora", "tom") as call:
        nora, tom = call.windows
        for _ in range(2):
            await call.leave(tom)
            await join_call(tom)
            call.windows.append(tom)
            await call.wait_connected()
            await wait_tone(nora, tom.user.id, call.hertz(tom))
            await wait_tone(tom, nora.user.id, call.hertz(nora))


LEAVE_AND_JOIN = """async folder => {
  const { getCalls } = await import(`${folder}/voice/calls.js`);
  const { context } = document.querySelector("hubbub-sidebar");
  const calls = getCalls(context);
  const channel = context.state.channels.get(calls.channelId);
  calls.leave();
  await calls.join(channel);
}"""
"""A JavaScript function that leaves the call and joins it again before the server has responded."""


async def test_a_page_that_joins_again_before_the_server_confirmed_that_it_left_stays(
    call_platform: ChatPlatform,
) -> None:
    async with open_call(call_platform, "nora", "tom") as call:
        nora, tom = call.windows
        await tom.page.evaluate(LEAVE_AND_JOIN, modules_url())
        await nora.wait_until("() => document.querySelectorAll('.tile').length === 2")
        await wait_call(tom, nora.user.id)
        await wait_call(nora, tom.user.id)
        await wait_tone(nora, tom.user.id, call.hertz(tom))


async def test_a_voice_session_resumes_after_its_socket_is_aborted(call_platform: ChatPlatform) -> None:
    async with open_call(call_platform, "nora", "tom", init_script=KEEP_SOCKETS_SCRIPT) as call:
        nora, tom = call.windows
        call_before = await inspect_call(nora)
        voice = call_platform.world.app.voice
        assert voice is not None
        connection = voice.calls._sessions[call.guild.id, nora.user.id].connection
        assert connection is not None
        # A lost connection has no close frame.
        connection.transport.abort()
        await nora.wait_until("() => window.voiceSockets.length === 2")
        await call.wait_connected()
        call_after = await inspect_call(nora)
        assert call_before is not None
        assert call_after is not None
        # A resumed session continues in its group.
        assert call_after["privacyCode"] == call_before["privacyCode"]
        await wait_tone(nora, tom.user.id, call.hertz(tom))
        await wait_tone(tom, nora.user.id, call.hertz(nora))


async def test_a_session_that_cannot_be_resumed_joins_again(call_platform: ChatPlatform) -> None:
    async with open_call(call_platform, "nora", "tom", init_script=KEEP_SOCKETS_SCRIPT) as call:
        nora, tom = call.windows
        await nora.page.evaluate("() => window.voiceSockets.at(-1).close(4001)")
        await nora.wait_until("() => window.voiceSockets.length === 2")
        await call.wait_connected()
        await wait_tone(nora, tom.user.id, call.hertz(tom))
        await wait_tone(tom, nora.user.id, call.hertz(nora))


async def test_another_network_restarts_ice(call_platform: ChatPlatform) -> None:
    async with open_call(call_platform, "nora", "tom") as call:
        nora, tom = call.windows
        user_name_before = await nora.page.evaluate(READ_ICE_USER_NAME, modules_url())
        await nora.page.evaluate("() => window.dispatchEvent(new Event('online'))")
        async with asyncio.timeout(30):
            while await nora.page.evaluate(READ_ICE_USER_NAME, modules_url()) == user_name_before:
                await asyncio.sleep(0.1)
        await call.wait_connected()
        await wait_tone(nora, tom.user.id, call.hertz(tom))
        await wait_tone(tom, nora.user.id, call.hertz(nora))


async def test_five_pages_share_a_group_while_people_join_and_leave(call_platform: ChatPlatform) -> None:
    async with open_call(call_platform, "nora", "tom", later=["sam", "kim", "lee"]) as call:
        nora, tom = call.windows
        # Every change of members starts an epoch with another code.
        codes = [(await wait_call(nora, tom.user.id))["privacyCode"]]
        for name in ("sam", "kim", "lee"):
            window = await call.join(name)
            await wait_tone(nora, window.user.id, call.hertz(window))
            await wait_tone(window, nora.user.id, call.hertz(nora))
            codes.append((await inspect_call(nora) or {})["privacyCode"])
        await wait_tone(call.windows[3], call.windows[4].user.id, call.hertz(call.windows[4]))
        for window in call.windows[:1:-1]:
            await call.leave(window)
            codes.append((await inspect_call(nora) or {})["privacyCode"])
        assert len(set(codes)) == len(codes)
        await wait_tone(nora, tom.user.id, call.hertz(tom))
        await wait_tone(tom, nora.user.id, call.hertz(nora))
