"""Interactions on both sides of their dated changes (spec/dated-changes.md#4)."""

import aiohttp
import pytest

from hubbub.protocol import changes
from hubbub.protocol.changes import Change
from hubbub.protocol.enums import InteractionCallbackType, OverwriteType
from hubbub.protocol.flags import ApplicationFlags, MessageFlags
from hubbub.protocol.permissions import Permissions
from tests.server.play.interaction_setup import (
    BUTTON_ROW,
    InteractionSetup,
    create_global_command,
    create_interaction_setup,
    select_guild_without_app,
)
from tests.world import PRIVILEGED_INTENT_FLAGS, World

EPHEMERAL = MessageFlags.EPHEMERAL
OFFSETS_MS = (-1, 0)
"""Times in milliseconds relative to the date of a change: just before it, and at it."""


@pytest.fixture
async def setup(world: World) -> InteractionSetup:
    return await create_interaction_setup(world, flags=PRIVILEGED_INTENT_FLAGS | ApplicationFlags.EMBEDDED)


async def select_dm_with_app(setup: InteractionSetup) -> int:
    """Select the direct message channel of the user and the bot, and return its ID."""
    dm = await setup.user.post("/users/@me/channels", json={"recipient_id": str(setup.bot.id)})
    setup.channel_id = int(dm.ok()["id"])
    return setup.channel_id


def set_clock(setup: InteractionSetup, change: Change, offset_ms: int) -> None:
    setup.world.clock.set(change.at_ms + offset_ms)


@pytest.mark.dated(changes.EXTERNAL_APP_FOLLOW_UP_LIMIT)
async def test_a_user_installed_app_sends_at_most_five_followups_from_the_date(setup: InteractionSetup) -> None:
    command = await create_global_command(setup)
    await select_guild_without_app(setup)
    statuses = []
    for offset_ms in OFFSETS_MS:
        set_clock(setup, changes.EXTERNAL_APP_FOLLOW_UP_LIMIT, offset_ms)
        interaction = await setup.run_command(command)
        await interaction.respond_with_message(content="first")
        for _ in range(5):
            (await interaction.webhook_request("POST", json={"content": "more"})).ok()

        sixth_response = await interaction.webhook_request("POST", json={"content": "too much"})

        statuses.append(sixth_response.status)
    assert statuses == [200, 400]
    sixth_response.rejected(400, 40094)


@pytest.mark.dated(changes.EXTERNAL_APPS)
async def test_the_external_apps_permission_replaces_the_guild_size_rule(setup: InteractionSetup) -> None:
    command = await create_global_command(setup)
    guild = await select_guild_without_app(setup)

    async def is_ephemeral(member_count: int, *, denied: int = 0) -> bool:
        await guild.overwrite(guild.general, guild.id, deny=denied, target_type=OverwriteType.ROLE)
        resize_sql = "UPDATE guilds SET member_count = ? WHERE id = ?"
        await setup.world.write(lambda call: call.tx.run(resize_sql, member_count, guild.id))
        message = await (await setup.run_command(command)).respond_with_message(content="hello")
        return bool(message["flags"] & EPHEMERAL)

    set_clock(setup, changes.EXTERNAL_APPS, -1)
    assert not await is_ephemeral(25, denied=Permissions.USE_EXTERNAL_APPS)
    assert await is_ephemeral(26)
    set_clock(setup, changes.EXTERNAL_APPS, 0)
    assert await is_ephemeral(25, denied=Permissions.USE_EXTERNAL_APPS)
    assert not await is_ephemeral(26)


@pytest.mark.dated(changes.INTEGRATION_OWNER_STRINGS)
async def test_the_integration_owner_in_a_dm_is_a_string_from_the_date(setup: InteractionSetup) -> None:
    command = await create_global_command(setup)
    channel = await select_dm_with_app(setup)
    for offset_ms, expected_owner in zip(OFFSETS_MS, (0, "0"), strict=True):
        set_clock(setup, changes.INTEGRATION_OWNER_STRINGS, offset_ms)
        interaction = await setup.run_command(command)
        assert interaction.payload["authorizing_integration_owners"] == {"0": expected_owner}

        assert (
            await interaction.respond(
                InteractionCallbackType.CHANNEL_MESSAGE_WITH_SOURCE, {"content": "hello"}, query=""
            )
        ).status == 204

        message = await setup.user_session.next("MESSAGE_CREATE", lambda data: data["channel_id"] == str(channel))
        assert message["interaction_metadata"]["authorizing_integration_owners"] == {"0": expected_owner}


