"""Behavior before and after dated changes that are not tested with their resource: fields of requests and responses."""

from typing import Any

import pytest

from hubbub.protocol import changes
from hubbub.protocol.enums import ActivityType, ButtonStyle, ChannelType, ComponentType, GatewayOpcode
from hubbub.protocol.errors import FormErrors
from hubbub.protocol.flags import MemberFlags
from hubbub.protocol.ids import Snowflake
from hubbub.protocol.permissions import Permissions
from hubbub.server.talk.messages.content.rich_content import components
from tests.media import data_uri, png
from tests.world import Actor, Bearer, World

PREMIUM_BUTTON_ROW = {
    "type": ComponentType.ACTION_ROW,
    "components": [{"type": ComponentType.BUTTON, "style": ButtonStyle.PREMIUM, "sku_id": "123"}],
}


async def create_bearer(world: World, user: Actor, *scopes: str) -> Bearer:
    """Return an actor that calls the API with a user's access token for a new application."""
    bot = await world.bot()
    token = await world.access_token(user, bot.application_id, *scopes)
    return Bearer(world, user.id, token, user.name, application_id=bot.application_id)


@pytest.mark.dated(changes.EMBED_FIELDS_REJECTED)
async def test_excess_embed_fields_are_dropped_before_the_change_and_rejected_since(world: World) -> None:
    guild = await world.guild()
    fields = [{"name": str(number), "value": "x"} for number in range(26)]
    body = {"embeds": [{"fields": fields}]}
    path = f"/channels/{guild.general}/messages"

    world.clock.set(changes.EMBED_FIELDS_REJECTED.at_ms - 1)
    message = (await guild.owner.post(path, json=body)).ok()
    world.clock.set(changes.EMBED_FIELDS_REJECTED.at_ms)
    rejected_response = await guild.owner.post(path, json=body)

    assert [field["name"] for field in message["embeds"][0]["fields"]] == [str(number) for number in range(25)]
    assert rejected_response.errors("embeds.0.fields") == ["BASE_TYPE_BAD_LENGTH"]


@pytest.mark.dated(changes.MEMBER_FLAGS_PERMISSIONS)
async def test_the_permission_to_edit_member_flags_changes_by_date(world: World) -> None:
    target = await world.user()
    guild = await world.guild(None, target)
    moderator = await world.bot(guild, permissions=Permissions.MODERATE_MEMBERS)
    manager = await world.bot(guild, permissions=Permissions.MANAGE_GUILD)
    path = f"/guilds/{guild.id}/members/{target.id}"

    async def request_statuses() -> list[int]:
        return [
            (await bot.patch(path, json={"flags": MemberFlags.BYPASSES_VERIFICATION})).status
            for bot in (moderator, manager)
        ]

    world.clock.set(changes.MEMBER_FLAGS_PERMISSIONS.at_ms - 1)
    assert await request_statuses() == [200, 403]
    world.clock.set(changes.MEMBER_FLAGS_PERMISSIONS.at_ms)
    assert await request_statuses() == [403, 200]


@pytest.mark.dated(changes.MEMBER_BANNER)
async def test_members_have_banners_since_the_change(world: World) -> None:
    guild = await world.guild()
    banners = []
    for offset_ms in (-1, 0):
        world.clock.set(changes.MEMBER_BANNER.at_ms + offset_ms)
        body = {"banner": data_uri(png())}
        banners.append((await guild.owner.patch(f"/guilds/{guild.id}/members/@me", json=body)).ok()["banner"])

    assert banners[0] is None
    assert banners[1] is not None


@pytest.mark.dated(changes.PREMIUM_BUTTONS)
async def test_premium_buttons_are_accepted_since_the_change(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild)

    async def send() -> Any:
        return await bot.post(
            f"/channels/{guild.general}/messages", json={"content": "x", "components": [PREMIUM_BUTTON_ROW]}
        )

    world.clock.set(changes.PREMIUM_BUTTONS.at_ms - 1)
    assert (await send()).errors("components.0.components.0.style") == ["BASE_TYPE_CHOICES"]
    world.clock.set(changes.PREMIUM_BUTTONS.at_ms)
    assert (await send()).errors("components.0.components.0.sku_id") == ["BUTTON_COMPONENT_INVALID_SKU"]


