"""Tests of interactions: commands, autocomplete, responses, components, modals and their time limits."""

import hashlib
import json
import re
from typing import Any

import aiohttp
import pytest

from hubbub.protocol import changes, errors
from hubbub.protocol.enums import MessageType
from hubbub.protocol.flags import ApplicationFlags, MessageFlags
from hubbub.protocol.intents import Intents
from hubbub.protocol.permissions import Permissions
from hubbub.server.places import activity_instances, members
from hubbub.server.play.interactions import activity_launch, store
from hubbub.server.talk import messages
from hubbub.server.transports.cdn import default_avatar
from tests.world import PRIVILEGED, Actor, ApiResponse, Guild, Session, World

EPHEMERAL = MessageFlags.EPHEMERAL
LOADING = MessageFlags.LOADING
V2 = MessageFlags.IS_COMPONENTS_V2
ANSWERING = (
    Permissions.ATTACH_FILES | Permissions.EMBED_LINKS | Permissions.MENTION_EVERYONE | Permissions.USE_EXTERNAL_EMOJIS
)
BUTTON = {"type": 1, "components": [{"type": 2, "style": 1, "label": "press", "custom_id": "go"}]}


class InteractionSetup:
    """A user and an app in a guild, both connected to the gateway."""

    def __init__(self, world: World, guild: Guild, user: Actor, bot: Actor) -> None:
        self.world, self.guild, self.user, self.bot = world, guild, user, bot
        self.app_session: Session
        self.user_session: Session
        self.channel = guild.general

    @property
    def application_path(self) -> str:
        """The path of the application."""
        return f"/applications/{self.bot.application_id}"

    @property
    def application_id(self) -> int:
        """The application id."""
        assert self.bot.application_id is not None
        return self.bot.application_id

    async def create_command(self, name: str = "greet", **body: Any) -> Any:
        """Create a command for the guild."""
        command = {"name": name, "description": "says hello", **body}
        if command.get("type", 1) != 1:
            del command["description"]
        return (await self.bot.post(f"{self.application_path}/guilds/{self.guild.id}/commands", json=command)).ok()

    async def create_interaction(
        self, kind: int, data: dict[str, Any], *, actor: Actor | None = None, **body: Any
    ) -> ApiResponse:
        """Create an interaction and return the response."""
        interaction = {
            "type": kind,
            "application_id": str(self.bot.application_id),
            "channel_id": str(self.channel),
            "nonce": "n1",
            "data": data,
            **body,
        }
        return await (actor or self.user).post("/interactions", json=interaction)

    async def run_command(self, command: dict[str, Any], kind: int = 2, **data: Any) -> "ReceivedInteraction":
        """Run a command and return the interaction that the app receives."""
        response = await self.create_interaction(kind, {"id": command["id"], "name": command["name"], **data})
        assert response.status == 204, response.body
        return ReceivedInteraction(self, await self.app_session.next("INTERACTION_CREATE"))

    async def use_component(
        self, message_id: str, custom_id: str = "go", kind: int = 2, **data: Any
    ) -> "ReceivedInteraction":
        """Use a component and return the interaction that the app receives."""
        submitted = {"component_type": kind, "custom_id": custom_id, **data}
        response = await self.create_interaction(3, submitted, message_id=message_id)
        assert response.status == 204, response.body
        return ReceivedInteraction(self, await self.app_session.next("INTERACTION_CREATE"))


class ReceivedInteraction:
    """An interaction that the app received."""

    def __init__(self, stage: InteractionSetup, payload: dict[str, Any]) -> None:
        self.stage, self.payload = stage, payload
        self.webhook_path = f"/webhooks/{stage.bot.application_id}/{payload['token']}"

    async def respond(self, kind: int, data: Any = None, query: str = "?with_response=true") -> ApiResponse:
        """Send the initial response."""
        body = {"type": kind} if data is None else {"type": kind, "data": data}
        path = f"/interactions/{self.payload['id']}/{self.payload['token']}/callback{query}"
        return await self.stage.world.request("POST", path, json=body)

    async def respond_with_message(self, **data: Any) -> Any:
        """Send the initial response with a message and return that message."""
        return (await self.respond(4, data)).ok()["resource"]["message"]

    async def webhook_request(self, method: str, path: str = "", **options: Any) -> ApiResponse:
        """Send a request with the interaction's webhook token."""
        return await self.stage.world.request(method, self.webhook_path + path, **options)


@pytest.fixture
async def stage(world: World) -> InteractionSetup:
    user = await world.user("asker")
    guild = await world.guild(None, user)
    bot = await world.bot(guild, name="answerer")
    stage = InteractionSetup(world, guild, user, bot)
    stage.app_session = await bot.connect()
    stage.user_session = await user.connect()
    return stage


# Commands


async def test_an_app_receives_a_command_with_every_field(stage: InteractionSetup) -> None:
    command = await stage.create_command(options=[{"type": 3, "name": "target", "description": "x", "required": True}])
    response = await stage.create_interaction(
        2,
        {"id": command["id"], "name": "greet", "options": [{"type": 3, "name": "target", "value": "world"}]},
        guild_id=str(stage.guild.id),
        session_id=stage.user_session.ready["session_id"],
        nonce="abc",
    )
    assert response.status == 204

    event = await stage.app_session.next("INTERACTION_CREATE")

    assert event["data"] == {
        "id": command["id"],
        "name": "greet",
        "type": 1,
        "guild_id": str(stage.guild.id),
        "options": [{"type": 3, "name": "target", "value": "world"}],
    }
    assert (event["type"], event["version"], event["context"]) == (2, 1, 0)
    assert event["application_id"] == str(stage.bot.application_id)
    assert (event["guild_id"], event["guild"]["id"]) == (str(stage.guild.id), str(stage.guild.id))
    assert (event["guild"]["locale"], event["guild_locale"], event["locale"]) == ("en-US", "en-US", "en-US")
    assert (event["channel_id"], event["channel"]["id"], event["channel"]["type"]) == (
        str(stage.channel),
        str(stage.channel),
        0,
    )
    # A partial channel leaves out its overwrites, which differs from an empty list.
    assert "permission_overwrites" not in event["channel"]
    assert event["member"]["user"]["id"] == str(stage.user.id)
    assert int(event["member"]["permissions"]) & Permissions.USE_APPLICATION_COMMANDS
    assert "user" not in event
    assert event["authorizing_integration_owners"] == {"0": str(stage.guild.id)}
    assert int(event["app_permissions"]) & Permissions.SEND_MESSAGES
    assert (event["entitlements"], event["entitlement_sku_ids"]) == ([], [])
    assert event["attachment_size_limit"] == 10 << 20
    created_event = await stage.user_session.next("INTERACTION_CREATE")
    assert created_event == {"id": event["id"], "nonce": "abc"}


async def test_an_interaction_in_a_guild_is_sent_to_its_shard(world: World) -> None:
    user = await world.user()
    guild = await world.guild(None, user)
    bot = await world.bot(guild)
    stage = InteractionSetup(world, guild, user, bot)
    shard = (guild.id >> 22) % 2
    stage.app_session = await bot.connect(shard=[shard, 2])
    other = await bot.connect(shard=[1 - shard, 2])
    command = await stage.create_command()

    interaction = await stage.run_command(command)

    assert interaction.payload["guild_id"] == str(guild.id)
    await other.wait_processed()
    assert "INTERACTION_CREATE" not in other.unread_names()


async def test_options_of_every_type_are_resolved(stage: InteractionSetup) -> None:
    names_by_type = {3: "text", 4: "whole", 5: "flag", 6: "user", 7: "channel", 8: "role", 9: "any", 10: "real"}
    options = [{"type": option_type, "name": name, "description": "x"} for option_type, name in names_by_type.items()]
    command = await stage.create_command(options=options)
    role_id = await stage.guild.role("red")
    values = {
        "text": "x",
        "whole": 4,
        "flag": True,
        "user": str(stage.user.id),
        "channel": str(stage.channel),
        "role": str(role_id),
        "any": str(role_id),
        "real": 1.5,
    }

    interaction = await stage.run_command(
        command,
        options=[
            {"type": option_type, "name": name, "value": values[name]} for option_type, name in names_by_type.items()
        ],
    )

    data = interaction.payload["data"]
    assert {option["name"]: option["value"] for option in data["options"]} == values
    resolved = data["resolved"]
    assert resolved["users"][str(stage.user.id)]["username"] == "asker"
    member = resolved["members"][str(stage.user.id)]
    assert not {"user", "deaf", "mute"} & set(member)
    assert int(member["permissions"]) & Permissions.VIEW_CHANNEL
    assert resolved["roles"][str(role_id)]["name"] == "red"
    channel = resolved["channels"][str(stage.channel)]
    assert (channel["name"], channel["type"], channel["guild_id"]) == ("general", 0, str(stage.guild.id))
    assert int(channel["permissions"]) & Permissions.VIEW_CHANNEL
    assert int(channel["app_permissions"]) & Permissions.VIEW_CHANNEL


