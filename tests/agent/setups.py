"""Initial states that several tests of the agent share."""

from typing import Any

from tests import oauth
from tests.machine import Machine, NewMachine, Program
from tests.world import Actor, Guild, Session, World, befriend

JOINABLE_ACTIVITY = {"party": {"id": "party-1", "size": [1, 4]}, "secrets": {"join": "come-in"}}


class AgentSetup:
    """Mary's machine, her guild, her friend Zoe, and a game."""

    def __init__(self, mary: Actor, zoe: Actor, guild: Guild, game: oauth.Client, machine: Machine) -> None:
        self.mary, self.zoe, self.guild, self.game, self.machine = mary, zoe, guild, game, machine
        self.voice_channel_id = guild.channels["General"]

    async def connect_program(self, scopes: str = "") -> Program:
        """Connect as the game, with a token if `scopes` is not empty."""
        if scopes:
            return await self.machine.connect_authenticated(self.game.id, scopes)
        return await self.machine.connect_program(self.game.id)


class TwoMachines:
    """Mary and Zoe, who are friends, a machine of each, and a game."""

    def __init__(
        self, mary: Actor, zoe: Actor, game: oauth.Client, mary_machine: Machine, zoe_machine: Machine
    ) -> None:
        self.mary, self.zoe, self.game = mary, zoe, game
        self.mary_machine, self.zoe_machine = mary_machine, zoe_machine


class PresenceSetup:
    """Mary's machine, a game, and her friend Zoe, who receives Mary's presence."""

    def __init__(
        self, world: World, machine: Machine, game: oauth.Client, mary: Actor, zoe: Actor, zoe_session: Session
    ) -> None:
        self.world, self.machine, self.game = world, machine, game
        self.mary, self.zoe, self.zoe_session = mary, zoe, zoe_session

    async def connect_program(self) -> Program:
        """Connect as the game."""
        return await self.machine.connect_program(self.game.id)

    async def wait_activities(self, matches: Any = lambda activities: True) -> list[dict[str, Any]]:
        """Wait until Zoe receives a presence of Mary with matching activities, and return them."""
        presence = await self.zoe_session.next(
            "PRESENCE_UPDATE",
            lambda data: data["user"]["id"] == str(self.mary.id) and matches(data["activities"]),
        )
        activities: list[dict[str, Any]] = presence["activities"]
        return activities


async def create_presence_setup(world: World, new_machine: NewMachine, **settings: Any) -> PresenceSetup:
    """Create the users and the game, and start the agent on Mary's machine."""
    mary, zoe = await world.user("mary"), await world.user("zoe")
    await befriend(mary, zoe)
    game = await oauth.create_application(world, name="Puddle")
    zoe_session = await zoe.connect()
    machine = await new_machine(mary, is_started=False, **settings)
    machine.presence_window_seconds = 0.01
    await machine.start()
    return PresenceSetup(world, machine, game, mary, zoe, zoe_session)
