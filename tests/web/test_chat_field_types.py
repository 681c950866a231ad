"""Every type of option, select and field in the chat client, with a bot whose requests the test itself sends."""

from typing import Any

import pytest

from hubbub.protocol.enums import (
    ButtonStyle,
    ChannelType,
    CommandOptionType,
    ComponentType,
    InteractionCallbackType,
    SkuType,
    TextInputStyle,
)
from hubbub.protocol.flags import MessageFlags
from tests.web.app_guild import AppGuild, ChannelWindow
from tests.web.conftest import DESKTOP_WIDTH, PHONE_WIDTH
from tests.web.polling import wait_until
from tests.world import Session

OPTIONS: list[dict[str, Any]] = [
    {"type": CommandOptionType.STRING, "name": "word", "description": "a word", "required": True},
    {"type": CommandOptionType.INTEGER, "name": "whole", "description": "a whole number", "required": True},
    {"type": CommandOptionType.NUMBER, "name": "part", "description": "a number", "required": True},
    {"type": CommandOptionType.BOOLEAN, "name": "yes", "description": "or no", "required": True},
    {"type": CommandOptionType.USER, "name": "user", "description": "a user", "required": True},
    {
        "type": CommandOptionType.CHANNEL,
        "name": "place",
        "description": "a voice channel",
        "channel_types": [ChannelType.GUILD_VOICE],
        "required": True,
    },
    {"type": CommandOptionType.ROLE, "name": "rank", "description": "a role", "required": True},
    {"type": CommandOptionType.MENTIONABLE, "name": "either", "description": "a user or a role", "required": True},
]


async def next_interaction(interactions: Session) -> Any:
    return await interactions.next("INTERACTION_CREATE")


async def respond(
    app_guild: AppGuild,
    interaction: Any,
    callback_type: InteractionCallbackType,
    data: dict[str, Any] | None = None,
) -> None:
    body: dict[str, Any] = {"type": callback_type} if data is None else {"type": callback_type, "data": data}
    path = f"/interactions/{interaction['id']}/{interaction['token']}/callback"
    (await app_guild.world.request("POST", path, json=body)).ok()


async def choose_values(window: ChannelWindow, container: Any, label: str, *names: str) -> None:
    """Choose values in the picker with this label. The first value closes a picker for one value; Escape closes others."""
    await container.get_by_role("button", name=label).click()
    for name in names:
        await window.page.get_by_role("option", name=name, exact=True).click()
    if len(names) > 1:
        await window.page.keyboard.press("Escape")


async def create_command(app_guild: AppGuild, name: str, **fields: Any) -> Session:
    """Create a command of the bot; return a session that receives its interactions."""
    path = f"/applications/{app_guild.bot.application_id}/guilds/{app_guild.guild.id}/commands"
    (await app_guild.bot.post(path, json={"name": name, "description": "tries something", **fields})).ok()
    return await app_guild.bot.connect()


async def test_every_type_of_option_can_be_filled_in(app_guild: AppGuild) -> None:
    interactions = await create_command(app_guild, "kinds", options=OPTIONS)
    role_id = await app_guild.guild.role("bakers")
    async with app_guild.open_window(app_guild.bob) as window:
        form = await window.open_command_form("kinds")
        await form.get_by_label("word").fill("<b>bold</b>")
        await form.get_by_label("whole").fill("seven")
        await form.get_by_label("part").fill("2,5")
        await choose_values(window, form, "yes", "False")
        await choose_values(window, form, "user", "alice")
        # Only values that the command accepts are offered.
        await form.get_by_role("button", name="place").click()
        assert await window.page.get_by_role("option").all_inner_texts() == ["General"]
        await window.page.get_by_role("option").click()
        await choose_values(window, form, "rank", "bakers")
        await choose_values(window, form, "either", "bakers")

        # Text is not a number: the error is at the field, and no interaction is sent.
        await form.get_by_role("button", name="Run").click()
        invalid_field = form.locator(".command-field", has=window.page.locator("[aria-invalid]"))
        assert "whole" in await invalid_field.inner_text()
        await form.get_by_label("whole").fill("-7")
        await form.get_by_role("button", name="Run").click()
        interaction = await next_interaction(interactions)
        values = {option["name"]: option["value"] for option in interaction["data"]["options"]}
        voice_channel_id, alice = str(app_guild.guild.channels["General"]), str(app_guild.alice.id)
        assert (values.pop("user"), values.pop("place"), values.pop("rank")) == (alice, voice_channel_id, str(role_id))
        assert values == {"word": "<b>bold</b>", "whole": -7, "part": 2.5, "yes": False, "either": str(role_id)}
        await respond(
            app_guild, interaction, InteractionCallbackType.CHANNEL_MESSAGE_WITH_SOURCE, {"content": "all there"}
        )
        await window.wait_message("all there")


