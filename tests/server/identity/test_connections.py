"""Connections to external accounts, the dated publisher rules, and guild tags."""

import json

import pytest

from hubbub.protocol import changes
from hubbub.protocol.enums import AuditLogAction
from hubbub.protocol.permissions import Permissions
from hubbub.server.core.call import Call
from hubbub.server.identity import connections
from tests.media import data_uri, png
from tests.world import Actor, Guild, World


async def add_connection(world: World, user: Actor, type: str, id: str, **fields: object) -> None:
    await world.write(lambda call: connections.add(call, user.id, type, id, **fields))


async def list_connection_ids(user: Actor) -> list[str]:
    return [connection["id"] for connection in (await user.get("/users/@me/connections")).ok()]


async def test_a_user_adds_updates_and_removes_a_connection(world: World) -> None:
    alice = await world.user()
    path = "/users/@me/connections/twitch/1234"

    created_connection = (await alice.put(path, json={"name": "alice_plays", "visibility": 1})).ok()

    assert created_connection == {
        "id": "1234",
        "name": "alice_plays",
        "type": "twitch",
        "verified": False,
        "friend_sync": False,
        "show_activity": False,
        "two_way_link": False,
        "visibility": 1,
    }
    assert (await alice.get("/users/@me/connections")).ok() == [created_connection]
    updated_connection = (await alice.put(path, json={"show_activity": True})).ok()
    assert updated_connection == created_connection | {"show_activity": True}
    assert (await alice.delete(path)).status == 204
    assert await list_connection_ids(alice) == []
    (await alice.delete(path)).rejected(404, 10001)


async def test_invalid_connections_are_rejected(world: World) -> None:
    alice = await world.user()
    bot = await world.bot()

    (await alice.put("/users/@me/connections/nowhere/1")).rejected(404, 10010)
    response = await alice.put("/users/@me/connections/twitch/1", json={"visibility": 7})
    assert response.errors("visibility")
    response = await alice.put("/users/@me/connections/twitch/" + "1" * 257)
    assert response.errors("connection_id") == ["BASE_TYPE_BAD_LENGTH"]
    (await bot.put("/users/@me/connections/twitch/1")).rejected(403, 20001)
    assert (await bot.get("/users/@me/connections")).ok() == []


async def test_the_number_of_connections_is_limited(world: World) -> None:
    alice = await world.user()

    def add_connections(call: Call) -> None:
        for number in range(100):
            connections.add(call, alice.id, "steam", str(number))

    await world.write(add_connections)

    assert (await alice.put("/users/@me/connections/steam/100")).errors("connection_id") == ["CONNECTIONS_MAX"]
    (await alice.put("/users/@me/connections/steam/99", json={"name": "known"})).ok()


async def test_an_access_token_requires_the_connections_scope(world: World) -> None:
    alice = await world.user()
    await add_connection(world, alice, "github", "7", name="alice", is_verified=True, is_revoked=True)
    bot = await world.bot()
    allowed_bearer = await world.bearer(alice, bot.application_id, "connections")
    denied_bearer = await world.bearer(alice, bot.application_id, "identify")

    listed_connections = (await allowed_bearer.get("/users/@me/connections")).ok()

    assert [(connection["id"], connection["verified"], connection["revoked"]) for connection in listed_connections] == [
        ("7", True, True)
    ]
    (await denied_bearer.get("/users/@me/connections")).rejected(403, 50026)
    (await world.request("GET", "/users/@me/connections")).rejected(401, 0)


@pytest.mark.dated(changes.CONNECTIONS_PUBLISHER)
async def test_publisher_connections_are_hidden_with_the_new_scheme_and_from_the_date(world: World) -> None:
    alice = await world.user()
    await add_connection(world, alice, "riotgames", "legacy", publisher_scheme="legacy")
    await add_connection(world, alice, "leagueoflegends", "old", publisher_scheme="legacy")
    await add_connection(world, alice, "riotgames", "new", publisher_scheme="new")
    await add_connection(world, alice, "steam", "other")

    world.clock.set(changes.CONNECTIONS_PUBLISHER.at_ms - 1)
    assert await list_connection_ids(alice) == ["old", "legacy", "other"]
    world.clock.set(changes.CONNECTIONS_PUBLISHER.at_ms)
    assert await list_connection_ids(alice) == ["other"]


@pytest.mark.dated(changes.PUBLISHER_SCHEME)
async def test_new_connections_use_the_new_publisher_scheme_from_the_date(world: World) -> None:
    alice = await world.user()
    world.clock.set(changes.PUBLISHER_SCHEME.at_ms - 1)
    (await alice.put("/users/@me/connections/riotgames/before")).ok()
    world.clock.set(changes.PUBLISHER_SCHEME.at_ms)
    (await alice.put("/users/@me/connections/riotgames/after")).ok()
    (await alice.put("/users/@me/connections/riotgames/before", json={"name": "still old"})).ok()

    assert await list_connection_ids(alice) == ["before"]


# Guild tags


async def create_guild_with_tag(world: World, *members: Actor, tag: str = "HUBB") -> Guild:
    guild = await world.guild(None, *members)
    features_json = json.dumps(["GUILD_TAGS"])
    await world.write(lambda call: call.tx.run("UPDATE guilds SET features = ? WHERE id = ?", features_json, guild.id))
    (await guild.owner.patch(f"/guilds/{guild.id}/profile", json={"tag": tag, "badge": data_uri(png())})).ok()
    return guild


