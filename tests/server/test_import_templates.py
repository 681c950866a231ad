"""`hubbub import` of guild templates, by code and from JSON."""

import json
from pathlib import Path
from typing import Any

import pytest

from hubbub.protocol.enums import ChannelType
from hubbub.protocol.permissions import Permissions
from hubbub.server.commands.admin_actions import AdminError
from hubbub.server.commands.imports import import_file
from tests.world import Actor, Guild, World


async def create_harbor_template(world: World) -> tuple[Guild, dict[str, Any]]:
    """Create a guild with a category, a hidden channel and a role, and its template."""
    guild = await world.guild(name="Harbor")
    category_id = await guild.channel("Boats", type=ChannelType.GUILD_CATEGORY)
    role_id = await guild.role("crew", int(Permissions.MANAGE_MESSAGES))
    denying_overwrite = {"id": str(guild.id), "type": 0, "deny": str(int(Permissions.VIEW_CHANNEL))}
    allowing_overwrite = {"id": str(role_id), "type": 0, "allow": str(int(Permissions.VIEW_CHANNEL))}
    await guild.channel(
        "deck", parent_id=str(category_id), permission_overwrites=[denying_overwrite, allowing_overwrite]
    )
    await guild.send_message(guild.owner, "not in a template")
    body = {"name": "harbors", "description": "For harbors"}
    return guild, (await guild.owner.post(f"/guilds/{guild.id}/templates", json=body)).ok()


async def import_template(world: World, source: str, owner: Actor) -> dict[str, Any]:
    """Import a template and return the guild that the import created."""
    guild_ids_before = {guild["id"] for guild in (await owner.get("/users/@me/guilds")).ok()}
    await import_file(world.app, {"file": source, "owner": owner.name}, lambda name, done, total: None)
    [created_guild] = [
        guild for guild in (await owner.get("/users/@me/guilds")).ok() if guild["id"] not in guild_ids_before
    ]
    imported_guild: dict[str, Any] = (await owner.get(f"/guilds/{created_guild['id']}")).ok()
    return imported_guild


async def assert_has_contents(owner: Actor, guild: dict[str, Any]) -> None:
    """Assert that a guild has the roles, channels and overwrites of the template, and no messages."""
    roles = {role["name"]: role for role in guild["roles"]}
    assert int(roles["crew"]["permissions"]) == Permissions.MANAGE_MESSAGES
    channels = {
        channel["name"]: channel
        for channel in (await owner.get(f"/guilds/{guild['id']}/channels")).ok()
        if channel["type"] in (ChannelType.GUILD_TEXT, ChannelType.GUILD_CATEGORY)
    }
    assert channels["deck"]["parent_id"] == channels["Boats"]["id"]
    overwrites = {overwrite["id"]: overwrite for overwrite in channels["deck"]["permission_overwrites"]}
    assert int(overwrites[guild["id"]]["deny"]) == Permissions.VIEW_CHANNEL
    assert int(overwrites[roles["crew"]["id"]]["allow"]) == Permissions.VIEW_CHANNEL
    assert (await owner.get(f"/channels/{channels['general']['id']}/messages")).ok() == []


async def test_a_template_of_the_server_is_imported_by_its_code(world: World) -> None:
    _, template = await create_harbor_template(world)
    owner = await world.user("mover")

    guild = await import_template(world, template["code"], owner)

    assert (guild["name"], guild["owner_id"], guild["features"]) == ("Harbor", str(owner.id), [])
    await assert_has_contents(owner, guild)


async def test_a_template_in_the_form_of_the_public_api_is_imported_from_a_file(world: World, tmp_path: Path) -> None:
    _, template = await create_harbor_template(world)
    owner = await world.user("mover")
    path = tmp_path / "template.json"
    path.write_text(json.dumps(template))

    await assert_has_contents(owner, await import_template(world, str(path), owner))


async def test_an_unknown_code_is_reported(world: World) -> None:
    owner = await world.user("mover")

    with pytest.raises(AdminError, match="neither a file nor the code of a template"):
        await import_template(world, "nothing", owner)
