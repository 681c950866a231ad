"""Unread messages and notifications in the chat client: mention counts, mutes, settings, the inbox, marks and sounds.

The module also tests the member list of a large guild.
"""

from functools import partial
from typing import Any

import pytest

from hubbub.server.core.call import Call
from hubbub.server.identity import accounts
from hubbub.server.places import members
from tests.server.talk.private_channels import open_dm, send_message
from tests.server.talk.test_read_states import send_text
from tests.web.chat import ChatPlatform, ChatWindow, general_path
from tests.web.settings import accessibility_problems
from tests.world import Guild

pytestmark = pytest.mark.full_browser


def locate_channel_entry(window: ChatWindow, channel_id: int | str) -> Any:
    """Return the locator of a channel or conversation in the sidebar."""
    return window.page.locator(f'.side .entry[data-focus="{channel_id}"]')


def locate_mention_count(window: ChatWindow, channel_id: int | str) -> Any:
    """Return the locator of the mention count of a channel or conversation in the sidebar."""
    return locate_channel_entry(window, channel_id).locator(".count")


async def create_news_channel(guild: Guild) -> int:
    """Create the channel #news and return its ID. A window that shows #news does not mark messages in #general as read."""
    return await guild.channel("news")


async def test_counts_survive_a_reload_and_reading_in_one_window_clears_the_other(platform: ChatPlatform) -> None:
    nora, omar = await platform.world.user("nora"), await platform.world.user("omar")
    guild = await platform.world.guild(nora, omar)
    news_channel_id = await create_news_channel(guild)
    private_channel_id = (await open_dm(omar, nora))["id"]
    await send_text(omar, guild.general, f"<@{nora.id}> while away")
    await send_text(omar, guild.general, f"<@{nora.id}> twice")
    await send_message(omar, private_channel_id)
    path = f"/app/channels/{guild.id}/{news_channel_id}"

    async with platform.open_window(nora, path) as first_window, platform.open_window(nora, path) as second_window:
        await first_window.page.get_by_role("link", name="Direct messages, 1 mention").wait_for()
        assert (await locate_mention_count(first_window, guild.general).inner_text()).startswith("2")
        assert (await first_window.page.title()).startswith("(3) ")
        await first_window.page.locator('link[rel=icon][data-badge="3"]').wait_for(state="attached")
        await first_window.page.reload()
        await locate_mention_count(first_window, guild.general).wait_for()
        assert (await locate_mention_count(second_window, guild.general).inner_text()).startswith("2")

        await locate_channel_entry(first_window, guild.general).click()
        await first_window.wait_message("twice")

        await locate_mention_count(second_window, guild.general).wait_for(state="detached")
        await second_window.wait_until("() => document.title.startsWith('(1) ')")


async def test_a_channel_is_muted_and_unmuted_by_keyboard(platform: ChatPlatform) -> None:
    nora, omar = await platform.world.user("nora"), await platform.world.user("omar")
    guild = await platform.world.guild(nora, omar)
    news_channel_id = await create_news_channel(guild)

    async with platform.open_window(nora, f"/app/channels/{guild.id}/{news_channel_id}") as window:
        page = window.page
        channel_entry = locate_channel_entry(window, guild.general)
        await channel_entry.focus()
        await page.keyboard.press("Shift+F10")
        await page.get_by_role("menuitem", name="Mute…").focus()
        await page.keyboard.press("Enter")
        await page.get_by_role("menuitem", name="For 15 minutes").focus()
        await page.keyboard.press("Enter")
        await channel_entry.get_by_role("img", name="muted").wait_for()
        await send_text(omar, guild.general, "@everyone nothing to see")
        await send_text(omar, news_channel_id, "seen")
        await window.wait_message("seen")
        assert await locate_mention_count(window, guild.general).count() == 0
        assert "unread" not in str(await channel_entry.get_attribute("class"))
        await send_text(omar, guild.general, f"<@{nora.id}> by name")
        await locate_mention_count(window, guild.general).wait_for()

        await page.reload()
        await channel_entry.get_by_role("img", name="muted").wait_for()
        assert (await locate_mention_count(window, guild.general).inner_text()).startswith("1")
        await channel_entry.click(button="right")
        await page.get_by_role("menuitem", name="Unmute (until").click()

        await page.locator(f'.side .entry.unread[data-focus="{guild.general}"]').wait_for()
        await window.wait_until("() => document.querySelector('.side .entry .count')?.textContent.startsWith('2')")