@pytest.mark.parametrize(
    ("options", "given", "path", "code"),
    [
        ([{"type": 3, "required": True}], [], "data.options.a", "BASE_TYPE_REQUIRED"),
        ([{"type": 3}], [{"type": 4, "name": "a", "value": 1}], "data.options.0.type", "BASE_TYPE_CHOICES"),
        ([{"type": 3}], [{"type": 3, "name": "b", "value": "x"}], "data.options.0.name", "BASE_TYPE_CHOICES"),
        ([{"type": 3}], [{"type": 3, "name": "a", "value": 1}], "data.options.0.value", "STRING_TYPE_CONVERT"),
        (
            [{"type": 3, "max_length": 2}],
            [{"type": 3, "name": "a", "value": "xxx"}],
            "data.options.0.value",
            "BASE_TYPE_BAD_LENGTH",
        ),
        (
            [{"type": 3, "choices": [{"name": "b", "value": "b"}]}],
            [{"type": 3, "name": "a", "value": "c"}],
            "data.options.0.value",
            "BASE_TYPE_CHOICES",
        ),
        ([{"type": 4}], [{"type": 4, "name": "a", "value": 1.5}], "data.options.0.value", "NUMBER_TYPE_COERCE"),
        (
            [{"type": 4, "min_value": 5}],
            [{"type": 4, "name": "a", "value": 4}],
            "data.options.0.value",
            "NUMBER_TYPE_MIN",
        ),
        (
            [{"type": 10, "max_value": 5.5}],
            [{"type": 10, "name": "a", "value": 6}],
            "data.options.0.value",
            "NUMBER_TYPE_MAX",
        ),
        ([{"type": 5}], [{"type": 5, "name": "a", "value": "yes"}], "data.options.0.value", "BOOLEAN_TYPE_CONVERT"),
        ([{"type": 6}], [{"type": 6, "name": "a", "value": "1"}], "data.options.0.value", "NUMBER_TYPE_COERCE"),
        ([{"type": 7}], [{"type": 7, "name": "a", "value": "1"}], "data.options.0.value", "NUMBER_TYPE_COERCE"),
        ([{"type": 8}], [{"type": 8, "name": "a", "value": "x"}], "data.options.0.value", "NUMBER_TYPE_COERCE"),
        ([{"type": 11}], [{"type": 11, "name": "a", "value": "0"}], "data.options.0.value", "ATTACHMENT_NOT_FOUND"),
    ],
)
async def test_options_are_validated_against_the_command(
    stage: InteractionSetup, options: list[dict[str, Any]], submitted: list[dict[str, Any]], path: str, code: str
) -> None:
    command = await stage.create_command(options=[{"name": "a", "description": "x", **option} for option in options])

    rejected = await stage.create_interaction(2, {"id": command["id"], "name": "greet", "options": submitted})

    assert rejected.errors(path) == [code]
    await stage.app_session.none_of("INTERACTION_CREATE")


async def test_a_response_names_the_subcommand(stage: InteractionSetup) -> None:
    inner = {"type": 1, "name": "add", "description": "x", "options": [{"type": 4, "name": "n", "description": "x"}]}
    command = await stage.create_command(
        "math", options=[{"type": 2, "name": "sums", "description": "x", "options": [inner]}]
    )
    submitted = [
        {
            "type": 2,
            "name": "sums",
            "options": [{"type": 1, "name": "add", "options": [{"type": 4, "name": "n", "value": 1}]}],
        }
    ]

    interaction = await stage.run_command(command, options=submitted)
    message = await interaction.respond_with_message(content="1")

    assert interaction.payload["data"]["options"] == submitted
    assert message["interaction"]["name"] == "math sums add"
    rejected = await stage.create_interaction(2, {"id": command["id"], "name": "math", "options": []})
    assert rejected.errors("data.options") == ["BASE_TYPE_BAD_LENGTH"]


async def test_a_command_can_have_attachments(stage: InteractionSetup) -> None:
    command = await stage.create_command(
        options=[{"type": 11, "name": "f", "description": "x", "required": True, "file_types": [".TXT", "image"]}]
    )
    body = {
        "type": 2,
        "application_id": str(stage.bot.application_id),
        "channel_id": str(stage.channel),
        "data": {
            "id": command["id"],
            "name": "greet",
            "options": [{"type": 11, "name": "f", "value": "0"}],
            "attachments": [{"id": "0", "filename": "notes.txt"}],
        },
    }

    async def send_file(filename: str) -> ApiResponse:
        form = aiohttp.FormData()
        form.add_field("payload_json", json.dumps(body), content_type="application/json")
        form.add_field("files[0]", b"hello", filename=filename)
        return await stage.user.post("/interactions", data=form)

    assert (await send_file("notes.txt")).status == 204
    event = await stage.app_session.next("INTERACTION_CREATE")
    (attachment,) = event["data"]["resolved"]["attachments"].values()
    assert event["data"]["options"][0]["value"] == attachment["id"]
    assert (attachment["filename"], attachment["ephemeral"]) == ("notes.txt", True)
    async with stage.world.client.get(attachment["url"]) as response:
        assert await response.read() == b"hello"
    body["data"]["attachments"] = []  # type: ignore[index]
    for filename in ("notes.exe", "png", "image", "notes.txt.exe"):
        assert (await send_file(filename)).errors("data.options.0.value") == ["BASE_TYPE_CHOICES"]
    # spec/http.md#1.11: only the file name is checked, ignoring case; the content is not an image.
    assert (await send_file("a.PNG")).status == 204
    assert (await stage.app_session.next("INTERACTION_CREATE"))["type"] == 2


async def test_context_menu_commands_name_their_target(stage: InteractionSetup) -> None:
    user_command = await stage.create_command("Poke", type=2)
    message_command = await stage.create_command("Translate", type=3)
    message = await stage.guild.send_message(stage.user, "hola")

    user_interaction = await stage.run_command(user_command, target_id=str(stage.guild.owner.id))
    message_interaction = await stage.run_command(message_command, target_id=message["id"])

    assert user_interaction.payload["data"]["target_id"] == str(stage.guild.owner.id)
    assert str(stage.guild.owner.id) in user_interaction.payload["data"]["resolved"]["members"]
    assert message_interaction.payload["data"]["resolved"]["messages"][message["id"]]["content"] == "hola"
    user_response = await user_interaction.respond_with_message(content="ow")
    message_response = await message_interaction.respond_with_message(content="hello")
    assert user_response["type"] == message_response["type"] == MessageType.CONTEXT_MENU_COMMAND
    assert user_response["interaction_metadata"]["target_user"]["id"] == str(stage.guild.owner.id)
    assert message_response["interaction_metadata"]["target_message_id"] == message["id"]
    assert message_response["message_reference"]["message_id"] == message["id"]
    (await stage.create_interaction(2, {"id": message_command["id"], "name": "x", "target_id": "1"})).rejected(
        404, 10008
    )
    rejected = await stage.create_interaction(2, {"id": user_command["id"], "name": "x"})
    assert rejected.errors("data.target_id") == ["BASE_TYPE_REQUIRED"]


async def test_a_target_message_must_be_readable_by_the_user(stage: InteractionSetup) -> None:
    message_command = await stage.create_command("Translate", type=3)
    guild, user = stage.guild, stage.user
    text_message = await guild.send_message(guild.owner, "before you came")
    voice_channel = await guild.channel("lounge", type=2)
    voice_message = await guild.send_message(guild.owner, "inside", channel=voice_channel)

    async def run_on_message(channel: int, message: Any) -> ApiResponse:
        stage.channel = channel
        return await stage.create_interaction(2, {"id": message_command["id"], "name": "x", "target_id": message["id"]})

    assert (await run_on_message(guild.general, text_message)).status == 204
    assert (await run_on_message(voice_channel, voice_message)).status == 204
    await guild.overwrite(guild.general, user.id, deny=Permissions.READ_MESSAGE_HISTORY)
    (await run_on_message(guild.general, text_message)).rejected(404, 10008)
    await guild.overwrite(voice_channel, user.id, deny=Permissions.CONNECT)
    # A user who cannot connect has no commands in the channel either.
    (await run_on_message(voice_channel, voice_message)).rejected(403, 50013)
    await guild.overwrite(voice_channel, user.id, deny=Permissions.READ_MESSAGE_HISTORY)
    (await run_on_message(voice_channel, voice_message)).rejected(404, 10008)
    [first, second] = [await stage.app_session.next("INTERACTION_CREATE") for _ in range(2)]
    assert [*first["data"]["resolved"]["messages"], *second["data"]["resolved"]["messages"]] == [
        text_message["id"],
        voice_message["id"],
    ]
    await stage.app_session.none_of("INTERACTION_CREATE")


async def test_an_app_reads_its_target_but_not_the_referenced_message(stage: InteractionSetup) -> None:
    world, guild = stage.world, stage.guild
    await world.write(lambda call: call.tx.run("UPDATE applications SET flags = 0 WHERE id = ?", stage.application_id))
    message_command = await stage.create_command("Translate", type=3)
    secret = await guild.send_message(guild.owner, "secret")
    reference = {"message_id": secret["id"]}
    reply = await guild.send_message(stage.user, "hola", message_reference=reference)

    payload = (await stage.run_command(message_command, target_id=reply["id"])).payload["data"]["resolved"]["messages"][
        reply["id"]
    ]
    assert (payload["content"], payload["referenced_message"]["content"]) == ("hola", "")

    button = {"type": 1, "components": [{"type": 2, "style": 1, "label": "go", "custom_id": "go"}]}
    posted = await guild.send_message(stage.bot, "mine", message_reference=reference, components=[button])
    payload = (await stage.use_component(posted["id"])).payload["message"]
    assert (payload["content"], payload["referenced_message"]["content"]) == ("mine", "")
    assert payload["components"] == posted["components"]


