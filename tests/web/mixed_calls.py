"""Checks of calls of pages and native clients: everyone hears everyone, members come and go, and a moderator acts on them."""

import asyncio

from hubbub.protocol.enums import ChannelType
from tests.web.calls import OpenCall, inspect_call, wait_silence, wait_tone


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


async def check_changing_members(call: OpenCall) -> None:
    """Check that a call of two pages and several native clients continues while a client and a page leave and join again."""
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
    await call.rejoin(tom)
    codes.append(joined_caller.code)
    # Every change of members starts an epoch with another code.
    assert len(set(codes)) == len(codes)
    await assert_everyone_hears_everyone(call)


async def check_moderation(call: OpenCall) -> None:
    """Check that the owner of the guild mutes, moves and disconnects members of a call of two pages and several native clients."""
    nora, tom = call.windows
    first_native, second_native = call.natives[:2]
    den_id = await call.guild.channel("den", type=ChannelType.GUILD_VOICE)
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
    await call.rejoin(tom)
    await assert_everyone_hears_everyone(call)


async def moderate(call: OpenCall, user_id: int, **fields: object) -> None:
    """Change the voice state of a member as the owner of the guild."""
    (await call.guild.owner.patch(f"/guilds/{call.guild.id}/members/{user_id}", json=fields)).ok()
