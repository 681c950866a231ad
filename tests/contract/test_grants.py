"""No operation grants, directly or by copying, moving, syncing or editing, a permission that the caller lacks.

The caller has every permission except ADMINISTRATOR and BAN_MEMBERS. Each attempt tries to give BAN_MEMBERS to the
caller's role or to @everyone. A walk over the operations finds new ones that change channels, roles or rules.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Final, NamedTuple

import pytest

from hubbub.protocol.enums import ChannelType, OverwriteType
from hubbub.protocol.permissions import Permissions
from tests.contract.tables import operations
from tests.world import Actor, ApiResponse, Guild, World

BIT: Final = Permissions.BAN_MEMBERS
HELD: Final = Permissions.ALL & ~(BIT | Permissions.ADMINISTRATOR)

WATCHED_EVENTS: Final = frozenset(
    {
        "AUTO_MODERATION_RULE_CREATE",
        "AUTO_MODERATION_RULE_UPDATE",
        "CHANNEL_CREATE",
        "CHANNEL_UPDATE",
        "GUILD_ROLE_CREATE",
        "GUILD_ROLE_UPDATE",
    }
)


class Scene(NamedTuple):
    """A guild with a category that grants the bit, a role above the caller with the bit, and the caller."""

    guild: Guild
    caller: Actor
    role: int
    """ID of the caller's role."""
    strong_role: int
    """ID of a role above the caller's, with the bit."""
    category: int
    """ID of a category with an overwrite that allows the bit to @everyone."""


Attempt = Callable[[Scene], Awaitable[ApiResponse]]


def overwrite(target: int) -> dict[str, Any]:
    """Return an overwrite that allows the bit to a role."""
    return {"id": str(target), "type": 0, "allow": str(int(BIT)), "deny": "0"}


async def create_channel(scene: Scene) -> ApiResponse:
    body = {"name": "new", "permission_overwrites": [overwrite(scene.role)]}
    return await scene.caller.post(f"/guilds/{scene.guild.id}/channels", json=body)


async def update_channel(scene: Scene) -> ApiResponse:
    body = {"permission_overwrites": [overwrite(scene.guild.id)]}
    return await scene.caller.patch(f"/channels/{scene.guild.general}", json=body)


async def sync_channel(scene: Scene) -> ApiResponse:
    entry = {"id": str(scene.guild.general), "parent_id": str(scene.category), "lock_permissions": True}
    return await scene.caller.patch(f"/guilds/{scene.guild.id}/channels", json=[entry])


async def set_overwrite(scene: Scene) -> ApiResponse:
    path = f"/channels/{scene.guild.general}/permissions/{scene.role}"
    return await scene.caller.put(path, json=overwrite(scene.role))


async def delete_overwrite(scene: Scene) -> ApiResponse:
    # The overwrite of the category allows the bit; deleting it changes the bit as well.
    return await scene.caller.delete(f"/channels/{scene.category}/permissions/{scene.guild.id}")


async def create_role(scene: Scene) -> ApiResponse:
    body = {"name": "new", "permissions": str(int(BIT))}
    return await scene.caller.post(f"/guilds/{scene.guild.id}/roles", json=body)


async def update_role(scene: Scene) -> ApiResponse:
    body = {"permissions": str(int(BIT))}
    return await scene.caller.patch(f"/guilds/{scene.guild.id}/roles/{scene.guild.id}", json=body)


async def move_role(scene: Scene) -> ApiResponse:
    body = [{"id": str(scene.strong_role), "position": 1}]
    return await scene.caller.patch(f"/guilds/{scene.guild.id}/roles", json=body)


async def assign_role(scene: Scene) -> ApiResponse:
    path = f"/guilds/{scene.guild.id}/members/{scene.caller.id}/roles/{scene.strong_role}"
    return await scene.caller.put(path)


async def edit_member_roles(scene: Scene) -> ApiResponse:
    path = f"/guilds/{scene.guild.id}/members/{scene.caller.id}"
    return await scene.caller.patch(path, json={"roles": [str(scene.role), str(scene.strong_role)]})


async def create_invite_with_role(scene: Scene) -> ApiResponse:
    body = {"role_ids": [str(scene.strong_role)]}
    return await scene.caller.post(f"/channels/{scene.guild.general}/invites", json=body)


