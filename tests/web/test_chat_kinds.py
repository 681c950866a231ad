"""Every kind of option, select and field in the chat client, with a bot that the test itself acts for."""

from typing import Any

import pytest

from tests.web.app_guild import AppGuild, Window
from tests.web.polling import wait_until
from tests.world import Session

KINDS: list[dict[str, Any]] = [
    {"type": 3, "name": "word", "description": "a word", "required": True},
    {"type": 4, "name": "whole", "description": "a whole number", "required": True},
    {"type": 10, "name": "part", "description": "a number", "required": True},
    {"type": 5, "name": "yes", "description": "or no", "required": True},
    {"type": 6, "name": "person", "description": "a user", "required": True},
    {"type": 7, "name": "place", "description": "a voice channel", "channel_types": [2], "required": True},
    {"type": 8, "name": "rank", "description": "a role", "required": True},
    {"type": 9, "name": "either", "description": "a user or a role", "required": True},
]


async def next_interaction(interactions: Session) -> Any:
    """Return the next interaction."""
    return await interactions.next("INTERACTION_CREATE")


async def answer(square: AppGuild, asked: Any, kind: int, data: dict[str, Any] | None = None) -> None:
    """Respond to an interaction."""
    body: dict[str, Any] = {"type": kind} if data is None else {"type": kind, "data": data}
    (await square.world.request("POST", f"/interactions/{asked['id']}/{asked['token']}/callback", json=body)).ok()


async def choose(window: Window, within: Any, label: str, *names: str) -> None:
    """Choose a value in a picker. A single choice closes it; after several, Escape does."""
    await within.get_by_role("button", name=label).click()
    for name in names:
        await window.page.get_by_role("option", name=name, exact=True).click()
    if len(names) > 1:
        await window.page.keyboard.press("Escape")


async def declare(square: AppGuild, name: str, **more: Any) -> Session:
    """Create a command of the bot; return a session that receives its interactions."""
    path = f"/applications/{square.bot.application_id}/guilds/{square.guild.id}/commands"
    (await square.bot.post(path, json={"name": name, "description": "tries something", **more})).ok()
    return await square.bot.connect()


async def test_every_kind_of_option(still: AppGuild) -> None:
    interactions = await declare(still, "kinds", options=KINDS)
    role = await still.guild.role("bakers")
    async with still.visit(still.bob) as window:
        form = await window.open_command_form("kinds")
        await form.get_by_label("word").fill("<b>bold</b>")
        await form.get_by_label("whole").fill("seven")
        await form.get_by_label("part").fill("2,5")
        await choose(window, form, "yes", "False")
        await choose(window, form, "person", "alice")
        # Only values that the command accepts are offered.
        await form.get_by_role("button", name="place").click()
        assert await window.page.get_by_role("option").all_inner_texts() == ["General"]
        await window.page.get_by_role("option").click()
        await choose(window, form, "rank", "bakers")
        await choose(window, form, "either", "bakers")

        # Text is not a number: the error is at the field, and no interaction is sent.
        await form.get_by_role("button", name="Run").click()
        wrong = form.locator(".command-field", has=window.page.locator("[aria-invalid]"))
        assert "whole" in await wrong.inner_text()
        await form.get_by_label("whole").fill("-7")
        await form.get_by_role("button", name="Run").click()
        asked = await next_interaction(interactions)
        values = {each["name"]: each["value"] for each in asked["data"]["options"]}
        voice, alice = str(still.guild.channels["General"]), str(still.alice.id)
        assert (values.pop("person"), values.pop("place"), values.pop("rank")) == (alice, voice, str(role))
        assert values == {"word": "<b>bold</b>", "whole": -7, "part": 2.5, "yes": False, "either": str(role)}
        await answer(still, asked, 4, {"content": "all there"})
        await window.sees("all there")


async def test_every_kind_of_select_and_a_button_that_sells(still: AppGuild) -> None:
    bakers = await still.guild.role("bakers")
    goods = {"type": 2, "name": "Crown", "price": 499, "published": True}
    sku = (await still.bot.post(f"/applications/{still.bot.application_id}/skus", json=goods)).ok()
    selects: list[dict[str, Any]] = [
        {"type": 6, "custom_id": "roles", "placeholder": "Ranks", "max_values": 2},
        {
            "type": 7,
            "custom_id": "mentionable",
            "placeholder": "Mentionable",
            "default_values": [{"id": str(bakers), "type": "role"}],
        },
        {"type": 8, "custom_id": "places", "placeholder": "Places", "channel_types": [2]},
    ]
    rows = [{"type": 1, "components": [each]} for each in selects]
    rows.append({"type": 1, "components": [{"type": 2, "style": 6, "sku_id": sku["id"]}]})
    await still.guild.send_message(still.bot, "choose", components=rows)
    interactions = await still.bot.connect()
    async with still.visit(still.bob) as window:
        row = await window.sees("choose")
        shop = row.get_by_role("link", name="Crown for $4.99")
        assert (
            await shop.get_attribute("href") == f"/application-directory/{still.bot.application_id}/store/{sku['id']}"
        )
        assert "bakers" in await row.get_by_role("button", name="Mentionable").inner_text()

        # Several values are submitted when the list closes, a single one at once.
        await choose(window, row, "Ranks", "bakers", "@everyone")
        asked = await next_interaction(interactions)
        assert (asked["data"]["custom_id"], set(asked["data"]["values"])) == (
            "roles",
            {str(bakers), str(still.guild.id)},
        )
        await answer(still, asked, 6)
        await choose(window, row, "Mentionable", "alice")
        asked = await next_interaction(interactions)
        assert list(asked["data"]["resolved"]["users"]) == [str(still.alice.id)]
        await answer(still, asked, 6)
        await choose(window, row, "Places", "General")
        asked = await next_interaction(interactions)
        assert list(asked["data"]["resolved"]["channels"]) == [str(still.guild.channels["General"])]
        await answer(still, asked, 6)
        await wait_until(window.page, "document.querySelectorAll('.waiting').length === 0")


@pytest.mark.parametrize("width", [360, 1280])
async def test_a_modal_with_action_rows(still: AppGuild, width: int) -> None:
    interactions = await declare(still, "report")
    fields = [
        {"type": 4, "style": 1, "custom_id": "subject", "label": "Subject", "max_length": 10},
        {"type": 4, "style": 2, "custom_id": "words", "label": "Words", "min_length": 5, "value": "once"},
    ]
    modal = {"custom_id": "m", "title": "Report", "components": [{"type": 1, "components": [each]} for each in fields]}
    async with still.visit(still.bob, width=width) as window:
        await window.open_command_form("report")
        await window.page.keyboard.press("Enter")
        await answer(still, await next_interaction(interactions), 9, modal)
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
        asked = await next_interaction(interactions)
        given = [row["components"][0]["value"] for row in asked["data"]["components"]]
        assert given == ["a subject ", "once more"]

        # The form stays until the app has responded.
        assert await dialog.count() == 1
        await answer(still, asked, 4, {"content": "noted", "flags": 64})
        await dialog.wait_for(state="detached")
        await window.sees("noted")