async def test_notification_settings_of_a_guild_apply_to_all_windows(platform: ChatPlatform) -> None:
    nora, omar = await platform.world.user("nora"), await platform.world.user("omar")
    guild = await platform.world.guild(nora, omar)
    news_channel_id = await create_news_channel(guild)
    await send_text(omar, guild.general, "@everyone")
    path = f"/app/channels/{guild.id}/{news_channel_id}"

    async with platform.open_window(nora, path) as first_window, platform.open_window(nora, path) as second_window:
        await locate_mention_count(second_window, guild.general).wait_for()
        await first_window.page.get_by_role("button", name="Menu of").click()
        await first_window.page.get_by_role("menuitem", name="Notification settings").click()
        dialog = first_window.page.get_by_role("dialog")
        await dialog.get_by_label("Notify me about").select_option(label="Only mentions")
        await dialog.get_by_label("Suppress @everyone and @here").check()
        await dialog.get_by_label("Push notifications").uncheck()
        assert await accessibility_problems(first_window) == []
        await dialog.get_by_role("button", name="Save").click()

        await locate_mention_count(second_window, guild.general).wait_for(state="detached")
        settings = (await nora.connect()).ready["user_guild_settings"]["entries"]
        names = ("message_notifications", "suppress_everyone", "mobile_push")
        assert [[entry[name] for name in names] for entry in settings] == [[1, True, False]]


async def test_the_inbox_lists_mentions_and_leads_to_them(platform: ChatPlatform) -> None:
    nora, omar = await platform.world.user("nora"), await platform.world.user("omar")
    guild = await platform.world.guild(nora, omar)
    await send_text(omar, guild.general, f"<@{nora.id}> look here")
    await send_text(omar, guild.general, "@everyone meeting")

    async with platform.open_window(nora) as window:
        page = window.page
        await page.get_by_role("button", name="Mentions").click()
        results = page.get_by_role("dialog", name="Mentions").locator(".search-result")
        await results.nth(1).wait_for()
        assert "meeting" in await results.nth(0).inner_text()
        assert "Unread" in await results.nth(1).inner_text()
        assert await accessibility_problems(window) == []
        await page.get_by_label("@everyone and @here").uncheck()
        await results.nth(1).wait_for(state="detached")
        await results.get_by_role("link", name="Jump to message").click()

        await window.wait_message("look here")


async def test_a_message_is_marked_as_unread_and_stays_so(platform: ChatPlatform) -> None:
    nora, omar = await platform.world.user("nora"), await platform.world.user("omar")
    guild = await platform.world.guild(nora, omar)
    news_channel_id = await create_news_channel(guild)
    for text in ("one", "two", f"three <@{nora.id}>"):
        await send_text(omar, guild.general, text)

    async with platform.open_window(nora, general_path(guild)) as window:
        page = window.page
        row = await window.wait_message("two")
        await row.focus()
        await page.keyboard.press("u")
        await page.locator(".day.new").wait_for()
        await locate_channel_entry(window, news_channel_id).click()
        await window.wait_until("id => location.pathname.endsWith(id)", str(news_channel_id))

        await locate_mention_count(window, guild.general).wait_for()
        await page.reload()
        assert (await locate_mention_count(window, guild.general).inner_text()).startswith("1")
        await locate_channel_entry(window, guild.general).click()
        divider = page.locator(".day.new + .message")
        assert "two" in await divider.inner_text()
        await locate_mention_count(window, guild.general).wait_for(state="detached")


async def test_many_unread_messages_offer_a_jump_to_the_first(platform: ChatPlatform) -> None:
    nora, omar = await platform.world.user("nora"), await platform.world.user("omar")
    guild = await platform.world.guild(nora, omar)
    first_message_id = await send_text(omar, guild.general, "read message")
    (await nora.post(f"/channels/{guild.general}/messages/{first_message_id}/ack")).ok()
    for number in range(1, 121):
        await send_text(omar, guild.general, f"line {number}.")

    async with platform.open_window(nora, general_path(guild)) as window:
        page = window.page
        await window.wait_message("line 120.")
        bar = page.get_by_role("region", name="Unread messages")
        await bar.wait_for()
        assert await accessibility_problems(window) == []
        await bar.get_by_role("button", name="Jump to first unread").click()

        await window.wait_message("line 1.")
        row = page.locator(".day.new + .message")
        assert "line 1." in await row.inner_text()
        assert await row.evaluate("node => document.activeElement === node")
        await bar.wait_for(state="hidden")


async def test_all_channels_of_a_guild_are_marked_as_read(platform: ChatPlatform) -> None:
    nora, omar = await platform.world.user("nora"), await platform.world.user("omar")
    guild = await platform.world.guild(nora, omar)
    news_channel_id = await create_news_channel(guild)
    await send_text(omar, guild.general, "@everyone")

    async with platform.open_window(nora, f"/app/channels/{guild.id}/{news_channel_id}") as window:
        await locate_mention_count(window, guild.general).wait_for()
        await window.page.locator(f".rail a[href$='/{guild.id}']").click(button="right")
        await window.page.get_by_role("menuitem", name="Mark all as read").click()

        await locate_mention_count(window, guild.general).wait_for(state="detached")
        states = (await nora.get("/users/@me/read-states")).ok()["entries"]
        assert all(state["mention_count"] == 0 for state in states)


