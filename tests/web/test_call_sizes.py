"""Calls of two, six and twelve members, pages and native clients mixed: everyone hears everyone while members come and go."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from hubbub.protocol.enums import ChannelType
from tests.web.calls import OpenCall, inspect_call, join_call, open_call, wait_silence, wait_tone
from tests.web.chat import ChatPlatform

pytestmark = [pytest.mark.xdist_group("calls"), pytest.mark.timeout(600)]


@asynccontextmanager
async def open_mixed_call(platform: ChatPlatform, native_count: int) -> AsyncIterator[OpenCall]:
    """Open a call of the pages of nora and tom, and native clients that join after nora and before tom."""
    async with open_call(platform, "nora", later=["tom"]) as call:
        for _ in range(native_count):
            await call.add_native()
        await call.join("tom")
        yield call


def members_of(call: OpenCall) -> dict[int, int]:
    """Return the frequencies of the members' tones in hertz, by user ID."""
    windows = {window.user.id: call.hertz(window) for window in call.windows}
    return windows | {native.id: native.hertz for native in call.natives}


async def assert_everyone_hears_everyone(call: OpenCall) -> None:
    """Assert that each member receives the tone of each other member, without a frame that it cannot decrypt."""
    before = await undecryptable_counts(call)
    tones = members_of(call)
    for native in call.natives:
        await asyncio.gather(*(native.wait_tone(id, hertz) for id, hertz in tones.items() if id != native.id))
    for window in call.windows:
        for user_id, hertz in tones.items():
            if user_id != window.user.id:
                await wait_tone(window, user_id, hertz)
    assert await undecryptable_counts(call) == before


async def undecryptable_counts(call: OpenCall) -> dict[int, int]:
    """Return the number of frames that each member could not decrypt since it joined, by user ID."""
    counts = {native.id: native.undecryptable_count for native in call.natives}
    for window in call.windows:
        state = await inspect_call(window)
        assert state is not None
        counts[window.user.id] = state["frames"]["failed"]
    return counts


@pytest.mark.parametrize("native_count", [0, 4, 10])
async def test_each_member_hears_each_other_member(call_platform: ChatPlatform, native_count: int) -> None:
    async with open_mixed_call(call_platform, native_count) as call:
        assert len(call.member_ids) == native_count + 2
        await assert_everyone_hears_everyone(call)


async def test_a_call_of_twelve_continues_while_members_come_and_go(call_platform: ChatPlatform) -> None:
    async with open_mixed_call(call_platform, 10) as call:
        nora, tom = call.windows
        codes = [call.natives[0].code]

        # A native client leaves and joins again.
        left_native = call.natives.pop(0)
        await left_native.leave()
        await call.wait_connected()
        codes.append(call.natives[0].code)
        joined_caller = await call.connect_native(left_native.caller, left_native.hertz)
        codes.append(joined_caller.code)
        await wait_tone(nora, joined_caller.id, joined_caller.hertz)

        # A page leaves and joins again.
        await call.leave(tom)
        codes.append(joined_caller.code)
        await join_call(tom)
        call.windows.append(tom)
        await call.wait_connected()
        codes.append(joined_caller.code)
        # Every change of members starts an epoch with another code.
        assert len(set(codes)) == len(codes)
        await assert_everyone_hears_everyone(call)


async def test_a_moderator_acts_on_members_of_a_call_of_twelve(call_platform: ChatPlatform) -> None:
    async with open_mixed_call(call_platform, 10) as call:
        nora, tom = call.windows
        first_native, second_native = call.natives[:2]
        den_id = await call.guild.channel("den", type=ChannelType.GUILD_VOICE)
        await assert_everyone_hears_everyone(call)

        await moderate(call, tom.user.id, mute=True)
        await tom.page.get_by_text("A moderator muted you in this guild.").wait_for()
        await first_native.wait_silence(tom.user.id, second_native.id)
        await moderate(call, second_native.id, mute=True)
        await wait_silence(nora, second_native.id)
        await moderate(call, tom.user.id, mute=False)
        await moderate(call, second_native.id, mute=False)
        await first_native.wait_tone(tom.user.id, call.hertz(tom))
        await wait_tone(nora, second_native.id, second_native.hertz)

        # A page follows to another channel and back.
        await moderate(call, tom.user.id, channel_id=str(den_id))
        await tom.page.get_by_text("You were moved to den.").wait_for()
        call.windows.remove(tom)
        await call.wait_connected()
        await moderate(call, tom.user.id, channel_id=str(call.channel_id))
        await tom.page.get_by_text("You were moved to lounge.").wait_for()
        call.windows.append(tom)
        await call.wait_connected()

        # Removed members join again.
        await moderate(call, second_native.id, channel_id=None)
        call.natives.remove(second_native)
        await second_native.wait_removed()
        await moderate(call, tom.user.id, channel_id=None)
        await tom.page.get_by_text("You were disconnected from lounge.").wait_for()
        call.windows.remove(tom)
        await call.wait_connected()
        await call.connect_native(second_native.caller, second_native.hertz)
        await join_call(tom)
        call.windows.append(tom)
        await call.wait_connected()
        await assert_everyone_hears_everyone(call)


async def moderate(call: OpenCall, user_id: int, **fields: object) -> None:
    """Change the voice state of a member as the owner of the guild."""
    (await call.guild.owner.patch(f"/guilds/{call.guild.id}/members/{user_id}", json=fields)).ok()
