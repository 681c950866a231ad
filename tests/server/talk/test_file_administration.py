"""The administration of uploaded files in the API, the console and commands: storage, deletion and quotas."""

from typing import Any

import aiohttp
import pytest

from hubbub.protocol.operator_roles import OperatorRole
from hubbub.server.commands.admin_actions import AdminError
from tests.pages import Browser
from tests.server.admin_commands import run_admin_command
from tests.server.identity.operators import create_operator
from tests.server.transports.web.test_console import open_browser
from tests.world import Actor, ApiResponse, Guild, World

pytestmark = pytest.mark.usefixtures("accented_pages")

MIB = 1024 * 1024


async def send_sized_file(user: Actor, channel_id: int, size: int, name: str = "a.txt") -> ApiResponse:
    """Send a message with a file of a size in bytes."""
    form = aiohttp.FormData()
    form.add_field("files[0]", b"x" * size, filename=name, content_type="text/plain")
    return await user.post(f"/channels/{channel_id}/messages", data=form)


async def get_storage(operator: Actor, kind: str, target_id: int) -> dict[str, Any]:
    """Return the storage of an account (`kind` is users) or a guild (`kind` is guilds)."""
    storage: dict[str, Any] = (await operator.get(f"/admin/{kind}/{target_id}/storage")).ok()
    return storage


async def set_quota(operator: Actor, kind: str, target_id: int, quota: int | None) -> dict[str, Any]:
    """Set the quota of an account or guild in bytes, and return its storage; None restores the default quota."""
    path = f"/admin/{kind}/{target_id}/storage"
    storage: dict[str, Any] = (await operator.request("PUT", path, json={"bytes": quota})).ok()
    return storage


async def create_files(world: World) -> tuple[Guild, Actor]:
    """Create a guild with files of its owner and of a member; return the guild and the member."""
    guild = await world.guild(name="Harbor")
    bob = await guild.member()
    (await send_sized_file(guild.owner, guild.general, 3000, "large.txt")).ok()
    (await send_sized_file(guild.owner, guild.general, 1000)).ok()
    (await send_sized_file(bob, guild.general, 2000, "medium.txt")).ok()
    return guild, bob


async def test_storage_is_shown_in_total_and_for_accounts_and_guilds(world: World) -> None:
    ann = await create_operator(world, "ann", OperatorRole.AUDITOR)
    guild, bob = await create_files(world)

    summary = (await ann.get("/admin/storage")).ok()

    assert (summary["file_count"], summary["bytes"], summary["account_bytes_max"]) == (3, 6000, None)
    assert [(owner["name"], owner["bytes"]) for owner in summary["accounts"]] == [
        (guild.owner.name, 4000),
        (bob.name, 2000),
    ]
    assert [(owner["name"], owner["file_count"]) for owner in summary["guilds"]] == [("Harbor", 3)]
    assert await get_storage(ann, "users", bob.id) == {
        "file_count": 1,
        "bytes": 2000,
        "quota_bytes": None,
        "has_own_quota": False,
    }
    assert (await get_storage(ann, "guilds", guild.id))["bytes"] == 6000
    assert (await ann.get(f"/admin/guilds/{guild.id}")).ok()["storage_bytes"] == 6000


async def test_the_largest_files_are_listed_in_pages(world: World) -> None:
    ann = await create_operator(world, "ann", OperatorRole.AUDITOR)
    guild, bob = await create_files(world)

    first_page = (await ann.get("/admin/files", params={"limit": "2"})).ok()
    assert [(file["filename"], file["size"]) for file in first_page] == [("large.txt", 3000), ("medium.txt", 2000)]
    second_page = (await ann.get("/admin/files", params={"limit": "2", "after": first_page[-1]["id"]})).ok()
    assert [file["filename"] for file in second_page] == ["a.txt"]
    files_of_bob = (await ann.get("/admin/files", params={"owner_id": str(bob.id)})).ok()
    assert [(file["owner_name"], file["guild_id"]) for file in files_of_bob] == [(bob.name, str(guild.id))]
    assert (await ann.get("/admin/files", params={"guild_id": "1"})).ok() == []