async def test_adopting_a_guild_tag_publishes_events(world: World) -> None:
    alice = await world.user()
    guild = await create_guild_with_tag(world, alice)
    bot = await world.bot(guild)
    bot_session, alice_session = await bot.connect(), await alice.connect()
    profile = (await alice.get(f"/guilds/{guild.id}/profile")).ok()

    own_user = (await alice.put("/users/@me/clan", json={"identity_guild_id": str(guild.id)})).ok()

    expected_tag = {
        "identity_guild_id": str(guild.id),
        "identity_enabled": True,
        "tag": "HUBB",
        "badge": profile["badge"],
    }
    assert own_user["primary_guild"] == expected_tag
    assert (await alice_session.next("USER_UPDATE"))["primary_guild"] == expected_tag
    assert (await bot_session.next("GUILD_MEMBER_UPDATE"))["user"]["primary_guild"] == expected_tag
    assert (await bot.get(f"/users/{alice.id}")).ok()["primary_guild"] == expected_tag
    assert (await guild.send_message(alice))["author"]["primary_guild"] == expected_tag
    async with world.client.get(f"{world.url}/cdn/guild-tag-badges/{guild.id}/{profile['badge']}.png") as response:
        assert response.status == 200


async def test_a_tag_is_removed_by_the_user_or_with_the_membership(world: World) -> None:
    alice, bob, carol = [await world.user() for _ in range(3)]
    guild = await create_guild_with_tag(world, alice, bob, carol)
    for user in (alice, bob, carol):
        (await user.put("/users/@me/clan", json={"identity_guild_id": str(guild.id)})).ok()

    response = await alice.put("/users/@me/clan", json={"identity_guild_id": str(guild.id), "identity_enabled": False})
    assert response.ok()["primary_guild"] == {
        "identity_guild_id": str(guild.id),
        "identity_enabled": False,
        "tag": None,
        "badge": None,
    }
    assert (await alice.put("/users/@me/clan", json={"identity_guild_id": None})).ok()["primary_guild"] is None

    session = await bob.connect()
    (await guild.owner.delete(f"/guilds/{guild.id}/members/{bob.id}")).ok()
    cleared_tag = {"identity_guild_id": None, "identity_enabled": None, "tag": None, "badge": None}
    assert (await session.next("USER_UPDATE"))["primary_guild"] == cleared_tag
    assert (await bob.get("/users/@me")).ok()["primary_guild"] == cleared_tag

    session = await carol.connect()
    (await guild.owner.delete(f"/guilds/{guild.id}")).ok()
    assert (await session.next("USER_UPDATE"))["primary_guild"] == cleared_tag


async def test_members_with_the_tag_receive_its_changes(world: World) -> None:
    alice = await world.user()
    guild = await create_guild_with_tag(world, alice)
    (await alice.put("/users/@me/clan", json={"identity_guild_id": str(guild.id)})).ok()
    session = await alice.connect()

    profile = (await guild.owner.patch(f"/guilds/{guild.id}/profile", json={"tag": "NEW", "badge": None})).ok()
    assert (profile["tag"], profile["badge"]) == ("NEW", None)
    primary_guild = (await session.next("USER_UPDATE"))["primary_guild"]
    assert (primary_guild["tag"], primary_guild["badge"], primary_guild["identity_enabled"]) == ("NEW", None, True)
    audit_entries = (
        await guild.owner.get(
            f"/guilds/{guild.id}/audit-logs", params={"action_type": int(AuditLogAction.GUILD_PROFILE_UPDATE)}
        )
    ).ok()
    assert {"key": "tag", "old_value": "HUBB", "new_value": "NEW"} in audit_entries["audit_log_entries"][0]["changes"]

    (await guild.owner.patch(f"/guilds/{guild.id}/profile", json={"tag": None})).ok()
    assert (await session.next("USER_UPDATE"))["primary_guild"]["identity_enabled"] is None


async def test_invalid_tags_and_unavailable_guilds_are_rejected(world: World) -> None:
    alice, nonmember = await world.user(), await world.user()
    guild = await create_guild_with_tag(world, alice)
    guild_without_tags = await world.guild(None, alice)
    profile_path = f"/guilds/{guild.id}/profile"

    (await alice.patch(profile_path, json={"tag": "X"})).rejected(403, 50013)
    (await nonmember.get(profile_path)).rejected(403, 50001)
    assert (await guild.owner.patch(profile_path, json={"tag": "FIVES"})).errors("tag") == ["BASE_TYPE_BAD_LENGTH"]
    assert (await guild.owner.patch(profile_path, json={"tag": " "})).errors("tag") == ["BASE_TYPE_BAD_LENGTH"]
    (await guild_without_tags.owner.patch(f"/guilds/{guild_without_tags.id}/profile", json={"tag": "X"})).rejected(
        403, 50101
    )
    (await nonmember.put("/users/@me/clan", json={"identity_guild_id": str(guild.id)})).rejected(403, 50001)
    (await alice.put("/users/@me/clan", json={"identity_guild_id": "1"})).rejected(404, 10004)
    response = await alice.put("/users/@me/clan", json={"identity_guild_id": str(guild_without_tags.id)})
    assert response.errors("identity_guild_id") == ["GUILD_TAG_UNAVAILABLE"]
    await guild.allow_permissions(alice, Permissions.MANAGE_GUILD)
    (await alice.patch(profile_path, json={"tag": "ABCD"})).ok()


@pytest.mark.dated(changes.GUILD_TAGS)
async def test_tags_exist_from_their_date(world: World) -> None:
    alice = await world.user()
    guild = await create_guild_with_tag(world, alice)
    body = {"identity_guild_id": str(guild.id)}

    world.clock.set(changes.GUILD_TAGS.at_ms - 1)
    assert (await alice.put("/users/@me/clan", json=body)).status == 404
    assert (await alice.get(f"/guilds/{guild.id}/profile")).status == 404
    world.clock.set(changes.GUILD_TAGS.at_ms)
    (await alice.put("/users/@me/clan", json=body)).ok()
