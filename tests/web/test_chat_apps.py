"""Apps in the chat client, in a real browser with a discord.py bot: commands, components, modals and responses."""

import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import discord
import pytest
import yarl
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from hubbub.server.core.clock import ControlledClock, RealClock
from tests.clients.scene import ONE_PIXEL_PNG
from tests.clients.test_http_app import COMMANDS, HttpApp
from tests.web.app_guild import AppGuild, open_platform, run_bot
from tests.web.conftest import PHONE, Opener
from tests.web.polling import wait_until
from tests.world import NOW_MS


@pytest.fixture
async def square(chromium: Opener, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[AppGuild]:
    """A guild for a discord.py bot, which has its URLs built in.

    The clock is stopped, so that a slow machine is never too late. It is not behind the real time, by which the
    library judges expiration.
    """
    async with open_platform(chromium, ControlledClock(max(NOW_MS, RealClock().now_ms()), running=False)) as made:
        monkeypatch.setattr(discord.http.Route, "BASE", made.world.api)
        monkeypatch.setattr(discord.gateway.DiscordWebSocket, "DEFAULT_GATEWAY", yarl.URL(made.world.gateway))
        monkeypatch.setattr(discord.asset.Asset, "BASE", f"{made.world.url}/cdn")
        yield made


async def test_a_command_is_run_by_keyboard_alone(square: AppGuild) -> None:
    async with run_bot(square), square.visit(square.bob) as window:
        page, keyboard = window.page, window.page.keyboard
        form = await window.open_command_form("greet")

        # The first field has the focus: a user is searched by name.
        await keyboard.press("Enter")
        await keyboard.type("ali")
        await page.get_by_role("option", name="alice").wait_for()
        await keyboard.press("Enter")
        await keyboard.press("Tab")
        await keyboard.type("9")
        await keyboard.press("Tab")
        await keyboard.press("ArrowDown")
        await page.get_by_role("option", name="Happy").wait_for()
        await keyboard.press("Enter")

        # Optional options are offered; the app completes the city.
        await keyboard.press("Tab")
        await keyboard.press("Enter")
        await keyboard.type("Be")
        await page.get_by_role("option", name="Bern").wait_for()
        assert await page.get_by_role("option").all_inner_texts() == ["Berlin", "Bern"]
        await keyboard.press("ArrowDown")
        await keyboard.press("ArrowDown")
        await keyboard.press("Enter")
        assert await page.get_by_role("combobox", name="city").input_value() == "Bern"

        # Nine is above the maximum: the error is at the field, which has the focus, and the input stays.
        await keyboard.press("Enter")
        await form.get_by_text("less than or equal to 5").wait_for()
        assert await page.evaluate("document.activeElement.getAttribute('aria-invalid')") is not None
        await keyboard.press("Control+a")
        await keyboard.type("3")
        await keyboard.press("Enter")
        message = await window.sees("alice x3, Happy, bern")
        await form.wait_for(state="detached")
        assert "used /greet" in await message.inner_text()
        assert await page.evaluate("document.activeElement.matches('textarea')")

        # Escape restores the typed text as plain text.
        await window.open_command_form("panel")
        await keyboard.press("Escape")
        assert await window.composer.input_value() == "/panel"


async def test_files_and_menus(square: AppGuild) -> None:
    async with run_bot(square), square.visit(square.bob) as window:
        page = window.page
        form = await window.open_command_form("greet")
        await form.get_by_role("button", name="member").click()
        await page.get_by_role("option", name="alice").click()
        await form.get_by_label("times").fill("2")
        await form.get_by_role("button", name="mood").click()
        await page.get_by_role("option", name="Sad").click()
        await form.get_by_role("button", name="+ paper").click()
        file = {"name": "note.txt", "mimeType": "text/plain", "buffer": b"in ink"}
        await form.get_by_label("paper").set_input_files(file)
        await form.get_by_role("button", name="Run").click()
        message = await window.sees("alice x2, Sad, nowhere, in ink")

        # Context menu commands on messages and on users.
        await message.hover()
        await message.get_by_role("button", name="More").click()
        await page.get_by_role("menuitem", name="Shout").click()
        await window.sees("ALICE X2, SAD, NOWHERE, IN INK")
        await square.guild.send_message(square.alice, "good morning")
        row = await window.sees("good morning")
        await row.get_by_role("button", name="alice").click()
        await page.get_by_role("button", name="Poke").click()
        await window.sees("poked alice")


async def test_buttons_and_selects(square: AppGuild) -> None:
    async with run_bot(square), square.visit(square.bob) as window:
        page, keyboard = window.page, window.page.keyboard
        await window.run("panel")
        panel = await window.sees("here is the panel")
        panel = page.locator(f"#{await panel.get_attribute('id')}")

        # The message changes in place.
        await panel.get_by_role("button", name="Count").click()
        await panel.get_by_text("pressed once").wait_for()
        counted = panel.get_by_role("button", name="Counted")
        await counted.wait_for()
        assert await counted.is_disabled()

        # Two of three values; the response is ephemeral.
        await panel.get_by_role("button", name="Some words").click()
        await page.get_by_role("option", name="gamma").click()
        await page.get_by_role("option", name="alpha").click()
        await page.get_by_text("2 of 2 selected").wait_for()
        await keyboard.press("Escape")
        answer = await window.sees("chose alpha and gamma")
        await answer.get_by_text("Only you can see this").wait_for()

        # A user select, by keyboard.
        await panel.get_by_role("button", name="Member").focus()
        await keyboard.press("Enter")
        await keyboard.type("alice")
        await page.get_by_role("option", name="alice").wait_for()
        await keyboard.press("Enter")
        await window.sees("it is alice")


WATCH = """() => {
  window.waited = [];
  new MutationObserver(changes => {
    const buttons = changes.map(({ target }) => target).filter(each => each.matches(".component-button.waiting"));
    waited.push(...buttons.map(each => each.getAttribute("aria-busy")));
  }).observe(document.body, { attributes: true, attributeFilter: ["class"], subtree: true });
}"""
"""Records which buttons were pending, however briefly."""


async def test_an_app_that_does_not_answer(square: AppGuild) -> None:
    async with run_bot(square) as (app, _), square.visit(square.bob) as window:
        await window.run("panel")
        panel = await window.sees("here is the panel")
        await window.page.evaluate(WATCH)
        await panel.get_by_role("button", name="Silent").click()
        await app.received("interaction", lambda interaction: interaction.data.get("custom_id") == "silent")
        square.world.clock.advance(3_500)
        await panel.get_by_text("The app did not respond in time.").wait_for()
        assert await window.page.evaluate("waited[0]") == "true"
        assert await panel.locator(".waiting").count() == 0
        # Another interaction works, and clears the error.
        await panel.get_by_role("button", name="Count").click()
        panel = await window.sees("pressed once")
        assert await panel.get_by_text("did not respond").count() == 0


async def test_a_modal_is_filled_in(square: AppGuild) -> None:
    async with run_bot(square), square.visit(square.bob) as window:
        page, keyboard = window.page, window.page.keyboard
        await window.run("panel")
        panel = await window.sees("here is the panel")
        await panel.get_by_role("button", name="Form").click()
        dialog = page.get_by_role("dialog")
        await dialog.get_by_text("Welcome to us").wait_for()
        assert await dialog.get_by_role("heading").inner_text() == "Tell us"

        # Too short, and nothing chosen: each error is at its field.
        await dialog.get_by_label("Name").fill("Bo")
        await dialog.get_by_role("button", name="Submit").click()
        name = dialog.get_by_label("Name")
        await wait_until(page, "document.querySelectorAll('dialog .field-error:not([hidden])').length === 2")
        assert await name.get_attribute("aria-invalid") == "true"
        assert "between 3 and 20" in await dialog.locator(".field-error").first.inner_text()
        assert await page.evaluate("document.activeElement.value") == "Bo"

        await name.fill("Bob")
        await dialog.get_by_label("Blue").check()
        await dialog.get_by_role("button", name="Friend").click()
        await page.get_by_role("option", name="alice").click()
        await dialog.get_by_label("Sure?").check()
        await keyboard.press("Tab")
        await dialog.get_by_role("button", name="Submit").click()
        await dialog.wait_for(state="detached")
        await window.sees("Bob likes b and alice: True")


async def test_a_modal_with_files_on_a_phone(square: AppGuild) -> None:
    async with run_bot(square), square.visit(square.bob, width=PHONE) as window:
        page = window.page
        await window.run("prove")
        dialog = page.get_by_role("dialog")
        files = [
            {"name": f"{name}.txt", "mimeType": "text/plain", "buffer": name.encode()}
            for name in ("one", "two", "three")
        ]
        await dialog.get_by_label("Proof").set_input_files(files)
        await dialog.get_by_text("two.txt").wait_for()
        # Only two files are accepted, and one is removed again.
        assert await dialog.get_by_text("three.txt").count() == 0
        await dialog.get_by_role("button", name="Remove one.txt from Proof").click()
        await dialog.get_by_label("S", exact=True).check()
        await dialog.get_by_label("L", exact=True).check()
        assert await dialog.get_by_label("M", exact=True).is_disabled()
        # Escape closes the list, but not the form behind it.
        await dialog.get_by_role("button", name="Fruit").click()
        await page.keyboard.press("Escape")
        await dialog.get_by_role("button", name="Fruit").click()
        await page.get_by_role("option", name="Pear").click()
        box = await dialog.bounding_box()
        assert box is not None
        assert box["width"] <= PHONE
        assert await page.evaluate("document.documentElement.scrollWidth") <= PHONE
        await dialog.get_by_role("button", name="Submit").click()
        await window.sees("two.txt: two, s+l, Pear")


async def test_a_deferred_response(square: AppGuild) -> None:
    async with run_bot(square) as (_, go), square.visit(square.bob) as window, square.visit(square.alice) as other:
        await window.run("slow think")
        thinking = window.page.locator("li.message.ephemeral")
        await thinking.get_by_text("Thinking").wait_for()
        go.set()
        answer = await window.sees("thought it over")
        await answer.get_by_text("Only you can see this").wait_for()
        # Other users see none of it.
        await square.guild.send_message(square.alice, "anything new?")
        await other.sees("anything new?")
        assert await other.page.locator("li.message").count() == 1
        await answer.get_by_role("button", name="Dismiss").click()
        await answer.wait_for(state="detached")


async def test_an_app_that_has_only_a_web_server(square: AppGuild) -> None:
    app = HttpApp(square.world.api, square.world.client, "0")
    server = web.Application()
    server.router.add_post("/", app.handle)
    runner = web.AppRunner(server)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    about = (await square.bot.get("/applications/@me")).ok()
    app.key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(about["verify_key"]))
    address = f"http://127.0.0.1:{runner.addresses[0][1]}/"
    (await square.bot.patch("/applications/@me", json={"interactions_endpoint_url": address})).ok()
    commands = f"/applications/{square.bot.application_id}/guilds/{square.guild.id}/commands"
    (await square.bot.put(commands, json=COMMANDS)).ok()

    async with square.visit(square.bob) as window:
        page = window.page
        form = await window.open_command_form("greet")
        await form.get_by_role("button", name="member").click()
        await page.get_by_role("option", name="alice").click()
        await form.get_by_role("button", name="+ city").click()
        await page.keyboard.type("Ber")
        await page.get_by_role("option", name="Berlin").click()
        await form.get_by_role("button", name="Run").click()
        await window.sees("hello alice in berlin")
        await window.run("think")
        answer = await window.sees("and more")
        await answer.get_by_text("Only you can see this").wait_for()
        assert await page.locator("li.message.ephemeral").count() == 2
    assert app.problems == []
    await runner.cleanup()


