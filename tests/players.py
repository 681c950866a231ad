"""Games and their players, for tests of provisional accounts."""

from typing import Any

from hubbub.protocol.flags import ApplicationFlags
from tests.oauth import Client, create_application
from tests.world import Actor, ApiResponse, Bearer, World

SOCIAL_LAYER_FLAG = ApplicationFlags.SOCIAL_LAYER_INTEGRATION
BOT_ISSUED = "PLATFORM_BOT_ISSUED_ACCESS_TOKEN"
"""External authentication type of an access token that the application's bot requested."""


async def create_social_game(world: World, *, flags: int = SOCIAL_LAYER_FLAG, **fields: Any) -> Client:
    """Create a game: an application with the social layer."""
    return await create_application(world, flags=flags, **fields)


async def request_bot_token(client: Client, external_user_id: str, **fields: Any) -> ApiResponse:
    """Request the access token of a provisional player as the application's bot."""
    assert client.bot is not None
    return await client.bot.post("/partner-sdk/token/bot", json={"external_user_id": external_user_id, **fields})


async def create_bearer(client: Client, token: str) -> Bearer:
    """Return an actor that calls the API with an access token of the application."""
    actor = Bearer(client.world, 0, token, "player", application_id=client.id)
    actor.id = int((await actor.get("/oauth2/@me")).ok()["user"]["id"])
    return actor


async def create_provisional_player(client: Client, external_user_id: str, **fields: Any) -> Bearer:
    """Return a provisional player whose token the application's bot requested."""
    return await create_bearer(
        client, (await request_bot_token(client, external_user_id, **fields)).ok()["access_token"]
    )


async def link_account(client: Client, user: Actor, token: str, external_auth_type: str = BOT_ISSUED) -> Bearer:
    """Link the provisional account that a credential belongs to with a user; return an actor with the new access token."""
    tokens = await request_link_tokens(client, user, token, external_auth_type)
    return client.bearer(user, tokens["access_token"])


async def request_link_tokens(client: Client, user: Actor, token: str, external_auth_type: str = BOT_ISSUED) -> Any:
    """Link the provisional account that a credential belongs to with a user and return the token response."""
    code = await client.request_code(user, "openid sdk.social_layer")
    return (await client.exchange(code, external_auth_type=external_auth_type, external_auth_token=token)).ok()
