"""Guild templates: a guild's shape, taken down and built again."""

from typing import Any

import pytest

from hubbub.protocol import changes
from hubbub.protocol.permissions import Permissions
from tests.world import Guild, World


async def template(guild: Guild, **body: Any) -> Any:
    """A template of a guild."""
    return (await guild.owner.post(f"/guilds/{guild.id}/templates", json={"name": "shape", **body})).ok()


async def test_a_guilds_shape_is_taken_down(world: World) -> None:
    guild = await world.guild()
    role = await guild.role("mods", Permissions.KICK_MEMBERS, color=255, hoist=True)
    await world.bot(guild)
    stage = await guild.channel("stage", type=13)
    forum = await guild.channel("ideas", type=15, available_tags=[{"name": "new"}], default_forum_layout=1)
    await guild.overwrite(guild.general, role, allow=Permissions.VIEW_CHANNEL, kind=0)
    await guild.overwrite(guild.general, guild.owner.id, allow=Permissions.VIEW_CHANNEL)

    made = await template(guild, description="ours")

    assert (made["name"], made["description"], made["usage_count"], made["is_dirty"]) == ("shape", "ours", 0, None)
    assert made["creator_id"] == made["creator"]["id"] == str(guild.owner.id)
    shape = made["serialized_source_guild"]
    assert [(each["id"], each["name"]) for each in shape["roles"]] == [(0, "@everyone"), (1, "mods")]
    named = {each["name"]: each for each in shape["channels"]}
    assert named["stage"]["type"] == 2
    assert (named["ideas"]["type"], named["ideas"]["available_tags"][0]["name"]) == (15, "new")
    assert named["general"]["parent_id"] == str(named["Text Channels"]["id"])
    assert [each["id"] for each in named["general"]["permission_overwrites"]] == ["1"]
    assert shape["system_channel_id"] == str(named["general"]["id"])
    assert stage
    assert forum
    assert (await world.request("GET", f"/guilds/templates/{made['code']}")).ok() == made
    assert (await guild.owner.get(f"/guilds/{guild.id}/templates")).ok() == [made]
    (await guild.owner.post(f"/guilds/{guild.id}/templates", json={"name": "two"})).refused(400, 30031)


async def test_a_template_follows_its_guild_when_told(world: World) -> None:
    guild = await world.guild()
    made = await template(guild)
    url = f"/guilds/{guild.id}/templates/{made['code']}"
    await guild.channel("more")
    assert (await guild.owner.get(f"/guilds/templates/{made['code']}")).ok()["is_dirty"] is True
    world.clock.advance(1000)
    synced = (await guild.owner.put(url)).ok()
    assert synced["is_dirty"] is None
    assert synced["updated_at"] > made["updated_at"]
    assert "more" in {each["name"] for each in synced["serialized_source_guild"]["channels"]}
    renamed = (await guild.owner.patch(url, json={"name": "new", "description": None})).ok()
    assert (renamed["name"], renamed["description"]) == ("new", None)
    assert (await guild.owner.delete(url)).ok()["code"] == made["code"]
    for answer in (await guild.owner.put(url), await guild.owner.patch(url, json={}), await guild.owner.delete(url)):
        answer.refused(404, 10057)
    (await world.request("GET", f"/guilds/templates/{made['code']}")).refused(404, 10057)


async def test_templates_are_for_those_who_manage_the_guild(world: World) -> None:
    guild = await world.guild()
    made = await template(guild)
    bot, stranger = await world.bot(guild), await world.user()
    url = f"/guilds/{guild.id}/templates"
    one = f"{url}/{made['code']}"
    for actor, code in ((bot, 50013), (stranger, 50001)):
        (await actor.get(url)).refused(403, code)
        (await actor.post(url, json={"name": "x"})).refused(403, code)
        (await actor.put(one)).refused(403, code)
        (await actor.patch(one, json={})).refused(403, code)
        (await actor.delete(one)).refused(403, code)
    other = await world.guild(guild.owner)
    (await guild.owner.put(f"/guilds/{other.id}/templates/{made['code']}")).refused(404, 10057)
    manager = await world.bot(guild, permissions=Permissions.MANAGE_GUILD)
    (await manager.put(one)).ok()


@pytest.mark.parametrize(
    ("body", "path"),
    [({"name": ""}, "name"), ({"name": "x" * 101}, "name"), ({"name": "x", "description": "x" * 121}, "description")],
)
async def test_a_bad_template_is_named(world: World, body: dict[str, Any], path: str) -> None:
    guild = await world.guild()
    assert (await guild.owner.post(f"/guilds/{guild.id}/templates", json=body)).errors(path)
    made = await template(guild)
    assert (await guild.owner.patch(f"/guilds/{guild.id}/templates/{made['code']}", json=body)).errors(path)


async def test_a_guild_is_built_from_a_template(world: World) -> None:
    guild = await world.guild()
    role = await guild.role("mods", Permissions.KICK_MEMBERS, color=255)
    await guild.channel("ideas", type=15, available_tags=[{"name": "new"}], default_auto_archive_duration=60)
    await guild.overwrite(guild.general, role, deny=Permissions.SEND_MESSAGES, kind=0)
    made = await template(guild)
    bob = await world.user("bob")
    session = await bob.connect()

    built = await bob.post(f"/guilds/templates/{made['code']}", json={"name": "Copy"})

    assert built.status == 201
    copy = built.ok()
    assert (copy["name"], copy["owner_id"]) == ("Copy", str(bob.id))
    mods = copy["roles"][1]
    assert (mods["name"], mods["color"], mods["permissions"]) == ("mods", 255, "2")
    told = await session.next("GUILD_CREATE")
    channels = {each["name"]: each for each in told["channels"]}
    assert channels["ideas"]["available_tags"][0]["name"] == "new"
    assert channels["ideas"]["default_auto_archive_duration"] == 60
    assert channels["general"]["parent_id"] == channels["Text Channels"]["id"]
    assert channels["general"]["permission_overwrites"] == [
        {"id": mods["id"], "type": 0, "allow": "0", "deny": str(Permissions.SEND_MESSAGES)}
    ]
    assert copy["system_channel_id"] == channels["general"]["id"]
    assert (await bob.get(f"/guilds/templates/{made['code']}")).ok()["usage_count"] == 1
    (await bob.post("/guilds/templates/none", json={"name": "Copy"})).refused(404, 10057)
    assert (await bob.post(f"/guilds/templates/{made['code']}", json={"name": "x"})).errors("name")


@pytest.mark.dated(changes.GUILD_CREATE_FOR_APPS)
async def test_bots_built_guilds_until_july_2025(world: World) -> None:
    guild = await world.guild()
    made = await template(guild)
    bot = await world.bot(guild)
    url = f"/guilds/templates/{made['code']}"
    (await bot.post(url, json={"name": "Copy"})).refused(403, 20001)
    world.clock.set(changes.GUILD_CREATE_FOR_APPS.at_ms - 1)
    (await bot.post(url, json={"name": "Copy"})).ok()
    world.clock.set(changes.GUILD_CREATE_FOR_APPS.at_ms)
    (await bot.post(url, json={"name": "Copy"})).refused(403, 20001)


async def test_a_deleted_guild_takes_its_template_with_it(world: World) -> None:
    guild = await world.guild()
    made = await template(guild)
    (await guild.owner.delete(f"/guilds/{guild.id}")).ok()
    (await guild.owner.get(f"/guilds/templates/{made['code']}")).refused(404, 10057)
