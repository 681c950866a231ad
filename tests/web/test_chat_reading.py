"""The chat client in a real browser: the position in a channel, threads, edits, reactions, forwarding, images and moderation."""

import pytest

from tests.web.chat import ChatPlatform, general_path

pytestmark = [pytest.mark.xdist_group("chromium"), pytest.mark.timeout(300)]


@pytest.mark.parametrize("width", [1440, 390])
async def test_a_channel_that_was_open_before_shows_its_end_and_follows_it(platform: ChatPlatform, width: int) -> None:
    expect = pytest.importorskip("playwright.async_api").expect
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    other = await guild.channel("other")
    for number in range(40):
        await guild.send_message(tom, f"number {number:02}")
    await guild.send_message(tom, "elsewhere", channel=other)
    async with platform.open_window(nora, general_path(guild), width=width) as window:
        page = window.page
        await expect(window.message("number 39")).to_be_in_viewport()
        for _ in range(2):
            await page.evaluate("path => history.pushState(null, '', path)", f"/app/channels/{guild.id}/{other}")
            await page.evaluate("() => dispatchEvent(new PopStateEvent('popstate'))")
            await expect(window.message("elsewhere")).to_be_in_viewport()
            await page.go_back()
            await expect(window.message("number 39")).to_be_in_viewport(ratio=1)
        await guild.send_message(tom, "a new message")
        await expect(window.message("a new message")).to_be_in_viewport(ratio=1)
        await expect(page.get_by_role("button", name="Newest messages")).to_be_hidden()