async def test_every_type_of_select_and_a_premium_button_can_be_used(app_guild: AppGuild) -> None:
    baker_role_id = await app_guild.guild.role("bakers")
    sku_body = {"type": SkuType.DURABLE, "name": "Crown", "price": 499, "published": True}
    sku = (await app_guild.bot.post(f"/applications/{app_guild.bot.application_id}/skus", json=sku_body)).ok()
    selects: list[dict[str, Any]] = [
        {"type": ComponentType.ROLE_SELECT, "custom_id": "roles", "placeholder": "Ranks", "max_values": 2},
        {
            "type": ComponentType.MENTIONABLE_SELECT,
            "custom_id": "mentionable",
            "placeholder": "Mentionable",
            "default_values": [{"id": str(baker_role_id), "type": "role"}],
        },
        {
            "type": ComponentType.CHANNEL_SELECT,
            "custom_id": "places",
            "placeholder": "Places",
            "channel_types": [ChannelType.GUILD_VOICE],
        },
    ]
    button = {"type": ComponentType.BUTTON, "style": ButtonStyle.PREMIUM, "sku_id": sku["id"]}
    rows = [{"type": ComponentType.ACTION_ROW, "components": [component]} for component in (*selects, button)]
    await app_guild.guild.send_message(app_guild.bot, "choose", components=rows)
    interactions = await app_guild.bot.connect()
    async with app_guild.open_window(app_guild.bob) as window:
        row = await window.wait_message("choose")
        store_link = row.get_by_role("link", name="Crown for $4.99")
        assert (
            await store_link.get_attribute("href")
            == f"/application-directory/{app_guild.bot.application_id}/store/{sku['id']}"
        )
        assert "bakers" in await row.get_by_role("button", name="Mentionable").inner_text()

        # Several values are submitted when the list closes, a single one immediately.
        await choose_values(window, row, "Ranks", "bakers", "@everyone")
        interaction = await next_interaction(interactions)
        assert (interaction["data"]["custom_id"], set(interaction["data"]["values"])) == (
            "roles",
            {str(baker_role_id), str(app_guild.guild.id)},
        )
        await respond(app_guild, interaction, InteractionCallbackType.DEFERRED_UPDATE_MESSAGE)
        await choose_values(window, row, "Mentionable", "alice")
        interaction = await next_interaction(interactions)
        assert list(interaction["data"]["resolved"]["users"]) == [str(app_guild.alice.id)]
        await respond(app_guild, interaction, InteractionCallbackType.DEFERRED_UPDATE_MESSAGE)
        await choose_values(window, row, "Places", "General")
        interaction = await next_interaction(interactions)
        assert list(interaction["data"]["resolved"]["channels"]) == [str(app_guild.guild.channels["General"])]
        await respond(app_guild, interaction, InteractionCallbackType.DEFERRED_UPDATE_MESSAGE)
        await wait_until(window.page, "document.querySelectorAll('.waiting').length === 0")


@pytest.mark.parametrize("width", [PHONE_WIDTH, DESKTOP_WIDTH])
async def test_a_modal_with_action_rows_can_be_submitted(app_guild: AppGuild, width: int) -> None:
    interactions = await create_command(app_guild, "report")
    inputs = [
        {
            "type": ComponentType.TEXT_INPUT,
            "style": TextInputStyle.SHORT,
            "custom_id": "subject",
            "label": "Subject",
            "max_length": 10,
        },
        {
            "type": ComponentType.TEXT_INPUT,
            "style": TextInputStyle.PARAGRAPH,
            "custom_id": "words",
            "label": "Words",
            "min_length": 5,
            "value": "once",
        },
    ]
    modal = {
        "custom_id": "m",
        "title": "Report",
        "components": [{"type": ComponentType.ACTION_ROW, "components": [text_input]} for text_input in inputs],
    }
    async with app_guild.open_window(app_guild.bob, width=width) as window:
        await window.open_command_form("report")
        await window.page.keyboard.press("Enter")
        await respond(app_guild, await next_interaction(interactions), InteractionCallbackType.MODAL, modal)
        dialog = window.page.get_by_role("dialog", name="Report")
        # The input stops at the maximum length.
        await dialog.get_by_label("Subject").press_sequentially("a subject that is long")
        assert await dialog.get_by_label("Subject").input_value() == "a subject "
        assert await dialog.get_by_label("Words").input_value() == "once"
        await dialog.get_by_role("button", name="Submit").click()
        words = dialog.locator(".app-field", has_text="Words")
        await words.get_by_text("Must be between 5").wait_for()
        await dialog.get_by_label("Words").fill("once more")
        await dialog.get_by_role("button", name="Submit").click()
        interaction = await next_interaction(interactions)
        values = [row["components"][0]["value"] for row in interaction["data"]["components"]]
        assert values == ["a subject ", "once more"]

        # The form stays until the app has responded.
        assert await dialog.count() == 1
        await respond(
            app_guild,
            interaction,
            InteractionCallbackType.CHANNEL_MESSAGE_WITH_SOURCE,
            {"content": "noted", "flags": MessageFlags.EPHEMERAL},
        )
        await dialog.wait_for(state="detached")
        await window.wait_message("noted")
