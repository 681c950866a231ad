"""The audit log: paging, filters, permissions, events, retention, and visible threads."""

from typing import Any

import pytest

from hubbub.protocol.enums import AuditLogAction, ChannelType
from hubbub.protocol.permissions import Permissions
from tests.world import Actor, Guild, World

DAY_MS = 24 * 3_600_000


async def list_entries(guild: Guild, query: str = "") -> list[dict[str, Any]]:
    """Return the entries that a query matches, as the owner of the guild."""
    audit_entries: list[dict[str, Any]] = (await guild.owner.get(f"/guilds/{guild.id}/audit-logs{query}")).ok()[
        "audit_log_entries"
    ]
    return audit_entries


async def test_entries_are_listed_newest_first_with_their_users(world: World) -> None:
    guild = await world.guild()
    roles = [await guild.role(name) for name in ("a", "b", "c")]

    log = (await guild.owner.get(f"/guilds/{guild.id}/audit-logs")).ok()

    assert [audit_entry["target_id"] for audit_entry in log["audit_log_entries"]] == [
        str(role) for role in reversed(roles)
    ]
    assert [user["id"] for user in log["users"]] == [str(guild.owner.id)]
    assert log["audit_log_entries"][0]["action_type"] == AuditLogAction.ROLE_CREATE
    assert "guild_id" not in log["audit_log_entries"][0]
    empty_lists = ("threads", "integrations", "webhooks", "guild_scheduled_events", "application_commands")
    assert all(log[key] == [] for key in (*empty_lists, "auto_moderation_rules"))


async def test_before_and_after_page_in_both_directions(world: World) -> None:
    guild = await world.guild()
    for name in "abcd":
        await guild.role(name)
    newest_first_ids = [audit_entry["id"] for audit_entry in await list_entries(guild)]
    first_entry_id, second_entry_id, third_entry_id, fourth_entry_id = reversed(newest_first_ids)

    async def list_ids(query: str) -> list[str]:
        return [audit_entry["id"] for audit_entry in await list_entries(guild, query)]

    assert await list_ids("?limit=1") == [fourth_entry_id]
    assert await list_ids(f"?before={third_entry_id}") == [second_entry_id, first_entry_id]
    assert await list_ids(f"?before={fourth_entry_id}&limit=1") == [third_entry_id]
    assert await list_ids(f"?after={second_entry_id}") == [third_entry_id, fourth_entry_id]
    assert await list_ids(f"?after={first_entry_id}&limit=1") == [second_entry_id]
    assert await list_ids("?after=0") == [first_entry_id, second_entry_id, third_entry_id, fourth_entry_id]
    assert await list_ids(f"?before={second_entry_id}&after={first_entry_id}") == [first_entry_id]


async def test_entries_are_filtered_by_user_action_and_target(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild, permissions=Permissions.MANAGE_ROLES)
    role_id = await guild.role("one")
    (await guild.owner.patch(f"/guilds/{guild.id}/roles/{role_id}", json={"name": "two"})).ok()
    created_role = (await bot.post(f"/guilds/{guild.id}/roles", json={})).ok()

    assert [audit_entry["target_id"] for audit_entry in await list_entries(guild, f"?user_id={bot.id}")] == [
        created_role["id"]
    ]
    assert [audit_entry["action_type"] for audit_entry in await list_entries(guild, f"?target_id={role_id}")] == [
        AuditLogAction.ROLE_UPDATE,
        AuditLogAction.ROLE_CREATE,
    ]
    assert [
        audit_entry["target_id"]
        for audit_entry in await list_entries(guild, f"?action_type={AuditLogAction.ROLE_UPDATE:d}")
    ] == [str(role_id)]
    assert await list_entries(guild, f"?action_type={AuditLogAction.ROLE_UPDATE:d}&user_id={bot.id}") == []
    assert await list_entries(guild, "?action_type=9999") == []


async def test_an_entry_event_is_sent_to_members_who_can_view_the_log(world: World) -> None:
    guild = await world.guild()
    reader = await world.bot(guild, permissions=Permissions.VIEW_AUDIT_LOG)
    other_bot = await world.bot(guild)
    reader_session, other_session = await reader.connect(), await other_bot.connect()

    headers = {"X-Audit-Log-Reason": "caf%C3%A9"}
    (await guild.owner.patch(f"/guilds/{guild.id}", json={"name": "Renamed"}, headers=headers)).ok()

    audit_entry = await reader_session.next("GUILD_AUDIT_LOG_ENTRY_CREATE")
    assert audit_entry["guild_id"] == str(guild.id)
    assert (audit_entry["action_type"], audit_entry["reason"]) == (AuditLogAction.GUILD_UPDATE, "café")
    assert audit_entry["changes"] == [{"key": "name", "old_value": "Guild", "new_value": "Renamed"}]
    del audit_entry["guild_id"]
    assert (await list_entries(guild))[0] == audit_entry
    await other_session.assert_not_received("GUILD_AUDIT_LOG_ENTRY_CREATE")


async def test_reading_the_log_requires_the_permission(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)

    (await bob.get(f"/guilds/{guild.id}/audit-logs")).rejected(403, 50013)
    (await (await world.user()).get(f"/guilds/{guild.id}/audit-logs")).rejected(403, 50001)
    (await bob.get("/guilds/1/audit-logs")).rejected(404, 10004)


@pytest.mark.one_postgres_case
@pytest.mark.parametrize("query", ["limit=0", "limit=101", "before=x", "user_id=x", "action_type=x"])
async def test_an_invalid_query_parameter_is_named(world: World, query: str) -> None:
    guild = await world.guild()

    assert (await guild.owner.get(f"/guilds/{guild.id}/audit-logs?{query}")).errors(query.partition("=")[0])


async def test_entries_are_stored_for_45_days(world: World) -> None:
    guild = await world.guild()
    await guild.role("old")
    world.clock.set(world.clock.now_ms() + 45 * DAY_MS)
    assert len(await list_entries(guild)) == 1

    world.clock.set(world.clock.now_ms() + 1000)
    assert await list_entries(guild) == []
    assert await list_entries(guild, "?after=0") == []

    await guild.role("new")
    assert len(await list_entries(guild)) == 1
    stored_count = await world.write(
        lambda call: call.tx.value("SELECT COUNT(*) FROM audit_log WHERE guild_id = ?", guild.id)
    )
    assert stored_count == 1


async def test_entries_include_the_threads_visible_to_the_reader(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild, permissions=Permissions.VIEW_AUDIT_LOG)
    thread_ids = []
    for name, thread_type in (
        ("public", ChannelType.PUBLIC_THREAD),
        ("private", ChannelType.PRIVATE_THREAD),
        ("deleted", ChannelType.PUBLIC_THREAD),
    ):
        body = {"name": name, "type": thread_type}
        thread_ids.append((await guild.owner.post(f"/channels/{guild.general}/threads", json=body)).ok()["id"])
    (await guild.owner.delete(f"/channels/{thread_ids[2]}")).ok()

    async def list_thread_ids(query: str = "", reader: Actor = guild.owner) -> list[str]:
        log = (await reader.get(f"/guilds/{guild.id}/audit-logs{query}")).ok()
        return [thread["id"] for thread in log["threads"]]

    assert await list_thread_ids() == thread_ids[:2]
    assert await list_thread_ids(f"?target_id={thread_ids[0]}") == thread_ids[:1]
    assert await list_thread_ids(f"?action_type={AuditLogAction.ROLE_CREATE:d}") == []
    assert await list_thread_ids(reader=bot) == thread_ids[:1]
