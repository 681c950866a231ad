"""Languages of pages and chat client in a real browser. Pseudo-locales show texts without translation and wrong layouts."""

import re
from typing import Any

import pytest

from hubbub.server.core import pseudo_locales
from tests import accented_pages
from tests.web.chat import ChatPlatform, ChatWindow, general_path
from tests.web.conftest import DESKTOP_WIDTH, PHONE_WIDTH
from tests.web.settings import open_screen
from tests.world import Guild, befriend

ALLOWED_TEXTS = ("nora", "tom", "Guild", "@everyone", "Ahoy")
"""Names of the guild, its users and its role, and the message."""

LIST_TEXTS = r"""() => {
  const found = new Set();
  const isShown = element => !element.closest("script, style, time, code, kbd, noscript") && element.checkVisibility();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode())
    if (isShown(node.parentElement)) found.add(node.data);
  for (const name of ["aria-label", "placeholder", "title", "alt"])
    for (const element of document.querySelectorAll(`[${name}]`))
      if (isShown(element)) found.add(element.getAttribute(name));
  found.add(document.title);
  return [...found];
}"""
"""A JavaScript function that returns the visible texts and labels of a page, without code and dates."""

FIND_OVERFLOWS = r"""() => {
  const width = document.documentElement.clientWidth;
  return [...document.querySelectorAll("body *")].filter(element => {
    if (!element.checkVisibility({ visibilityProperty: true, opacityProperty: true })) return false;
    const box = element.getBoundingClientRect();
    // Texts for screen readers have the size of a pixel.
    return box.width > 1 && (box.left < -1 || box.right > width + 1) && !element.closest(".visually-hidden, [inert], .skip");
  }).map(element => element.outerHTML.slice(0, 120));
}"""
"""A JavaScript function that returns the visible elements that extend beyond the window."""


def accent_text(text: str) -> str:
    """Return a text as the pseudo-locale with accents shows it."""
    return pseudo_locales.transform(pseudo_locales.ACCENTED, text)


def mirror_text(text: str) -> str:
    """Return a text as the pseudo-locale that is written from right to left shows it."""
    return pseudo_locales.transform(pseudo_locales.RIGHT_TO_LEFT, text)


async def prepare_guild(platform: ChatPlatform) -> tuple[Any, Guild]:
    """Create two friends in a guild with a message; return one of them and the guild."""
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    await befriend(nora, tom)
    guild = await platform.world.guild(nora, tom)
    await guild.send_message(tom, "Ahoy")
    return nora, guild


async def find_plain_texts(page: Any) -> list[str]:
    """Return the visible texts and labels of a page that are not translated."""
    return accented_pages.find_plain_texts(await page.evaluate(LIST_TEXTS), ALLOWED_TEXTS)


async def find_plain_texts_of_settings(window: ChatWindow) -> dict[str, list[str]]:
    """Open all screens of the open settings, and return the texts of each that are not translated."""
    settings = window.page.locator("dialog[open]")
    await settings.wait_for()
    plain_texts = {}
    for screen in await settings.get_by_role("navigation").get_by_role("button").all_inner_texts():
        await open_screen(settings, screen)
        plain_texts[screen] = await find_plain_texts(window.page)
    await window.page.keyboard.press("Escape")
    await settings.wait_for(state="detached")
    return plain_texts


async def test_all_texts_of_the_chat_client_are_translated(platform: ChatPlatform) -> None:
    nora, guild = await prepare_guild(platform)
    async with platform.open_window(nora, general_path(guild), locale=pseudo_locales.ACCENTED) as window:
        page = window.page
        # Some screens read settings that the guild does not have.
        window.expected_errors = ("Failed to load resource",)
        await window.wait_message("Ahoy")
        plain_texts = {"channel": await find_plain_texts(page)}
        await page.get_by_role("button", name=accent_text("User settings"), exact=True).click()
        plain_texts |= await find_plain_texts_of_settings(window)
        await page.get_by_role("button", name=accent_text("Menu of {guild}").format(guild="Guild")).click()
        plain_texts["guild menu"] = await find_plain_texts(page)
        await page.get_by_role("menuitem", name=accent_text("Guild settings")).click()
        plain_texts |= await find_plain_texts_of_settings(window)
        await window.open("/app")
        plain_texts["friends"] = await find_plain_texts(page)

    assert len(plain_texts) > 30
    assert {screen: texts for screen, texts in plain_texts.items() if texts} == {}


