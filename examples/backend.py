"""A game's own server: it knows its players and gets them tokens, so that they play without an account of the platform.

backend.py READY_FILE [--port 8090], then:

POST /sessions {"player": "hero-1", "name": "Hero"}    a token of the player's provisional account, made at the first time
POST /players/hero-1/unmerge                           parts the player from the account that took theirs over
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
async def begin(request: web.Request) -> web.Response:
    """A player comes. A real server looks at their password or console first: whom it names here, the platform believes."""
    asked = await request.json()
    player, name = str(asked["player"]), str(asked.get("name") or asked["player"])
    wanted = identities.CreateBotToken(external_user_id=player, preferred_global_name=name)
    token = await request.app[API].call(identities.BOT_PARTNER_SDK_TOKEN, body=wanted)
    print(f"{player} begins to play", flush=True)
    # There is nothing to refresh: the game asks here again when the token ends. A publisher whose games share accounts would
    # change its own application's token into one of the game's with identities.PARTNER_SDK_CHILD_TOKEN.
    return web.json_response({"access_token": token.access_token, "expires_in": token.expires_in})


@routes.post("/players/{player}/unmerge")
async def unmerge(request: web.Request) -> web.Response:
    """A player wants their own account back, which starts anew; what they did since stays with the other."""
    wanted = identities.UnmergeByBot(external_user_id=request.match_info["player"])
    await request.app[API].call(identities.BOT_PARTNER_SDK_UNMERGE_PROVISIONAL_ACCOUNT, body=wanted)
    print(f"{wanted.external_user_id} is on their own again", flush=True)
    return web.json_response({})


@web.middleware
async def explain(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refusals, in words for the game."""
    try:
        return await handler(request)
    except ApiError as refusal:
        message = str(refusal)
        if refusal.kind is errors.ACCOUNT_NOT_PROVISIONAL:
            message = "this player has an account of the platform now: sign in with it"
        return web.json_response({"message": message}, status=409)
    except (ValueError, KeyError, TypeError):
        return web.json_response({"message": 'send {"player": "..."}'}, status=400)


async def serve(api: str, bot: str, port: int) -> None:
    """Listen until somebody stops it."""
    app = web.Application(middlewares=[explain])
    app.add_routes(routes)
    async with Api(api, bot) as app[API]:
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", port).start()
        print(f"The game's server is at http://127.0.0.1:{runner.addresses[0][1]}", flush=True)
        await asyncio.Event().wait()


def main() -> None:
    """Serve the game."""
    parser = argparse.ArgumentParser(description="a game's own server")
    parser.add_argument("ready_file", help="the ready file of `hubbub dev`")
    parser.add_argument("--port", type=int, default=8090)
    options = parser.parse_args()
    try:
        world = json.loads(Path(options.ready_file).read_text())
        bot = world["applications"]["demo-game"]["bot"]["token"]
    except (OSError, ValueError, LookupError, TypeError) as error:
        sys.exit(f"backend: {options.ready_file} is no ready file of the demo world ({error}); see examples/README.md")

    try:
        asyncio.run(serve(world["api"], bot, options.port))
    except KeyboardInterrupt:
        pass
    except OSError as error:
        sys.exit(f"backend: {error}")


if __name__ == "__main__":
    main()
