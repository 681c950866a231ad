"""The chat client in a real browser: channels and users, history, and read state."""

from typing import Any

import pytest

from tests.server.places.invites import create_invite
from tests.web.chat import ChatPlatform, Window, general
from tests.web.test_chat import town
from tests.world import befriend

pytestmark = [pytest.mark.xdist_group("chromium"), pytest.mark.timeout(300)]

__all__ = ["town"]


def channels(window: Window) -> Any:
    """Return the list of a guild's channels."""
    return window.page.get_by_role("navigation", name="Channels of Guild")


async def test_history_scrolls_both_ways_and_a_link_opens_a_message(town: ChatPlatform) -> None:
    nora, tom = await town.world.user("nora"), await town.world.user("tom")
    guild = await town.world.guild(nora, tom)
    said = [await guild.send_message(tom if number % 7 else nora, f"number {number:03}") for number in range(170)]
    async with town.window(nora, general(guild)) as hers:
        page = hers.page
        await hers.sees("number 169")
        assert await hers.row("number 100").count() == 0
        up = "document.querySelector('.scroller').scrollTop = 0"
        for first in (70, 20):
            await page.evaluate(up)
            await hers.sees(f"number {first:03}")
        await page.evaluate(up)
        await page.get_by_text("This is the beginning of the conversation.").wait_for()
        shown = await page.locator(".message .content").all_inner_texts()
        assert shown == [f"number {number:03}" for number in range(170)]

        # A link into the history: the message is highlighted, visible and focused.
        await page.goto(f"{town.url}{general(guild, said[60])}")
        marked = page.locator(".message.marked")
        await marked.get_by_text("number 060").wait_for()
        await hers.until("() => document.activeElement.matches('.message.marked')")
        box, height = await marked.bounding_box(), 800
        assert box is not None
        assert 0 < box["y"] < height
        assert await hers.row("number 169").count() == 0
        down = "document.querySelector('.scroller').scrollTop = 1e6"
        await page.evaluate(down)
        await hers.sees("number 120")
        # Messages sent elsewhere meanwhile do not appear in between.
        await guild.send_message(tom, "number 170")
        await page.get_by_role("button", name="Newest messages").click()
        await hers.sees("number 170")
        await page.get_by_role("button", name="Newest messages").wait_for(state="hidden")
        assert await hers.row("number 060").count() == 0


async def test_unread_marks_stay_until_read_in_any_window(town: ChatPlatform) -> None:
    nora, tom = await town.world.user("nora"), await town.world.user("tom")
    guild = await town.world.guild(nora, tom)
    other = await guild.channel("other")
    await guild.send_message(tom, "old", channel=other)
    async with town.window(nora, general(guild)) as hers, town.window(nora, "/app") as second:
        for window in (hers, second):
            await (
                window.page.get_by_role("navigation", name="Guilds")
                .get_by_role("link", name="Guild, unread")
                .wait_for()
            )
        await guild.send_message(tom, f"<@{nora.id}> look", channel=other)
        link = hers.page.get_by_role("link", name="other 1 mention")
        await link.wait_for()
        await second.page.get_by_role("link", name="Guild, 1 mention").wait_for()
        assert (await hers.page.title()).startswith("(1) ")
        await link.click()
        await hers.page.locator(".day.new").wait_for()
        await hers.page.get_by_role("link", name="other", exact=True).wait_for()
        await second.page.get_by_role("link", name="Guild", exact=True).wait_for()
        await hers.until("() => !document.title.startsWith('(')")
        # A user's own message counts as read, also when the window closes at once.
        await hers.say("mine")
        await hers.sees("mine")
        await hers.page.goto("about:blank")
    # The read state was stored: the next window has it.
    async with town.window(nora, general(guild)) as again:
        await again.page.get_by_role("link", name="other", exact=True).wait_for()


