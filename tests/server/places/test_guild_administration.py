"""The administration of guilds in the API and with commands: search, suspension, deletion, restoration and transfer."""

import asyncio
from typing import Any

import pytest

from hubbub.protocol.operator_roles import OperatorRole
from hubbub.server.commands.admin_actions import AdminError
from tests.server.admin_commands import run_admin_command
from tests.server.identity.operators import create_operator
from tests.world import Actor, Guild, World

DAY_MS = 24 * 3_600_000


async def search_guilds(operator: Actor, **query: Any) -> list[str]:
    """Return the names of the guilds that a search finds."""
    return [guild["name"] for guild in (await operator.get("/admin/guilds", params=query)).ok()]


async def act_on_guild(operator: Actor, guild: Guild, action: str, **body: Any) -> dict[str, Any]:
    """Perform an action on a guild and return the guild."""
    guild_view: dict[str, Any] = (await operator.post(f"/admin/guilds/{guild.id}/{action}", json=body)).ok()
    return guild_view


async def test_guilds_are_found_by_name_and_id(world: World) -> None:
    ann = await create_operator(world, "ann", OperatorRole.AUDITOR)
    guild = await world.guild(name="Chess_Club")
    await world.guild(name="Harbor")

    assert await search_guilds(ann) == ["Chess_Club", "Harbor"]
    for text in ("chess_", "CLUB", str(guild.id), str(guild.owner.id)):
        assert await search_guilds(ann, query=text) == ["Chess_Club"], text
    for text in ("s%b", "99999999999999999999999", "\\"):
        assert await search_guilds(ann, query=text) == [], text
    assert await search_guilds(ann, after=str(guild.id)) == ["Harbor"]
    assert await search_guilds(ann, limit="1") == ["Chess_Club"]


async def test_a_guild_is_shown_with_the_amount_of_its_data(world: World) -> None:
    ann = await create_operator(world, "ann", OperatorRole.AUDITOR)
    guild = await world.guild(name="Harbor")
    await guild.member()
    channel_id = await guild.channel("files")
    await guild.owner.post(f"/channels/{channel_id}/messages", json={"content": "hello"})

    guild_details = (await ann.get(f"/admin/guilds/{guild.id}")).ok()

    assert (guild_details["name"], guild_details["owner_id"], guild_details["owner_name"]) == (
        "Harbor",
        str(guild.owner.id),
        guild.owner.name,
    )
    assert (guild_details["member_count"], guild_details["thread_count"], guild_details["storage_bytes"]) == (2, 0, 0)
    assert guild_details["message_count"] >= 1
    assert guild_details["channel_count"] >= 1
    assert (guild_details["suspension"], guild_details["deletion"]) == (None, None)
    (await ann.get("/admin/guilds/1")).rejected(404, 10004)


async def test_a_suspended_guild_is_unavailable_and_its_members_see_the_reason(world: World) -> None:
    ann = await create_operator(world, "ann", OperatorRole.MODERATOR)
    guild = await world.guild()
    channel_id = await guild.channel("general")
    bob, stranger = await guild.member(), await world.user()
    bot = await world.bot(guild)
    invite = (await guild.owner.post(f"/channels/{channel_id}/invites", json={})).ok()["code"]
    webhook = (await guild.owner.post(f"/channels/{channel_id}/webhooks", json={"name": "news"})).ok()
    session = await bob.connect()

    suspended_guild = await act_on_guild(ann, guild, "suspend", reason="Spam")

    assert suspended_guild["suspension"]["reason"] == "Spam"
    assert await session.next("GUILD_DELETE") == {"id": str(guild.id), "unavailable": True}
    message = "The operators of this server suspended this guild. Reason: Spam"
    for caller in (guild.owner, bob, bot):
        for path in (f"/guilds/{guild.id}", f"/channels/{channel_id}/messages", f"/guilds/{guild.id}/members"):
            assert (await caller.get(path)).rejected(403, 50001)["message"] == message, path
        response = await caller.post(f"/channels/{channel_id}/messages", json={"content": "hi"})
        assert response.rejected(403, 50001)["message"] == message
    assert (await stranger.get(f"/guilds/{guild.id}")).rejected(403, 50001)["message"] == "Missing Access"
    join_response = await stranger.post(f"/invites/{invite}", json={})
    assert join_response.rejected(403, 50001)["message"] == "The operators of this server suspended this guild."
    webhook_response = await world.request(
        "POST", f"/webhooks/{webhook['id']}/{webhook['token']}", json={"content": "hi"}
    )
    webhook_response.rejected(403, 50001)
    (await guild.owner.delete(f"/guilds/{guild.id}")).rejected(403, 50001)
    assert await search_guilds(ann, state="suspended") == [suspended_guild["name"]]


