"""Teams of developers: members, roles, and the permissions for the applications of the team."""

from typing import Any

import pytest

from hubbub.protocol.flags import UserFlags
from tests.oauth import Client, create_application
from tests.pages import Browser
from tests.server.identity.accounts import create_user_with_password, enable_totp, totp_code
from tests.world import Actor, World

pytestmark = pytest.mark.usefixtures("accented_pages")


async def create_team(owner: Actor, name: str = "Sailors") -> Any:
    return (await owner.post("/teams", json={"name": name})).ok()


async def add_member(team: Any, owner: Actor, member: Actor, role: str) -> None:
    """Invite a user to a team, and accept as the user."""
    body = {"username": member.name, "role": role}
    (await owner.post(f"/teams/{team['id']}/members", json=body)).ok()
    (await member.put(f"/users/@me/teams/{team['id']}")).ok()


async def create_team_application(world: World) -> tuple[Client, Any]:
    """Create an application and transfer it to a new team of its owner; return the application and the team."""
    client = await create_application(world)
    team = await create_team(client.owner)
    path = f"/applications/{client.id}/transfer"
    (await client.owner.post(path, json={"team_id": team["id"]})).ok()
    return client, team


async def test_a_user_is_invited_accepts_and_leaves(world: World) -> None:
    alice, bob = await world.user("alice"), await world.user("bob")
    team = await create_team(alice)
    path = f"/teams/{team['id']}"
    assert [member["user"]["id"] for member in team["members"]] == [str(alice.id)]
    assert (team["owner_user_id"], team["icon"]) == (str(alice.id), None)

    invited_member = (await alice.post(f"{path}/members", json={"username": "bob"})).ok()

    assert (invited_member["membership_state"], invited_member["role"], invited_member["permissions"]) == (
        1,
        "developer",
        ["*"],
    )
    [listed_team] = (await bob.get("/teams")).ok()
    assert [member["user"]["id"] for member in listed_team["members"]] == [str(bob.id)]
    (await bob.get(path)).rejected(404, 0)
    joined_team = (await bob.put(f"/users/@me/teams/{team['id']}")).ok()
    assert [member["membership_state"] for member in joined_team["members"]] == [2, 2]
    (await bob.get(path)).ok()
    assert (await bob.delete(f"{path}/members/{bob.id}")).status == 204
    assert (await bob.get("/teams")).ok() == []
    (await bob.put(f"/users/@me/teams/{team['id']}")).rejected(404, 0)


async def test_the_data_export_lists_own_teams_memberships_and_invitations(world: World) -> None:
    alice, bob = await world.user("alice"), await world.user("bob")
    sailor_team, pilot_team = await create_team(alice), await create_team(alice, "Pilots")
    await add_member(sailor_team, alice, bob, "admin")
    (await alice.post(f"/teams/{pilot_team['id']}/members", json={"username": "bob"})).ok()

    own_records = (await alice.get("/users/@me/harvest")).ok()["records"]["teams"]
    joined_record, invited_record = (await bob.get("/users/@me/harvest")).ok()["records"]["teams"]

    assert [(team["name"], team["role"]) for team in own_records] == [("Sailors", "owner"), ("Pilots", "owner")]
    assert (joined_record["id"], joined_record["role"], joined_record["is_accepted"]) == (
        sailor_team["id"],
        "admin",
        True,
    )
    assert (invited_record["name"], invited_record["role"], invited_record["is_accepted"]) == (
        "Pilots",
        "developer",
        False,
    )


