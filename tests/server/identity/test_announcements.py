"""Announcements: creation, display, dismissal and end, in the API, the pages, the console and commands."""

from typing import Any

import pytest

from hubbub.protocol.operator_roles import OperatorRole
from hubbub.server.commands.admin_actions import AdminError
from tests.pages import Browser
from tests.server.admin_commands import run_admin_command
from tests.server.identity.operators import create_operator
from tests.server.transports.web.test_console import open_browser
from tests.world import Actor, World

pytestmark = pytest.mark.usefixtures("accented_pages")

DAY_MS = 24 * 3_600_000


async def announce(operator: Actor, content: str = "Maintenance tonight", **body: Any) -> dict[str, Any]:
    """Create an announcement and return it."""
    body = {"content": content, "ends_at": "2026-11-25T00:00:00Z", **body}
    announcement: dict[str, Any] = (await operator.post("/admin/announcements", json=body)).ok()
    return announcement


async def list_shown_texts(user: Actor) -> list[str]:
    """Return the texts of the announcements that a user sees."""
    return [announcement["content"] for announcement in (await user.get("/users/@me/announcements")).ok()]


async def test_an_announcement_is_shown_until_its_end(world: World) -> None:
    ann = await create_operator(world, "ann", OperatorRole.MODERATOR)
    ben = await world.user("ben")

    announcement = await announce(ann, level="warning")

    assert (announcement["level"], announcement["state"], announcement["dismissal_count"]) == ("warning", "active", 0)
    assert await list_shown_texts(ben) == ["Maintenance tonight"]
    world.clock.advance(10 * DAY_MS)
    assert await list_shown_texts(ben) == []
    assert (await ann.get("/admin/announcements")).ok()[0]["state"] == "ended"


async def test_an_announcement_is_not_shown_before_its_start(world: World) -> None:
    ann = await create_operator(world, "ann", OperatorRole.MODERATOR)

    announcement = await announce(ann, starts_at="2026-11-22T00:00:00Z")

    assert announcement["state"] == "scheduled"
    assert await list_shown_texts(ann) == []
    world.clock.advance(5 * DAY_MS)
    assert await list_shown_texts(ann) == ["Maintenance tonight"]


async def test_a_dismissal_applies_to_the_account(world: World) -> None:
    ann = await create_operator(world, "ann", OperatorRole.MODERATOR)
    ben, carol = await world.user("ben"), await world.user("carol")
    announcement = await announce(ann)

    for _ in range(2):
        assert (await ben.post(f"/users/@me/announcements/{announcement['id']}/dismiss")).status == 204

    assert await list_shown_texts(ben) == []
    assert await list_shown_texts(carol) == ["Maintenance tonight"]
    assert (await ann.get("/admin/announcements")).ok()[0]["dismissal_count"] == 1
    (await ben.post("/users/@me/announcements/1/dismiss")).rejected(404, 0)


async def test_an_operator_ends_an_announcement(world: World) -> None:
    ann = await create_operator(world, "ann", OperatorRole.MODERATOR)
    announcement = await announce(ann)

    assert (await ann.post(f"/admin/announcements/{announcement['id']}/end", json={"reason": "Done"})).status == 204

    assert await list_shown_texts(ann) == []
    (await ann.post("/admin/announcements/1/end")).rejected(404, 0)
    audit_entries = (await ann.get("/admin/audit-log", params={"target_id": announcement["id"]})).ok()
    assert [(audit_entry["action"], audit_entry["reason"]) for audit_entry in audit_entries] == [
        ("announcement.end", "Done"),
        ("announcement.create", None),
    ]


async def test_times_of_an_announcement_are_validated(world: World) -> None:
    ann = await create_operator(world, "ann")
    body = {"content": "x", "ends_at": "2020-01-01T00:00:00Z"}

    assert (await ann.post("/admin/announcements", json=body)).errors("ends_at") == ["TIME_IN_PAST"]
    body |= {"starts_at": "2026-12-02T00:00:00Z", "ends_at": "2026-12-01T00:00:00Z"}
    assert (await ann.post("/admin/announcements", json=body)).errors("ends_at") == ["ENDS_BEFORE_START"]
    body["ends_at"] = "2029-12-01T00:00:00Z"
    assert (await ann.post("/admin/announcements", json=body)).errors("ends_at") == ["TOO_LONG"]
    assert (await ann.post("/admin/announcements", json={"content": ""})).errors("content")


async def test_auditors_read_announcements_only(world: World) -> None:
    ann = await create_operator(world, "ann", OperatorRole.AUDITOR)
    body = {"content": "x", "ends_at": "2026-12-01T00:00:00Z"}

    assert (await ann.get("/admin/announcements")).ok() == []
    (await ann.post("/admin/announcements", json=body)).rejected(403, 0)
    (await ann.post("/admin/announcements/1/end")).rejected(403, 0)
    (await (await world.user()).get("/admin/announcements")).rejected(403, 0)


async def test_pages_show_announcements_until_the_user_dismisses_them(world: World) -> None:
    ann = await create_operator(world, "ann")
    await announce(ann, "Maintenance <tonight>")
    browser = Browser(world)
    browser.sign_in_as(await world.user("ben"))

    page = await browser.open("/settings/account")
    assert "Maintenance <tonight>" in page.text
    page = await browser.submit(page, "Dismiss")

    assert "Maintenance <tonight>" not in page.text
    assert "Maintenance <tonight>" not in (await browser.open("/settings/apps")).text


async def test_a_moderator_announces_in_the_console(world: World) -> None:
    browser, _ = await open_browser(world, OperatorRole.MODERATOR)

    page = await browser.open("/admin/announcements")
    assert "No announcements yet." in page.text
    page = await browser.submit(page, "Create announcement", content="Hello", level="info", ends_at="2020-01-01T00:00")
    assert "Choose a time in the future." in page.text
    page = await browser.submit(page, "Create announcement", content="Hello", level="info", ends_at="2026-12-01T00:00")
    assert "Announcement created." in page.text
    page = await browser.submit(page, "End now")
    assert "Announcement ended." in page.text


async def test_commands_manage_announcements(world: World) -> None:
    assert await run_admin_command(world, "list-announcements") == "No announcements."
    command_output = await run_admin_command(
        world, "announce", "Hello", "--until", "2026-12-01T00:00:00Z", "--level", "critical"
    )
    announcement_id = command_output.removeprefix("id: ")
    assert await list_shown_texts(await world.user()) == ["Hello"]
    assert f"{announcement_id} active critical" in await run_admin_command(world, "list-announcements")
    assert "has ended" in await run_admin_command(world, "end-announcement", announcement_id)
    with pytest.raises(AdminError, match="has ended"):
        await run_admin_command(world, "end-announcement", announcement_id)
