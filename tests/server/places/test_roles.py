"""Roles: creation, updates, colors and icons, permissions, deletion, and order."""

from itertools import permutations
from typing import Any

import pytest

from hubbub.protocol import changes
from hubbub.protocol.enums import AuditLogAction, OverwriteType
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources.roles import HOLOGRAPHIC_COLORS
from hubbub.server.places.roles import rules
from hubbub.server.places.roles.store import RoleRow
from tests import media
from tests.world import Actor, Guild, World

PNG_DATA_URI = media.data_uri(media.png())


async def list_role_ids(guild: Guild) -> list[int]:
    """Return the guild's role IDs, lowest first, without @everyone."""
    return [int(role["id"]) for role in (await guild.owner.get(f"/guilds/{guild.id}/roles")).ok()][1:]


async def create_manager(world: World, guild: Guild, permissions: int = 0) -> tuple[Actor, int]:
    """Create a member with MANAGE_ROLES and these permissions; return the member and the role ID."""
    bob = await guild.member()
    role_id = await guild.role("managers", Permissions.MANAGE_ROLES | permissions)
    await guild.add_role(bob, role_id)
    return bob, role_id


async def test_a_new_role_has_defaults_and_is_published_and_audited(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild)
    session = await bot.connect()

    response = await guild.owner.post(f"/guilds/{guild.id}/roles", headers={"X-Audit-Log-Reason": "why%20not"})

    assert response.status == 200
    role = response.ok()
    assert (role["name"], role["permissions"], role["position"]) == ("new role", str(Permissions.DEFAULT_EVERYONE), 1)
    assert (role["color"], role["hoist"], role["mentionable"], role["managed"]) == (0, False, False, False)
    assert role["colors"] == {"primary_color": 0, "secondary_color": None, "tertiary_color": None}
    assert (role["icon"], role["unicode_emoji"], role["flags"]) == (None, None, 0)
    assert "tags" not in role
    assert await session.next("GUILD_ROLE_CREATE") == {"guild_id": str(guild.id), "role": role}
    audit_entry = await guild.last_audit_entry(AuditLogAction.ROLE_CREATE)
    assert (audit_entry["target_id"], audit_entry["reason"]) == (role["id"], "why not")
    assert {"key": "name", "new_value": "new role"} in audit_entry["changes"]
    assert {"key": "permissions", "new_value": role["permissions"]} in audit_entry["changes"]


async def test_roles_are_fetched_and_listed(world: World) -> None:
    guild = await world.guild()
    role = await guild.role("mods", 0, color=5, hoist=True, mentionable=True)
    stranger = await world.user()

    listed_roles = (await guild.owner.get(f"/guilds/{guild.id}/roles")).ok()
    fetched_role = (await guild.owner.get(f"/guilds/{guild.id}/roles/{role}")).ok()

    assert [role["id"] for role in listed_roles] == [str(guild.id), str(role)]
    assert fetched_role == listed_roles[1]
    assert (fetched_role["color"], fetched_role["hoist"], fetched_role["mentionable"]) == (5, True, True)
    (await guild.owner.get(f"/guilds/{guild.id}/roles/1")).rejected(404, 10011)
    (await stranger.get(f"/guilds/{guild.id}/roles")).rejected(403, 50001)
    (await stranger.get(f"/guilds/{guild.id}/roles/{role}")).rejected(403, 50001)
    other_guild = await world.guild(guild.owner)
    (await guild.owner.get(f"/guilds/{other_guild.id}/roles/{role}")).rejected(404, 10011)


async def test_members_of_each_role_are_counted_without_everyone(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)
    assigned_role_id, unassigned_role_id = await guild.role("assigned"), await guild.role("unassigned")
    await guild.add_role(bob, assigned_role_id)

    member_counts = (await bob.get(f"/guilds/{guild.id}/roles/member-counts")).ok()

    assert member_counts == {str(assigned_role_id): 1, str(unassigned_role_id): 0}


