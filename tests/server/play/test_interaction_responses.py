"""Interaction responses: ephemeral responses, permissions of the app, invalid responses, locked and archived threads."""

from typing import Any

import aiohttp
import pytest

from hubbub.protocol.enums import (
    ComponentType,
    InteractionCallbackType,
    InteractionType,
    OverwriteType,
    RelationshipType,
)
from hubbub.protocol.flags import MessageFlags
from hubbub.protocol.permissions import Permissions
from tests.server.play.interaction_setup import (
    BUTTON_ROW,
    InteractionSetup,
    ReceivedInteraction,
    create_global_command,
    install_for_user,
    select_guild_without_app,
)
from tests.world import Actor, ApiResponse, Guild

EPHEMERAL = MessageFlags.EPHEMERAL


@pytest.fixture
async def other_guild(setup: InteractionSetup) -> Guild:
    """A guild without the app, in which the user runs commands of the user-installed app."""
    return await select_guild_without_app(setup)


async def is_ephemeral(setup: InteractionSetup, command: dict[str, Any]) -> bool:
    """Run a command and return whether the app's response is ephemeral."""
    message = await (await setup.run_command(command)).respond_with_message(content="hello")
    return bool(message["flags"] & EPHEMERAL)


async def open_dm(setup: InteractionSetup) -> Actor:
    """Install the app for the user, and select a direct message channel with another user; return the other user."""
    other_user = await setup.world.user("other")
    await install_for_user(setup)
    dm = (await setup.user.post("/users/@me/channels", json={"recipient_id": str(other_user.id)})).ok()
    setup.channel_id = int(dm["id"])
    return other_user


# Users who cannot send messages get ephemeral responses


async def test_a_response_in_a_dm_is_ephemeral_if_the_user_is_blocked(setup: InteractionSetup) -> None:
    command = await create_global_command(setup)
    other_user = await open_dm(setup)
    assert not await is_ephemeral(setup, command)
    other_session = await other_user.connect()
    (await other_user.put(f"/users/@me/relationships/{setup.user.id}", json={"type": RelationshipType.BLOCKED})).ok()

    assert await is_ephemeral(setup, command)

    await other_session.assert_not_received("MESSAGE_CREATE")


async def test_followups_are_ephemeral_once_the_user_is_blocked(setup: InteractionSetup) -> None:
    command = await create_global_command(setup)
    other_user = await open_dm(setup)
    interaction = await setup.run_command(command)
    assert not (await interaction.respond_with_message(content="hello"))["flags"] & EPHEMERAL
    assert not (await interaction.webhook_request("POST", json={"content": "more"})).ok()["flags"] & EPHEMERAL
    (await other_user.put(f"/users/@me/relationships/{setup.user.id}", json={"type": RelationshipType.BLOCKED})).ok()

    message = (await interaction.webhook_request("POST", json={"content": "and more"})).ok()

    assert message["flags"] & EPHEMERAL


async def test_a_response_to_an_insufficiently_verified_user_is_ephemeral(
    setup: InteractionSetup, other_guild: Guild
) -> None:
    command = await create_global_command(setup)
    assert not await is_ephemeral(setup, command)
    update = "UPDATE guilds SET verification_level = 3 WHERE id = ?"
    await setup.world.write(lambda call: call.tx.run(update, other_guild.id))

    assert await is_ephemeral(setup, command)

    await other_guild.add_role(setup.user, await other_guild.role())
    assert not await is_ephemeral(setup, command)


async def test_a_response_in_a_locked_thread_is_ephemeral_without_manage_threads(
    setup: InteractionSetup, other_guild: Guild
) -> None:
    command = await create_global_command(setup)
    setup.channel_id = await other_guild.owner.create_thread(other_guild.general)
    assert not await is_ephemeral(setup, command)
    (await other_guild.owner.patch(f"/channels/{setup.channel_id}", json={"locked": True})).ok()

    assert await is_ephemeral(setup, command)

    await other_guild.allow_permissions(setup.user, Permissions.MANAGE_THREADS)
    assert not await is_ephemeral(setup, command)