async def test_a_suspended_guild_becomes_available_again(world: World) -> None:
    ann = await create_operator(world, "ann", OperatorRole.MODERATOR)
    guild = await world.guild()
    early_session = await guild.owner.connect()
    await act_on_guild(ann, guild, "suspend", reason="Spam")
    # `connect` returns when every guild of READY is available.
    opening_task = asyncio.create_task(guild.owner.connect())
    await early_session.next("SESSIONS_REPLACE")

    unsuspended_guild = await act_on_guild(ann, guild, "unsuspend")

    late_session = await opening_task
    assert unsuspended_guild["suspension"] is None
    assert late_session.ready["guilds"] == [{"id": str(guild.id), "unavailable": True}]
    for guild_create in (await early_session.next("GUILD_CREATE"), late_session.guilds[str(guild.id)]):
        assert (guild_create["id"], guild_create["unavailable"]) == (str(guild.id), False)
    (await guild.owner.get(f"/guilds/{guild.id}")).ok()
    channel_id = await guild.channel("after")
    for session in (early_session, late_session):
        assert (await session.next("CHANNEL_CREATE"))["id"] == str(channel_id)


async def test_a_suspension_ends_the_calls_of_a_guild(world: World) -> None:
    ann = await create_operator(world, "ann", OperatorRole.MODERATOR)
    guild = await world.guild()
    voice_channel_id = await guild.channel("voice", type=2)
    session = await guild.owner.connect()
    await session.send(
        4, {"guild_id": str(guild.id), "channel_id": str(voice_channel_id), "self_mute": False, "self_deaf": False}
    )
    await session.next("VOICE_STATE_UPDATE")

    await act_on_guild(ann, guild, "suspend", reason="Spam")
    await act_on_guild(ann, guild, "unsuspend")

    assert (await session.next("GUILD_CREATE", lambda data: data.get("unavailable") is False))["voice_states"] == []


async def test_a_deleted_guild_can_be_restored_until_the_grace_period_ends(world: World) -> None:
    ann = await create_operator(world, "ann", OperatorRole.MODERATOR)
    guild = await world.guild()
    session = await guild.owner.connect()

    deleted_guild = await act_on_guild(ann, guild, "delete", reason="Spam", grace_days=7)
    assert deleted_guild["deletion"]["reason"] == "Spam"
    assert await session.next("GUILD_DELETE") == {"id": str(guild.id), "unavailable": True}
    assert await search_guilds(ann, state="deleting") == [deleted_guild["name"]]
    (await ann.post(f"/admin/guilds/{guild.id}/unsuspend")).rejected(403, 0)
    restored_guild = await act_on_guild(ann, guild, "restore")
    assert (restored_guild["suspension"], restored_guild["deletion"]) == (None, None)
    assert (await session.next("GUILD_CREATE"))["id"] == str(guild.id)
    (await ann.post(f"/admin/guilds/{guild.id}/restore")).rejected(403, 0)
    world.clock.advance(8 * DAY_MS)
    await world.run_due_jobs()
    (await ann.get(f"/admin/guilds/{guild.id}")).ok()

    await act_on_guild(ann, guild, "delete", reason="Spam", grace_days=1)
    world.clock.advance(2 * DAY_MS)
    await world.run_due_jobs()

    (await ann.get(f"/admin/guilds/{guild.id}")).rejected(404, 10004)
    audit_entries = (await ann.get("/admin/audit-log", params={"target_id": str(guild.id)})).ok()
    assert [audit_entry["action"] for audit_entry in audit_entries] == [
        "guild.deleted",
        "guild.delete",
        "guild.restore",
        "guild.delete",
    ]


