"""Operators: roles, two-factor authentication and the audit log."""

from typing import Any

import pytest

from hubbub.protocol.operator_roles import OperatorRole
from tests.server.identity.accounts import create_user_with_password, enable_totp, log_in
from tests.server.identity.operators import create_operator, grant_role
from tests.world import Actor, World

OWNER, MODERATOR, AUDITOR = OperatorRole.OWNER, OperatorRole.MODERATOR, OperatorRole.AUDITOR


async def list_actions(operator: Actor, **query: Any) -> list[tuple[str, str]]:
    """Return the action and the target's name of the audit log entries, newest first."""
    audit_entries = (await operator.get("/admin/audit-log", params=query)).ok()
    return [(audit_entry["action"], audit_entry["target_name"]) for audit_entry in audit_entries]


async def test_an_owner_grants_changes_and_removes_roles(world: World) -> None:
    ann = await create_operator(world, "ann")
    ben = await create_user_with_password(world, "ben")

    granted_operator = (
        await ann.put(f"/admin/operators/{ben.id}", json={"role": "auditor", "reason": "Helps with audits"})
    ).ok()
    assert (granted_operator["role"], granted_operator["username"], granted_operator["mfa_enabled"]) == (
        "auditor",
        "ben",
        False,
    )
    (await ann.put(f"/admin/operators/{ben.id}", json={"role": "moderator"})).ok()
    assert [(row["username"], row["role"]) for row in (await ann.get("/admin/operators")).ok()] == [
        ("ann", "owner"),
        ("ben", "moderator"),
    ]
    (await ann.post(f"/admin/operators/{ben.id}/remove", json={"reason": "Left"})).ok()

    assert len((await ann.get("/admin/operators")).ok()) == 1
    (await ann.post(f"/admin/operators/{ben.id}/remove")).rejected(404, 10013)
    audit_entries = (await ann.get("/admin/audit-log", params={"target_id": str(ben.id)})).ok()
    assert [(audit_entry["action"], audit_entry["detail"], audit_entry["reason"]) for audit_entry in audit_entries] == [
        ("operator.remove", "with the role moderator", "Left"),
        ("operator.set", "from auditor to moderator", None),
        ("operator.set", "to auditor", "Helps with audits"),
    ]
    assert {audit_entry["operator_name"] for audit_entry in audit_entries} == {"ann"}
    [first_entry] = (await ann.get("/admin/audit-log", params={"target_id": str(ann.id)})).ok()
    assert (first_entry["operator_id"], first_entry["operator_name"]) == (None, None)


async def test_administration_requires_the_role_of_an_operator(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild)

    for path in ("/admin/operators/@me", "/admin/operators", "/admin/audit-log", "/admin/users"):
        (await guild.owner.get(path)).rejected(403, 0)
        assert (await bot.get(path)).status == 403
        assert (await world.request("GET", path)).status == 401


async def test_administration_requires_two_factor_authentication(world: World) -> None:
    ann = await create_user_with_password(world, "ann")
    await grant_role(world, ann, OWNER)
    assert (await ann.get("/users/@me")).status == 401
    ann.token = (await log_in(world, "ann")).ok()["token"]
    other_token = (await log_in(world, "ann")).ok()["token"]

    (await ann.get("/admin/users")).rejected(401, 60003)
    await enable_totp(world, ann)

    (await ann.get("/admin/users")).ok()
    # Enabling TOTP ends the other session, which was opened without a code.
    assert (await world.request("GET", "/users/@me", headers={"Authorization": other_token})).status == 401


@pytest.mark.parametrize("role", [MODERATOR, AUDITOR])
async def test_only_owners_manage_operators(world: World, role: OperatorRole) -> None:
    ann = await create_operator(world, "ann", role)
    ben = await world.user("ben")

    (await ann.get("/admin/operators")).ok()
    assert (await ann.get("/admin/operators/@me")).ok()["role"] == role.value
    (await ann.put(f"/admin/operators/{ben.id}", json={"role": "auditor"})).rejected(403, 0)
    (await ann.post(f"/admin/operators/{ann.id}/remove")).rejected(403, 0)


async def test_the_last_owner_keeps_the_role(world: World) -> None:
    ann = await create_operator(world, "ann")

    (await ann.put(f"/admin/operators/{ann.id}", json={"role": "auditor"})).rejected(403, 0)
    (await ann.post(f"/admin/operators/{ann.id}/remove")).rejected(403, 0)
    await create_operator(world, "ben")
    (await ann.put(f"/admin/operators/{ann.id}", json={"role": "auditor"})).ok()

    (await ann.put(f"/admin/operators/{ann.id}", json={"role": "owner"})).rejected(403, 0)


async def test_the_audit_log_has_pages_and_filters(world: World) -> None:
    ann = await create_operator(world, "ann")
    users = [await world.user(f"user{number}") for number in range(3)]
    for user in users:
        (await ann.post(f"/admin/users/{user.id}/suspend", json={"reason": "Spam"})).ok()

    first_page = (await ann.get("/admin/audit-log", params={"limit": "2", "operator_id": str(ann.id)})).ok()
    assert [audit_entry["target_name"] for audit_entry in first_page] == ["user2", "user1"]
    assert await list_actions(ann, before=first_page[-1]["id"], operator_id=str(ann.id)) == [("user.suspend", "user0")]
    assert await list_actions(ann, target_id=str(users[1].id)) == [("user.suspend", "user1")]
    assert await list_actions(ann, action="user.suspend", target_id=str(users[1].id)) == [("user.suspend", "user1")]
    assert await list_actions(ann, action="user.delete") == []
    assert (await ann.get("/admin/audit-log", params={"limit": "101"})).errors("limit") == ["NUMBER_TYPE_MAX"]


async def test_invalid_roles_and_unknown_users_are_rejected(world: World) -> None:
    ann = await create_operator(world, "ann")
    bot = await world.bot(await world.guild())

    assert (await ann.put(f"/admin/operators/{ann.id}", json={"role": "king"})).errors("role")
    (await ann.put("/admin/operators/1", json={"role": "auditor"})).rejected(404, 10013)
    (await ann.put(f"/admin/operators/{bot.id}", json={"role": "auditor"})).rejected(404, 10013)
