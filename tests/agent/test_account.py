"""The requests of the signed-in account to the HTTP API."""

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from hubbub.agent.account import Account
from hubbub.protocol.resources.applications import GET_APPLICATION_RPC
from hubbub.protocol.resources.soundboard import GET_SOUNDBOARD_DEFAULT_SOUNDS
from hubbub.protocol.rpc import RpcError, RpcErrorCode


async def test_a_response_that_is_not_from_the_platform_is_an_error_for_the_program() -> None:
    async def respond_with_page(request: web.Request) -> web.Response:
        return web.Response(text="<html>", content_type="text/html")

    application = web.Application()
    application.router.add_get("/{path:.*}", respond_with_page)
    async with TestServer(application) as server:
        account = Account(str(server.make_url("")), "token")
        with pytest.raises(RpcError, match="The platform sent an invalid response") as error:
            await account.call(GET_APPLICATION_RPC, application_id="1", is_anonymous=True)
        with pytest.raises(RpcError, match="The platform sent an invalid response"):
            await account.forward(GET_SOUNDBOARD_DEFAULT_SOUNDS)
        await account.close()

    assert error.value.code is RpcErrorCode.SERVICE_UNAVAILABLE


async def test_models_accept_missing_and_unknown_fields_and_forwarded_json_is_unchanged() -> None:
    async def respond(request: web.Request) -> web.Response:
        if request.path.endswith("/rpc"):
            return web.json_response({"id": "1", "name": "Game", "created_on": "Mars"})
        return web.json_response([{"sound_id": "1", "created_on": "Mars"}])

    application = web.Application()
    application.router.add_get("/{path:.*}", respond)
    async with TestServer(application) as server:
        account = Account(str(server.make_url("")), "token")
        game = await account.call(GET_APPLICATION_RPC, application_id="1", is_anonymous=True)
        sounds = await account.forward(GET_SOUNDBOARD_DEFAULT_SOUNDS)
        await account.close()

    assert (int(game.id), game.name, bool(game.rpc_origins)) == (1, "Game", False)
    assert sounds == [{"sound_id": "1", "created_on": "Mars"}]
