"""Guild templates: creation from a guild, sync, deletion, permissions, and new guilds from a template."""

from typing import Any

import pytest

from hubbub.protocol import changes
from hubbub.protocol.enums import ChannelType, OverwriteType
from hubbub.protocol.permissions import Permissions
from tests.server.places.templates import create_template
from tests.world import World


async def test_a_template_contains_roles_and_channels_of_the_guild(world: World) -> None:
    guild = await world.guild()
    role = await guild.role("mods", Permissions.KICK_MEMBERS, color=255, hoist=True)
    await world.bot(guild)
    await guild.channel("stage", type=ChannelType.GUILD_STAGE_VOICE)
    await guild.channel("ideas", type=ChannelType.GUILD_FORUM, available_tags=[{"name": "new"}], default_forum_layout=1)
    await guild.overwrite(guild.general, role, allow=Permissions.VIEW_CHANNEL, target_type=OverwriteType.ROLE)
    await guild.overwrite(guild.general, guild.owner.id, allow=Permissions.VIEW_CHANNEL)

    template = await create_template(guild, description="ours")

    assert (template["name"], template["description"], template["usage_count"], template["is_dirty"]) == (
        "shape",
        "ours",
        0,
        None,
    )
    assert template["creator_id"] == template["creator"]["id"] == str(guild.owner.id)
    snapshot = template["serialized_source_guild"]
    assert [(role["id"], role["name"]) for role in snapshot["roles"]] == [(0, "@everyone"), (1, "mods")]
    channels_by_name = {channel["name"]: channel for channel in snapshot["channels"]}
    assert channels_by_name["stage"]["type"] == ChannelType.GUILD_VOICE
    assert (channels_by_name["ideas"]["type"], channels_by_name["ideas"]["available_tags"][0]["name"]) == (
        ChannelType.GUILD_FORUM,
        "new",
    )
    assert channels_by_name["general"]["parent_id"] == str(channels_by_name["Text Channels"]["id"])
    assert [overwrite["id"] for overwrite in channels_by_name["general"]["permission_overwrites"]] == ["1"]
    assert snapshot["system_channel_id"] == str(channels_by_name["general"]["id"])
    # The library hikari fails on a default that is null; a default that is not set is absent.
    for channel in snapshot["channels"]:
        assert not [key for key, value in channel.items() if key.startswith("default_") and value is None]
    assert "default_auto_archive_duration" not in channels_by_name["general"]
    assert (await world.request("GET", f"/guilds/templates/{template['code']}")).ok() == template
    assert (await guild.owner.get(f"/guilds/{guild.id}/templates")).ok() == [template]
    (await guild.owner.post(f"/guilds/{guild.id}/templates", json={"name": "two"})).rejected(400, 30031)


async def test_a_template_is_synced_with_its_guild_renamed_and_deleted(world: World) -> None:
    guild = await world.guild()
    template = await create_template(guild)
    path = f"/guilds/{guild.id}/templates/{template['code']}"
    await guild.channel("more")
    assert (await guild.owner.get(f"/guilds/templates/{template['code']}")).ok()["is_dirty"] is True
    world.clock.advance(1000)
    synced_template = (await guild.owner.put(path)).ok()
    assert synced_template["is_dirty"] is None
    assert synced_template["updated_at"] > template["updated_at"]
    assert "more" in {channel["name"] for channel in synced_template["serialized_source_guild"]["channels"]}
    renamed_template = (await guild.owner.patch(path, json={"name": "new", "description": None})).ok()
    assert (renamed_template["name"], renamed_template["description"]) == ("new", None)
    assert (await guild.owner.delete(path)).ok()["code"] == template["code"]
    for response in (
        await guild.owner.put(path),
        await guild.owner.patch(path, json={}),
        await guild.owner.delete(path),
    ):
        response.rejected(404, 10057)
    (await world.request("GET", f"/guilds/templates/{template['code']}")).rejected(404, 10057)