@pytest.mark.dated(changes.ROLE_MEMBER_COUNTS, changes.GET_GUILD_ROLE)
async def test_get_role_and_member_counts_are_unknown_before_their_dates(world: World) -> None:
    guild = await world.guild()
    for dated_change, path in (
        (changes.ROLE_MEMBER_COUNTS, "member-counts"),
        (changes.GET_GUILD_ROLE, str(guild.id)),
    ):
        world.clock.set(dated_change.at_ms)
        (await guild.owner.get(f"/guilds/{guild.id}/roles/{path}")).ok()
        world.clock.set(dated_change.at_ms - 1)
        assert (await guild.owner.get(f"/guilds/{guild.id}/roles/{path}")).status == 404


async def test_a_role_update_is_published_and_audited(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild)
    role_id = await guild.role("old", 0)
    session = await bot.connect()

    body = {"name": "new", "permissions": str(Permissions.KICK_MEMBERS), "color": 255, "hoist": True}
    changed_role = (await guild.owner.patch(f"/guilds/{guild.id}/roles/{role_id}", json=body)).ok()

    assert {key: changed_role[key] for key in body} == body
    assert changed_role["colors"]["primary_color"] == 255
    assert (await session.next("GUILD_ROLE_UPDATE")) == {"guild_id": str(guild.id), "role": changed_role}
    audit_entry = await guild.last_audit_entry(AuditLogAction.ROLE_UPDATE)
    assert {"key": "name", "old_value": "old", "new_value": "new"} in audit_entry["changes"]
    assert {"key": "permissions", "old_value": "0", "new_value": "2"} in audit_entry["changes"]
    assert {change["key"] for change in audit_entry["changes"]} == {"name", "permissions", "color", "colors", "hoist"}
    (await guild.owner.patch(f"/guilds/{guild.id}/roles/{role_id}", json=body)).ok()
    await session.assert_not_received("GUILD_ROLE_UPDATE")
    reset_role = (await guild.owner.patch(f"/guilds/{guild.id}/roles/{role_id}", json=dict.fromkeys(body))).ok()
    assert (reset_role["name"], reset_role["color"], reset_role["hoist"]) == ("new role", 0, False)
    assert reset_role["permissions"] == str(Permissions.DEFAULT_EVERYONE)


@pytest.mark.one_postgres_case
@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"name": ""}, "name"),
        ({"name": "x" * 101}, "name"),
        ({"color": 0x1000000}, "color"),
        ({"color": -1}, "color"),
        ({"colors": {}}, "colors.primary_color"),
        ({"colors": {"primary_color": 0x1000000}}, "colors.primary_color"),
        ({"unicode_emoji": "x" * 101}, "unicode_emoji"),
        ({"icon": "nonsense"}, "icon"),
        ({"permissions": "nonsense"}, "permissions"),
        ({"hoist": 3}, "hoist"),
    ],
)
async def test_invalid_role_fields_are_rejected(world: World, body: dict[str, Any], path: str) -> None:
    guild = await world.guild()
    role_id = await guild.role()

    assert (await guild.owner.post(f"/guilds/{guild.id}/roles", json=body)).errors(path)
    assert (await guild.owner.patch(f"/guilds/{guild.id}/roles/{role_id}", json=body)).errors(path)


async def test_unknown_permission_bits_are_dropped(world: World) -> None:
    guild = await world.guild()

    created_role = (await guild.owner.post(f"/guilds/{guild.id}/roles", json={"permissions": str((1 << 60) | 2)})).ok()

    assert created_role["permissions"] == "2"


# Colors and icons