async def test_followups_are_ephemeral_once_the_user_cannot_send_or_left(
    setup: InteractionSetup, other_guild: Guild
) -> None:
    command = await create_global_command(setup)
    interaction = await setup.run_command(command)
    await interaction.respond_with_message(content="hello")
    await other_guild.overwrite(other_guild.general, setup.user.id, deny=Permissions.SEND_MESSAGES)
    assert (await interaction.webhook_request("POST", json={"content": "more"})).ok()["flags"] & EPHEMERAL
    await other_guild.overwrite(other_guild.general, setup.user.id)
    assert not (await interaction.webhook_request("POST", json={"content": "more"})).ok()["flags"] & EPHEMERAL
    (await other_guild.owner.delete(f"/guilds/{other_guild.id}/members/{setup.user.id}")).ok()

    message = (await interaction.webhook_request("POST", json={"content": "and more"})).ok()

    assert message["flags"] & EPHEMERAL


async def test_an_app_of_the_guild_responds_publicly_to_every_user(setup: InteractionSetup) -> None:
    command = await create_global_command(setup)
    await setup.guild.overwrite(setup.guild.general, setup.user.id, deny=Permissions.SEND_MESSAGES)

    assert not await is_ephemeral(setup, command)


# Permissions of the app


INHERITED_PERMISSIONS = (
    Permissions.ATTACH_FILES | Permissions.EMBED_LINKS | Permissions.MENTION_EVERYONE | Permissions.USE_EXTERNAL_EMOJIS
)


async def usable_permissions(interaction: ReceivedInteraction, method: str, path: str = "") -> dict[int, bool]:
    """Return whether the app can mention everyone, embed links and attach files in a response, by permission."""
    mention_body = {"content": "@everyone", "allowed_mentions": {"parse": ["everyone"]}}
    message = (await interaction.webhook_request(method, path, json=mention_body)).ok()
    embed_response = await interaction.webhook_request(method, path, json={"embeds": [{"title": "look"}]})
    form = aiohttp.FormData()
    form.add_field("files[0]", b"x", filename="x.txt")
    file_response = await interaction.webhook_request(method, path, data=form)
    for response in (embed_response, file_response):
        assert response.status == 200 or response.rejected(403, 50013)
    return {
        Permissions.MENTION_EVERYONE: message["mention_everyone"],
        Permissions.EMBED_LINKS: embed_response.status == 200,
        Permissions.ATTACH_FILES: file_response.status == 200,
    }


@pytest.mark.parametrize("is_granted", [True, False])
async def test_a_user_installed_app_can_use_the_stated_permissions(
    setup: InteractionSetup, other_guild: Guild, is_granted: bool
) -> None:
    command = await create_global_command(setup)
    # The overwrite of @everyone is the opposite of the user's overwrite, so the result shows the user's permissions.
    await other_guild.overwrite(
        other_guild.general,
        other_guild.id,
        **{"deny" if is_granted else "allow": INHERITED_PERMISSIONS},
        target_type=OverwriteType.ROLE,
    )
    await other_guild.overwrite(
        other_guild.general, setup.user.id, **{"allow" if is_granted else "deny": INHERITED_PERMISSIONS}
    )

    interaction = await setup.run_command(command)
    await interaction.respond_with_message(content="first")

    permissions = int(interaction.payload["app_permissions"])
    assert permissions == (INHERITED_PERMISSIONS if is_granted else 0)
    for method, path in (("POST", ""), ("PATCH", "/messages/@original")):
        for permission, is_usable in (await usable_permissions(interaction, method, path)).items():
            assert is_usable is bool(permissions & permission), (method, permission)


