"""A game with its players, and the intents and capabilities of the SDK, for tests of the social layer."""

from dataclasses import dataclass, field
from typing import Any

from hubbub.protocol.intents import Intents
from tests.oauth import Client, create_application
from tests.world import Actor, Bearer, Session, World

SDK_INTENTS = (
    Intents.DIRECT_MESSAGES
    | Intents.PRIVATE_CHANNELS
    | Intents.CALLS
    | Intents.USER_RELATIONSHIPS
    | Intents.USER_PRESENCE
    | Intents.LOBBIES
    | Intents.LOBBY_DELETE
)
"""Intents that the SDK identifies with (spec/sdk.md#5.3)."""
SDK_CAPABILITIES = 69680
"""Capabilities that the SDK identifies with, as a bit field."""


class Player(Bearer):
    """A user of a game, with the access token that the user granted to the game."""

    async def connect_sdk(self, **identify: Any) -> Session:
        """Open a gateway session with the intents and capabilities of the SDK."""
        return await self.connect(SDK_INTENTS, capabilities=SDK_CAPABILITIES, **identify)


@dataclass
class Game:
    """An application with its players; it has a bot unless `create_game` was called with `has_bot=False`."""

    world: World
    client: Client
    players: list[Player] = field(default_factory=list)

    @property
    def id(self) -> int:
        """The application ID."""
        return self.client.id

    @property
    def backend(self) -> Actor:
        """The game's own server, which calls the API with the bot's token."""
        assert self.client.bot is not None
        return self.client.bot

    async def add_player(self, user: Actor | None = None, scope: str = "openid sdk.social_layer") -> Player:
        """Authorize the game as a user, by default a new user, and return the user as a player."""
        user = user or await self.world.user()
        token = (await self.client.request_tokens(user, scope))["access_token"]
        player = Player(self.world, user.id, token, user.name, application_id=self.id)
        self.players.append(player)
        return player


async def create_game(world: World, name: str = "Game", **options: Any) -> Game:
    """Create a game with a public OAuth2 client."""
    return Game(world, await create_application(world, name=name, is_public=True, **options))