async def test_templates_require_manage_guild(world: World) -> None:
    guild = await world.guild()
    template = await create_template(guild)
    bot, stranger = await world.bot(guild), await world.user()
    path = f"/guilds/{guild.id}/templates"
    template_path = f"{path}/{template['code']}"
    for actor, code in ((bot, 50013), (stranger, 50001)):
        (await actor.get(path)).rejected(403, code)
        (await actor.post(path, json={"name": "x"})).rejected(403, code)
        (await actor.put(template_path)).rejected(403, code)
        (await actor.patch(template_path, json={})).rejected(403, code)
        (await actor.delete(template_path)).rejected(403, code)
    other_guild = await world.guild(guild.owner)
    (await guild.owner.put(f"/guilds/{other_guild.id}/templates/{template['code']}")).rejected(404, 10057)
    manager = await world.bot(guild, permissions=Permissions.MANAGE_GUILD)
    (await manager.put(template_path)).ok()


@pytest.mark.parametrize(
    ("body", "path"),
    [({"name": ""}, "name"), ({"name": "x" * 101}, "name"), ({"name": "x", "description": "x" * 121}, "description")],
)
async def test_invalid_template_fields_are_rejected(world: World, body: dict[str, Any], path: str) -> None:
    guild = await world.guild()
    assert (await guild.owner.post(f"/guilds/{guild.id}/templates", json=body)).errors(path)
    template = await create_template(guild)
    assert (await guild.owner.patch(f"/guilds/{guild.id}/templates/{template['code']}", json=body)).errors(path)


async def test_a_guild_is_created_from_a_template(world: World) -> None:
    guild = await world.guild()
    role_id = await guild.role("mods", Permissions.KICK_MEMBERS, color=255)
    await guild.channel(
        "ideas", type=ChannelType.GUILD_FORUM, available_tags=[{"name": "new"}], default_auto_archive_duration=60
    )
    await guild.overwrite(guild.general, role_id, deny=Permissions.SEND_MESSAGES, target_type=OverwriteType.ROLE)
    template = await create_template(guild)
    bob = await world.user("bob")
    session = await bob.connect()

    response = await bob.post(f"/guilds/templates/{template['code']}", json={"name": "Copy"})

    assert response.status == 201
    created_guild = response.ok()
    assert (created_guild["name"], created_guild["owner_id"]) == ("Copy", str(bob.id))
    mods = created_guild["roles"][1]
    assert (mods["name"], mods["color"], mods["permissions"]) == ("mods", 255, "2")
    event = await session.next("GUILD_CREATE")
    channels = {channel["name"]: channel for channel in event["channels"]}
    assert channels["ideas"]["available_tags"][0]["name"] == "new"
    assert channels["ideas"]["default_auto_archive_duration"] == 60
    assert channels["general"]["parent_id"] == channels["Text Channels"]["id"]
    assert channels["general"]["permission_overwrites"] == [
        {"id": mods["id"], "type": OverwriteType.ROLE, "allow": "0", "deny": str(Permissions.SEND_MESSAGES)}
    ]
    assert created_guild["system_channel_id"] == channels["general"]["id"]
    assert (await bob.get(f"/guilds/templates/{template['code']}")).ok()["usage_count"] == 1
    (await bob.post("/guilds/templates/none", json={"name": "Copy"})).rejected(404, 10057)
    assert (await bob.post(f"/guilds/templates/{template['code']}", json={"name": "x"})).errors("name")


@pytest.mark.dated(changes.GUILD_CREATE_REMOVED_FOR_APPS)
async def test_bots_create_guilds_from_templates_until_july_2025(world: World) -> None:
    guild = await world.guild()
    template = await create_template(guild)
    bot = await world.bot(guild)
    path = f"/guilds/templates/{template['code']}"
    (await bot.post(path, json={"name": "Copy"})).rejected(403, 20001)
    world.clock.set(changes.GUILD_CREATE_REMOVED_FOR_APPS.at_ms - 1)
    (await bot.post(path, json={"name": "Copy"})).ok()
    world.clock.set(changes.GUILD_CREATE_REMOVED_FOR_APPS.at_ms)
    (await bot.post(path, json={"name": "Copy"})).rejected(403, 20001)


async def test_deleting_a_guild_deletes_its_template(world: World) -> None:
    guild = await world.guild()
    template = await create_template(guild)
    (await guild.owner.delete(f"/guilds/{guild.id}")).ok()
    (await guild.owner.get(f"/guilds/templates/{template['code']}")).rejected(404, 10057)
