"""The chat client in a real browser: drafts of messages."""

import pytest

from tests.web.chat import ChatPlatform, general_path

pytestmark = [pytest.mark.xdist_group("chromium"), pytest.mark.timeout(300)]


async def test_drafts_of_channels_and_threads_survive_a_reload_with_their_mentions(platform: ChatPlatform) -> None:
    expect = pytest.importorskip("playwright.async_api").expect
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    starter = await guild.send_message(tom, "Do we sail?")
    path = f"/channels/{guild.general}/messages/{starter['id']}/threads"
    thread = (await nora.request("POST", path, json={"name": "Sailing"})).ok()
    async with (
        platform.open_window(nora, general_path(guild), width=1440) as window,
        platform.open_window(tom, general_path(guild)) as tom_window,
    ):
        page = window.page
        await window.composer.press_sequentially("Ask @to")
        await page.get_by_role("option", name="tom").wait_for()
        await window.composer.press("Enter")
        await window.composer.press_sequentially("now")
        await page.set_input_files(
            "input[type=file]", [{"name": "notes.txt", "mimeType": "text/plain", "buffer": b"hello"}]
        )
        await window.open(f"/app/channels/{guild.id}/{thread['id']}")
        in_thread = page.get_by_role("textbox", name="Message #Sailing")
        await in_thread.fill("Later")

        await window.open(f"/app/channels/{guild.id}/{thread['id']}")
        await expect(in_thread).to_have_value("Later")
        in_channel = page.get_by_role("textbox", name="Message #general")
        await expect(in_channel).to_have_value("Ask @tom now")
        # Files are not part of a draft.
        await expect(page.get_by_role("list", name="Files to send")).to_have_count(0)
        await in_channel.press("Enter")
        await window.wait_message("Ask")
        await expect(tom_window.message("Ask @tom now").locator(".mention")).to_have_text("@tom")

        await page.reload()
        await expect(in_channel).to_have_value("")
        await expect(in_thread).to_have_value("Later")


async def test_only_the_newest_drafts_are_kept(platform: ChatPlatform) -> None:
    nora = await platform.world.user("nora")
    async with platform.open_window(nora) as window:
        saved = await window.page.evaluate(
            """async () => {
              const folder = document.querySelector("script[type=module]").src.replace(/main.js$/, "");
              const { saveDraft, readDraft } = await import(`${folder}state/drafts.js`);
              for (let id = 1; id <= 60; id += 1) saveDraft(String(id), { text: `draft ${id}`, mentions: [] });
              saveDraft("61", { text: "x".repeat(100_000), mentions: [] });
              saveDraft("60", { text: "  ", mentions: [] });
              return [10, 11, 59, 60, 61].map(id => readDraft(String(id))?.text ?? null);
            }"""
        )
        assert saved == [None, "draft 11", "draft 59", None, None]


async def test_drafts_are_removed_on_logout_and_for_another_account(platform: ChatPlatform) -> None:
    expect = pytest.importorskip("playwright.async_api").expect
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    stored = "() => JSON.stringify({...localStorage})"
    async with platform.open_window(nora, general_path(guild)) as window:
        page = window.page
        await window.composer.fill("a secret")
        await window.wait_until("() => JSON.stringify({...localStorage}).includes('a secret')")
        cookies = [{"name": "hubbub_session", "value": tom.token, "url": platform.url}]
        await page.context.add_cookies(cookies)
        await window.open(general_path(guild))
        await expect(window.composer).to_have_value("")
        assert "a secret" not in await page.evaluate(stored)

        for is_page in (False, True):
            user = nora if is_page else tom
            await page.context.add_cookies([{"name": "hubbub_session", "value": user.token, "url": platform.url}])
            await window.open(general_path(guild))
            await window.composer.fill("another secret")
            await window.wait_until("() => JSON.stringify({...localStorage}).includes('another secret')")
            if is_page:
                await page.goto(f"{platform.url}/settings")
            else:
                await page.get_by_role("button", name="Account menu").click()
            window.expected_errors = ("Failed to load resource", "WebSocket")
            await page.get_by_role("button" if is_page else "menuitem", name="Log out").first.click()
            await page.wait_for_url("**/login*")
            assert "secret" not in await page.evaluate(stored)
