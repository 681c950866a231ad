"""Games in the chat client: rich presence in profiles, the member list and direct messages, with the SDK as the game."""

from typing import Any

import pytest

from hubbub.sdk import (
    Activity,
    ActivityAssets,
    ActivityButton,
    ActivityParty,
    ActivityTimestamps,
    ActivityTypes,
    StatusDisplayTypes,
)
from tests.media import data_uri, png
from tests.sdk.players import Player, create_game, create_player
from tests.web.chat import ChatPlatform, ChatWindow, general_path
from tests.web.settings import accessibility_problems
from tests.world import befriend

expect = pytest.importorskip("playwright.async_api").expect
MINUTE_MS = 60_000


def full_activity(now_ms: int, **overrides: Any) -> Activity:
    """Return an activity that uses every field of a card."""
    fields: dict[str, Any] = {
        "name": "Puddle",
        "details": "Ranked match",
        "details_url": "https://puddle.example/match",
        "state": "In a party",
        "state_url": "https://puddle.example/party",
        "status_display_type": StatusDisplayTypes.DETAILS,
        "assets": ActivityAssets(
            large_image="pond",
            large_text="The old pond",
            large_url="https://puddle.example/pond",
            small_image="frog",
            small_text="Frog, level 7",
            small_url="https://puddle.example/frog",
        ),
        "party": ActivityParty(id="party-1", current_size=2, max_size=4),
        "timestamps": ActivityTimestamps(start=now_ms - 65 * MINUTE_MS),
    }
    activity = Activity(**(fields | overrides))
    activity.add_button(ActivityButton(label="Watch", url="https://puddle.example/watch"))
    activity.add_button(ActivityButton(label="Get the game", url="https://puddle.example/get"))
    return activity


async def create_host(platform: ChatPlatform) -> Player:
    """Create Mary, who plays Puddle with the SDK; the game has two images."""
    world = platform.world
    game = await create_game(world)
    for name, color in (("pond", "teal"), ("frog", "olive")):
        image = data_uri(png(64, 64, color))
        (await game.owner.post(f"/oauth2/applications/{game.id}/assets", json={"name": name, "image": image})).ok()
    return await create_player(world, game, "mary")


async def open_profile(window: ChatWindow, name: str) -> Any:
    """Open the profile of a member from the member list, and return the locator of the dialog."""
    await window.page.locator(".member").filter(has_text=name).click()
    return window.page.get_by_role("dialog", name=name)


async def assert_opens_safely(link: Any, url: str) -> None:
    """Check that a link opens in a new tab that cannot access the chat client."""
    await expect(link).to_have_attribute("href", url)
    await expect(link).to_have_attribute("target", "_blank")
    await expect(link).to_have_attribute("rel", "noopener noreferrer nofollow")


@pytest.mark.parametrize("width", [1280, 390])
async def test_a_profile_shows_a_card_of_the_game(platform: ChatPlatform, width: int) -> None:
    mary = await create_host(platform)
    guild = await platform.world.guild(await platform.world.user("nora"), mary.user)
    await mary.client.update_rich_presence(full_activity(platform.world.clock.now_ms()))

    async with platform.open_window(guild.owner, general_path(guild), width=width) as window:
        if width < 1000:
            await window.page.get_by_role("button", name="Members", exact=True).click()
        await expect(window.page.locator(".member").filter(has_text="mary")).to_contain_text("Playing Ranked match")
        profile = await open_profile(window, "mary")
        card = profile.get_by_role("region", name="Playing Puddle")
        await assert_opens_safely(card.get_by_role("link", name="Ranked match"), "https://puddle.example/match")
        await assert_opens_safely(card.get_by_role("link", name="In a party"), "https://puddle.example/party")
        await assert_opens_safely(card.get_by_role("link", name="The old pond"), "https://puddle.example/pond")
        await assert_opens_safely(card.get_by_role("link", name="Frog, level 7"), "https://puddle.example/frog")
        await assert_opens_safely(card.get_by_role("link", name="Watch"), "https://puddle.example/watch")
        await assert_opens_safely(card.get_by_role("link", name="Get the game"), "https://puddle.example/get")
        await expect(card.locator(".activity-party")).to_have_text("(2 of 4)")
        await expect(card.locator(".activity-time")).to_contain_text("elapsed")
        assert await accessibility_problems(window) == []

        await mary.client.update_rich_presence(Activity(name="Puddle", state="In the menu"))
        await expect(card).to_contain_text("In the menu")
        mary.client.clear_rich_presence()
        await expect(card).to_have_count(0)
    await mary.client.close()


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({"status_display_type": StatusDisplayTypes.NAME}, "Playing Puddle"),
        ({"status_display_type": StatusDisplayTypes.STATE}, "Playing In a party"),
        ({"status_display_type": StatusDisplayTypes.STATE, "state": None}, "Playing Puddle"),
        ({"type": ActivityTypes.LISTENING}, "Listening to Ranked match"),
        ({"type": ActivityTypes.WATCHING}, "Watching Ranked match"),
        ({"type": ActivityTypes.COMPETING}, "Competing in Ranked match"),
    ],
)
async def test_the_member_list_shows_the_field_that_the_game_chooses(
    platform: ChatPlatform, fields: dict[str, Any], line: str
) -> None:
    mary = await create_host(platform)
    guild = await platform.world.guild(await platform.world.user("nora"), mary.user)

    async with platform.open_window(guild.owner, general_path(guild)) as window:
        await mary.client.update_rich_presence(full_activity(platform.world.clock.now_ms(), **fields))
        await expect(window.page.locator(".member").filter(has_text="mary").locator(".muted")).to_have_text(line)
    await mary.client.close()


async def test_a_direct_message_shows_the_activity_and_its_progress(platform: ChatPlatform) -> None:
    mary = await create_host(platform)
    nora = await platform.world.user("nora")
    await befriend(nora, mary.user)
    channel = (await nora.post("/users/@me/channels", json={"recipient_id": str(mary.id)})).ok()
    now_ms = platform.world.clock.now_ms()
    timestamps = ActivityTimestamps(start=now_ms - MINUTE_MS, end=now_ms + 3 * MINUTE_MS)
    activity = full_activity(now_ms, type=ActivityTypes.LISTENING, timestamps=timestamps)
    await mary.client.update_rich_presence(activity)

    async with platform.open_window(nora, f"/app/channels/@me/{channel['id']}") as window:
        page = window.page
        await expect(page.locator(".side .entry-activity")).to_have_text("Listening to Ranked match")
        button = page.locator(".view-title").get_by_role("button", name="Listening to Ranked match")
        await button.press("Enter")
        card = page.get_by_role("dialog", name="Activities of mary").get_by_role("region", name="Listening to Puddle")
        await expect(card.get_by_role("progressbar", name="Progress")).to_have_js_property("value", 25)
        await expect(card.locator(".activity-time")).to_contain_text(" of 4:00")
        await expect(card.get_by_role("img", name="The old pond")).to_be_visible()
        assert await accessibility_problems(window) == []
        await page.keyboard.press("Escape")
        await expect(card).to_have_count(0)
        await expect(button).to_be_focused()

        remaining_time = ActivityTimestamps(end=now_ms + 10 * MINUTE_MS)
        await mary.client.update_rich_presence(full_activity(now_ms, timestamps=remaining_time))
        await page.locator(".view-title").get_by_role("button", name="Playing Ranked match").click()
        await expect(page.locator(".activity-time")).to_contain_text(" left")
    await mary.client.close()