async def test_names_in_the_browsers_language(still: AppGuild) -> None:
    command = {
        "name": "weather",
        "description": "Says what falls from the sky",
        "name_localizations": {"de": "wetter"},
        "description_localizations": {"de": "Sagt, was vom Himmel fällt"},
        "options": [{"type": 3, "name": "place", "description": "where", "name_localizations": {"de": "ort"}}],
    }
    path = f"/applications/{still.bot.application_id}/guilds/{still.guild.id}/commands"
    (await still.bot.post(path, json=command)).ok()
    interactions = await still.bot.connect()
    async with still.visit(still.bob, locale="de-DE") as window:
        form = await window.open_command_form("wett")
        await form.get_by_text("Sagt, was vom Himmel fällt").wait_for()
        await form.get_by_role("button", name="+ ort").click()
        await window.page.keyboard.type("Bern")
        await window.page.keyboard.press("Enter")
        asked = await interactions.next("INTERACTION_CREATE")
        # Apps receive the original names.
        assert (asked["data"]["name"], asked["data"]["options"]) == (
            "weather",
            [{"type": 3, "name": "place", "value": "Bern"}],
        )
        body = {"type": 4, "data": {"content": "rain"}}
        (await still.world.request("POST", f"/interactions/{asked['id']}/{asked['token']}/callback", json=body)).ok()
        await window.sees("rain")
        await form.wait_for(state="detached")


