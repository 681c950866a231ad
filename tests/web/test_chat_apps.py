"""Apps in the chat client, in a real browser: commands, components, modals and responses.

The app is a discord.py bot, a web server, or a bot whose requests the test itself sends.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
import pytest_asyncio
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from hubbub.protocol.enums import (
    ButtonStyle,
    CommandOptionType,
    ComponentType,
    InteractionCallbackType,
    InteractionType,
    SeparatorSpacing,
)
from hubbub.protocol.flags import MessageFlags
from hubbub.server.core.clock import ControlledClock, RealClock
from tests.clients.client_setup import ONE_PIXEL_PNG
from tests.clients.discord_py_bot import use_server_urls
from tests.clients.http_app import COMMANDS, HttpApp
from tests.web.app_guild import AppGuild, open_platform, run_app
from tests.web.conftest import PHONE_WIDTH, OpenPage
from tests.web.polling import wait_until
from tests.world import NOW_MS


@pytest_asyncio.fixture(loop_scope="session")
async def discord_py_guild(open_page: OpenPage, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[AppGuild]:
    """A guild for a discord.py bot.

    The clock is stopped, so that nothing expires on a slow machine. It is not behind the real time, with which the
    library compares expiration times.
    """
    async with open_platform(open_page, ControlledClock(max(NOW_MS, RealClock().now_ms()), running=False)) as guild:
        use_server_urls(monkeypatch, guild.world)
        yield guild


async def test_commands_typed_while_their_module_loads_are_listed(discord_py_guild: AppGuild) -> None:
    release = asyncio.Event()

    async def hold(route: Any) -> None:
        await release.wait()
        await route.continue_()

    async with run_app(discord_py_guild), discord_py_guild.open_window(discord_py_guild.bob) as window:
        await window.page.route("**/commands/list.js", hold)
        await window.page.reload()
        await window.composer.focus()
        await window.page.keyboard.type("/greet")
        release.set()
        await window.page.get_by_role("option", name="/greet").first.wait_for()


async def test_a_command_is_run_by_keyboard_alone(discord_py_guild: AppGuild) -> None:
    async with run_app(discord_py_guild), discord_py_guild.open_window(discord_py_guild.bob) as window:
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
        message = await window.wait_message("alice x3, Happy, bern")
        await form.wait_for(state="detached")
        assert "used /greet" in await message.inner_text()
        assert await page.evaluate("document.activeElement.matches('textarea')")

        # Escape restores the typed text as plain text.
        await window.open_command_form("panel")
        await keyboard.press("Escape")
        assert await window.composer.input_value() == "/panel"


async def test_a_command_takes_a_file_and_context_menus_run_commands(discord_py_guild: AppGuild) -> None:
    async with run_app(discord_py_guild), discord_py_guild.open_window(discord_py_guild.bob) as window:
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
        message = await window.wait_message("alice x2, Sad, nowhere, in ink")

        await message.hover()
        await message.get_by_role("button", name="More").click()
        await page.get_by_role("menuitem", name="Shout").click()
        await window.wait_message("ALICE X2, SAD, NOWHERE, IN INK")
        await discord_py_guild.guild.send_message(discord_py_guild.alice, "good morning")
        row = await window.wait_message("good morning")
        await row.get_by_role("button", name="alice").click()
        await page.get_by_role("button", name="Poke").click()
        await window.wait_message("poked alice")


async def test_buttons_and_selects_of_a_message_can_be_used(discord_py_guild: AppGuild) -> None:
    async with run_app(discord_py_guild), discord_py_guild.open_window(discord_py_guild.bob) as window:
        page, keyboard = window.page, window.page.keyboard
        await window.run_command("panel")
        panel = await window.wait_message("here is the panel")
        panel = page.locator(f"#{await panel.get_attribute('id')}")

        # The message changes in place.
        await panel.get_by_role("button", name="Count").click()
        await panel.get_by_text("pressed once").wait_for()
        counted_button = panel.get_by_role("button", name="Counted")
        await counted_button.wait_for()
        assert await counted_button.is_disabled()

        # Choose two of three values; the response is ephemeral.
        await panel.get_by_role("button", name="Some words").click()
        await page.get_by_role("option", name="gamma").click()
        await page.get_by_role("option", name="alpha").click()
        await page.get_by_text("2 of 2 selected").wait_for()
        await keyboard.press("Escape")
        response = await window.wait_message("chose alpha and gamma")
        await response.get_by_text("Only you can see this").wait_for()

        # Choose a user with the keyboard.
        await panel.get_by_role("button", name="Member").focus()
        await keyboard.press("Enter")
        await keyboard.type("alice")
        await page.get_by_role("option", name="alice").wait_for()
        await keyboard.press("Enter")
        await window.wait_message("it is alice")


RECORD_BUSY_BUTTONS = """() => {
  window.waited = [];
  new MutationObserver(changes => {
    const buttons = changes.map(({ target }) => target).filter(element => element.matches(".component-button.waiting"));
    waited.push(...buttons.map(button => button.getAttribute("aria-busy")));
  }).observe(document.body, { attributes: true, attributeFilter: ["class"], subtree: true });
}"""
"""A JavaScript function that records `aria-busy` of every button that waits for a response, however briefly."""


async def test_an_app_that_does_not_respond_in_time_is_reported(discord_py_guild: AppGuild) -> None:
    async with run_app(discord_py_guild) as (app, _), discord_py_guild.open_window(discord_py_guild.bob) as window:
        await window.run_command("panel")
        panel = await window.wait_message("here is the panel")
        await window.page.evaluate(RECORD_BUSY_BUTTONS)
        await panel.get_by_role("button", name="Silent").click()
        await app.wait_event("interaction", lambda interaction: interaction.data.get("custom_id") == "silent")
        discord_py_guild.world.clock.advance(3_500)
        await panel.get_by_text("The app did not respond in time.").wait_for()
        assert await window.page.evaluate("waited[0]") == "true"
        assert await panel.locator(".waiting").count() == 0
        # Another interaction works, and clears the error.
        await panel.get_by_role("button", name="Count").click()
        panel = await window.wait_message("pressed once")
        assert await panel.get_by_text("did not respond").count() == 0


async def test_a_modal_is_filled_in(discord_py_guild: AppGuild) -> None:
    async with run_app(discord_py_guild), discord_py_guild.open_window(discord_py_guild.bob) as window:
        page, keyboard = window.page, window.page.keyboard
        await window.run_command("panel")
        panel = await window.wait_message("here is the panel")
        await panel.get_by_role("button", name="Form").click()
        dialog = page.get_by_role("dialog")
        await dialog.get_by_text("Welcome to us").wait_for()
        assert await dialog.get_by_role("heading").inner_text() == "Feedback"

        # The name is too short and no option is chosen; each error is shown at its field.
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
        await window.wait_message("Bob likes b and alice: True")


async def test_a_modal_with_files_can_be_submitted_on_a_phone(discord_py_guild: AppGuild) -> None:
    async with (
        run_app(discord_py_guild),
        discord_py_guild.open_window(discord_py_guild.bob, width=PHONE_WIDTH) as window,
    ):
        page = window.page
        await window.run_command("prove")
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
        assert box["width"] <= PHONE_WIDTH
        assert await page.evaluate("document.documentElement.scrollWidth") <= PHONE_WIDTH
        await dialog.get_by_role("button", name="Submit").click()
        await window.wait_message("two.txt: two, s+l, Pear")


async def test_a_deferred_ephemeral_response_is_shown_only_to_its_user(discord_py_guild: AppGuild) -> None:
    async with (
        run_app(discord_py_guild) as (_, respond_event),
        discord_py_guild.open_window(discord_py_guild.bob) as window,
        discord_py_guild.open_window(discord_py_guild.alice) as other_window,
    ):
        await window.run_command("slow think")
        thinking_message = window.page.locator("li.message.ephemeral")
        await thinking_message.get_by_text("Thinking").wait_for()
        respond_event.set()
        response = await window.wait_message("thought it over")
        await response.get_by_text("Only you can see this").wait_for()
        # Other users do not see the response.
        await discord_py_guild.guild.send_message(discord_py_guild.alice, "anything new?")
        await other_window.wait_message("anything new?")
        assert await other_window.page.locator("li.message").count() == 1
        await response.get_by_role("button", name="Dismiss").click()
        await response.wait_for(state="detached")


async def test_an_app_with_only_a_web_server_responds(discord_py_guild: AppGuild) -> None:
    app = HttpApp(discord_py_guild.world.api, discord_py_guild.world.client, "0")
    server = web.Application()
    server.router.add_post("/", app.handle)
    runner = web.AppRunner(server)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    application = (await discord_py_guild.bot.get("/applications/@me")).ok()
    app.verify_key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(application["verify_key"]))
    url = f"http://127.0.0.1:{runner.addresses[0][1]}/"
    (await discord_py_guild.bot.patch("/applications/@me", json={"interactions_endpoint_url": url})).ok()
    commands_path = f"/applications/{discord_py_guild.bot.application_id}/guilds/{discord_py_guild.guild.id}/commands"
    (await discord_py_guild.bot.put(commands_path, json=COMMANDS)).ok()

    async with discord_py_guild.open_window(discord_py_guild.bob) as window:
        page = window.page
        form = await window.open_command_form("greet")
        await form.get_by_role("button", name="member").click()
        await page.get_by_role("option", name="alice").click()
        await form.get_by_role("button", name="+ city").click()
        await page.keyboard.type("Ber")
        await page.get_by_role("option", name="Berlin").click()
        await form.get_by_role("button", name="Run").click()
        await window.wait_message("hello alice in berlin")
        await window.run_command("think")
        response = await window.wait_message("and more")
        await response.get_by_text("Only you can see this").wait_for()
        assert await page.locator("li.message.ephemeral").count() == 2
    assert app.failed_requests == []
    await runner.cleanup()


async def test_commands_are_shown_in_the_browsers_language(app_guild: AppGuild) -> None:
    command = {
        "name": "weather",
        "description": "Says what falls from the sky",
        "name_localizations": {"de": "wetter"},
        "description_localizations": {"de": "Sagt, was vom Himmel fällt"},
        "options": [
            {
                "type": CommandOptionType.STRING,
                "name": "place",
                "description": "where",
                "name_localizations": {"de": "ort"},
            }
        ],
    }
    path = f"/applications/{app_guild.bot.application_id}/guilds/{app_guild.guild.id}/commands"
    (await app_guild.bot.post(path, json=command)).ok()
    interactions = await app_guild.bot.connect()
    async with app_guild.open_window(app_guild.bob, locale="de-DE") as window:
        form = await window.open_command_form("wett")
        await form.get_by_text("Sagt, was vom Himmel fällt").wait_for()
        await form.get_by_role("button", name="+ ort").click()
        await window.page.keyboard.type("Bern")
        await window.page.keyboard.press("Enter")
        interaction = await interactions.next("INTERACTION_CREATE")
        # Apps receive the original names.
        assert (interaction["data"]["name"], interaction["data"]["options"]) == (
            "weather",
            [{"type": CommandOptionType.STRING, "name": "place", "value": "Bern"}],
        )
        await respond(app_guild, interaction, InteractionCallbackType.CHANNEL_MESSAGE_WITH_SOURCE, content="rain")
        await window.wait_message("rain")
        await form.wait_for(state="detached")


async def respond(app_guild: AppGuild, interaction: Any, callback_type: InteractionCallbackType, **data: Any) -> None:
    """Respond to an interaction over HTTP, as a bot without a library."""
    path = f"/interactions/{interaction['id']}/{interaction['token']}/callback"
    (await app_guild.world.request("POST", path, json={"type": callback_type, "data": data})).ok()


async def test_an_older_autocomplete_response_does_not_replace_a_newer_one(app_guild: AppGuild) -> None:
    option = {
        "type": CommandOptionType.STRING,
        "name": "word",
        "description": "which",
        "autocomplete": True,
        "required": True,
    }
    path = f"/applications/{app_guild.bot.application_id}/guilds/{app_guild.guild.id}/commands"
    (await app_guild.bot.post(path, json={"name": "find", "description": "Finds", "options": [option]})).ok()
    interactions = await app_guild.bot.connect()
    async with app_guild.open_window(app_guild.bob) as window:
        form = await window.open_command_form("find")
        # Nothing is typed yet, but the app may offer choices.
        empty_interaction = await interactions.next("INTERACTION_CREATE")
        assert empty_interaction["data"]["options"][0]["value"] == ""
        await window.page.keyboard.type("a")
        first_interaction = await interactions.next("INTERACTION_CREATE")
        await window.page.keyboard.type("b")
        second_interaction = await interactions.next("INTERACTION_CREATE")
        assert [
            interaction["data"]["options"][0]["value"] for interaction in (first_interaction, second_interaction)
        ] == ["a", "ab"]
        await respond(
            app_guild,
            second_interaction,
            InteractionCallbackType.APPLICATION_COMMAND_AUTOCOMPLETE_RESULT,
            choices=[{"name": "abacus", "value": "1"}],
        )
        await window.page.get_by_role("option", name="abacus").wait_for()
        await respond(
            app_guild,
            first_interaction,
            InteractionCallbackType.APPLICATION_COMMAND_AUTOCOMPLETE_RESULT,
            choices=[{"name": "apple", "value": "2"}],
        )
        await app_guild.guild.send_message(app_guild.alice, "meanwhile")
        await window.wait_message("meanwhile")
        assert await window.page.get_by_role("option").all_inner_texts() == ["abacus"]

        # A value that was not offered can be sent too.
        await window.page.keyboard.type("out")
        await window.page.keyboard.press("Enter")
        command_interaction = await interactions.next(
            "INTERACTION_CREATE", lambda data: data["type"] == InteractionType.APPLICATION_COMMAND
        )
        assert command_interaction["data"]["options"][0]["value"] == "about"
        await respond(
            app_guild, command_interaction, InteractionCallbackType.CHANNEL_MESSAGE_WITH_SOURCE, content="found it"
        )
        await window.wait_message("found it")
        await form.wait_for(state="detached")


async def test_a_command_that_changed_since_it_was_loaded_is_reported(app_guild: AppGuild) -> None:
    path = f"/applications/{app_guild.bot.application_id}/guilds/{app_guild.guild.id}/commands"
    command = (await app_guild.bot.post(path, json={"name": "vote", "description": "Votes"})).ok()
    async with app_guild.open_window(app_guild.bob) as window:
        form = await window.open_command_form("vote")
        option = {"type": CommandOptionType.BOOLEAN, "name": "yes", "description": "or no", "required": True}
        (await app_guild.bot.patch(f"{path}/{command['id']}", json={"options": [option]})).ok()
        await form.get_by_role("button", name="Run").click()
        await form.get_by_text("This command has changed").wait_for()
        await form.get_by_role("button", name="Cancel").click()
        await window.composer.fill("")
        form = await window.open_command_form("vote")
        await form.get_by_role("button", name="yes").wait_for()
        # A required option is requested before the command is sent.
        await form.get_by_role("button", name="Run").click()
        await form.get_by_text("This option is required.").wait_for()


def layout_components(channel_id: int) -> list[dict[str, Any]]:
    """Return the components of a message that has no content."""
    link = {"type": ComponentType.BUTTON, "style": ButtonStyle.LINK, "label": "Map", "url": "https://maps.example/"}
    text = {"type": ComponentType.TEXT_DISPLAY, "content": "**Market** on <b>Saturday</b>"}
    section = {"type": ComponentType.SECTION, "components": [text], "accessory": link}
    default_channel = {"id": str(channel_id), "type": "channel"}
    select = {"type": ComponentType.CHANNEL_SELECT, "custom_id": "where", "default_values": [default_channel]}
    button = {
        "type": ComponentType.BUTTON,
        "style": ButtonStyle.SUCCESS,
        "label": "Come",
        "custom_id": "come",
        "disabled": True,
    }
    children = [
        section,
        {"type": ComponentType.SEPARATOR, "spacing": SeparatorSpacing.LARGE},
        {"type": ComponentType.FILE, "file": {"url": "attachment://plan.txt"}, "spoiler": True},
        {"type": ComponentType.ACTION_ROW, "components": [button]},
        {"type": ComponentType.ACTION_ROW, "components": [select]},
    ]
    picture = {"media": {"url": "attachment://map.png"}, "description": "The square from above"}
    return [
        {"type": ComponentType.CONTAINER, "accent_color": 0xE2A541, "components": children},
        {"type": ComponentType.MEDIA_GALLERY, "items": [picture]},
    ]


async def test_a_message_of_layout_components_is_shown(app_guild: AppGuild) -> None:
    files = [{"id": 0, "filename": "plan.txt"}, {"id": 1, "filename": "map.png"}]
    payload = {
        "flags": MessageFlags.IS_COMPONENTS_V2,
        "components": layout_components(app_guild.guild.general),
        "attachments": files,
    }
    form = aiohttp.FormData()
    form.add_field("payload_json", json.dumps(payload))
    form.add_field("files[0]", b"the plan", filename="plan.txt", content_type="text/plain")
    form.add_field("files[1]", ONE_PIXEL_PNG, filename="map.png", content_type="image/png")
    (await app_guild.bot.post(f"/channels/{app_guild.guild.general}/messages", data=form)).ok()

    async with app_guild.open_window(app_guild.bob) as window:
        row = await window.wait_message("Market on <b>Saturday</b>")
        link = row.get_by_role("link", name="Map", exact=True)
        assert await link.get_attribute("href") == "https://maps.example/"
        assert "noopener" in str(await link.get_attribute("rel"))
        picture = row.get_by_role("img", name="The square from above")
        await wait_until(
            window.page, "element => element.complete && element.naturalWidth === 1", await picture.element_handle()
        )
        assert await row.get_by_role("button", name="Come").is_disabled()
        assert "general" in await row.locator(".picker-value").inner_text()
        await row.get_by_role("button", name="Spoiler").click()
        async with window.page.expect_download() as download:
            await row.get_by_role("link", name="plan.txt").click()
        assert (await download.value).suggested_filename == "plan.txt"
        box = await row.locator(".component-container").bounding_box()
        assert box is not None
        assert box["width"] > 200
