"""The administration of accounts: search, suspension, sessions, deletion and restoration."""

from typing import Any

import pytest

from hubbub.protocol.operator_roles import OperatorRole
from hubbub.server.commands.admin_actions import AdminError
from tests.server.admin_commands import run_admin_command
from tests.server.identity.accounts import create_user_with_password, log_in
from tests.server.identity.operators import create_operator
from tests.world import Actor, World

DAY_MS = 24 * 3_600_000


async def search_users(operator: Actor, **query: Any) -> list[str]:
    """Return the usernames that a search finds."""
    return [user["username"] for user in (await operator.get("/admin/users", params=query)).ok()]


async def test_users_are_found_by_name_id_and_email(world: World) -> None:
    ann = await create_operator(world, "ann")
    body = {
        "username": "ben_50",
        "password": "correct horse battery",
        "email": "ben@example.org",
        "global_name": "Big Ben",
    }
    session = (await world.request("POST", "/auth/register", json=body)).ok()
    bot = await world.bot(await world.guild(await world.user("carol")))

    found_names = await search_users(ann)
    assert found_names[:3] == ["ann", "ben_50", "carol"]
    assert bot.name not in found_names
    assert await search_users(ann, username="BEN_50") == ["ben_50"]
    assert await search_users(ann, username="ben") == []
    for text in ("EN_5", "big b", "Ben@example.org", session["user_id"]):
        assert await search_users(ann, query=text) == ["ben_50"], text
    for text in ("b%n", "x_50", "99999999999999999999999", "\\"):
        assert await search_users(ann, query=text) == [], text


async def test_a_search_has_pages(world: World) -> None:
    ann = await create_operator(world, "ann")
    for number in range(3):
        await world.user(f"user{number}")

    first_page = (await ann.get("/admin/users", params={"limit": "2"})).ok()
    assert [user["username"] for user in first_page] == ["ann", "user0"]
    assert await search_users(ann, after=first_page[-1]["id"], limit="2") == ["user1", "user2"]


async def test_an_account_is_shown_with_its_sessions(world: World) -> None:
    ann = await create_operator(world, "ann", OperatorRole.AUDITOR)
    ben = await create_user_with_password(world, "ben")

    user_details = (await ann.get(f"/admin/users/{ben.id}")).ok()

    assert (
        user_details["username"],
        user_details["operator_role"],
        user_details["suspension"],
        user_details["deletion"],
    ) == (
        "ben",
        None,
        None,
        None,
    )
    assert [session["user_agent"] for session in user_details["sessions"]] == ["phone/1"]
    assert (await ann.get(f"/admin/users/{ann.id}")).ok()["operator_role"] == "auditor"
    (await ann.get("/admin/users/1")).rejected(404, 10013)


async def test_a_command_shows_an_account_with_its_sessions(world: World) -> None:
    ann = await create_operator(world, "ann", OperatorRole.MODERATOR)
    ben = await create_user_with_password(world, "ben")

    lines = (await run_admin_command(world, "show-user", "ben")).splitlines()
    assert lines[:2] == [f"id: {ben.id}", "username: ben"]
    assert lines[3:6] == ["email: none", "two-factor authentication: off", "storage: 0 bytes in 0 files"]
    [session] = lines[6:]
    assert session.startswith("session: ")
    assert session.endswith(" from 127.0.0.1 with phone/1")
    assert "operator: moderator" in await run_admin_command(world, "show-user", "ann")

    await ann.post(f"/admin/users/{ben.id}/delete", json={"reason": "Spam"})
    command_output = await run_admin_command(world, "show-user", "ben")
    assert "\ndeleted at: " in command_output
    assert "session: " not in command_output
    with pytest.raises(AdminError, match="there is no user named nina"):
        await run_admin_command(world, "show-user", "nina")


async def test_a_suspended_user_is_logged_out_and_sees_the_reason_at_login(world: World) -> None:
    ann = await create_operator(world, "ann", OperatorRole.MODERATOR)
    ben = await create_user_with_password(world, "ben")
    session = await ben.connect()

    response = await ann.post(f"/admin/users/{ben.id}/suspend", json={"reason": "Spam in #general"})

    assert response.ok()["suspension"]["reason"] == "Spam in #general"
    assert await session.wait_closed() == 4004
    assert (await ben.get("/users/@me")).status == 401
    error = (await log_in(world, "ben")).rejected(400, 50035)["errors"]["login"]["_errors"][0]
    appeal = f"You can appeal at {world.app.config.web_url}/appeal."
    assert error == {
        "code": "ACCOUNT_DISABLED",
        "message": f"This account is suspended. {appeal} Reason: Spam in #general",
    }
    assert await search_users(ann, state="suspended") == ["ben"]

    unsuspended_user = (await ann.post(f"/admin/users/{ben.id}/unsuspend")).ok()
    assert unsuspended_user["suspension"] is None
    assert await search_users(ann, state="suspended") == []
    (await log_in(world, "ben")).ok()


async def test_a_suspension_ends_at_its_time(world: World) -> None:
    ann = await create_operator(world, "ann")
    ben = await create_user_with_password(world, "ben")
    body = {"reason": "Spam", "ends_at": "2026-12-01T00:00:00Z"}

    assert (
        (await ann.post(f"/admin/users/{ben.id}/suspend", json=body))
        .ok()["suspension"]["ends_at"]
        .startswith("2026-12-01T00:00:00")
    )
    error = (await log_in(world, "ben")).rejected(400, 50035)["errors"]["login"]["_errors"][0]
    assert error["message"].startswith("This account is suspended until 2026-12-01 00:00 UTC. ")
    assert error["message"].endswith(" Reason: Spam")
    world.clock.advance(30 * DAY_MS)

    (await log_in(world, "ben")).ok()
    body["ends_at"] = "2020-01-01T00:00:00Z"
    assert (await ann.post(f"/admin/users/{ben.id}/suspend", json=body)).errors("ends_at") == ["TIME_IN_PAST"]
    assert (await ann.post(f"/admin/users/{ben.id}/suspend", json={})).errors("reason")


