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
from hubbub.server.resources import activity_instances, members, messages
from hubbub.server.resources.interactions import launching, store
from hubbub.server.transports.cdn import default_avatar
from tests.world import PRIVILEGED, Actor, Answer, Guild, Session, World

EPHEMERAL = MessageFlags.EPHEMERAL
LOADING = MessageFlags.LOADING
V2 = MessageFlags.IS_COMPONENTS_V2
ANSWERING = (
    Permissions.ATTACH_FILES | Permissions.EMBED_LINKS | Permissions.MENTION_EVERYONE | Permissions.USE_EXTERNAL_EMOJIS
)
BUTTON = {"type": 1, "components": [{"type": 2, "style": 1, "label": "press", "custom_id": "go"}]}


class Stage:
    """A user and an app in a guild, both connected to the gateway."""

    def __init__(self, world: World, guild: Guild, user: Actor, bot: Actor) -> None:
        self.world, self.guild, self.person, self.bot = world, guild, user, bot
        self.app: Session
        self.eyes: Session
        self.channel = guild.general

    @property
    def base(self) -> str:
        """The path of the application."""
        return f"/applications/{self.bot.application_id}"

    @property
    def application_id(self) -> int:
        """The application id."""
        assert self.bot.application_id is not None
        return self.bot.application_id

    async def command(self, name: str = "greet", **body: Any) -> Any:
        """Create a command for the guild."""
        given = {"name": name, "description": "says hello", **body}
        if given.get("type", 1) != 1:
            del given["description"]
        return (await self.bot.post(f"{self.base}/guilds/{self.guild.id}/commands", json=given)).ok()

    async def ask(self, kind: int, data: dict[str, Any], *, actor: Actor | None = None, **body: Any) -> Answer:
        """Create an interaction and return the response."""
        given = {
            "type": kind,
            "application_id": str(self.bot.application_id),
            "channel_id": str(self.channel),
            "nonce": "n1",
            "data": data,
            **body,
        }
        return await (actor or self.person).post("/interactions", json=given)

    async def run(self, command: dict[str, Any], kind: int = 2, **data: Any) -> "Heard":
        """Run a command and return the interaction that the app receives."""
        response = await self.ask(kind, {"id": command["id"], "name": command["name"], **data})
        assert response.status == 204, response.body
        return Heard(self, await self.app.next("INTERACTION_CREATE"))

    async def press(self, message_id: str, custom_id: str = "go", kind: int = 2, **data: Any) -> "Heard":
        """Use a component and return the interaction that the app receives."""
        given = {"component_type": kind, "custom_id": custom_id, **data}
        response = await self.ask(3, given, message_id=message_id)
        assert response.status == 204, response.body
        return Heard(self, await self.app.next("INTERACTION_CREATE"))


class Heard:
    """An interaction that the app received."""

    def __init__(self, stage: Stage, payload: dict[str, Any]) -> None:
        self.stage, self.told = stage, payload
        self.hook = f"/webhooks/{stage.bot.application_id}/{payload['token']}"

    async def call(self, kind: int, data: Any = None, query: str = "?with_response=true") -> Answer:
        """Send the initial response."""
        body = {"type": kind} if data is None else {"type": kind, "data": data}
        path = f"/interactions/{self.told['id']}/{self.told['token']}/callback{query}"
        return await self.stage.world.request("POST", path, json=body)

    async def say(self, **data: Any) -> Any:
        """Send the initial response with a message and return that message."""
        return (await self.call(4, data)).ok()["resource"]["message"]

    async def request(self, method: str, path: str = "", **options: Any) -> Answer:
        """Send a request with the interaction's webhook token."""
        return await self.stage.world.request(method, self.hook + path, **options)


@pytest.fixture
async def stage(world: World) -> Stage:
    user = await world.user("asker")
    guild = await world.guild(None, user)
    bot = await world.bot(guild, name="answerer")
    stage = Stage(world, guild, user, bot)
    stage.app = await bot.connect()
    stage.eyes = await user.connect()
    return stage


# Commands


async def test_an_app_receives_a_command_with_every_field(stage: Stage) -> None:
    command = await stage.command(options=[{"type": 3, "name": "target", "description": "x", "required": True}])
    response = await stage.ask(
        2,
        {"id": command["id"], "name": "greet", "options": [{"type": 3, "name": "target", "value": "world"}]},
        guild_id=str(stage.guild.id),
        session_id=stage.eyes.ready["session_id"],
        nonce="abc",
    )
    assert response.status == 204

    event = await stage.app.next("INTERACTION_CREATE")

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
    assert event["member"]["user"]["id"] == str(stage.person.id)
    assert int(event["member"]["permissions"]) & Permissions.USE_APPLICATION_COMMANDS
    assert "user" not in event
    assert event["authorizing_integration_owners"] == {"0": str(stage.guild.id)}
    assert int(event["app_permissions"]) & Permissions.SEND_MESSAGES
    assert (event["entitlements"], event["entitlement_sku_ids"]) == ([], [])
    assert event["attachment_size_limit"] == 10 << 20
    noted = await stage.eyes.next("INTERACTION_CREATE")
    assert noted == {"id": event["id"], "nonce": "abc"}


async def test_an_interaction_in_a_guild_is_sent_to_its_shard(world: World) -> None:
    user = await world.user()
    guild = await world.guild(None, user)
    bot = await world.bot(guild)
    stage = Stage(world, guild, user, bot)
    shard = (guild.id >> 22) % 2
    stage.app = await bot.connect(shard=[shard, 2])
    other = await bot.connect(shard=[1 - shard, 2])
    command = await stage.command()

    interaction = await stage.run(command)

    assert interaction.told["guild_id"] == str(guild.id)
    await other.obeyed()
    assert "INTERACTION_CREATE" not in other.names()


async def test_options_of_every_type_are_resolved(stage: Stage) -> None:
    kinds = {3: "text", 4: "whole", 5: "flag", 6: "user", 7: "channel", 8: "role", 9: "any", 10: "real"}
    options = [{"type": kind, "name": name, "description": "x"} for kind, name in kinds.items()]
    command = await stage.command(options=options)
    role = await stage.guild.role("red")
    values = {
        "text": "x",
        "whole": 4,
        "flag": True,
        "user": str(stage.person.id),
        "channel": str(stage.channel),
        "role": str(role),
        "any": str(role),
        "real": 1.5,
    }

    interaction = await stage.run(
        command, options=[{"type": kind, "name": name, "value": values[name]} for kind, name in kinds.items()]
    )

    data = interaction.told["data"]
    assert {each["name"]: each["value"] for each in data["options"]} == values
    resolved = data["resolved"]
    assert resolved["users"][str(stage.person.id)]["username"] == "asker"
    member = resolved["members"][str(stage.person.id)]
    assert not {"user", "deaf", "mute"} & set(member)
    assert int(member["permissions"]) & Permissions.VIEW_CHANNEL
    assert resolved["roles"][str(role)]["name"] == "red"
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
    stage: Stage, options: list[dict[str, Any]], given: list[dict[str, Any]], path: str, code: str
) -> None:
    command = await stage.command(options=[{"name": "a", "description": "x", **each} for each in options])

    refused = await stage.ask(2, {"id": command["id"], "name": "greet", "options": given})

    assert refused.errors(path) == [code]
    await stage.app.none_of("INTERACTION_CREATE")


async def test_a_response_names_the_subcommand(stage: Stage) -> None:
    inner = {"type": 1, "name": "add", "description": "x", "options": [{"type": 4, "name": "n", "description": "x"}]}
    command = await stage.command("math", options=[{"type": 2, "name": "sums", "description": "x", "options": [inner]}])
    given = [
        {
            "type": 2,
            "name": "sums",
            "options": [{"type": 1, "name": "add", "options": [{"type": 4, "name": "n", "value": 1}]}],
        }
    ]

    interaction = await stage.run(command, options=given)
    message = await interaction.say(content="1")

    assert interaction.told["data"]["options"] == given
    assert message["interaction"]["name"] == "math sums add"
    refused = await stage.ask(2, {"id": command["id"], "name": "math", "options": []})
    assert refused.errors("data.options") == ["BASE_TYPE_BAD_LENGTH"]


