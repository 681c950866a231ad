"""Interactions: what people ask, how apps hear it, every way to answer, and how long one may."""

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
    """A person and an app in a guild, both connected."""

    def __init__(self, world: World, guild: Guild, person: Actor, bot: Actor) -> None:
        self.world, self.guild, self.person, self.bot = world, guild, person, bot
        self.app: Session
        self.eyes: Session
        self.channel = guild.general

    @property
    def base(self) -> str:
        """The address of the app's commands."""
        return f"/applications/{self.bot.application_id}"

    @property
    def application_id(self) -> int:
        """The app."""
        assert self.bot.application_id is not None
        return self.bot.application_id

    async def command(self, name: str = "greet", **body: Any) -> Any:
        """A new command, for the guild."""
        given = {"name": name, "description": "says hello", **body}
        if given.get("type", 1) != 1:
            del given["description"]
        return (await self.bot.post(f"{self.base}/guilds/{self.guild.id}/commands", json=given)).ok()

    async def ask(self, kind: int, data: dict[str, Any], *, actor: Actor | None = None, **body: Any) -> Answer:
        """Ask the app something."""
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
        """Run a command; what the app hears of it."""
        answer = await self.ask(kind, {"id": command["id"], "name": command["name"], **data})
        assert answer.status == 204, answer.body
        return Heard(self, await self.app.next("INTERACTION_CREATE"))

    async def press(self, message_id: str, custom_id: str = "go", kind: int = 2, **data: Any) -> "Heard":
        """Use a component; what the app hears of it."""
        given = {"component_type": kind, "custom_id": custom_id, **data}
        answer = await self.ask(3, given, message_id=message_id)
        assert answer.status == 204, answer.body
        return Heard(self, await self.app.next("INTERACTION_CREATE"))


class Heard:
    """An interaction in the app's hands."""

    def __init__(self, stage: Stage, told: dict[str, Any]) -> None:
        self.stage, self.told = stage, told
        self.hook = f"/webhooks/{stage.bot.application_id}/{told['token']}"

    async def call(self, kind: int, data: Any = None, query: str = "?with_response=true") -> Answer:
        """Answer first."""
        body = {"type": kind} if data is None else {"type": kind, "data": data}
        path = f"/interactions/{self.told['id']}/{self.told['token']}/callback{query}"
        return await self.stage.world.request("POST", path, json=body)

    async def say(self, **data: Any) -> Any:
        """Answer first, with a message."""
        return (await self.call(4, data)).ok()["resource"]["message"]

    async def request(self, method: str, path: str = "", **options: Any) -> Answer:
        """Go on answering."""
        return await self.stage.world.request(method, self.hook + path, **options)


@pytest.fixture
async def stage(world: World) -> Stage:
    person = await world.user("asker")
    guild = await world.guild(None, person)
    bot = await world.bot(guild, name="answerer")
    made = Stage(world, guild, person, bot)
    made.app = await bot.connect()
    made.eyes = await person.connect()
    return made


# Commands


async def test_an_app_hears_a_command_with_every_field(stage: Stage) -> None:
    command = await stage.command(options=[{"type": 3, "name": "whom", "description": "who", "required": True}])
    answer = await stage.ask(
        2,
        {"id": command["id"], "name": "greet", "options": [{"type": 3, "name": "whom", "value": "world"}]},
        guild_id=str(stage.guild.id),
        session_id=stage.eyes.ready["session_id"],
        nonce="abc",
    )
    assert answer.status == 204

    told = await stage.app.next("INTERACTION_CREATE")

    assert told["data"] == {
        "id": command["id"],
        "name": "greet",
        "type": 1,
        "guild_id": str(stage.guild.id),
        "options": [{"type": 3, "name": "whom", "value": "world"}],
    }
    assert (told["type"], told["version"], told["context"]) == (2, 1, 0)
    assert told["application_id"] == str(stage.bot.application_id)
    assert (told["guild_id"], told["guild"]["id"]) == (str(stage.guild.id), str(stage.guild.id))
    assert (told["guild"]["locale"], told["guild_locale"], told["locale"]) == ("en-US", "en-US", "en-US")
    assert (told["channel_id"], told["channel"]["id"], told["channel"]["type"]) == (
        str(stage.channel),
        str(stage.channel),
        0,
    )
    # A partial channel: its overwrites are not said, which is not the same as that there are none.
    assert "permission_overwrites" not in told["channel"]
    assert told["member"]["user"]["id"] == str(stage.person.id)
    assert int(told["member"]["permissions"]) & Permissions.USE_APPLICATION_COMMANDS
    assert "user" not in told
    assert told["authorizing_integration_owners"] == {"0": str(stage.guild.id)}
    assert int(told["app_permissions"]) & Permissions.SEND_MESSAGES
    assert (told["entitlements"], told["entitlement_sku_ids"]) == ([], [])
    assert told["attachment_size_limit"] == 10 << 20
    noted = await stage.eyes.next("INTERACTION_CREATE")
    assert noted == {"id": told["id"], "nonce": "abc"}


async def test_the_interaction_of_a_guild_goes_to_its_shard(world: World) -> None:
    person = await world.user()
    guild = await world.guild(None, person)
    bot = await world.bot(guild)
    stage = Stage(world, guild, person, bot)
    shard = (guild.id >> 22) % 2
    stage.app = await bot.connect(shard=[shard, 2])
    other = await bot.connect(shard=[1 - shard, 2])
    command = await stage.command()

    heard = await stage.run(command)

    assert heard.told["guild_id"] == str(guild.id)
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

    heard = await stage.run(
        command, options=[{"type": kind, "name": name, "value": values[name]} for kind, name in kinds.items()]
    )

    data = heard.told["data"]
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
async def test_what_a_person_fills_in_is_held_against_the_command(
    stage: Stage, options: list[dict[str, Any]], given: list[dict[str, Any]], path: str, code: str
) -> None:
    command = await stage.command(options=[{"name": "a", "description": "x", **each} for each in options])

    refused = await stage.ask(2, {"id": command["id"], "name": "greet", "options": given})

    assert refused.errors(path) == [code]
    await stage.app.none_of("INTERACTION_CREATE")


async def test_sub_commands_are_named_in_the_answer(stage: Stage) -> None:
    inner = {"type": 1, "name": "add", "description": "x", "options": [{"type": 4, "name": "n", "description": "x"}]}
    command = await stage.command("math", options=[{"type": 2, "name": "sums", "description": "x", "options": [inner]}])
    given = [
        {
            "type": 2,
            "name": "sums",
            "options": [{"type": 1, "name": "add", "options": [{"type": 4, "name": "n", "value": 1}]}],
        }
    ]

    heard = await stage.run(command, options=given)
    said = await heard.say(content="1")

    assert heard.told["data"]["options"] == given
    assert said["interaction"]["name"] == "math sums add"
    refused = await stage.ask(2, {"id": command["id"], "name": "math", "options": []})
    assert refused.errors("data.options") == ["BASE_TYPE_BAD_LENGTH"]