async def answer(square: AppGuild, asked: Any, kind: int, **data: Any) -> None:
    """Respond to an interaction over HTTP, as a bot without a library."""
    path = f"/interactions/{asked['id']}/{asked['token']}/callback"
    (await square.world.request("POST", path, json={"type": kind, "data": data})).ok()


async def test_an_older_autocomplete_response_does_not_replace_a_newer_one(still: AppGuild) -> None:
    option = {"type": 3, "name": "word", "description": "which", "autocomplete": True, "required": True}
    path = f"/applications/{still.bot.application_id}/guilds/{still.guild.id}/commands"
    (await still.bot.post(path, json={"name": "find", "description": "Finds", "options": [option]})).ok()
    interactions = await still.bot.connect()
    async with still.visit(still.bob) as window:
        form = await window.open_command_form("find")
        # Nothing is typed yet, but the app may offer choices.
        empty = await interactions.next("INTERACTION_CREATE")
        assert empty["data"]["options"][0]["value"] == ""
        await window.page.keyboard.type("a")
        first = await interactions.next("INTERACTION_CREATE")
        await window.page.keyboard.type("b")
        second = await interactions.next("INTERACTION_CREATE")
        assert [each["data"]["options"][0]["value"] for each in (first, second)] == ["a", "ab"]
        await answer(still, second, 8, choices=[{"name": "abacus", "value": "1"}])
        await window.page.get_by_role("option", name="abacus").wait_for()
        await answer(still, first, 8, choices=[{"name": "apple", "value": "2"}])
        await still.guild.send_message(still.alice, "meanwhile")
        await window.sees("meanwhile")
        assert await window.page.get_by_role("option").all_inner_texts() == ["abacus"]

        # A value that was not offered can be sent too.
        await window.page.keyboard.type("out")
        await window.page.keyboard.press("Enter")
        run = await interactions.next("INTERACTION_CREATE", lambda data: data["type"] == 2)
        assert run["data"]["options"][0]["value"] == "about"
        await answer(still, run, 4, content="found it")
        await window.sees("found it")
        await form.wait_for(state="detached")


