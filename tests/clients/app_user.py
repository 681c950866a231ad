"""A user of an app, in any library, and every kind of interaction with it."""

import json
from typing import Any

import aiohttp

from tests.clients.scene import ClientScene
from tests.world import Session


class AppUser:
    """A user of the town's app and its responses."""

    def __init__(self, town: ClientScene, session: Session) -> None:
        self.town, self.session = town, session
        self.commands: dict[str, Any] = {}

    async def load_commands(self) -> None:
        """Fetch the available commands."""
        index = f"/channels/{self.town.guild.general}/application-command-index"
        found = (await self.town.bob.get(index)).ok()["application_commands"]
        self.commands = {command["name"]: command for command in found}

    async def interact(self, kind: int, data: dict[str, Any], *, file: bytes | None = None, **body: Any) -> None:
        """Create an interaction, optionally with a file."""
        given = {
            "type": kind,
            "application_id": str(self.town.bot.application_id),
            "guild_id": str(self.town.guild.id),
            "channel_id": str(self.town.guild.general),
            "session_id": self.session.ready["session_id"],
            "nonce": "1",
            "data": data,
            **body,
        }
        if file is None:
            (await self.town.bob.post("/interactions", json=given)).ok()
            return
        form = aiohttp.FormData()
        form.add_field("payload_json", json.dumps(given))
        form.add_field("files[0]", file, filename="proof.txt", content_type="text/plain")
        (await self.town.bob.post("/interactions", data=form)).ok()

    async def run(self, name: str, kind: int = 2, **data: Any) -> None:
        """Run a command, or autocomplete it."""
        command = self.commands[name]
        await self.interact(kind, {"id": command["id"], "name": name, "type": command["type"], **data})

    async def press(self, message: dict[str, Any], custom_id: str, kind: int = 2, **data: Any) -> None:
        """Use a component."""
        await self.interact(3, {"component_type": kind, "custom_id": custom_id, **data}, message_id=message["id"])

    async def next_message(self) -> dict[str, Any]:
        """Return the next message."""
        message: dict[str, Any] = await self.session.next("MESSAGE_CREATE")
        return message

    async def next_update(self) -> dict[str, Any]:
        """Return the next message update."""
        message: dict[str, Any] = await self.session.next("MESSAGE_UPDATE")
        return message


async def create_sku(town: ClientScene) -> str:
    """Create a SKU that the town's app sells."""
    body = {"type": 2, "name": "Crown", "price": 499, "published": True}
    sku = (await town.bot.post(f"/applications/{town.bot.application_id}/skus", json=body)).ok()
    return str(sku["id"])


async def use_every_feature(town: ClientScene, session: Session, sku: str) -> None:
    """Use every feature of an app that offers greet, think, Poke, Shout and panel."""
    bob = AppUser(town, session)
    await bob.load_commands()
    assert {"greet", "think", "Poke", "Shout", "panel"} <= set(bob.commands)

    # Autocomplete an option, then run the command.
    typed = [
        {"type": 6, "name": "member", "value": str(town.alice.id)},
        {"type": 3, "name": "city", "value": "Be", "focused": True},
    ]
    await bob.run("greet", 4, options=typed)
    offered = await session.next("APPLICATION_COMMAND_AUTOCOMPLETE_RESPONSE")
    assert [each["value"] for each in offered["choices"]] == ["berlin", "bern"]
    typed[1] = {"type": 3, "name": "city", "value": "bern"}
    await bob.run("greet", options=typed)
    next_message = await bob.next_message()
    assert (next_message["content"], next_message["type"]) == ("hello alice in bern", 20)
    assert next_message["interaction_metadata"]["user"]["id"] == str(town.bob.id)

    # A deferred ephemeral response, its edit, and a follow-up.
    await bob.run("think")
    assert (await bob.next_message())["flags"] == 64 | 128
    assert (await bob.next_update())["content"] == "thought"
    assert (await bob.next_message())["content"] == "and more"

    # Context menu commands.
    await bob.run("Poke", target_id=str(town.alice.id))
    assert (await bob.next_message())["content"] == "poked alice"
    target = await town.guild.send_message(town.bob, "hello")
    await bob.next_message()
    await bob.run("Shout", target_id=target["id"])
    assert (await bob.next_message())["content"] == "HELLO"

    # A panel: buttons, one of them premium, and two selects.
    await bob.run("panel")
    panel = await bob.next_message()
    buttons = panel["components"][0]["components"]
    assert (buttons[-1]["style"], buttons[-1]["sku_id"]) == (6, sku)
    await bob.press(panel, "count")
    assert (await bob.next_update())["content"] == "pressed"
    await bob.press(panel, "words", 3, values=["b", "a"])
    answer = await bob.next_message()
    assert (set(answer["content"].split(" and ")), answer["flags"]) == ({"a", "b"}, 64)
    await bob.press(panel, "people", 5, values=[str(town.alice.id)])
    assert (await bob.next_message())["content"] == "chose alice"

    # A modal: text inputs and the newer components.
    await bob.press(panel, "form")
    modal = await session.next("INTERACTION_MODAL_CREATE")
    inner = [each["component"]["type"] for each in modal["components"] if each["type"] == 18]
    assert (modal["components"][0]["type"], inner) == (10, [21, 22, 23, 19])
    filled = [
        {"type": 21, "custom_id": "colour", "value": "b"},
        {"type": 22, "custom_id": "sizes", "values": ["s", "l"]},
        {"type": 23, "custom_id": "sure", "value": True},
        {"type": 19, "custom_id": "proof", "values": ["0"]},
    ]
    components = [{"type": 18, "component": each} for each in filled]
    await bob.interact(5, {"id": modal["id"], "custom_id": modal["custom_id"], "components": components}, file=b"I am")
    assert (await bob.next_message())["content"] == "b, s+l, true, proof.txt"