async def test_gradients_require_the_guild_feature(world: World) -> None:
    guild = await world.guild()
    path = f"/guilds/{guild.id}/roles"
    gradient = {"colors": {"primary_color": 1, "secondary_color": 2}, "color": 9}

    assert (await guild.owner.post(path, json=gradient)).errors("colors.secondary_color")
    holographic = {"colors": {"primary_color": 1, "tertiary_color": 3}}
    assert (await guild.owner.post(path, json=holographic)).errors("colors.tertiary_color")
    plain_colors = {"colors": {"primary_color": 1, "secondary_color": None, "tertiary_color": None}}
    assert (await guild.owner.post(path, json=plain_colors)).ok()["color"] == 1

    await world.grant_to_guild(guild, "ENHANCED_ROLE_COLORS")

    created_role = (await guild.owner.post(path, json=gradient)).ok()
    assert created_role["color"] == 1
    assert created_role["colors"] == {"primary_color": 1, "secondary_color": 2, "tertiary_color": None}
    single_color_role = (await guild.owner.patch(f"{path}/{created_role['id']}", json={"color": 7})).ok()
    assert single_color_role["colors"] == {"primary_color": 7, "secondary_color": None, "tertiary_color": None}
    holographic_role = (await guild.owner.patch(f"{path}/{created_role['id']}", json=holographic)).ok()
    assert tuple(holographic_role["colors"].values()) == HOLOGRAPHIC_COLORS
    assert holographic_role["color"] == HOLOGRAPHIC_COLORS[0]


@pytest.mark.dated(changes.ROLE_GRADIENTS)
async def test_gradients_are_ignored_before_july_2025(world: World) -> None:
    guild = await world.guild()
    await world.grant_to_guild(guild, "ENHANCED_ROLE_COLORS")
    body = {"colors": {"primary_color": 1, "secondary_color": 2}, "color": 9}

    world.clock.set(changes.ROLE_GRADIENTS.at_ms - 1)
    old_role = (await guild.owner.post(f"/guilds/{guild.id}/roles", json=body)).ok()
    assert old_role["color"] == 9
    world.clock.set(changes.ROLE_GRADIENTS.at_ms)
    new_role = (await guild.owner.post(f"/guilds/{guild.id}/roles", json=body)).ok()
    assert new_role["colors"]["secondary_color"] == 2


@pytest.mark.dated(changes.ROLE_GRADIENTS)
async def test_every_role_view_omits_colors_before_gradients(world: World) -> None:
    guild = await world.guild()
    role_id = await guild.role("blue", color=255)
    template = (await guild.owner.post(f"/guilds/{guild.id}/templates", json={"name": "copy"})).ok()
    bot = await world.bot(guild)
    session = await bot.connect()

    async def role_views() -> list[dict[str, Any]]:
        await guild.owner.patch(f"/guilds/{guild.id}/roles/{role_id}", json={"hoist": True})
        await guild.owner.patch(f"/guilds/{guild.id}/roles/{role_id}", json={"hoist": False})
        await session.next("GUILD_ROLE_UPDATE")
        event = await session.next("GUILD_ROLE_UPDATE")
        guild_create = (await bot.connect()).guilds[str(guild.id)]
        role_lists = [
            (await guild.owner.get(f"/guilds/{guild.id}/roles")).ok(),
            (await guild.owner.get(f"/guilds/{guild.id}")).ok()["roles"],
            (await guild.owner.get(f"/guilds/templates/{template['code']}")).ok()["serialized_source_guild"]["roles"],
            guild_create["roles"],
        ]
        return [event["role"], *(view for roles in role_lists for view in roles if view["name"] == "blue")]

    world.clock.set(changes.ROLE_GRADIENTS.at_ms - 1)
    views_before = await role_views()
    world.clock.set(changes.ROLE_GRADIENTS.at_ms)
    views_after = await role_views()
    world.clock.set(changes.ROLE_GRADIENTS.at_ms - 1)
    views_before_again = await role_views()

    assert [("colors" in view, view["color"]) for view in (*views_before, *views_before_again)] == [(False, 255)] * 10
    assert [view["colors"]["primary_color"] for view in views_after] == [255] * 5


async def test_role_icons_require_the_guild_feature(world: World) -> None:
    guild = await world.guild()
    role_id = await guild.role()
    path = f"/guilds/{guild.id}/roles"
    for body in ({"icon": PNG_DATA_URI}, {"unicode_emoji": "🦊"}):
        (await guild.owner.post(path, json=body)).rejected(403, 50101)
        (await guild.owner.patch(f"{path}/{role_id}", json=body)).rejected(403, 50101)

    await world.grant_to_guild(guild, "ROLE_ICONS")

    changed_role = (
        await guild.owner.patch(f"{path}/{role_id}", json={"icon": PNG_DATA_URI, "unicode_emoji": "🦊"})
    ).ok()
    assert (len(changed_role["icon"]), changed_role["unicode_emoji"]) == (32, "🦊")