async def test_the_users_permissions_are_checked_at_each_response(setup: InteractionSetup, other_guild: Guild) -> None:
    command = await create_global_command(setup)
    interaction = await setup.run_command(command)
    await interaction.respond_with_message(content="first")
    await other_guild.overwrite(other_guild.general, setup.user.id, allow=INHERITED_PERMISSIONS)
    assert set((await usable_permissions(interaction, "PATCH", "/messages/@original")).values()) == {True}
    await other_guild.overwrite(other_guild.general, setup.user.id, deny=INHERITED_PERMISSIONS)

    permissions = await usable_permissions(interaction, "POST")

    assert set(permissions.values()) == {False}


async def test_an_app_cannot_set_the_loading_flag(setup: InteractionSetup) -> None:
    command = await create_global_command(setup)
    interaction = await setup.run_command(command)

    first_message = await interaction.respond_with_message(content="first", flags=int(MessageFlags.LOADING))
    second_message = (
        await interaction.webhook_request("POST", json={"content": "second", "flags": int(MessageFlags.LOADING)})
    ).ok()

    assert (first_message["flags"], second_message["flags"]) == (0, 0)
    assert (await interaction.webhook_request("GET", "/messages/@original")).ok()["content"] == "first"


async def test_a_component_response_cannot_add_a_poll(setup: InteractionSetup) -> None:
    message_with_button = await (await setup.run_command(await create_global_command(setup))).respond_with_message(
        content="press", components=[BUTTON_ROW]
    )
    poll = {"question": {"text": "?"}, "answers": [{"poll_media": {"text": "yes"}}], "duration": 1}

    response = await (await setup.use_component(message_with_button["id"])).respond(
        InteractionCallbackType.UPDATE_MESSAGE, {"content": "x", "poll": poll}
    )

    response.rejected(400, 520003)


async def test_a_file_upload_with_max_values_zero_accepts_no_files(setup: InteractionSetup) -> None:
    interaction = await setup.run_command(await create_global_command(setup))
    upload = {"type": ComponentType.FILE_UPLOAD, "custom_id": "u", "max_values": 0, "required": False}
    modal = {
        "custom_id": "f",
        "title": "F",
        "components": [{"type": ComponentType.LABEL, "label": "x", "component": upload}],
    }
    (await interaction.respond(InteractionCallbackType.MODAL, modal)).ok()

    async def submit(*values: str) -> ApiResponse:
        inner = {"type": ComponentType.FILE_UPLOAD, "custom_id": "u", "values": list(values)}
        components = [{"type": ComponentType.LABEL, "component": inner}]
        return await setup.create_interaction(
            InteractionType.MODAL_SUBMIT, {"id": interaction.payload["id"], "custom_id": "f", "components": components}
        )

    assert (await submit("0")).errors("data.components.0.component.values") == ["BASE_TYPE_BAD_LENGTH"]
    assert (await submit()).status == 204
    event = await setup.app_session.next("INTERACTION_CREATE")
    assert event["data"]["components"][0]["component"]["values"] == []


# Locked and archived threads


async def update_thread(setup: InteractionSetup, **changes: bool) -> None:
    (await setup.guild.owner.patch(f"/channels/{setup.channel_id}", json=changes)).ok()


async def thread_state(setup: InteractionSetup) -> tuple[bool, bool]:
    """Return whether the thread is archived and whether it is locked."""
    metadata = (await setup.guild.owner.get(f"/channels/{setup.channel_id}")).ok()["thread_metadata"]
    return metadata["archived"], metadata["locked"]


