"""Interactions: commands, autocomplete, responses, activities, components, modals, time limits, and the command index."""

import hashlib
import json
import re
from typing import Any

import aiohttp
import pytest

from hubbub.protocol import changes, errors
from hubbub.protocol.enums import (
    ChannelType,
    CommandHandlerType,
    CommandOptionType,
    CommandPermissionType,
    CommandType,
    ComponentType,
    InteractionCallbackType,
    InteractionType,
    LaunchFailureReason,
    MessageType,
    OverwriteType,
    SkuType,
)
from hubbub.protocol.flags import ApplicationFlags, MessageFlags, SkuFlags
from hubbub.protocol.intents import Intents
from hubbub.protocol.permissions import Permissions
from hubbub.server.places import activity_instances, members
from hubbub.server.play.interactions import store
from hubbub.server.play.interactions.responses import activity_launch
from hubbub.server.talk.messages.actions import EPHEMERAL_LIFETIME_MS
from hubbub.server.transports.cdn import default_avatar
from tests.server.play.interaction_setup import (
    BUTTON_ROW,
    InteractionSetup,
    ReceivedInteraction,
    create_interaction_setup,
    install_for_user,
)
from tests.world import PRIVILEGED_INTENT_FLAGS, Actor, ApiResponse, World

EPHEMERAL = MessageFlags.EPHEMERAL
LOADING = MessageFlags.LOADING
COMPONENTS_V2 = MessageFlags.IS_COMPONENTS_V2
PRIVATE_RESPONSE_PERMISSIONS = (
    Permissions.ATTACH_FILES | Permissions.EMBED_LINKS | Permissions.MENTION_EVERYONE | Permissions.USE_EXTERNAL_EMOJIS
)


# Commands


async def test_an_app_receives_a_command_with_every_field(setup: InteractionSetup) -> None:
    command = await setup.create_command(
        options=[{"type": CommandOptionType.STRING, "name": "target", "description": "x", "required": True}]
    )
    response = await setup.create_interaction(
        InteractionType.APPLICATION_COMMAND,
        {
            "id": command["id"],
            "name": "greet",
            "options": [{"type": CommandOptionType.STRING, "name": "target", "value": "world"}],
        },
        guild_id=str(setup.guild.id),
        session_id=setup.user_session.ready["session_id"],
        nonce="abc",
    )
    assert response.status == 204

    event = await setup.app_session.next("INTERACTION_CREATE")

    assert event["data"] == {
        "id": command["id"],
        "name": "greet",
        "type": CommandType.CHAT_INPUT,
        "guild_id": str(setup.guild.id),
        "options": [{"type": CommandOptionType.STRING, "name": "target", "value": "world"}],
    }
    assert (event["type"], event["version"], event["context"]) == (2, 1, 0)
    assert event["application_id"] == str(setup.bot.application_id)
    assert (event["guild_id"], event["guild"]["id"]) == (str(setup.guild.id), str(setup.guild.id))
    assert (event["guild"]["locale"], event["guild_locale"], event["locale"]) == ("en-US", "en-US", "en-US")
    assert (event["channel_id"], event["channel"]["id"], event["channel"]["type"]) == (
        str(setup.channel_id),
        str(setup.channel_id),
        0,
    )
    # A partial channel leaves out its overwrites, which differs from an empty list.
    assert "permission_overwrites" not in event["channel"]
    assert event["member"]["user"]["id"] == str(setup.user.id)
    assert int(event["member"]["permissions"]) & Permissions.USE_APPLICATION_COMMANDS
    assert "user" not in event
    assert event["authorizing_integration_owners"] == {"0": str(setup.guild.id)}
    assert int(event["app_permissions"]) & Permissions.SEND_MESSAGES
    assert (event["entitlements"], event["entitlement_sku_ids"]) == ([], [])
    assert event["attachment_size_limit"] == 10 << 20
    created_event = await setup.user_session.next("INTERACTION_CREATE")
    assert created_event == {"id": event["id"], "nonce": "abc"}


async def test_an_interaction_in_a_guild_is_sent_to_its_shard(world: World) -> None:
    user = await world.user()
    guild = await world.guild(None, user)
    bot = await world.bot(guild)
    setup = InteractionSetup(world, guild, user, bot)
    shard = (guild.id >> 22) % 2
    setup.app_session = await bot.connect(shard=[shard, 2])
    other_session = await bot.connect(shard=[1 - shard, 2])
    command = await setup.create_command()

    interaction = await setup.run_command(command)

    assert interaction.payload["guild_id"] == str(guild.id)
    await other_session.wait_processed()
    assert "INTERACTION_CREATE" not in other_session.unread_names()


async def test_options_of_every_type_are_resolved(setup: InteractionSetup) -> None:
    names_by_type = {
        CommandOptionType.STRING: "text",
        CommandOptionType.INTEGER: "whole",
        CommandOptionType.BOOLEAN: "flag",
        CommandOptionType.USER: "user",
        CommandOptionType.CHANNEL: "channel",
        CommandOptionType.ROLE: "role",
        CommandOptionType.MENTIONABLE: "any",
        CommandOptionType.NUMBER: "real",
    }
    options = [{"type": option_type, "name": name, "description": "x"} for option_type, name in names_by_type.items()]
    command = await setup.create_command(options=options)
    role_id = await setup.guild.role("red")
    option_values = {
        "text": "x",
        "whole": 4,
        "flag": True,
        "user": str(setup.user.id),
        "channel": str(setup.channel_id),
        "role": str(role_id),
        "any": str(role_id),
        "real": 1.5,
    }

    interaction = await setup.run_command(
        command,
        options=[
            {"type": option_type, "name": name, "value": option_values[name]}
            for option_type, name in names_by_type.items()
        ],
    )

    interaction_data = interaction.payload["data"]
    assert {option["name"]: option["value"] for option in interaction_data["options"]} == option_values
    resolved_data = interaction_data["resolved"]
    assert resolved_data["users"][str(setup.user.id)]["username"] == "invoker"
    member = resolved_data["members"][str(setup.user.id)]
    assert not {"user", "deaf", "mute"} & set(member)
    assert int(member["permissions"]) & Permissions.VIEW_CHANNEL
    assert resolved_data["roles"][str(role_id)]["name"] == "red"
    channel = resolved_data["channels"][str(setup.channel_id)]
    assert (channel["name"], channel["type"], channel["guild_id"]) == ("general", 0, str(setup.guild.id))
    assert int(channel["permissions"]) & Permissions.VIEW_CHANNEL
    assert int(channel["app_permissions"]) & Permissions.VIEW_CHANNEL


@pytest.mark.parametrize(
    ("options", "submitted", "path", "code"),
    [
        ([{"type": CommandOptionType.STRING, "required": True}], [], "data.options.a", "BASE_TYPE_REQUIRED"),
        (
            [{"type": CommandOptionType.STRING}],
            [{"type": CommandOptionType.INTEGER, "name": "a", "value": 1}],
            "data.options.0.type",
            "BASE_TYPE_CHOICES",
        ),
        (
            [{"type": CommandOptionType.STRING}],
            [{"type": CommandOptionType.STRING, "name": "b", "value": "x"}],
            "data.options.0.name",
            "BASE_TYPE_CHOICES",
        ),
        (
            [{"type": CommandOptionType.STRING}],
            [{"type": CommandOptionType.STRING, "name": "a", "value": 1}],
            "data.options.0.value",
            "STRING_TYPE_CONVERT",
        ),
        (
            [{"type": CommandOptionType.STRING, "max_length": 2}],
            [{"type": CommandOptionType.STRING, "name": "a", "value": "xxx"}],
            "data.options.0.value",
            "BASE_TYPE_BAD_LENGTH",
        ),
        (
            [{"type": CommandOptionType.STRING, "choices": [{"name": "b", "value": "b"}]}],
            [{"type": CommandOptionType.STRING, "name": "a", "value": "c"}],
            "data.options.0.value",
            "BASE_TYPE_CHOICES",
        ),
        (
            [{"type": CommandOptionType.INTEGER}],
            [{"type": CommandOptionType.INTEGER, "name": "a", "value": 1.5}],
            "data.options.0.value",
            "NUMBER_TYPE_COERCE",
        ),
        (
            [{"type": CommandOptionType.INTEGER, "min_value": 5}],
            [{"type": CommandOptionType.INTEGER, "name": "a", "value": 4}],
            "data.options.0.value",
            "NUMBER_TYPE_MIN",
        ),
        (
            [{"type": CommandOptionType.NUMBER, "max_value": 5.5}],
            [{"type": CommandOptionType.NUMBER, "name": "a", "value": 6}],
            "data.options.0.value",
            "NUMBER_TYPE_MAX",
        ),
        (
            [{"type": CommandOptionType.BOOLEAN}],
            [{"type": CommandOptionType.BOOLEAN, "name": "a", "value": "yes"}],
            "data.options.0.value",
            "BOOLEAN_TYPE_CONVERT",
        ),
        (
            [{"type": CommandOptionType.USER}],
            [{"type": CommandOptionType.USER, "name": "a", "value": "1"}],
            "data.options.0.value",
            "NUMBER_TYPE_COERCE",
        ),
        (
            [{"type": CommandOptionType.CHANNEL}],
            [{"type": CommandOptionType.CHANNEL, "name": "a", "value": "1"}],
            "data.options.0.value",
            "NUMBER_TYPE_COERCE",
        ),
        (
            [{"type": CommandOptionType.ROLE}],
            [{"type": CommandOptionType.ROLE, "name": "a", "value": "x"}],
            "data.options.0.value",
            "NUMBER_TYPE_COERCE",
        ),
        (
            [{"type": CommandOptionType.ATTACHMENT}],
            [{"type": CommandOptionType.ATTACHMENT, "name": "a", "value": "0"}],
            "data.options.0.value",
            "ATTACHMENT_NOT_FOUND",
        ),
    ],
)
async def test_options_are_validated_against_the_command(
    setup: InteractionSetup, options: list[dict[str, Any]], submitted: list[dict[str, Any]], path: str, code: str
) -> None:
    command = await setup.create_command(options=[{"name": "a", "description": "x", **option} for option in options])

    rejected_response = await setup.create_interaction(
        InteractionType.APPLICATION_COMMAND, {"id": command["id"], "name": "greet", "options": submitted}
    )

    assert rejected_response.errors(path) == [code]
    await setup.app_session.assert_not_received("INTERACTION_CREATE")