async def test_files_are_found_by_a_part_of_their_name(world: World) -> None:
    ann = await create_operator(world, "ann", OperatorRole.AUDITOR)
    guild, bob = await create_files(world)
    (await send_sized_file(bob, guild.general, 10, "Invoice_50.txt")).ok()

    for name, expected in (("INVOICE", ["Invoice_50.txt"]), ("e_5", ["Invoice_50.txt"]), ("%", []), ("x_5", [])):
        assert [file["filename"] for file in (await ann.get("/admin/files", params={"name": name})).ok()] == expected
    params = {"name": "txt", "owner_id": str(bob.id), "limit": "1"}
    [largest_file] = (await ann.get("/admin/files", params=params)).ok()
    assert largest_file["filename"] == "medium.txt"
    [next_file] = (await ann.get("/admin/files", params=params | {"after": largest_file["id"]})).ok()
    assert next_file["filename"] == "Invoice_50.txt"
    assert "Invoice_50.txt" in await run_admin_command(world, "list-files", "invoice")
    assert await run_admin_command(world, "list-files", "receipt") == "No files found."
    browser = Browser(world)
    browser.sign_in_as(ann)
    page = await browser.submit(await browser.open("/admin/files"), "Search", name="invoice")
    assert "Invoice_50.txt" in page.text
    assert "large.txt" not in page.text
    assert "No file has this name." in (await browser.submit(page, "Search", name="receipt")).text


async def test_deleted_and_edited_messages_free_storage(world: World) -> None:
    ann = await create_operator(world, "ann", OperatorRole.AUDITOR)
    guild = await world.guild()
    first_message = (await send_sized_file(guild.owner, guild.general, 1000)).ok()
    second_message = (await send_sized_file(guild.owner, guild.general, 500)).ok()
    path = f"/channels/{guild.general}/messages"

    (
        await guild.owner.request("PATCH", f"{path}/{second_message['id']}", json={"content": "x", "attachments": []})
    ).ok()
    assert (await get_storage(ann, "guilds", guild.id))["bytes"] == 1000
    (await guild.owner.delete(f"{path}/{first_message['id']}")).ok()
    assert (await get_storage(ann, "guilds", guild.id))["file_count"] == 0


async def test_a_deleted_file_leaves_its_message_and_the_store(world: World) -> None:
    ann = await create_operator(world, "ann", OperatorRole.MODERATOR)
    guild = await world.guild()
    message = (await send_sized_file(guild.owner, guild.general, 1000)).ok()
    [attachment] = message["attachments"]
    session = await guild.owner.connect()

    response = await ann.post(f"/admin/files/{attachment['id']}/delete", json={"reason": "Malware"})

    assert response.status == 204
    updated_event = await session.next("MESSAGE_UPDATE")
    assert (updated_event["id"], updated_event["attachments"]) == (message["id"], [])
    await world.run_due_jobs()
    assert not await world.app.files.exists(f"attachments/{attachment['id']}")
    assert (await get_storage(ann, "guilds", guild.id))["bytes"] == 0
    (await ann.post(f"/admin/files/{attachment['id']}/delete", json={"reason": "x"})).rejected(404, 0)
    [entry] = (await ann.get("/admin/audit-log", params={"target_id": attachment["id"]})).ok()
    assert (entry["action"], entry["target_name"], entry["reason"]) == ("file.delete", "a.txt", "Malware")


