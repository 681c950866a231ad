"""An app that has only a web server: it verifies signatures itself, and responds in the HTTP response or with a callback."""

import json
from typing import Any

import aiohttp
from aiohttp import web
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from hubbub.protocol.enums import (
    ButtonStyle,
    CommandOptionType,
    CommandType,
    ComponentType,
    InteractionCallbackType,
    InteractionType,
)
from hubbub.protocol.flags import MessageFlags

COMMANDS: list[dict[str, Any]] = [
    {
        "name": "greet",
        "description": "greets",
        "options": [
            {"type": CommandOptionType.USER, "name": "member", "description": "who", "required": True},
            {"type": CommandOptionType.STRING, "name": "city", "description": "where", "autocomplete": True},
        ],
    },
    {"name": "think", "description": "takes time"},
    {"name": "panel", "description": "shows buttons and selects"},
    {"name": "Poke", "type": CommandType.USER},
    {"name": "Shout", "type": CommandType.MESSAGE},
]


def option_list(*values: str) -> list[dict[str, str]]:
    """Return the options of a select, radio group or checkbox group."""
    return [{"label": value.upper(), "value": value} for value in values]


def labeled_component(label: str, component: dict[str, Any]) -> dict[str, Any]:
    """Return a label component of a modal with a component in it."""
    return {"type": ComponentType.LABEL, "label": label, "component": component}


MODAL = {
    "custom_id": "filled",
    "title": "Feedback",
    "components": [
        {"type": ComponentType.TEXT_DISPLAY, "content": "Welcome"},
        labeled_component(
            "Color", {"type": ComponentType.RADIO_GROUP, "custom_id": "color", "options": option_list("r", "b")}
        ),
        labeled_component(
            "Sizes",
            {
                "type": ComponentType.CHECKBOX_GROUP,
                "custom_id": "sizes",
                "max_values": 2,
                "options": option_list("s", "m", "l"),
            },
        ),
        labeled_component("Sure?", {"type": ComponentType.CHECKBOX, "custom_id": "sure"}),
        labeled_component("Proof", {"type": ComponentType.FILE_UPLOAD, "custom_id": "proof"}),
    ],
}


class HttpApp:
    """The app's web server."""

    def __init__(self, api_url: str, client: aiohttp.ClientSession, sku_id: str) -> None:
        self.api_url, self.client, self.sku_id = api_url, client, sku_id
        self.verify_key: Ed25519PublicKey | None = None
        self.invalid_signature_count = 0
        self.failed_requests: list[str] = []
        """Path and response of each API request that failed."""

    async def handle(self, request: web.Request) -> web.Response:
        """Handle an interaction: verify its signature, then respond."""
        body = await request.read()
        assert self.verify_key is not None
        try:
            signature = bytes.fromhex(request.headers["X-Signature-Ed25519"])
            self.verify_key.verify(signature, request.headers["X-Signature-Timestamp"].encode() + body)
        except InvalidSignature:
            self.invalid_signature_count += 1
            return web.Response(status=401)
        interaction = json.loads(body)
        if interaction["type"] == InteractionType.PING:
            return web.json_response({"type": InteractionCallbackType.PONG})
        return await self.respond(interaction, interaction.get("data", {}))

    async def respond(self, interaction: dict[str, Any], data: dict[str, Any]) -> web.Response:
        name = data.get("name") or data["custom_id"]
        options = {option["name"]: option.get("value") for option in data.get("options", ())}
        resolved_data = data.get("resolved", {})
        usernames = [user["username"] for user in resolved_data.get("users", {}).values()]
        if interaction["type"] == InteractionType.APPLICATION_COMMAND_AUTOCOMPLETE:
            cities = [city for city in ("Berlin", "Bern", "Paris") if city.startswith(options["city"])]
            return interaction_response(
                InteractionCallbackType.APPLICATION_COMMAND_AUTOCOMPLETE_RESULT,
                choices=[{"name": city, "value": city.lower()} for city in cities],
            )
        if name == "greet":
            return message_response(content=f"hello {usernames[0]} in {options['city']}")
        if name == "think":
            # The app responds through the callback endpoint before it completes the HTTP response.
            await self.send_request(
                f"/interactions/{interaction['id']}/{interaction['token']}/callback",
                {
                    "type": InteractionCallbackType.DEFERRED_CHANNEL_MESSAGE_WITH_SOURCE,
                    "data": {"flags": MessageFlags.EPHEMERAL},
                },
            )
            webhook_path = f"/webhooks/{interaction['application_id']}/{interaction['token']}"
            await self.send_request(f"{webhook_path}/messages/@original", {"content": "thought"}, "PATCH")
            await self.send_request(webhook_path, {"content": "and more", "flags": MessageFlags.EPHEMERAL})
            return web.Response(status=202)
        if name == "Poke":
            return message_response(content=f"poked {usernames[0]}")
        if name == "Shout":
            [message] = resolved_data["messages"].values()
            return message_response(content=message["content"].upper())
        if name == "panel":
            return message_response(content="here", components=self.panel_rows())
        if name == "count":
            return interaction_response(InteractionCallbackType.UPDATE_MESSAGE, content="pressed")
        if name == "words":
            return message_response(content=" and ".join(data["values"]), flags=MessageFlags.EPHEMERAL)
        if name == "users":
            return message_response(content=f"chose {usernames[0]}")
        if name == "form":
            return web.json_response({"type": InteractionCallbackType.MODAL, "data": MODAL})
        inputs = {
            label["component"]["custom_id"]: label["component"]
            for label in data["components"]
            if label["type"] == ComponentType.LABEL
        }
        [file] = resolved_data["attachments"].values()
        values = (inputs["color"]["value"], "+".join(inputs["sizes"]["values"]), str(inputs["sure"]["value"]).lower())
        return message_response(content=", ".join((*values, file["filename"])))

    def panel_rows(self) -> list[dict[str, Any]]:
        """Return the action rows of the panel: buttons and selects."""
        buttons = [
            {"type": ComponentType.BUTTON, "style": ButtonStyle.PRIMARY, "label": "Count", "custom_id": "count"},
            {"type": ComponentType.BUTTON, "style": ButtonStyle.SECONDARY, "label": "Form", "custom_id": "form"},
            {"type": ComponentType.BUTTON, "style": ButtonStyle.PREMIUM, "sku_id": self.sku_id},
        ]
        words = {
            "type": ComponentType.STRING_SELECT,
            "custom_id": "words",
            "max_values": 2,
            "options": option_list("a", "b"),
        }
        selects = [words, {"type": ComponentType.USER_SELECT, "custom_id": "users"}]
        rows = [buttons, *([select] for select in selects)]
        return [{"type": ComponentType.ACTION_ROW, "components": components} for components in rows]

    async def send_request(self, path: str, body: dict[str, Any], method: str = "POST") -> None:
        """Send a request to the API, and record it if it fails."""
        async with self.client.request(method, f"{self.api_url}{path}", json=body) as response:
            if not response.ok:
                self.failed_requests.append(f"{path}: {await response.text()}")


def interaction_response(callback_type: InteractionCallbackType, **data: Any) -> web.Response:
    return web.json_response({"type": callback_type, "data": data})


def message_response(**data: Any) -> web.Response:
    """Return an interaction response with a new message."""
    return interaction_response(InteractionCallbackType.CHANNEL_MESSAGE_WITH_SOURCE, **data)