ATTEMPTS: Final[dict[str, tuple[Attempt, str]]] = {
    "create": (create_channel, "create_guild_channel"),
    "update": (update_channel, "update_channel"),
    "sync": (sync_channel, "bulk_update_guild_channels"),
    "set overwrite": (set_overwrite, "set_channel_permission_overwrite"),
    "delete overwrite": (delete_overwrite, "delete_channel_permission_overwrite"),
    "create role": (create_role, "create_guild_role"),
    "update role": (update_role, "update_guild_role"),
    "move role": (move_role, "bulk_update_guild_roles"),
    "assign role": (assign_role, "add_guild_member_role"),
    "member roles": (edit_member_roles, "update_guild_member"),
    "invite": (create_invite_with_role, "create_channel_invite"),
}
"""Attempts, with the operation of each."""

EXEMPT: Final[dict[str, str]] = {
    "add_group_dm_user": "private channels have no overwrites",
    "create_auto_moderation_rule": "tests/server/talk/test_auto_moderation.py: timeouts and alert channels",
    "create_dm": "private channels have no overwrites",
    "create_dm_by_user": "private channels have no overwrites",
    "create_message": "only opens a private channel",
    "create_or_join_lobby": "only unlinks a lobby",
    "delete_channel": "children of a category keep their overwrites",
    "delete_group_dm_user": "private channels have no overwrites",
    "delete_guild_role": "removes the overwrites of a role below the caller's",
    "delete_lobby": "only unlinks a lobby",
    "edit_lobby": "only unlinks a lobby",
    "edit_lobby_channel_link": "links a lobby; overwrites stay",
    "send_user_message": "only opens a private channel",
    "unlink_channel_lobby": "unlinks a lobby; overwrites stay",
    "update_auto_moderation_rule": "tests/server/talk/test_auto_moderation.py: timeouts and alert channels",
    "update_guild_role_connections_configuration": "tests/server/places/test_role_connections.py: hierarchy",
}
"""Operations that change a channel, role or rule without an attempt here, with the reason."""


async def build_scene(world: World) -> Scene:
    """Create the guild of the attempts."""
    guild = await world.guild()
    caller = await world.user()
    from hubbub.server.places import members

    await world.write(lambda call: members.membership.add(call, guild.id, caller.id), actor=guild.owner.id)
    role = await guild.role("caller", HELD)
    strong_role = await guild.role("strong", BIT)
    positions = [{"id": str(role), "position": 1}, {"id": str(strong_role), "position": 2}]
    (await guild.owner.patch(f"/guilds/{guild.id}/roles", json=positions)).ok()
    await guild.add_role(caller, role)
    category = await guild.channel("Rooms", type=ChannelType.GUILD_CATEGORY)
    await guild.overwrite(category, guild.id, allow=BIT, target_type=OverwriteType.ROLE)
    # An allowed bit in the category must not count as held by the caller there.
    await guild.overwrite(category, caller.id, deny=BIT)
    return Scene(guild, caller, role, strong_role, category)


async def read_grants(scene: Scene) -> Any:
    """Return the overwrites of all channels, the permissions of all roles, and the caller's roles."""
    owner, guild_path = scene.guild.owner, f"/guilds/{scene.guild.id}"
    channels = (await owner.get(f"{guild_path}/channels")).ok()
    roles = (await owner.get(f"{guild_path}/roles")).ok()
    member = (await owner.get(f"{guild_path}/members/{scene.caller.id}")).ok()
    return (
        {channel["id"]: channel["permission_overwrites"] for channel in channels},
        {role["id"]: (role["permissions"], role["position"]) for role in roles},
        member["roles"],
    )


@pytest.mark.parametrize("name", ATTEMPTS)
async def test_an_attempt_to_grant_a_missing_permission_is_rejected(world: World, name: str) -> None:
    scene = await build_scene(world)
    before = await read_grants(scene)

    response = await ATTEMPTS[name][0](scene)

    response.rejected(403, 50013)
    assert await read_grants(scene) == before


def test_every_operation_that_changes_channels_roles_or_rules_is_covered() -> None:
    changing = {
        name
        for name, operation in operations().items()
        if WATCHED_EVENTS & {event.name for event in operation.emits or ()}
    }
    covered = {operation for _, operation in ATTEMPTS.values()}
    assert changing - covered - EXEMPT.keys() == set()
    assert EXEMPT.keys() - changing == set()
    assert covered <= operations().keys()