async def test_a_response_names_the_subcommand(setup: InteractionSetup) -> None:
    inner = {
        "type": CommandOptionType.SUB_COMMAND,
        "name": "add",
        "description": "x",
        "options": [{"type": CommandOptionType.INTEGER, "name": "n", "description": "x"}],
    }
    command = await setup.create_command(
        "math",
        options=[{"type": CommandOptionType.SUB_COMMAND_GROUP, "name": "sums", "description": "x", "options": [inner]}],
    )
    submitted_options = [
        {
            "type": CommandOptionType.SUB_COMMAND_GROUP,
            "name": "sums",
            "options": [
                {
                    "type": CommandOptionType.SUB_COMMAND,
                    "name": "add",
                    "options": [{"type": CommandOptionType.INTEGER, "name": "n", "value": 1}],
                }
            ],
        }
    ]

    interaction = await setup.run_command(command, options=submitted_options)
    message = await interaction.respond_with_message(content="1")

    assert interaction.payload["data"]["options"] == submitted_options
    assert message["interaction"]["name"] == "math sums add"
    rejected_response = await setup.create_interaction(
        InteractionType.APPLICATION_COMMAND, {"id": command["id"], "name": "math", "options": []}
    )
    assert rejected_response.errors("data.options") == ["BASE_TYPE_BAD_LENGTH"]


async def test_a_command_can_have_attachments(setup: InteractionSetup) -> None:
    command = await setup.create_command(
        options=[
            {
                "type": CommandOptionType.ATTACHMENT,
                "name": "f",
                "description": "x",
                "required": True,
                "file_types": [".TXT", "image"],
            }
        ]
    )
    body = {
        "type": InteractionType.APPLICATION_COMMAND,
        "application_id": str(setup.bot.application_id),
        "channel_id": str(setup.channel_id),
        "data": {
            "id": command["id"],
            "name": "greet",
            "options": [{"type": CommandOptionType.ATTACHMENT, "name": "f", "value": "0"}],
            "attachments": [{"id": "0", "filename": "notes.txt"}],
        },
    }

    async def send_file(filename: str) -> ApiResponse:
        form = aiohttp.FormData()
        form.add_field("payload_json", json.dumps(body), content_type="application/json")
        form.add_field("files[0]", b"hello", filename=filename)
        return await setup.user.post("/interactions", data=form)

    assert (await send_file("notes.txt")).status == 204
    event = await setup.app_session.next("INTERACTION_CREATE")
    (attachment,) = event["data"]["resolved"]["attachments"].values()
    assert event["data"]["options"][0]["value"] == attachment["id"]
    assert (attachment["filename"], attachment["ephemeral"]) == ("notes.txt", True)
    async with setup.world.client.get(attachment["url"]) as response:
        assert await response.read() == b"hello"
    body["data"]["attachments"] = []  # type: ignore[index]
    for filename in ("notes.exe", "png", "image", "notes.txt.exe"):
        assert (await send_file(filename)).errors("data.options.0.value") == ["BASE_TYPE_CHOICES"]
    # spec/http.md#1.11: only the file name is checked, ignoring case; the content is not an image.
    assert (await send_file("a.PNG")).status == 204
    assert (await setup.app_session.next("INTERACTION_CREATE"))["type"] == InteractionType.APPLICATION_COMMAND


async def test_context_menu_commands_name_their_target(setup: InteractionSetup) -> None:
    user_command = await setup.create_command("Poke", type=CommandType.USER)
    message_command = await setup.create_command("Translate", type=CommandType.MESSAGE)
    message = await setup.guild.send_message(setup.user, "hola")

    user_interaction = await setup.run_command(user_command, target_id=str(setup.guild.owner.id))
    message_interaction = await setup.run_command(message_command, target_id=message["id"])

    assert user_interaction.payload["data"]["target_id"] == str(setup.guild.owner.id)
    assert str(setup.guild.owner.id) in user_interaction.payload["data"]["resolved"]["members"]
    assert message_interaction.payload["data"]["resolved"]["messages"][message["id"]]["content"] == "hola"
    user_response = await user_interaction.respond_with_message(content="ow")
    message_response = await message_interaction.respond_with_message(content="hello")
    assert user_response["type"] == message_response["type"] == MessageType.CONTEXT_MENU_COMMAND
    assert user_response["interaction_metadata"]["target_user"]["id"] == str(setup.guild.owner.id)
    assert message_response["interaction_metadata"]["target_message_id"] == message["id"]
    assert message_response["message_reference"]["message_id"] == message["id"]
    (
        await setup.create_interaction(
            InteractionType.APPLICATION_COMMAND, {"id": message_command["id"], "name": "x", "target_id": "1"}
        )
    ).rejected(404, 10008)
    rejected_response = await setup.create_interaction(
        InteractionType.APPLICATION_COMMAND, {"id": user_command["id"], "name": "x"}
    )
    assert rejected_response.errors("data.target_id") == ["BASE_TYPE_REQUIRED"]


async def test_a_target_message_must_be_readable_by_the_user(setup: InteractionSetup) -> None:
    message_command = await setup.create_command("Translate", type=CommandType.MESSAGE)
    guild, user = setup.guild, setup.user
    text_message = await guild.send_message(guild.owner, "before you came")
    voice_channel_id = await guild.channel("lounge", type=ChannelType.GUILD_VOICE)
    voice_message = await guild.send_message(guild.owner, "inside", channel_id=voice_channel_id)

    async def run_on_message(channel: int, message: Any) -> ApiResponse:
        setup.channel_id = channel
        return await setup.create_interaction(
            InteractionType.APPLICATION_COMMAND, {"id": message_command["id"], "name": "x", "target_id": message["id"]}
        )

    assert (await run_on_message(guild.general, text_message)).status == 204
    assert (await run_on_message(voice_channel_id, voice_message)).status == 204
    await guild.overwrite(guild.general, user.id, deny=Permissions.READ_MESSAGE_HISTORY)
    (await run_on_message(guild.general, text_message)).rejected(404, 10008)
    await guild.overwrite(voice_channel_id, user.id, deny=Permissions.CONNECT)
    # A user who cannot connect has no commands in the channel either.
    (await run_on_message(voice_channel_id, voice_message)).rejected(403, 50013)
    await guild.overwrite(voice_channel_id, user.id, deny=Permissions.READ_MESSAGE_HISTORY)
    (await run_on_message(voice_channel_id, voice_message)).rejected(404, 10008)
    [first_event, second_event] = [await setup.app_session.next("INTERACTION_CREATE") for _ in range(2)]
    assert [*first_event["data"]["resolved"]["messages"], *second_event["data"]["resolved"]["messages"]] == [
        text_message["id"],
        voice_message["id"],
    ]
    await setup.app_session.assert_not_received("INTERACTION_CREATE")


async def test_an_app_reads_its_target_but_not_the_referenced_message(setup: InteractionSetup) -> None:
    world, guild = setup.world, setup.guild
    await world.write(lambda call: call.tx.run("UPDATE applications SET flags = 0 WHERE id = ?", setup.application_id))
    message_command = await setup.create_command("Translate", type=CommandType.MESSAGE)
    secret = await guild.send_message(guild.owner, "secret")
    reference = {"message_id": secret["id"]}
    reply = await guild.send_message(setup.user, "hola", message_reference=reference)

    payload = (await setup.run_command(message_command, target_id=reply["id"])).payload["data"]["resolved"]["messages"][
        reply["id"]
    ]
    assert (payload["content"], payload["referenced_message"]["content"]) == ("hola", "")

    posted_message = await guild.send_message(setup.bot, "mine", message_reference=reference, components=[BUTTON_ROW])
    payload = (await setup.use_component(posted_message["id"])).payload["message"]
    assert (payload["content"], payload["referenced_message"]["content"]) == ("mine", "")
    assert payload["components"] == posted_message["components"]


async def test_running_a_command_requires_access_and_permissions(setup: InteractionSetup) -> None:
    world, guild = setup.world, setup.guild
    command = await setup.create_command()
    stranger = await world.user()
    hidden_channel_id = await guild.channel("hidden")
    await guild.overwrite(hidden_channel_id, guild.id, deny=Permissions.VIEW_CHANNEL, target_type=OverwriteType.ROLE)
    other_guild = await world.guild(None, setup.user)
    command_data = {"id": command["id"], "name": "greet"}

    (await setup.create_interaction(InteractionType.APPLICATION_COMMAND, command_data, actor=stranger)).rejected(
        403, 50001
    )
    (
        await setup.create_interaction(
            InteractionType.APPLICATION_COMMAND, command_data, channel_id=str(hidden_channel_id)
        )
    ).rejected(403, 50001)
    (await setup.create_interaction(InteractionType.APPLICATION_COMMAND, command_data, channel_id="1")).rejected(
        404, 10003
    )
    (
        await setup.create_interaction(InteractionType.APPLICATION_COMMAND, command_data, guild_id=str(other_guild.id))
    ).rejected(404, 10004)
    (
        await setup.create_interaction(
            InteractionType.APPLICATION_COMMAND, command_data, channel_id=str(other_guild.general)
        )
    ).rejected(404, 10063)
    (await setup.create_interaction(InteractionType.APPLICATION_COMMAND, command_data, application_id="1")).rejected(
        404, 10002
    )
    (await setup.create_interaction(InteractionType.APPLICATION_COMMAND, {"id": "1", "name": "x"})).rejected(404, 10063)
    (await setup.create_interaction(InteractionType.APPLICATION_COMMAND, command_data, actor=setup.bot)).rejected(
        403, 20001
    )
    outdated_response = await setup.create_interaction(
        InteractionType.APPLICATION_COMMAND, {**command_data, "version": "1"}
    )
    assert outdated_response.errors("data") == ["INTERACTION_APPLICATION_COMMAND_INVALID_VERSION"]
    await guild.overwrite(
        guild.general, guild.id, deny=Permissions.USE_APPLICATION_COMMANDS, target_type=OverwriteType.ROLE
    )
    (await setup.create_interaction(InteractionType.APPLICATION_COMMAND, command_data)).rejected(403, 50013)
    await guild.overwrite(guild.general, guild.id, target_type=OverwriteType.ROLE)
    timeout = {"communication_disabled_until": "2026-11-20T00:00:00Z"}
    (await guild.owner.patch(f"/guilds/{guild.id}/members/{setup.user.id}", json=timeout)).ok()
    (await setup.create_interaction(InteractionType.APPLICATION_COMMAND, command_data)).rejected(403, 50013)