# Permissions


async def test_changing_roles_requires_manage_roles(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)
    role_id = await guild.role()
    path = f"/guilds/{guild.id}/roles"

    (await bob.post(path, json={})).rejected(403, 50013)
    (await bob.patch(path, json=[])).rejected(403, 50013)
    (await bob.patch(f"{path}/{role_id}", json={})).rejected(403, 50013)
    (await bob.delete(f"{path}/{role_id}")).rejected(403, 50013)


async def test_permissions_the_actor_lacks_cannot_be_granted(world: World) -> None:
    guild = await world.guild()
    bob, _ = await create_manager(world, guild, Permissions.KICK_MEMBERS)
    strong_role_id = await guild.role("strong", Permissions.BAN_MEMBERS)
    path = f"/guilds/{guild.id}/roles"

    (await bob.post(path, json={"permissions": str(Permissions.BAN_MEMBERS)})).rejected(403, 50013)
    created_role = (await bob.post(path, json={"permissions": str(Permissions.KICK_MEMBERS)})).ok()
    (await bob.patch(f"{path}/{created_role['id']}", json={"permissions": str(Permissions.ADMINISTRATOR)})).rejected(
        403, 50013
    )
    # Permissions that the actor lacks can stay on a role, but cannot be added or removed.
    both_permissions = str(Permissions.BAN_MEMBERS | Permissions.KICK_MEMBERS)
    assert (await bob.patch(f"{path}/{strong_role_id}", json={"permissions": both_permissions})).ok()[
        "permissions"
    ] == both_permissions
    (await bob.patch(f"{path}/{strong_role_id}", json={"permissions": "0"})).rejected(403, 50013)


async def test_roles_at_or_above_the_actors_own_cannot_be_changed(world: World) -> None:
    guild = await world.guild()
    above_role_id = await guild.role("above")
    bob, own_role_id = await create_manager(world, guild, Permissions.ADMINISTRATOR)
    below_role_id = await guild.role("below")
    path = f"/guilds/{guild.id}/roles"
    assert await list_role_ids(guild) == [below_role_id, own_role_id, above_role_id]

    for role in (own_role_id, above_role_id):
        (await bob.patch(f"{path}/{role}", json={"name": "mine"})).rejected(403, 50013)
        (await bob.delete(f"{path}/{role}")).rejected(403, 50013)
    (await bob.patch(f"{path}/{below_role_id}", json={"name": "mine"})).ok()
    (await bob.delete(f"{path}/{below_role_id}")).ok()
    (await bob.patch(f"{path}/1", json={})).rejected(404, 10011)
    (await bob.delete(f"{path}/1")).rejected(404, 10011)


async def test_a_guild_has_250_roles_at_most(world: World) -> None:
    guild = await world.guild()
    first_role_id = await guild.role()

    def insert_roles(call: Any) -> None:
        call.tx.run_many(
            "INSERT INTO roles (id, guild_id, name, permissions, position) VALUES (?, ?, 'role', 0, 1)",
            [(number, guild.id) for number in range(1, 250)],
        )

    await world.write(insert_roles)

    (await guild.owner.post(f"/guilds/{guild.id}/roles", json={})).rejected(400, 30005)
    (await guild.owner.delete(f"/guilds/{guild.id}/roles/{first_role_id}")).ok()
    (await guild.owner.post(f"/guilds/{guild.id}/roles", json={})).ok()


