"""The onboarding screen of the guild settings in a real browser."""

from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources.onboarding import DEFAULT_CHANNELS_MIN
from tests.web.chat import ChatPlatform, general_path
from tests.web.settings import choose_in_picker, open_settings, save_changes


async def test_onboarding_is_edited_by_two_managers(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    permissions = Permissions.MANAGE_GUILD | Permissions.MANAGE_ROLES | Permissions.VIEW_AUDIT_LOG
    await guild.allow_permissions(tom, permissions)
    crew_role_id = await guild.role("Crew")
    topics = [await guild.channel(f"topic-{number}") for number in range(DEFAULT_CHANNELS_MIN - 1)]
    path = f"/guilds/{guild.id}/onboarding"
    (await nora.put(path, json={"default_channel_ids": [str(topic) for topic in topics]})).ok()
    async with (
        platform.open_window(nora, general_path(guild)) as window,
        platform.open_window(tom, general_path(guild)) as tom_window,
    ):
        window.expected_errors = ("Failed to load resource",)
        page = window.page
        settings = await open_settings(window, "Onboarding")
        tom_settings = await open_settings(tom_window, "Onboarding")
        await tom_settings.get_by_text("There are no questions yet.").wait_for()
        # The screen counts the channels that onboarding needs.
        await settings.get_by_text(
            "Needs 7 channels (now 6). Everyone must be able to write in 5 of them (now 6)."
        ).wait_for()
        await settings.get_by_label("Use onboarding").check()
        await save_changes(settings, expects_success=False)
        await page.locator(".notices").get_by_text("onboarding").wait_for()
        await choose_in_picker(page, "Default channels", "general")
        await page.keyboard.press("Escape")
        await settings.get_by_text("Needs 7 channels (now 7).").wait_for()

        await settings.get_by_role("button", name="Add question").click()
        await settings.get_by_label("Question", exact=True).fill("What do you play?")
        await settings.get_by_label("Members must answer").check()
        # A question needs an answer; the error is shown at the answers of this question.
        await save_changes(settings, expects_success=False)
        await settings.get_by_role("list", name="Questions").get_by_role("alert").filter(has_text="1").wait_for()
        await settings.get_by_role("button", name="Add answer").click()
        await settings.get_by_label("Answer", exact=True).fill("Chess")
        await choose_in_picker(page, "Roles of this answer", "Crew")
        await page.keyboard.press("Escape")
        await choose_in_picker(page, "Channels of this answer", "topic-1")
        await page.keyboard.press("Escape")
        await save_changes(settings)
        stored_onboarding = (await nora.get(path)).ok()
        assert (stored_onboarding["enabled"], len(stored_onboarding["default_channel_ids"])) == (
            True,
            DEFAULT_CHANNELS_MIN,
        )
        [prompt] = stored_onboarding["prompts"]
        assert (prompt["title"], prompt["required"], prompt["in_onboarding"]) == ("What do you play?", True, True)
        [option] = prompt["options"]
        assert (option["title"], option["role_ids"], option["channel_ids"]) == (
            "Chess",
            [str(crew_role_id)],
            [str(topics[1])],
        )

        # Tom sees the question, adds a second one before it, and Nora sees both.
        questions = tom_settings.get_by_role("list", name="Questions")
        await questions.get_by_text("What do you play?").wait_for()
        assert await tom_settings.get_by_label("Use onboarding").is_checked()
        await tom_settings.get_by_role("button", name="Add question").click()
        await questions.get_by_label("Question", exact=True).last.fill("Where do you live?")
        await questions.get_by_label("Only one answer").last.check()
        await questions.get_by_role("button", name="Add answer").last.click()
        await questions.get_by_label("Answer", exact=True).last.fill("Here")
        await tom_settings.get_by_role("button", name="Move Where do you live?", exact=True).press("ArrowUp")
        await save_changes(tom_settings)
        nora_questions = settings.get_by_role("list", name="Questions").locator("> li > details > summary")
        await nora_questions.nth(1).wait_for()
        assert await nora_questions.all_inner_texts() == ["Where do you live?", "What do you play?"]
    prompts = (await nora.get(path)).ok()["prompts"]
    assert [(entry["title"], entry["single_select"]) for entry in prompts] == [
        ("Where do you live?", True),
        ("What do you play?", False),
    ]
    # Unchanged questions keep their IDs.
    assert prompts[1] == prompt


async def test_onboarding_needs_two_permissions(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    await guild.allow_permissions(tom, Permissions.MANAGE_GUILD)
    body = {"prompts": [{"id": "0", "title": "What do you play?", "options": [{"title": "Chess"}]}]}
    (await nora.put(f"/guilds/{guild.id}/onboarding", json=body)).ok()
    async with platform.open_window(tom, general_path(guild)) as window:
        settings = await open_settings(window, "Onboarding")
        await settings.get_by_text("You need the permission “Manage roles”.").wait_for()
        await settings.get_by_text("What do you play?").click()
        assert await settings.get_by_label("Question", exact=True).is_disabled()
        assert await settings.get_by_role("button", name="Remove What do you play?").is_disabled()
        assert await settings.get_by_label("Use onboarding").is_disabled()
