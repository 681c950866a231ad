"""The chat client, the account settings and the login page in Spanish, in a real browser."""

import re

from tests.web.chat import ChatPlatform, general_path
from tests.web.settings import open_screen

WEEKDAYS = "lunes|martes|miércoles|jueves|viernes|sábado|domingo"


async def test_client_dates_and_pages_are_in_the_language_that_a_user_chooses(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    (await tom.post(f"/channels/{guild.general}/messages", json={"content": "hola"})).ok()
    async with platform.open_window(nora, general_path(guild)) as window:
        page = window.page
        await page.get_by_role("button", name="User settings", exact=True).click()
        settings = page.get_by_role("dialog", name="User settings")
        await open_screen(settings, "Language")
        languages = settings.get_by_role("combobox", name="Language")
        spanish = languages.locator("option").filter(has_text="European Spanish")
        await languages.select_option(await spanish.get_attribute("value"))
        await settings.get_by_role("region", name="Unsaved changes").get_by_role("button", name="Save changes").click()

        # The page reloads in the new language.
        await page.get_by_role("button", name="Ajustes de usuario", exact=True).wait_for()
        assert (await page.evaluate("document.documentElement.lang")).split("-")[0] == "es"
        assert await window.composer.get_attribute("placeholder") == "Enviar mensaje a #general"
        await page.get_by_role("button", name="Menú de Guild").wait_for()
        assert await page.locator(".members h3").first.text_content() == "En línea · 1"
        sent_time = (await window.wait_message("hola")).locator("time").first
        title = await sent_time.get_attribute("title")
        assert re.match(rf"(?:{WEEKDAYS}), \d+ de \w+ de \d{{4}}", title), title

        await page.goto(f"{platform.url}/settings/account")
        assert await page.get_by_role("heading", name="Autenticación de dos factores").count() == 1

    async with platform.open_page(locale="es-MX") as visitor:
        await visitor.goto(f"{platform.url}/login")
        assert (await visitor.evaluate("document.documentElement.lang")).split("-")[0] == "es"
        await visitor.get_by_role("button", name="Iniciar sesión", exact=True).wait_for()
        assert await visitor.get_by_label("Contraseña").count() == 1
