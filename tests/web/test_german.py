"""The interface in German: a user chooses the language in the settings; client, pages and dates follow it."""

import re

from tests.web.chat import ChatPlatform, general_path
from tests.web.conftest import OpenPage

GERMAN_DATE_PATTERN = re.compile(r"\b\d{1,2}\.(?: \w+ |\d\d\.)\d{2,4}\b")
"""A date with the day before the month, separated by a period: `01.11.26` or `1. November 2026`."""


async def test_a_user_chooses_german_and_the_client_its_dates_and_pages_follow(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    await guild.send_message(tom, "Hello from Tom")
    async with platform.open_window(nora, general_path(guild)) as window:
        page = window.page
        await page.get_by_role("button", name="User settings").click()
        settings = page.get_by_role("dialog", name="User settings")
        await settings.get_by_role("button", name="Language", exact=True).click()
        await settings.get_by_role("combobox", name="Language").select_option(label="Deutsch (German)")
        async with page.expect_navigation():
            await settings.get_by_role("button", name="Save changes").click()

        # The page was loaded again, in German.
        await page.get_by_role("button", name="Benutzereinstellungen").wait_for()
        assert await page.locator("html").get_attribute("lang") == "de"
        message = await window.wait_message("Hello from Tom")
        assert GERMAN_DATE_PATTERN.search(await message.locator("time").first.get_attribute("title"))

        # A message with a count has the plural form of the language.
        await page.get_by_role("button", name="Menü von Guild").click()
        await page.get_by_role("menuitem", name="Gildeneinstellungen").click()
        settings = page.get_by_role("dialog", name="Gildeneinstellungen")
        await settings.get_by_role("navigation").get_by_role("button", name="Kanäle", exact=True).click()
        await settings.get_by_text("1 Kanal", exact=True).first.wait_for()

        # The pages of the account follow the setting, although the browser prefers English.
        await page.goto(f"{platform.url}/settings/account")
        await page.get_by_role("heading", name="Sitzungen").wait_for()


async def test_the_login_page_follows_the_language_of_the_browser(platform: ChatPlatform, open_page: OpenPage) -> None:
    async with open_page(locale="de-DE") as page:
        await page.goto(f"{platform.url}/login")
        await page.get_by_role("heading", name="Willkommen zurück").wait_for()
        assert await page.locator("html").get_attribute("lang") == "de"
        await page.get_by_label("Benutzername oder E-Mail-Adresse").fill("nora")
        await page.get_by_label("Passwort", exact=True).fill("wrong password")
        await page.get_by_role("button", name="Anmelden", exact=True).click()
        await page.get_by_text("Benutzername oder Passwort ist falsch.").wait_for()