async def test_auditors_cannot_change_accounts(world: World) -> None:
    ann = await create_operator(world, "ann", OperatorRole.AUDITOR)
    ben = await world.user("ben")

    for action in ("suspend", "unsuspend", "end-sessions", "delete", "restore"):
        (await ann.post(f"/admin/users/{ben.id}/{action}", json={"reason": "x"})).rejected(403, 0)


async def test_accounts_of_operators_are_protected(world: World) -> None:
    ann = await create_operator(world, "ann", OperatorRole.MODERATOR)
    ben = await create_operator(world, "ben", OperatorRole.AUDITOR)

    for action in ("suspend", "end-sessions", "delete"):
        (await ann.post(f"/admin/users/{ben.id}/{action}", json={"reason": "x"})).rejected(403, 0)
        (await ann.post(f"/admin/users/1/{action}", json={"reason": "x"})).rejected(404, 10013)


async def test_an_operator_ends_the_sessions_of_a_user(world: World) -> None:
    ann = await create_operator(world, "ann")
    ben = await create_user_with_password(world, "ben")

    (await ann.post(f"/admin/users/{ben.id}/end-sessions", json={"reason": "Stolen phone"})).ok()

    assert (await ben.get("/users/@me")).status == 401
    (await log_in(world, "ben")).ok()
    audit_entry = (await ann.get("/admin/audit-log", params={"target_id": str(ben.id)})).ok()[0]
    assert (audit_entry["action"], audit_entry["detail"], audit_entry["reason"]) == (
        "user.end_sessions",
        "1 session",
        "Stolen phone",
    )


async def test_a_deleted_account_is_removed_with_its_messages_after_the_grace_period(world: World) -> None:
    ann = await create_operator(world, "ann")
    guild = await world.guild()
    ben = await guild.member()
    (await ben.post(f"/channels/{guild.general}/messages", json={"content": "spam"})).ok()
    (await guild.owner.post(f"/channels/{guild.general}/messages", json={"content": "hello"})).ok()
    session = await guild.owner.connect()

    deletion = (await ann.post(f"/admin/users/{ben.id}/delete", json={"reason": "Spam", "grace_days": 7})).ok()
    assert deletion["deletion"]["reason"] == "Spam"
    assert await search_users(ann, state="deleting") == [ben.name]
    assert (await ben.get("/users/@me")).status == 401
    world.clock.advance(6 * DAY_MS)
    await world.run_due_jobs()
    assert len((await guild.owner.get(f"/channels/{guild.general}/messages")).ok()) == 2
    world.clock.advance(DAY_MS)
    await world.run_due_jobs()

    assert [message["content"] for message in (await guild.owner.get(f"/channels/{guild.general}/messages")).ok()] == [
        "hello"
    ]
    await session.next("MESSAGE_DELETE_BULK")
    (await ann.get(f"/admin/users/{ben.id}")).rejected(404, 10013)
    assert await search_users(ann, state="deleting") == []
    audit_entries = (await ann.get("/admin/audit-log", params={"target_id": str(ben.id)})).ok()
    assert [audit_entry["action"] for audit_entry in audit_entries] == ["user.deleted", "user.delete"]


@pytest.mark.parametrize("ends_at", [None, "2026-11-20T00:00:00Z"])
async def test_a_deletion_is_canceled_in_its_grace_period(world: World, ends_at: str | None) -> None:
    ann = await create_operator(world, "ann")
    ben = await create_user_with_password(world, "ben")
    if ends_at is not None:
        (await ann.post(f"/admin/users/{ben.id}/suspend", json={"reason": "Spam", "ends_at": ends_at})).ok()
    (await ann.post(f"/admin/users/{ben.id}/delete", json={"reason": "Spam"})).ok()
    world.clock.advance(10 * DAY_MS)

    assert (await log_in(world, "ben")).errors("login") == ["ACCOUNT_DISABLED"]
    (await ann.post(f"/admin/users/{ben.id}/unsuspend")).rejected(403, 0)
    restored_user = (await ann.post(f"/admin/users/{ben.id}/restore")).ok()
    assert (restored_user["deletion"], restored_user["suspension"]) == (None, None)
    world.clock.advance(100 * DAY_MS)
    await world.run_due_jobs()

    (await log_in(world, "ben")).ok()
    (await ann.post(f"/admin/users/{ben.id}/restore")).rejected(403, 0)


async def test_a_permanent_suspension_outlives_a_canceled_deletion(world: World) -> None:
    ann = await create_operator(world, "ann")
    ben = await create_user_with_password(world, "ben")
    (await ann.post(f"/admin/users/{ben.id}/suspend", json={"reason": "Spam"})).ok()
    (await ann.post(f"/admin/users/{ben.id}/delete", json={"reason": "Spam"})).ok()

    restored_user = (await ann.post(f"/admin/users/{ben.id}/restore")).ok()

    assert restored_user["suspension"]["reason"] == "Spam"


async def test_owners_of_guilds_cannot_be_deleted(world: World) -> None:
    ann = await create_operator(world, "ann")
    guild = await world.guild()

    (await ann.post(f"/admin/users/{guild.owner.id}/delete", json={"reason": "Spam"})).rejected(400, 40011)
    assert (await ann.get(f"/admin/users/{guild.owner.id}")).ok()["suspension"] is None