async def test_running_a_command_requires_access_and_permissions(stage: InteractionSetup) -> None:
    world, guild = stage.world, stage.guild
    command = await stage.create_command()
    stranger = await world.user()
    hidden = await guild.channel("hidden")
    await guild.overwrite(hidden, guild.id, deny=Permissions.VIEW_CHANNEL, kind=0)
    elsewhere = await world.guild(None, stage.user)
    data = {"id": command["id"], "name": "greet"}

    (await stage.create_interaction(2, data, actor=stranger)).rejected(403, 50001)
    (await stage.create_interaction(2, data, channel_id=str(hidden))).rejected(403, 50001)
    (await stage.create_interaction(2, data, channel_id="1")).rejected(404, 10003)
    (await stage.create_interaction(2, data, guild_id=str(elsewhere.id))).rejected(404, 10004)
    (await stage.create_interaction(2, data, channel_id=str(elsewhere.general))).rejected(404, 10063)
    (await stage.create_interaction(2, data, application_id="1")).rejected(404, 10002)
    (await stage.create_interaction(2, {"id": "1", "name": "x"})).rejected(404, 10063)
    (await stage.create_interaction(2, data, actor=stage.bot)).rejected(403, 20001)
    outdated = await stage.create_interaction(2, {**data, "version": "1"})
    assert outdated.errors("data") == ["INTERACTION_APPLICATION_COMMAND_INVALID_VERSION"]
    await guild.overwrite(guild.general, guild.id, deny=Permissions.USE_APPLICATION_COMMANDS, kind=0)
    (await stage.create_interaction(2, data)).rejected(403, 50013)
    await guild.overwrite(guild.general, guild.id, kind=0)
    timeout = {"communication_disabled_until": "2026-11-20T00:00:00Z"}
    (await guild.owner.patch(f"/guilds/{guild.id}/members/{stage.user.id}", json=timeout)).ok()
    (await stage.create_interaction(2, data)).rejected(403, 50013)


async def test_command_permissions_are_enforced(stage: InteractionSetup) -> None:
    command = await stage.create_command(default_member_permissions=str(Permissions.BAN_MEMBERS))
    data = {"id": command["id"], "name": "greet"}
    path = f"{stage.application_path}/guilds/{stage.guild.id}/commands/{command['id']}/permissions"

    (await stage.create_interaction(2, data)).rejected(403, 50013)
    allowed = {"permissions": [{"id": str(stage.user.id), "type": 2, "permission": True}]}
    (await stage.guild.owner.put(path, json=allowed)).ok()
    assert (await stage.create_interaction(2, data)).status == 204
    denied = {"permissions": [*allowed["permissions"], {"id": str(stage.channel), "type": 3, "permission": False}]}
    (await stage.guild.owner.put(path, json=denied)).ok()
    (await stage.create_interaction(2, data)).rejected(403, 50013)


async def test_age_restricted_commands_require_an_age_restricted_channel(stage: InteractionSetup) -> None:
    command = await stage.create_command(nsfw=True)
    data = {"id": command["id"], "name": "greet"}

    (await stage.create_interaction(2, data)).rejected(404, 10063)
    (await stage.guild.owner.patch(f"/channels/{stage.channel}", json={"nsfw": True})).ok()
    assert (await stage.create_interaction(2, data)).status == 204


async def test_age_restricted_commands_in_dms_require_a_user_installation(stage: InteractionSetup) -> None:
    created = (
        await stage.bot.post(
            f"{stage.application_path}/commands", json={"name": "hi", "description": "x", "nsfw": True}
        )
    ).ok()
    dm = (await stage.user.post("/users/@me/channels", json={"recipient_id": str(stage.bot.id)})).ok()
    stage.channel = int(dm["id"])

    (await stage.create_interaction(2, {"id": created["id"], "name": "hi"})).rejected(404, 10063)
    assert await available_commands(stage) == {}
    await install_for_user(stage)

    assert (await stage.run_command(created)).payload["context"] == 1
    assert await available_commands(stage) == {"answerer": ["hi"]}


async def test_global_commands_work_in_the_bots_dm(stage: InteractionSetup) -> None:
    created = (await stage.bot.post(f"{stage.application_path}/commands", json={"name": "hi", "description": "x"})).ok()
    dm = (await stage.user.post("/users/@me/channels", json={"recipient_id": str(stage.bot.id)})).ok()
    stage.channel = int(dm["id"])

    interaction = await stage.run_command(created)
    message = await interaction.respond_with_message(content="hello")

    event = interaction.payload
    assert (event["context"], event["user"]["id"]) == (1, str(stage.user.id))
    assert not {"member", "guild_id", "guild"} & set(event)
    assert event["authorizing_integration_owners"] == {"0": "0"}
    assert int(event["app_permissions"]) == ANSWERING
    assert (await stage.user_session.next("MESSAGE_CREATE"))["id"] == message["id"]
    guild_command = (
        await stage.bot.post(
            f"{stage.application_path}/commands", json={"name": "g", "description": "x", "contexts": [0]}
        )
    ).ok()
    (await stage.create_interaction(2, {"id": guild_command["id"], "name": "g"})).rejected(404, 10063)


async def install_for_user(stage: InteractionSetup) -> None:
    """Install the app for the user."""
    path = f"/oauth2/authorize?client_id={stage.application_id}&scope=applications.commands&integration_type=1"
    (await stage.user.post(path, json={"authorize": True})).ok()


async def test_user_installed_apps_work_in_other_guilds(stage: InteractionSetup) -> None:
    created = (await stage.bot.post(f"{stage.application_path}/commands", json={"name": "hi", "description": "x"})).ok()
    other_guild = await stage.world.guild(None, stage.user)
    stage.channel = other_guild.general
    (await stage.create_interaction(2, {"id": created["id"], "name": "hi"})).rejected(404, 10063)
    await install_for_user(stage)

    interaction = await stage.run_command(created)
    message = await interaction.respond_with_message(content="hello @everyone")

    assert interaction.payload["authorizing_integration_owners"] == {"1": str(stage.user.id)}
    assert not int(interaction.payload["app_permissions"]) & ~ANSWERING
    assert not message["flags"] & EPHEMERAL
    assert message["author"]["id"] == str(stage.bot.id)
    for _ in range(5):
        (await interaction.webhook_request("POST", json={"content": "more"})).ok()
    (await interaction.webhook_request("POST", json={"content": "too much"})).rejected(400, 40094)
    await other_guild.overwrite(other_guild.general, other_guild.id, deny=Permissions.USE_EXTERNAL_APPS, kind=0)
    ephemeral = await (await stage.run_command(created)).respond_with_message(content="just you")
    assert ephemeral["flags"] & EPHEMERAL
    await other_guild.overwrite(other_guild.general, other_guild.id, kind=0)
    [grant] = (await stage.user.get("/oauth2/tokens")).ok()
    (await stage.user.delete(f"/oauth2/tokens/{grant['id']}")).ok()
    (await stage.create_interaction(2, {"id": created["id"], "name": "hi"})).rejected(404, 10063)


# Autocomplete


async def test_integers_are_sent_as_integers(stage: InteractionSetup) -> None:
    option = {"type": 4, "name": "n", "description": "x"}
    choice_command = await stage.create_command("plain", options=[{**option, "choices": [{"name": "two", "value": 2}]}])
    autocomplete_command = await stage.create_command("typed", options=[{**option, "autocomplete": True}])

    interaction = await stage.run_command(choice_command, options=[{"type": 4, "name": "n", "value": 2.0}])
    assert repr(interaction.payload["data"]["options"][0]["value"]) == "2"
    interaction = await stage.run_command(
        autocomplete_command, 4, options=[{"type": 4, "name": "n", "value": "2", "focused": True}]
    )
    rejected = await interaction.respond(8, {"choices": [{"name": "x", "value": 2.5}]})
    assert rejected.errors("data.choices.0.value") == ["NUMBER_TYPE_COERCE"]
    (await interaction.respond(8, {"choices": [{"name": "x", "value": 2.0}]})).ok()
    event = await stage.user_session.next("APPLICATION_COMMAND_AUTOCOMPLETE_RESPONSE")
    assert repr(event["choices"][0]["value"]) == "2"


async def test_autocomplete_returns_choices(stage: InteractionSetup) -> None:
    options = [
        {"type": 3, "name": "city", "description": "x", "autocomplete": True, "required": True},
        {"type": 4, "name": "n", "description": "x", "autocomplete": True},
    ]
    command = await stage.create_command(options=options)
    submitted = [{"type": 3, "name": "city", "value": "Be", "focused": True}, {"type": 4, "name": "n", "value": "4x"}]

    interaction = await stage.run_command(command, 4, options=submitted)

    assert (interaction.payload["type"], interaction.payload["data"]["options"]) == (4, submitted)
    choices = [{"name": "Berlin", "value": "berlin"}, {"name": "Bern", "value": "bern"}]
    rejected = await interaction.respond(8, {"choices": [{"name": "x", "value": 1}]})
    assert rejected.errors("data.choices.0.value") == ["STRING_TYPE_CONVERT"]
    too_many = await interaction.respond(8, {"choices": choices * 13})
    assert too_many.errors("data.choices") == ["BASE_TYPE_BAD_LENGTH"]
    assert (await interaction.respond(4, {"content": "x"})).errors("type") == ["BASE_TYPE_CHOICES"]
    response = (await interaction.respond(8, {"choices": choices})).ok()
    assert response["interaction"]["type"] == 4
    assert "resource" not in response
    event = await stage.user_session.next("APPLICATION_COMMAND_AUTOCOMPLETE_RESPONSE")
    assert event == {"id": interaction.payload["id"], "nonce": "n1", "choices": choices}
    data = {"id": command["id"], "name": "greet", "options": [{"type": 3, "name": "city", "value": "x"}]}
    assert (await stage.create_interaction(4, data)).errors("data.options") == ["BASE_TYPE_REQUIRED"]


