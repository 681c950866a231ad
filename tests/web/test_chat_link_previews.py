"""Previews of links in the chat client, in a real browser."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from hubbub.protocol.permissions import Permissions
from hubbub.server.core.config_sections import LinkPreviewsConfig
from tests.media import png
from tests.web.chat import ChatPlatform, general_path
from tests.web.conftest import PHONE_WIDTH, OpenPage, run_platform
from tests.web.settings import accessibility_problems
from tests.web.test_chat_account_settings import open_user_settings
from tests.website import Website, build_page, meta
from tests.world import small_config


@pytest_asyncio.fixture(loop_scope="session")
async def preview_platform(open_page: OpenPage) -> AsyncIterator[ChatPlatform]:
    """A platform with link previews, which may fetch pages of this machine."""
    config = small_config(allow_private_targets=True, link_previews=LinkPreviewsConfig(enabled=True))
    async with run_platform(open_page, config) as platform:
        yield platform


@pytest_asyncio.fixture(loop_scope="session")
async def website() -> AsyncIterator[Website]:
    """A website on loopback with an article, the image of the article, and a page that has only a title."""
    async with Website() as site:
        site.add_page("/chart.png", png(640, 360, (20, 90, 140, 255)), "image/png")
        site.add_page(
            "/article",
            build_page(
                meta("og:title", "Tides of the bay"),
                meta("og:description", "When the water **rises** and falls."),
                meta("og:site_name", "Harbor"),
                meta("og:type", "article"),
                meta("og:image", "/chart.png"),
                '<meta name="theme-color" content="#116688">',
            ),
        )
        site.add_page("/secret", build_page("<title>The ending</title>"))
        yield site


async def test_two_users_see_previews_of_links_and_hide_them(preview_platform: ChatPlatform, website: Website) -> None:
    expect = pytest.importorskip("playwright.async_api").expect
    platform = preview_platform
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    await guild.allow_permissions(tom, Permissions.MANAGE_MESSAGES)
    async with (
        platform.open_window(nora, general_path(guild)) as nora_window,
        platform.open_window(tom, general_path(guild), width=PHONE_WIDTH, scheme="dark") as tom_window,
    ):
        external_requests: list[str] = []
        for window in (nora_window, tom_window):
            window.page.on(
                "request", lambda request: request.url.startswith(website.url) and external_requests.append(request.url)
            )
        await nora_window.send(f"Read {website.url}/article")
        for window in (nora_window, tom_window):
            embed = window.message("Read").locator(".link-preview")
            await expect(embed.get_by_role("link", name="Tides of the bay")).to_have_attribute(
                "href", f"{website.url}/article"
            )
            # Texts of other websites are not Markdown.
            await expect(embed).to_contain_text("When the water **rises** and falls.")
            await expect(embed).to_contain_text("Harbor")
            await window.wait_until(
                "[...document.querySelectorAll('.embed-picture')].some(image => image.naturalWidth)"
            )
            assert await window.message("Read").locator(".edited").count() == 0
            assert await accessibility_problems(window) == []

        await nora_window.send(f"Picture {website.url}/chart.png")
        await expect(tom_window.message("Picture").locator(".picture-preview img")).to_be_visible()
        await nora_window.send(f"Spoiler ||{website.url}/secret||")
        spoiler = tom_window.message("Spoiler").locator(".component-spoiler")
        await spoiler.get_by_role("button", name="Spoiler").click()
        await expect(spoiler.get_by_role("link", name="The ending")).to_be_visible()
        assert external_requests == []

        # The author and a moderator remove the embeds.
        for window, text in ((nora_window, "Picture"), (tom_window, "Read")):
            await window.message(text).locator(".embed").first.wait_for()
            await window.message(text).focus()
            await window.message(text).hover()
            await window.message(text).get_by_role("button", name="More").click()
            await window.page.get_by_role("menuitem", name="Remove all embeds").click()
            await expect(nora_window.message(text).locator(".embed")).to_have_count(0)
            await expect(tom_window.message(text).locator(".embed")).to_have_count(0)

        # A user hides all previews.
        await expect(nora_window.message("Spoiler").locator(".link-preview")).to_be_visible()
        dialog = await open_user_settings(nora_window, "Appearance")
        await dialog.get_by_role("combobox", name="Link previews").select_option(label="Hide previews of links")
        await expect(nora_window.page.locator("html[data-previews=hidden]")).to_have_count(1)
        await nora_window.page.reload()
        await nora_window.wait_message("Spoiler")
        await expect(nora_window.message("Spoiler").locator(".link-preview")).to_be_hidden()