@pytest.mark.dated(changes.USER_INSTALLS)
async def test_app_permissions_are_sent_in_dms_from_the_date(setup: InteractionSetup) -> None:
    command = await create_global_command(setup)
    guild_channel = setup.channel_id
    dm_channel = await select_dm_with_app(setup)
    for offset_ms in OFFSETS_MS:
        set_clock(setup, changes.USER_INSTALLS, offset_ms)
        for channel in (guild_channel, dm_channel):
            setup.channel_id = channel
            interaction = await setup.run_command(command)
            assert ("app_permissions" in interaction.payload) is (offset_ms == 0 or channel == guild_channel)


@pytest.mark.dated(changes.USER_INSTALLS)
async def test_contexts_of_commands_are_stored_from_the_date(setup: InteractionSetup) -> None:
    body = {"name": "hi", "description": "x", "contexts": [1], "integration_types": [1]}
    stored_contexts = []
    for offset_ms in OFFSETS_MS:
        set_clock(setup, changes.USER_INSTALLS, offset_ms)
        created_command = (await setup.bot.post(f"{setup.application_path}/commands", json=body)).ok()
        set_clock(setup, changes.USER_INSTALLS, 0)
        command = (await setup.bot.get(f"{setup.application_path}/commands/{created_command['id']}")).ok()
        stored_contexts.append((command["contexts"], command["integration_types"]))

    assert stored_contexts == [(None, [0, 1]), ([1], [1])]


@pytest.mark.dated(changes.ATTACHMENT_SIZE_LIMIT)
async def test_interactions_state_the_attachment_limit_from_the_date(setup: InteractionSetup) -> None:
    command = await setup.create_command()
    for offset_ms in OFFSETS_MS:
        set_clock(setup, changes.ATTACHMENT_SIZE_LIMIT, offset_ms)
        interaction = await setup.run_command(command)
        message = await interaction.respond_with_message(content="press", components=[BUTTON_ROW])
        component_interaction = await setup.use_component(message["id"])

        limits = [received.payload.get("attachment_size_limit") for received in (interaction, component_interaction)]

        assert limits == [None if offset_ms else 10 << 20] * 2


@pytest.mark.dated(changes.WEBHOOK_UPLOAD_10MIB)
async def test_responses_accept_at_most_ten_mebibytes_from_the_date(setup: InteractionSetup) -> None:
    command = await setup.create_command()
    for offset_ms in OFFSETS_MS:
        set_clock(setup, changes.WEBHOOK_UPLOAD_10MIB, offset_ms)
        interaction = await setup.run_command(command)
        await interaction.respond_with_message(content="first")
        for method, path in (("POST", ""), ("PATCH", "/messages/@original")):
            form = aiohttp.FormData()
            form.add_field("files[0]", b"x" * (12 << 20), filename="large.bin")

            response = await interaction.webhook_request(method, path, data=form)

            if offset_ms:
                assert response.ok()["attachments"][0]["size"] == 12 << 20
            else:
                response.rejected(413, 50045)


@pytest.mark.dated(changes.ENTRY_POINT_COMMANDS)
async def test_a_response_can_launch_an_activity_from_the_date(setup: InteractionSetup) -> None:
    command = await setup.create_command()
    set_clock(setup, changes.ENTRY_POINT_COMMANDS, -1)
    rejected_response = await (await setup.run_command(command)).respond(InteractionCallbackType.LAUNCH_ACTIVITY)
    set_clock(setup, changes.ENTRY_POINT_COMMANDS, 0)
    launch_response = await (await setup.run_command(command)).respond(InteractionCallbackType.LAUNCH_ACTIVITY)

    assert rejected_response.errors("type") == ["BASE_TYPE_CHOICES"]
    assert launch_response.ok()["resource"]["activity_instance"]["id"]
