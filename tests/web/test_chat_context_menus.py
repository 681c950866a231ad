"""Context menus of entries in lists, opened with the keyboard."""

from hubbub.protocol.enums import ChannelType
from tests.server.talk.private_channels import create_group
from tests.web.chat import ChatPlatform, general_path
from tests.web.settings import accessibility_problems
from tests.web.test_chat_search import open_search
from tests.world import befriend


async def test_friends_and_members_of_groups_have_menus(platform: ChatPlatform) -> None:
    nora, tom, ida = [await platform.world.user(name) for name in ("nora", "tom", "ida")]
    for friend in (tom, ida):
        await befriend(nora, friend)
    group_id = (await create_group(nora, tom, ida))["id"]
    async with (
        platform.open_window(nora) as nora_window,
        platform.open_window(tom, f"/app/channels/@me/{group_id}") as tom_window,
    ):
        page = nora_window.page
        await page.locator(".friends").get_by_role("button", name="ida").first.press("Shift+F10")
        menu = page.get_by_role("menu", name="ida")
        await menu.wait_for()
        assert await menu.get_by_role("menuitem").all_inner_texts() == [
            "Show profile",
            "Send message",
            "Remove friend",
            "Block",
            "Report user",
        ]
        await menu.get_by_role("menuitem", name="Remove friend").press("Enter")
        await page.get_by_role("dialog").get_by_role("button", name="Remove friend").click()
        await page.locator(".friends").get_by_role("button", name="ida").first.wait_for(state="detached")

        await nora_window.open(f"/app/channels/@me/{group_id}")
        members = page.locator(".members-area")
        await members.get_by_role("button", name="ida").press("Shift+F10")
        await page.get_by_role("menuitem", name="Add friend").wait_for()
        await page.get_by_role("menuitem", name="Remove from group").press("Enter")
        await page.get_by_role("dialog").get_by_role("button", name="Remove", exact=True).click()
        await members.get_by_role("button", name="ida").wait_for(state="detached")
        await tom_window.page.locator(".members-area").get_by_role("button", name="ida").wait_for(state="detached")


async def test_search_results_threads_and_members_in_calls_have_menus(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    lounge_id = await guild.channel("lounge", type=ChannelType.GUILD_VOICE)
    thread = {"name": "tides", "type": ChannelType.PUBLIC_THREAD}
    (await tom.post(f"/channels/{guild.general}/threads", json=thread)).ok()
    await guild.send_message(tom, "A lantern")
    session = await tom.connect()
    await session.join_voice(guild, lounge_id)
    async with platform.open_window(nora, general_path(guild)) as nora_window:
        page = nora_window.page
        await page.locator("button.in-voice", has_text="tom").press("Shift+F10")
        await (
            page.get_by_role("menu", name="tom")
            .get_by_role("menuitem", name="Kick")
            .or_(page.get_by_role("menuitem", name="Send message"))
            .first.wait_for()
        )
        await page.keyboard.press("Escape")

        await page.get_by_role("button", name="Threads").click()
        await page.get_by_role("dialog").get_by_role("link", name="tides").press("Shift+F10")
        await page.get_by_role("menuitem", name="Archive thread").press("Enter")
        await page.keyboard.press("Escape")

        field = await open_search(nora_window)
        await field.fill("lantern")
        await field.press("Enter")
        await page.get_by_role("link", name="Jump to message of tom: A lantern").press("Shift+F10")
        await page.get_by_role("menuitem", name="Copy text").wait_for()
        await page.get_by_role("menuitem", name="Jump to message").press("Enter")
        await page.locator(".message.marked", has_text="A lantern").wait_for()


async def test_an_announcement_channel_is_followed_from_its_menu(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild, other_guild = await platform.world.guild(nora), await platform.world.guild(tom, nora, name="Quay")
    await platform.world.grant_to_guild(other_guild, "NEWS")
    news_id = await other_guild.channel("news", type=ChannelType.GUILD_ANNOUNCEMENT)
    async with (
        platform.open_window(nora, f"/app/channels/{other_guild.id}/{news_id}", width=390) as nora_window,
        platform.open_window(tom, f"/app/channels/{other_guild.id}/{news_id}") as tom_window,
    ):
        page = nora_window.page
        await page.get_by_role("button", name="Channel options").click()
        await page.get_by_role("menuitem", name="Follow").click()
        dialog = page.get_by_role("dialog", name="Follow #news")
        # Only in their own guild the user can create webhooks.
        options = dialog.get_by_label("Show its announcements in").get_by_role("option")
        assert await options.all_inner_texts() == ["#general – Guild"]
        assert await accessibility_problems(nora_window) == []
        await dialog.get_by_role("button", name="Follow").click()
        await page.get_by_text("You follow #news now.").wait_for()
        await tom_window.send("The pier is open")
        message = await tom_window.wait_message("The pier is open")
        path = f"/channels/{news_id}/messages/{await message.get_attribute('data-message-id')}/crosspost"
        (await tom.post(path)).ok()
        await nora_window.open(general_path(guild))
        await nora_window.wait_message("The pier is open")
