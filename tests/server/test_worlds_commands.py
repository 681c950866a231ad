"""Commands of applications in world files."""

import pytest

from hubbub.server import worlds
from hubbub.server.worlds import WorldError
from tests.rehearsal import start_rehearsal
from tests.world import Actor, World

WORLD = """
[users.ann]

[applications.helper]

[[applications.helper.commands]]
name = "roll"
description = "Roll a die"
options = [{ type = 4, name = "sides", description = "Number of sides", required = true }]

[[applications.helper.commands]]
name = "Greet"
type = 2
contexts = [0]

[guilds.Home]
owner = "ann"

[guilds.Home.channels.hall]

[guilds.Home.bots.helper]

[[guilds.Home.bots.helper.commands]]
name = "sweep"
description = "Sweep the hall"
default_member_permissions = "0"
"""


async def test_a_world_has_commands(world: World) -> None:
    built_world = await worlds.load(world.app, worlds.read_text(WORLD), 1)
    application, guild = built_world.applications["helper"], built_world.guilds["Home"]
    assert application.bot is not None
    bot = Actor(world, application.bot.id, application.bot.token, "helper", is_bot=True)

    commands = (await bot.get(f"/applications/{application.id}/commands")).ok()
    guild_commands = (await bot.get(f"/applications/{application.id}/guilds/{guild.id}/commands")).ok()

    assert [(command["name"], command["type"]) for command in commands] == [("roll", 1), ("Greet", 2)]
    assert commands[0]["options"][0]["required"] is True
    assert commands[1]["contexts"] == [0]
    assert [(command["name"], command["default_member_permissions"]) for command in guild_commands] == [("sweep", "0")]


async def test_commands_of_a_world_have_stable_ids() -> None:
    ids = []
    for _ in range(2):
        async with start_rehearsal(worlds.read_text(WORLD)) as rehearsal:
            application_id = rehearsal.control.built_world.applications["helper"].id
            [roll, greet] = (await rehearsal.actor("helper").get(f"/applications/{application_id}/commands")).ok()
            ids.append((roll["id"], roll["version"], greet["id"]))
    assert ids[0] == ids[1]


@pytest.mark.parametrize(
    ("old_text", "new_text", "message"),
    [
        ('name = "sweep"', 'nam = "sweep"', "guilds.Home.bots.helper.commands.0.nam: no such key; did you mean name?"),
        ('name = "roll"', "name = 1", "applications.helper.commands.0: Expected str, got int - at $.name"),
        (
            'name = "Greet"\ntype = 2',
            'name = "roll"',
            'applications.helper.commands.1.name: "roll" is already a command',
        ),
    ],
)
def test_an_invalid_command_is_rejected_with_its_path(old_text: str, new_text: str, message: str) -> None:
    with pytest.raises(WorldError) as caught:
        worlds.read_text(WORLD.replace(old_text, new_text))
    assert str(caught.value).startswith(message)


async def test_a_command_that_the_platform_rejects_has_its_path(world: World) -> None:
    invalid_world = worlds.read_text(WORLD.replace('name = "sides"', 'name = "No Spaces"'))
    with pytest.raises(WorldError, match=r"^applications\.helper\.commands\.0: options\.0\.name: "):
        await worlds.load(world.app, invalid_world, 1)
