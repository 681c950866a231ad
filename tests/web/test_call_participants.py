"""Participants of calls in the chat client: moderators, announcements, lost connections, and pages that join again."""

import asyncio

import pytest

from hubbub.protocol.enums import ChannelType
from tests.web.calls import OpenCall, inspect_call, open_options, wait_silence, wait_tone
from tests.web.test_chat_modules import modules_url

pytestmark = [pytest.mark.xdist_group("calls"), pytest.mark.timeout(600)]

READ_ICE_USER_NAME = """async folder => {
  const { getCalls } = await import(`${folder}/voice/calls.js`);
  const { call } = getCalls(document.querySelector("hubbub-sidebar").context);
  const { report } = await call.statistics();
  return report.find(({ type }) => type === "transport").iceLocalUsernameFragment;
}"""
"""A JavaScript function that returns the local ICE user name of the connection's candidates."""


async def test_a_moderator_mutes_moves_and_disconnects_with_the_options(call: OpenCall) -> None:
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
    call.windows.remove(tom)
    await call.rejoin(tom)
    await wait_tone(nora, tom.user.id, call.hertz(tom))
    await (await open_options(nora, "tom")).get_by_role("button", name="Disconnect").click()
    await tom.page.get_by_text("You were disconnected from lounge.").wait_for()
    call.windows.remove(tom)
    await call.rejoin(tom)


async def test_joining_and_leaving_is_announced_to_screen_readers(call: OpenCall) -> None:
    announcements = call.windows[0].page.locator("[role=log][aria-live=polite]")
    native = await call.add_native()
    await announcements.get_by_text(f"{native.caller.actor.name} joined the call.").wait_for(state="attached")
    call.natives.remove(native)
    await native.leave()
    await announcements.get_by_text(f"{native.caller.actor.name} left the call.").wait_for(state="attached")
    await call.wait_connected()


async def test_a_page_that_left_joins_again(call: OpenCall) -> None:
    nora, tom = call.windows
    await call.leave(tom)
    await call.rejoin(tom)
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


async def test_a_page_that_joins_again_before_the_server_confirmed_that_it_left_stays(call: OpenCall) -> None:
    nora, tom = call.windows
    await tom.page.evaluate(LEAVE_AND_JOIN, modules_url())
    await nora.wait_until("() => document.querySelectorAll('.tile').length === 2")
    await call.wait_connected()
    await wait_tone(nora, tom.user.id, call.hertz(tom))


async def test_a_voice_session_resumes_after_its_socket_is_aborted(call: OpenCall) -> None:
    nora, tom = call.windows
    call_before = await inspect_call(nora)
    voice = call.platform.world.app.voice
    assert voice is not None
    connection = voice.calls._sessions[call.guild.id, nora.user.id].connection
    assert connection is not None
    socket_count = await nora.page.evaluate("() => window.voiceSockets.length")
    # A lost connection has no close frame.
    connection.transport.abort()
    await nora.wait_until("count => window.voiceSockets.length === count", socket_count + 1)
    await call.wait_connected()
    call_after = await inspect_call(nora)
    assert call_before is not None
    assert call_after is not None
    # A resumed session continues in its group.
    assert call_after["privacyCode"] == call_before["privacyCode"]
    await wait_tone(nora, tom.user.id, call.hertz(tom))
    await wait_tone(tom, nora.user.id, call.hertz(nora))


async def test_a_session_that_cannot_be_resumed_joins_again(call: OpenCall) -> None:
    nora, tom = call.windows
    socket_count = await nora.page.evaluate("() => window.voiceSockets.length")
    await nora.page.evaluate("() => window.voiceSockets.at(-1).close(4001)")
    await nora.wait_until("count => window.voiceSockets.length === count", socket_count + 1)
    await call.wait_connected()
    await wait_tone(nora, tom.user.id, call.hertz(tom))
    await wait_tone(tom, nora.user.id, call.hertz(nora))


async def test_another_network_restarts_ice(call: OpenCall) -> None:
    nora, tom = call.windows
    user_name_before = await nora.page.evaluate(READ_ICE_USER_NAME, modules_url())
    await nora.page.evaluate("() => window.dispatchEvent(new Event('online'))")
    async with asyncio.timeout(30):
        while await nora.page.evaluate(READ_ICE_USER_NAME, modules_url()) == user_name_before:
            await asyncio.sleep(0.1)
    await call.wait_connected()
    await wait_tone(nora, tom.user.id, call.hertz(tom))
    await wait_tone(tom, nora.user.id, call.hertz(nora))