# Responses


async def test_a_command_is_answered_with_a_message(stage: InteractionSetup) -> None:
    interaction = await stage.run_command(await stage.create_command())

    response = (await interaction.respond(4, {"content": f"hi <@{stage.user.id}> @everyone"})).ok()

    message = response["resource"]["message"]
    assert response["resource"]["type"] == 4
    assert response["interaction"] == {
        "id": interaction.payload["id"],
        "type": 2,
        "response_message_id": message["id"],
        "response_message_loading": False,
        "response_message_ephemeral": False,
        "channel_id": str(stage.channel),
        "guild_id": str(stage.guild.id),
    }
    application_id = str(stage.bot.application_id)
    assert (message["webhook_id"], message["application_id"]) == (application_id, application_id)
    assert (message["author"]["id"], message["author"]["username"]) == (str(stage.bot.id), "answerer")
    assert message["author"]["discriminator"] != "0000"
    assert (message["type"], message["mention_everyone"]) == (20, False)
    assert [mention["id"] for mention in message["mentions"]] == [str(stage.user.id)]
    metadata = message["interaction_metadata"]
    assert (metadata["id"], metadata["type"], metadata["user"]["id"]) == (
        interaction.payload["id"],
        2,
        str(stage.user.id),
    )
    assert metadata["authorizing_integration_owners"] == {"0": str(stage.guild.id)}
    assert (message["interaction"]["name"], message["interaction"]["user"]["id"]) == ("greet", str(stage.user.id))
    event = await stage.user_session.next("MESSAGE_CREATE")
    assert (event["id"], event["guild_id"]) == (message["id"], str(stage.guild.id))
    assert event["interaction"]["member"]["joined_at"]
    assert (await stage.user_session.next("INTERACTION_SUCCESS")) == {"id": interaction.payload["id"], "nonce": "n1"}
    stored_message = (await stage.user.get(f"/channels/{stage.channel}/messages/{message['id']}")).ok()
    assert stored_message["interaction_metadata"] == metadata
    assert stored_message["author"]["username"] == "answerer"


async def test_the_callback_body_is_empty_without_with_response(stage: InteractionSetup) -> None:
    interaction = await stage.run_command(await stage.create_command())

    response = await interaction.respond(4, {"content": "hi"}, query="")

    assert (response.status, response.body) == (204, b"")
    assert "X-RateLimit-Bucket" not in response.headers


async def test_an_interaction_is_answered_once_within_three_seconds(stage: InteractionSetup) -> None:
    command = await stage.create_command()
    interaction = await stage.run_command(command)
    (await interaction.webhook_request("GET", "/messages/@original")).rejected(404, 10015)
    stage.world.clock.advance(3_000)
    await interaction.respond_with_message(content="in time")
    (await interaction.respond(4, {"content": "again"})).rejected(400, 40060)
    late = await stage.run_command(command)
    stage.world.clock.advance(3_001)
    (await late.respond(4, {"content": "late"})).rejected(404, 10062)
    stage.world.clock.advance(250)
    failed = await stage.user_session.next("INTERACTION_FAILURE")
    assert failed == {"id": late.payload["id"], "nonce": "n1", "reason_code": 2}
    (await late.respond(4, {"content": "late"})).rejected(404, 10062)
    (await late.webhook_request("POST", json={"content": "x"})).rejected(404, 10015)
    path = f"/interactions/{late.payload['id']}/wrong/callback"
    (await stage.world.request("POST", path, json={"type": 5})).rejected(404, 10062)
    path = f"/interactions/1/{late.payload['token']}/callback"
    (await stage.world.request("POST", path, json={"type": 5})).rejected(404, 10062)
    await stage.user_session.settle()
    assert sum(frame["t"] == "INTERACTION_FAILURE" for frame in stage.user_session.dispatches) == 1


@pytest.mark.parametrize("kind", [1, 6, 7, 8, 12])
async def test_a_command_rejects_other_response_types(stage: InteractionSetup, kind: int) -> None:
    interaction = await stage.run_command(await stage.create_command())
    data: dict[str, Any] = {"choices": []} if kind == 8 else {}

    assert (await interaction.respond(kind, data)).errors("type") == ["BASE_TYPE_CHOICES"]
    assert (await interaction.respond(2)).errors("type") == ["UNION_TYPE_CHOICES"]
    await interaction.respond_with_message(content="still there")


async def test_a_rejected_response_can_be_sent_again(stage: InteractionSetup) -> None:
    interaction = await stage.run_command(await stage.create_command())

    (await interaction.respond(4, {"content": ""})).rejected(400, 50006)
    (await interaction.respond(4)).rejected(400, 50006)
    row = {"type": 1, "components": [{"type": 2, "style": 1, "label": "x"}]}
    rejected = await interaction.respond(4, {"content": "x", "components": [row]})
    assert rejected.errors("data.components.0.components.0.custom_id") == ["BUTTON_COMPONENT_CUSTOM_ID_REQUIRED"]
    rejected = await interaction.respond(
        4, {"embeds": [{"url": "x"}], "attachments": [{"id": "0", "filename": "a.txt"}]}
    )
    assert rejected.errors("data.embeds.0.description") == ["BASE_TYPE_REQUIRED"]
    assert rejected.errors("data.attachments.0.id") == ["ATTACHMENT_NOT_FOUND"]
    await interaction.respond_with_message(content="now")
    rejected = await interaction.webhook_request("POST", json={"content": "x", "components": [row]})
    assert rejected.errors("components.0.components.0.custom_id") == ["BUTTON_COMPONENT_CUSTOM_ID_REQUIRED"]


async def test_an_ephemeral_response_is_visible_to_user_and_app_only(stage: InteractionSetup) -> None:
    owner_session = await stage.guild.owner.connect()
    session_without_content = await stage.bot.connect(Intents.GUILDS | Intents.GUILD_MESSAGES)
    interaction = await stage.run_command(await stage.create_command())

    response = (await interaction.respond(4, {"content": "psst", "flags": EPHEMERAL})).ok()

    message = response["resource"]["message"]
    assert response["interaction"]["response_message_ephemeral"] is True
    assert message["flags"] & EPHEMERAL
    for session in (stage.user_session, stage.app_session):
        event = await session.next("MESSAGE_CREATE")
        assert event["content"] == "psst"
        assert not {"guild_id", "member"} & set(event)
    await owner_session.none_of("MESSAGE_CREATE")
    await session_without_content.none_of("MESSAGE_CREATE")
    for reader in (stage.user, stage.bot, stage.guild.owner):
        (await reader.get(f"/channels/{stage.channel}/messages/{message['id']}")).rejected(404, 10008)
    assert (await stage.user.get(f"/channels/{stage.channel}/messages")).ok() == []
    channel = (await stage.user.get(f"/channels/{stage.channel}")).ok()
    assert channel["last_message_id"] != message["id"]
    assert (await interaction.webhook_request("GET", "/messages/@original")).ok()["content"] == "psst"
    edited = (await interaction.webhook_request("PATCH", "/messages/@original", json={"content": "louder"})).ok()
    assert (edited["content"], bool(edited["flags"] & EPHEMERAL)) == ("louder", True)
    assert (await stage.user_session.next("MESSAGE_UPDATE"))["content"] == "louder"
    assert (await interaction.webhook_request("DELETE", "/messages/@original")).status == 204
    deleted = await stage.user_session.next("MESSAGE_DELETE")
    assert deleted == {"id": message["id"], "channel_id": str(stage.channel)}
    await owner_session.none_of("MESSAGE_UPDATE", "MESSAGE_DELETE")
    (await interaction.webhook_request("GET", "/messages/@original")).rejected(404, 10008)


async def test_files_of_ephemeral_responses_are_marked_ephemeral(stage: InteractionSetup) -> None:
    interaction = await stage.run_command(await stage.create_command())
    form = aiohttp.FormData()
    form.add_field("payload_json", json.dumps({"type": 4, "data": {"flags": EPHEMERAL}}))
    form.add_field("files[0]", b"secret", filename="note.txt")
    path = f"/interactions/{interaction.payload['id']}/{interaction.payload['token']}/callback?with_response=true"

    message = (await stage.world.request("POST", path, data=form)).ok()["resource"]["message"]

    (attachment,) = message["attachments"]
    assert attachment["ephemeral"] is True
    assert "/ephemeral-attachments/" in attachment["url"]
    async with stage.world.client.get(attachment["url"]) as response:
        assert await response.read() == b"secret"