async def test_command_permissions_are_enforced(setup: InteractionSetup) -> None:
    command = await setup.create_command(default_member_permissions=str(Permissions.BAN_MEMBERS))
    command_data = {"id": command["id"], "name": "greet"}
    path = f"{setup.application_path}/guilds/{setup.guild.id}/commands/{command['id']}/permissions"

    (await setup.create_interaction(InteractionType.APPLICATION_COMMAND, command_data)).rejected(403, 50013)
    allowing_permissions = {
        "permissions": [{"id": str(setup.user.id), "type": CommandPermissionType.USER, "permission": True}]
    }
    (await setup.guild.owner.put(path, json=allowing_permissions)).ok()
    assert (await setup.create_interaction(InteractionType.APPLICATION_COMMAND, command_data)).status == 204
    denying_permissions = {
        "permissions": [
            *allowing_permissions["permissions"],
            {"id": str(setup.channel_id), "type": CommandPermissionType.CHANNEL, "permission": False},
        ]
    }
    (await setup.guild.owner.put(path, json=denying_permissions)).ok()
    (await setup.create_interaction(InteractionType.APPLICATION_COMMAND, command_data)).rejected(403, 50013)


async def test_age_restricted_commands_require_an_age_restricted_channel(setup: InteractionSetup) -> None:
    command = await setup.create_command(nsfw=True)
    command_data = {"id": command["id"], "name": "greet"}

    (await setup.create_interaction(InteractionType.APPLICATION_COMMAND, command_data)).rejected(404, 10063)
    (await setup.guild.owner.patch(f"/channels/{setup.channel_id}", json={"nsfw": True})).ok()
    assert (await setup.create_interaction(InteractionType.APPLICATION_COMMAND, command_data)).status == 204


async def test_age_restricted_commands_in_dms_require_a_user_installation(setup: InteractionSetup) -> None:
    created_command = (
        await setup.bot.post(
            f"{setup.application_path}/commands", json={"name": "hi", "description": "x", "nsfw": True}
        )
    ).ok()
    dm = (await setup.user.post("/users/@me/channels", json={"recipient_id": str(setup.bot.id)})).ok()
    setup.channel_id = int(dm["id"])

    (
        await setup.create_interaction(InteractionType.APPLICATION_COMMAND, {"id": created_command["id"], "name": "hi"})
    ).rejected(404, 10063)
    assert await available_commands(setup) == {}
    await install_for_user(setup)

    assert (await setup.run_command(created_command)).payload["context"] == 1
    assert await available_commands(setup) == {"responder": ["hi"]}


async def test_global_commands_work_in_the_bots_dm(setup: InteractionSetup) -> None:
    created_command = (
        await setup.bot.post(f"{setup.application_path}/commands", json={"name": "hi", "description": "x"})
    ).ok()
    dm = (await setup.user.post("/users/@me/channels", json={"recipient_id": str(setup.bot.id)})).ok()
    setup.channel_id = int(dm["id"])

    interaction = await setup.run_command(created_command)
    message = await interaction.respond_with_message(content="hello")

    event = interaction.payload
    assert (event["context"], event["user"]["id"]) == (1, str(setup.user.id))
    assert not {"member", "guild_id", "guild"} & set(event)
    assert event["authorizing_integration_owners"] == {"0": "0"}
    assert int(event["app_permissions"]) == PRIVATE_RESPONSE_PERMISSIONS
    assert (await setup.user_session.next("MESSAGE_CREATE"))["id"] == message["id"]
    guild_command = (
        await setup.bot.post(
            f"{setup.application_path}/commands", json={"name": "g", "description": "x", "contexts": [0]}
        )
    ).ok()
    (
        await setup.create_interaction(InteractionType.APPLICATION_COMMAND, {"id": guild_command["id"], "name": "g"})
    ).rejected(404, 10063)


async def test_user_installed_apps_work_in_other_guilds(setup: InteractionSetup) -> None:
    created_command = (
        await setup.bot.post(f"{setup.application_path}/commands", json={"name": "hi", "description": "x"})
    ).ok()
    other_guild = await setup.world.guild(None, setup.user)
    setup.channel_id = other_guild.general
    (
        await setup.create_interaction(InteractionType.APPLICATION_COMMAND, {"id": created_command["id"], "name": "hi"})
    ).rejected(404, 10063)
    await install_for_user(setup)

    interaction = await setup.run_command(created_command)
    message = await interaction.respond_with_message(content="hello @everyone")

    assert interaction.payload["authorizing_integration_owners"] == {"1": str(setup.user.id)}
    assert not int(interaction.payload["app_permissions"]) & ~PRIVATE_RESPONSE_PERMISSIONS
    assert not message["flags"] & EPHEMERAL
    assert message["author"]["id"] == str(setup.bot.id)
    for _ in range(5):
        (await interaction.webhook_request("POST", json={"content": "more"})).ok()
    (await interaction.webhook_request("POST", json={"content": "too much"})).rejected(400, 40094)
    await other_guild.overwrite(
        other_guild.general, other_guild.id, deny=Permissions.USE_EXTERNAL_APPS, target_type=OverwriteType.ROLE
    )
    ephemeral = await (await setup.run_command(created_command)).respond_with_message(content="just you")
    assert ephemeral["flags"] & EPHEMERAL
    await other_guild.overwrite(other_guild.general, other_guild.id, target_type=OverwriteType.ROLE)
    [grant] = (await setup.user.get("/oauth2/tokens")).ok()
    (await setup.user.delete(f"/oauth2/tokens/{grant['id']}")).ok()
    (
        await setup.create_interaction(InteractionType.APPLICATION_COMMAND, {"id": created_command["id"], "name": "hi"})
    ).rejected(404, 10063)


# Autocomplete


async def test_integers_are_sent_as_integers(setup: InteractionSetup) -> None:
    option = {"type": CommandOptionType.INTEGER, "name": "n", "description": "x"}
    choice_command = await setup.create_command("plain", options=[{**option, "choices": [{"name": "two", "value": 2}]}])
    autocomplete_command = await setup.create_command("typed", options=[{**option, "autocomplete": True}])

    interaction = await setup.run_command(
        choice_command, options=[{"type": CommandOptionType.INTEGER, "name": "n", "value": 2.0}]
    )
    assert repr(interaction.payload["data"]["options"][0]["value"]) == "2"
    interaction = await setup.run_command(
        autocomplete_command,
        InteractionType.APPLICATION_COMMAND_AUTOCOMPLETE,
        options=[{"type": CommandOptionType.INTEGER, "name": "n", "value": "2", "focused": True}],
    )
    rejected_response = await interaction.respond(
        InteractionCallbackType.APPLICATION_COMMAND_AUTOCOMPLETE_RESULT, {"choices": [{"name": "x", "value": 2.5}]}
    )
    assert rejected_response.errors("data.choices.0.value") == ["NUMBER_TYPE_COERCE"]
    (
        await interaction.respond(
            InteractionCallbackType.APPLICATION_COMMAND_AUTOCOMPLETE_RESULT, {"choices": [{"name": "x", "value": 2.0}]}
        )
    ).ok()
    event = await setup.user_session.next("APPLICATION_COMMAND_AUTOCOMPLETE_RESPONSE")
    assert repr(event["choices"][0]["value"]) == "2"


async def test_autocomplete_returns_choices(setup: InteractionSetup) -> None:
    options = [
        {"type": CommandOptionType.STRING, "name": "city", "description": "x", "autocomplete": True, "required": True},
        {"type": CommandOptionType.INTEGER, "name": "n", "description": "x", "autocomplete": True},
    ]
    command = await setup.create_command(options=options)
    submitted_options = [
        {"type": CommandOptionType.STRING, "name": "city", "value": "Be", "focused": True},
        {"type": CommandOptionType.INTEGER, "name": "n", "value": "4x"},
    ]

    interaction = await setup.run_command(
        command, InteractionType.APPLICATION_COMMAND_AUTOCOMPLETE, options=submitted_options
    )

    assert (interaction.payload["type"], interaction.payload["data"]["options"]) == (4, submitted_options)
    choices = [{"name": "Berlin", "value": "berlin"}, {"name": "Bern", "value": "bern"}]
    rejected_response = await interaction.respond(
        InteractionCallbackType.APPLICATION_COMMAND_AUTOCOMPLETE_RESULT, {"choices": [{"name": "x", "value": 1}]}
    )
    assert rejected_response.errors("data.choices.0.value") == ["STRING_TYPE_CONVERT"]
    too_many = await interaction.respond(
        InteractionCallbackType.APPLICATION_COMMAND_AUTOCOMPLETE_RESULT, {"choices": choices * 13}
    )
    assert too_many.errors("data.choices") == ["BASE_TYPE_BAD_LENGTH"]
    assert (await interaction.respond(InteractionCallbackType.CHANNEL_MESSAGE_WITH_SOURCE, {"content": "x"})).errors(
        "type"
    ) == ["BASE_TYPE_CHOICES"]
    response = (
        await interaction.respond(InteractionCallbackType.APPLICATION_COMMAND_AUTOCOMPLETE_RESULT, {"choices": choices})
    ).ok()
    assert response["interaction"]["type"] == InteractionType.APPLICATION_COMMAND_AUTOCOMPLETE
    assert "resource" not in response
    event = await setup.user_session.next("APPLICATION_COMMAND_AUTOCOMPLETE_RESPONSE")
    assert event == {"id": interaction.payload["id"], "nonce": "n1", "choices": choices}
    command_data = {
        "id": command["id"],
        "name": "greet",
        "options": [{"type": CommandOptionType.STRING, "name": "city", "value": "x"}],
    }
    assert (await setup.create_interaction(InteractionType.APPLICATION_COMMAND_AUTOCOMPLETE, command_data)).errors(
        "data.options"
    ) == ["BASE_TYPE_REQUIRED"]


# Responses