@pytest.mark.dated(changes.APPLICATION_FLAGS_NEW)
async def test_applications_contain_flags_new_since_the_change(world: World) -> None:
    bot = await world.bot()
    await world.write(
        lambda call: call.tx.run("UPDATE applications SET flags = ? WHERE id = ?", 1 << 34, bot.application_id)
    )
    for offset_ms in (-1, 0):
        world.clock.set(changes.APPLICATION_FLAGS_NEW.at_ms + offset_ms)
        expected = {} if offset_ms else {"flags_new": str(1 << 34)}
        fetched_application = (await bot.get("/applications/@me")).ok()
        ready = (await bot.connect(intents=0)).ready["application"]
        for application in (fetched_application, ready):
            assert application["flags"] == 0
            assert {key: value for key, value in application.items() if key == "flags_new"} == expected


@pytest.mark.dated(changes.PREMIUM_TYPE_SCOPE)
async def test_premium_type_requires_its_own_scope_since_the_change(world: World) -> None:
    user = await world.user()
    await world.give_premium(user)
    world.clock.set(changes.PREMIUM_TYPE_SCOPE.at_ms - 1)
    plain_bearer = await create_bearer(world, user, "identify")
    premium_bearer = await create_bearer(world, user, "identify", "identify.premium")

    async def premium_types() -> list[int]:
        return [(await bearer.get("/users/@me")).ok()["premium_type"] for bearer in (plain_bearer, premium_bearer)]

    assert await premium_types() == [2, 2]
    world.clock.set(changes.PREMIUM_TYPE_SCOPE.at_ms)
    assert await premium_types() == [0, 2]


@pytest.mark.dated(changes.CHANNEL_APPLICATION_ID_NULLABLE)
async def test_channels_created_since_the_change_have_a_null_application(world: World) -> None:
    guild = await world.guild()
    change = changes.CHANNEL_APPLICATION_ID_NULLABLE
    world.clock.set(change.at_ms - 1)
    old_channel_id = await guild.channel("old")
    world.clock.set(change.at_ms)
    new_channel_id = await guild.channel("new")

    assert "application_id" not in (await guild.owner.get(f"/channels/{old_channel_id}")).ok()
    assert (await guild.owner.get(f"/channels/{new_channel_id}")).ok()["application_id"] is None
    assert Snowflake(old_channel_id).created_ms < change.at_ms <= Snowflake(new_channel_id).created_ms


@pytest.mark.dated(changes.FILE_UPLOAD_TYPES)
def test_file_types_are_kept_since_the_change() -> None:
    def validate_upload(now_ms: int) -> dict[str, Any]:
        upload = {"type": ComponentType.FILE_UPLOAD, "custom_id": "f", "file_types": [".png"]}
        modal = [{"type": ComponentType.LABEL, "label": "a file", "component": upload}]
        components.validate_modal_components(modal, FormErrors(), now_ms=now_ms)
        return upload

    assert "file_types" not in validate_upload(changes.FILE_UPLOAD_TYPES.at_ms - 1)
    assert validate_upload(changes.FILE_UPLOAD_TYPES.at_ms)["file_types"] == [".png"]


@pytest.mark.dated(changes.VOICE_STATUS)
async def test_voice_channels_have_a_status_since_the_change(world: World) -> None:
    guild = await world.guild()
    channel_id = await guild.channel("voice", type=ChannelType.GUILD_VOICE)

    async def set_status() -> int:
        return (await guild.owner.put(f"/channels/{channel_id}/voice-status", json={"status": "singing"})).status

    world.clock.set(changes.VOICE_STATUS.at_ms - 1)
    assert await set_status() == 404
    world.clock.set(changes.VOICE_STATUS.at_ms)
    assert await set_status() == 204


@pytest.mark.dated(changes.ACTIVITY_URLS)
async def test_activities_have_urls_since_the_change(world: World) -> None:
    alice = await world.user()
    guild = await world.guild(alice)
    bot_session = await (await world.bot(guild)).connect()
    activity = {
        "name": "chess",
        "type": ActivityType.PLAYING,
        "details": "a game",
        "details_url": "https://example.com/game",
        "status_display_type": 2,
        "assets": {"large_image": "board", "large_url": "https://example.com/board"},
    }
    session = await alice.connect()
    for offset_ms in (-1, 0):
        world.clock.set(changes.ACTIVITY_URLS.at_ms + offset_ms)
        name = f"chess{offset_ms}"
        presence = {"since": None, "status": "online", "afk": False, "activities": [{**activity, "name": name}]}
        await session.send(GatewayOpcode.PRESENCE_UPDATE, presence)

        event = await bot_session.next(
            "PRESENCE_UPDATE", lambda data, name=name: [entry["name"] for entry in data["activities"]] == [name]
        )

        received_activity = event["activities"][0]
        assert (
            "details_url" in received_activity,
            "status_display_type" in received_activity,
            "large_url" in received_activity["assets"],
        ) == (offset_ms == 0,) * 3