@pytest.mark.parametrize("v2", [False, True])
async def test_embeds_and_components_of_ephemeral_responses_use_ephemeral_urls(
    stage: InteractionSetup, v2: bool
) -> None:
    url = {"url": "attachment://a.png"}
    embed = {
        "title": "x",
        "image": url,
        "thumbnail": url,
        "author": {"name": "x", "icon_url": url["url"]},
        "footer": {"text": "x", "icon_url": url["url"]},
    }
    text = {"type": 10, "content": "x"}
    components = [
        {"type": 12, "items": [{"media": url}]},
        {"type": 13, "file": url},
        {"type": 9, "components": [text], "accessory": {"type": 11, "media": url}},
    ]
    data = {"components": components, "flags": EPHEMERAL | V2} if v2 else {"embeds": [embed], "flags": EPHEMERAL}
    interaction = await stage.run_command(await stage.create_command())
    form = aiohttp.FormData()
    form.add_field("payload_json", json.dumps({"type": 4, "data": data}))
    form.add_field("files[0]", default_avatar(0), filename="a.png", content_type="image/png")
    path = f"/interactions/{interaction.payload['id']}/{interaction.payload['token']}/callback?with_response=true"

    message = (await stage.world.request("POST", path, data=form)).ok()["resource"]["message"]

    urls = set(re.findall(r'"(http[^"]*a\.png[^"]*)"', json.dumps([message["embeds"], message["components"]])))
    assert urls
    for file_url in urls:
        assert "/ephemeral-attachments/" in file_url
        async with stage.world.client.get(file_url) as response:
            assert (response.status, (await response.read())[:4]) == (200, b"\x89PNG")


async def test_ephemeral_polls_are_rejected(stage: InteractionSetup) -> None:
    interaction = await stage.run_command(await stage.create_command())
    poll = {"question": {"text": "?"}, "answers": [{"poll_media": {"text": "yes"}}]}

    (await interaction.respond(4, {"poll": poll, "flags": EPHEMERAL})).rejected(400, 520002)
    assert (await interaction.respond_with_message(poll=poll))["poll"]["question"]["text"] == "?"


