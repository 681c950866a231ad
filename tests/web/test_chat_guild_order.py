"""The order and folders of guilds in the chat client: by menu, keys and drag, in all windows of a user."""

from typing import Any

from tests.web.chat import ChatPlatform, ChatWindow, general_path


async def wait_order(window: ChatWindow, *names: str) -> None:
    """Wait until the guild list has these guilds and folders in this order."""
    await window.wait_until(
        "names => [...document.querySelectorAll('.rail-list [data-move] > :is(a, button)')]"
        ".map(node => node.querySelector('.visually-hidden').textContent).join() === names.join()",
        list(names),
    )


async def test_guilds_are_moved_by_keys_and_into_folders_in_all_windows(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guilds = [await platform.world.guild(nora, tom, name=name) for name in ("Alpha", "Beta", "Gamma")]
    path = general_path(guilds[0])
    async with platform.open_window(nora, path) as window, platform.open_window(nora, path) as other_window:
        page, keyboard = window.page, window.page.keyboard
        await wait_order(window, "Alpha", "Beta", "Gamma")

        async def choose(list_entry: Any, *labels: str) -> None:
            await list_entry.press("Shift+F10")
            for label in labels:
                await page.get_by_role("menuitem", name=label, exact=True).press("Enter")

        def link(name: str) -> Any:
            return page.get_by_role("navigation", name="Guilds").get_by_role("link", name=name)

        await choose(link("Gamma"), "Move…", "Move up")
        await wait_order(other_window, "Alpha", "Gamma", "Beta")
        await link("Gamma").focus()
        await page.locator(".rail-list [data-move] a:focus").wait_for()
        await keyboard.press("Control+Shift+ArrowUp")
        await wait_order(other_window, "Gamma", "Alpha", "Beta")

        # A new folder has a name and a color.
        await choose(link("Alpha"), "Move…", "New folder")
        dialog = page.get_by_role("dialog", name="Folder")
        await dialog.get_by_label("Name").fill("Work")
        await dialog.get_by_label("Color").fill("#b8321c")
        await dialog.get_by_role("button", name="Save").click()
        await wait_order(other_window, "Gamma", "Folder Work", "Alpha", "Beta")
        await choose(link("Beta"), "Move…", "Move to Work")
        folder_button = page.get_by_role("button", name="Folder Work")
        await folder_button.click()
        await wait_order(other_window, "Gamma", "Folder Work")
        await page.get_by_role("button", name="Folder Work", expanded=False).wait_for()

        # A collapsed folder shows the mentions of its guilds.
        await guilds[1].send_message(tom, f"Hello <@{nora.id}>")
        await page.get_by_role("button", name="Folder Work, 1 mention").wait_for()
        stored_folders = (await nora.get("/users/@me/settings")).ok()["guild_folders"]
        assert [(entry["name"], entry["color"], len(entry["guild_ids"])) for entry in stored_folders] == [
            (None, None, 1),
            ("Work", 0xB8321C, 2),
        ]
        await page.get_by_role("button", name="Folder Work").press("Enter")
        await choose(page.get_by_role("button", name="Folder Work"), "Remove folder")
        await wait_order(other_window, "Gamma", "Alpha", "Beta, 1 mention")
        await other_window.open(path)
        await wait_order(other_window, "Gamma", "Alpha", "Beta, 1 mention")


async def test_guilds_are_dragged_to_a_place_and_onto_each_other(platform: ChatPlatform) -> None:
    nora = await platform.world.user("nora")
    guilds = [await platform.world.guild(nora, name=name) for name in ("Alpha", "Beta", "Gamma")]
    async with platform.open_window(nora, general_path(guilds[0])) as window:
        page = window.page
        await wait_order(window, "Alpha", "Beta", "Gamma")

        async def drag(guild: Any, target: Any, share: float) -> None:
            source = page.locator(f".rail-list [data-move='{guild.id}']")
            guild_item = page.locator(f".rail-list [data-move='{target.id}']")
            box = await guild_item.bounding_box()
            await source.hover()
            position = {"x": box["width"] / 2, "y": box["height"] * share}
            await source.drag_to(guild_item, target_position=position)

        # The module that handles the drag is loaded when the pointer enters the list.
        await page.locator(".rail-list").hover()
        await page.wait_for_load_state("networkidle")
        await drag(guilds[2], guilds[0], 0.1)
        await wait_order(window, "Gamma", "Alpha", "Beta")
        await drag(guilds[1], guilds[0], 0.5)
        await wait_order(window, "Gamma", "Folder Alpha, Beta", "Alpha", "Beta")
        await drag(guilds[2], guilds[1], 0.9)
        await wait_order(window, "Folder Alpha, Beta, Gamma", "Alpha", "Beta", "Gamma")
