"""The join form, the join requests and the removal of inactive members in the guild settings, in a real browser."""

from typing import Any

from hubbub.protocol.permissions import Permissions
from tests.server.places.invites import create_invite
from tests.web.chat import ChatPlatform, general_path
from tests.web.settings import open_settings, save_changes
from tests.world import Actor, Guild

JOIN_FORM = {
    "enabled": True,
    "manual_approval": True,
    "form_fields": [
        {"field_type": "TERMS", "label": "Rules of the house", "values": ["Be kind"]},
        {"field_type": "MULTIPLE_CHOICE", "label": "Favorite boat", "choices": ["Sloop", "Ketch"]},
    ],
}


async def request_to_join(guild: Guild, user: Actor, choice: int = 1) -> Any:
    """Join a guild with an invite, submit the form, and return the join request."""
    invite = await create_invite(guild.owner, guild.general)
    (await user.post(f"/invites/{invite['code']}", json={})).ok()
    form = (await user.get(f"/guilds/{guild.id}/member-verification")).ok()
    fields = form["form_fields"]
    fields[0]["response"], fields[1]["response"] = True, choice
    body = {"version": form["version"], "form_fields": fields}
    return (await user.put(f"/guilds/{guild.id}/requests/@me", json=body)).ok()


async def test_join_form_is_edited_by_two_managers(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    await guild.allow_permissions(tom, Permissions.MANAGE_GUILD | Permissions.VIEW_AUDIT_LOG)
    async with (
        platform.open_window(nora, general_path(guild)) as window,
        platform.open_window(tom, general_path(guild)) as tom_window,
    ):
        # The request for the form of a guild without one fails.
        window.expected_errors = tom_window.expected_errors = ("Failed to load resource",)
        settings = await open_settings(window, "Join form")
        tom_settings = await open_settings(tom_window, "Join form")
        await tom_settings.get_by_text("There are no questions yet.").wait_for()
        await settings.get_by_label("New members complete the form").check()
        await settings.get_by_label("Moderators approve new members").check()
        await settings.get_by_label("Introduction").fill("Tell us about yourself.")
        questions = settings.get_by_role("list", name="Questions")
        await settings.get_by_role("button", name="Add question").click()
        await questions.get_by_label("Type").select_option(label="Choice")
        assert await questions.get_by_label("Placeholder").is_hidden()
        await questions.get_by_label("Answers").fill("Sloop\nKetch")
        # The error of a missing question is shown at its field.
        await save_changes(settings, expects_success=False)
        await questions.get_by_role("alert").filter(has_text="required").wait_for()
        await questions.get_by_label("Question", exact=True).fill("Favorite boat")
        await save_changes(settings)
        stored_form = (await nora.get(f"/guilds/{guild.id}/member-verification")).ok()
        assert stored_form["description"] == "Tell us about yourself."
        [field] = stored_form["form_fields"]
        assert (field["field_type"], field["label"], field["choices"]) == (
            "MULTIPLE_CHOICE",
            "Favorite boat",
            ["Sloop", "Ketch"],
        )
        features = (await nora.get(f"/guilds/{guild.id}")).ok()["features"]
        assert {"MEMBER_VERIFICATION_GATE_ENABLED", "MEMBER_VERIFICATION_MANUAL_APPROVAL"} <= set(features)

        tom_questions = tom_settings.get_by_role("list", name="Questions")
        await tom_questions.get_by_text("Favorite boat").wait_for()
        assert await tom_settings.get_by_label("New members complete the form").is_checked()
        await tom_settings.get_by_role("button", name="Remove Favorite boat").click()
        await save_changes(tom_settings)
        await settings.get_by_text("There are no questions yet.").wait_for()


async def test_join_requests_are_reviewed(platform: ChatPlatform) -> None:
    nora, tom, mia, ben = [await platform.world.user(name) for name in ("nora", "tom", "mia", "ben")]
    guild = await platform.world.guild(nora, tom)
    await guild.allow_permissions(tom, Permissions.KICK_MEMBERS)
    async with (
        platform.open_window(nora, general_path(guild)) as window,
        platform.open_window(tom, general_path(guild)) as tom_window,
    ):
        settings = await open_settings(window, "Join requests")
        await settings.get_by_text("There are no requests, because new members need no approval.").wait_for()
        (await nora.patch(f"/guilds/{guild.id}/member-verification", json=JOIN_FORM)).ok()
        await settings.get_by_text("There are no requests with this status.").wait_for()
        tom_settings = await open_settings(tom_window, "Join requests")

        # Requests appear while the screens are open.
        await request_to_join(guild, mia)
        await request_to_join(guild, ben, choice=0)
        requests = settings.get_by_role("list", name="Join requests")
        mia_entry = requests.get_by_role("listitem").filter(has_text="@mia")
        await mia_entry.get_by_text("Ketch").wait_for()
        await mia_entry.get_by_text("Accepted").wait_for()
        await settings.get_by_text("2 requests").wait_for()
        await settings.get_by_role("button", name="Approve mia").click()
        await window.page.get_by_text("mia is a member now.").wait_for()
        tom_requests = tom_settings.get_by_role("list", name="Join requests")
        await tom_requests.get_by_text("@mia").wait_for(state="detached")
        assert (await nora.get(f"/guilds/{guild.id}/members/{mia.id}")).ok()["pending"] is False

        await tom_settings.get_by_role("button", name="Reject ben").click()
        dialog = tom_window.page.get_by_role("dialog", name="Reject ben?")
        await dialog.get_by_label("Reason").fill("No sloops, please.")
        await dialog.get_by_role("button", name="Reject").click()
        await settings.get_by_text("There are no requests with this status.").wait_for()
        await settings.get_by_label("Status").select_option(label="Rejected")
        await requests.get_by_text("Reason: No sloops, please.").wait_for()
        await requests.get_by_text("Reviewed by tom").wait_for()
        assert (await nora.get(f"/guilds/{guild.id}/members/{ben.id}")).status == 404
    await guild.allow_permissions(mia, Permissions.MANAGE_GUILD)
    async with platform.open_window(mia, general_path(guild)) as window:
        settings = await open_settings(window, "Join requests")
        await settings.get_by_text("You cannot see the requests. You need the permission “Kick members”.").wait_for()


async def test_inactive_members_are_counted_and_removed(platform: ChatPlatform) -> None:
    nora, tom, mia = [await platform.world.user(name) for name in ("nora", "tom", "mia")]
    guild = await platform.world.guild(nora, tom, mia)
    await guild.allow_permissions(tom, Permissions.MANAGE_GUILD)
    crew_role_id = await guild.role("Crew")
    await guild.add_role(mia, crew_role_id)
    ben = await platform.world.user("ben")
    invite = await create_invite(nora, guild.general)
    (await ben.post(f"/invites/{invite['code']}", json={})).ok()
    platform.world.clock.advance(8 * 86_400_000)
    async with platform.open_window(nora, general_path(guild)) as window:
        page = window.page
        settings = await open_settings(window, "Members")
        await settings.get_by_role("button", name="Remove inactive members").click()
        dialog = page.get_by_role("dialog", name="Remove inactive members")
        await dialog.get_by_text("1 member would be removed.").wait_for()
        await dialog.get_by_label("Days without activity").fill("30")
        await dialog.get_by_text("0 members would be removed.").wait_for()
        await dialog.get_by_label("Days without activity").fill("7")
        await dialog.get_by_role("button", name="Also members with these roles").click()
        await (
            page.get_by_role("listbox", name="Also members with these roles").get_by_role("option", name="Crew").click()
        )
        await page.keyboard.press("Escape")
        await dialog.get_by_text("2 members would be removed.").wait_for()
        await dialog.get_by_label("Reason").fill("Tidy up")
        await dialog.get_by_role("button", name="Remove members").click()
        await page.get_by_text("2 members removed.").wait_for()
        await settings.get_by_role("button", name="Manage mia").wait_for(state="detached")
    names = {member["user"]["username"] for member in (await nora.get(f"/guilds/{guild.id}/members?limit=10")).ok()}
    assert names == {"nora", "tom"}
    async with platform.open_window(tom, general_path(guild)) as window:
        settings = await open_settings(window, "Members")
        await settings.get_by_text(
            "You cannot remove inactive members. You need the permission “Kick members”."
        ).wait_for()
        assert await settings.get_by_role("button", name="Remove inactive members").is_disabled()
