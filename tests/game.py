"""A game and its players, for tests of the social layer."""

from dataclasses import dataclass, field
from typing import Any

from hubbub.protocol.intents import Intents
from tests.oauth import Client, application
from tests.world import Actor, Session, World

SDK_INTENTS = (
    Intents.DIRECT_MESSAGES
    | Intents.PRIVATE_CHANNELS
    | Intents.CALLS
    | Intents.USER_RELATIONSHIPS
    | Intents.USER_PRESENCE
    | Intents.LOBBIES
    | Intents.LOBBY_DELETE
)
"""What the SDK asks for (sdk.md 5.3)."""
SDK_CAPABILITIES = 69680


class Player(Actor):
    """Somebody in a game, by the token they granted it."""

    async def play(self, **identify: Any) -> Session:
        """Open a session as the SDK does."""
        return await self.connect(SDK_INTENTS, capabilities=SDK_CAPABILITIES, **identify)


@dataclass
class Game:
    """An application with a bot, and the people who play it."""

    world: World
    client: Client
    players: list[Player] = field(default_factory=list)

    @property
    def id(self) -> int:
        """The application."""
        return self.client.id

    @property
    def backend(self) -> Actor:
        """The bot, with which the game's own server speaks."""
        assert self.client.bot is not None
        return self.client.bot

    async def player(self, person: Actor | None = None, scope: str = "openid sdk.social_layer") -> Player:
        """A person who let the game in."""
        person = person or await self.world.user()
        token = (await self.client.tokens(person, scope))["access_token"]
        made = Player(self.world, person.id, token, person.name, application_id=self.id, player=True)
        self.players.append(made)
        return made


async def game(world: World, name: str = "Game", **options: Any) -> Game:
    """A registered game."""
    return Game(world, await application(world, name=name, public=True, **options))
