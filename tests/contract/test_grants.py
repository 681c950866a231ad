"""No operation grants, directly or by copying, moving, syncing, installing or editing, a permission that the caller lacks.

The caller has every permission except ADMINISTRATOR and BAN_MEMBERS. Each attempt tries to allow BAN_MEMBERS to a
role, to assign or offer a role that has it, or to change such a role or overwrite. A channel that is created in a
category grants what the category grants (decisions/0181). The last test finds new operations that change channels, roles
or rules.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Final, NamedTuple

import pytest

from hubbub.protocol.enums import ChannelType, OverwriteType
from hubbub.protocol.permissions import Permissions
from tests.contract.tables import operations
from tests.oauth import create_application
from tests.world import Actor, ApiResponse, Guild, World

MISSING_PERMISSION: Final = Permissions.BAN_MEMBERS
"""The permission that the caller lacks."""
CALLER_PERMISSIONS: Final = Permissions.ALL & ~(MISSING_PERMISSION | Permissions.ADMINISTRATOR)

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


class GrantSetup(NamedTuple):
    """A guild with a category and a role that grant the missing permission, and the caller with a lower role."""

    guild: Guild
    caller: Actor
    role_id: int
    """ID of the caller's role."""
    strong_role_id: int
    """ID of a role with the missing permission, above the caller's role."""
    category_id: int
    """ID of a category with an overwrite that allows the missing permission to @everyone."""


Attempt = Callable[[GrantSetup], Awaitable[ApiResponse]]


def overwrite(target: int) -> dict[str, Any]:
    """Return an overwrite that allows the missing permission to a role."""
    return {"id": str(target), "type": OverwriteType.ROLE, "allow": str(int(MISSING_PERMISSION)), "deny": "0"}


async def create_channel(setup: GrantSetup) -> ApiResponse:
    body = {"name": "new", "permission_overwrites": [overwrite(setup.role_id)]}
    return await setup.caller.post(f"/guilds/{setup.guild.id}/channels", json=body)


async def update_channel(setup: GrantSetup) -> ApiResponse:
    body = {"permission_overwrites": [overwrite(setup.guild.id)]}
    return await setup.caller.patch(f"/channels/{setup.guild.general}", json=body)


async def sync_channel(setup: GrantSetup) -> ApiResponse:
    entry = {"id": str(setup.guild.general), "parent_id": str(setup.category_id), "lock_permissions": True}
    return await setup.caller.patch(f"/guilds/{setup.guild.id}/channels", json=[entry])


async def set_overwrite(setup: GrantSetup) -> ApiResponse:
    path = f"/channels/{setup.guild.general}/permissions/{setup.role_id}"
    return await setup.caller.put(path, json=overwrite(setup.role_id))


async def delete_overwrite(setup: GrantSetup) -> ApiResponse:
    # The overwrite of the category allows the missing permission, so deleting the overwrite changes that permission.
    return await setup.caller.delete(f"/channels/{setup.category_id}/permissions/{setup.guild.id}")


async def create_role(setup: GrantSetup) -> ApiResponse:
    body = {"name": "new", "permissions": str(int(MISSING_PERMISSION))}
    return await setup.caller.post(f"/guilds/{setup.guild.id}/roles", json=body)


async def update_role(setup: GrantSetup) -> ApiResponse:
    body = {"permissions": str(int(MISSING_PERMISSION))}
    return await setup.caller.patch(f"/guilds/{setup.guild.id}/roles/{setup.guild.id}", json=body)


async def move_role(setup: GrantSetup) -> ApiResponse:
    body = [{"id": str(setup.strong_role_id), "position": 1}]
    return await setup.caller.patch(f"/guilds/{setup.guild.id}/roles", json=body)


async def assign_role(setup: GrantSetup) -> ApiResponse:
    path = f"/guilds/{setup.guild.id}/members/{setup.caller.id}/roles/{setup.strong_role_id}"
    return await setup.caller.put(path)


