"""Games and players for tests that run the SDK against the real server."""

import asyncio
from collections.abc import Callable
from typing import Any

from hubbub.protocol.flags import ApplicationFlags
from hubbub.sdk import AuthorizationTokenType, Client, ClientCreateOptions
from tests import oauth
from tests.world import WAIT_TIMEOUT_SECONDS, Actor, World

LOOPBACK = "http://127.0.0.1/callback"
SCOPES = "openid sdk.social_layer"


async def game(world: World, **more: Any) -> oauth.Client:
    """Create a public application that uses the social layer."""
    settings: dict[str, Any] = {
        "public": True,
        "redirect_uris": (LOOPBACK,),
        "flags": ApplicationFlags.SOCIAL_LAYER_INTEGRATION,
        "name": "Puddle",
    }
    made = await oauth.create_application(world, **(settings | more))
    made.redirect_uri = LOOPBACK
    return made


class CallbackRecorder:
    """Records the calls of a callback, in order."""

    def __init__(self) -> None:
        self.all: list[tuple[Any, ...]] = []
        self._taken = 0
        self._came = asyncio.Event()

    def __call__(self, *args: Any) -> None:
        self.all.append(args)
        self._came.set()

    async def next(self, matches: Callable[..., bool] = lambda *_: True) -> Any:
        """Return the next unread call that matches. A single argument is returned bare, several as a tuple."""
        try:
            async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
                while True:
                    for position in range(self._taken, len(self.all)):
                        if matches(*self.all[position]):
                            self._taken = position + 1
                            found = self.all[position]
                            return found[0] if len(found) == 1 else found
                    self._came.clear()
                    await self._came.wait()
        except TimeoutError:
            raise AssertionError(f"no matching call; unread: {self.all[self._taken :]}") from None


class Player:
    """A user playing a game, with the SDK client of that game."""

    def __init__(self, person: Actor, client: Client, tokens: dict[str, Any]) -> None:
        self.user = person
        self.id = person.id
        self.client = client
        self.tokens = tokens

    def record_event(self, event: str) -> CallbackRecorder:
        """Record the calls of an event's callback from now on."""
        recorder = CallbackRecorder()
        getattr(self.client, f"set_{event}_callback")(recorder)
        return recorder


def new_client(world: World, **more: Any) -> Client:
    """Create an SDK client for the world's server."""
    voice = world.app.config.voice.authority or ""
    return Client(ClientCreateOptions(web_base=world.url, voice_authority=voice), **more)


async def player(
    world: World,
    application: oauth.Client,
    name: str | None = None,
    *,
    scopes: str = SCOPES,
    connect: bool = True,
    **more: Any,
) -> Player:
    """Create a user with a linked account and an SDK client, which connects unless `connect` is false."""
    person = await world.user(name)
    tokens = await application.request_tokens(person, scopes)
    client = new_client(world, **more)
    await client.update_token(AuthorizationTokenType.BEARER, tokens["access_token"])
    if connect:
        await client.connect()
    return Player(person, client, tokens)
