"""An app that only has a web server: it verifies signatures with its own code and responds in the HTTP response."""

import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from tests.clients.app_user import create_sku, use_every_feature
from tests.clients.scene import ClientScene

EPHEMERAL = 64
COMMANDS: list[dict[str, Any]] = [
    {
        "name": "greet",
        "description": "greets",
        "options": [
            {"type": 6, "name": "member", "description": "who", "required": True},
            {"type": 3, "name": "city", "description": "where", "autocomplete": True},
        ],
    },
    {"name": "think", "description": "takes time"},
    {"name": "panel", "description": "shows things to press"},
    {"name": "Poke", "type": 2},
    {"name": "Shout", "type": 3},
]


def choices(*values: str) -> list[dict[str, str]]:
    """Return the options of a select."""
    return [{"label": value.upper(), "value": value} for value in values]


def labelled(label: str, component: dict[str, Any]) -> dict[str, Any]:
    """Return a labeled component of a modal."""
    return {"type": 18, "label": label, "component": component}


FORM = {
    "custom_id": "filled",
    "title": "Tell us",
    "components": [
        {"type": 10, "content": "Welcome"},
        labelled("Colour", {"type": 21, "custom_id": "colour", "options": choices("r", "b")}),
        labelled("Sizes", {"type": 22, "custom_id": "sizes", "max_values": 2, "options": choices("s", "m", "l")}),
        labelled("Sure?", {"type": 23, "custom_id": "sure"}),
        labelled("Proof", {"type": 19, "custom_id": "proof"}),
    ],
}


class HttpApp:
    """The app's web server."""

    def __init__(self, api: str, client: aiohttp.ClientSession, sku: str) -> None:
        self.api, self.client, self.sku = api, client, sku
        self.key: Ed25519PublicKey | None = None
        self.refused = 0
        self.problems: list[str] = []

    async def handle(self, request: web.Request) -> web.Response:
        """Verify the signature, then respond."""
        data = await request.read()
        assert self.key is not None
        try:
            signature = bytes.fromhex(request.headers["X-Signature-Ed25519"])
            self.key.verify(signature, request.headers["X-Signature-Timestamp"].encode() + data)
        except InvalidSignature:
            self.refused += 1
            return web.Response(status=401)
        interaction = json.loads(data)
        if interaction["type"] == 1:
            return web.json_response({"type": 1})
        return await self.answer(interaction, interaction.get("data", {}))

    async def answer(self, interaction: dict[str, Any], data: dict[str, Any]) -> web.Response:
        """Return the response to an interaction."""
        name = data.get("name") or data["custom_id"]
        given = {each["name"]: each.get("value") for each in data.get("options", ())}
        resolved = data.get("resolved", {})
        people = [user["username"] for user in resolved.get("users", {}).values()]
        if interaction["type"] == 4:
            known = [city for city in ("Berlin", "Bern", "Paris") if city.startswith(given["city"])]
            return say(8, choices=[{"name": city, "value": city.lower()} for city in known])
        if name == "greet":
            return say(4, content=f"hello {people[0]} in {given['city']}")
        if name == "think":
            # The response goes out by the callback route before the HTTP response.
            await self.post(
                f"/interactions/{interaction['id']}/{interaction['token']}/callback", {"type": 5, "data": {"flags": 64}}
            )
            hook = f"/webhooks/{interaction['application_id']}/{interaction['token']}"
            await self.post(f"{hook}/messages/@original", {"content": "thought"}, "PATCH")
            await self.post(hook, {"content": "and more", "flags": EPHEMERAL})
            return web.Response(status=202)
        if name == "Poke":
            return say(4, content=f"poked {people[0]}")
        if name == "Shout":
            [message] = resolved["messages"].values()
            return say(4, content=message["content"].upper())
        if name == "panel":
            return say(4, content="here", components=self.panel())
        if name == "count":
            return say(7, content="pressed")
        if name == "words":
            return say(4, content=" and ".join(data["values"]), flags=EPHEMERAL)
        if name == "people":
            return say(4, content=f"chose {people[0]}")
        if name == "form":
            return web.json_response({"type": 9, "data": FORM})
        filled = {
            each["component"]["custom_id"]: each["component"] for each in data["components"] if each["type"] == 18
        }
        [file] = resolved["attachments"].values()
        facts = (filled["colour"]["value"], "+".join(filled["sizes"]["values"]), str(filled["sure"]["value"]).lower())
        return say(4, content=", ".join((*facts, file["filename"])))

    def panel(self) -> list[dict[str, Any]]:
        """Return a message with buttons and selects."""
        buttons = [
            {"type": 2, "style": 1, "label": "Count", "custom_id": "count"},
            {"type": 2, "style": 2, "label": "Form", "custom_id": "form"},
            {"type": 2, "style": 6, "sku_id": self.sku},
        ]
        words = {"type": 3, "custom_id": "words", "max_values": 2, "options": choices("a", "b")}
        selects = [words, {"type": 5, "custom_id": "people"}]
        return [{"type": 1, "components": buttons}, *({"type": 1, "components": [each]} for each in selects)]

    async def post(self, path: str, body: dict[str, Any], method: str = "POST") -> None:
        """Send a request to the API."""
        async with self.client.request(method, f"{self.api}{path}", json=body) as response:
            if not response.ok:
                self.problems.append(f"{path}: {await response.text()}")


def say(kind: int, **data: Any) -> web.Response:
    """Return an interaction response."""
    return web.json_response({"type": kind, "data": data})


@pytest.fixture
async def app(town: ClientScene) -> AsyncIterator[HttpApp]:
    """The town's app, which never connects to the gateway."""
    made = HttpApp(town.world.api, town.world.client, await create_sku(town))
    application = web.Application()
    application.router.add_post("/", made.handle)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    about = (await town.bot.get("/applications/@me")).ok()
    made.key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(about["verify_key"]))
    address = f"http://127.0.0.1:{runner.addresses[0][1]}/"
    (await town.bot.patch("/applications/@me", json={"interactions_endpoint_url": address})).ok()
    commands = f"/applications/{town.bot.application_id}/guilds/{town.guild.id}/commands"
    (await town.bot.put(commands, json=COMMANDS)).ok()
    yield made
    await runner.cleanup()


async def test_a_user_uses_every_feature_of_an_app(app: HttpApp, town: ClientScene) -> None:
    await use_every_feature(town, await town.bob.connect(), app.sku)

    # The ping with a forged signature, sent when the URL was saved.
    assert app.refused == 1
    assert app.problems == []
    assert (await town.bot.get(f"/applications/{town.bot.application_id}/interactions/failed")).ok() == []