async def test_old_interactions_and_ephemeral_messages_are_deleted(
    stage: InteractionSetup, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Sweep on every interaction instead of on a fraction of them.
    monkeypatch.setattr(store, "SWEEP_INTERVAL", 1)
    command = await stage.create_command()
    for _ in range(3):
        await (await stage.run_command(command)).respond_with_message(content="x", flags=EPHEMERAL)
    stage.world.clock.advance(messages.EPHEMERAL_LIFETIME_MS + 1)
    for _ in range(2):
        await (await stage.run_command(command)).respond_with_message(content="x", flags=EPHEMERAL)

    ephemeral_count = await stage.world.write(lambda call: call.tx.value("SELECT COUNT(*) FROM ephemeral_messages"))
    interaction_count = await stage.world.write(lambda call: call.tx.value("SELECT COUNT(*) FROM interactions"))

    assert ephemeral_count == 2
    assert interaction_count == 2


async def test_a_deferred_response_is_edited_later(stage: InteractionSetup) -> None:
    interaction = await stage.run_command(await stage.create_command())

    response = (await interaction.respond(5)).ok()

    message_id = response["interaction"]["response_message_id"]
    assert response["interaction"]["response_message_loading"] is True
    assert "resource" not in response
    event = await stage.user_session.next("MESSAGE_CREATE")
    assert (event["id"], event["flags"], event["content"]) == (message_id, LOADING, "")
    stage.world.clock.advance(14 * 60_000)
    row = {"type": 10, "content": "done"}
    completed = (
        await interaction.webhook_request("PATCH", "/messages/@original", json={"flags": V2, "components": [row]})
    ).ok()
    assert (completed["id"], completed["flags"], completed["edited_timestamp"]) == (message_id, V2, None)
    assert (await stage.user_session.next("MESSAGE_UPDATE"))["components"][0]["content"] == "done"
    edited_again = (
        await interaction.webhook_request(
            "PATCH", "/messages/@original", json={"components": [{**row, "content": "2"}]}
        )
    ).ok()
    assert edited_again["edited_timestamp"] is not None


async def test_a_deferred_response_can_become_a_poll(stage: InteractionSetup) -> None:
    interaction = await stage.run_command(await stage.create_command())
    await interaction.respond(5)
    poll = {"question": {"text": "?"}, "answers": [{"poll_media": {"text": "yes"}}], "duration": 1}

    completed = (await interaction.webhook_request("PATCH", "/messages/@original", json={"poll": poll})).ok()

    assert completed["poll"]["question"]["text"] == "?"
    (await interaction.webhook_request("PATCH", "/messages/@original", json={"content": "x"})).rejected(400, 520003)
    stage.world.clock.advance(3_600_001)
    ended = await stage.user_session.next(
        "MESSAGE_UPDATE", lambda event: event.get("poll", {}).get("results", {})["is_finalized"]
    )
    assert ended["id"] == completed["id"]


async def test_the_first_followup_fills_a_deferred_response(stage: InteractionSetup) -> None:
    interaction = await stage.run_command(await stage.create_command())
    await interaction.respond(5, {"flags": EPHEMERAL})

    completed = (
        await interaction.webhook_request("POST", json={"content": "here", "flags": MessageFlags.IS_VOICE_MESSAGE})
    ).ok()
    followup = (await interaction.webhook_request("POST", json={"content": "and more"})).ok()

    assert completed["flags"] == EPHEMERAL
    assert completed["type"] == 20
    assert followup["flags"] == 0
    assert followup["interaction_metadata"]["original_response_message_id"] == completed["id"]


async def test_followups_are_created_edited_and_deleted(stage: InteractionSetup) -> None:
    interaction = await stage.run_command(await stage.create_command())
    first = await interaction.respond_with_message(content="one")

    public_followup = (await interaction.webhook_request("POST", json={"content": "two", "username": "ignored"})).ok()
    ephemeral_followup = (await interaction.webhook_request("POST", json={"content": "three", "flags": EPHEMERAL})).ok()

    assert public_followup["author"]["username"] == "answerer"
    assert public_followup["interaction_metadata"]["original_response_message_id"] == first["id"]
    assert "interaction" not in public_followup
    assert (public_followup["type"], public_followup["message_reference"]["message_id"]) == (19, first["id"])
    assert ephemeral_followup["flags"] == EPHEMERAL
    voice_followup = (
        await interaction.webhook_request("POST", json={"content": "no voice", "flags": 1 << 13 | 1 << 12})
    ).ok()
    assert voice_followup["flags"] == MessageFlags.SUPPRESS_NOTIFICATIONS
    for message in (public_followup, ephemeral_followup):
        path = f"/messages/{message['id']}"
        assert (await interaction.webhook_request("GET", path)).ok()["content"] == message["content"]
        assert (await interaction.webhook_request("PATCH", path, json={"content": "new"})).ok()["content"] == "new"
        assert (await interaction.webhook_request("DELETE", path)).status == 204
        (await interaction.webhook_request("GET", path)).rejected(404, 10008)
    other = await (await stage.run_command(await stage.create_command("other"))).respond_with_message(
        content="not yours"
    )
    (await interaction.webhook_request("GET", f"/messages/{other['id']}")).rejected(404, 10008)
    poll = {"question": {"text": "?"}, "answers": []}
    rejected = await interaction.webhook_request("PATCH", "/messages/@original", json={"poll": poll})
    assert rejected.errors("poll.answers") == ["BASE_TYPE_BAD_LENGTH"]
    stage.world.clock.advance(15 * 60_000 + 1)
    (await interaction.webhook_request("GET", "/messages/@original")).rejected(404, 10015)
    (await interaction.webhook_request("POST", json={"content": "late"})).rejected(404, 10015)


async def test_premium_required_responses_are_still_accepted(stage: InteractionSetup) -> None:
    interaction = await stage.run_command(await stage.create_command())
    assert (await interaction.respond(10)).errors("type") == ["BASE_TYPE_CHOICES"]
    (await stage.bot.post(f"{stage.application_path}/skus", json={"type": 5, "name": "Gold", "flags": 1 << 8})).ok()

    response = (await interaction.respond(10)).ok()

    assert response["interaction"]["response_message_ephemeral"] is True
    assert (await stage.user_session.next("MESSAGE_CREATE"))["type"] == 26


@pytest.fixture
async def playing(world: World) -> InteractionSetup:
    """A stage whose app has an activity."""
    user = await world.user()
    guild = await world.guild(None, user)
    bot = await world.bot(guild, name="game", flags=PRIVILEGED | ApplicationFlags.EMBEDDED)
    stage = InteractionSetup(world, guild, user, bot)
    stage.app_session, stage.user_session = await bot.connect(), await user.connect()
    return stage


async def list_participants(stage: InteractionSetup, instance_id: str) -> list[str]:
    """Return the user ids of an instance's participants, as the bot reads them."""
    instance_view = (await stage.bot.get(f"{stage.application_path}/activity-instances/{instance_id}")).ok()
    user_ids: list[str] = instance_view["users"]
    return user_ids


async def test_an_app_responds_by_launching_its_activity(setup: InteractionSetup) -> None:
    first = (await (await setup.run_command(await setup.create_command())).respond(12)).ok()
    other = await setup.world.user()
    await setup.world.write(lambda call: members.add(call, setup.guild.id, other.id), actor=setup.guild.owner.id)
    (await setup.create_interaction(2, {"id": (await setup.create_command())["id"], "name": "greet"}, actor=other)).ok()
    interaction = ReceivedInteraction(setup, await setup.app_session.next("INTERACTION_CREATE"))
    second = (await interaction.respond(12)).ok()

    instance_id = first["interaction"]["activity_instance_id"]
    assert first["resource"] == {"type": 12, "activity_instance": {"id": instance_id}}
    assert second["interaction"]["activity_instance_id"] == instance_id
    assert await list_participants(setup, instance_id) == [str(setup.user.id), str(other.id)]
    event = await setup.user_session.next("EMBEDDED_ACTIVITY_UPDATE_V2")
    assert event["application_id"] == str(setup.application_id)
    await setup.user_session.next("INTERACTION_SUCCESS")


async def test_an_activity_ends_with_the_session_that_launched_it(setup: InteractionSetup) -> None:
    command = await setup.create_command()
    session_id = setup.user_session.ready["session_id"]
    (await setup.create_interaction(2, {"id": command["id"], "name": "greet"}, session_id=session_id)).ok()
    interaction = ReceivedInteraction(setup, await setup.app_session.next("INTERACTION_CREATE"))
    instance_id = (await interaction.respond(12)).ok()["interaction"]["activity_instance_id"]

    await setup.user_session.close()
    await setup.app_session.next("EMBEDDED_ACTIVITY_UPDATE_V2", lambda event: not event["participants"])

    (await setup.bot.get(f"{setup.application_path}/activity-instances/{instance_id}")).rejected(404, 0)


async def test_an_app_cannot_launch_an_activity_without_the_users_permission(setup: InteractionSetup) -> None:
    interaction = await setup.run_command(await setup.create_command())
    await setup.guild.overwrite(setup.channel, setup.guild.id, deny=Permissions.USE_EMBEDDED_ACTIVITIES, kind=0)

    (await interaction.respond(12)).rejected(403, 50013)

    assert (await interaction.respond_with_message(content="then not"))["content"] == "then not"


async def test_the_platform_launches_the_activity_of_an_entry_point(setup: InteractionSetup) -> None:
    entry = {"name": "launch", "type": 4, "handler": 2}
    created = (await setup.bot.post(f"{setup.application_path}/commands", json=entry)).ok()

    assert (await setup.create_interaction(2, {"id": created["id"], "name": "launch"})).status == 204

    await setup.user_session.next("EMBEDDED_ACTIVITY_UPDATE_V2")
    message = await setup.user_session.next("MESSAGE_CREATE")
    assert (message["content"], message["author"]["id"]) == (
        f"<@{setup.user.id}> launched game",
        str(setup.bot.id),
    )
    assert message["interaction_metadata"]["user"]["id"] == str(setup.user.id)
    assert message["mentions"] == []
    await setup.user_session.next("INTERACTION_SUCCESS")
    await setup.app_session.none_of("INTERACTION_CREATE")


async def test_a_failed_launch_without_permission_is_reported(setup: InteractionSetup) -> None:
    created = (
        await setup.bot.post(f"{setup.application_path}/commands", json={"name": "launch", "type": 4, "handler": 2})
    ).ok()
    await setup.guild.overwrite(setup.channel, setup.guild.id, deny=Permissions.USE_EMBEDDED_ACTIVITIES, kind=0)

    assert (await setup.create_interaction(2, {"id": created["id"], "name": "launch"})).status == 204

    assert (await setup.user_session.next("INTERACTION_FAILURE"))["reason_code"] == 13
    await setup.user_session.none_of("MESSAGE_CREATE", "EMBEDDED_ACTIVITY_UPDATE_V2", "INTERACTION_SUCCESS")


@pytest.mark.parametrize(("kind", "reason"), [("afk", 9), ("not-embedded", 14), ("full", 17)])
async def test_a_failed_launch_has_a_specific_reason_code(setup: InteractionSetup, problem: str, reason: int) -> None:
    created = (
        await setup.bot.post(f"{setup.application_path}/commands", json={"name": "launch", "type": 4, "handler": 2})
    ).ok()
    channel = setup.channel
    if problem == "afk":
        channel = await setup.guild.channel("away", type=2)
        body = {"afk_channel_id": str(channel)}
        (await setup.guild.owner.patch(f"/guilds/{setup.guild.id}", json=body)).ok()
    elif problem == "not-embedded":
        await setup.world.write(
            lambda call: call.tx.run("UPDATE applications SET flags = 0 WHERE id = ?", setup.application_id)
        )
    else:
        (await setup.bot.patch("/applications/@me", json={"max_participants": 1})).ok()
        launch_arguments = (setup.application_id, setup.guild.owner.id, setup.channel, setup.guild.id)
        await setup.world.write(lambda call: activity_instances.launch(call, *launch_arguments))

    data = {"id": created["id"], "name": "launch"}
    assert (await setup.create_interaction(2, data, channel_id=str(channel))).status == 204

    assert (await setup.user_session.next("INTERACTION_FAILURE"))["reason_code"] == reason


def test_every_launch_error_has_a_reason_code() -> None:
    reasons = (
        (errors.UNKNOWN_APPLICATION, 3),
        (errors.UNKNOWN_CHANNEL, 4),
        (errors.WRONG_CHANNEL_TYPE, 8),
        (errors.MISSING_ACCESS, 18),
        (errors.INVALID_ACTIVITY_ACTION, 17),
    )
    for error, reason_code in reasons:
        assert activity_launch.failure_reason(error()) == reason_code


# Components


async def send_components(stage: InteractionSetup, *components: dict[str, Any], **body: Any) -> Any:
    """Send a message of the bot with components."""
    return await stage.guild.send_message(stage.bot, "choose", components=list(components), **body)


async def test_pressing_a_button_can_update_its_message(stage: InteractionSetup) -> None:
    message = await send_components(stage, BUTTON)

    interaction = await stage.use_component(message["id"])

    assert interaction.payload["data"] == {"id": 2, "custom_id": "go", "component_type": 2}
    assert (interaction.payload["type"], interaction.payload["message"]["id"]) == (3, message["id"])
    rejected = await interaction.respond(7, {"components": [{"type": 1, "components": []}], "embeds": [{}]})
    assert rejected.errors("data.components.0.components") == ["BASE_TYPE_BAD_LENGTH"]
    assert rejected.errors("data.embeds.0.description") == ["BASE_TYPE_REQUIRED"]

    response = (await interaction.respond(7, {"content": "pressed", "components": []})).ok()
    assert response["resource"]["message"]["id"] == message["id"]
    event = await stage.user_session.next("MESSAGE_UPDATE")
    assert (event["content"], event["components"]) == ("pressed", [])
    assert (await interaction.webhook_request("GET", "/messages/@original")).ok()["id"] == message["id"]
    rejected = await stage.create_interaction(3, {"component_type": 2, "custom_id": "go"}, message_id=message["id"])
    assert rejected.errors("data.custom_id") == ["COMPONENT_TYPE_INVALID"]


async def test_a_response_to_a_component_replies_to_its_message(stage: InteractionSetup) -> None:
    message = await send_components(stage, BUTTON)

    reply = await (await stage.use_component(message["id"])).respond_with_message(content="ok")
    interaction = await stage.use_component(message["id"])
    assert (await interaction.respond(6)).ok()["interaction"]["type"] == 3
    followup = (await interaction.webhook_request("POST", json={"content": "later"})).ok()

    assert (reply["type"], reply["message_reference"]["message_id"]) == (19, message["id"])
    assert reply["referenced_message"]["id"] == message["id"]
    assert reply["interaction_metadata"]["interacted_message_id"] == message["id"]
    assert "interaction" not in reply
    assert followup["message_reference"]["message_id"] == message["id"]
    changed = (await interaction.webhook_request("PATCH", "/messages/@original", json={"content": "after"})).ok()
    assert changed["id"] == message["id"]


async def test_only_enabled_components_can_be_used(stage: InteractionSetup) -> None:
    disabled_row = {
        "type": 1,
        "components": [{"type": 2, "style": 1, "label": "x", "custom_id": "off", "disabled": True}],
    }
    message = await send_components(stage, disabled_row)
    other_message = await stage.guild.send_message(stage.user, "no app")
    data = {"component_type": 2, "custom_id": "off"}

    assert (await stage.create_interaction(3, data, message_id=message["id"])).errors("data.custom_id") == [
        "COMPONENT_TYPE_INVALID"
    ]
    (await stage.create_interaction(3, data, message_id=other_message["id"])).rejected(404, 10008)
    (await stage.create_interaction(3, data, message_id="1")).rejected(404, 10008)
    rejected = await stage.create_interaction(3, {"component_type": 3, "custom_id": "off"}, message_id=message["id"])
    assert rejected.errors("data.custom_id") == ["COMPONENT_TYPE_INVALID"]


async def test_selects_contain_the_chosen_values(stage: InteractionSetup) -> None:
    options = [{"label": letter, "value": letter} for letter in "abc"]
    strings_select = {"type": 1, "components": [{"type": 3, "custom_id": "w", "options": options, "max_values": 2}]}
    users_select = {"type": 1, "components": [{"type": 5, "custom_id": "p"}]}
    channels_select = {"type": 1, "components": [{"type": 8, "custom_id": "c", "channel_types": [0]}]}
    mentionables_select = {"type": 1, "components": [{"type": 7, "custom_id": "m"}]}
    message = await send_components(stage, strings_select, users_select, channels_select, mentionables_select)

    string_choice = await stage.use_component(message["id"], "w", 3, values=["c", "a"])
    user_choice = await stage.use_component(message["id"], "p", 5, values=[str(stage.user.id)])
    channel_choice = await stage.use_component(message["id"], "c", 8, values=[str(stage.channel)])
    role_choice = await stage.use_component(message["id"], "m", 7, values=[str(stage.guild.id)])

    assert string_choice.payload["data"]["values"] == ["c", "a"]
    assert "resolved" not in string_choice.payload["data"]
    assert str(stage.user.id) in user_choice.payload["data"]["resolved"]["members"]
    assert str(stage.channel) in channel_choice.payload["data"]["resolved"]["channels"]
    assert str(stage.guild.id) in role_choice.payload["data"]["resolved"]["roles"]
    voice = await stage.guild.channel("voice", type=2)

    async def submit(custom_id: str, kind: int, *values: str) -> ApiResponse:
        data = {"component_type": kind, "custom_id": custom_id, "values": list(values)}
        return await stage.create_interaction(3, data, message_id=message["id"])

    assert (await submit("w", 3, "d")).errors("data.values.0") == ["BASE_TYPE_CHOICES"]
    assert (await submit("w", 3)).errors("data.values") == ["BASE_TYPE_BAD_LENGTH"]
    assert (await submit("w", 3, "a", "b", "c")).errors("data.values") == ["BASE_TYPE_BAD_LENGTH"]
    assert (await submit("w", 3, "a", "a")).errors("data.values.1") == ["SET_TYPE_ALREADY_CONTAINS_VALUE"]
    assert (await submit("p", 5, "x")).errors("data.values.0") == ["NUMBER_TYPE_COERCE"]
    assert (await submit("p", 5, "1")).errors("data.values.0") == ["NUMBER_TYPE_COERCE"]
    assert (await submit("c", 8, str(voice))).errors("data.values.0") == ["BASE_TYPE_CHOICES"]


async def test_components_of_ephemeral_messages_are_usable_by_the_user_only(stage: InteractionSetup) -> None:
    message = await (await stage.run_command(await stage.create_command())).respond_with_message(
        content="x", flags=EPHEMERAL, components=[BUTTON]
    )
    data = {"component_type": 2, "custom_id": "go"}

    (await stage.create_interaction(3, data, message_id=message["id"], actor=stage.guild.owner)).rejected(404, 10008)
    interaction = await stage.use_component(message["id"])
    assert interaction.payload["message"]["flags"] & EPHEMERAL
    changed = (await interaction.respond(7, {"content": "y"})).ok()
    assert changed["interaction"]["response_message_ephemeral"] is True
    assert (await stage.user_session.next("MESSAGE_UPDATE"))["content"] == "y"
    edited_again = await (await stage.use_component(message["id"])).respond_with_message(content="public")
    assert (edited_again["type"], "message_reference" in edited_again) == (0, False)
    stage.world.clock.advance(15 * 60_000 + 1)
    (await stage.create_interaction(3, data, message_id=message["id"])).rejected(404, 10008)


# Modals


MODAL: dict[str, Any] = {
    "custom_id": "form",
    "title": "Tell us",
    "components": [
        {"type": 10, "content": "Welcome"},
        {"type": 18, "label": "Name", "component": {"type": 4, "custom_id": "name", "style": 1, "max_length": 10}},
        {
            "type": 18,
            "label": "Colour",
            "component": {
                "type": 3,
                "custom_id": "colour",
                "required": False,
                "options": [{"label": "Red", "value": "r"}, {"label": "Blue", "value": "b"}],
            },
        },
        {"type": 18, "label": "Who", "component": {"type": 5, "custom_id": "who"}},
        {"type": 18, "label": "Sure?", "component": {"type": 23, "custom_id": "sure"}},
    ],
}


async def test_a_modal_is_shown_and_submitted(stage: InteractionSetup) -> None:
    interaction = await stage.run_command(await stage.create_command())
    (await interaction.respond(9, MODAL)).ok()
    modal_event = await stage.user_session.next("INTERACTION_MODAL_CREATE")
    assert (modal_event["id"], modal_event["custom_id"], modal_event["title"]) == (
        interaction.payload["id"],
        "form",
        "Tell us",
    )
    assert modal_event["application"]["name"] == "answerer"
    assert [component["id"] for component in modal_event["components"]] == [1, 2, 4, 6, 8]
    components = [
        {"type": 18, "component": {"type": 4, "custom_id": "name", "value": "Ann"}},
        {"type": 18, "component": {"type": 5, "custom_id": "who", "values": [str(stage.user.id)]}},
        {"type": 18, "component": {"type": 23, "custom_id": "sure", "value": True}},
    ]

    response = await stage.create_interaction(
        5, {"id": modal_event["id"], "custom_id": "form", "components": components}
    )
    assert response.status == 204, response.body

    submitted = ReceivedInteraction(stage, await stage.app_session.next("INTERACTION_CREATE"))
    data = submitted.payload["data"]
    assert (submitted.payload["type"], data["custom_id"]) == (5, "form")
    assert data["components"] == [
        {"type": 10, "id": 1},
        {"type": 18, "id": 2, "component": {"type": 4, "id": 3, "custom_id": "name", "value": "Ann"}},
        {"type": 18, "id": 4, "component": {"type": 3, "id": 5, "custom_id": "colour", "values": []}},
        {
            "type": 18,
            "id": 6,
            "component": {"type": 5, "id": 7, "custom_id": "who", "values": [str(stage.user.id)]},
        },
        {"type": 18, "id": 8, "component": {"type": 23, "id": 9, "custom_id": "sure", "value": True}},
    ]
    assert str(stage.user.id) in data["resolved"]["users"]
    assert (await submitted.respond(7, {"content": "x"})).errors("type") == ["BASE_TYPE_CHOICES"]
    assert (await submitted.respond(9, MODAL)).errors("type") == ["BASE_TYPE_CHOICES"]
    message = await submitted.respond_with_message(content="thanks")
    metadata = message["interaction_metadata"]
    assert (metadata["type"], metadata["triggering_interaction_metadata"]["id"]) == (5, interaction.payload["id"])


async def test_a_modal_opened_from_a_component_can_update_its_message(stage: InteractionSetup) -> None:
    message = await send_components(stage, BUTTON)
    interaction = await stage.use_component(message["id"])
    modal = {
        "custom_id": "old",
        "title": "Old",
        "components": [
            {"type": 1, "components": [{"type": 4, "custom_id": "t", "label": "T", "style": 2, "required": False}]}
        ],
    }
    (await interaction.respond(9, modal)).ok()
    body = {"id": interaction.payload["id"], "custom_id": "old", "components": []}
    assert (await stage.create_interaction(5, body)).status == 204

    submitted = ReceivedInteraction(stage, await stage.app_session.next("INTERACTION_CREATE"))

    assert submitted.payload["message"]["id"] == message["id"]
    row = {"type": 1, "id": 1, "components": [{"type": 4, "id": 2, "custom_id": "t", "value": ""}]}
    assert submitted.payload["data"]["components"] == [row]
    changed = (await submitted.respond(7, {"content": "submitted"})).ok()["resource"]["message"]
    assert (changed["id"], changed["content"]) == (message["id"], "submitted")


async def test_submitted_values_are_validated_against_the_modal(stage: InteractionSetup) -> None:
    interaction = await stage.run_command(await stage.create_command())
    group = [{"label": letter, "value": letter} for letter in "ab"]
    modal = {
        "custom_id": "f",
        "title": "F",
        "components": [
            {"type": 18, "label": "x", "component": {"type": 4, "custom_id": "t", "style": 1, "min_length": 3}},
            {"type": 18, "label": "x", "component": {"type": 21, "custom_id": "r", "options": group}},
            {"type": 18, "label": "x", "component": {"type": 22, "custom_id": "g", "options": group, "max_values": 1}},
            {"type": 18, "label": "x", "component": {"type": 23, "custom_id": "b"}},
            {"type": 18, "label": "x", "component": {"type": 19, "custom_id": "u", "file_types": [".txt"]}},
        ],
    }
    (await interaction.respond(9, modal)).ok()

    def body(**values: Any) -> dict[str, Any]:
        values_by_id: dict[str, Any] = {
            "t": {"value": "xxx"},
            "r": {"value": "a"},
            "g": {"values": ["a"]},
            "u": {"values": ["0"]},
        } | values
        components = [{"type": 18, "component": {"custom_id": key, **value}} for key, value in values_by_id.items()]
        return {"id": interaction.payload["id"], "custom_id": "f", "components": components}

    async def submit_modal(data: dict[str, Any], filename: str = "a.txt") -> ApiResponse:
        form = aiohttp.FormData()
        interaction_body = {
            "application_id": str(stage.bot.application_id),
            "channel_id": str(stage.channel),
            "data": data,
        }
        form.add_field("payload_json", json.dumps({"type": 5, **interaction_body}))
        form.add_field("files[0]", b"text", filename=filename)
        return await stage.user.post("/interactions", data=form)

    path_template = "data.components.{}.component.{}"
    for values, path, code in (
        ({"t": {"value": "x"}}, path_template.format(0, "value"), "BASE_TYPE_BAD_LENGTH"),
        ({"t": {}}, path_template.format(0, "value"), "BASE_TYPE_REQUIRED"),
        ({"t": {"value": 3}}, path_template.format(0, "value"), "STRING_TYPE_CONVERT"),
        ({"r": {"value": "c"}}, path_template.format(1, "value"), "BASE_TYPE_CHOICES"),
        ({"r": {}}, path_template.format(1, "value"), "BASE_TYPE_REQUIRED"),
        ({"g": {"values": ["a", "b"]}}, path_template.format(2, "values"), "BASE_TYPE_BAD_LENGTH"),
        ({"g": {"values": "a"}}, path_template.format(2, "values"), "LIST_TYPE_CONVERT"),
        ({"b": {"value": "yes"}}, path_template.format(3, "value"), "BOOLEAN_TYPE_CONVERT"),
        ({"u": {"values": ["1"]}}, path_template.format(4, "values.0"), "ATTACHMENT_NOT_FOUND"),
    ):
        assert code in (await submit_modal(body(**values))).errors(path), (values, path)
    assert (await submit_modal(body(), "a.png")).errors(path_template.format(4, "values.0")) == ["BASE_TYPE_CHOICES"]
    (await submit_modal({**body(), "custom_id": "other"})).rejected(404, 10062)
    (await submit_modal({**body(), "id": "1"})).rejected(404, 10062)
    assert (await submit_modal(body())).status == 204
    event = await stage.app_session.next("INTERACTION_CREATE")
    (attachment,) = event["data"]["resolved"]["attachments"].values()
    assert event["data"]["components"][4]["component"]["values"] == [attachment["id"]]
    stage.world.clock.advance(15 * 60_000 + 1)
    (await submit_modal(body())).rejected(404, 10062)


async def test_an_invalid_modal_names_the_invalid_field(stage: InteractionSetup) -> None:
    interaction = await stage.run_command(await stage.create_command())
    invalid_modal = {**MODAL, "components": [{"type": 18, "label": "x", "component": {"type": 2}}]}

    rejected = await interaction.respond(9, invalid_modal)

    assert rejected.errors("data.components.0.component.type") == ["COMPONENT_TYPE_INVALID"]
    assert (await interaction.respond(9, {**MODAL, "title": "x" * 46})).errors("data.title") == ["BASE_TYPE_BAD_LENGTH"]


async def test_tokens_are_stored_as_hashes(stage: InteractionSetup) -> None:
    interaction = await stage.run_command(await stage.create_command())

    rows = await stage.world.write(lambda call: call.tx.all("SELECT * FROM interactions"))

    assert interaction.payload["token"] not in str(rows)
    assert bytes(rows[0][1]) == hashlib.sha256(interaction.payload["token"].encode()).digest()


@pytest.mark.dated(changes.RESOLVED_CHANNEL_PERMISSIONS)
async def test_resolved_channels_contain_app_permissions_from_the_date(stage: InteractionSetup) -> None:
    command = await stage.create_command(options=[{"type": 7, "name": "c", "description": "x"}])
    for offset_ms in (-1, 0):
        stage.world.clock.set(changes.RESOLVED_CHANNEL_PERMISSIONS.at_ms + offset_ms)

        interaction = await stage.run_command(command, options=[{"type": 7, "name": "c", "value": str(stage.channel)}])

        channel = interaction.payload["data"]["resolved"]["channels"][str(stage.channel)]
        assert ("app_permissions" in channel) is (offset_ms == 0)


@pytest.mark.dated(changes.POLL_IN_DEFERRED_EDIT)
async def test_a_deferred_response_can_become_a_poll_from_the_date(stage: InteractionSetup) -> None:
    command = await stage.create_command()
    poll = {"question": {"text": "?"}, "answers": [{"poll_media": {"text": "yes"}}], "duration": 1}
    for offset_ms in (-1, 0):
        stage.world.clock.set(changes.POLL_IN_DEFERRED_EDIT.at_ms + offset_ms)
        interaction = await stage.run_command(command)
        await interaction.respond(5)

        completed = await interaction.webhook_request(
            "PATCH", "/messages/@original", json={"content": "ask", "poll": poll}
        )

        assert ("poll" in completed.ok()) is (offset_ms == 0)


@pytest.mark.dated(changes.USER_INSTALLS)
async def test_commands_and_responses_contain_installation_data_from_the_date(stage: InteractionSetup) -> None:
    command = await stage.create_command()
    path = f"{stage.application_path}/guilds/{stage.guild.id}/commands/{command['id']}"
    for offset_ms in (-1, 0):
        stage.world.clock.set(changes.USER_INSTALLS.at_ms + offset_ms)

        message = await (await stage.run_command(command)).respond_with_message(content="here")

        command_view = (await stage.bot.get(path)).ok()
        assert ("contexts" in command_view, "integration_types" in command_view, "interaction_metadata" in message) == (
            offset_ms == 0,
        ) * 3


async def test_an_interaction_contains_the_users_entitlements(stage: InteractionSetup) -> None:
    command = await stage.create_command()
    created = await stage.bot.post(f"{stage.application_path}/skus", json={"type": 5, "name": "Gold", "flags": 1 << 8})
    sku = created.ok()["id"]
    entitlement_body = {"sku_id": sku, "owner_id": str(stage.user.id), "owner_type": 2}
    entitlement = (await stage.bot.post(f"{stage.application_path}/entitlements", json=entitlement_body)).ok()

    interaction = await stage.run_command(command)

    [owned] = interaction.payload["entitlements"]
    assert (owned["id"], owned["sku_id"], owned["user_id"]) == (entitlement["id"], sku, str(stage.user.id))
    assert interaction.payload["entitlement_sku_ids"] == [sku]
    (await stage.bot.delete(f"{stage.application_path}/entitlements/{entitlement['id']}")).ok()
    assert (await stage.run_command(command)).payload["entitlements"] == []


# Command index


async def available_commands(stage: InteractionSetup, actor: Actor | None = None) -> dict[str, list[str]]:
    """Return the names of the commands in the channel's command index, by application name."""
    index = (await (actor or stage.user).get(f"/channels/{stage.channel}/application-command-index")).ok()
    application_names = {application["id"]: application["name"] for application in index["applications"]}
    names_by_application: dict[str, list[str]] = {name: [] for name in application_names.values()}
    for command in index["application_commands"]:
        names_by_application[application_names[command["application_id"]]].append(command["name"])
    assert index["version"] == max((command["version"] for command in index["application_commands"]), default="0")
    return names_by_application


async def test_the_command_index_lists_the_usable_commands(stage: InteractionSetup) -> None:
    global_path = f"{stage.application_path}/commands"
    (await stage.bot.post(global_path, json={"name": "global", "description": "x"})).ok()
    (await stage.bot.post(global_path, json={"name": "dms", "description": "x", "contexts": [1]})).ok()
    (await stage.bot.post(global_path, json={"name": "adult", "description": "x", "nsfw": True})).ok()
    await stage.create_command("staff", default_member_permissions="0")
    await stage.create_command("hello", name_localizations={"de": "hallo"})
    other = await stage.world.bot(stage.guild, name="silent")
    uninstalled_bot = await stage.world.bot(name="elsewhere")
    (
        await uninstalled_bot.post(
            f"/applications/{uninstalled_bot.application_id}/commands", json={"name": "far", "description": "x"}
        )
    ).ok()

    assert await available_commands(stage) == {"answerer": ["global", "hello"]}
    assert await available_commands(stage, stage.guild.owner) == {"answerer": ["global", "staff", "hello"]}
    response = await stage.user.get(
        f"/channels/{stage.channel}/application-command-index", headers={"X-Discord-Locale": "de"}
    )
    assert [command.get("name_localized") for command in response.ok()["application_commands"]] == [None, "hallo"]
    stranger = await stage.world.user()
    (await stranger.get(f"/channels/{stage.channel}/application-command-index")).rejected(403, 50001)
    (await other.get(f"/channels/{stage.channel}/application-command-index")).rejected(403, 20001)


async def test_the_command_index_lists_user_installed_and_dm_commands(stage: InteractionSetup) -> None:
    (await stage.bot.post(f"{stage.application_path}/commands", json={"name": "hi", "description": "x"})).ok()
    other_guild = await stage.world.guild(None, stage.user)
    dm = (await stage.user.post("/users/@me/channels", json={"recipient_id": str(stage.bot.id)})).ok()
    friend = await stage.world.user()
    friend_dm = (await stage.user.post("/users/@me/channels", json={"recipient_id": str(friend.id)})).ok()
    stage.channel = int(dm["id"])
    assert await available_commands(stage) == {"answerer": ["hi"]}
    for channel in (other_guild.general, int(friend_dm["id"])):
        stage.channel = channel
        assert await available_commands(stage) == {}

    await install_for_user(stage)

    for channel in (other_guild.general, int(friend_dm["id"]), int(dm["id"])):
        stage.channel = channel
        assert await available_commands(stage) == {"answerer": ["hi"]}
    stage.channel = other_guild.general
    assert await available_commands(stage, other_guild.owner) == {}
