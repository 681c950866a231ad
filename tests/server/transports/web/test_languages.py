"""Languages of pages and the chat client: choice of the language, catalogues, plurals, dates and numbers."""

import json
import re
import typing
from datetime import UTC, datetime
from urllib.parse import urlencode

import aiohttp
import pytest
from babel import Locale
from babel.messages import Catalog

from hubbub.server.app import App
from hubbub.server.core import pseudo_locales, translation
from hubbub.server.core.config_sections import WebConfig
from tests.pages import PASSWORD, Browser
from tests.server.identity.operators import create_operator
from tests.server.play.application_owners import sign_in_owner
from tests.server.talk.test_file_administration import send_sized_file
from tests.world import World, small_config


def _language(text: str) -> str:
    match = re.search(r'<html lang="([^"]+)" dir="([a-z]+)"', text)
    assert match is not None
    return f"{match[1]} {match[2]}"


async def test_a_page_has_the_language_that_the_browser_prefers(world: World) -> None:
    browser = Browser(world)

    german = await browser.request("GET", "/login", headers={"Accept-Language": "fr, de-CH;q=0.9, en;q=0.5"})
    french = await browser.request("GET", "/login", headers={"Accept-Language": "fr"})

    assert (_language(german.body), german.headers["Content-Language"]) == ("de ltr", "de")
    assert (_language(french.body), french.headers["Content-Language"]) == ("en ltr", "en")
    for page in (german, french):
        # Caches must not store the page. A cache that stores it anyway keeps its languages apart by `Vary`.
        assert page.headers["Cache-Control"] == "no-store"
        assert page.headers["Vary"] == "Accept-Language, Cookie"


@pytest.mark.parametrize(
    ("locale", "language"), [("es-419", "es-419 ltr"), ("de", "de ltr"), ("en-GB", "en-GB ltr"), ("en-US", "en ltr")]
)
async def test_a_page_has_the_language_of_the_signed_in_user(world: World, locale: str, language: str) -> None:
    browser, ann = Browser(world), await world.user()
    browser.sign_in_as(ann)
    (await ann.patch("/users/@me", json={"locale": locale})).ok()

    page = await browser.request("GET", "/settings/account", headers={"Accept-Language": "de"})

    assert _language(page.body) == language


async def test_a_user_whose_language_is_not_translated_has_the_language_of_the_browser(world: World) -> None:
    browser, ann = Browser(world), await world.user()
    browser.sign_in_as(ann)
    (await ann.patch("/users/@me", json={"locale": "fr"})).ok()

    page = await browser.request("GET", "/settings/account", headers={"Accept-Language": "es-MX"})

    assert _language(page.body) == "es ltr"


async def test_a_server_has_a_default_language() -> None:
    app = App(small_config(web=WebConfig(default_locale="de")))
    await app.start()
    try:
        async with aiohttp.ClientSession() as client:
            browser = Browser(World(app, client))
            default = await browser.open("/login")
            english = await browser.request("GET", "/login", headers={"Accept-Language": "en-GB"})
    finally:
        await app.stop()

    assert (_language(default.body), _language(english.body)) == ("de ltr", "en ltr")


async def test_a_registered_user_has_the_language_of_the_registration_page(world: World) -> None:
    browser = Browser(world)
    page = await browser.open("/register")
    form_values = dict(page.forms[0].values) | {"username": "anna", "password": PASSWORD}

    headers = {"Accept-Language": "es-MX", "Origin": world.url, "Content-Type": "application/x-www-form-urlencoded"}
    await browser.request("POST", "/register", headers=headers, data=urlencode(form_values))

    assert _language((await browser.open("/settings/account")).body) == "es-ES ltr"


async def test_the_api_reference_is_in_english(world: World) -> None:
    page = await Browser(world).request("GET", "/docs", headers={"Accept-Language": pseudo_locales.ACCENTED})

    assert _language(page.body) == "en ltr"


@pytest.mark.parametrize(
    ("locale", "file_size", "joined_day"),
    [("de", "1,5 KiB", "18. November 2026"), ("es-ES", "1,5 KiB", "18 de noviembre de 2026")],
)
async def test_the_portal_and_the_console_have_the_language_dates_and_numbers_of_the_user(
    world: World, locale: str, file_size: str, joined_day: str
) -> None:
    ann = await create_operator(world, "ann")
    bot = await world.bot()
    developer = await sign_in_owner(world, bot)
    for user in (ann, developer):
        (await user.patch("/users/@me", json={"locale": locale})).ok()
    guild = await world.guild(ann)
    (await send_sized_file(ann, guild.general, 1536, "notes.txt")).ok()
    browser = Browser(world)

    browser.sign_in_as(ann)
    files, accounts = await browser.open("/admin/files"), await browser.open("/admin/users")
    browser.sign_in_as(developer)
    intents = await browser.open(f"/developers/{bot.application_id}/bot")

    assert {_language(page.body) for page in (files, accounts, intents)} == {f"{locale} ltr"}
    assert file_size in files.text
    assert joined_day in accounts.text
    assert "10.000" in intents.text