async def test_a_command_is_answered_with_a_message(setup: InteractionSetup) -> None:
    interaction = await setup.run_command(await setup.create_command())

    response = (
        await interaction.respond(
            InteractionCallbackType.CHANNEL_MESSAGE_WITH_SOURCE, {"content": f"hi <@{setup.user.id}> @everyone"}
        )
    ).ok()

    message = response["resource"]["message"]
    assert response["resource"]["type"] == InteractionCallbackType.CHANNEL_MESSAGE_WITH_SOURCE
    assert response["interaction"] == {
        "id": interaction.payload["id"],
        "type": InteractionType.APPLICATION_COMMAND,
        "response_message_id": message["id"],
        "response_message_loading": False,
        "response_message_ephemeral": False,
        "channel_id": str(setup.channel_id),
        "guild_id": str(setup.guild.id),
    }
    application_id = str(setup.bot.application_id)
    assert (message["webhook_id"], message["application_id"]) == (application_id, application_id)
    assert (message["author"]["id"], message["author"]["username"]) == (str(setup.bot.id), "responder")
    assert message["author"]["discriminator"] != "0000"
    assert (message["type"], message["mention_everyone"]) == (MessageType.CHAT_INPUT_COMMAND, False)
    assert [mention["id"] for mention in message["mentions"]] == [str(setup.user.id)]
    metadata = message["interaction_metadata"]
    assert (metadata["id"], metadata["type"], metadata["user"]["id"]) == (
        interaction.payload["id"],
        2,
        str(setup.user.id),
    )
    assert metadata["authorizing_integration_owners"] == {"0": str(setup.guild.id)}
    assert (message["interaction"]["name"], message["interaction"]["user"]["id"]) == ("greet", str(setup.user.id))
    event = await setup.user_session.next("MESSAGE_CREATE")
    assert (event["id"], event["guild_id"]) == (message["id"], str(setup.guild.id))
    assert event["interaction"]["member"]["joined_at"]
    assert (await setup.user_session.next("INTERACTION_SUCCESS")) == {"id": interaction.payload["id"], "nonce": "n1"}
    stored_message = (await setup.user.get(f"/channels/{setup.channel_id}/messages/{message['id']}")).ok()
    assert stored_message["interaction_metadata"] == metadata
    assert stored_message["author"]["username"] == "responder"


async def test_the_callback_body_is_empty_without_with_response(setup: InteractionSetup) -> None:
    interaction = await setup.run_command(await setup.create_command())

    response = await interaction.respond(
        InteractionCallbackType.CHANNEL_MESSAGE_WITH_SOURCE, {"content": "hi"}, query=""
    )

    assert (response.status, response.body) == (204, b"")
    assert "X-RateLimit-Bucket" not in response.headers


async def test_an_interaction_is_answered_once_within_three_seconds(setup: InteractionSetup) -> None:
    command = await setup.create_command()
    interaction = await setup.run_command(command)
    (await interaction.webhook_request("GET", "/messages/@original")).rejected(404, 10015)
    setup.world.clock.advance(3_000)
    await interaction.respond_with_message(content="in time")
    (await interaction.respond(InteractionCallbackType.CHANNEL_MESSAGE_WITH_SOURCE, {"content": "again"})).rejected(
        400, 40060
    )
    late_interaction = await setup.run_command(command)
    setup.world.clock.advance(3_001)
    (await late_interaction.respond(InteractionCallbackType.CHANNEL_MESSAGE_WITH_SOURCE, {"content": "late"})).rejected(
        404, 10062
    )
    setup.world.clock.advance(250)
    failure_event = await setup.user_session.next("INTERACTION_FAILURE")
    assert failure_event == {"id": late_interaction.payload["id"], "nonce": "n1", "reason_code": 2}
    (await late_interaction.respond(InteractionCallbackType.CHANNEL_MESSAGE_WITH_SOURCE, {"content": "late"})).rejected(
        404, 10062
    )
    (await late_interaction.webhook_request("POST", json={"content": "x"})).rejected(404, 10015)
    deferred_response = {"type": InteractionCallbackType.DEFERRED_CHANNEL_MESSAGE_WITH_SOURCE}
    path = f"/interactions/{late_interaction.payload['id']}/wrong/callback"
    (await setup.world.request("POST", path, json=deferred_response)).rejected(404, 10062)
    path = f"/interactions/1/{late_interaction.payload['token']}/callback"
    (await setup.world.request("POST", path, json=deferred_response)).rejected(404, 10062)
    await setup.user_session.wait_delivered()
    assert sum(frame["t"] == "INTERACTION_FAILURE" for frame in setup.user_session.dispatches) == 1


@pytest.mark.parametrize(
    "callback_type",
    [
        InteractionCallbackType.PONG,
        InteractionCallbackType.DEFERRED_UPDATE_MESSAGE,
        InteractionCallbackType.UPDATE_MESSAGE,
        InteractionCallbackType.APPLICATION_COMMAND_AUTOCOMPLETE_RESULT,
        InteractionCallbackType.LAUNCH_ACTIVITY,
    ],
)
async def test_a_command_rejects_other_response_types(setup: InteractionSetup, callback_type: int) -> None:
    interaction = await setup.run_command(await setup.create_command())
    response_data: dict[str, Any] = (
        {"choices": []} if callback_type == InteractionCallbackType.APPLICATION_COMMAND_AUTOCOMPLETE_RESULT else {}
    )

    assert (await interaction.respond(callback_type, response_data)).errors("type") == ["BASE_TYPE_CHOICES"]
    assert (await interaction.respond(2)).errors("type") == ["UNION_TYPE_CHOICES"]
    await interaction.respond_with_message(content="still there")


async def test_a_rejected_response_can_be_sent_again(setup: InteractionSetup) -> None:
    interaction = await setup.run_command(await setup.create_command())

    (await interaction.respond(InteractionCallbackType.CHANNEL_MESSAGE_WITH_SOURCE, {"content": ""})).rejected(
        400, 50006
    )
    (await interaction.respond(InteractionCallbackType.CHANNEL_MESSAGE_WITH_SOURCE)).rejected(400, 50006)
    row = {"type": ComponentType.ACTION_ROW, "components": [{"type": ComponentType.BUTTON, "style": 1, "label": "x"}]}
    rejected_response = await interaction.respond(
        InteractionCallbackType.CHANNEL_MESSAGE_WITH_SOURCE, {"content": "x", "components": [row]}
    )
    assert rejected_response.errors("data.components.0.components.0.custom_id") == [
        "BUTTON_COMPONENT_CUSTOM_ID_REQUIRED"
    ]
    rejected_response = await interaction.respond(
        InteractionCallbackType.CHANNEL_MESSAGE_WITH_SOURCE,
        {"embeds": [{"url": "x"}], "attachments": [{"id": "0", "filename": "a.txt"}]},
    )
    assert rejected_response.errors("data.embeds.0.description") == ["BASE_TYPE_REQUIRED"]
    assert rejected_response.errors("data.attachments.0.id") == ["ATTACHMENT_NOT_FOUND"]
    await interaction.respond_with_message(content="now")
    rejected_response = await interaction.webhook_request("POST", json={"content": "x", "components": [row]})
    assert rejected_response.errors("components.0.components.0.custom_id") == ["BUTTON_COMPONENT_CUSTOM_ID_REQUIRED"]


async def test_an_ephemeral_response_is_visible_to_user_and_app_only(setup: InteractionSetup) -> None:
    owner_session = await setup.guild.owner.connect()
    session_without_content = await setup.bot.connect(Intents.GUILDS | Intents.GUILD_MESSAGES)
    interaction = await setup.run_command(await setup.create_command())

    response = (
        await interaction.respond(
            InteractionCallbackType.CHANNEL_MESSAGE_WITH_SOURCE, {"content": "psst", "flags": EPHEMERAL}
        )
    ).ok()

    message = response["resource"]["message"]
    assert response["interaction"]["response_message_ephemeral"] is True
    assert message["flags"] & EPHEMERAL
    for session in (setup.user_session, setup.app_session):
        event = await session.next("MESSAGE_CREATE")
        assert event["content"] == "psst"
        assert not {"guild_id", "member"} & set(event)
    await owner_session.assert_not_received("MESSAGE_CREATE")
    await session_without_content.assert_not_received("MESSAGE_CREATE")
    for reader in (setup.user, setup.bot, setup.guild.owner):
        (await reader.get(f"/channels/{setup.channel_id}/messages/{message['id']}")).rejected(404, 10008)
    assert (await setup.user.get(f"/channels/{setup.channel_id}/messages")).ok() == []
    channel = (await setup.user.get(f"/channels/{setup.channel_id}")).ok()
    assert channel["last_message_id"] != message["id"]
    assert (await interaction.webhook_request("GET", "/messages/@original")).ok()["content"] == "psst"
    edited_message = (
        await interaction.webhook_request("PATCH", "/messages/@original", json={"content": "louder"})
    ).ok()
    assert (edited_message["content"], bool(edited_message["flags"] & EPHEMERAL)) == ("louder", True)
    assert (await setup.user_session.next("MESSAGE_UPDATE"))["content"] == "louder"
    assert (await interaction.webhook_request("DELETE", "/messages/@original")).status == 204
    deleted_event = await setup.user_session.next("MESSAGE_DELETE")
    assert deleted_event == {"id": message["id"], "channel_id": str(setup.channel_id)}
    await owner_session.assert_not_received("MESSAGE_UPDATE", "MESSAGE_DELETE")
    (await interaction.webhook_request("GET", "/messages/@original")).rejected(404, 10008)


async def test_files_of_ephemeral_responses_are_marked_ephemeral(setup: InteractionSetup) -> None:
    interaction = await setup.run_command(await setup.create_command())
    form = aiohttp.FormData()
    form.add_field("payload_json", json.dumps({"type": 4, "data": {"flags": EPHEMERAL}}))
    form.add_field("files[0]", b"secret", filename="note.txt")
    path = f"/interactions/{interaction.payload['id']}/{interaction.payload['token']}/callback?with_response=true"

    message = (await setup.world.request("POST", path, data=form)).ok()["resource"]["message"]

    (attachment,) = message["attachments"]
    assert attachment["ephemeral"] is True
    assert "/ephemeral-attachments/" in attachment["url"]
    async with setup.world.client.get(attachment["url"]) as response:
        assert await response.read() == b"secret"


@pytest.mark.parametrize("is_v2", [False, True])
async def test_embeds_and_components_of_ephemeral_responses_use_ephemeral_urls(
    setup: InteractionSetup, is_v2: bool
) -> None:
    url = {"url": "attachment://a.png"}
    embed = {
        "title": "x",
        "image": url,
        "thumbnail": url,
        "author": {"name": "x", "icon_url": url["url"]},
        "footer": {"text": "x", "icon_url": url["url"]},
    }
    text = {"type": ComponentType.TEXT_DISPLAY, "content": "x"}
    components = [
        {"type": ComponentType.MEDIA_GALLERY, "items": [{"media": url}]},
        {"type": ComponentType.FILE, "file": url},
        {
            "type": ComponentType.SECTION,
            "components": [text],
            "accessory": {"type": ComponentType.THUMBNAIL, "media": url},
        },
    ]
    data = (
        {"components": components, "flags": EPHEMERAL | COMPONENTS_V2}
        if is_v2
        else {"embeds": [embed], "flags": EPHEMERAL}
    )
    interaction = await setup.run_command(await setup.create_command())
    form = aiohttp.FormData()
    form.add_field("payload_json", json.dumps({"type": 4, "data": data}))
    form.add_field("files[0]", default_avatar(0), filename="a.png", content_type="image/png")
    path = f"/interactions/{interaction.payload['id']}/{interaction.payload['token']}/callback?with_response=true"

    message = (await setup.world.request("POST", path, data=form)).ok()["resource"]["message"]

    urls = set(re.findall(r'"(http[^"]*a\.png[^"]*)"', json.dumps([message["embeds"], message["components"]])))
    assert urls
    for file_url in urls:
        assert "/ephemeral-attachments/" in file_url
        async with setup.world.client.get(file_url) as response:
            assert (response.status, (await response.read())[:4]) == (200, b"\x89PNG")