async def test_all_texts_of_pages_are_translated(platform: ChatPlatform) -> None:
    nora, _ = await prepare_guild(platform)
    plain_texts = {}
    async with platform.open_page(has_script=False, locale=pseudo_locales.ACCENTED) as page:
        for path in ("/", "/login", "/register", "/forgot-password", "/no-such-page"):
            await page.goto(platform.url + path)
            plain_texts[path] = await find_plain_texts(page)
        await page.context.add_cookies([{"name": "hubbub_session", "value": nora.token, "url": platform.url}])
        for path in (
            "/settings/account",
            "/settings/apps",
            "/settings/subscriptions",
            "/settings/account/email",
            "/app",
        ):
            await page.goto(platform.url + path)
            plain_texts[path] = await find_plain_texts(page)

    assert {path: texts for path, texts in plain_texts.items() if texts} == {}


@pytest.mark.parametrize("width", [PHONE_WIDTH, 1024, DESKTOP_WIDTH])
async def test_the_layout_is_mirrored_from_right_to_left(platform: ChatPlatform, width: int) -> None:
    nora, guild = await prepare_guild(platform)
    async with platform.open_window(
        nora, general_path(guild), width=width, locale=pseudo_locales.RIGHT_TO_LEFT
    ) as window:
        page = window.page
        message = await window.wait_message("Ahoy")
        avatar_box, text_box = [
            await message.locator(part).first.bounding_box() for part in (".avatar", ".message-text")
        ]

        assert avatar_box["x"] > text_box["x"]
        assert await page.evaluate(FIND_OVERFLOWS) == []
        if width == DESKTOP_WIDTH:
            rail_box = await page.locator(".rail-area").bounding_box()
            assert rail_box["x"] + rail_box["width"] == width
            await page.get_by_role("button", name=mirror_text("User settings"), exact=True).click()
            await page.locator("dialog[open]").wait_for()
            assert await page.evaluate(FIND_OVERFLOWS) == []


async def test_longer_texts_stay_in_the_window(platform: ChatPlatform) -> None:
    nora, guild = await prepare_guild(platform)
    for width in (PHONE_WIDTH, DESKTOP_WIDTH):
        async with platform.open_window(
            nora, general_path(guild), width=width, locale=pseudo_locales.ACCENTED
        ) as window:
            await window.wait_message("Ahoy")
            assert await window.page.evaluate(FIND_OVERFLOWS) == []


async def test_the_client_is_in_english_if_the_catalogue_cannot_be_loaded(platform: ChatPlatform) -> None:
    nora, guild = await prepare_guild(platform)
    async with platform.open_window(nora, general_path(guild)) as window:
        window.expected_errors = ("translation could not be loaded", "Failed to load resource")
        await nora.patch("/users/@me", json={"locale": "de"})
        await window.page.route("**/static/messages/*", lambda route: route.fulfill(status=503))
        await window.open(general_path(guild))

        await window.page.get_by_role("button", name="User settings", exact=True).wait_for()
        assert await window.page.evaluate("document.documentElement.lang") == "de"


async def test_a_chosen_language_reloads_the_page_and_formats_dates(platform: ChatPlatform) -> None:
    nora, guild = await prepare_guild(platform)
    async with platform.open_window(nora, general_path(guild)) as window:
        page = window.page
        await page.get_by_role("button", name="User settings", exact=True).click()
        settings = page.locator("dialog[open]")
        await open_screen(settings, "Language")
        await settings.get_by_role("combobox", name="Language").select_option(label="Deutsch (German)")
        async with page.expect_navigation():
            await settings.get_by_role("button", name="Save changes").click()
        await window.wait_message("Ahoy")

        assert (await nora.get("/users/@me")).ok()["locale"] == "de"
        assert await page.evaluate("document.documentElement.lang") == "de"
        assert re.search(r"\d+\. November \d{4}", await page.locator(".day").first.inner_text())