@pytest.mark.parametrize("kind", ["users", "guilds"])
async def test_uploads_above_a_quota_are_rejected(world: World, kind: str) -> None:
    ann = await create_operator(world, "ann", OperatorRole.MODERATOR)
    guild = await world.guild()
    target_id = guild.owner.id if kind == "users" else guild.id
    (await send_sized_file(guild.owner, guild.general, 1024)).ok()

    storage = await set_quota(ann, kind, target_id, 2048)
    assert (storage["quota_bytes"], storage["has_own_quota"]) == (2048, True)
    rejected_response = await send_sized_file(guild.owner, guild.general, 1025)
    subject = "Your files would exceed your storage" if kind == "users" else "The files of this guild would exceed its"
    assert rejected_response.rejected(413, 40005)["message"].startswith(subject)
    (await send_sized_file(guild.owner, guild.general, 1024)).ok()
    (await guild.owner.post(f"/channels/{guild.general}/messages", json={"content": "text"})).ok()

    assert (await set_quota(ann, kind, target_id, None))["quota_bytes"] is None
    (await send_sized_file(guild.owner, guild.general, 5000)).ok()
    entries = (await ann.get("/admin/audit-log", params={"target_id": str(target_id)})).ok()
    assert [entry["detail"] for entry in entries] == ["to the default", "to 2.0 kb"]


async def test_auditors_cannot_change_files(world: World) -> None:
    ann = await create_operator(world, "ann", OperatorRole.AUDITOR)
    guild = await world.guild()
    [attachment] = (await send_sized_file(guild.owner, guild.general, 1000)).ok()["attachments"]

    (await ann.post(f"/admin/files/{attachment['id']}/delete", json={"reason": "x"})).rejected(403, 0)
    for path in (f"/admin/users/{guild.owner.id}/storage", f"/admin/guilds/{guild.id}/storage"):
        (await ann.request("PUT", path, json={"bytes": 1})).rejected(403, 0)
        (await guild.owner.get(path)).rejected(403, 0)
    (await guild.owner.get("/admin/files")).rejected(403, 0)
    (await guild.owner.get("/admin/storage")).rejected(403, 0)


async def test_a_moderator_deletes_a_file_and_sets_quotas_in_the_console(world: World) -> None:
    browser, ann = await open_browser(world, OperatorRole.MODERATOR)
    guild, bob = await create_files(world)

    page = await browser.open("/admin/files")
    assert "large.txt" in page.text
    page = await browser.submit(await browser.open(f"/admin/files?owner_id={bob.id}"), "Delete file", reason="Malware")
    assert "File deleted." in page.text
    page = await browser.submit(await browser.open(f"/admin/guilds/{guild.id}"), "Save quota", quota_mib="1")
    assert "Storage quota saved." in page.text
    page = await browser.submit(await browser.open(f"/admin/users/{bob.id}"), "Save quota", quota_mib="0")
    assert "Storage quota saved." in page.text

    assert (await get_storage(ann, "guilds", guild.id))["quota_bytes"] == MIB
    assert (await send_sized_file(bob, guild.general, 10)).status == 413


async def test_commands_manage_files(world: World) -> None:
    guild, bob = await create_files(world)

    assert (await run_admin_command(world, "storage")).splitlines() == [
        "total: 6000 bytes in 3 files",
        f"account {guild.owner.name}: 4000 bytes in 2 files",
        f"account {bob.name}: 2000 bytes in 1 files",
        "guild Harbor: 6000 bytes in 3 files",
    ]
    line = await run_admin_command(world, "list-files", "--user", bob.name)
    assert "2000 bytes medium.txt" in line
    assert await run_admin_command(world, "delete-file", line.split()[0], "--reason", "Spam") == "Deleted medium.txt."
    with pytest.raises(AdminError, match="there is no file"):
        await run_admin_command(world, "delete-file", "1", "--reason", "Spam")
    assert await run_admin_command(world, "list-files", "--user", bob.name) == "No files found."
    assert "quota of 100 bytes" in await run_admin_command(world, "set-quota", "100", "--guild", str(guild.id))
    assert (await send_sized_file(bob, guild.general, 10)).status == 413
    assert "default quota" in await run_admin_command(world, "set-quota", "default", "--guild", str(guild.id))
