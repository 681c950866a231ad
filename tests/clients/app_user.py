"""A user who interacts with the app of a client test, whichever library the app uses."""

import json
from typing import Any

import aiohttp

from hubbub.protocol.enums import ButtonStyle, CommandOptionType, ComponentType, InteractionType, MessageType, SkuType
from hubbub.protocol.flags import MessageFlags
from tests.clients.client_setup import ClientSetup
from tests.world import Session


class AppUser:
    """Bob, who creates interactions over HTTP and receives the app's responses in a gateway session."""

    def __init__(self, setup: ClientSetup, session: Session) -> None:
        self.setup, self.session = setup, session
        self.commands: dict[str, Any] = {}

    async def load_commands(self) -> None:
        """Fetch the available commands."""
        path = f"/channels/{self.setup.guild.general}/application-command-index"
        commands = (await self.setup.bob.get(path)).ok()["application_commands"]
        self.commands = {command["name"]: command for command in commands}

    async def interact(
        self, interaction_type: int, data: dict[str, Any], *, file: bytes | None = None, **fields: Any
    ) -> None:
        """Create an interaction in #general, optionally with a file."""
        body = {
            "type": interaction_type,
            "application_id": str(self.setup.bot.application_id),
            "guild_id": str(self.setup.guild.id),
            "channel_id": str(self.setup.guild.general),
            "session_id": self.session.ready["session_id"],
            "nonce": "1",
            "data": data,
            **fields,
        }
        if file is None:
            (await self.setup.bob.post("/interactions", json=body)).ok()
            return
        form = aiohttp.FormData()
        form.add_field("payload_json", json.dumps(body))
        form.add_field("files[0]", file, filename="proof.txt", content_type="text/plain")
        (await self.setup.bob.post("/interactions", data=form)).ok()

    async def run(
        self, name: str, interaction_type: InteractionType = InteractionType.APPLICATION_COMMAND, **data: Any
    ) -> None:
        """Run a command, or request the autocompletion of one of its options."""
        command = self.commands[name]
        await self.interact(interaction_type, {"id": command["id"], "name": name, "type": command["type"], **data})

    async def use_component(
        self,
        message: dict[str, Any],
        custom_id: str,
        component_type: ComponentType = ComponentType.BUTTON,
        **data: Any,
    ) -> None:
        """Click a button of a message, or choose values of a select."""
        component = {"component_type": component_type, "custom_id": custom_id, **data}
        await self.interact(InteractionType.MESSAGE_COMPONENT, component, message_id=message["id"])

    async def submit(self, modal: dict[str, Any], *inputs: dict[str, Any], file: bytes | None = None) -> None:
        """Submit a modal with these labeled components, optionally with a file."""
        labels = [{"type": ComponentType.LABEL, "component": component} for component in inputs]
        modal_data = {"id": modal["id"], "custom_id": modal["custom_id"], "components": labels}
        await self.interact(InteractionType.MODAL_SUBMIT, modal_data, file=file)

    async def next_message(self) -> dict[str, Any]:
        """Wait for the next MESSAGE_CREATE event and return its message."""
        message: dict[str, Any] = await self.session.next("MESSAGE_CREATE")
        return message

    async def next_update(self) -> dict[str, Any]:
        """Wait for the next MESSAGE_UPDATE event and return its message."""
        message: dict[str, Any] = await self.session.next("MESSAGE_UPDATE")
        return message


async def create_sku(setup: ClientSetup) -> str:
    """Create a SKU of the setup's app and return its ID."""
    body = {"type": SkuType.DURABLE, "name": "Crown", "price": 499, "published": True}
    sku = (await setup.bot.post(f"/applications/{setup.bot.application_id}/skus", json=body)).ok()
    return str(sku["id"])


async def use_every_feature(setup: ClientSetup, session: Session, sku_id: str) -> None:
    """Use every feature of an app with the commands greet, think, Poke, Shout and panel.

    `sku_id` is the SKU of the premium button on the panel.
    """
    bob = AppUser(setup, session)
    await bob.load_commands()
    assert {"greet", "think", "Poke", "Shout", "panel"} <= set(bob.commands)

    # Autocomplete an option, then run the command.
    options = [
        {"type": CommandOptionType.USER, "name": "member", "value": str(setup.alice.id)},
        {"type": CommandOptionType.STRING, "name": "city", "value": "Be", "focused": True},
    ]
    await bob.run("greet", InteractionType.APPLICATION_COMMAND_AUTOCOMPLETE, options=options)
    autocompletion = await session.next("APPLICATION_COMMAND_AUTOCOMPLETE_RESPONSE")
    assert [choice["value"] for choice in autocompletion["choices"]] == ["berlin", "bern"]
    options[1] = {"type": CommandOptionType.STRING, "name": "city", "value": "bern"}
    await bob.run("greet", options=options)
    greeting = await bob.next_message()
    assert (greeting["content"], greeting["type"]) == ("hello alice in bern", MessageType.CHAT_INPUT_COMMAND)
    assert greeting["interaction_metadata"]["user"]["id"] == str(setup.bob.id)

    # A deferred ephemeral response, its edit, and a follow-up.
    await bob.run("think")
    assert (await bob.next_message())["flags"] == MessageFlags.EPHEMERAL | MessageFlags.LOADING
    assert (await bob.next_update())["content"] == "thought"
    assert (await bob.next_message())["content"] == "and more"

    # Context menu commands.
    await bob.run("Poke", target_id=str(setup.alice.id))
    assert (await bob.next_message())["content"] == "poked alice"
    target = await setup.guild.send_message(setup.bob, "hello")
    await bob.next_message()
    await bob.run("Shout", target_id=target["id"])
    assert (await bob.next_message())["content"] == "HELLO"

    # A panel: buttons, one of them premium, and two selects.
    await bob.run("panel")
    panel = await bob.next_message()
    buttons = panel["components"][0]["components"]
    assert (buttons[-1]["style"], buttons[-1]["sku_id"]) == (ButtonStyle.PREMIUM, sku_id)
    await bob.use_component(panel, "count")
    assert (await bob.next_update())["content"] == "pressed"
    await bob.use_component(panel, "words", ComponentType.STRING_SELECT, values=["b", "a"])
    response = await bob.next_message()
    assert (set(response["content"].split(" and ")), response["flags"]) == ({"a", "b"}, MessageFlags.EPHEMERAL)
    await bob.use_component(panel, "users", ComponentType.USER_SELECT, values=[str(setup.alice.id)])
    assert (await bob.next_message())["content"] == "chose alice"

    # A modal with a text display and labeled components.
    await bob.use_component(panel, "form")
    modal = await session.next("INTERACTION_MODAL_CREATE")
    text_display, *labels = modal["components"]
    assert text_display["type"] == ComponentType.TEXT_DISPLAY
    assert [label["component"]["type"] for label in labels if label["type"] == ComponentType.LABEL] == [
        ComponentType.RADIO_GROUP,
        ComponentType.CHECKBOX_GROUP,
        ComponentType.CHECKBOX,
        ComponentType.FILE_UPLOAD,
    ]
    inputs = [
        {"type": ComponentType.RADIO_GROUP, "custom_id": "color", "value": "b"},
        {"type": ComponentType.CHECKBOX_GROUP, "custom_id": "sizes", "values": ["s", "l"]},
        {"type": ComponentType.CHECKBOX, "custom_id": "sure", "value": True},
        {"type": ComponentType.FILE_UPLOAD, "custom_id": "proof", "values": ["0"]},
    ]
    await bob.submit(modal, *inputs, file=b"I am")
    assert (await bob.next_message())["content"] == "b, s+l, true, proof.txt"
