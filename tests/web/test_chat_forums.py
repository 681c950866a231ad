"""Forums in the chat client: posts with tags and files, filters, order, layouts and the default reaction."""

from hubbub.protocol.enums import ChannelType, ForumLayout, SortOrder
from hubbub.protocol.flags import ChannelFlags
from tests.media import png
from tests.web.chat import ChatPlatform


async def test_posts_with_tags_and_files_are_created_filtered_and_edited(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    forum_id = await guild.channel(
        "ideas",
        type=ChannelType.GUILD_FORUM,
        available_tags=[{"name": "bug"}, {"name": "idea"}, {"name": "official", "moderated": True}],
        flags=int(ChannelFlags.REQUIRE_TAG),
        default_reaction_emoji={"emoji_name": "🎉"},
    )
    path = f"/app/channels/{guild.id}/{forum_id}"
    async with platform.open_window(nora, path) as nora_window, platform.open_window(tom, path) as tom_window:
        page, keyboard = tom_window.page, tom_window.page.keyboard
        await page.get_by_text("There are no posts yet.").wait_for()
        await page.get_by_role("button", name="New post").click()
        dialog = page.get_by_role("dialog", name="New post")
        await dialog.get_by_label("Title").fill("Lanterns at night")
        await dialog.get_by_label("Message").fill("They should be brighter")
        await dialog.locator("input[type=file]").set_input_files(
            [
                {"name": "lantern.png", "mimeType": "image/png", "buffer": png()},
                {"name": "other.txt", "mimeType": "text/plain", "buffer": b"x"},
            ]
        )
        await dialog.get_by_role("button", name="Remove other.txt").click()
        await dialog.get_by_role("button", name="Create post").click()
        await dialog.get_by_text("Choose at least one tag.").wait_for()
        assert await dialog.get_by_role("checkbox", name="official").is_disabled()
        await dialog.get_by_role("checkbox", name="bug").check()
        await dialog.get_by_role("button", name="Create post").click()
        await tom_window.wait_message("They should be brighter")
        assert await page.locator(".message img[alt='lantern.png']").count() == 1

        # Another member sees the post with its tag, text and picture, and uses the default reaction.
        posts = nora_window.page.get_by_role("list", name="Posts")
        post = posts.get_by_role("listitem").filter(has_text="Lanterns at night")
        await post.get_by_text("tom: They should be brighter").wait_for()
        await post.locator("img.post-picture").wait_for()
        await post.get_by_role("button", name="🎉, 0", pressed=False).click()
        await post.get_by_role("button", name="🎉, 1", pressed=True).wait_for()
        filters = nora_window.page.get_by_role("group", name="Filter by tags")
        await filters.get_by_role("button", name="idea").click()
        await nora_window.page.get_by_text("No active post has these tags.").wait_for()

        # The author changes the tags; the filter of the other member applies immediately.
        await page.get_by_role("button", name="Channel options").first.click()
        await page.get_by_role("menuitem", name="Edit tags").click()
        dialog = page.get_by_role("dialog", name="Edit tags")
        await dialog.get_by_role("checkbox", name="idea").check()
        await dialog.get_by_role("checkbox", name="bug").uncheck()
        await dialog.get_by_role("button", name="Save").click()
        await dialog.wait_for(state="detached")
        await post.get_by_role("list", name="Tags").get_by_text("idea").wait_for()
        assert await page.get_by_role("menuitem", name="Pin post").count() == 0
        await keyboard.press("Escape")

        # A moderator pins the post with its menu, which the keyboard opens.
        await post.get_by_role("link", name="Lanterns at night").press("Shift+F10")
        await nora_window.page.get_by_role("menuitem", name="Pin post").click()
        await post.get_by_text("Pinned").wait_for()


async def test_posts_follow_the_order_and_layout_of_their_forum(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    tags = [{"name": "red"}, {"name": "blue"}]
    forum_id = await guild.channel(
        "gallery",
        type=ChannelType.GUILD_FORUM,
        available_tags=tags,
        default_sort_order=int(SortOrder.CREATION_DATE),
        default_forum_layout=int(ForumLayout.GRID),
        default_tag_setting="match_all",
    )
    red_tag_id, blue_tag_id = [tag["id"] for tag in (await nora.get(f"/channels/{forum_id}")).ok()["available_tags"]]
    posts = []
    for name, tag_ids in (("first", [red_tag_id]), ("second", [red_tag_id, blue_tag_id]), ("third", [])):
        body = {"name": name, "message": {"content": f"about {name}"}, "applied_tags": tag_ids}
        posts.append((await tom.post(f"/channels/{forum_id}/threads", json=body)).ok())
    await guild.send_message(tom, "a reply", channel_id=int(posts[0]["id"]))
    path = f"/app/channels/{guild.id}/{forum_id}"
    async with platform.open_window(nora, path) as nora_window:
        page = nora_window.page
        titles = page.locator(".posts.gallery .post-title")

        async def wait_titles(*names: str) -> None:
            await nora_window.wait_until(
                "names => [...document.querySelectorAll('.post-title span:first-of-type')]"
                ".map(node => node.textContent).join() === names.join()",
                list(names),
            )

        await titles.first.wait_for()
        await wait_titles("third", "second", "first")
        await page.get_by_label("Sort posts by").select_option(label="Latest activity")
        await wait_titles("first", "third", "second")
        (await nora.patch(f"/channels/{posts[1]['id']}", json={"flags": int(ChannelFlags.PINNED)})).ok()
        await wait_titles("second", "first", "third")
        filters = page.get_by_role("group", name="Filter by tags")
        await filters.get_by_role("button", name="red").click()
        await wait_titles("second", "first")
        await filters.get_by_role("button", name="blue").press("Enter")
        await wait_titles("second")
        (await nora.patch(f"/channels/{forum_id}", json={"default_forum_layout": int(ForumLayout.LIST)})).ok()
        await page.locator(".posts:not(.gallery) .post-title").wait_for()