async def test_a_restored_guild_stays_suspended_if_it_was_suspended_before(world: World) -> None:
    ann = await create_operator(world, "ann", OperatorRole.MODERATOR)
    guild = await world.guild()

    await act_on_guild(ann, guild, "suspend", reason="Spam")
    await act_on_guild(ann, guild, "delete", reason="More spam")
    restored_guild = await act_on_guild(ann, guild, "restore")

    assert restored_guild["deletion"] is None
    assert restored_guild["suspension"]["reason"] == "More spam"


async def test_ownership_is_transferred_to_a_member(world: World) -> None:
    ann = await create_operator(world, "ann", OperatorRole.MODERATOR)
    guild = await world.guild()
    bob, stranger, bot = await guild.member(), await world.user(), await world.bot(guild)
    session = await bob.connect()

    transferred_guild = await act_on_guild(ann, guild, "transfer", owner_id=str(bob.id), reason="The owner left")

    assert transferred_guild["owner_name"] == bob.name
    assert (await session.next("GUILD_UPDATE"))["owner_id"] == str(bob.id)
    for user, status, error in ((stranger, 404, 10007), (bot, 400, 50132)):
        response = await ann.post(f"/admin/guilds/{guild.id}/transfer", json={"owner_id": str(user.id)})
        response.rejected(status, error)
    [audit_entry] = (await ann.get("/admin/audit-log", params={"target_id": str(guild.id)})).ok()
    assert (audit_entry["action"], audit_entry["detail"], audit_entry["reason"]) == (
        "guild.transfer",
        f"from {guild.owner.name} to {bob.name}",
        "The owner left",
    )


@pytest.mark.parametrize("action", ["suspend", "unsuspend", "delete", "restore", "transfer"])
async def test_auditors_cannot_change_guilds(world: World, action: str) -> None:
    ann = await create_operator(world, "ann", OperatorRole.AUDITOR)
    guild = await world.guild()

    body = {"owner_id": str(guild.owner.id)} if action == "transfer" else {"reason": "x"}
    (await ann.post(f"/admin/guilds/{guild.id}/{action}", json=body)).rejected(403, 0)


async def test_only_operators_see_guilds(world: World) -> None:
    guild = await world.guild()

    (await guild.owner.get("/admin/guilds")).rejected(403, 0)
    (await guild.owner.get(f"/admin/guilds/{guild.id}")).rejected(403, 0)
    (await guild.owner.post(f"/admin/guilds/{guild.id}/suspend", json={"reason": "x"})).rejected(403, 0)


async def test_commands_manage_guilds(world: World) -> None:
    guild = await world.guild(name="Harbor")
    bob = await guild.member()
    guild_id = str(guild.id)

    assert await run_admin_command(world, "list-guilds", "harb") == f"{guild_id} Harbor (2 members)"
    assert "owner: " + guild.owner.name in await run_admin_command(world, "show-guild", guild_id)
    assert "Suspended Harbor" in await run_admin_command(world, "suspend-guild", guild_id, "--reason", "Spam")
    assert "suspended: Spam" in await run_admin_command(world, "show-guild", guild_id)
    assert "available again" in await run_admin_command(world, "unsuspend-guild", guild_id)
    with pytest.raises(AdminError, match="is not suspended"):
        await run_admin_command(world, "unsuspend-guild", guild_id)
    assert "restore-guild" in await run_admin_command(world, "delete-guild", guild_id, "--reason", "Spam")
    assert await run_admin_command(world, "list-guilds", "--state", "deleting") == f"{guild_id} Harbor (2 members)"
    assert await run_admin_command(world, "restore-guild", guild_id) == "Restored Harbor."
    assert "is now the owner" in await run_admin_command(world, "transfer-guild", guild_id, bob.name)
    assert f"owner: {bob.name}" in await run_admin_command(world, "show-guild", guild_id)
    with pytest.raises(AdminError, match="0 to 90"):
        await run_admin_command(world, "delete-guild", guild_id, "--reason", "Spam", "--grace-days", "91")
    log = await run_admin_command(world, "audit-log")
    assert "command line: guild.suspend Harbor (Spam)" in log