async def test_only_permissions_of_the_everyone_role_can_be_changed(world: World) -> None:
    guild = await world.guild()
    path = f"/guilds/{guild.id}/roles"

    changed_role = (
        await guild.owner.patch(f"{path}/{guild.id}", json={"name": "all", "color": 3, "permissions": "8"})
    ).ok()

    assert (changed_role["name"], changed_role["color"], changed_role["permissions"]) == ("@everyone", 0, "8")
    reset_role = (await guild.owner.patch(f"{path}/{guild.id}", json={"permissions": None})).ok()
    assert reset_role["permissions"] == str(Permissions.DEFAULT_EVERYONE)
    (await guild.owner.delete(f"{path}/{guild.id}")).rejected(400, 50028)
    (await guild.owner.patch(path, json=[{"id": str(guild.id), "position": 1}])).rejected(400, 50028)
    (await guild.owner.patch(path, json=[{"id": str(guild.id), "position": 0}])).ok()


async def test_a_managed_role_cannot_be_deleted(world: World) -> None:
    guild = await world.guild()
    role_id = await guild.role()
    await world.write(
        lambda call: call.tx.run("UPDATE roles SET managed = 1, tags = ? WHERE id = ?", '{"bot_id":"5"}', role_id)
    )

    (await guild.owner.delete(f"/guilds/{guild.id}/roles/{role_id}")).rejected(400, 50028)
    changed_role = (await guild.owner.patch(f"/guilds/{guild.id}/roles/{role_id}", json={"name": "its own"})).ok()
    assert (changed_role["managed"], changed_role["tags"], changed_role["name"]) == (True, {"bot_id": "5"}, "its own")


# Deleting


async def test_a_deleted_role_is_removed_from_members_and_overwrites(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)
    bot = await world.bot(guild)
    role_id = await guild.role("deleted", Permissions.KICK_MEMBERS)
    await guild.add_role(bob, role_id)
    await guild.overwrite(guild.general, role_id, allow=Permissions.SEND_MESSAGES, target_type=OverwriteType.ROLE)
    session = await bot.connect()

    assert (await guild.owner.delete(f"/guilds/{guild.id}/roles/{role_id}")).status == 204

    assert await session.next("GUILD_ROLE_DELETE") == {"guild_id": str(guild.id), "role_id": str(role_id)}
    channel_update = await session.next("CHANNEL_UPDATE")
    assert (channel_update["id"], channel_update["permission_overwrites"]) == (str(guild.general), [])
    await session.assert_not_received("GUILD_MEMBER_UPDATE")
    assert (await bob.get(f"/guilds/{guild.id}/members/{bob.id}")).ok()["roles"] == []
    audit_entry = await guild.last_audit_entry(AuditLogAction.ROLE_DELETE)
    assert audit_entry["target_id"] == str(role_id)
    assert {"key": "name", "old_value": "deleted"} in audit_entry["changes"]
    (await guild.owner.delete(f"/guilds/{guild.id}/roles/{role_id}")).rejected(404, 10011)


# Order


async def test_moved_roles_are_published_and_audited(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild)
    first_role_id, second_role_id, third_role_id = [await guild.role(name) for name in ("first", "second", "third")]
    assert await list_role_ids(guild) == [third_role_id, second_role_id, first_role_id]
    session = await bot.connect()

    reordered_roles = (
        await guild.owner.patch(f"/guilds/{guild.id}/roles", json=[{"id": str(first_role_id), "position": 1}])
    ).ok()

    assert [role["id"] for role in reordered_roles] == [
        str(guild.id),
        str(first_role_id),
        str(third_role_id),
        str(second_role_id),
    ]
    assert [role["position"] for role in reordered_roles] == [0, 1, 2, 3]
    assert await list_role_ids(guild) == [first_role_id, third_role_id, second_role_id]
    updated_ids = [(await session.next("GUILD_ROLE_UPDATE"))["role"]["id"] for _ in range(2)]
    assert updated_ids == [str(third_role_id), str(second_role_id)]
    audit_entry = await guild.last_audit_entry(AuditLogAction.ROLE_UPDATE)
    assert audit_entry["changes"] == [{"key": "position", "old_value": 1, "new_value": 3}]


