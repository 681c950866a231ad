"""Test of an application that only has a web server. `test_plugin.py` runs this file in a separate project."""

import json
from collections.abc import AsyncIterator

import pytest
from aiohttp import web
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from hubbub.protocol.enums import InteractionCallbackType, InteractionType
from hubbub.testing import Platform


@pytest.fixture
async def greeting_application(hubbub: Platform) -> AsyncIterator[None]:
    """An application that responds to interactions in the HTTP response, in the event loop of the test."""
    key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(hubbub.applications["demo-bot"].public_key))

    async def handle(request: web.Request) -> web.Response:
        body, headers = await request.read(), request.headers
        try:
            key.verify(bytes.fromhex(headers["X-Signature-Ed25519"]), headers["X-Signature-Timestamp"].encode() + body)
        except InvalidSignature:
            return web.Response(status=401)
        interaction = json.loads(body)
        if interaction["type"] == InteractionType.PING:
            return web.json_response({"type": InteractionCallbackType.PONG})
        data = {"content": f"hello {interaction['member']['user']['username']}"}
        return web.json_response({"type": InteractionCallbackType.CHANNEL_MESSAGE_WITH_SOURCE, "data": data})

    app = web.Application()
    app.router.add_post("/", handle)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    bot, application = hubbub.bots["demo-bot"], hubbub.applications["demo-bot"]
    await hubbub.clock.freeze()
    await bot.request("PATCH", "/applications/@me", {"interactions_endpoint_url": f"http://127.0.0.1:{port}/"})
    await bot.request("PUT", f"/applications/{application.id}/commands", [{"name": "greet", "description": "greets"}])
    yield
    await runner.cleanup()


async def test_an_application_with_a_web_server_responds(hubbub: Platform, greeting_application: None) -> None:
    assert (await hubbub.users["carol"].run("general", "greet"))["content"] == "hello carol"