async def test_errors_of_the_portal_are_in_the_language_of_the_page(world: World) -> None:
    browser, ann = Browser(world), await world.user()
    browser.sign_in_as(ann)
    (await ann.patch("/users/@me", json={"locale": "de"})).ok()

    page = await browser.submit(await browser.open("/developers"), "Anwendung erstellen", name="x")

    assert (page.status, "Name: Die Länge muss zwischen 2 und 32 liegen." in page.text) == (400, True)


async def test_pseudo_locales_exist_in_rehearsals_only(world: World) -> None:
    accented_page = await Browser(world).request("GET", "/login", headers={"Accept-Language": "en-XA"})
    mirrored_page = await Browser(world).request("GET", "/login", headers={"Accept-Language": "ar-XB"})

    assert _language(accented_page.body) == "en-XA ltr"
    assert _language(mirrored_page.body) == "ar-XB rtl"
    assert "[Wélçömé båçk" in accented_page.text
    app = App(small_config(control=False))
    await app.start()
    try:
        async with aiohttp.ClientSession() as client:
            page = await Browser(World(app, client)).request("GET", "/login", headers={"Accept-Language": "en-XA"})
    finally:
        await app.stop()
    assert _language(page.body) == "en ltr"


async def test_the_client_loads_a_catalogue_that_caches_keep_forever(world: World) -> None:
    browser = Browser(world)
    browser.sign_in_as(await world.user())
    page = await browser.request("GET", "/app", headers={"Accept-Language": "en-XA"})
    english = await browser.open("/app")

    [url] = re.findall(r'data-catalog="([^"]+)"', page.body)
    file = await browser.request("GET", url, headers={"Accept-Encoding": "gzip"})
    old_response = await browser.request("GET", re.sub(r"\.[0-9a-f]{16}\.", f".{'0' * 16}.", url))
    unknown_page = await browser.request("GET", url.replace("en-XA", "xx"))

    assert "data-catalog" not in english.body
    assert (file.status, file.headers["Content-Encoding"], file.headers["Content-Type"]) == (
        200,
        "gzip",
        "application/json",
    )
    assert file.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    messages = json.loads(file.body)
    assert messages["Language"] == pseudo_locales.transform("en-XA", "Language")
    # The catalogue contains no texts of pages.
    assert "Skip to content" not in messages
    assert (old_response.status, unknown_page.status) == (404, 404)


def test_messages_with_a_count_have_a_text_for_each_plural_category() -> None:
    catalog = Catalog(locale=Locale("es"))
    catalog.add(("{count} day", "{count} days"), ("{count} día", "{count} días"), [("static/app/x.js", 0)])
    translations = translation.Translations(catalog, Locale("es"), "ltr")

    assert translations.client_messages() == {
        "{count} day": {"one": "{count} día", "other": "{count} días", "many": "{count} días"}
    }
    assert [translations.ngettext("{count} day", "{count} days", count) for count in (1, 2)] == [
        "{count} día",
        "{count} días",
    ]


def test_dates_and_numbers_follow_the_language() -> None:
    time = datetime(2026, 3, 5, 14, 7, tzinfo=UTC)
    formatted_texts = {}
    for tag in ("en-US", "de", "es-419"):
        language = translation.find_language(tag)
        assert language is not None
        with translation.use_language(language):
            formatted_texts[tag] = (translation.format_time(time), translation.format_decimal(123456, 2))

    assert formatted_texts["en-US"] == ("5 March 2026, 14:07 UTC", "1,234.56")
    assert formatted_texts["de"] == ("5. März 2026, 14:07 UTC", "1.234,56")
    assert formatted_texts["es-419"][0].startswith("5 de marzo de 2026, 2:07")


def test_every_translation_can_be_the_default_language() -> None:
    choices = typing.get_args(typing.get_type_hints(WebConfig)["default_locale"])
    assert set(choices) == {translation.SOURCE_LANGUAGE, *translation.list_translations()}