async def test_friends_are_requested_accepted_messaged_blocked_and_removed(town: ChatPlatform) -> None:
    nora, tom = await town.world.user("nora"), await town.world.user("tom")
    async with town.window(nora) as hers, town.window(tom) as his:
        hers.expected = his.expected = ("Failed to load resource",)
        page = hers.page
        await page.get_by_label("Add a friend by username").fill("nobody at all")
        await page.get_by_role("button", name="Send request").click()
        await page.get_by_role("alert").wait_for()
        await page.get_by_label("Add a friend by username").fill("tom")
        await page.get_by_role("button", name="Send request").click()
        await page.get_by_role("region", name="Outgoing requests").get_by_text("@tom").wait_for()
        await his.page.get_by_role("region", name="Incoming requests").get_by_role("button", name="Accept").click()
        await page.get_by_role("region", name="Online").get_by_text("@tom").wait_for()

        await page.get_by_role("button", name="Message tom").click()
        await hers.say("Hello, friend")
        await his.page.get_by_role("link", name="nora 1 mention").click()
        await his.sees("Hello, friend")

        await his.page.get_by_role("link", name="Friends").click()
        await his.page.get_by_role("region", name="Online").get_by_role("button", name="nora").first.click()
        await his.page.get_by_role("dialog").get_by_role("button", name="Block").click()
        await his.page.get_by_role("dialog", name="Block nora?").get_by_role("button", name="Block").click()
        await his.page.get_by_role("region", name="Blocked").get_by_text("@nora").wait_for()
        await hers.say("Are you there?")
        await page.locator(".message.failed").get_by_text("This user does not accept messages from you.").wait_for()
        await his.page.get_by_role("region", name="Blocked").get_by_role("button", name="Unblock").click()
        await his.page.get_by_text("No friends yet.").wait_for()


async def test_an_invite_is_created_and_accepted_and_a_guild_is_created(town: ChatPlatform) -> None:
    nora, tom = await town.world.user("nora"), await town.world.user("tom")
    guild = await town.world.guild(nora, name="Harbour")
    async with town.window(nora, general(guild)) as hers, town.window(tom) as his:
        his.expected = ("Failed to load resource",)
        await hers.page.get_by_role("button", name="Menu of Harbour").click()
        await hers.page.get_by_role("menuitem", name="Invite people").click()
        link = hers.page.get_by_label("Invite link")
        await hers.until("() => document.querySelector('dialog input').value.includes('/invite/')")
        address = await link.input_value()
        await hers.page.get_by_role("button", name="Close", exact=True).click()

        await his.page.get_by_role("button", name="Join or create a guild").click()
        dialog = his.page.get_by_role("dialog")
        await dialog.get_by_label("Invite link").fill("no such thing here")
        await dialog.get_by_role("button", name="Look up").click()
        await dialog.get_by_text("This is not a valid invite.").wait_for()
        await dialog.get_by_label("Invite link").fill("zzzzzzzz")
        await dialog.get_by_role("button", name="Look up").click()
        await dialog.get_by_text("This invite is invalid").wait_for()
        await dialog.get_by_label("Invite link").fill(address)
        await dialog.get_by_role("button", name="Look up").click()
        await dialog.get_by_text("Harbour").wait_for()
        await dialog.get_by_role("button", name="Accept invite").click()
        await his.page.wait_for_url(f"**{general(guild)}")
        await his.say("I came")
        await hers.sees("I came")
        await hers.page.get_by_role("complementary", name="Members").get_by_role("button", name="tom").wait_for()

        await his.page.get_by_role("button", name="Join or create a guild").click()
        await dialog.get_by_label("New guild name").fill("Tom's own")
        await dialog.get_by_role("button", name="Create guild").click()
        await his.page.get_by_role("heading", name="Tom's own").wait_for()
        await his.page.get_by_role("textbox", name="Message #general").wait_for()
    # A shared invite URL opens the page for every visitor, and leads into the client.
    code = (await create_invite(nora, guild.general))["code"]
    carol = await town.world.user("carol")
    async with town.chromium() as page:
        await page.context.add_cookies([{"name": "hubbub_session", "value": carol.token, "url": town.url}])
        await page.goto(f"{town.url}/invite/{code}")
        await page.get_by_role("button", name="Accept invite").click()
        await page.get_by_role("textbox", name="Message #general").wait_for()


