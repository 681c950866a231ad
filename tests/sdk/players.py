"""Games, players and a callback recorder for tests that run the SDK against the real server."""

import asyncio
from collections.abc import Callable
from typing import Any

from hubbub.protocol.flags import ApplicationFlags
from hubbub.sdk import (
    Activity,
    ActivityAssets,
    ActivityGamePlatforms,
    ActivityParty,
    ActivitySecrets,
    AudioBackend,
    AuthenticationExternalAuthType,
    AuthorizationTokenType,
    Client,
    ClientCreateOptions,
    RelationshipType,
)
from hubbub.sdk.connection import Connection
from hubbub.sdk.gateway import Gateway
from tests import oauth
from tests.oauth import Client as Application
from tests.world import WAIT_TIMEOUT_SECONDS, Actor, ApiResponse, World

LOOPBACK_REDIRECT_URI = "http://127.0.0.1/callback"
SCOPES = "openid sdk.social_layer"


async def create_game(world: World, **overrides: Any) -> Application:
    """Create a public application that uses the social layer."""
    settings: dict[str, Any] = {
        "is_public": True,
        "redirect_uris": (LOOPBACK_REDIRECT_URI,),
        "flags": ApplicationFlags.SOCIAL_LAYER_INTEGRATION,
        "name": "Puddle",
    }
    application = await oauth.create_application(world, **(settings | overrides))
    application.redirect_uri = LOOPBACK_REDIRECT_URI
    return application


class CallbackRecorder:
    """Records the calls of a callback, in order."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self._read_count = 0
        self._call_received = asyncio.Event()

    def __call__(self, *args: Any) -> None:
        self.calls.append(args)
        self._call_received.set()

    async def next(self, matches: Callable[..., bool] = lambda *_: True) -> Any:
        """Return the next unread call that matches. A single argument is returned as it is, several as a tuple."""
        try:
            async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
                while True:
                    for position in range(self._read_count, len(self.calls)):
                        if matches(*self.calls[position]):
                            self._read_count = position + 1
                            arguments = self.calls[position]
                            return arguments[0] if len(arguments) == 1 else arguments
                    self._call_received.clear()
                    await self._call_received.wait()
        except TimeoutError:
            raise AssertionError(f"no matching call; unread: {self.calls[self._read_count :]}") from None


class Player:
    """A user playing a game, with the SDK client of that game."""

    def __init__(self, user: Actor, client: Client, tokens: dict[str, Any]) -> None:
        self.user = user
        self.id = user.id
        self.client = client
        self.tokens = tokens

    def record_event(self, event: str) -> CallbackRecorder:
        """Set a recorder as the callback of an event, and return the recorder."""
        recorder = CallbackRecorder()
        getattr(self.client, f"set_{event}_callback")(recorder)
        return recorder


def new_client(world: World, **client_options: Any) -> Client:
    """Create an SDK client for the world's server, with a silent virtual audio device unless `audio` is given."""
    client_options.setdefault("audio", AudioBackend())
    authority = world.app.config.voice.ca_file or ""
    return Client(ClientCreateOptions(web_base=world.url, voice_authority=authority), **client_options)


async def create_player(
    world: World,
    application: Application,
    name: str | None = None,
    *,
    scopes: str = SCOPES,
    connect: bool = True,
    **client_options: Any,
) -> Player:
    """Create a user who authorized the game, with an SDK client that connects unless `connect` is false."""
    user = await world.user(name)
    tokens = await application.request_tokens(user, scopes)
    client = new_client(world, **client_options)
    await client.update_token(AuthorizationTokenType.BEARER, tokens["access_token"])
    if connect:
        await client.connect()
    return Player(user, client, tokens)


async def create_two_players(world: World) -> tuple[Player, Player]:
    """Create Mary and Zoe, players of one game."""
    application = await create_game(world)
    return await create_player(world, application, "mary"), await create_player(world, application, "zoe")


def joinable_activity(**overrides: object) -> Activity:
    """Return an activity that can be joined."""
    fields: dict[str, object] = {
        "name": "Puddle",
        "state": "In a puddle",
        "details": "Jumping",
        "assets": ActivityAssets(large_image="pond", large_text="A pond"),
        "party": ActivityParty(id="party-1", current_size=1, max_size=4),
        "secrets": ActivitySecrets(join="let-me-in"),
        "supported_platforms": ActivityGamePlatforms.DESKTOP,
    }
    return Activity(**(fields | overrides))  # type: ignore[arg-type]


def is_game_friend(player: Player, user_id: int) -> bool:
    """Return whether a user is a friend of a player in the game."""
    return player.client.get_relationship_handle(user_id).game_relationship_type is RelationshipType.FRIEND


async def befriend_players(requester: Player, other: Player) -> None:
    """Make two players friends in their game."""
    received_events, accepted_events = (
        other.record_event("relationship_created"),
        requester.record_event("relationship_created"),
    )
    await requester.client.send_game_friend_request_by_id(other.id)
    await received_events.next()
    await other.client.accept_game_friend_request(requester.id)
    for player, created_events in ((requester, accepted_events), (other, received_events)):
        await created_events.next(lambda user_id, _, player=player: is_game_friend(player, user_id))


async def create_friends(world: World, application: Application | None = None) -> tuple[Player, Player]:
    """Create Mary and Zoe, players of a game who are friends in it."""
    application = application or await create_game(world)
    mary, zoe = await create_player(world, application, "mary"), await create_player(world, application, "zoe")
    await befriend_players(mary, zoe)
    return mary, zoe


def visible_activity(viewer: Player, other: Player) -> Activity | None:
    """Return the activity of another player as a player's client sees it."""
    user = viewer.client.get_user(other.id)
    assert user is not None
    return user.game_activity


BOT_ISSUED = AuthenticationExternalAuthType.PLATFORM_BOT_ISSUED_ACCESS_TOKEN


async def request_provisional_token(application: Application, external_user_id: str) -> ApiResponse:
    """Request the token of an external user's provisional account as the game's bot."""
    assert application.bot is not None
    return await application.bot.post("/partner-sdk/token/bot", json={"external_user_id": external_user_id})


def gateway_of(client: Client) -> Gateway:
    """Return the gateway connection of a client."""
    gateway: Gateway = client._parts[Connection].gateway
    return gateway
