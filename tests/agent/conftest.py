"""Fixtures for the tests of the agent: the machines of one or two users, and a game."""

import pytest

from tests import oauth
from tests.agent.setups import AgentSetup, TwoMachines
from tests.machine import NewMachine
from tests.world import World, befriend


@pytest.fixture
async def agent_setup(world: World, new_machine: NewMachine) -> AgentSetup:
    """Mary's machine, her guild, her friend Zoe, and a game."""
    mary, zoe = await world.user("mary"), await world.user("zoe")
    await befriend(mary, zoe)
    guild = await world.guild(mary, zoe, name="Town Square")
    game = await oauth.create_application(world, name="Puddle")
    machine = await new_machine(mary)
    assert await machine.agent.account.wait_until(lambda: str(guild.id) in machine.agent.account.state.guilds, 10)
    return AgentSetup(mary, zoe, guild, game, machine)


@pytest.fixture
async def two_machines(world: World, new_machine: NewMachine) -> TwoMachines:
    """The machines of Mary and Zoe, who are friends."""
    mary, zoe = await world.user("mary"), await world.user("zoe")
    await befriend(mary, zoe)
    game = await oauth.create_application(world, name="Puddle")
    return TwoMachines(mary, zoe, game, await new_machine(mary), await new_machine(zoe))


@pytest.fixture
async def game(world: World) -> oauth.Client:
    """A game whose backend has a client secret."""
    return await oauth.create_application(world, name="Puddle")
