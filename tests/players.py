"""Games and their players, for tests of provisional accounts."""

from typing import Any

from hubbub.protocol.flags import ApplicationFlags
from tests.oauth import Bearer, Client, application
from tests.world import Actor, Answer, World

SOCIAL = ApplicationFlags.SOCIAL_LAYER_INTEGRATION
BOT_ISSUED = "PLATFORM_BOT_ISSUED_ACCESS_TOKEN"


async def game(world: World, *, flags: int = SOCIAL, **more: Any) -> Client:
    """An application with the social layer."""
    return await application(world, flags=flags, **more)


async def by_bot(client: Client, external_user_id: str, **more: Any) -> Answer:
    """Ask as the application's own server for a player's token."""
    assert client.bot is not None
    return await client.bot.post("/partner-sdk/token/bot", json={"external_user_id": external_user_id, **more})


async def bearer(client: Client, token: str) -> Bearer:
    """Whoever a token stands for."""
    shown = Bearer(client.world, 0, token, "player", application_id=client.id)
    shown.id = int((await shown.get("/oauth2/@me")).ok()["user"]["id"])
    return shown


async def token_of(client: Client, external_user_id: str, **more: Any) -> Bearer:
    """A player whom the application's own server names."""
    return await bearer(client, (await by_bot(client, external_user_id, **more)).ok()["access_token"])


async def link(client: Client, person: Actor, token: str, kind: str = BOT_ISSUED) -> Bearer:
    """A person lets the game in who played it with this credential; the game acting for them."""
    tokens = await link_tokens(client, person, token, kind)
    return client.bearer(person, tokens["access_token"])


async def link_tokens(client: Client, person: Actor, token: str, kind: str = BOT_ISSUED) -> Any:
    """The same, with both tokens."""
    code = await client.code(person, "openid sdk.social_layer")
    return (await client.exchange(code, external_auth_type=kind, external_auth_token=token)).ok()