async def test_threads_and_posts_are_created_read_and_answered(town: ChatPlatform) -> None:
    nora, tom = await town.world.user("nora"), await town.world.user("tom")
    guild = await town.world.guild(nora, tom)
    forum = await guild.channel("ideas", type=15, available_tags=[{"name": "boats"}])
    await guild.send_message(tom, "Do we sail?")
    async with town.window(nora, general(guild)) as hers, town.window(tom, general(guild)) as his:
        row = await hers.sees("Do we sail?")
        await row.hover()
        await row.get_by_role("button", name="More").click()
        await hers.page.get_by_role("menuitem", name="Create thread").click()
        await hers.page.get_by_role("dialog").get_by_label("Name").fill("Sailing")
        await hers.page.get_by_role("dialog").get_by_role("button", name="Create thread").click()
        await hers.page.get_by_role("textbox", name="Message #Sailing").wait_for()
        await hers.say("On Sunday")
        await (await his.sees("Do we sail?")).get_by_role("link", name="Sailing").click()
        await his.sees("On Sunday")
        await his.say("With pleasure")
        await hers.sees("With pleasure")
        await his.page.get_by_role("link", name="Sailing").wait_for()

        await channels(his).get_by_role("link", name="ideas").click()
        await his.page.wait_for_url(f"**/{forum}")
        await his.page.get_by_role("button", name="New post").click()
        dialog = his.page.get_by_role("dialog")
        await dialog.get_by_label("Title").fill("A new boat")
        await dialog.get_by_label("Message").fill("Let us build one.")
        await dialog.get_by_text("boats").click()
        await dialog.get_by_role("button", name="Create post").click()
        await his.sees("Let us build one.")
        await channels(hers).get_by_role("link", name="ideas").click()
        post = hers.page.get_by_role("listitem").filter(has_text="A new boat").filter(has_text="boats")
        await post.get_by_role("link", name="A new boat").click()
        await hers.sees("Let us build one.")
        await hers.page.get_by_role("button", name="Channel options").click()
        await hers.page.get_by_role("menuitem", name="Archive thread").click()
        await channels(hers).get_by_role("link", name="ideas").click()
        await hers.page.get_by_role("button", name="Show archived posts").click()
        await hers.page.get_by_role("link", name="A new boat").wait_for()


async def test_messages_are_pinned_searched_and_opened(town: ChatPlatform) -> None:
    nora, tom = await town.world.user("nora"), await town.world.user("tom")
    guild = await town.world.guild(nora, tom)
    wanted = await guild.send_message(tom, "The lantern stands on the **pier**")
    for number in range(60):
        await guild.send_message(tom, f"number {number}")
    async with town.window(nora, general(guild, wanted)) as hers:
        page = hers.page
        row = await hers.sees("The lantern")
        await row.hover()
        await row.get_by_role("button", name="More").click()
        await page.get_by_role("menuitem", name="Pin").click()
        await row.get_by_title("Pinned").wait_for()
        await page.get_by_role("button", name="Newest messages").click()
        await page.get_by_text("nora pinned a message.").wait_for()
        await page.get_by_role("button", name="Pinned messages").click()
        await page.get_by_role("dialog").get_by_text("The lantern").wait_for()
        await page.get_by_role("dialog").get_by_role("link", name="Jump to message").click()
        await page.locator(".message.marked", has_text="The lantern").wait_for()

        await page.get_by_role("button", name="Newest messages").click()
        await page.get_by_role("button", name="Search").click()
        await page.get_by_role("searchbox", name="Search messages").fill("lantern")
        await page.keyboard.press("Enter")
        await page.get_by_role("dialog").get_by_text("1 message").wait_for()
        await page.get_by_role("dialog").get_by_role("link", name="Jump to message").click()
        await page.locator(".message.marked", has_text="The lantern").wait_for()