async def test_files_come_with_a_command(stage: Stage) -> None:
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
    told = await stage.app.next("INTERACTION_CREATE")
    (attachment,) = told["data"]["resolved"]["attachments"].values()
    assert told["data"]["options"][0]["value"] == attachment["id"]
    assert (attachment["filename"], attachment["ephemeral"]) == ("notes.txt", True)
    async with stage.world.client.get(attachment["url"]) as response:
        assert await response.read() == b"hello"
    body["data"]["attachments"] = []  # type: ignore[index]
    for filename in ("notes.exe", "png", "image", "notes.txt.exe"):
        assert (await send(filename)).errors("data.options.0.value") == ["BASE_TYPE_CHOICES"]
    # http.md 1.11: only the name is looked at, in any case; these bytes are no picture.
    assert (await send("a.PNG")).status == 204
    assert (await stage.app.next("INTERACTION_CREATE"))["type"] == 2


async def test_context_menus_name_their_target(stage: Stage) -> None:
    on_user = await stage.command("Poke", type=2)
    on_message = await stage.command("Translate", type=3)
    said = await stage.guild.say(stage.person, "hola")

    poked = await stage.run(on_user, target_id=str(stage.guild.owner.id))
    translated = await stage.run(on_message, target_id=said["id"])

    assert poked.told["data"]["target_id"] == str(stage.guild.owner.id)
    assert str(stage.guild.owner.id) in poked.told["data"]["resolved"]["members"]
    assert translated.told["data"]["resolved"]["messages"][said["id"]]["content"] == "hola"
    first = await poked.say(content="ow")
    second = await translated.say(content="hello")
    assert first["type"] == second["type"] == MessageType.CONTEXT_MENU_COMMAND
    assert first["interaction_metadata"]["target_user"]["id"] == str(stage.guild.owner.id)
    assert second["interaction_metadata"]["target_message_id"] == said["id"]
    assert second["message_reference"]["message_id"] == said["id"]
    (await stage.ask(2, {"id": on_message["id"], "name": "x", "target_id": "1"})).refused(404, 10008)
    refused = await stage.ask(2, {"id": on_user["id"], "name": "x"})
    assert refused.errors("data.target_id") == ["BASE_TYPE_REQUIRED"]


async def test_nobody_hands_over_a_message_that_they_may_not_read(stage: Stage) -> None:
    on_message = await stage.command("Translate", type=3)
    guild, person = stage.guild, stage.person
    said = await guild.say(guild.owner, "before you came")
    lounge = await guild.channel("lounge", type=2)
    heard = await guild.say(guild.owner, "inside", channel=lounge)

    async def ask(channel: int, message: Any) -> Answer:
        stage.channel = channel
        return await stage.ask(2, {"id": on_message["id"], "name": "x", "target_id": message["id"]})

    assert (await ask(guild.general, said)).status == 204
    assert (await ask(lounge, heard)).status == 204
    await guild.overwrite(guild.general, person.id, deny=Permissions.READ_MESSAGE_HISTORY)
    (await ask(guild.general, said)).refused(404, 10008)
    await guild.overwrite(lounge, person.id, deny=Permissions.CONNECT)
    # Who is not let in has no commands there either.
    (await ask(lounge, heard)).refused(403, 50013)
    await guild.overwrite(lounge, person.id, deny=Permissions.READ_MESSAGE_HISTORY)
    (await ask(lounge, heard)).refused(404, 10008)
    [first, second] = [await stage.app.next("INTERACTION_CREATE") for _ in range(2)]
    assert [*first["data"]["resolved"]["messages"], *second["data"]["resolved"]["messages"]] == [
        said["id"],
        heard["id"],
    ]
    await stage.app.none_of("INTERACTION_CREATE")


async def test_an_app_reads_its_target_and_not_what_that_answers(stage: Stage) -> None:
    world, guild = stage.world, stage.guild
    await world.write(lambda call: call.tx.run("UPDATE applications SET flags = 0 WHERE id = ?", stage.application_id))
    on_message = await stage.command("Translate", type=3)
    secret = await guild.say(guild.owner, "secret")
    reference = {"message_id": secret["id"]}
    reply = await guild.say(stage.person, "hola", message_reference=reference)

    told = (await stage.run(on_message, target_id=reply["id"])).told["data"]["resolved"]["messages"][reply["id"]]
    assert (told["content"], told["referenced_message"]["content"]) == ("hola", "")

    button = {"type": 1, "components": [{"type": 2, "style": 1, "label": "go", "custom_id": "go"}]}
    said = await guild.say(stage.bot, "mine", message_reference=reference, components=[button])
    told = (await stage.press(said["id"])).told["message"]
    assert (told["content"], told["referenced_message"]["content"]) == ("mine", "")
    assert told["components"] == said["components"]


async def test_who_may_run_a_command_where(stage: Stage) -> None:
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


async def test_permissions_of_commands_are_asked(stage: Stage) -> None:
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


async def test_age_restricted_commands_need_such_a_channel(stage: Stage) -> None:
    command = await stage.command(nsfw=True)
    data = {"id": command["id"], "name": "greet"}

    (await stage.ask(2, data)).refused(404, 10063)
    (await stage.guild.owner.patch(f"/channels/{stage.channel}", json={"nsfw": True})).ok()
    assert (await stage.ask(2, data)).status == 204


async def test_outside_guilds_age_restricted_commands_are_for_those_who_opted_in(stage: Stage) -> None:
    made = (await stage.bot.post(f"{stage.base}/commands", json={"name": "hi", "description": "x", "nsfw": True})).ok()
    dm = (await stage.person.post("/users/@me/channels", json={"recipient_id": str(stage.bot.id)})).ok()
    stage.channel = int(dm["id"])

    (await stage.ask(2, {"id": made["id"], "name": "hi"})).refused(404, 10063)
    assert await found(stage) == {}
    await take_along(stage)

    assert (await stage.run(made)).told["context"] == 1
    assert await found(stage) == {"answerer": ["hi"]}