async def test_public_responses_in_a_locked_thread_fail(setup: InteractionSetup) -> None:
    command = await create_global_command(setup)
    setup.channel_id = await setup.guild.owner.create_thread(setup.guild.general)
    message_with_button = await (await setup.run_command(command)).respond_with_message(
        content="press", components=[BUTTON_ROW]
    )
    deferred_interaction = await setup.run_command(command)
    (await deferred_interaction.respond(InteractionCallbackType.DEFERRED_CHANNEL_MESSAGE_WITH_SOURCE)).ok()
    await update_thread(setup, locked=True)

    for callback_type, data in (
        (InteractionCallbackType.CHANNEL_MESSAGE_WITH_SOURCE, {"content": "x"}),
        (InteractionCallbackType.DEFERRED_CHANNEL_MESSAGE_WITH_SOURCE, None),
    ):
        (await (await setup.run_command(command)).respond(callback_type, data)).rejected(400, 160005)
    (
        await (await setup.use_component(message_with_button["id"])).respond(
            InteractionCallbackType.UPDATE_MESSAGE, {"content": "x"}
        )
    ).rejected(400, 160005)
    (await deferred_interaction.webhook_request("PATCH", "/messages/@original", json={"content": "x"})).rejected(
        400, 160005
    )
    (await deferred_interaction.webhook_request("POST", json={"content": "x"})).rejected(400, 160005)
    ephemeral = await setup.run_command(command)
    assert (await ephemeral.respond_with_message(content="just you", flags=int(EPHEMERAL)))["content"] == "just you"
    (await ephemeral.webhook_request("POST", json={"content": "all of you"})).rejected(400, 160005)
    await setup.guild.allow_permissions(setup.bot, Permissions.MANAGE_THREADS)
    assert (await (await setup.run_command(command)).respond_with_message(content="a moderator's"))["content"]
    assert (await deferred_interaction.webhook_request("PATCH", "/messages/@original", json={"content": "x"})).ok()[
        "content"
    ] == "x"


async def test_a_response_does_not_unarchive_a_locked_thread(setup: InteractionSetup) -> None:
    command = await create_global_command(setup)
    setup.channel_id = await setup.guild.owner.create_thread(setup.guild.general)
    await update_thread(setup, locked=True, archived=True)

    (
        await (await setup.run_command(command)).respond(
            InteractionCallbackType.CHANNEL_MESSAGE_WITH_SOURCE, {"content": "x"}
        )
    ).rejected(400, 160005)

    assert await thread_state(setup) == (True, True)


async def test_responses_in_an_archived_thread_cannot_be_edited_or_deleted(setup: InteractionSetup) -> None:
    command = await create_global_command(setup)
    setup.channel_id = await setup.guild.owner.create_thread(setup.guild.general)
    message_with_button = await (await setup.run_command(command)).respond_with_message(
        content="press", components=[BUTTON_ROW]
    )
    interaction, deferred_interaction = await setup.run_command(command), await setup.run_command(command)
    message = await interaction.respond_with_message(content="hello")
    ephemeral = await setup.run_command(command)
    await ephemeral.respond_with_message(content="just you", flags=int(EPHEMERAL))
    (await deferred_interaction.respond(InteractionCallbackType.DEFERRED_CHANNEL_MESSAGE_WITH_SOURCE)).ok()
    await update_thread(setup, archived=True)

    (
        await (await setup.use_component(message_with_button["id"])).respond(
            InteractionCallbackType.UPDATE_MESSAGE, {"content": "x"}
        )
    ).rejected(400, 50083)
    for path in ("/messages/@original", f"/messages/{message['id']}"):
        (await interaction.webhook_request("PATCH", path, json={"content": "x"})).rejected(400, 50083)
        (await interaction.webhook_request("DELETE", path)).rejected(400, 50083)
    (await deferred_interaction.webhook_request("PATCH", "/messages/@original", json={"content": "x"})).rejected(
        400, 50083
    )
    assert (await ephemeral.webhook_request("PATCH", "/messages/@original", json={"content": "y"})).ok()[
        "content"
    ] == "y"
    assert await thread_state(setup) == (True, False)

    (await interaction.webhook_request("POST", json={"content": "more"})).ok()

    assert await thread_state(setup) == (False, False)
    (await interaction.webhook_request("DELETE", "/messages/@original")).ok()