async def test_an_open_menu_stays_when_the_shown_channel_changes(platform: ChatPlatform) -> None:
    nora = await platform.world.user("nora")
    guild = await platform.world.guild(nora)

    async with platform.open_window(nora, general_path(guild)) as window:
        await window.page.locator(f".rail a[href$='/{guild.id}']").click(button="right")
        menu_entry = window.page.get_by_role("menuitem", name="Mark all as read")
        await menu_entry.wait_for()
        (await nora.patch(f"/channels/{guild.general}", json={"topic": "New topic"})).ok()
        await window.page.get_by_text("New topic").wait_for()

        await menu_entry.click()
        await menu_entry.wait_for(state="detached")


# Notifications and large guilds

RECORD_NOTIFICATIONS = """
window.shown = [];
window.Notification = class extends EventTarget {
  static permission = "granted";
  constructor(title, options) { super(); window.shown.push([title, options.body]); }
};
document.hasFocus = () => false;
"""


async def test_a_page_in_the_background_shows_desktop_notifications(platform: ChatPlatform) -> None:
    nora, omar = await platform.world.user("nora"), await platform.world.user("omar")
    guild = await platform.world.guild(nora, omar)
    news_channel_id = await create_news_channel(guild)
    (await nora.patch(f"/users/@me/guilds/{guild.id}/settings", json={"message_notifications": 1})).ok()

    async with platform.open_window(nora, general_path(guild), init_script=RECORD_NOTIFICATIONS) as window:
        await window.page.locator("textarea.compose").wait_for()
        await send_text(omar, news_channel_id, "no mention")
        await send_text(omar, news_channel_id, f"<@{nora.id}> look")
        await window.wait_until("() => window.shown.length > 0")
        assert await window.page.evaluate("window.shown") == [["omar (#news, Guild)", "@nora look"]]

        (await nora.patch("/users/@me/settings", json={"desktop_notifications": False})).ok()
        await send_text(omar, news_channel_id, f"<@{nora.id}> again")
        await window.wait_until("() => document.title.startsWith('(2)')")
        assert len(await window.page.evaluate("window.shown")) == 1


RECORD_TONES = """
window.tones = [];
const start = AudioScheduledSourceNode.prototype.start;
AudioScheduledSourceNode.prototype.start = function (...times) {
  window.tones.push(Math.round(this.frequency.value));
  return start.apply(this, times);
};
"""


async def test_a_message_that_notifies_plays_a_sound_until_the_user_turns_it_off(platform: ChatPlatform) -> None:
    nora, omar = await platform.world.user("nora"), await platform.world.user("omar")
    guild = await platform.world.guild(nora, omar)
    news_channel_id = await create_news_channel(guild)

    async with platform.open_window(nora, general_path(guild), init_script=RECORD_TONES) as window:
        # Browsers allow sound after the first click.
        await window.page.locator("textarea.compose").click()
        await send_text(omar, news_channel_id, f"<@{nora.id}> look")
        await window.wait_until("() => window.tones.length === 2")
        assert await window.page.evaluate("window.tones") == [880, 1175]

        (await nora.patch("/users/@me/settings", json={"notification_sounds": False})).ok()
        await send_text(omar, news_channel_id, f"<@{nora.id}> again")
        await window.wait_until("() => document.title.startsWith('(2)')")
        assert len(await window.page.evaluate("window.tones")) == 2


def add_members(guild: Guild, count: int, call: Call) -> None:
    """Add new users to a guild, without sessions: person0, person1 and so on."""
    for index in range(count):
        members.membership.add(call, guild.id, accounts.create_user(call, f"person{index}").id)


async def test_a_large_guild_lists_counts_and_completes_all_members(platform: ChatPlatform) -> None:
    nora = await platform.world.user("nora")
    guild = await platform.world.guild(nora)
    await platform.world.write(partial(add_members, guild, 300), actor=nora.id)

    async with platform.open_window(nora, general_path(guild)) as window:
        page = window.page
        await page.get_by_role("heading", name="Offline · 300").wait_for()
        assert await page.locator(".member-list li").count() < 60
        await window.composer.fill("@person299")
        await page.get_by_role("option", name="person299").wait_for()
        await page.locator("#members").evaluate("node => node.scrollTop = node.scrollHeight")
        await window.wait_until("() => document.querySelector('.member-list').textContent.includes('person99')")
        await page.locator(".member[tabindex='0']").first.focus()
        await page.keyboard.press("End")
        await window.wait_until("() => document.activeElement.textContent.includes('person99')")
        assert await accessibility_problems(window) == []