async def test_only_admins_manage_members_and_only_the_owner_the_team(world: World) -> None:
    alice, admin, developer, carol = [await world.user(name) for name in ("alice", "adam", "dora", "carol")]
    team = await create_team(alice)
    path = f"/teams/{team['id']}"
    await add_member(team, alice, admin, "admin")
    await add_member(team, admin, developer, "developer")
    body = {"username": "carol", "role": "read_only"}

    (await developer.post(f"{path}/members", json=body)).rejected(403, 50013)
    (await developer.patch(path, json={"name": "Mine"})).rejected(403, 50013)
    (await developer.delete(f"{path}/members/{admin.id}")).rejected(403, 50013)
    (await carol.post(f"{path}/members", json=body)).rejected(404, 0)
    (await admin.post(f"{path}/members", json=body)).ok()
    assert (await admin.post(f"{path}/members", json=body)).errors("username") == ["TEAM_USER_ALREADY_INVITED"]
    error_response = await admin.post(f"{path}/members", json={"username": "missing"})
    assert error_response.errors("username") == ["TEAM_USER_UNKNOWN"]
    changed_member = (await admin.patch(f"{path}/members/{developer.id}", json={"role": "read_only"})).ok()
    assert changed_member["role"] == "read_only"
    (await admin.patch(f"{path}/members/{alice.id}", json={"role": "read_only"})).rejected(404, 10013)
    (await admin.delete(f"{path}/members/{alice.id}")).rejected(404, 10013)
    assert (await admin.patch(path, json={"name": "Rowers"})).ok()["name"] == "Rowers"
    (await admin.delete(path)).rejected(403, 50013)
    (await admin.post(f"{path}/transfer", json={"user_id": str(admin.id)})).rejected(403, 50013)
    assert (await alice.delete(path)).status == 204
    (await alice.get(path)).rejected(404, 0)


@pytest.mark.parametrize(
    ("role", "can_read", "can_write", "can_see_log"),
    [
        ("admin", True, True, True),
        ("developer", True, True, True),
        ("read_only", True, False, False),
        (None, False, False, False),
    ],
)
async def test_a_role_decides_the_permissions_for_the_applications_of_a_team(
    world: World, role: str | None, can_read: bool, can_write: bool, can_see_log: bool
) -> None:
    client, team = await create_team_application(world)
    bob = await world.user("bob")
    path = f"/applications/{client.id}"
    # An invitation gives no permissions.
    (await client.owner.post(f"/teams/{team['id']}/members", json={"username": "bob", "role": role or "admin"})).ok()
    (await bob.get(path)).rejected(403, 20012)
    if role is not None:
        (await bob.put(f"/users/@me/teams/{team['id']}")).ok()

    assert ((await bob.get(path)).status == 200) is can_read
    assert ((await bob.get(f"{path}/store/skus")).status == 200) is can_read
    assert ((await bob.get(f"{path}/emojis")).status == 200) is can_read
    assert ((await bob.get(f"{path}/registered-commands")).status == 200) is can_read
    assert ((await bob.patch(path, json={"description": "new"})).status == 200) is can_write
    assert ((await bob.post(f"{path}/reset", json={})).status == 200) is can_write
    assert ((await bob.get(f"{path}/deliveries")).status == 200) is can_see_log
    assert [application["id"] for application in (await bob.get("/applications")).ok()] == (
        [str(client.id)] if can_read else []
    )
    (await bob.delete(path, json={})).rejected(403, 20012)
    (await bob.post(f"{path}/transfer", json={"team_id": team["id"]})).rejected(403, 20012)
    if role is not None:
        (await client.owner.delete(f"/teams/{team['id']}/members/{bob.id}")).ok()
        (await bob.get(path)).rejected(403, 20012)


async def test_an_application_of_a_team_names_the_team_as_its_owner(world: World) -> None:
    client, team = await create_team_application(world)
    assert client.bot is not None

    application = (await client.bot.get("/applications/@me")).ok()

    assert application["team"]["id"] == team["id"]
    assert [member["role"] for member in application["team"]["members"]] == ["admin"]
    owner = application["owner"]
    assert (owner["id"], owner["username"]) == (team["id"], f"team{team['id']}")
    assert owner["public_flags"] == UserFlags.TEAM_PSEUDO_USER
    [listed_application] = (await client.owner.get(f"/teams/{team['id']}/applications")).ok()
    assert listed_application["id"] == str(client.id)
    rejected_response = await client.owner.delete(f"/teams/{team['id']}")
    assert rejected_response.errors("team_id") == ["TEAM_HAS_APPLICATIONS"]


async def test_an_application_is_transferred_only_to_a_managed_team(world: World) -> None:
    client, bob = await create_application(world), await world.user("bob")
    other_team = await create_team(bob)
    await add_member(other_team, bob, client.owner, "developer")
    path = f"/applications/{client.id}/transfer"

    assert (await client.owner.post(path, json={"team_id": other_team["id"]})).errors("team_id") == ["TEAM_NOT_MANAGED"]
    assert (await client.owner.post(path, json={"team_id": "1"})).errors("team_id") == ["TEAM_NOT_MANAGED"]
    (await bob.post(path, json={"team_id": other_team["id"]})).rejected(403, 20012)
    (await bob.patch(f"/teams/{other_team['id']}/members/{client.owner.id}", json={"role": "admin"})).ok()
    (await client.owner.post(path, json={"team_id": other_team["id"]})).ok()
    # The owner of the team now owns the application.
    (await client.owner.delete(f"/applications/{client.id}", json={})).rejected(403, 20012)
    assert (await bob.delete(f"/applications/{client.id}", json={})).status == 204


