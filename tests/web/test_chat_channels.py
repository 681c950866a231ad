"""The chat client in a real browser: history, unread marks, friends, invites, threads, pins, polls, voice, members, categories."""

from typing import Any

from hubbub.protocol.enums import ChannelType
from tests.server.places.invites import create_invite
from tests.web.chat import ChatPlatform, ChatWindow, general_path
from tests.world import befriend


def locate_channel_list(window: ChatWindow) -> Any:
    """Return the locator of the guild's channel list."""
    return window.page.get_by_role("navigation", name="Channels of Guild")


async def test_history_scrolls_both_ways_and_a_link_opens_a_message(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    messages = [await guild.send_message(tom if number % 7 else nora, f"number {number:03}") for number in range(170)]
    async with platform.open_window(nora, general_path(guild)) as nora_window:
        page = nora_window.page
        await nora_window.wait_message("number 169")
        assert await nora_window.message("number 100").count() == 0
        scroll_up = "document.querySelector('.scroller').scrollTop = 0"
        for first_number in (70, 20):
            await page.evaluate(scroll_up)
            await nora_window.wait_message(f"number {first_number:03}")
        await page.evaluate(scroll_up)
        await page.get_by_text("This is the beginning of the channel.").wait_for()
        contents = await page.locator(".message .content").all_inner_texts()
        assert contents == [f"number {number:03}" for number in range(170)]

        # A link into the history: the message is highlighted, visible and focused.
        await page.goto(f"{platform.url}{general_path(guild, messages[60])}")
        marked_message = page.locator(".message.marked")
        await marked_message.get_by_text("number 060").wait_for()
        await nora_window.wait_until("() => document.activeElement.matches('.message.marked')")
        box, viewport_height = await marked_message.bounding_box(), 800
        assert box is not None
        assert 0 < box["y"] < viewport_height
        assert await nora_window.message("number 169").count() == 0
        scroll_down = "document.querySelector('.scroller').scrollTop = 1e6"
        await page.evaluate(scroll_down)
        await nora_window.wait_message("number 120")
        # The newest messages include one that was sent while the history was shown.
        await guild.send_message(tom, "number 170")
        await page.get_by_role("button", name="Newest messages").click()
        await nora_window.wait_message("number 170")
        await page.get_by_role("button", name="Newest messages").wait_for(state="hidden")
        assert await nora_window.message("number 060").count() == 0


async def test_unread_marks_stay_until_read_in_any_window(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    other_channel_id = await guild.channel("other")
    await guild.send_message(tom, "old", channel_id=other_channel_id)
    async with (
        platform.open_window(nora, general_path(guild)) as nora_window,
        platform.open_window(nora, "/app") as other_window,
    ):
        for window in (nora_window, other_window):
            await (
                window.page.get_by_role("navigation", name="Guilds")
                .get_by_role("link", name="Guild, unread")
                .wait_for()
            )
        await guild.send_message(tom, f"<@{nora.id}> look", channel_id=other_channel_id)
        link = nora_window.page.get_by_role("link", name="other 1 mention")
        await link.wait_for()
        await other_window.page.get_by_role("link", name="Guild, 1 mention").wait_for()
        assert (await nora_window.page.title()).startswith("(1) ")
        await link.click()
        await nora_window.page.locator(".day.new").wait_for()
        await nora_window.page.get_by_role("link", name="other", exact=True).wait_for()
        await other_window.page.get_by_role("link", name="Guild", exact=True).wait_for()
        await nora_window.wait_until("() => !document.title.startsWith('(')")
        # A user's own message counts as read, even if the window closes immediately.
        await nora_window.send("mine")
        await nora_window.wait_message("mine")
        await nora_window.page.goto("about:blank")
        # The read state was stored: the next window has it. The first window's context stays open, because its end would cancel
        # the request that the closing page sent.
        async with platform.open_window(nora, general_path(guild)) as next_window:
            await next_window.page.get_by_role("link", name="other", exact=True).wait_for()


async def test_friends_are_requested_accepted_messaged_blocked_and_unblocked(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    async with platform.open_window(nora) as nora_window, platform.open_window(tom) as tom_window:
        nora_window.expected_errors = tom_window.expected_errors = ("Failed to load resource",)
        page = nora_window.page
        await page.get_by_label("Add a friend by username").fill("nobody at all")
        await page.get_by_role("button", name="Send request").click()
        await page.get_by_role("alert").wait_for()
        await page.get_by_label("Add a friend by username").fill("tom")
        await page.get_by_role("button", name="Send request").click()
        await page.get_by_role("region", name="Outgoing requests").get_by_text("@tom").wait_for()
        await (
            tom_window.page.get_by_role("region", name="Incoming requests").get_by_role("button", name="Accept").click()
        )
        await page.get_by_role("region", name="Online").get_by_text("@tom").wait_for()

        await page.get_by_role("button", name="Message tom").click()
        await nora_window.send("Hello, friend")
        await tom_window.page.get_by_role("link", name="nora 1 mention").click()
        await tom_window.wait_message("Hello, friend")

        await tom_window.page.get_by_role("link", name="Friends").click()
        await tom_window.page.get_by_role("region", name="Online").get_by_role("button", name="nora").first.click()
        await tom_window.page.get_by_role("dialog").get_by_role("button", name="Block").click()
        await tom_window.page.get_by_role("dialog", name="Block nora?").get_by_role("button", name="Block").click()
        await tom_window.page.get_by_role("region", name="Blocked").get_by_text("@nora").wait_for()
        await nora_window.send("Are you there?")
        await page.locator(".message.failed").get_by_text("This user does not accept messages from you.").wait_for()
        await tom_window.page.get_by_role("region", name="Blocked").get_by_role("button", name="Unblock").click()
        await tom_window.page.get_by_text("No friends yet.").wait_for()


async def test_the_menu_of_a_guild_that_is_not_in_view_invites_to_that_guild(platform: ChatPlatform) -> None:
    nora = await platform.world.user("nora")
    guild = await platform.world.guild(nora, name="Harbour")
    other_guild = await platform.world.guild(nora, name="Lighthouse")
    async with platform.open_window(nora, general_path(guild)) as window:
        await window.page.locator(f".rail a[href$='/{other_guild.id}']").click(button="right")
        await window.page.get_by_role("menuitem", name="Invite people").click()
        await window.wait_until("() => document.querySelector('dialog input').value.includes('/invite/')")
        code = (await window.page.get_by_label("Invite link").input_value()).rsplit("/", 1)[1]
        assert (await nora.get(f"/invites/{code}")).ok()["guild"]["id"] == str(other_guild.id)


async def test_an_invite_is_created_and_accepted_and_a_guild_is_created(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, name="Harbour")
    async with platform.open_window(nora, general_path(guild)) as nora_window, platform.open_window(tom) as tom_window:
        tom_window.expected_errors = ("Failed to load resource",)
        await nora_window.page.get_by_role("button", name="Menu of Harbour").click()
        await nora_window.page.get_by_role("menuitem", name="Invite people").click()
        link = nora_window.page.get_by_label("Invite link")
        await nora_window.wait_until("() => document.querySelector('dialog input').value.includes('/invite/')")
        invite_url = await link.input_value()
        await nora_window.page.get_by_role("button", name="Close", exact=True).click()

        await tom_window.page.get_by_role("button", name="Join or create a guild").click()
        dialog = tom_window.page.get_by_role("dialog")
        await dialog.get_by_label("Invite link").fill("no such thing here")
        await dialog.get_by_role("button", name="Look up").click()
        await dialog.get_by_text("This is not a valid invite.").wait_for()
        await dialog.get_by_label("Invite link").fill("zzzzzzzz")
        await dialog.get_by_role("button", name="Look up").click()
        await dialog.get_by_text("This invite is invalid").wait_for()
        await dialog.get_by_label("Invite link").fill(invite_url)
        await dialog.get_by_role("button", name="Look up").click()
        await dialog.get_by_text("Harbour").wait_for()
        await dialog.get_by_role("button", name="Accept invite").click()
        await tom_window.page.wait_for_url(f"**{general_path(guild)}")
        await tom_window.send("I joined")
        await nora_window.wait_message("I joined")
        await nora_window.page.get_by_role("complementary", name="Members").get_by_role("button", name="tom").wait_for()

        await tom_window.page.get_by_role("button", name="Join or create a guild").click()
        await dialog.get_by_label("New guild name").fill("Tom's own")
        await dialog.get_by_role("button", name="Create guild").click()
        await tom_window.page.get_by_role("heading", name="Tom's own").wait_for()
        await tom_window.page.get_by_role("textbox", name="Message #general").wait_for()
    # A shared invite URL opens the page for every visitor, and leads into the client.
    code = (await create_invite(nora, guild.general))["code"]
    carol = await platform.world.user("carol")
    async with platform.open_page() as page:
        await page.context.add_cookies([{"name": "hubbub_session", "value": carol.token, "url": platform.url}])
        await page.goto(f"{platform.url}/invite/{code}")
        await page.get_by_role("button", name="Accept invite").click()
        await page.get_by_role("textbox", name="Message #general").wait_for()


async def test_threads_and_posts_are_created_read_and_replied_to(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    forum_id = await guild.channel("ideas", type=ChannelType.GUILD_FORUM, available_tags=[{"name": "boats"}])
    await guild.send_message(tom, "Do we sail?")
    async with (
        platform.open_window(nora, general_path(guild)) as nora_window,
        platform.open_window(tom, general_path(guild)) as tom_window,
    ):
        row = await nora_window.wait_message("Do we sail?")
        await row.hover()
        await row.get_by_role("button", name="More").click()
        await nora_window.page.get_by_role("menuitem", name="Create thread").click()
        await nora_window.page.get_by_role("dialog").get_by_label("Name").fill("Sailing")
        await nora_window.page.get_by_role("dialog").get_by_role("button", name="Create thread").click()
        await nora_window.page.get_by_role("textbox", name="Message #Sailing").wait_for()
        await nora_window.page.get_by_role("textbox", name="Message #Sailing").fill("On Sunday")
        await nora_window.page.get_by_role("textbox", name="Message #Sailing").press("Enter")
        await (await tom_window.wait_message("Do we sail?")).get_by_role("link", name="Sailing").click()
        await tom_window.wait_message("On Sunday")
        await tom_window.page.get_by_role("textbox", name="Message #Sailing").fill("With pleasure")
        await tom_window.page.get_by_role("textbox", name="Message #Sailing").press("Enter")
        await nora_window.wait_message("With pleasure")
        await locate_channel_list(tom_window).get_by_role("link", name="Sailing").wait_for()

        await locate_channel_list(tom_window).get_by_role("link", name="ideas").click()
        await tom_window.page.wait_for_url(f"**/{forum_id}")
        await tom_window.page.get_by_role("button", name="New post").click()
        dialog = tom_window.page.get_by_role("dialog")
        await dialog.get_by_label("Title").fill("A new boat")
        await dialog.get_by_label("Message").fill("Let us build one.")
        await dialog.get_by_text("boats").click()
        await dialog.get_by_role("button", name="Create post").click()
        await tom_window.wait_message("Let us build one.")
        await locate_channel_list(nora_window).get_by_role("link", name="ideas").click()
        post = nora_window.page.get_by_role("listitem").filter(has_text="A new boat").filter(has_text="boats")
        await post.get_by_role("link", name="A new boat").click()
        await nora_window.wait_message("Let us build one.")
        await nora_window.page.get_by_role("button", name="Channel options").click()
        await nora_window.page.get_by_role("menuitem", name="Archive thread").click()
        await locate_channel_list(nora_window).get_by_role("link", name="ideas").click()
        await nora_window.page.get_by_role("button", name="Show archived posts").click()
        await nora_window.page.get_by_role("link", name="A new boat").wait_for()


async def test_messages_are_pinned_searched_and_opened(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    target = await guild.send_message(tom, "The lantern stands on the **pier**")
    for number in range(60):
        await guild.send_message(tom, f"number {number}")
    async with platform.open_window(nora, general_path(guild, target)) as nora_window:
        page = nora_window.page
        row = await nora_window.wait_message("The lantern")
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
        await page.get_by_role("button", name="Search").first.click()
        await page.get_by_role("combobox", name="Search messages").fill("lantern")
        await page.keyboard.press("Enter")
        await page.get_by_text("1 message", exact=True).wait_for()
        await page.locator(".search-pane").get_by_role("link", name="Jump to message").click()
        await page.locator(".message.marked", has_text="The lantern").wait_for()


async def test_polls_are_voted_in_and_groups_are_created(platform: ChatPlatform) -> None:
    nora, tom, carol = [await platform.world.user(name) for name in ("nora", "tom", "carol")]
    guild = await platform.world.guild(nora, tom)
    for friend in (tom, carol):
        await befriend(nora, friend)
    answers = [{"poll_media": {"text": text}} for text in ("Pier", "Tavern")]
    await guild.send_message(tom, "", poll={"question": {"text": "Where?"}, "answers": answers, "duration": 24})
    async with platform.open_window(nora, general_path(guild)) as nora_window:
        page = nora_window.page
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
        await nora_window.send("We three")
        await nora_window.wait_message("We three")
        async with platform.open_window(carol) as carol_window:
            await (
                carol_window.page.get_by_role("link", name="unread")
                .or_(carol_window.page.get_by_role("link", name="tom"))
                .first.click()
            )
            await carol_window.wait_message("We three")


async def test_a_voice_channel_shows_its_members_and_is_joined_muted_and_left(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    lounge_id = await guild.channel("lounge", type=ChannelType.GUILD_VOICE)
    async with (
        platform.open_window(nora, f"/app/channels/{guild.id}/{lounge_id}") as nora_window,
        platform.open_window(tom, general_path(guild)) as tom_window,
    ):
        await nora_window.page.get_by_role("button", name="Join", exact=True).click()
        voice_members = tom_window.page.locator(".in-voice")
        await voice_members.get_by_text("nora").wait_for()
        panel = nora_window.page.get_by_role("group", name="Voice")
        await panel.get_by_text("lounge").wait_for()
        await panel.get_by_role("button", name="Mute").click()
        await voice_members.get_by_label("muted").wait_for()
        await panel.get_by_role("button", name="Deafen").click()
        await voice_members.get_by_label("deafened").wait_for()
        await nora_window.send("Typed in the voice channel")
        await nora_window.wait_message("Typed in the voice channel")
        await panel.get_by_role("button", name="Leave voice").click()
        await voice_members.wait_for(state="detached")
        await panel.wait_for(state="detached")


async def test_members_are_shown_with_presence_and_current_name(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    await guild.send_message(tom, "hello")

    def member_entry(window: Any, name: str) -> Any:
        return window.page.get_by_role("complementary", name="Members").get_by_role("button", name=name)

    async with platform.open_window(nora, general_path(guild)) as nora_window:
        await member_entry(nora_window, "tom").locator(".status.offline").wait_for()
        async with platform.open_window(tom, general_path(guild)) as tom_window:
            await member_entry(nora_window, "tom").locator(".status.online").wait_for()
            await tom_window.page.get_by_role("button", name="change status").click()
            await tom_window.page.get_by_role("menuitemradio", name="Do not disturb").click()
            await member_entry(nora_window, "tom").locator(".status.dnd").wait_for()
        (await nora.patch(f"/guilds/{guild.id}/members/{tom.id}", json={"nick": "Tom of the Pier"})).ok()
        await member_entry(nora_window, "Tom of the Pier").wait_for()
        await nora_window.page.locator(".message .author-name", has_text="Tom of the Pier").wait_for()
        await member_entry(nora_window, "Tom of the Pier").click()
        await (
            nora_window.page.get_by_role("dialog", name="Tom of the Pier")
            .get_by_role("button", name="Send message")
            .click()
        )
        await nora_window.page.wait_for_url("**/app/channels/@me/*")


async def test_a_collapsed_category_stays_collapsed_in_all_windows(platform: ChatPlatform) -> None:
    nora = await platform.world.user("nora")
    guild = await platform.world.guild(nora)
    category_id = await guild.channel("Rooms", type=ChannelType.GUILD_CATEGORY)
    await guild.channel("attic", parent_id=str(category_id))
    async with (
        platform.open_window(nora, general_path(guild)) as window,
        platform.open_window(nora, general_path(guild)) as other_window,
    ):
        attics = [
            locate_channel_list(shown_window).get_by_role("link", name="attic")
            for shown_window in (window, other_window)
        ]
        for attic in attics:
            await attic.wait_for()
        toggle_button = locate_channel_list(window).get_by_role("button", name="Rooms", exact=True)

        await toggle_button.click()

        for attic in attics:
            await attic.wait_for(state="detached")
        await window.page.reload()
        await locate_channel_list(window).get_by_role("link", name="general", exact=True).wait_for()
        assert await attics[0].count() == 0
        assert await toggle_button.get_attribute("aria-expanded") == "false"
        await toggle_button.click()
        for attic in attics:
            await attic.wait_for()