async def test_ephemeral_polls_are_rejected(setup: InteractionSetup) -> None:
    interaction = await setup.run_command(await setup.create_command())
    poll = {"question": {"text": "?"}, "answers": [{"poll_media": {"text": "yes"}}]}

    (
        await interaction.respond(
            InteractionCallbackType.CHANNEL_MESSAGE_WITH_SOURCE, {"poll": poll, "flags": EPHEMERAL}
        )
    ).rejected(400, 520002)
    assert (await interaction.respond_with_message(poll=poll))["poll"]["question"]["text"] == "?"


async def test_old_interactions_and_ephemeral_messages_are_deleted(
    setup: InteractionSetup, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Sweep on every interaction instead of on a fraction of them.
    monkeypatch.setattr(store, "SWEEP_INTERVAL", 1)
    command = await setup.create_command()
    for _ in range(3):
        await (await setup.run_command(command)).respond_with_message(content="x", flags=EPHEMERAL)
    setup.world.clock.advance(EPHEMERAL_LIFETIME_MS + 1)
    for _ in range(2):
        await (await setup.run_command(command)).respond_with_message(content="x", flags=EPHEMERAL)

    ephemeral_count = await setup.world.write(lambda call: call.tx.value("SELECT COUNT(*) FROM ephemeral_messages"))
    interaction_count = await setup.world.write(lambda call: call.tx.value("SELECT COUNT(*) FROM interactions"))

    assert ephemeral_count == 2
    assert interaction_count == 2


async def test_a_deferred_response_is_edited_later(setup: InteractionSetup) -> None:
    interaction = await setup.run_command(await setup.create_command())

    response = (await interaction.respond(InteractionCallbackType.DEFERRED_CHANNEL_MESSAGE_WITH_SOURCE)).ok()

    message_id = response["interaction"]["response_message_id"]
    assert response["interaction"]["response_message_loading"] is True
    assert "resource" not in response
    event = await setup.user_session.next("MESSAGE_CREATE")
    assert (event["id"], event["flags"], event["content"]) == (message_id, LOADING, "")
    setup.world.clock.advance(14 * 60_000)
    row = {"type": ComponentType.TEXT_DISPLAY, "content": "done"}
    completed_message = (
        await interaction.webhook_request(
            "PATCH", "/messages/@original", json={"flags": COMPONENTS_V2, "components": [row]}
        )
    ).ok()
    assert (completed_message["id"], completed_message["flags"], completed_message["edited_timestamp"]) == (
        message_id,
        COMPONENTS_V2,
        None,
    )
    assert (await setup.user_session.next("MESSAGE_UPDATE"))["components"][0]["content"] == "done"
    edited_again = (
        await interaction.webhook_request(
            "PATCH", "/messages/@original", json={"components": [{**row, "content": "2"}]}
        )
    ).ok()
    assert edited_again["edited_timestamp"] is not None


async def test_a_deferred_response_can_become_a_poll(setup: InteractionSetup) -> None:
    interaction = await setup.run_command(await setup.create_command())
    await interaction.respond(InteractionCallbackType.DEFERRED_CHANNEL_MESSAGE_WITH_SOURCE)
    poll = {"question": {"text": "?"}, "answers": [{"poll_media": {"text": "yes"}}], "duration": 1}

    completed_message = (await interaction.webhook_request("PATCH", "/messages/@original", json={"poll": poll})).ok()

    assert completed_message["poll"]["question"]["text"] == "?"
    (await interaction.webhook_request("PATCH", "/messages/@original", json={"content": "x"})).rejected(400, 520003)
    setup.world.clock.advance(3_600_001)
    ended_event = await setup.user_session.next(
        "MESSAGE_UPDATE", lambda event: event.get("poll", {}).get("results", {})["is_finalized"]
    )
    assert ended_event["id"] == completed_message["id"]


async def test_the_first_followup_fills_a_deferred_response(setup: InteractionSetup) -> None:
    interaction = await setup.run_command(await setup.create_command())
    await interaction.respond(InteractionCallbackType.DEFERRED_CHANNEL_MESSAGE_WITH_SOURCE, {"flags": EPHEMERAL})

    completed_message = (
        await interaction.webhook_request("POST", json={"content": "here", "flags": MessageFlags.IS_VOICE_MESSAGE})
    ).ok()
    followup = (await interaction.webhook_request("POST", json={"content": "and more"})).ok()

    assert completed_message["flags"] == EPHEMERAL
    assert completed_message["type"] == MessageType.CHAT_INPUT_COMMAND
    assert followup["flags"] == 0
    assert followup["interaction_metadata"]["original_response_message_id"] == completed_message["id"]


async def test_followups_are_created_edited_and_deleted(setup: InteractionSetup) -> None:
    interaction = await setup.run_command(await setup.create_command())
    first_message = await interaction.respond_with_message(content="one")

    public_followup = (await interaction.webhook_request("POST", json={"content": "two", "username": "ignored"})).ok()
    ephemeral_followup = (await interaction.webhook_request("POST", json={"content": "three", "flags": EPHEMERAL})).ok()

    assert public_followup["author"]["username"] == "responder"
    assert public_followup["interaction_metadata"]["original_response_message_id"] == first_message["id"]
    assert "interaction" not in public_followup
    assert (public_followup["type"], public_followup["message_reference"]["message_id"]) == (
        MessageType.REPLY,
        first_message["id"],
    )
    assert ephemeral_followup["flags"] == EPHEMERAL
    voice_followup = (
        await interaction.webhook_request(
            "POST",
            json={"content": "no voice", "flags": MessageFlags.IS_VOICE_MESSAGE | MessageFlags.SUPPRESS_NOTIFICATIONS},
        )
    ).ok()
    assert voice_followup["flags"] == MessageFlags.SUPPRESS_NOTIFICATIONS
    for message in (public_followup, ephemeral_followup):
        path = f"/messages/{message['id']}"
        assert (await interaction.webhook_request("GET", path)).ok()["content"] == message["content"]
        assert (await interaction.webhook_request("PATCH", path, json={"content": "new"})).ok()["content"] == "new"
        assert (await interaction.webhook_request("DELETE", path)).status == 204
        (await interaction.webhook_request("GET", path)).rejected(404, 10008)
    other_message = await (await setup.run_command(await setup.create_command("other"))).respond_with_message(
        content="not yours"
    )
    (await interaction.webhook_request("GET", f"/messages/{other_message['id']}")).rejected(404, 10008)
    poll = {"question": {"text": "?"}, "answers": []}
    rejected_response = await interaction.webhook_request("PATCH", "/messages/@original", json={"poll": poll})
    assert rejected_response.errors("poll.answers") == ["BASE_TYPE_BAD_LENGTH"]
    setup.world.clock.advance(15 * 60_000 + 1)
    (await interaction.webhook_request("GET", "/messages/@original")).rejected(404, 10015)
    (await interaction.webhook_request("POST", json={"content": "late"})).rejected(404, 10015)


async def test_premium_required_responses_are_still_accepted(setup: InteractionSetup) -> None:
    interaction = await setup.run_command(await setup.create_command())
    assert (await interaction.respond(InteractionCallbackType.PREMIUM_REQUIRED)).errors("type") == ["BASE_TYPE_CHOICES"]
    (
        await setup.bot.post(
            f"{setup.application_path}/skus",
            json={"type": SkuType.SUBSCRIPTION, "name": "Gold", "flags": SkuFlags.USER_SUBSCRIPTION},
        )
    ).ok()

    response = (await interaction.respond(InteractionCallbackType.PREMIUM_REQUIRED)).ok()

    assert response["interaction"]["response_message_ephemeral"] is True
    assert (await setup.user_session.next("MESSAGE_CREATE"))["type"] == MessageType.INTERACTION_PREMIUM_UPSELL


@pytest.fixture
async def activity_setup(world: World) -> InteractionSetup:
    """An interaction setup whose app has an activity."""
    return await create_interaction_setup(world, name="game", flags=PRIVILEGED_INTENT_FLAGS | ApplicationFlags.EMBEDDED)


async def list_participants(setup: InteractionSetup, instance_id: str) -> list[str]:
    """Return the user IDs of an instance's participants, requested by the bot."""
    instance_view = (await setup.bot.get(f"{setup.application_path}/activity-instances/{instance_id}")).ok()
    user_ids: list[str] = instance_view["users"]
    return user_ids


async def test_an_app_responds_by_launching_its_activity(activity_setup: InteractionSetup) -> None:
    first_response = (
        await (await activity_setup.run_command(await activity_setup.create_command())).respond(
            InteractionCallbackType.LAUNCH_ACTIVITY
        )
    ).ok()
    other_user = await activity_setup.world.user()
    await activity_setup.world.write(
        lambda call: members.membership.add(call, activity_setup.guild.id, other_user.id),
        actor=activity_setup.guild.owner.id,
    )
    (
        await activity_setup.create_interaction(
            InteractionType.APPLICATION_COMMAND,
            {"id": (await activity_setup.create_command())["id"], "name": "greet"},
            actor=other_user,
        )
    ).ok()
    interaction = ReceivedInteraction(activity_setup, await activity_setup.app_session.next("INTERACTION_CREATE"))
    second_response = (await interaction.respond(InteractionCallbackType.LAUNCH_ACTIVITY)).ok()

    instance_id = first_response["interaction"]["activity_instance_id"]
    assert first_response["resource"] == {
        "type": InteractionCallbackType.LAUNCH_ACTIVITY,
        "activity_instance": {"id": instance_id},
    }
    assert second_response["interaction"]["activity_instance_id"] == instance_id
    assert await list_participants(activity_setup, instance_id) == [str(activity_setup.user.id), str(other_user.id)]
    event = await activity_setup.user_session.next("EMBEDDED_ACTIVITY_UPDATE_V2")
    assert event["application_id"] == str(activity_setup.application_id)
    await activity_setup.user_session.next("INTERACTION_SUCCESS")


async def test_an_activity_ends_with_the_session_that_launched_it(activity_setup: InteractionSetup) -> None:
    command = await activity_setup.create_command()
    session_id = activity_setup.user_session.ready["session_id"]
    (
        await activity_setup.create_interaction(
            InteractionType.APPLICATION_COMMAND, {"id": command["id"], "name": "greet"}, session_id=session_id
        )
    ).ok()
    interaction = ReceivedInteraction(activity_setup, await activity_setup.app_session.next("INTERACTION_CREATE"))
    instance_id = (await interaction.respond(InteractionCallbackType.LAUNCH_ACTIVITY)).ok()["interaction"][
        "activity_instance_id"
    ]

    await activity_setup.user_session.close()
    await activity_setup.app_session.next("EMBEDDED_ACTIVITY_UPDATE_V2", lambda event: not event["participants"])

    (await activity_setup.bot.get(f"{activity_setup.application_path}/activity-instances/{instance_id}")).rejected(
        404, 0
    )


async def test_an_app_cannot_launch_an_activity_without_the_users_permission(activity_setup: InteractionSetup) -> None:
    interaction = await activity_setup.run_command(await activity_setup.create_command())
    await activity_setup.guild.overwrite(
        activity_setup.channel_id,
        activity_setup.guild.id,
        deny=Permissions.USE_EMBEDDED_ACTIVITIES,
        target_type=OverwriteType.ROLE,
    )

    (await interaction.respond(InteractionCallbackType.LAUNCH_ACTIVITY)).rejected(403, 50013)

    assert (await interaction.respond_with_message(content="then not"))["content"] == "then not"


async def test_the_platform_launches_the_activity_of_an_entry_point(activity_setup: InteractionSetup) -> None:
    entry = {
        "name": "launch",
        "type": CommandType.PRIMARY_ENTRY_POINT,
        "handler": CommandHandlerType.PLATFORM_LAUNCH_ACTIVITY,
    }
    created_command = (await activity_setup.bot.post(f"{activity_setup.application_path}/commands", json=entry)).ok()

    assert (
        await activity_setup.create_interaction(
            InteractionType.APPLICATION_COMMAND, {"id": created_command["id"], "name": "launch"}
        )
    ).status == 204

    await activity_setup.user_session.next("EMBEDDED_ACTIVITY_UPDATE_V2")
    message = await activity_setup.user_session.next("MESSAGE_CREATE")
    assert (message["content"], message["author"]["id"]) == (
        f"<@{activity_setup.user.id}> launched game",
        str(activity_setup.bot.id),
    )
    assert message["interaction_metadata"]["user"]["id"] == str(activity_setup.user.id)
    assert message["mentions"] == []
    await activity_setup.user_session.next("INTERACTION_SUCCESS")
    await activity_setup.app_session.assert_not_received("INTERACTION_CREATE")


async def test_a_failed_launch_without_permission_is_reported(activity_setup: InteractionSetup) -> None:
    created_command = (
        await activity_setup.bot.post(
            f"{activity_setup.application_path}/commands",
            json={
                "name": "launch",
                "type": CommandType.PRIMARY_ENTRY_POINT,
                "handler": CommandHandlerType.PLATFORM_LAUNCH_ACTIVITY,
            },
        )
    ).ok()
    await activity_setup.guild.overwrite(
        activity_setup.channel_id,
        activity_setup.guild.id,
        deny=Permissions.USE_EMBEDDED_ACTIVITIES,
        target_type=OverwriteType.ROLE,
    )

    assert (
        await activity_setup.create_interaction(
            InteractionType.APPLICATION_COMMAND, {"id": created_command["id"], "name": "launch"}
        )
    ).status == 204

    assert (await activity_setup.user_session.next("INTERACTION_FAILURE"))[
        "reason_code"
    ] == LaunchFailureReason.MISSING_PERMISSIONS
    await activity_setup.user_session.assert_not_received(
        "MESSAGE_CREATE", "EMBEDDED_ACTIVITY_UPDATE_V2", "INTERACTION_SUCCESS"
    )


@pytest.mark.parametrize(
    ("problem", "reason"),
    [
        ("afk", LaunchFailureReason.AFK_CHANNEL),
        ("not-embedded", LaunchFailureReason.NOT_EMBEDDED),
        ("full", LaunchFailureReason.FAILED),
    ],
)
async def test_a_failed_launch_has_a_specific_reason_code(
    activity_setup: InteractionSetup, problem: str, reason: int
) -> None:
    created_command = (
        await activity_setup.bot.post(
            f"{activity_setup.application_path}/commands",
            json={
                "name": "launch",
                "type": CommandType.PRIMARY_ENTRY_POINT,
                "handler": CommandHandlerType.PLATFORM_LAUNCH_ACTIVITY,
            },
        )
    ).ok()
    channel = activity_setup.channel_id
    if problem == "afk":
        channel = await activity_setup.guild.channel("away", type=ChannelType.GUILD_VOICE)
        body = {"afk_channel_id": str(channel)}
        (await activity_setup.guild.owner.patch(f"/guilds/{activity_setup.guild.id}", json=body)).ok()
    elif problem == "not-embedded":
        await activity_setup.world.write(
            lambda call: call.tx.run("UPDATE applications SET flags = 0 WHERE id = ?", activity_setup.application_id)
        )
    else:
        (await activity_setup.bot.patch("/applications/@me", json={"max_participants": 1})).ok()
        launch_arguments = (
            activity_setup.application_id,
            activity_setup.guild.owner.id,
            activity_setup.channel_id,
            activity_setup.guild.id,
        )
        await activity_setup.world.write(lambda call: activity_instances.launch(call, *launch_arguments))

    command_data = {"id": created_command["id"], "name": "launch"}
    assert (
        await activity_setup.create_interaction(
            InteractionType.APPLICATION_COMMAND, command_data, channel_id=str(channel)
        )
    ).status == 204

    assert (await activity_setup.user_session.next("INTERACTION_FAILURE"))["reason_code"] == reason


def test_every_launch_error_has_a_reason_code() -> None:
    reasons = (
        (errors.UNKNOWN_APPLICATION, LaunchFailureReason.UNKNOWN_APPLICATION),
        (errors.UNKNOWN_CHANNEL, LaunchFailureReason.UNKNOWN_CHANNEL),
        (errors.WRONG_CHANNEL_TYPE, LaunchFailureReason.CHANNEL_TYPE),
        (errors.MISSING_ACCESS, LaunchFailureReason.NO_ACCESS),
        (errors.INVALID_ACTIVITY_ACTION, LaunchFailureReason.FAILED),
    )
    for error, reason_code in reasons:
        assert activity_launch.failure_reason(error()) == reason_code


# Components


async def send_components(setup: InteractionSetup, *components: dict[str, Any], **body: Any) -> Any:
    """Send a message with components as the bot, and return it."""
    return await setup.guild.send_message(setup.bot, "choose", components=list(components), **body)


async def test_pressing_a_button_can_update_its_message(setup: InteractionSetup) -> None:
    message = await send_components(setup, BUTTON_ROW)

    interaction = await setup.use_component(message["id"])

    assert interaction.payload["data"] == {"id": 2, "custom_id": "go", "component_type": ComponentType.BUTTON}
    assert (interaction.payload["type"], interaction.payload["message"]["id"]) == (3, message["id"])
    rejected_response = await interaction.respond(
        InteractionCallbackType.UPDATE_MESSAGE,
        {"components": [{"type": ComponentType.ACTION_ROW, "components": []}], "embeds": [{}]},
    )
    assert rejected_response.errors("data.components.0.components") == ["BASE_TYPE_BAD_LENGTH"]
    assert rejected_response.errors("data.embeds.0.description") == ["BASE_TYPE_REQUIRED"]

    response = (
        await interaction.respond(InteractionCallbackType.UPDATE_MESSAGE, {"content": "pressed", "components": []})
    ).ok()
    assert response["resource"]["message"]["id"] == message["id"]
    event = await setup.user_session.next("MESSAGE_UPDATE")
    assert (event["content"], event["components"]) == ("pressed", [])
    assert (await interaction.webhook_request("GET", "/messages/@original")).ok()["id"] == message["id"]
    rejected_response = await setup.create_interaction(
        InteractionType.MESSAGE_COMPONENT,
        {"component_type": ComponentType.BUTTON, "custom_id": "go"},
        message_id=message["id"],
    )
    assert rejected_response.errors("data.custom_id") == ["COMPONENT_TYPE_INVALID"]


async def test_a_response_to_a_component_replies_to_its_message(setup: InteractionSetup) -> None:
    message = await send_components(setup, BUTTON_ROW)

    reply = await (await setup.use_component(message["id"])).respond_with_message(content="ok")
    interaction = await setup.use_component(message["id"])
    response = (await interaction.respond(InteractionCallbackType.DEFERRED_UPDATE_MESSAGE)).ok()
    assert response["interaction"]["type"] == InteractionType.MESSAGE_COMPONENT
    followup = (await interaction.webhook_request("POST", json={"content": "later"})).ok()

    assert (reply["type"], reply["message_reference"]["message_id"]) == (MessageType.REPLY, message["id"])
    assert reply["referenced_message"]["id"] == message["id"]
    assert reply["interaction_metadata"]["interacted_message_id"] == message["id"]
    assert "interaction" not in reply
    assert followup["message_reference"]["message_id"] == message["id"]
    edited_message = (await interaction.webhook_request("PATCH", "/messages/@original", json={"content": "after"})).ok()
    assert edited_message["id"] == message["id"]


async def test_only_enabled_components_can_be_used(setup: InteractionSetup) -> None:
    disabled_row = {
        "type": ComponentType.ACTION_ROW,
        "components": [{"type": ComponentType.BUTTON, "style": 1, "label": "x", "custom_id": "off", "disabled": True}],
    }
    message = await send_components(setup, disabled_row)
    other_message = await setup.guild.send_message(setup.user, "no app")
    component_data = {"component_type": ComponentType.BUTTON, "custom_id": "off"}

    assert (
        await setup.create_interaction(InteractionType.MESSAGE_COMPONENT, component_data, message_id=message["id"])
    ).errors("data.custom_id") == ["COMPONENT_TYPE_INVALID"]
    (
        await setup.create_interaction(
            InteractionType.MESSAGE_COMPONENT, component_data, message_id=other_message["id"]
        )
    ).rejected(404, 10008)
    (await setup.create_interaction(InteractionType.MESSAGE_COMPONENT, component_data, message_id="1")).rejected(
        404, 10008
    )
    rejected_response = await setup.create_interaction(
        InteractionType.MESSAGE_COMPONENT,
        {"component_type": ComponentType.STRING_SELECT, "custom_id": "off"},
        message_id=message["id"],
    )
    assert rejected_response.errors("data.custom_id") == ["COMPONENT_TYPE_INVALID"]


async def test_selects_contain_the_chosen_values(setup: InteractionSetup) -> None:
    options = [{"label": letter, "value": letter} for letter in "abc"]
    strings_select = {
        "type": ComponentType.ACTION_ROW,
        "components": [{"type": ComponentType.STRING_SELECT, "custom_id": "w", "options": options, "max_values": 2}],
    }
    users_select = {
        "type": ComponentType.ACTION_ROW,
        "components": [{"type": ComponentType.USER_SELECT, "custom_id": "p"}],
    }
    channels_select = {
        "type": ComponentType.ACTION_ROW,
        "components": [{"type": ComponentType.CHANNEL_SELECT, "custom_id": "c", "channel_types": [0]}],
    }
    mentionables_select = {
        "type": ComponentType.ACTION_ROW,
        "components": [{"type": ComponentType.MENTIONABLE_SELECT, "custom_id": "m"}],
    }
    message = await send_components(setup, strings_select, users_select, channels_select, mentionables_select)

    string_choice = await setup.use_component(message["id"], "w", ComponentType.STRING_SELECT, values=["c", "a"])
    user_choice = await setup.use_component(message["id"], "p", ComponentType.USER_SELECT, values=[str(setup.user.id)])
    channel_choice = await setup.use_component(
        message["id"], "c", ComponentType.CHANNEL_SELECT, values=[str(setup.channel_id)]
    )
    role_choice = await setup.use_component(
        message["id"], "m", ComponentType.MENTIONABLE_SELECT, values=[str(setup.guild.id)]
    )

    assert string_choice.payload["data"]["values"] == ["c", "a"]
    assert "resolved" not in string_choice.payload["data"]
    assert str(setup.user.id) in user_choice.payload["data"]["resolved"]["members"]
    assert str(setup.channel_id) in channel_choice.payload["data"]["resolved"]["channels"]
    assert str(setup.guild.id) in role_choice.payload["data"]["resolved"]["roles"]
    voice_channel_id = await setup.guild.channel("voice", type=ChannelType.GUILD_VOICE)

    async def submit(custom_id: str, component_type: int, *values: str) -> ApiResponse:
        component_data = {"component_type": component_type, "custom_id": custom_id, "values": list(values)}
        return await setup.create_interaction(
            InteractionType.MESSAGE_COMPONENT, component_data, message_id=message["id"]
        )

    assert (await submit("w", ComponentType.STRING_SELECT, "d")).errors("data.values.0") == ["BASE_TYPE_CHOICES"]
    assert (await submit("w", ComponentType.STRING_SELECT)).errors("data.values") == ["BASE_TYPE_BAD_LENGTH"]
    assert (await submit("w", ComponentType.STRING_SELECT, "a", "b", "c")).errors("data.values") == [
        "BASE_TYPE_BAD_LENGTH"
    ]
    assert (await submit("w", ComponentType.STRING_SELECT, "a", "a")).errors("data.values.1") == [
        "SET_TYPE_ALREADY_CONTAINS_VALUE"
    ]
    assert (await submit("p", ComponentType.USER_SELECT, "x")).errors("data.values.0") == ["NUMBER_TYPE_COERCE"]
    assert (await submit("p", ComponentType.USER_SELECT, "1")).errors("data.values.0") == ["NUMBER_TYPE_COERCE"]
    assert (await submit("c", ComponentType.CHANNEL_SELECT, str(voice_channel_id))).errors("data.values.0") == [
        "BASE_TYPE_CHOICES"
    ]


async def test_components_of_ephemeral_messages_are_usable_by_the_user_only(setup: InteractionSetup) -> None:
    message = await (await setup.run_command(await setup.create_command())).respond_with_message(
        content="x", flags=EPHEMERAL, components=[BUTTON_ROW]
    )
    component_data = {"component_type": ComponentType.BUTTON, "custom_id": "go"}

    (
        await setup.create_interaction(
            InteractionType.MESSAGE_COMPONENT, component_data, message_id=message["id"], actor=setup.guild.owner
        )
    ).rejected(404, 10008)
    interaction = await setup.use_component(message["id"])
    assert interaction.payload["message"]["flags"] & EPHEMERAL
    callback_response = (await interaction.respond(InteractionCallbackType.UPDATE_MESSAGE, {"content": "y"})).ok()
    assert callback_response["interaction"]["response_message_ephemeral"] is True
    assert (await setup.user_session.next("MESSAGE_UPDATE"))["content"] == "y"
    public_message = await (await setup.use_component(message["id"])).respond_with_message(content="public")
    assert (public_message["type"], "message_reference" in public_message) == (MessageType.DEFAULT, False)
    setup.world.clock.advance(15 * 60_000 + 1)
    (
        await setup.create_interaction(InteractionType.MESSAGE_COMPONENT, component_data, message_id=message["id"])
    ).rejected(404, 10008)


# Modals


MODAL: dict[str, Any] = {
    "custom_id": "form",
    "title": "Tell us",
    "components": [
        {"type": ComponentType.TEXT_DISPLAY, "content": "Welcome"},
        {
            "type": ComponentType.LABEL,
            "label": "Name",
            "component": {"type": ComponentType.TEXT_INPUT, "custom_id": "name", "style": 1, "max_length": 10},
        },
        {
            "type": ComponentType.LABEL,
            "label": "Color",
            "component": {
                "type": ComponentType.STRING_SELECT,
                "custom_id": "color",
                "required": False,
                "options": [{"label": "Red", "value": "r"}, {"label": "Blue", "value": "b"}],
            },
        },
        {
            "type": ComponentType.LABEL,
            "label": "Who",
            "component": {"type": ComponentType.USER_SELECT, "custom_id": "who"},
        },
        {
            "type": ComponentType.LABEL,
            "label": "Sure?",
            "component": {"type": ComponentType.CHECKBOX, "custom_id": "sure"},
        },
    ],
}


async def test_a_modal_is_shown_and_submitted(setup: InteractionSetup) -> None:
    interaction = await setup.run_command(await setup.create_command())
    (await interaction.respond(InteractionCallbackType.MODAL, MODAL)).ok()
    modal_event = await setup.user_session.next("INTERACTION_MODAL_CREATE")
    assert (modal_event["id"], modal_event["custom_id"], modal_event["title"]) == (
        interaction.payload["id"],
        "form",
        "Tell us",
    )
    assert modal_event["application"]["name"] == "responder"
    assert [component["id"] for component in modal_event["components"]] == [1, 2, 4, 6, 8]
    components = [
        {
            "type": ComponentType.LABEL,
            "component": {"type": ComponentType.TEXT_INPUT, "custom_id": "name", "value": "Ann"},
        },
        {
            "type": ComponentType.LABEL,
            "component": {"type": ComponentType.USER_SELECT, "custom_id": "who", "values": [str(setup.user.id)]},
        },
        {
            "type": ComponentType.LABEL,
            "component": {"type": ComponentType.CHECKBOX, "custom_id": "sure", "value": True},
        },
    ]

    response = await setup.create_interaction(
        InteractionType.MODAL_SUBMIT, {"id": modal_event["id"], "custom_id": "form", "components": components}
    )
    assert response.status == 204, response.body

    submitted_interaction = ReceivedInteraction(setup, await setup.app_session.next("INTERACTION_CREATE"))
    interaction_data = submitted_interaction.payload["data"]
    assert (submitted_interaction.payload["type"], interaction_data["custom_id"]) == (5, "form")
    assert interaction_data["components"] == [
        {"type": ComponentType.TEXT_DISPLAY, "id": 1},
        {
            "type": ComponentType.LABEL,
            "id": 2,
            "component": {"type": ComponentType.TEXT_INPUT, "id": 3, "custom_id": "name", "value": "Ann"},
        },
        {
            "type": ComponentType.LABEL,
            "id": 4,
            "component": {"type": ComponentType.STRING_SELECT, "id": 5, "custom_id": "color", "values": []},
        },
        {
            "type": ComponentType.LABEL,
            "id": 6,
            "component": {
                "type": ComponentType.USER_SELECT,
                "id": 7,
                "custom_id": "who",
                "values": [str(setup.user.id)],
            },
        },
        {
            "type": ComponentType.LABEL,
            "id": 8,
            "component": {"type": ComponentType.CHECKBOX, "id": 9, "custom_id": "sure", "value": True},
        },
    ]
    assert str(setup.user.id) in interaction_data["resolved"]["users"]
    assert (await submitted_interaction.respond(InteractionCallbackType.UPDATE_MESSAGE, {"content": "x"})).errors(
        "type"
    ) == ["BASE_TYPE_CHOICES"]
    assert (await submitted_interaction.respond(InteractionCallbackType.MODAL, MODAL)).errors("type") == [
        "BASE_TYPE_CHOICES"
    ]
    message = await submitted_interaction.respond_with_message(content="thanks")
    metadata = message["interaction_metadata"]
    assert (metadata["type"], metadata["triggering_interaction_metadata"]["id"]) == (5, interaction.payload["id"])


async def test_a_modal_opened_from_a_component_can_update_its_message(setup: InteractionSetup) -> None:
    message = await send_components(setup, BUTTON_ROW)
    interaction = await setup.use_component(message["id"])
    modal = {
        "custom_id": "old",
        "title": "Old",
        "components": [
            {
                "type": ComponentType.ACTION_ROW,
                "components": [
                    {"type": ComponentType.TEXT_INPUT, "custom_id": "t", "label": "T", "style": 2, "required": False}
                ],
            }
        ],
    }
    (await interaction.respond(InteractionCallbackType.MODAL, modal)).ok()
    body = {"id": interaction.payload["id"], "custom_id": "old", "components": []}
    assert (await setup.create_interaction(InteractionType.MODAL_SUBMIT, body)).status == 204

    submitted_interaction = ReceivedInteraction(setup, await setup.app_session.next("INTERACTION_CREATE"))

    assert submitted_interaction.payload["message"]["id"] == message["id"]
    row = {
        "type": ComponentType.ACTION_ROW,
        "id": 1,
        "components": [{"type": ComponentType.TEXT_INPUT, "id": 2, "custom_id": "t", "value": ""}],
    }
    assert submitted_interaction.payload["data"]["components"] == [row]
    callback_response = (
        await submitted_interaction.respond(InteractionCallbackType.UPDATE_MESSAGE, {"content": "submitted"})
    ).ok()["resource"]["message"]
    assert (callback_response["id"], callback_response["content"]) == (message["id"], "submitted")


async def test_submitted_values_are_validated_against_the_modal(setup: InteractionSetup) -> None:
    interaction = await setup.run_command(await setup.create_command())
    group = [{"label": letter, "value": letter} for letter in "ab"]
    modal = {
        "custom_id": "f",
        "title": "F",
        "components": [
            {
                "type": ComponentType.LABEL,
                "label": "x",
                "component": {"type": ComponentType.TEXT_INPUT, "custom_id": "t", "style": 1, "min_length": 3},
            },
            {
                "type": ComponentType.LABEL,
                "label": "x",
                "component": {"type": ComponentType.RADIO_GROUP, "custom_id": "r", "options": group},
            },
            {
                "type": ComponentType.LABEL,
                "label": "x",
                "component": {
                    "type": ComponentType.CHECKBOX_GROUP,
                    "custom_id": "g",
                    "options": group,
                    "max_values": 1,
                },
            },
            {
                "type": ComponentType.LABEL,
                "label": "x",
                "component": {"type": ComponentType.CHECKBOX, "custom_id": "b"},
            },
            {
                "type": ComponentType.LABEL,
                "label": "x",
                "component": {"type": ComponentType.FILE_UPLOAD, "custom_id": "u", "file_types": [".txt"]},
            },
        ],
    }
    (await interaction.respond(InteractionCallbackType.MODAL, modal)).ok()

    def body(**values: Any) -> dict[str, Any]:
        values_by_id: dict[str, Any] = {
            "t": {"value": "xxx"},
            "r": {"value": "a"},
            "g": {"values": ["a"]},
            "u": {"values": ["0"]},
        } | values
        components = [
            {"type": ComponentType.LABEL, "component": {"custom_id": key, **value}}
            for key, value in values_by_id.items()
        ]
        return {"id": interaction.payload["id"], "custom_id": "f", "components": components}

    async def submit_modal(data: dict[str, Any], filename: str = "a.txt") -> ApiResponse:
        form = aiohttp.FormData()
        interaction_body = {
            "application_id": str(setup.bot.application_id),
            "channel_id": str(setup.channel_id),
            "data": data,
        }
        form.add_field("payload_json", json.dumps({"type": 5, **interaction_body}))
        form.add_field("files[0]", b"text", filename=filename)
        return await setup.user.post("/interactions", data=form)

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
    event = await setup.app_session.next("INTERACTION_CREATE")
    (attachment,) = event["data"]["resolved"]["attachments"].values()
    assert event["data"]["components"][4]["component"]["values"] == [attachment["id"]]
    setup.world.clock.advance(15 * 60_000 + 1)
    (await submit_modal(body())).rejected(404, 10062)


async def test_an_invalid_modal_names_the_invalid_field(setup: InteractionSetup) -> None:
    interaction = await setup.run_command(await setup.create_command())
    invalid_modal = {
        **MODAL,
        "components": [{"type": ComponentType.LABEL, "label": "x", "component": {"type": ComponentType.BUTTON}}],
    }

    rejected_response = await interaction.respond(InteractionCallbackType.MODAL, invalid_modal)

    assert rejected_response.errors("data.components.0.component.type") == ["COMPONENT_TYPE_INVALID"]
    assert (await interaction.respond(InteractionCallbackType.MODAL, {**MODAL, "title": "x" * 46})).errors(
        "data.title"
    ) == ["BASE_TYPE_BAD_LENGTH"]


async def test_tokens_are_stored_as_hashes(setup: InteractionSetup) -> None:
    interaction = await setup.run_command(await setup.create_command())

    rows = await setup.world.write(lambda call: call.tx.all("SELECT * FROM interactions"))
    token_hash = await setup.world.write(lambda call: call.tx.value("SELECT token_hash FROM interactions"))

    assert interaction.payload["token"] not in str(rows)
    assert bytes(token_hash) == hashlib.sha256(interaction.payload["token"].encode()).digest()


@pytest.mark.dated(changes.RESOLVED_CHANNEL_PERMISSIONS)
async def test_resolved_channels_contain_app_permissions_from_the_date(setup: InteractionSetup) -> None:
    command = await setup.create_command(options=[{"type": CommandOptionType.CHANNEL, "name": "c", "description": "x"}])
    for offset_ms in (-1, 0):
        setup.world.clock.set(changes.RESOLVED_CHANNEL_PERMISSIONS.at_ms + offset_ms)

        interaction = await setup.run_command(
            command, options=[{"type": CommandOptionType.CHANNEL, "name": "c", "value": str(setup.channel_id)}]
        )

        channel = interaction.payload["data"]["resolved"]["channels"][str(setup.channel_id)]
        assert ("app_permissions" in channel) is (offset_ms == 0)


@pytest.mark.dated(changes.POLL_IN_DEFERRED_EDIT)
async def test_a_deferred_response_can_become_a_poll_from_the_date(setup: InteractionSetup) -> None:
    command = await setup.create_command()
    poll = {"question": {"text": "?"}, "answers": [{"poll_media": {"text": "yes"}}], "duration": 1}
    for offset_ms in (-1, 0):
        setup.world.clock.set(changes.POLL_IN_DEFERRED_EDIT.at_ms + offset_ms)
        interaction = await setup.run_command(command)
        await interaction.respond(InteractionCallbackType.DEFERRED_CHANNEL_MESSAGE_WITH_SOURCE)

        completed_response = await interaction.webhook_request(
            "PATCH", "/messages/@original", json={"content": "ask", "poll": poll}
        )

        assert ("poll" in completed_response.ok()) is (offset_ms == 0)


@pytest.mark.dated(changes.USER_INSTALLS)
async def test_commands_and_responses_contain_installation_data_from_the_date(setup: InteractionSetup) -> None:
    command = await setup.create_command()
    path = f"{setup.application_path}/guilds/{setup.guild.id}/commands/{command['id']}"
    for offset_ms in (-1, 0):
        setup.world.clock.set(changes.USER_INSTALLS.at_ms + offset_ms)

        message = await (await setup.run_command(command)).respond_with_message(content="here")

        command_view = (await setup.bot.get(path)).ok()
        assert ("contexts" in command_view, "integration_types" in command_view, "interaction_metadata" in message) == (
            offset_ms == 0,
        ) * 3


async def test_an_interaction_contains_the_users_entitlements(setup: InteractionSetup) -> None:
    command = await setup.create_command()
    created_response = await setup.bot.post(
        f"{setup.application_path}/skus",
        json={"type": SkuType.SUBSCRIPTION, "name": "Gold", "flags": SkuFlags.USER_SUBSCRIPTION},
    )
    sku_id = created_response.ok()["id"]
    entitlement_body = {"sku_id": sku_id, "owner_id": str(setup.user.id), "owner_type": 2}
    entitlement = (await setup.bot.post(f"{setup.application_path}/entitlements", json=entitlement_body)).ok()

    interaction = await setup.run_command(command)

    [own_entitlement] = interaction.payload["entitlements"]
    assert (own_entitlement["id"], own_entitlement["sku_id"], own_entitlement["user_id"]) == (
        entitlement["id"],
        sku_id,
        str(setup.user.id),
    )
    assert interaction.payload["entitlement_sku_ids"] == [sku_id]
    (await setup.bot.delete(f"{setup.application_path}/entitlements/{entitlement['id']}")).ok()
    assert (await setup.run_command(command)).payload["entitlements"] == []


# Command index


async def available_commands(setup: InteractionSetup, actor: Actor | None = None) -> dict[str, list[str]]:
    """Return the names of the commands in the channel's command index, by application name; assert its version."""
    index = (await (actor or setup.user).get(f"/channels/{setup.channel_id}/application-command-index")).ok()
    application_names = {application["id"]: application["name"] for application in index["applications"]}
    names_by_application: dict[str, list[str]] = {name: [] for name in application_names.values()}
    for command in index["application_commands"]:
        names_by_application[application_names[command["application_id"]]].append(command["name"])
    assert index["version"] == max((command["version"] for command in index["application_commands"]), default="0")
    return names_by_application


async def test_the_command_index_lists_the_usable_commands(setup: InteractionSetup) -> None:
    global_path = f"{setup.application_path}/commands"
    (await setup.bot.post(global_path, json={"name": "global", "description": "x"})).ok()
    (await setup.bot.post(global_path, json={"name": "dms", "description": "x", "contexts": [1]})).ok()
    (await setup.bot.post(global_path, json={"name": "adult", "description": "x", "nsfw": True})).ok()
    await setup.create_command("staff", default_member_permissions="0")
    await setup.create_command("hello", name_localizations={"de": "hallo"})
    other_bot = await setup.world.bot(setup.guild, name="silent")
    uninstalled_bot = await setup.world.bot(name="elsewhere")
    (
        await uninstalled_bot.post(
            f"/applications/{uninstalled_bot.application_id}/commands", json={"name": "far", "description": "x"}
        )
    ).ok()

    assert await available_commands(setup) == {"responder": ["global", "hello"]}
    assert await available_commands(setup, setup.guild.owner) == {"responder": ["global", "staff", "hello"]}
    response = await setup.user.get(
        f"/channels/{setup.channel_id}/application-command-index", headers={"X-Discord-Locale": "de"}
    )
    assert [command.get("name_localized") for command in response.ok()["application_commands"]] == [None, "hallo"]
    stranger = await setup.world.user()
    (await stranger.get(f"/channels/{setup.channel_id}/application-command-index")).rejected(403, 50001)
    (await other_bot.get(f"/channels/{setup.channel_id}/application-command-index")).rejected(403, 20001)


async def test_the_command_index_lists_user_installed_and_dm_commands(setup: InteractionSetup) -> None:
    (await setup.bot.post(f"{setup.application_path}/commands", json={"name": "hi", "description": "x"})).ok()
    other_guild = await setup.world.guild(None, setup.user)
    dm = (await setup.user.post("/users/@me/channels", json={"recipient_id": str(setup.bot.id)})).ok()
    friend = await setup.world.user()
    friend_dm = (await setup.user.post("/users/@me/channels", json={"recipient_id": str(friend.id)})).ok()
    setup.channel_id = int(dm["id"])
    assert await available_commands(setup) == {"responder": ["hi"]}
    for channel in (other_guild.general, int(friend_dm["id"])):
        setup.channel_id = channel
        assert await available_commands(setup) == {}

    await install_for_user(setup)

    for channel in (other_guild.general, int(friend_dm["id"]), int(dm["id"])):
        setup.channel_id = channel
        assert await available_commands(setup) == {"responder": ["hi"]}
    setup.channel_id = other_guild.general
    assert await available_commands(setup, other_guild.owner) == {}