async def edit_member_roles(setup: GrantSetup) -> ApiResponse:
    path = f"/guilds/{setup.guild.id}/members/{setup.caller.id}"
    return await setup.caller.patch(path, json={"roles": [str(setup.role_id), str(setup.strong_role_id)]})


async def create_invite_with_role(setup: GrantSetup) -> ApiResponse:
    body = {"role_ids": [str(setup.strong_role_id)]}
    return await setup.caller.post(f"/channels/{setup.guild.general}/invites", json=body)


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


async def create_setup(world: World) -> GrantSetup:
    """Create the guild of the attempts."""
    guild = await world.guild()
    caller = await guild.member()
    role_id = await guild.role("caller", CALLER_PERMISSIONS)
    strong_role_id = await guild.role("strong", MISSING_PERMISSION)
    positions = [{"id": str(role_id), "position": 1}, {"id": str(strong_role_id), "position": 2}]
    (await guild.owner.patch(f"/guilds/{guild.id}/roles", json=positions)).ok()
    await guild.add_role(caller, role_id)
    category_id = await guild.channel("Category", type=ChannelType.GUILD_CATEGORY)
    await guild.overwrite(category_id, guild.id, allow=MISSING_PERMISSION, target_type=OverwriteType.ROLE)
    # The caller does not have the permission in the category, although the category allows it to @everyone.
    await guild.overwrite(category_id, caller.id, deny=MISSING_PERMISSION)
    return GrantSetup(guild, caller, role_id, strong_role_id, category_id)


async def read_grants(setup: GrantSetup) -> Any:
    """Return the overwrites of all channels, the permissions and positions of all roles, and the caller's roles."""
    owner, guild_path = setup.guild.owner, f"/guilds/{setup.guild.id}"
    channels = (await owner.get(f"{guild_path}/channels")).ok()
    roles = (await owner.get(f"{guild_path}/roles")).ok()
    member = (await owner.get(f"{guild_path}/members/{setup.caller.id}")).ok()
    return (
        {channel["id"]: channel["permission_overwrites"] for channel in channels},
        {role["id"]: (role["permissions"], role["position"]) for role in roles},
        member["roles"],
    )


@pytest.mark.parametrize("name", ATTEMPTS)
async def test_an_attempt_to_grant_a_missing_permission_is_rejected(world: World, name: str) -> None:
    setup = await create_setup(world)
    grants_before = await read_grants(setup)

    response = await ATTEMPTS[name][0](setup)

    response.rejected(403, 50013)
    assert await read_grants(setup) == grants_before


@pytest.mark.parametrize("body", [{}, {"permission_overwrites": None}, {"permission_overwrites": []}])
async def test_a_channel_created_in_a_category_grants_what_the_category_grants(
    world: World, body: dict[str, Any]
) -> None:
    setup = await create_setup(world)
    overwrites_before, *grants_before = await read_grants(setup)

    path = f"/guilds/{setup.guild.id}/channels"
    response = await setup.caller.post(path, json={"name": "new", "parent_id": str(setup.category_id)} | body)

    # Every role and member has the same overwrites as in the category, so the caller still lacks the permission there.
    channel_id = response.ok()["id"]
    overwrites, *grants = await read_grants(setup)
    assert overwrites.pop(channel_id) == overwrites_before[str(setup.category_id)]
    assert (overwrites, grants) == (overwrites_before, grants_before)
    # The caller can neither extend the copy nor make an existing channel equal to it.
    role_path = f"/channels/{channel_id}/permissions/{setup.role_id}"
    (await setup.caller.put(role_path, json=overwrite(setup.role_id))).rejected(403, 50013)
    (await sync_channel(setup)).rejected(403, 50013)