async def test_global_commands_work_in_the_bots_dm(stage: Stage) -> None:
    made = (await stage.bot.post(f"{stage.base}/commands", json={"name": "hi", "description": "x"})).ok()
    dm = (await stage.person.post("/users/@me/channels", json={"recipient_id": str(stage.bot.id)})).ok()
    stage.channel = int(dm["id"])

    heard = await stage.run(made)
    said = await heard.say(content="hello")

    told = heard.told
    assert (told["context"], told["user"]["id"]) == (1, str(stage.person.id))
    assert not {"member", "guild_id", "guild"} & set(told)
    assert told["authorizing_integration_owners"] == {"0": "0"}
    assert int(told["app_permissions"]) == ANSWERING
    assert (await stage.eyes.next("MESSAGE_CREATE"))["id"] == said["id"]
    only = (
        await stage.bot.post(f"{stage.base}/commands", json={"name": "g", "description": "x", "contexts": [0]})
    ).ok()
    (await stage.ask(2, {"id": only["id"], "name": "g"})).refused(404, 10063)


async def take_along(stage: Stage) -> None:
    """The person installs the app for themselves."""
    address = f"/oauth2/authorize?client_id={stage.application_id}&scope=applications.commands&integration_type=1"
    (await stage.person.post(address, json={"authorize": True})).ok()


async def test_people_bring_apps_along(stage: Stage) -> None:
    made = (await stage.bot.post(f"{stage.base}/commands", json={"name": "hi", "description": "x"})).ok()
    away = await stage.world.guild(None, stage.person)
    stage.channel = away.general
    (await stage.ask(2, {"id": made["id"], "name": "hi"})).refused(404, 10063)
    await take_along(stage)

    heard = await stage.run(made)
    said = await heard.say(content="hello @everyone")

    assert heard.told["authorizing_integration_owners"] == {"1": str(stage.person.id)}
    assert not int(heard.told["app_permissions"]) & ~ANSWERING
    assert not said["flags"] & EPHEMERAL
    assert said["author"]["id"] == str(stage.bot.id)
    for _ in range(5):
        (await heard.request("POST", json={"content": "more"})).ok()
    (await heard.request("POST", json={"content": "too much"})).refused(400, 40094)
    await away.overwrite(away.general, away.id, deny=Permissions.USE_EXTERNAL_APPS, kind=0)
    alone = await (await stage.run(made)).say(content="just you")
    assert alone["flags"] & EPHEMERAL
    await away.overwrite(away.general, away.id, kind=0)
    [mine] = (await stage.person.get("/oauth2/tokens")).ok()
    (await stage.person.delete(f"/oauth2/tokens/{mine['id']}")).ok()
    (await stage.ask(2, {"id": made["id"], "name": "hi"})).refused(404, 10063)


# Autocomplete


async def test_a_whole_number_is_told_as_one(stage: Stage) -> None:
    option = {"type": 4, "name": "n", "description": "x"}
    plain = await stage.command("plain", options=[{**option, "choices": [{"name": "two", "value": 2}]}])
    typed = await stage.command("typed", options=[{**option, "autocomplete": True}])

    heard = await stage.run(plain, options=[{"type": 4, "name": "n", "value": 2.0}])
    assert repr(heard.told["data"]["options"][0]["value"]) == "2"
    heard = await stage.run(typed, 4, options=[{"type": 4, "name": "n", "value": "2", "focused": True}])
    wrong = await heard.call(8, {"choices": [{"name": "x", "value": 2.5}]})
    assert wrong.errors("data.choices.0.value") == ["NUMBER_TYPE_COERCE"]
    (await heard.call(8, {"choices": [{"name": "x", "value": 2.0}]})).ok()
    told = await stage.eyes.next("APPLICATION_COMMAND_AUTOCOMPLETE_RESPONSE")
    assert repr(told["choices"][0]["value"]) == "2"


async def test_what_is_typed_is_completed(stage: Stage) -> None:
    options = [
        {"type": 3, "name": "city", "description": "x", "autocomplete": True, "required": True},
        {"type": 4, "name": "n", "description": "x", "autocomplete": True},
    ]
    command = await stage.command(options=options)
    typed = [{"type": 3, "name": "city", "value": "Be", "focused": True}, {"type": 4, "name": "n", "value": "4x"}]

    heard = await stage.run(command, 4, options=typed)

    assert (heard.told["type"], heard.told["data"]["options"]) == (4, typed)
    choices = [{"name": "Berlin", "value": "berlin"}, {"name": "Bern", "value": "bern"}]
    wrong = await heard.call(8, {"choices": [{"name": "x", "value": 1}]})
    assert wrong.errors("data.choices.0.value") == ["STRING_TYPE_CONVERT"]
    many = await heard.call(8, {"choices": choices * 13})
    assert many.errors("data.choices") == ["BASE_TYPE_BAD_LENGTH"]
    assert (await heard.call(4, {"content": "x"})).errors("type") == ["BASE_TYPE_CHOICES"]
    answer = (await heard.call(8, {"choices": choices})).ok()
    assert answer["interaction"]["type"] == 4
    assert "resource" not in answer
    told = await stage.eyes.next("APPLICATION_COMMAND_AUTOCOMPLETE_RESPONSE")
    assert told == {"id": heard.told["id"], "nonce": "n1", "choices": choices}
    data = {"id": command["id"], "name": "greet", "options": [{"type": 3, "name": "city", "value": "x"}]}
    assert (await stage.ask(4, data)).errors("data.options") == ["BASE_TYPE_REQUIRED"]


# Answers


async def test_a_message_answers_a_command(stage: Stage) -> None:
    heard = await stage.run(await stage.command())

    answer = (await heard.call(4, {"content": f"hi <@{stage.person.id}> @everyone"})).ok()

    said = answer["resource"]["message"]
    assert answer["resource"]["type"] == 4
    assert answer["interaction"] == {
        "id": heard.told["id"],
        "type": 2,
        "response_message_id": said["id"],
        "response_message_loading": False,
        "response_message_ephemeral": False,
        "channel_id": str(stage.channel),
        "guild_id": str(stage.guild.id),
    }
    application_id = str(stage.bot.application_id)
    assert (said["webhook_id"], said["application_id"]) == (application_id, application_id)
    assert (said["author"]["id"], said["author"]["username"]) == (str(stage.bot.id), "answerer")
    assert said["author"]["discriminator"] != "0000"
    assert (said["type"], said["mention_everyone"]) == (20, False)
    assert [each["id"] for each in said["mentions"]] == [str(stage.person.id)]
    metadata = said["interaction_metadata"]
    assert (metadata["id"], metadata["type"], metadata["user"]["id"]) == (heard.told["id"], 2, str(stage.person.id))
    assert metadata["authorizing_integration_owners"] == {"0": str(stage.guild.id)}
    assert (said["interaction"]["name"], said["interaction"]["user"]["id"]) == ("greet", str(stage.person.id))
    told = await stage.eyes.next("MESSAGE_CREATE")
    assert (told["id"], told["guild_id"]) == (said["id"], str(stage.guild.id))
    assert told["interaction"]["member"]["joined_at"]
    assert (await stage.eyes.next("INTERACTION_SUCCESS")) == {"id": heard.told["id"], "nonce": "n1"}
    read = (await stage.person.get(f"/channels/{stage.channel}/messages/{said['id']}")).ok()
    assert read["interaction_metadata"] == metadata
    assert read["author"]["username"] == "answerer"


