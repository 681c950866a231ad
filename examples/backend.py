"""A game's own server: it gets tokens for its players, so that they can play without an account on the platform.

backend.py READY_FILE [--port 8090], then:

- POST /sessions {"player": "hero-1", "name": "Hero"} returns an access token for the player's provisional account, which
  the first request creates.
- POST /players/hero-1/unmerge separates the player from the account that the provisional account was merged into.
"""

import argparse
import asyncio
import json
import sys
from pathlib import Path

from aiohttp import web
from aiohttp.typedefs import Handler

from hubbub.protocol import errors
from hubbub.protocol.resources import identities
from hubbub.sdk import Api, ApiError

API = web.AppKey("api", Api)
routes = web.RouteTableDef()


@routes.post("/sessions")
async def create_session(request: web.Request) -> web.Response:
    """Return an access token for a player.

    A real server authenticates the player first, because the platform trusts the player ID in the request."""
    body = await request.json()
    player, name = str(body["player"]), str(body.get("name") or body["player"])
    token_request = identities.CreateProvisionalToken(external_user_id=player, preferred_global_name=name)
    token = await request.app[API].call(identities.BOT_PARTNER_SDK_TOKEN, body=token_request)
    print(f"{player} started to play", flush=True)
    # There is no refresh token: the game requests a new token here when this one expires. A publisher whose games share
    # accounts exchanges its own application's token for one of the game with identities.PARTNER_SDK_CHILD_TOKEN.
    return web.json_response({"access_token": token.access_token, "expires_in": token.expires_in})


@routes.post("/players/{player}/unmerge")
async def unmerge(request: web.Request) -> web.Response:
    """Give a player a new, empty provisional account; the data since the merge stays with the full account."""
    unmerge_request = identities.UnmergeProvisionalAccount(external_user_id=request.match_info["player"])
    await request.app[API].call(identities.BOT_PARTNER_SDK_UNMERGE_PROVISIONAL_ACCOUNT, body=unmerge_request)
    print(f"{unmerge_request.external_user_id} is unmerged", flush=True)
    return web.json_response({})


@web.middleware
async def report_errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Return API errors and invalid requests as messages for the game."""
    try:
        return await handler(request)
    except ApiError as error:
        message = str(error)
        if error.kind is errors.ACCOUNT_NOT_PROVISIONAL:
            message = "this player has a full account now; log in with it"
        return web.json_response({"message": message}, status=409)
    except (ValueError, KeyError, TypeError):
        return web.json_response({"message": 'send {"player": "..."}'}, status=400)


async def serve(api_url: str, bot_token: str, port: int) -> None:
    """Serve until the program is stopped."""
    app = web.Application(middlewares=[report_errors])
    app.add_routes(routes)
    async with Api(api_url, bot_token) as app[API]:
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", port).start()
        print(f"The game's server is running at http://127.0.0.1:{runner.addresses[0][1]}", flush=True)
        await asyncio.Event().wait()


def main() -> None:
    """Parse the command line and serve."""
    parser = argparse.ArgumentParser(description="a game's own server")
    parser.add_argument("ready_file", help="the ready file of `hubbub dev`")
    parser.add_argument("--port", type=int, default=8090)
    options = parser.parse_args()
    try:
        world = json.loads(Path(options.ready_file).read_text())
        bot_token = world["applications"]["demo-game"]["bot"]["token"]
    except (OSError, ValueError, LookupError, TypeError) as error:
        sys.exit(
            f"backend: {options.ready_file} is not a ready file of the demo world ({error}); see examples/README.md"
        )

    try:
        asyncio.run(serve(world["api"], bot_token, options.port))
    except KeyboardInterrupt:
        pass
    except OSError as error:
        sys.exit(f"backend: {error}")


if __name__ == "__main__":
    main()