async def test_only_roles_below_the_actors_own_can_be_moved(world: World) -> None:
    guild = await world.guild()
    above_role_id = await guild.role("above")
    bob, own_role_id = await create_manager(world, guild)
    high_role_id, low_role_id = await guild.role("high"), await guild.role("low")
    path = f"/guilds/{guild.id}/roles"
    assert await list_role_ids(guild) == [low_role_id, high_role_id, own_role_id, above_role_id]

    (await bob.patch(path, json=[{"id": str(low_role_id), "position": 3}])).rejected(403, 50013)
    (await bob.patch(path, json=[{"id": str(own_role_id), "position": 1}])).rejected(403, 50013)
    (await bob.patch(path, json=[{"id": str(above_role_id), "position": 3}])).rejected(403, 50013)
    (await bob.patch(path, json=[{"id": str(low_role_id), "position": 2}])).ok()
    assert await list_role_ids(guild) == [high_role_id, low_role_id, own_role_id, above_role_id]
    # discord.js sends every role, with unchanged positions for the higher ones.
    all_role_ids = [guild.id, low_role_id, high_role_id, own_role_id, above_role_id]
    (
        await bob.patch(
            path, json=[{"id": str(role), "position": position} for position, role in enumerate(all_role_ids)]
        )
    ).ok()
    assert await list_role_ids(guild) == [low_role_id, high_role_id, own_role_id, above_role_id]
    (await bob.patch(path, json=[{"id": "1", "position": 1}])).rejected(404, 10011)
    assert (await bob.patch(path, json=[{"id": "nonsense", "position": 1}])).errors("0.id")
    (await bob.patch(path, json=[{"id": str(low_role_id), "position": None}])).ok()


def role_row(number: int, position: int) -> RoleRow:
    """Return a role row with this ID and position, without permissions."""
    return RoleRow(number, 1, str(number), 0, position)


@pytest.mark.parametrize("positions", list(permutations((1, 2, 3))))
def test_distinct_requested_positions_are_applied(positions: tuple[int, ...]) -> None:
    rows = [role_row(10, 1), role_row(11, 2), role_row(12, 3)]

    ordered_rows = rules.reorder(rows, dict(zip((10, 11, 12), positions, strict=True)))

    assert {row.id: row.position for row in ordered_rows} == dict(zip((10, 11, 12), positions, strict=True))


@pytest.mark.parametrize(
    ("positions", "expected_ids"),
    [
        ({}, [10, 11, 12, 13]),
        ({10: 4}, [11, 12, 13, 10]),
        ({13: 1}, [13, 10, 11, 12]),
        ({13: 0}, [13, 10, 11, 12]),
        ({10: 99}, [11, 12, 13, 10]),
        ({10: 98, 11: 99}, [12, 13, 10, 11]),
        ({10: 99, 11: 99}, [12, 13, 10, 11]),
        ({12: 1, 13: 1}, [12, 13, 10, 11]),
        ({10: 2, 11: 1}, [11, 10, 12, 13]),
        ({10: -5, 11: -7}, [11, 10, 12, 13]),
    ],
)
def test_other_roles_fill_the_positions_around_moved_roles(positions: dict[int, int], expected_ids: list[int]) -> None:
    rows = [role_row(10, 1), role_row(11, 1), role_row(12, 5), role_row(13, 9)]

    ordered_rows = rules.reorder(rows, positions)

    assert [row.id for row in ordered_rows] == expected_ids
    assert [row.position for row in ordered_rows] == [1, 2, 3, 4]


async def test_a_role_name_cannot_be_blank(world: World) -> None:
    guild = await world.guild()
    path = f"/guilds/{guild.id}/roles"
    assert (await guild.owner.post(path, json={"name": " \t "})).errors("name") == ["BASE_TYPE_BAD_LENGTH"]
    created_role = (await guild.owner.post(path, json={"name": "  the wise "})).ok()
    assert created_role["name"] == "the wise"
    rejected_response = await guild.owner.patch(f"{path}/{created_role['id']}", json={"name": " "})
    assert rejected_response.errors("name") == ["BASE_TYPE_BAD_LENGTH"]
