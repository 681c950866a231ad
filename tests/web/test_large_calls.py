"""Calls of five pages, and of ten and twelve members, pages and native clients mixed."""

import pytest

from tests.web.calls import inspect_call, open_call, wait_call, wait_tone
from tests.web.chat import ChatPlatform
from tests.web.mixed_calls import assert_everyone_hears_everyone, check_changing_members, check_moderation

pytestmark = [pytest.mark.chaos, pytest.mark.xdist_group("calls"), pytest.mark.timeout(900)]


async def test_ten_and_twelve_members_hear_each_other_while_others_come_and_go(call_platform: ChatPlatform) -> None:
    async with open_call(call_platform, "nora", later=["tom"]) as call:
        # The second page joins a group of native clients.
        while len(call.natives) < 8:
            await call.add_native()
        await call.join("tom")
        await assert_everyone_hears_everyone(call)
        while len(call.member_ids) < 12:
            await call.add_native()
        await assert_everyone_hears_everyone(call)
        await check_changing_members(call)
        await check_moderation(call)


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
