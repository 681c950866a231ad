"""An app that has only a web server, used by a user over HTTP."""

from collections.abc import AsyncIterator

import pytest
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from tests.clients.app_user import create_sku, use_every_feature
from tests.clients.client_setup import ClientSetup
from tests.clients.http_app import COMMANDS, HttpApp


@pytest.fixture
async def app(setup: ClientSetup) -> AsyncIterator[HttpApp]:
    """The setup's app as a web server; it never connects to the gateway."""
    http_app = HttpApp(setup.world.api, setup.world.client, await create_sku(setup))
    web_app = web.Application()
    web_app.router.add_post("/", http_app.handle)
    runner = web.AppRunner(web_app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    application = (await setup.bot.get("/applications/@me")).ok()
    http_app.verify_key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(application["verify_key"]))
    url = f"http://127.0.0.1:{runner.addresses[0][1]}/"
    (await setup.bot.patch("/applications/@me", json={"interactions_endpoint_url": url})).ok()
    commands_path = f"/applications/{setup.bot.application_id}/guilds/{setup.guild.id}/commands"
    (await setup.bot.put(commands_path, json=COMMANDS)).ok()
    yield http_app
    await runner.cleanup()


async def test_a_user_uses_every_feature_of_an_app(app: HttpApp, setup: ClientSetup) -> None:
    await use_every_feature(setup, await setup.bob.connect(), app.sku_id)

    # The platform sent one ping with an invalid signature when the URL was saved.
    assert app.invalid_signature_count == 1
    assert app.failed_requests == []
    assert (await setup.bot.get(f"/applications/{setup.bot.application_id}/interactions/failed")).ok() == []