async def test_without_with_response_nothing_is_answered(stage: Stage) -> None:
    heard = await stage.run(await stage.command())

    answer = await heard.call(4, {"content": "hi"}, query="")

    assert (answer.status, answer.body) == (204, b"")
    assert "X-RateLimit-Bucket" not in answer.headers


async def test_an_answer_is_given_once_and_soon(stage: Stage) -> None:
    command = await stage.command()
    heard = await stage.run(command)
    (await heard.request("GET", "/messages/@original")).refused(404, 10015)
    stage.world.clock.advance(3_000)
    await heard.say(content="in time")
    (await heard.call(4, {"content": "again"})).refused(400, 40060)
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
async def test_a_command_is_not_answered_like_something_else(stage: Stage, kind: int) -> None:
    heard = await stage.run(await stage.command())
    data: dict[str, Any] = {"choices": []} if kind == 8 else {}

    assert (await heard.call(kind, data)).errors("type") == ["BASE_TYPE_CHOICES"]
    assert (await heard.call(2)).errors("type") == ["UNION_TYPE_CHOICES"]
    await heard.say(content="still there")


async def test_a_refused_answer_can_be_given_again(stage: Stage) -> None:
    heard = await stage.run(await stage.command())

    (await heard.call(4, {"content": ""})).refused(400, 50006)
    (await heard.call(4)).refused(400, 50006)
    row = {"type": 1, "components": [{"type": 2, "style": 1, "label": "x"}]}
    refused = await heard.call(4, {"content": "x", "components": [row]})
    assert refused.errors("data.components.0.components.0.custom_id") == ["BUTTON_COMPONENT_CUSTOM_ID_REQUIRED"]
    refused = await heard.call(4, {"embeds": [{"url": "x"}], "attachments": [{"id": "0", "filename": "a.txt"}]})
    assert refused.errors("data.embeds.0.description") == ["BASE_TYPE_REQUIRED"]
    assert refused.errors("data.attachments.0.id") == ["ATTACHMENT_NOT_FOUND"]
    await heard.say(content="now")
    refused = await heard.request("POST", json={"content": "x", "components": [row]})
    assert refused.errors("components.0.components.0.custom_id") == ["BUTTON_COMPONENT_CUSTOM_ID_REQUIRED"]


async def test_an_ephemeral_answer_is_known_to_two(stage: Stage) -> None:
    owner = await stage.guild.owner.connect()
    blind = await stage.bot.connect(Intents.GUILDS | Intents.GUILD_MESSAGES)
    heard = await stage.run(await stage.command())

    answer = (await heard.call(4, {"content": "psst", "flags": EPHEMERAL})).ok()

    said = answer["resource"]["message"]
    assert answer["interaction"]["response_message_ephemeral"] is True
    assert said["flags"] & EPHEMERAL
    for session in (stage.eyes, stage.app):
        told = await session.next("MESSAGE_CREATE")
        assert told["content"] == "psst"
        assert not {"guild_id", "member"} & set(told)
    await owner.none_of("MESSAGE_CREATE")
    await blind.none_of("MESSAGE_CREATE")
    for reader in (stage.person, stage.bot, stage.guild.owner):
        (await reader.get(f"/channels/{stage.channel}/messages/{said['id']}")).refused(404, 10008)
    assert (await stage.person.get(f"/channels/{stage.channel}/messages")).ok() == []
    channel = (await stage.person.get(f"/channels/{stage.channel}")).ok()
    assert channel["last_message_id"] != said["id"]
    assert (await heard.request("GET", "/messages/@original")).ok()["content"] == "psst"
    edited = (await heard.request("PATCH", "/messages/@original", json={"content": "louder"})).ok()
    assert (edited["content"], bool(edited["flags"] & EPHEMERAL)) == ("louder", True)
    assert (await stage.eyes.next("MESSAGE_UPDATE"))["content"] == "louder"
    assert (await heard.request("DELETE", "/messages/@original")).status == 204
    gone = await stage.eyes.next("MESSAGE_DELETE")
    assert gone == {"id": said["id"], "channel_id": str(stage.channel)}
    await owner.none_of("MESSAGE_UPDATE", "MESSAGE_DELETE")
    (await heard.request("GET", "/messages/@original")).refused(404, 10008)


async def test_files_of_ephemeral_answers_say_so(stage: Stage) -> None:
    heard = await stage.run(await stage.command())
    form = aiohttp.FormData()
    form.add_field("payload_json", json.dumps({"type": 4, "data": {"flags": EPHEMERAL}}))
    form.add_field("files[0]", b"secret", filename="note.txt")
    path = f"/interactions/{heard.told['id']}/{heard.told['token']}/callback?with_response=true"

    said = (await stage.world.request("POST", path, data=form)).ok()["resource"]["message"]

    (attachment,) = said["attachments"]
    assert attachment["ephemeral"] is True
    assert "/ephemeral-attachments/" in attachment["url"]
    async with stage.world.client.get(attachment["url"]) as response:
        assert await response.read() == b"secret"


@pytest.mark.parametrize("v2", [False, True])
async def test_what_shows_files_of_ephemeral_answers_says_so_too(stage: Stage, v2: bool) -> None:
    url = {"url": "attachment://a.png"}
    embed = {
        "title": "x",
        "image": url,
        "thumbnail": url,
        "author": {"name": "x", "icon_url": url["url"]},
        "footer": {"text": "x", "icon_url": url["url"]},
    }
    text = {"type": 10, "content": "x"}
    shown = [
        {"type": 12, "items": [{"media": url}]},
        {"type": 13, "file": url},
        {"type": 9, "components": [text], "accessory": {"type": 11, "media": url}},
    ]
    data = {"components": shown, "flags": EPHEMERAL | V2} if v2 else {"embeds": [embed], "flags": EPHEMERAL}
    heard = await stage.run(await stage.command())
    form = aiohttp.FormData()
    form.add_field("payload_json", json.dumps({"type": 4, "data": data}))
    form.add_field("files[0]", default_avatar(0), filename="a.png", content_type="image/png")
    path = f"/interactions/{heard.told['id']}/{heard.told['token']}/callback?with_response=true"

    said = (await stage.world.request("POST", path, data=form)).ok()["resource"]["message"]

    addresses = set(re.findall(r'"(http[^"]*a\.png[^"]*)"', json.dumps([said["embeds"], said["components"]])))
    assert addresses
    for address in addresses:
        assert "/ephemeral-attachments/" in address
        async with stage.world.client.get(address) as response:
            assert (response.status, (await response.read())[:4]) == (200, b"\x89PNG")


