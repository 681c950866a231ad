"""Calls in group direct messages with three people in the chat client: ring, accept, decline, join later, and missed calls."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from tests.web.calls import call_button, inspect_call, join_call, tone_microphone_script, wait_call, wait_tone
from tests.web.chat import ChatPlatform, ChatWindow
from tests.world import befriend

expect = pytest.importorskip("playwright.async_api").expect
pytestmark = [pytest.mark.xdist_group("calls"), pytest.mark.timeout(300)]

HERTZ = {"nora": 440, "tom": 660, "sam": 880}


@dataclass
class GroupWindows:
    """The chat client windows of three friends; nora's window shows their group direct message."""

    nora: ChatWindow
    tom: ChatWindow
    sam: ChatWindow
    path: str
    """The path of the group in the chat client."""


@asynccontextmanager
async def open_group(platform: ChatPlatform) -> AsyncIterator[GroupWindows]:
    """Create a group of nora, tom and sam, and open the chat client of each."""
    nora, tom, sam = [await platform.world.user(name) for name in HERTZ]
    await befriend(nora, tom)
    await befriend(nora, sam)
    recipients = {"recipients": [str(tom.id), str(sam.id)]}
    channel = (await nora.post("/users/@me/channels", json=recipients)).ok()
    path = f"/app/channels/@me/{channel['id']}"
    async with AsyncExitStack() as stack:
        windows = [
            await stack.enter_async_context(
                platform.open_window(
                    user, path if user is nora else "/app", init_script=tone_microphone_script(HERTZ[user.name])
                )
            )
            for user in (nora, tom, sam)
        ]
        yield GroupWindows(*windows, path)


def incoming_call(window: ChatWindow) -> Any:
    """Return the locator of the dialog of an incoming call."""
    return window.page.get_by_role("dialog", name="Incoming call")


async def assert_hear_each_other(*windows: ChatWindow) -> None:
    """Assert that exactly these windows are in one encrypted call, and that each decrypts and plays the tones of all others."""
    for window in windows:
        other_users = [other.user for other in windows if other is not window]
        await wait_call(window, *(user.id for user in other_users))
        before = await inspect_call(window)
        for user in other_users:
            await wait_tone(window, user.id, HERTZ[user.name])
        after = await inspect_call(window)
        assert before is not None
        assert after is not None
        assert after["frames"]["failed"] == before["frames"]["failed"]


async def test_members_of_a_group_accept_decline_and_join_later(call_platform: ChatPlatform) -> None:
    async with open_group(call_platform) as group:
        nora, tom, sam = group.nora, group.tom, group.sam
        await nora.page.get_by_role("button", name="Start call").click()
        await incoming_call(sam).wait_for()
        await incoming_call(tom).get_by_role("button", name="Accept").click()
        await nora.page.get_by_text("Calling sam…").wait_for()
        await assert_hear_each_other(nora, tom)

        await incoming_call(sam).get_by_role("button", name="Decline").click()
        await expect(incoming_call(sam)).to_have_count(0)
        await nora.page.get_by_text("Calling sam…").wait_for(state="hidden")
        assert await inspect_call(sam) is None

        # A member who declined can join the running call.
        await sam.open(group.path)
        await expect(sam.page.locator(".tile")).to_have_count(2)
        await join_call(sam)
        await assert_hear_each_other(nora, tom, sam)

        # The call continues when the person who started it leaves.
        await call_button(nora, "Leave voice").click()
        await assert_hear_each_other(tom, sam)
        assert await inspect_call(nora) is None


async def test_members_who_do_not_answer_miss_the_call_of_a_group(call_platform: ChatPlatform) -> None:
    async with open_group(call_platform) as group:
        nora, tom, sam = group.nora, group.tom, group.sam
        await nora.page.get_by_role("button", name="Start call").click()
        await incoming_call(sam).wait_for()
        await incoming_call(tom).get_by_role("button", name="Accept").click()
        await assert_hear_each_other(nora, tom)

        # The call rings until the last member leaves it.
        await call_button(nora, "Leave voice").click()
        await expect(tom.page.locator(".tile")).to_have_count(1)
        await expect(incoming_call(sam)).to_have_count(1)
        await call_button(tom, "Leave voice").click()
        await sam.page.get_by_text("You missed a call from").wait_for()
        await expect(incoming_call(sam)).to_have_count(0)
        # A member who answered did not miss the call.
        await expect(tom.page.get_by_text("You missed a call from")).to_have_count(0)