async def test_a_command_that_changed_since_it_was_loaded(still: AppGuild) -> None:
    path = f"/applications/{still.bot.application_id}/guilds/{still.guild.id}/commands"
    made = (await still.bot.post(path, json={"name": "vote", "description": "Votes"})).ok()
    async with still.visit(still.bob) as window:
        form = await window.open_command_form("vote")
        option = {"type": 5, "name": "yes", "description": "or no", "required": True}
        (await still.bot.patch(f"{path}/{made['id']}", json={"options": [option]})).ok()
        await form.get_by_role("button", name="Run").click()
        await form.get_by_text("This command has changed").wait_for()
        await form.get_by_role("button", name="Cancel").click()
        await window.composer.fill("")
        form = await window.open_command_form("vote")
        await form.get_by_role("button", name="yes").wait_for()
        # A required option is requested before the command is sent.
        await form.get_by_role("button", name="Run").click()
        await form.get_by_text("This option is required.").wait_for()


def layout(channel_id: int) -> list[dict[str, Any]]:
    """Return a message that consists of components."""
    link = {"type": 2, "style": 5, "label": "Map", "url": "https://maps.example/"}
    words = {"type": 9, "components": [{"type": 10, "content": "**Market** on <b>Saturday</b>"}], "accessory": link}
    where = {"type": 8, "custom_id": "where", "default_values": [{"id": str(channel_id), "type": "channel"}]}
    inside = [
        words,
        {"type": 14, "spacing": 2},
        {"type": 13, "file": {"url": "attachment://plan.txt"}, "spoiler": True},
        {"type": 1, "components": [{"type": 2, "style": 3, "label": "Come", "custom_id": "come", "disabled": True}]},
        {"type": 1, "components": [where]},
    ]
    picture = {"media": {"url": "attachment://map.png"}, "description": "The square from above"}
    return [{"type": 17, "accent_color": 0xE2A541, "components": inside}, {"type": 12, "items": [picture]}]


async def test_a_message_made_of_layout_components(still: AppGuild) -> None:
    files = [{"id": 0, "filename": "plan.txt"}, {"id": 1, "filename": "map.png"}]
    payload = {"flags": 1 << 15, "components": layout(still.guild.general), "attachments": files}
    form = aiohttp.FormData()
    form.add_field("payload_json", json.dumps(payload))
    form.add_field("files[0]", b"the plan", filename="plan.txt", content_type="text/plain")
    form.add_field("files[1]", ONE_PIXEL_PNG, filename="map.png", content_type="image/png")
    (await still.bot.post(f"/channels/{still.guild.general}/messages", data=form)).ok()

    async with still.visit(still.bob) as window:
        row = await window.sees("Market on <b>Saturday</b>")
        link = row.get_by_role("link", name="Map", exact=True)
        assert await link.get_attribute("href") == "https://maps.example/"
        assert "noopener" in str(await link.get_attribute("rel"))
        picture = row.get_by_role("img", name="The square from above")
        await wait_until(
            window.page, "element => element.complete && element.naturalWidth === 1", await picture.element_handle()
        )
        assert await row.get_by_role("button", name="Come").is_disabled()
        assert "general" in await row.locator(".picker-face").inner_text()
        await row.get_by_role("button", name="Spoiler").click()
        async with window.page.expect_download() as download:
            await row.get_by_role("link", name="plan.txt").click()
        assert (await download.value).suggested_filename == "plan.txt"
        box = await row.locator(".component-container").bounding_box()
        assert box is not None
        assert box["width"] > 200