async def test_a_command_can_have_attachments(stage: Stage) -> None:
    command = await stage.command(
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

    async def send(filename: str) -> Answer:
        form = aiohttp.FormData()
        form.add_field("payload_json", json.dumps(body), content_type="application/json")
        form.add_field("files[0]", b"hello", filename=filename)
        return await stage.person.post("/interactions", data=form)

    assert (await send("notes.txt")).status == 204
    event = await stage.app.next("INTERACTION_CREATE")
    (attachment,) = event["data"]["resolved"]["attachments"].values()
    assert event["data"]["options"][0]["value"] == attachment["id"]
    assert (attachment["filename"], attachment["ephemeral"]) == ("notes.txt", True)
    async with stage.world.client.get(attachment["url"]) as response:
        assert await response.read() == b"hello"
    body["data"]["attachments"] = []  # type: ignore[index]
    for filename in ("notes.exe", "png", "image", "notes.txt.exe"):
        assert (await send(filename)).errors("data.options.0.value") == ["BASE_TYPE_CHOICES"]
    # http.md 1.11: only the file name is checked, ignoring case; the content is not an image.
    assert (await send("a.PNG")).status == 204
    assert (await stage.app.next("INTERACTION_CREATE"))["type"] == 2


async def test_context_menu_commands_name_their_target(stage: Stage) -> None:
    on_user = await stage.command("Poke", type=2)
    on_message = await stage.command("Translate", type=3)
    message = await stage.guild.say(stage.person, "hola")

    poked = await stage.run(on_user, target_id=str(stage.guild.owner.id))
    translated = await stage.run(on_message, target_id=message["id"])

    assert poked.told["data"]["target_id"] == str(stage.guild.owner.id)
    assert str(stage.guild.owner.id) in poked.told["data"]["resolved"]["members"]
    assert translated.told["data"]["resolved"]["messages"][message["id"]]["content"] == "hola"
    first = await poked.say(content="ow")
    second = await translated.say(content="hello")
    assert first["type"] == second["type"] == MessageType.CONTEXT_MENU_COMMAND
    assert first["interaction_metadata"]["target_user"]["id"] == str(stage.guild.owner.id)
    assert second["interaction_metadata"]["target_message_id"] == message["id"]
    assert second["message_reference"]["message_id"] == message["id"]
    (await stage.ask(2, {"id": on_message["id"], "name": "x", "target_id": "1"})).refused(404, 10008)
    refused = await stage.ask(2, {"id": on_user["id"], "name": "x"})
    assert refused.errors("data.target_id") == ["BASE_TYPE_REQUIRED"]


async def test_a_target_message_must_be_readable_by_the_user(stage: Stage) -> None:
    on_message = await stage.command("Translate", type=3)
    guild, user = stage.guild, stage.person
    in_text = await guild.say(guild.owner, "before you came")
    lounge = await guild.channel("lounge", type=2)
    in_voice = await guild.say(guild.owner, "inside", channel=lounge)

    async def ask(channel: int, message: Any) -> Answer:
        stage.channel = channel
        return await stage.ask(2, {"id": on_message["id"], "name": "x", "target_id": message["id"]})

    assert (await ask(guild.general, in_text)).status == 204
    assert (await ask(lounge, in_voice)).status == 204
    await guild.overwrite(guild.general, user.id, deny=Permissions.READ_MESSAGE_HISTORY)
    (await ask(guild.general, in_text)).refused(404, 10008)
    await guild.overwrite(lounge, user.id, deny=Permissions.CONNECT)
    # A user who cannot connect has no commands in the channel either.
    (await ask(lounge, in_voice)).refused(403, 50013)
    await guild.overwrite(lounge, user.id, deny=Permissions.READ_MESSAGE_HISTORY)
    (await ask(lounge, in_voice)).refused(404, 10008)
    [first, second] = [await stage.app.next("INTERACTION_CREATE") for _ in range(2)]
    assert [*first["data"]["resolved"]["messages"], *second["data"]["resolved"]["messages"]] == [
        in_text["id"],
        in_voice["id"],
    ]
    await stage.app.none_of("INTERACTION_CREATE")


async def test_an_app_reads_its_target_but_not_the_referenced_message(stage: Stage) -> None:
    world, guild = stage.world, stage.guild
    await world.write(lambda call: call.tx.run("UPDATE applications SET flags = 0 WHERE id = ?", stage.application_id))
    on_message = await stage.command("Translate", type=3)
    secret = await guild.say(guild.owner, "secret")
    reference = {"message_id": secret["id"]}
    reply = await guild.say(stage.person, "hola", message_reference=reference)

    payload = (await stage.run(on_message, target_id=reply["id"])).told["data"]["resolved"]["messages"][reply["id"]]
    assert (payload["content"], payload["referenced_message"]["content"]) == ("hola", "")

    button = {"type": 1, "components": [{"type": 2, "style": 1, "label": "go", "custom_id": "go"}]}
    posted = await guild.say(stage.bot, "mine", message_reference=reference, components=[button])
    payload = (await stage.press(posted["id"])).told["message"]
    assert (payload["content"], payload["referenced_message"]["content"]) == ("mine", "")
    assert payload["components"] == posted["components"]


async def test_running_a_command_requires_access_and_permissions(stage: Stage) -> None:
    world, guild = stage.world, stage.guild
    command = await stage.command()
    stranger = await world.user()
    hidden = await guild.channel("hidden")
    await guild.overwrite(hidden, guild.id, deny=Permissions.VIEW_CHANNEL, kind=0)
    elsewhere = await world.guild(None, stage.person)
    data = {"id": command["id"], "name": "greet"}

    (await stage.ask(2, data, actor=stranger)).refused(403, 50001)
    (await stage.ask(2, data, channel_id=str(hidden))).refused(403, 50001)
    (await stage.ask(2, data, channel_id="1")).refused(404, 10003)
    (await stage.ask(2, data, guild_id=str(elsewhere.id))).refused(404, 10004)
    (await stage.ask(2, data, channel_id=str(elsewhere.general))).refused(404, 10063)
    (await stage.ask(2, data, application_id="1")).refused(404, 10002)
    (await stage.ask(2, {"id": "1", "name": "x"})).refused(404, 10063)
    (await stage.ask(2, data, actor=stage.bot)).refused(403, 20001)
    outdated = await stage.ask(2, {**data, "version": "1"})
    assert outdated.errors("data") == ["INTERACTION_APPLICATION_COMMAND_INVALID_VERSION"]
    await guild.overwrite(guild.general, guild.id, deny=Permissions.USE_APPLICATION_COMMANDS, kind=0)
    (await stage.ask(2, data)).refused(403, 50013)
    await guild.overwrite(guild.general, guild.id, kind=0)
    timeout = {"communication_disabled_until": "2026-11-20T00:00:00Z"}
    (await guild.owner.patch(f"/guilds/{guild.id}/members/{stage.person.id}", json=timeout)).ok()
    (await stage.ask(2, data)).refused(403, 50013)


async def test_command_permissions_are_enforced(stage: Stage) -> None:
    command = await stage.command(default_member_permissions=str(Permissions.BAN_MEMBERS))
    data = {"id": command["id"], "name": "greet"}
    path = f"{stage.base}/guilds/{stage.guild.id}/commands/{command['id']}/permissions"

    (await stage.ask(2, data)).refused(403, 50013)
    allowed = {"permissions": [{"id": str(stage.person.id), "type": 2, "permission": True}]}
    (await stage.guild.owner.put(path, json=allowed)).ok()
    assert (await stage.ask(2, data)).status == 204
    denied = {"permissions": [*allowed["permissions"], {"id": str(stage.channel), "type": 3, "permission": False}]}
    (await stage.guild.owner.put(path, json=denied)).ok()
    (await stage.ask(2, data)).refused(403, 50013)


async def test_age_restricted_commands_require_an_age_restricted_channel(stage: Stage) -> None:
    command = await stage.command(nsfw=True)
    data = {"id": command["id"], "name": "greet"}

    (await stage.ask(2, data)).refused(404, 10063)
    (await stage.guild.owner.patch(f"/channels/{stage.channel}", json={"nsfw": True})).ok()
    assert (await stage.ask(2, data)).status == 204


async def test_age_restricted_commands_in_dms_require_a_user_installation(stage: Stage) -> None:
    created = (
        await stage.bot.post(f"{stage.base}/commands", json={"name": "hi", "description": "x", "nsfw": True})
    ).ok()
    dm = (await stage.person.post("/users/@me/channels", json={"recipient_id": str(stage.bot.id)})).ok()
    stage.channel = int(dm["id"])

    (await stage.ask(2, {"id": created["id"], "name": "hi"})).refused(404, 10063)
    assert await available_commands(stage) == {}
    await take_along(stage)

    assert (await stage.run(created)).told["context"] == 1
    assert await available_commands(stage) == {"answerer": ["hi"]}


async def test_global_commands_work_in_the_bots_dm(stage: Stage) -> None:
    created = (await stage.bot.post(f"{stage.base}/commands", json={"name": "hi", "description": "x"})).ok()
    dm = (await stage.person.post("/users/@me/channels", json={"recipient_id": str(stage.bot.id)})).ok()
    stage.channel = int(dm["id"])

    interaction = await stage.run(created)
    message = await interaction.say(content="hello")

    event = interaction.told
    assert (event["context"], event["user"]["id"]) == (1, str(stage.person.id))
    assert not {"member", "guild_id", "guild"} & set(event)
    assert event["authorizing_integration_owners"] == {"0": "0"}
    assert int(event["app_permissions"]) == ANSWERING
    assert (await stage.eyes.next("MESSAGE_CREATE"))["id"] == message["id"]
    only = (
        await stage.bot.post(f"{stage.base}/commands", json={"name": "g", "description": "x", "contexts": [0]})
    ).ok()
    (await stage.ask(2, {"id": only["id"], "name": "g"})).refused(404, 10063)


async def take_along(stage: Stage) -> None:
    """Install the app for the user."""
    path = f"/oauth2/authorize?client_id={stage.application_id}&scope=applications.commands&integration_type=1"
    (await stage.person.post(path, json={"authorize": True})).ok()


async def test_user_installed_apps_work_in_other_guilds(stage: Stage) -> None:
    created = (await stage.bot.post(f"{stage.base}/commands", json={"name": "hi", "description": "x"})).ok()
    away = await stage.world.guild(None, stage.person)
    stage.channel = away.general
    (await stage.ask(2, {"id": created["id"], "name": "hi"})).refused(404, 10063)
    await take_along(stage)

    interaction = await stage.run(created)
    message = await interaction.say(content="hello @everyone")

    assert interaction.told["authorizing_integration_owners"] == {"1": str(stage.person.id)}
    assert not int(interaction.told["app_permissions"]) & ~ANSWERING
    assert not message["flags"] & EPHEMERAL
    assert message["author"]["id"] == str(stage.bot.id)
    for _ in range(5):
        (await interaction.request("POST", json={"content": "more"})).ok()
    (await interaction.request("POST", json={"content": "too much"})).refused(400, 40094)
    await away.overwrite(away.general, away.id, deny=Permissions.USE_EXTERNAL_APPS, kind=0)
    quiet = await (await stage.run(created)).say(content="just you")
    assert quiet["flags"] & EPHEMERAL
    await away.overwrite(away.general, away.id, kind=0)
    [mine] = (await stage.person.get("/oauth2/tokens")).ok()
    (await stage.person.delete(f"/oauth2/tokens/{mine['id']}")).ok()
    (await stage.ask(2, {"id": created["id"], "name": "hi"})).refused(404, 10063)


# Autocomplete


async def test_integers_are_sent_as_integers(stage: Stage) -> None:
    option = {"type": 4, "name": "n", "description": "x"}
    plain = await stage.command("plain", options=[{**option, "choices": [{"name": "two", "value": 2}]}])
    typed = await stage.command("typed", options=[{**option, "autocomplete": True}])

    interaction = await stage.run(plain, options=[{"type": 4, "name": "n", "value": 2.0}])
    assert repr(interaction.told["data"]["options"][0]["value"]) == "2"
    interaction = await stage.run(typed, 4, options=[{"type": 4, "name": "n", "value": "2", "focused": True}])
    wrong = await interaction.call(8, {"choices": [{"name": "x", "value": 2.5}]})
    assert wrong.errors("data.choices.0.value") == ["NUMBER_TYPE_COERCE"]
    (await interaction.call(8, {"choices": [{"name": "x", "value": 2.0}]})).ok()
    event = await stage.eyes.next("APPLICATION_COMMAND_AUTOCOMPLETE_RESPONSE")
    assert repr(event["choices"][0]["value"]) == "2"


async def test_autocomplete_returns_choices(stage: Stage) -> None:
    options = [
        {"type": 3, "name": "city", "description": "x", "autocomplete": True, "required": True},
        {"type": 4, "name": "n", "description": "x", "autocomplete": True},
    ]
    command = await stage.command(options=options)
    typed = [{"type": 3, "name": "city", "value": "Be", "focused": True}, {"type": 4, "name": "n", "value": "4x"}]

    interaction = await stage.run(command, 4, options=typed)

    assert (interaction.told["type"], interaction.told["data"]["options"]) == (4, typed)
    choices = [{"name": "Berlin", "value": "berlin"}, {"name": "Bern", "value": "bern"}]
    wrong = await interaction.call(8, {"choices": [{"name": "x", "value": 1}]})
    assert wrong.errors("data.choices.0.value") == ["STRING_TYPE_CONVERT"]
    many = await interaction.call(8, {"choices": choices * 13})
    assert many.errors("data.choices") == ["BASE_TYPE_BAD_LENGTH"]
    assert (await interaction.call(4, {"content": "x"})).errors("type") == ["BASE_TYPE_CHOICES"]
    response = (await interaction.call(8, {"choices": choices})).ok()
    assert response["interaction"]["type"] == 4
    assert "resource" not in response
    event = await stage.eyes.next("APPLICATION_COMMAND_AUTOCOMPLETE_RESPONSE")
    assert event == {"id": interaction.told["id"], "nonce": "n1", "choices": choices}
    data = {"id": command["id"], "name": "greet", "options": [{"type": 3, "name": "city", "value": "x"}]}
    assert (await stage.ask(4, data)).errors("data.options") == ["BASE_TYPE_REQUIRED"]


# Responses


async def test_a_command_is_answered_with_a_message(stage: Stage) -> None:
    interaction = await stage.run(await stage.command())

    response = (await interaction.call(4, {"content": f"hi <@{stage.person.id}> @everyone"})).ok()

    message = response["resource"]["message"]
    assert response["resource"]["type"] == 4
    assert response["interaction"] == {
        "id": interaction.told["id"],
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
    assert [each["id"] for each in message["mentions"]] == [str(stage.person.id)]
    metadata = message["interaction_metadata"]
    assert (metadata["id"], metadata["type"], metadata["user"]["id"]) == (
        interaction.told["id"],
        2,
        str(stage.person.id),
    )
    assert metadata["authorizing_integration_owners"] == {"0": str(stage.guild.id)}
    assert (message["interaction"]["name"], message["interaction"]["user"]["id"]) == ("greet", str(stage.person.id))
    event = await stage.eyes.next("MESSAGE_CREATE")
    assert (event["id"], event["guild_id"]) == (message["id"], str(stage.guild.id))
    assert event["interaction"]["member"]["joined_at"]
    assert (await stage.eyes.next("INTERACTION_SUCCESS")) == {"id": interaction.told["id"], "nonce": "n1"}
    read = (await stage.person.get(f"/channels/{stage.channel}/messages/{message['id']}")).ok()
    assert read["interaction_metadata"] == metadata
    assert read["author"]["username"] == "answerer"


async def test_the_callback_body_is_empty_without_with_response(stage: Stage) -> None:
    interaction = await stage.run(await stage.command())

    response = await interaction.call(4, {"content": "hi"}, query="")

    assert (response.status, response.body) == (204, b"")
    assert "X-RateLimit-Bucket" not in response.headers


async def test_an_interaction_is_answered_once_within_three_seconds(stage: Stage) -> None:
    command = await stage.command()
    interaction = await stage.run(command)
    (await interaction.request("GET", "/messages/@original")).refused(404, 10015)
    stage.world.clock.advance(3_000)
    await interaction.say(content="in time")
    (await interaction.call(4, {"content": "again"})).refused(400, 40060)
    late = await stage.run(command)
    stage.world.clock.advance(3_001)
    (await late.call(4, {"content": "late"})).refused(404, 10062)
    stage.world.clock.advance(250)
    failed = await stage.eyes.next("INTERACTION_FAILURE")
    assert failed == {"id": late.told["id"], "nonce": "n1", "reason_code": 2}
    (await late.call(4, {"content": "late"})).refused(404, 10062)
    (await late.request("POST", json={"content": "x"})).refused(404, 10015)
    path = f"/interactions/{late.told['id']}/wrong/callback"
    (await stage.world.request("POST", path, json={"type": 5})).refused(404, 10062)
    path = f"/interactions/1/{late.told['token']}/callback"
    (await stage.world.request("POST", path, json={"type": 5})).refused(404, 10062)
    await stage.eyes.settle()
    assert sum(frame["t"] == "INTERACTION_FAILURE" for frame in stage.eyes.seen) == 1


@pytest.mark.parametrize("kind", [1, 6, 7, 8, 12])
async def test_a_command_rejects_other_response_types(stage: Stage, kind: int) -> None:
    interaction = await stage.run(await stage.command())
    data: dict[str, Any] = {"choices": []} if kind == 8 else {}

    assert (await interaction.call(kind, data)).errors("type") == ["BASE_TYPE_CHOICES"]
    assert (await interaction.call(2)).errors("type") == ["UNION_TYPE_CHOICES"]
    await interaction.say(content="still there")


async def test_a_rejected_response_can_be_sent_again(stage: Stage) -> None:
    interaction = await stage.run(await stage.command())

    (await interaction.call(4, {"content": ""})).refused(400, 50006)
    (await interaction.call(4)).refused(400, 50006)
    row = {"type": 1, "components": [{"type": 2, "style": 1, "label": "x"}]}
    refused = await interaction.call(4, {"content": "x", "components": [row]})
    assert refused.errors("data.components.0.components.0.custom_id") == ["BUTTON_COMPONENT_CUSTOM_ID_REQUIRED"]
    refused = await interaction.call(4, {"embeds": [{"url": "x"}], "attachments": [{"id": "0", "filename": "a.txt"}]})
    assert refused.errors("data.embeds.0.description") == ["BASE_TYPE_REQUIRED"]
    assert refused.errors("data.attachments.0.id") == ["ATTACHMENT_NOT_FOUND"]
    await interaction.say(content="now")
    refused = await interaction.request("POST", json={"content": "x", "components": [row]})
    assert refused.errors("components.0.components.0.custom_id") == ["BUTTON_COMPONENT_CUSTOM_ID_REQUIRED"]


async def test_an_ephemeral_response_is_visible_to_user_and_app_only(stage: Stage) -> None:
    owner = await stage.guild.owner.connect()
    blind = await stage.bot.connect(Intents.GUILDS | Intents.GUILD_MESSAGES)
    interaction = await stage.run(await stage.command())

    response = (await interaction.call(4, {"content": "psst", "flags": EPHEMERAL})).ok()

    message = response["resource"]["message"]
    assert response["interaction"]["response_message_ephemeral"] is True
    assert message["flags"] & EPHEMERAL
    for session in (stage.eyes, stage.app):
        event = await session.next("MESSAGE_CREATE")
        assert event["content"] == "psst"
        assert not {"guild_id", "member"} & set(event)
    await owner.none_of("MESSAGE_CREATE")
    await blind.none_of("MESSAGE_CREATE")
    for reader in (stage.person, stage.bot, stage.guild.owner):
        (await reader.get(f"/channels/{stage.channel}/messages/{message['id']}")).refused(404, 10008)
    assert (await stage.person.get(f"/channels/{stage.channel}/messages")).ok() == []
    channel = (await stage.person.get(f"/channels/{stage.channel}")).ok()
    assert channel["last_message_id"] != message["id"]
    assert (await interaction.request("GET", "/messages/@original")).ok()["content"] == "psst"
    edited = (await interaction.request("PATCH", "/messages/@original", json={"content": "louder"})).ok()
    assert (edited["content"], bool(edited["flags"] & EPHEMERAL)) == ("louder", True)
    assert (await stage.eyes.next("MESSAGE_UPDATE"))["content"] == "louder"
    assert (await interaction.request("DELETE", "/messages/@original")).status == 204
    gone = await stage.eyes.next("MESSAGE_DELETE")
    assert gone == {"id": message["id"], "channel_id": str(stage.channel)}
    await owner.none_of("MESSAGE_UPDATE", "MESSAGE_DELETE")
    (await interaction.request("GET", "/messages/@original")).refused(404, 10008)


async def test_files_of_ephemeral_responses_are_marked_ephemeral(stage: Stage) -> None:
    interaction = await stage.run(await stage.command())
    form = aiohttp.FormData()
    form.add_field("payload_json", json.dumps({"type": 4, "data": {"flags": EPHEMERAL}}))
    form.add_field("files[0]", b"secret", filename="note.txt")
    path = f"/interactions/{interaction.told['id']}/{interaction.told['token']}/callback?with_response=true"

    message = (await stage.world.request("POST", path, data=form)).ok()["resource"]["message"]

    (attachment,) = message["attachments"]
    assert attachment["ephemeral"] is True
    assert "/ephemeral-attachments/" in attachment["url"]
    async with stage.world.client.get(attachment["url"]) as response:
        assert await response.read() == b"secret"


@pytest.mark.parametrize("v2", [False, True])
async def test_embeds_and_components_of_ephemeral_responses_use_ephemeral_urls(stage: Stage, v2: bool) -> None:
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
    interaction = await stage.run(await stage.command())
    form = aiohttp.FormData()
    form.add_field("payload_json", json.dumps({"type": 4, "data": data}))
    form.add_field("files[0]", default_avatar(0), filename="a.png", content_type="image/png")
    path = f"/interactions/{interaction.told['id']}/{interaction.told['token']}/callback?with_response=true"

    message = (await stage.world.request("POST", path, data=form)).ok()["resource"]["message"]

    urls = set(re.findall(r'"(http[^"]*a\.png[^"]*)"', json.dumps([message["embeds"], message["components"]])))
    assert urls
    for file_url in urls:
        assert "/ephemeral-attachments/" in file_url
        async with stage.world.client.get(file_url) as response:
            assert (response.status, (await response.read())[:4]) == (200, b"\x89PNG")


async def test_ephemeral_polls_are_rejected(stage: Stage) -> None:
    interaction = await stage.run(await stage.command())
    poll = {"question": {"text": "?"}, "answers": [{"poll_media": {"text": "yes"}}]}

    (await interaction.call(4, {"poll": poll, "flags": EPHEMERAL})).refused(400, 520002)
    assert (await interaction.say(poll=poll))["poll"]["question"]["text"] == "?"


async def test_old_interactions_and_ephemeral_messages_are_deleted(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Sweep on every interaction instead of on a fraction of them.
    monkeypatch.setattr(store, "SWEPT_BY", 1)
    command = await stage.command()
    for _ in range(3):
        await (await stage.run(command)).say(content="x", flags=EPHEMERAL)
    stage.world.clock.advance(messages.EPHEMERAL_MS + 1)
    for _ in range(2):
        await (await stage.run(command)).say(content="x", flags=EPHEMERAL)

    ephemeral_left = await stage.world.write(lambda call: call.tx.value("SELECT COUNT(*) FROM ephemeral_messages"))
    interactions = await stage.world.write(lambda call: call.tx.value("SELECT COUNT(*) FROM interactions"))

    assert ephemeral_left == 2
    assert interactions == 2


async def test_a_deferred_response_is_edited_later(stage: Stage) -> None:
    interaction = await stage.run(await stage.command())

    response = (await interaction.call(5)).ok()

    message_id = response["interaction"]["response_message_id"]
    assert response["interaction"]["response_message_loading"] is True
    assert "resource" not in response
    event = await stage.eyes.next("MESSAGE_CREATE")
    assert (event["id"], event["flags"], event["content"]) == (message_id, LOADING, "")
    stage.world.clock.advance(14 * 60_000)
    row = {"type": 10, "content": "done"}
    filled = (await interaction.request("PATCH", "/messages/@original", json={"flags": V2, "components": [row]})).ok()
    assert (filled["id"], filled["flags"], filled["edited_timestamp"]) == (message_id, V2, None)
    assert (await stage.eyes.next("MESSAGE_UPDATE"))["components"][0]["content"] == "done"
    again = (
        await interaction.request("PATCH", "/messages/@original", json={"components": [{**row, "content": "2"}]})
    ).ok()
    assert again["edited_timestamp"] is not None


async def test_a_deferred_response_can_become_a_poll(stage: Stage) -> None:
    interaction = await stage.run(await stage.command())
    await interaction.call(5)
    poll = {"question": {"text": "?"}, "answers": [{"poll_media": {"text": "yes"}}], "duration": 1}

    filled = (await interaction.request("PATCH", "/messages/@original", json={"poll": poll})).ok()

    assert filled["poll"]["question"]["text"] == "?"
    (await interaction.request("PATCH", "/messages/@original", json={"content": "x"})).refused(400, 520003)
    stage.world.clock.advance(3_600_001)
    ended = await stage.eyes.next(
        "MESSAGE_UPDATE", lambda event: event.get("poll", {}).get("results", {})["is_finalized"]
    )
    assert ended["id"] == filled["id"]


async def test_the_first_followup_fills_a_deferred_response(stage: Stage) -> None:
    interaction = await stage.run(await stage.command())
    await interaction.call(5, {"flags": EPHEMERAL})

    filled = (await interaction.request("POST", json={"content": "here", "flags": MessageFlags.IS_VOICE_MESSAGE})).ok()
    more = (await interaction.request("POST", json={"content": "and more"})).ok()

    assert filled["flags"] == EPHEMERAL
    assert filled["type"] == 20
    assert more["flags"] == 0
    assert more["interaction_metadata"]["original_response_message_id"] == filled["id"]


async def test_followups_are_created_edited_and_deleted(stage: Stage) -> None:
    interaction = await stage.run(await stage.command())
    first = await interaction.say(content="one")

    more = (await interaction.request("POST", json={"content": "two", "username": "ignored"})).ok()
    quiet = (await interaction.request("POST", json={"content": "three", "flags": EPHEMERAL})).ok()

    assert more["author"]["username"] == "answerer"
    assert more["interaction_metadata"]["original_response_message_id"] == first["id"]
    assert "interaction" not in more
    assert (more["type"], more["message_reference"]["message_id"]) == (19, first["id"])
    assert quiet["flags"] == EPHEMERAL
    voiced = (await interaction.request("POST", json={"content": "no voice", "flags": 1 << 13 | 1 << 12})).ok()
    assert voiced["flags"] == MessageFlags.SUPPRESS_NOTIFICATIONS
    for followup in (more, quiet):
        path = f"/messages/{followup['id']}"
        assert (await interaction.request("GET", path)).ok()["content"] == followup["content"]
        assert (await interaction.request("PATCH", path, json={"content": "new"})).ok()["content"] == "new"
        assert (await interaction.request("DELETE", path)).status == 204
        (await interaction.request("GET", path)).refused(404, 10008)
    other = await (await stage.run(await stage.command("other"))).say(content="not yours")
    (await interaction.request("GET", f"/messages/{other['id']}")).refused(404, 10008)
    poll = {"question": {"text": "?"}, "answers": []}
    refused = await interaction.request("PATCH", "/messages/@original", json={"poll": poll})
    assert refused.errors("poll.answers") == ["BASE_TYPE_BAD_LENGTH"]
    stage.world.clock.advance(15 * 60_000 + 1)
    (await interaction.request("GET", "/messages/@original")).refused(404, 10015)
    (await interaction.request("POST", json={"content": "late"})).refused(404, 10015)


async def test_premium_required_responses_are_still_accepted(stage: Stage) -> None:
    interaction = await stage.run(await stage.command())
    assert (await interaction.call(10)).errors("type") == ["BASE_TYPE_CHOICES"]
    (await stage.bot.post(f"{stage.base}/skus", json={"type": 5, "name": "Gold", "flags": 1 << 8})).ok()

    response = (await interaction.call(10)).ok()

    assert response["interaction"]["response_message_ephemeral"] is True
    assert (await stage.eyes.next("MESSAGE_CREATE"))["type"] == 26


@pytest.fixture
async def playing(world: World) -> Stage:
    """A stage whose app has an activity."""
    user = await world.user()
    guild = await world.guild(None, user)
    bot = await world.bot(guild, name="game", flags=PRIVILEGED | ApplicationFlags.EMBEDDED)
    stage = Stage(world, guild, user, bot)
    stage.app, stage.eyes = await bot.connect(), await user.connect()
    return stage


async def list_participants(stage: Stage, instance: str) -> list[str]:
    """Return the user ids of an instance's participants, as the bot reads them."""
    shown = (await stage.bot.get(f"{stage.base}/activity-instances/{instance}")).ok()
    users: list[str] = shown["users"]
    return users


async def test_an_app_responds_by_launching_its_activity(playing: Stage) -> None:
    first = (await (await playing.run(await playing.command())).call(12)).ok()
    other = await playing.world.user()
    await playing.world.write(lambda call: members.add(call, playing.guild.id, other.id), actor=playing.guild.owner.id)
    (await playing.ask(2, {"id": (await playing.command())["id"], "name": "greet"}, actor=other)).ok()
    interaction = Heard(playing, await playing.app.next("INTERACTION_CREATE"))
    second = (await interaction.call(12)).ok()

    instance = first["interaction"]["activity_instance_id"]
    assert first["resource"] == {"type": 12, "activity_instance": {"id": instance}}
    assert second["interaction"]["activity_instance_id"] == instance
    assert await list_participants(playing, instance) == [str(playing.person.id), str(other.id)]
    event = await playing.eyes.next("EMBEDDED_ACTIVITY_UPDATE_V2")
    assert event["application_id"] == str(playing.application_id)
    await playing.eyes.next("INTERACTION_SUCCESS")


async def test_an_activity_ends_with_the_session_that_launched_it(playing: Stage) -> None:
    command = await playing.command()
    session = playing.eyes.ready["session_id"]
    (await playing.ask(2, {"id": command["id"], "name": "greet"}, session_id=session)).ok()
    interaction = Heard(playing, await playing.app.next("INTERACTION_CREATE"))
    instance = (await interaction.call(12)).ok()["interaction"]["activity_instance_id"]

    await playing.eyes.close()
    await playing.app.next("EMBEDDED_ACTIVITY_UPDATE_V2", lambda event: not event["participants"])

    (await playing.bot.get(f"{playing.base}/activity-instances/{instance}")).refused(404, 0)


async def test_an_app_cannot_launch_an_activity_without_the_users_permission(playing: Stage) -> None:
    interaction = await playing.run(await playing.command())
    await playing.guild.overwrite(playing.channel, playing.guild.id, deny=Permissions.USE_EMBEDDED_ACTIVITIES, kind=0)

    (await interaction.call(12)).refused(403, 50013)

    assert (await interaction.say(content="then not"))["content"] == "then not"


async def test_the_platform_launches_the_activity_of_an_entry_point(playing: Stage) -> None:
    entry = {"name": "launch", "type": 4, "handler": 2}
    created = (await playing.bot.post(f"{playing.base}/commands", json=entry)).ok()

    assert (await playing.ask(2, {"id": created["id"], "name": "launch"})).status == 204

    await playing.eyes.next("EMBEDDED_ACTIVITY_UPDATE_V2")
    message = await playing.eyes.next("MESSAGE_CREATE")
    assert (message["content"], message["author"]["id"]) == (
        f"<@{playing.person.id}> launched game",
        str(playing.bot.id),
    )
    assert message["interaction_metadata"]["user"]["id"] == str(playing.person.id)
    assert message["mentions"] == []
    await playing.eyes.next("INTERACTION_SUCCESS")
    await playing.app.none_of("INTERACTION_CREATE")


async def test_a_failed_launch_without_permission_is_reported(playing: Stage) -> None:
    created = (
        await playing.bot.post(f"{playing.base}/commands", json={"name": "launch", "type": 4, "handler": 2})
    ).ok()
    await playing.guild.overwrite(playing.channel, playing.guild.id, deny=Permissions.USE_EMBEDDED_ACTIVITIES, kind=0)

    assert (await playing.ask(2, {"id": created["id"], "name": "launch"})).status == 204

    assert (await playing.eyes.next("INTERACTION_FAILURE"))["reason_code"] == 13
    await playing.eyes.none_of("MESSAGE_CREATE", "EMBEDDED_ACTIVITY_UPDATE_V2", "INTERACTION_SUCCESS")


@pytest.mark.parametrize(("kind", "reason"), [("afk", 9), ("not-embedded", 14), ("full", 17)])
async def test_a_failed_launch_has_a_specific_reason_code(playing: Stage, kind: str, reason: int) -> None:
    created = (
        await playing.bot.post(f"{playing.base}/commands", json={"name": "launch", "type": 4, "handler": 2})
    ).ok()
    channel = playing.channel
    if kind == "afk":
        channel = await playing.guild.channel("away", type=2)
        body = {"afk_channel_id": str(channel)}
        (await playing.guild.owner.patch(f"/guilds/{playing.guild.id}", json=body)).ok()
    elif kind == "not-embedded":
        await playing.world.write(
            lambda call: call.tx.run("UPDATE applications SET flags = 0 WHERE id = ?", playing.application_id)
        )
    else:
        (await playing.bot.patch("/applications/@me", json={"max_participants": 1})).ok()
        where = (playing.application_id, playing.guild.owner.id, playing.channel, playing.guild.id)
        await playing.world.write(lambda call: activity_instances.launch(call, *where))

    data = {"id": created["id"], "name": "launch"}
    assert (await playing.ask(2, data, channel_id=str(channel))).status == 204

    assert (await playing.eyes.next("INTERACTION_FAILURE"))["reason_code"] == reason


def test_every_launch_error_has_a_reason_code() -> None:
    kinds = (
        (errors.UNKNOWN_APPLICATION, 3),
        (errors.UNKNOWN_CHANNEL, 4),
        (errors.WRONG_CHANNEL_TYPE, 8),
        (errors.MISSING_ACCESS, 18),
        (errors.INVALID_ACTIVITY_ACTION, 17),
    )
    for kind, number in kinds:
        assert launching.reason(kind()) == number


# Components


async def send_components(stage: Stage, *components: dict[str, Any], **body: Any) -> Any:
    """Send a message of the bot with components."""
    return await stage.guild.say(stage.bot, "choose", components=list(components), **body)


async def test_pressing_a_button_can_update_its_message(stage: Stage) -> None:
    message = await send_components(stage, BUTTON)

    interaction = await stage.press(message["id"])

    assert interaction.told["data"] == {"id": 2, "custom_id": "go", "component_type": 2}
    assert (interaction.told["type"], interaction.told["message"]["id"]) == (3, message["id"])
    refused = await interaction.call(7, {"components": [{"type": 1, "components": []}], "embeds": [{}]})
    assert refused.errors("data.components.0.components") == ["BASE_TYPE_BAD_LENGTH"]
    assert refused.errors("data.embeds.0.description") == ["BASE_TYPE_REQUIRED"]

    response = (await interaction.call(7, {"content": "pressed", "components": []})).ok()
    assert response["resource"]["message"]["id"] == message["id"]
    event = await stage.eyes.next("MESSAGE_UPDATE")
    assert (event["content"], event["components"]) == ("pressed", [])
    assert (await interaction.request("GET", "/messages/@original")).ok()["id"] == message["id"]
    refused = await stage.ask(3, {"component_type": 2, "custom_id": "go"}, message_id=message["id"])
    assert refused.errors("data.custom_id") == ["COMPONENT_TYPE_INVALID"]


async def test_a_response_to_a_component_replies_to_its_message(stage: Stage) -> None:
    message = await send_components(stage, BUTTON)

    reply = await (await stage.press(message["id"])).say(content="ok")
    interaction = await stage.press(message["id"])
    assert (await interaction.call(6)).ok()["interaction"]["type"] == 3
    more = (await interaction.request("POST", json={"content": "later"})).ok()

    assert (reply["type"], reply["message_reference"]["message_id"]) == (19, message["id"])
    assert reply["referenced_message"]["id"] == message["id"]
    assert reply["interaction_metadata"]["interacted_message_id"] == message["id"]
    assert "interaction" not in reply
    assert more["message_reference"]["message_id"] == message["id"]
    changed = (await interaction.request("PATCH", "/messages/@original", json={"content": "after"})).ok()
    assert changed["id"] == message["id"]


async def test_only_enabled_components_can_be_used(stage: Stage) -> None:
    off = {"type": 1, "components": [{"type": 2, "style": 1, "label": "x", "custom_id": "off", "disabled": True}]}
    message = await send_components(stage, off)
    others = await stage.guild.say(stage.person, "no app")
    data = {"component_type": 2, "custom_id": "off"}

    assert (await stage.ask(3, data, message_id=message["id"])).errors("data.custom_id") == ["COMPONENT_TYPE_INVALID"]
    (await stage.ask(3, data, message_id=others["id"])).refused(404, 10008)
    (await stage.ask(3, data, message_id="1")).refused(404, 10008)
    wrong = await stage.ask(3, {"component_type": 3, "custom_id": "off"}, message_id=message["id"])
    assert wrong.errors("data.custom_id") == ["COMPONENT_TYPE_INVALID"]


async def test_selects_contain_the_chosen_values(stage: Stage) -> None:
    options = [{"label": each, "value": each} for each in "abc"]
    strings = {"type": 1, "components": [{"type": 3, "custom_id": "w", "options": options, "max_values": 2}]}
    users_select = {"type": 1, "components": [{"type": 5, "custom_id": "p"}]}
    channels_select = {"type": 1, "components": [{"type": 8, "custom_id": "c", "channel_types": [0]}]}
    mentionable = {"type": 1, "components": [{"type": 7, "custom_id": "m"}]}
    message = await send_components(stage, strings, users_select, channels_select, mentionable)

    chosen = await stage.press(message["id"], "w", 3, values=["c", "a"])
    user_choice = await stage.press(message["id"], "p", 5, values=[str(stage.person.id)])
    channel_choice = await stage.press(message["id"], "c", 8, values=[str(stage.channel)])
    role_choice = await stage.press(message["id"], "m", 7, values=[str(stage.guild.id)])

    assert chosen.told["data"]["values"] == ["c", "a"]
    assert "resolved" not in chosen.told["data"]
    assert str(stage.person.id) in user_choice.told["data"]["resolved"]["members"]
    assert str(stage.channel) in channel_choice.told["data"]["resolved"]["channels"]
    assert str(stage.guild.id) in role_choice.told["data"]["resolved"]["roles"]
    voice = await stage.guild.channel("voice", type=2)

    async def refused(custom_id: str, kind: int, *values: str) -> Answer:
        data = {"component_type": kind, "custom_id": custom_id, "values": list(values)}
        return await stage.ask(3, data, message_id=message["id"])

    assert (await refused("w", 3, "d")).errors("data.values.0") == ["BASE_TYPE_CHOICES"]
    assert (await refused("w", 3)).errors("data.values") == ["BASE_TYPE_BAD_LENGTH"]
    assert (await refused("w", 3, "a", "b", "c")).errors("data.values") == ["BASE_TYPE_BAD_LENGTH"]
    assert (await refused("w", 3, "a", "a")).errors("data.values.1") == ["SET_TYPE_ALREADY_CONTAINS_VALUE"]
    assert (await refused("p", 5, "x")).errors("data.values.0") == ["NUMBER_TYPE_COERCE"]
    assert (await refused("p", 5, "1")).errors("data.values.0") == ["NUMBER_TYPE_COERCE"]
    assert (await refused("c", 8, str(voice))).errors("data.values.0") == ["BASE_TYPE_CHOICES"]


async def test_components_of_ephemeral_messages_are_usable_by_the_user_only(stage: Stage) -> None:
    message = await (await stage.run(await stage.command())).say(content="x", flags=EPHEMERAL, components=[BUTTON])
    data = {"component_type": 2, "custom_id": "go"}

    (await stage.ask(3, data, message_id=message["id"], actor=stage.guild.owner)).refused(404, 10008)
    interaction = await stage.press(message["id"])
    assert interaction.told["message"]["flags"] & EPHEMERAL
    changed = (await interaction.call(7, {"content": "y"})).ok()
    assert changed["interaction"]["response_message_ephemeral"] is True
    assert (await stage.eyes.next("MESSAGE_UPDATE"))["content"] == "y"
    again = await (await stage.press(message["id"])).say(content="public")
    assert (again["type"], "message_reference" in again) == (0, False)
    stage.world.clock.advance(15 * 60_000 + 1)
    (await stage.ask(3, data, message_id=message["id"])).refused(404, 10008)


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


async def test_a_modal_is_shown_and_submitted(stage: Stage) -> None:
    interaction = await stage.run(await stage.command())
    (await interaction.call(9, MODAL)).ok()
    shown = await stage.eyes.next("INTERACTION_MODAL_CREATE")
    assert (shown["id"], shown["custom_id"], shown["title"]) == (interaction.told["id"], "form", "Tell us")
    assert shown["application"]["name"] == "answerer"
    assert [each["id"] for each in shown["components"]] == [1, 2, 4, 6, 8]
    filled = [
        {"type": 18, "component": {"type": 4, "custom_id": "name", "value": "Ann"}},
        {"type": 18, "component": {"type": 5, "custom_id": "who", "values": [str(stage.person.id)]}},
        {"type": 18, "component": {"type": 23, "custom_id": "sure", "value": True}},
    ]

    response = await stage.ask(5, {"id": shown["id"], "custom_id": "form", "components": filled})
    assert response.status == 204, response.body

    submitted = Heard(stage, await stage.app.next("INTERACTION_CREATE"))
    data = submitted.told["data"]
    assert (submitted.told["type"], data["custom_id"]) == (5, "form")
    assert data["components"] == [
        {"type": 10, "id": 1},
        {"type": 18, "id": 2, "component": {"type": 4, "id": 3, "custom_id": "name", "value": "Ann"}},
        {"type": 18, "id": 4, "component": {"type": 3, "id": 5, "custom_id": "colour", "values": []}},
        {
            "type": 18,
            "id": 6,
            "component": {"type": 5, "id": 7, "custom_id": "who", "values": [str(stage.person.id)]},
        },
        {"type": 18, "id": 8, "component": {"type": 23, "id": 9, "custom_id": "sure", "value": True}},
    ]
    assert str(stage.person.id) in data["resolved"]["users"]
    assert (await submitted.call(7, {"content": "x"})).errors("type") == ["BASE_TYPE_CHOICES"]
    assert (await submitted.call(9, MODAL)).errors("type") == ["BASE_TYPE_CHOICES"]
    message = await submitted.say(content="thanks")
    metadata = message["interaction_metadata"]
    assert (metadata["type"], metadata["triggering_interaction_metadata"]["id"]) == (5, interaction.told["id"])


async def test_a_modal_opened_from_a_component_can_update_its_message(stage: Stage) -> None:
    message = await send_components(stage, BUTTON)
    interaction = await stage.press(message["id"])
    old = {
        "custom_id": "old",
        "title": "Old",
        "components": [
            {"type": 1, "components": [{"type": 4, "custom_id": "t", "label": "T", "style": 2, "required": False}]}
        ],
    }
    (await interaction.call(9, old)).ok()
    body = {"id": interaction.told["id"], "custom_id": "old", "components": []}
    assert (await stage.ask(5, body)).status == 204

    submitted = Heard(stage, await stage.app.next("INTERACTION_CREATE"))

    assert submitted.told["message"]["id"] == message["id"]
    row = {"type": 1, "id": 1, "components": [{"type": 4, "id": 2, "custom_id": "t", "value": ""}]}
    assert submitted.told["data"]["components"] == [row]
    changed = (await submitted.call(7, {"content": "submitted"})).ok()["resource"]["message"]
    assert (changed["id"], changed["content"]) == (message["id"], "submitted")


async def test_submitted_values_are_validated_against_the_modal(stage: Stage) -> None:
    interaction = await stage.run(await stage.command())
    group = [{"label": each, "value": each} for each in "ab"]
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
    (await interaction.call(9, modal)).ok()

    def body(**values: Any) -> dict[str, Any]:
        given: dict[str, Any] = {
            "t": {"value": "xxx"},
            "r": {"value": "a"},
            "g": {"values": ["a"]},
            "u": {"values": ["0"]},
        } | values
        components = [{"type": 18, "component": {"custom_id": key, **value}} for key, value in given.items()]
        return {"id": interaction.told["id"], "custom_id": "f", "components": components}

    async def send(data: dict[str, Any], filename: str = "a.txt") -> Answer:
        form = aiohttp.FormData()
        ask = {"application_id": str(stage.bot.application_id), "channel_id": str(stage.channel), "data": data}
        form.add_field("payload_json", json.dumps({"type": 5, **ask}))
        form.add_field("files[0]", b"text", filename=filename)
        return await stage.person.post("/interactions", data=form)

    where = "data.components.{}.component.{}"
    for values, path, code in (
        ({"t": {"value": "x"}}, where.format(0, "value"), "BASE_TYPE_BAD_LENGTH"),
        ({"t": {}}, where.format(0, "value"), "BASE_TYPE_REQUIRED"),
        ({"t": {"value": 3}}, where.format(0, "value"), "STRING_TYPE_CONVERT"),
        ({"r": {"value": "c"}}, where.format(1, "value"), "BASE_TYPE_CHOICES"),
        ({"r": {}}, where.format(1, "value"), "BASE_TYPE_REQUIRED"),
        ({"g": {"values": ["a", "b"]}}, where.format(2, "values"), "BASE_TYPE_BAD_LENGTH"),
        ({"g": {"values": "a"}}, where.format(2, "values"), "LIST_TYPE_CONVERT"),
        ({"b": {"value": "yes"}}, where.format(3, "value"), "BOOLEAN_TYPE_CONVERT"),
        ({"u": {"values": ["1"]}}, where.format(4, "values.0"), "ATTACHMENT_NOT_FOUND"),
    ):
        assert code in (await send(body(**values))).errors(path), (values, path)
    assert (await send(body(), "a.png")).errors(where.format(4, "values.0")) == ["BASE_TYPE_CHOICES"]
    (await send({**body(), "custom_id": "other"})).refused(404, 10062)
    (await send({**body(), "id": "1"})).refused(404, 10062)
    assert (await send(body())).status == 204
    event = await stage.app.next("INTERACTION_CREATE")
    (attachment,) = event["data"]["resolved"]["attachments"].values()
    assert event["data"]["components"][4]["component"]["values"] == [attachment["id"]]
    stage.world.clock.advance(15 * 60_000 + 1)
    (await send(body())).refused(404, 10062)


async def test_an_invalid_modal_names_the_invalid_field(stage: Stage) -> None:
    interaction = await stage.run(await stage.command())
    bad = {**MODAL, "components": [{"type": 18, "label": "x", "component": {"type": 2}}]}

    refused = await interaction.call(9, bad)

    assert refused.errors("data.components.0.component.type") == ["COMPONENT_TYPE_INVALID"]
    assert (await interaction.call(9, {**MODAL, "title": "x" * 46})).errors("data.title") == ["BASE_TYPE_BAD_LENGTH"]


async def test_tokens_are_stored_as_hashes(stage: Stage) -> None:
    interaction = await stage.run(await stage.command())

    rows = await stage.world.write(lambda call: call.tx.all("SELECT * FROM interactions"))

    assert interaction.told["token"] not in str(rows)
    assert bytes(rows[0][1]) == hashlib.sha256(interaction.told["token"].encode()).digest()


@pytest.mark.dated(changes.RESOLVED_CHANNEL_PERMISSIONS)
async def test_resolved_channels_contain_app_permissions_from_the_date(stage: Stage) -> None:
    command = await stage.command(options=[{"type": 7, "name": "c", "description": "x"}])
    for moment in (-1, 0):
        stage.world.clock.set(changes.RESOLVED_CHANNEL_PERMISSIONS.at_ms + moment)

        interaction = await stage.run(command, options=[{"type": 7, "name": "c", "value": str(stage.channel)}])

        channel = interaction.told["data"]["resolved"]["channels"][str(stage.channel)]
        assert ("app_permissions" in channel) is (moment == 0)


@pytest.mark.dated(changes.POLL_IN_DEFERRED_EDIT)
async def test_a_deferred_response_can_become_a_poll_from_the_date(stage: Stage) -> None:
    command = await stage.command()
    poll = {"question": {"text": "?"}, "answers": [{"poll_media": {"text": "yes"}}], "duration": 1}
    for moment in (-1, 0):
        stage.world.clock.set(changes.POLL_IN_DEFERRED_EDIT.at_ms + moment)
        interaction = await stage.run(command)
        await interaction.call(5)

        filled = await interaction.request("PATCH", "/messages/@original", json={"content": "ask", "poll": poll})

        assert ("poll" in filled.ok()) is (moment == 0)


@pytest.mark.dated(changes.USER_INSTALLS)
async def test_commands_and_responses_contain_installation_data_from_the_date(stage: Stage) -> None:
    command = await stage.command()
    path = f"{stage.base}/guilds/{stage.guild.id}/commands/{command['id']}"
    for moment in (-1, 0):
        stage.world.clock.set(changes.USER_INSTALLS.at_ms + moment)

        message = await (await stage.run(command)).say(content="here")

        shown = (await stage.bot.get(path)).ok()
        assert ("contexts" in shown, "integration_types" in shown, "interaction_metadata" in message) == (
            moment == 0,
        ) * 3


async def test_an_interaction_contains_the_users_entitlements(stage: Stage) -> None:
    command = await stage.command()
    created = await stage.bot.post(f"{stage.base}/skus", json={"type": 5, "name": "Gold", "flags": 1 << 8})
    sku = created.ok()["id"]
    given = {"sku_id": sku, "owner_id": str(stage.person.id), "owner_type": 2}
    entitlement = (await stage.bot.post(f"{stage.base}/entitlements", json=given)).ok()

    interaction = await stage.run(command)

    [owned] = interaction.told["entitlements"]
    assert (owned["id"], owned["sku_id"], owned["user_id"]) == (entitlement["id"], sku, str(stage.person.id))
    assert interaction.told["entitlement_sku_ids"] == [sku]
    (await stage.bot.delete(f"{stage.base}/entitlements/{entitlement['id']}")).ok()
    assert (await stage.run(command)).told["entitlements"] == []


# Command index


async def available_commands(stage: Stage, actor: Actor | None = None) -> dict[str, list[str]]:
    """Return the names of the commands in the channel's command index, by application name."""
    shown = (await (actor or stage.person).get(f"/channels/{stage.channel}/application-command-index")).ok()
    names = {each["id"]: each["name"] for each in shown["applications"]}
    listed: dict[str, list[str]] = {name: [] for name in names.values()}
    for each in shown["application_commands"]:
        listed[names[each["application_id"]]].append(each["name"])
    assert shown["version"] == max((each["version"] for each in shown["application_commands"]), default="0")
    return listed


async def test_the_command_index_lists_the_usable_commands(stage: Stage) -> None:
    everywhere = f"{stage.base}/commands"
    (await stage.bot.post(everywhere, json={"name": "global", "description": "x"})).ok()
    (await stage.bot.post(everywhere, json={"name": "dms", "description": "x", "contexts": [1]})).ok()
    (await stage.bot.post(everywhere, json={"name": "adult", "description": "x", "nsfw": True})).ok()
    await stage.command("staff", default_member_permissions="0")
    await stage.command("hello", name_localizations={"de": "hallo"})
    other = await stage.world.bot(stage.guild, name="silent")
    elsewhere = await stage.world.bot(name="elsewhere")
    (
        await elsewhere.post(
            f"/applications/{elsewhere.application_id}/commands", json={"name": "far", "description": "x"}
        )
    ).ok()

    assert await available_commands(stage) == {"answerer": ["global", "hello"]}
    assert await available_commands(stage, stage.guild.owner) == {"answerer": ["global", "staff", "hello"]}
    shown = await stage.person.get(
        f"/channels/{stage.channel}/application-command-index", headers={"X-Discord-Locale": "de"}
    )
    assert [each.get("name_localized") for each in shown.ok()["application_commands"]] == [None, "hallo"]
    stranger = await stage.world.user()
    (await stranger.get(f"/channels/{stage.channel}/application-command-index")).refused(403, 50001)
    (await other.get(f"/channels/{stage.channel}/application-command-index")).refused(403, 20001)


async def test_the_command_index_lists_user_installed_and_dm_commands(stage: Stage) -> None:
    (await stage.bot.post(f"{stage.base}/commands", json={"name": "hi", "description": "x"})).ok()
    away = await stage.world.guild(None, stage.person)
    dm = (await stage.person.post("/users/@me/channels", json={"recipient_id": str(stage.bot.id)})).ok()
    friend = await stage.world.user()
    private = (await stage.person.post("/users/@me/channels", json={"recipient_id": str(friend.id)})).ok()
    stage.channel = int(dm["id"])
    assert await available_commands(stage) == {"answerer": ["hi"]}
    for channel in (away.general, int(private["id"])):
        stage.channel = channel
        assert await available_commands(stage) == {}

    await take_along(stage)

    for channel in (away.general, int(private["id"]), int(dm["id"])):
        stage.channel = channel
        assert await available_commands(stage) == {"answerer": ["hi"]}
    stage.channel = away.general
    assert await available_commands(stage, away.owner) == {}
