"""A receiver of a game's webhook events: webhooks.py READY_FILE [--port 8091].

It registers its own URL with the platform, which tests the URL before saving it, then verifies every signature and
prints the events.
"""

import argparse
import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from aiohttp import web
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from hubbub.protocol.enums import EventWebhooksStatus, WebhookPayloadType
from hubbub.sdk import Api, ApiError

EVENT_TYPES = [
    "APPLICATION_AUTHORIZED",
    "APPLICATION_DEAUTHORIZED",
    *(
        f"{kind}_{change}"
        for kind in ("LOBBY_MESSAGE", "GAME_DIRECT_MESSAGE")
        for change in ("CREATE", "UPDATE", "DELETE")
    ),
]


def has_valid_signature(key: Ed25519PublicKey, request: web.Request, body: bytes) -> bool:
    """Return whether the platform signed the timestamp and the body.

    The platform sends forged requests from time to time and disables a receiver that accepts one."""
    try:
        signature = bytes.fromhex(request.headers["X-Signature-Ed25519"])
        key.verify(signature, request.headers["X-Signature-Timestamp"].encode() + body)
    except (KeyError, ValueError, InvalidSignature):
        return False
    return True


def describe_event(event: dict[str, Any]) -> str:
    """Return a line of text about an event."""
    event_data = event.get("data") or {}
    user = event_data.get("author") or event_data.get("user") or {}
    name = user.get("global_name") or user.get("username", "")
    text = f"{name}: {event_data['content']}" if "content" in event_data else name or f"message {event_data.get('id')}"
    location = f" in lobby {event_data['lobby_id']}" if "lobby_id" in event_data else ""
    return f"{event['type']}{location} {text}".rstrip()


async def serve(world: dict[str, Any], port: int) -> None:
    """Register the URL and receive events."""
    game = world["applications"]["demo-game"]
    key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(game["public_key"]))
    printed_events: set[str] = set()

    async def receive(request: web.Request) -> web.Response:
        body = await request.read()
        if not has_valid_signature(key, request, body):
            return web.Response(status=401)
        message = json.loads(body)
        # An event that was not acknowledged in time is sent again, so it may arrive twice.
        if message["type"] == WebhookPayloadType.EVENT:
            line = describe_event(message["event"])
            event_key = line + message["event"]["timestamp"]
            if event_key not in printed_events:
                printed_events.add(event_key)
                print(line, flush=True)
        return web.Response(status=204, content_type="application/json")

    app = web.Application()
    app.router.add_post("/events", receive)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}/events"
    async with Api(world["api"], game["bot"]["token"]) as api:
        body = {
            "event_webhooks_url": url,
            "event_webhooks_status": EventWebhooksStatus.ENABLED,
            "event_webhooks_types": EVENT_TYPES,
        }
        await api.request("PATCH", "/applications/@me", json=body, authorization=api.authorization)
    print(f"Receiving demo-game's events at {url}", flush=True)
    await asyncio.Event().wait()


def main() -> None:
    """Parse the command line and receive events until stopped."""
    parser = argparse.ArgumentParser(description="receiver of a game's webhook events")
    parser.add_argument("ready_file", help="the ready file of `hubbub dev`")
    parser.add_argument("--port", type=int, default=8091)
    options = parser.parse_args()
    try:
        world = json.loads(Path(options.ready_file).read_text())
        world["applications"]["demo-game"]["bot"]["token"]
    except (OSError, ValueError, LookupError, TypeError) as error:
        sys.exit(
            f"webhooks: {options.ready_file} is not a ready file of the demo world ({error}); see examples/README.md"
        )
    try:
        asyncio.run(serve(world, options.port))
    except KeyboardInterrupt:
        pass
    except (ApiError, OSError) as error:
        sys.exit(f"webhooks: {error}")


if __name__ == "__main__":
    main()