async def test_ephemeral_polls_are_refused(stage: Stage) -> None:
    heard = await stage.run(await stage.command())
    poll = {"question": {"text": "?"}, "answers": [{"poll_media": {"text": "yes"}}]}

    (await heard.call(4, {"poll": poll, "flags": EPHEMERAL})).refused(400, 520002)
    assert (await heard.say(poll=poll))["poll"]["question"]["text"] == "?"


async def test_old_interactions_and_ephemeral_messages_are_swept_out(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Each of them sweeps, and not one of many.
    monkeypatch.setattr(store, "SWEPT_BY", 1)
    command = await stage.command()
    for _ in range(3):
        await (await stage.run(command)).say(content="x", flags=EPHEMERAL)
    stage.world.clock.advance(messages.EPHEMERAL_MS + 1)
    for _ in range(2):
        await (await stage.run(command)).say(content="x", flags=EPHEMERAL)

    left = await stage.world.write(lambda call: call.tx.value("SELECT COUNT(*) FROM ephemeral_messages"))
    asked = await stage.world.write(lambda call: call.tx.value("SELECT COUNT(*) FROM interactions"))

    assert left == 2
    assert asked == 2


async def test_a_deferred_answer_is_filled_in_later(stage: Stage) -> None:
    heard = await stage.run(await stage.command())

    answer = (await heard.call(5)).ok()

    message_id = answer["interaction"]["response_message_id"]
    assert answer["interaction"]["response_message_loading"] is True
    assert "resource" not in answer
    told = await stage.eyes.next("MESSAGE_CREATE")
    assert (told["id"], told["flags"], told["content"]) == (message_id, LOADING, "")
    stage.world.clock.advance(14 * 60_000)
    row = {"type": 10, "content": "done"}
    filled = (await heard.request("PATCH", "/messages/@original", json={"flags": V2, "components": [row]})).ok()
    assert (filled["id"], filled["flags"], filled["edited_timestamp"]) == (message_id, V2, None)
    assert (await stage.eyes.next("MESSAGE_UPDATE"))["components"][0]["content"] == "done"
    again = (await heard.request("PATCH", "/messages/@original", json={"components": [{**row, "content": "2"}]})).ok()
    assert again["edited_timestamp"] is not None


async def test_a_poll_fills_a_deferred_answer(stage: Stage) -> None:
    heard = await stage.run(await stage.command())
    await heard.call(5)
    poll = {"question": {"text": "?"}, "answers": [{"poll_media": {"text": "yes"}}], "duration": 1}

    filled = (await heard.request("PATCH", "/messages/@original", json={"poll": poll})).ok()

    assert filled["poll"]["question"]["text"] == "?"
    (await heard.request("PATCH", "/messages/@original", json={"content": "x"})).refused(400, 520003)
    stage.world.clock.advance(3_600_001)
    ended = await stage.eyes.next(
        "MESSAGE_UPDATE", lambda told: told.get("poll", {}).get("results", {})["is_finalized"]
    )
    assert ended["id"] == filled["id"]


async def test_the_first_follow_up_after_a_defer_fills_it(stage: Stage) -> None:
    heard = await stage.run(await stage.command())
    await heard.call(5, {"flags": EPHEMERAL})

    filled = (await heard.request("POST", json={"content": "here", "flags": MessageFlags.IS_VOICE_MESSAGE})).ok()
    more = (await heard.request("POST", json={"content": "and more"})).ok()

    assert filled["flags"] == EPHEMERAL
    assert filled["type"] == 20
    assert more["flags"] == 0
    assert more["interaction_metadata"]["original_response_message_id"] == filled["id"]


async def test_follow_ups_are_said_changed_and_taken_back(stage: Stage) -> None:
    heard = await stage.run(await stage.command())
    first = await heard.say(content="one")

    more = (await heard.request("POST", json={"content": "two", "username": "ignored"})).ok()
    quiet = (await heard.request("POST", json={"content": "three", "flags": EPHEMERAL})).ok()

    assert more["author"]["username"] == "answerer"
    assert more["interaction_metadata"]["original_response_message_id"] == first["id"]
    assert "interaction" not in more
    assert (more["type"], more["message_reference"]["message_id"]) == (19, first["id"])
    assert quiet["flags"] == EPHEMERAL
    spoken = (await heard.request("POST", json={"content": "no voice", "flags": 1 << 13 | 1 << 12})).ok()
    assert spoken["flags"] == MessageFlags.SUPPRESS_NOTIFICATIONS
    for said in (more, quiet):
        path = f"/messages/{said['id']}"
        assert (await heard.request("GET", path)).ok()["content"] == said["content"]
        assert (await heard.request("PATCH", path, json={"content": "new"})).ok()["content"] == "new"
        assert (await heard.request("DELETE", path)).status == 204
        (await heard.request("GET", path)).refused(404, 10008)
    other = await (await stage.run(await stage.command("other"))).say(content="not yours")
    (await heard.request("GET", f"/messages/{other['id']}")).refused(404, 10008)
    (await heard.request("PATCH", "/messages/@original", json={"poll": {"question": {"text": "?"}, "answers": []}}))
    stage.world.clock.advance(15 * 60_000 + 1)
    (await heard.request("GET", "/messages/@original")).refused(404, 10015)
    (await heard.request("POST", json={"content": "late"})).refused(404, 10015)


async def test_premium_required_is_still_answered(stage: Stage) -> None:
    heard = await stage.run(await stage.command())
    assert (await heard.call(10)).errors("type") == ["BASE_TYPE_CHOICES"]
    (await stage.bot.post(f"{stage.base}/skus", json={"type": 5, "name": "Gold", "flags": 1 << 8})).ok()

    answer = (await heard.call(10)).ok()

    assert answer["interaction"]["response_message_ephemeral"] is True
    assert (await stage.eyes.next("MESSAGE_CREATE"))["type"] == 26


@pytest.fixture
async def playing(world: World) -> Stage:
    """A stage whose app has an activity, and an entry point that the platform answers."""
    person = await world.user()
    guild = await world.guild(None, person)
    bot = await world.bot(guild, name="game", flags=PRIVILEGED | ApplicationFlags.EMBEDDED)
    stage = Stage(world, guild, person, bot)
    stage.app, stage.eyes = await bot.connect(), await person.connect()
    return stage


async def participants(stage: Stage, instance: str) -> list[str]:
    """Who takes part, as the app's server reads it."""
    shown = (await stage.bot.get(f"{stage.base}/activity-instances/{instance}")).ok()
    users: list[str] = shown["users"]
    return users


async def test_an_app_answers_with_its_activity(playing: Stage) -> None:
    first = (await (await playing.run(await playing.command())).call(12)).ok()
    other = await playing.world.user()
    await playing.world.write(lambda call: members.add(call, playing.guild.id, other.id), actor=playing.guild.owner.id)
    (await playing.ask(2, {"id": (await playing.command())["id"], "name": "greet"}, actor=other)).ok()
    heard = Heard(playing, await playing.app.next("INTERACTION_CREATE"))
    second = (await heard.call(12)).ok()

    instance = first["interaction"]["activity_instance_id"]
    assert first["resource"] == {"type": 12, "activity_instance": {"id": instance}}
    assert second["interaction"]["activity_instance_id"] == instance
    assert await participants(playing, instance) == [str(playing.person.id), str(other.id)]
    told = await playing.eyes.next("EMBEDDED_ACTIVITY_UPDATE_V2")
    assert told["application_id"] == str(playing.application_id)
    await playing.eyes.next("INTERACTION_SUCCESS")


async def test_an_activity_ends_with_the_session_that_launched_it(playing: Stage) -> None:
    command = await playing.command()
    session = playing.eyes.ready["session_id"]
    (await playing.ask(2, {"id": command["id"], "name": "greet"}, session_id=session)).ok()
    heard = Heard(playing, await playing.app.next("INTERACTION_CREATE"))
    instance = (await heard.call(12)).ok()["interaction"]["activity_instance_id"]

    await playing.eyes.close()
    await playing.app.next("EMBEDDED_ACTIVITY_UPDATE_V2", lambda told: not told["participants"])

    (await playing.bot.get(f"{playing.base}/activity-instances/{instance}")).refused(404, 0)


async def test_who_may_not_play_is_not_let_in_by_an_app(playing: Stage) -> None:
    heard = await playing.run(await playing.command())
    await playing.guild.overwrite(playing.channel, playing.guild.id, deny=Permissions.USE_EMBEDDED_ACTIVITIES, kind=0)

    (await heard.call(12)).refused(403, 50013)

    assert (await heard.say(content="then not"))["content"] == "then not"


async def test_the_platform_launches_for_an_entry_point(playing: Stage) -> None:
    entry = {"name": "launch", "type": 4, "handler": 2}
    made = (await playing.bot.post(f"{playing.base}/commands", json=entry)).ok()

    assert (await playing.ask(2, {"id": made["id"], "name": "launch"})).status == 204

    await playing.eyes.next("EMBEDDED_ACTIVITY_UPDATE_V2")
    said = await playing.eyes.next("MESSAGE_CREATE")
    assert (said["content"], said["author"]["id"]) == (f"<@{playing.person.id}> launched game", str(playing.bot.id))
    assert said["interaction_metadata"]["user"]["id"] == str(playing.person.id)
    assert said["mentions"] == []
    await playing.eyes.next("INTERACTION_SUCCESS")
    await playing.app.none_of("INTERACTION_CREATE")


async def test_the_person_hears_why_nothing_was_launched(playing: Stage) -> None:
    made = (await playing.bot.post(f"{playing.base}/commands", json={"name": "launch", "type": 4, "handler": 2})).ok()
    await playing.guild.overwrite(playing.channel, playing.guild.id, deny=Permissions.USE_EMBEDDED_ACTIVITIES, kind=0)

    assert (await playing.ask(2, {"id": made["id"], "name": "launch"})).status == 204

    assert (await playing.eyes.next("INTERACTION_FAILURE"))["reason_code"] == 13
    await playing.eyes.none_of("MESSAGE_CREATE", "EMBEDDED_ACTIVITY_UPDATE_V2", "INTERACTION_SUCCESS")


@pytest.mark.parametrize(("kind", "reason"), [("afk", 9), ("not-embedded", 14), ("full", 17)])
async def test_the_person_hears_exactly_why_nothing_was_launched(playing: Stage, kind: str, reason: int) -> None:
    made = (await playing.bot.post(f"{playing.base}/commands", json={"name": "launch", "type": 4, "handler": 2})).ok()
    place = playing.channel
    if kind == "afk":
        place = await playing.guild.channel("away", type=2)
        body = {"afk_channel_id": str(place)}
        (await playing.guild.owner.patch(f"/guilds/{playing.guild.id}", json=body)).ok()
    elif kind == "not-embedded":
        await playing.world.write(
            lambda call: call.tx.run("UPDATE applications SET flags = 0 WHERE id = ?", playing.application_id)
        )
    else:
        (await playing.bot.patch("/applications/@me", json={"max_participants": 1})).ok()
        where = (playing.application_id, playing.guild.owner.id, playing.channel, playing.guild.id)
        await playing.world.write(lambda call: activity_instances.launch(call, *where))

    asked = {"id": made["id"], "name": "launch"}
    assert (await playing.ask(2, asked, channel_id=str(place))).status == 204

    assert (await playing.eyes.next("INTERACTION_FAILURE"))["reason_code"] == reason


def test_every_refusal_to_launch_has_its_number() -> None:
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


async def with_components(stage: Stage, *components: dict[str, Any], **body: Any) -> Any:
    """A message of the bot with something to press."""
    return await stage.guild.say(stage.bot, "choose", components=list(components), **body)


async def test_a_button_is_pressed_and_its_message_changes(stage: Stage) -> None:
    message = await with_components(stage, BUTTON)

    heard = await stage.press(message["id"])

    assert heard.told["data"] == {"id": 2, "custom_id": "go", "component_type": 2}
    assert (heard.told["type"], heard.told["message"]["id"]) == (3, message["id"])
    refused = await heard.call(7, {"components": [{"type": 1, "components": []}], "embeds": [{}]})
    assert refused.errors("data.components.0.components") == ["BASE_TYPE_BAD_LENGTH"]
    assert refused.errors("data.embeds.0.description") == ["BASE_TYPE_REQUIRED"]

    answer = (await heard.call(7, {"content": "pressed", "components": []})).ok()
    assert answer["resource"]["message"]["id"] == message["id"]
    told = await stage.eyes.next("MESSAGE_UPDATE")
    assert (told["content"], told["components"]) == ("pressed", [])
    assert (await heard.request("GET", "/messages/@original")).ok()["id"] == message["id"]
    refused = await stage.ask(3, {"component_type": 2, "custom_id": "go"}, message_id=message["id"])
    assert refused.errors("data.custom_id") == ["COMPONENT_TYPE_INVALID"]


async def test_an_answer_to_a_component_is_shown_under_its_message(stage: Stage) -> None:
    message = await with_components(stage, BUTTON)

    said = await (await stage.press(message["id"])).say(content="ok")
    heard = await stage.press(message["id"])
    assert (await heard.call(6)).ok()["interaction"]["type"] == 3
    more = (await heard.request("POST", json={"content": "later"})).ok()

    assert (said["type"], said["message_reference"]["message_id"]) == (19, message["id"])
    assert said["referenced_message"]["id"] == message["id"]
    assert said["interaction_metadata"]["interacted_message_id"] == message["id"]
    assert "interaction" not in said
    assert more["message_reference"]["message_id"] == message["id"]
    changed = (await heard.request("PATCH", "/messages/@original", json={"content": "after"})).ok()
    assert changed["id"] == message["id"]


async def test_only_what_can_be_pressed_is_pressed(stage: Stage) -> None:
    off = {"type": 1, "components": [{"type": 2, "style": 1, "label": "x", "custom_id": "off", "disabled": True}]}
    message = await with_components(stage, off)
    others = await stage.guild.say(stage.person, "no app")
    data = {"component_type": 2, "custom_id": "off"}

    assert (await stage.ask(3, data, message_id=message["id"])).errors("data.custom_id") == ["COMPONENT_TYPE_INVALID"]
    (await stage.ask(3, data, message_id=others["id"])).refused(404, 10008)
    (await stage.ask(3, data, message_id="1")).refused(404, 10008)
    wrong = await stage.ask(3, {"component_type": 3, "custom_id": "off"}, message_id=message["id"])
    assert wrong.errors("data.custom_id") == ["COMPONENT_TYPE_INVALID"]


async def test_selects_say_what_was_chosen(stage: Stage) -> None:
    options = [{"label": each, "value": each} for each in "abc"]
    words = {"type": 1, "components": [{"type": 3, "custom_id": "w", "options": options, "max_values": 2}]}
    people = {"type": 1, "components": [{"type": 5, "custom_id": "p"}]}
    places = {"type": 1, "components": [{"type": 8, "custom_id": "c", "channel_types": [0]}]}
    either = {"type": 1, "components": [{"type": 7, "custom_id": "m"}]}
    message = await with_components(stage, words, people, places, either)

    chosen = await stage.press(message["id"], "w", 3, values=["c", "a"])
    person = await stage.press(message["id"], "p", 5, values=[str(stage.person.id)])
    place = await stage.press(message["id"], "c", 8, values=[str(stage.channel)])
    role = await stage.press(message["id"], "m", 7, values=[str(stage.guild.id)])

    assert chosen.told["data"]["values"] == ["c", "a"]
    assert "resolved" not in chosen.told["data"]
    assert str(stage.person.id) in person.told["data"]["resolved"]["members"]
    assert str(stage.channel) in place.told["data"]["resolved"]["channels"]
    assert str(stage.guild.id) in role.told["data"]["resolved"]["roles"]
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


async def test_components_of_ephemeral_messages_are_for_who_sees_them(stage: Stage) -> None:
    said = await (await stage.run(await stage.command())).say(content="x", flags=EPHEMERAL, components=[BUTTON])
    data = {"component_type": 2, "custom_id": "go"}

    (await stage.ask(3, data, message_id=said["id"], actor=stage.guild.owner)).refused(404, 10008)
    heard = await stage.press(said["id"])
    assert heard.told["message"]["flags"] & EPHEMERAL
    changed = (await heard.call(7, {"content": "y"})).ok()
    assert changed["interaction"]["response_message_ephemeral"] is True
    assert (await stage.eyes.next("MESSAGE_UPDATE"))["content"] == "y"
    again = await (await stage.press(said["id"])).say(content="public")
    assert (again["type"], "message_reference" in again) == (0, False)
    stage.world.clock.advance(15 * 60_000 + 1)
    (await stage.ask(3, data, message_id=said["id"])).refused(404, 10008)


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
    heard = await stage.run(await stage.command())
    (await heard.call(9, MODAL)).ok()
    shown = await stage.eyes.next("INTERACTION_MODAL_CREATE")
    assert (shown["id"], shown["custom_id"], shown["title"]) == (heard.told["id"], "form", "Tell us")
    assert shown["application"]["name"] == "answerer"
    assert [each["id"] for each in shown["components"]] == [1, 2, 4, 6, 8]
    filled = [
        {"type": 18, "component": {"type": 4, "custom_id": "name", "value": "Ann"}},
        {"type": 18, "component": {"type": 5, "custom_id": "who", "values": [str(stage.person.id)]}},
        {"type": 18, "component": {"type": 23, "custom_id": "sure", "value": True}},
    ]

    answer = await stage.ask(5, {"id": shown["id"], "custom_id": "form", "components": filled})
    assert answer.status == 204, answer.body

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
    said = await submitted.say(content="thanks")
    metadata = said["interaction_metadata"]
    assert (metadata["type"], metadata["triggering_interaction_metadata"]["id"]) == (5, heard.told["id"])


async def test_a_modal_opened_from_a_component_changes_its_message(stage: Stage) -> None:
    message = await with_components(stage, BUTTON)
    heard = await stage.press(message["id"])
    old = {
        "custom_id": "old",
        "title": "Old",
        "components": [
            {"type": 1, "components": [{"type": 4, "custom_id": "t", "label": "T", "style": 2, "required": False}]}
        ],
    }
    (await heard.call(9, old)).ok()
    body = {"id": heard.told["id"], "custom_id": "old", "components": []}
    assert (await stage.ask(5, body)).status == 204

    submitted = Heard(stage, await stage.app.next("INTERACTION_CREATE"))

    assert submitted.told["message"]["id"] == message["id"]
    row = {"type": 1, "id": 1, "components": [{"type": 4, "id": 2, "custom_id": "t", "value": ""}]}
    assert submitted.told["data"]["components"] == [row]
    changed = (await submitted.call(7, {"content": "submitted"})).ok()["resource"]["message"]
    assert (changed["id"], changed["content"]) == (message["id"], "submitted")


async def test_what_is_filled_in_is_held_against_the_modal(stage: Stage) -> None:
    heard = await stage.run(await stage.command())
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
    (await heard.call(9, modal)).ok()

    def body(**values: Any) -> dict[str, Any]:
        given: dict[str, Any] = {
            "t": {"value": "xxx"},
            "r": {"value": "a"},
            "g": {"values": ["a"]},
            "u": {"values": ["0"]},
        } | values
        components = [{"type": 18, "component": {"custom_id": key, **value}} for key, value in given.items()]
        return {"id": heard.told["id"], "custom_id": "f", "components": components}

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
    told = await stage.app.next("INTERACTION_CREATE")
    (attachment,) = told["data"]["resolved"]["attachments"].values()
    assert told["data"]["components"][4]["component"]["values"] == [attachment["id"]]
    stage.world.clock.advance(15 * 60_000 + 1)
    (await send(body())).refused(404, 10062)


async def test_a_bad_modal_is_refused_where_it_is_bad(stage: Stage) -> None:
    heard = await stage.run(await stage.command())
    bad = {**MODAL, "components": [{"type": 18, "label": "x", "component": {"type": 2}}]}

    refused = await heard.call(9, bad)

    assert refused.errors("data.components.0.component.type") == ["COMPONENT_TYPE_INVALID"]
    assert (await heard.call(9, {**MODAL, "title": "x" * 46})).errors("data.title") == ["BASE_TYPE_BAD_LENGTH"]


async def test_tokens_are_kept_as_hashes(stage: Stage) -> None:
    heard = await stage.run(await stage.command())

    rows = await stage.world.write(lambda call: call.tx.all("SELECT * FROM interactions"))

    assert heard.told["token"] not in str(rows)
    assert bytes(rows[0][1]) == hashlib.sha256(heard.told["token"].encode()).digest()


@pytest.mark.dated(changes.RESOLVED_CHANNEL_PERMISSIONS)
async def test_resolved_channels_carry_app_permissions_from_the_date(stage: Stage) -> None:
    command = await stage.command(options=[{"type": 7, "name": "c", "description": "x"}])
    for moment in (-1, 0):
        stage.world.clock.set(changes.RESOLVED_CHANNEL_PERMISSIONS.at_ms + moment)

        heard = await stage.run(command, options=[{"type": 7, "name": "c", "value": str(stage.channel)}])

        channel = heard.told["data"]["resolved"]["channels"][str(stage.channel)]
        assert ("app_permissions" in channel) is (moment == 0)


@pytest.mark.dated(changes.POLL_IN_DEFERRED_EDIT)
async def test_a_deferred_answer_becomes_a_poll_from_the_date(stage: Stage) -> None:
    command = await stage.command()
    poll = {"question": {"text": "?"}, "answers": [{"poll_media": {"text": "yes"}}], "duration": 1}
    for moment in (-1, 0):
        stage.world.clock.set(changes.POLL_IN_DEFERRED_EDIT.at_ms + moment)
        heard = await stage.run(command)
        await heard.call(5)

        filled = await heard.request("PATCH", "/messages/@original", json={"content": "ask", "poll": poll})

        assert ("poll" in filled.ok()) is (moment == 0)


@pytest.mark.dated(changes.USER_INSTALLS)
async def test_commands_and_answers_know_of_installations_from_the_date(stage: Stage) -> None:
    command = await stage.command()
    path = f"{stage.base}/guilds/{stage.guild.id}/commands/{command['id']}"
    for moment in (-1, 0):
        stage.world.clock.set(changes.USER_INSTALLS.at_ms + moment)

        said = await (await stage.run(command)).say(content="here")

        shown = (await stage.bot.get(path)).ok()
        assert ("contexts" in shown, "integration_types" in shown, "interaction_metadata" in said) == (moment == 0,) * 3


async def test_an_app_hears_what_the_person_and_the_guild_own(stage: Stage) -> None:
    command = await stage.command()
    made = await stage.bot.post(f"{stage.base}/skus", json={"type": 5, "name": "Gold", "flags": 1 << 8})
    sku = made.ok()["id"]
    given = {"sku_id": sku, "owner_id": str(stage.person.id), "owner_type": 2}
    entitlement = (await stage.bot.post(f"{stage.base}/entitlements", json=given)).ok()

    heard = await stage.run(command)

    [owned] = heard.told["entitlements"]
    assert (owned["id"], owned["sku_id"], owned["user_id"]) == (entitlement["id"], sku, str(stage.person.id))
    assert heard.told["entitlement_sku_ids"] == [sku]
    (await stage.bot.delete(f"{stage.base}/entitlements/{entitlement['id']}")).ok()
    assert (await stage.run(command)).told["entitlements"] == []


# Finding commands


async def found(stage: Stage, actor: Actor | None = None) -> dict[str, list[str]]:
    """The names of what somebody may use where the stage is, by the application's."""
    shown = (await (actor or stage.person).get(f"/channels/{stage.channel}/application-command-index")).ok()
    names = {each["id"]: each["name"] for each in shown["applications"]}
    listed: dict[str, list[str]] = {name: [] for name in names.values()}
    for each in shown["application_commands"]:
        listed[names[each["application_id"]]].append(each["name"])
    assert shown["version"] == max((each["version"] for each in shown["application_commands"]), default="0")
    return listed


async def test_people_find_the_commands_that_they_may_use(stage: Stage) -> None:
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

    assert await found(stage) == {"answerer": ["global", "hello"]}
    assert await found(stage, stage.guild.owner) == {"answerer": ["global", "staff", "hello"]}
    shown = await stage.person.get(
        f"/channels/{stage.channel}/application-command-index", headers={"X-Discord-Locale": "de"}
    )
    assert [each.get("name_localized") for each in shown.ok()["application_commands"]] == [None, "hallo"]
    stranger = await stage.world.user()
    (await stranger.get(f"/channels/{stage.channel}/application-command-index")).refused(403, 50001)
    (await other.get(f"/channels/{stage.channel}/application-command-index")).refused(403, 20001)


async def test_people_find_what_they_brought_along_and_the_bots_own_in_its_dm(stage: Stage) -> None:
    (await stage.bot.post(f"{stage.base}/commands", json={"name": "hi", "description": "x"})).ok()
    away = await stage.world.guild(None, stage.person)
    dm = (await stage.person.post("/users/@me/channels", json={"recipient_id": str(stage.bot.id)})).ok()
    friend = await stage.world.user()
    private = (await stage.person.post("/users/@me/channels", json={"recipient_id": str(friend.id)})).ok()
    stage.channel = int(dm["id"])
    assert await found(stage) == {"answerer": ["hi"]}
    for channel in (away.general, int(private["id"])):
        stage.channel = channel
        assert await found(stage) == {}

    await take_along(stage)

    for channel in (away.general, int(private["id"]), int(dm["id"])):
        stage.channel = channel
        assert await found(stage) == {"answerer": ["hi"]}
    stage.channel = away.general
    assert await found(stage, away.owner) == {}