async def test_a_team_is_transferred_with_its_applications(world: World) -> None:
    client, team = await create_team_application(world)
    bob = await world.user("bob")
    path = f"/teams/{team['id']}/transfer"
    rejected_response = await client.owner.post(path, json={"user_id": str(bob.id)})
    assert rejected_response.errors("user_id") == ["TEAM_OWNER_NOT_MEMBER"]
    await add_member(team, client.owner, bob, "developer")

    transferred_team = (await client.owner.post(path, json={"user_id": str(bob.id)})).ok()

    roles = {member["user"]["id"]: member["role"] for member in transferred_team["members"]}
    assert (transferred_team["owner_user_id"], roles) == (
        str(bob.id),
        {str(bob.id): "admin", str(client.owner.id): "admin"},
    )
    (await client.owner.patch(f"/applications/{client.id}", json={"description": "x"})).ok()
    (await client.owner.delete(f"/applications/{client.id}", json={})).rejected(403, 20012)
    assert (await bob.delete(f"/applications/{client.id}", json={})).status == 204


async def test_a_transfer_needs_the_authenticator_code(world: World) -> None:
    alice = await create_user_with_password(world)
    secret, _ = await enable_totp(world, alice)
    application = (await alice.post("/applications", json={"name": "Game"})).ok()
    team = await create_team(alice)
    path = f"/applications/{application['id']}/transfer"

    (await alice.post(path, json={"team_id": team["id"]})).rejected(401, 60003)
    (await alice.post(path, json={"team_id": team["id"], "code": totp_code(world, secret)})).ok()


async def test_teams_are_managed_in_the_portal(world: World) -> None:
    alice, bob = await world.user("alice"), await world.user("bob")
    owner, guest = Browser(world), Browser(world)
    owner.sign_in_as(alice)
    guest.sign_in_as(bob)
    page = await owner.submit(await owner.open("/developers/teams"), "Create team", name="Sailors")
    assert "Sailors was created." in page.text
    team_path = page.url.partition("?")[0] if "/teams/" in page.url else owner.history[-1].url
    error_page = await owner.submit(page, "Invite", username="missing", role="admin")
    assert 'id="error-username"' in error_page.body
    page = await owner.submit(error_page, "Invite", username="bob", role="read_only")
    assert "Invited as read-only" in page.text
    application_page = await owner.submit(await owner.open("/developers"), "Create application", name="Boat")
    application_path = owner.history[-1].url
    application_page = await owner.submit(application_page, "Transfer application")
    assert "Owned by the team Sailors." in application_page.text

    assert (await guest.open(application_path)).status == 404
    joined_page = await guest.submit(await guest.open("/developers/teams"), "Accept")
    assert "You are now a member of the team." in joined_page.text
    assert application_path in [url for _, url in (await guest.open("/developers")).links]
    visible_page = await guest.open(application_path)
    assert "your role in its team is read-only" in visible_page.text
    assert "Delete application" not in visible_page.text
    for section in (
        "/bot",
        "/oauth2",
        "/installation",
        "/webhooks",
        "/interactions",
        "/commands",
        "/pictures",
        "/store",
    ):
        assert (await guest.open(application_path + section)).status == 200, section
    assert (await guest.open(application_path + "/log")).status == 403
    assert (await guest.submit(visible_page, "Save", name="Stolen")).status == 403

    page = await owner.submit(await owner.open(team_path), "Change role of bob", role="developer")
    assert "Role changed." in page.text
    assert (await guest.submit(await guest.open(application_path), "Save", name="Ship")).status == 200
    page = await owner.submit(page, "Transfer team", user_id=str(bob.id))
    assert "You are now an admin of it." in page.text
    left_page = await owner.submit(page, "Leave team")
    assert "You left the team." in left_page.text
    assert (await owner.open(application_path)).status == 404