async def test_onboarding_cannot_offer_a_role_above_the_callers(world: World) -> None:
    setup = await create_setup(world)
    grants_before = await read_grants(setup)
    path, option = f"/guilds/{setup.guild.id}/onboarding", {"title": "Staff", "role_ids": [str(setup.strong_role_id)]}
    prompt = {"id": "1", "type": 0, "title": "Which?", "options": [option]}

    response = await setup.caller.put(path, json={"prompts": [prompt], "enabled": False})

    assert response.errors("prompts.0.options.0.role_ids.0") == ["ROLE_INVALID"]
    # An option that the owner added cannot be kept by the caller in a changed prompt either.
    (await setup.guild.owner.put(path, json={"prompts": [prompt], "enabled": False})).ok()
    [stored_prompt] = (await setup.guild.owner.get(path)).ok()["prompts"]
    response = await setup.caller.put(
        path, json={"prompts": [stored_prompt | {"title": "Which one?"}], "enabled": False}
    )
    assert response.errors("prompts.0.options.0.role_ids.0") == ["ROLE_INVALID"]
    assert await read_grants(setup) == grants_before


async def test_a_template_grants_nothing_in_its_guild(world: World) -> None:
    setup = await create_setup(world)
    grants_before, path = await read_grants(setup), f"/guilds/{setup.guild.id}/templates"

    template = (await setup.caller.post(path, json={"name": "Plan"})).ok()
    (await setup.caller.put(f"{path}/{template['code']}")).ok()
    created_guild = (await setup.caller.post(f"/guilds/templates/{template['code']}", json={"name": "Copy"})).ok()

    # The caller owns the copy, whose roles and channels are new.
    assert created_guild["owner_id"] == str(setup.caller.id)
    role_ids = {role["id"] for role in created_guild["roles"]}
    assert not role_ids & {str(setup.guild.id), str(setup.role_id), str(setup.strong_role_id)}
    assert await read_grants(setup) == grants_before
    # A copied role has no meaning in the source guild.
    for role_id in role_ids:
        member_path = f"/guilds/{setup.guild.id}/members/{setup.caller.id}/roles/{role_id}"
        (await setup.caller.put(member_path)).rejected(404, 10011)


async def test_an_installed_bot_gets_only_permissions_of_the_installer(world: World) -> None:
    setup, client = await create_setup(world), await create_application(world)
    assert client.bot is not None
    grants_before = await read_grants(setup)
    permissions = str(int(MISSING_PERMISSION | Permissions.KICK_MEMBERS | Permissions.ADMINISTRATOR))
    body = {"guild_id": str(setup.guild.id), "permissions": permissions}

    installation = await client.authorize(
        setup.caller, "bot", body=body, response_type=None, redirect_uri=None, permissions=permissions
    )

    installation.ok()
    [role_id] = (await setup.guild.owner.get(f"/guilds/{setup.guild.id}/members/{client.bot.id}")).ok()["roles"]
    overwrites, roles, caller_roles = await read_grants(setup)
    assert roles.pop(role_id)[0] == str(Permissions.KICK_MEMBERS)
    # Neither the caller nor any other role gained anything, and the managed role cannot be assigned.
    assert (overwrites, caller_roles) == (grants_before[0], grants_before[2])
    assert {id: role[0] for id, role in roles.items()} == {id: role[0] for id, role in grants_before[1].items()}
    (await setup.caller.put(f"/guilds/{setup.guild.id}/members/{setup.caller.id}/roles/{role_id}")).rejected(400, 50028)


def test_every_operation_that_changes_channels_roles_or_rules_is_covered() -> None:
    changing_operations = {
        name
        for name, operation in operations().items()
        if WATCHED_EVENTS & {event.name for event in operation.emits or ()}
    }
    covered_operations = {operation for _, operation in ATTEMPTS.values()}
    assert changing_operations - covered_operations - EXEMPT.keys() == set()
    assert EXEMPT.keys() - changing_operations == set()
    assert EXEMPT.keys() & covered_operations == set()
    assert covered_operations <= operations().keys()