async def test_polls_are_voted_in_and_groups_are_created(town: ChatPlatform) -> None:
    nora, tom, carol = [await town.world.user(name) for name in ("nora", "tom", "carol")]
    guild = await town.world.guild(nora, tom)
    for friend in (tom, carol):
        await befriend(nora, friend)
    answers = [{"poll_media": {"text": text}} for text in ("Pier", "Tavern")]
    await guild.send_message(tom, "", poll={"question": {"text": "Where?"}, "answers": answers, "duration": 24})
    async with town.window(nora, general(guild)) as hers:
        page = hers.page
        poll = page.get_by_role("group", name="Poll: Where?")
        await poll.get_by_role("button", name="Pier").click()
        await poll.get_by_role("button", name="Pier 1 vote", pressed=True).wait_for()
        await poll.get_by_role("button", name="Tavern").click()
        await poll.get_by_role("button", name="Pier 0 votes", pressed=False).wait_for()
        await poll.get_by_role("button", name="Tavern").click()
        await poll.get_by_role("button", name="Tavern 0 votes").wait_for()

        await page.get_by_role("link", name="Direct messages").click()
        await page.get_by_role("button", name="New message").click()
        for name in ("tom", "carol"):
            await page.get_by_role("dialog").get_by_text(name).click()
        await page.get_by_role("dialog").get_by_role("button", name="Start conversation").click()
        await hers.say("We three")
        await hers.sees("We three")
        async with town.window(carol) as theirs:
            await (
                theirs.page.get_by_role("link", name="unread")
                .or_(theirs.page.get_by_role("link", name="tom"))
                .first.click()
            )
            await theirs.sees("We three")


async def test_a_voice_channel_shows_its_members_and_is_joined_muted_and_left(town: ChatPlatform) -> None:
    nora, tom = await town.world.user("nora"), await town.world.user("tom")
    guild = await town.world.guild(nora, tom)
    lounge = await guild.channel("lounge", type=2)
    async with town.window(nora, f"/app/channels/{guild.id}/{lounge}") as hers, town.window(tom, general(guild)) as his:
        await hers.page.get_by_role("button", name="Join", exact=True).click()
        there = his.page.locator(".in-voice")
        await there.get_by_text("nora").wait_for()
        panel = hers.page.get_by_role("group", name="Voice")
        await panel.get_by_text("lounge").wait_for()
        await panel.get_by_role("button", name="Mute").click()
        await there.get_by_label("muted").wait_for()
        await panel.get_by_role("button", name="Deafen").click()
        await there.get_by_label("deafened").wait_for()
        await hers.say("Typed in the voice channel")
        await hers.sees("Typed in the voice channel")
        await panel.get_by_role("button", name="Leave voice").click()
        await there.wait_for(state="detached")
        await panel.wait_for(state="detached")


async def test_members_are_shown_with_presence_and_current_name(town: ChatPlatform) -> None:
    nora, tom = await town.world.user("nora"), await town.world.user("tom")
    guild = await town.world.guild(nora, tom)
    await guild.send_message(tom, "hello")

    def member(window: Any, name: str) -> Any:
        return window.page.get_by_role("complementary", name="Members").get_by_role("button", name=name)

    async with town.window(nora, general(guild)) as hers:
        await member(hers, "tom").locator(".status.offline").wait_for()
        async with town.window(tom, general(guild)) as his:
            await member(hers, "tom").locator(".status.online").wait_for()
            await his.page.get_by_role("button", name="change status").click()
            await his.page.get_by_role("menuitem", name="Do not disturb").click()
            await member(hers, "tom").locator(".status.dnd").wait_for()
        (await nora.patch(f"/guilds/{guild.id}/members/{tom.id}", json={"nick": "Tom of the Pier"})).ok()
        await member(hers, "Tom of the Pier").wait_for()
        await hers.page.locator(".message .speaker", has_text="Tom of the Pier").wait_for()
        await member(hers, "Tom of the Pier").click()
        await hers.page.get_by_role("dialog", name="Tom of the Pier").get_by_role("button", name="Send message").click()
        await hers.page.wait_for_url("**/app/channels/@me/*")
