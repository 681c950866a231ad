"""Settings of guilds: welcome screen, new member guide, onboarding, vanity URL, widget, integrations, incident actions.

One test is about the two-factor requirement for moderators."""

import struct
import zlib
from typing import Any

import pytest

from hubbub.protocol import codec
from hubbub.protocol.enums import AuditLogAction, ChannelType, GatewayOpcode, OverwriteType
from hubbub.protocol.permissions import Permissions
from hubbub.server.core.config import Config
from hubbub.server.places import members
from hubbub.server.places.widgets import image
from tests.world import NOW_MS, Guild, World, small_config

HOUR_MS = 3_600_000


# The welcome screen


async def test_a_disabled_welcome_screen_is_visible_to_managers_only(world: World) -> None:
    guild = await world.guild()
    session = await guild.owner.connect()
    path = f"/guilds/{guild.id}/welcome-screen"
    stranger, bob = await world.user(), await guild.member()
    assert (await guild.owner.get(path)).ok() == {"description": None, "welcome_channels": []}
    for actor in (stranger, bob):
        (await actor.get(path)).rejected(404, 10069)
    emoji = {"emoji_id": None, "emoji_name": "👋"}
    body = {
        "enabled": True,
        "description": "hello",
        "welcome_channels": [{"channel_id": str(guild.general), "description": "talk", **emoji}],
    }
    welcome_screen = (await guild.owner.patch(path, json=body)).ok()
    assert welcome_screen == {key: body[key] for key in ("description", "welcome_channels")}
    assert "WELCOME_SCREEN_ENABLED" in (await session.next("GUILD_UPDATE"))["features"]
    (audit_entry,) = await guild.audit_entries(AuditLogAction.GUILD_UPDATE)
    assert {change["key"] for change in audit_entry["changes"]} == {"description", "welcome_channels", "features"}
    for actor in (stranger, bob):
        assert (await actor.get(path)).ok() == welcome_screen
    (await guild.owner.patch(path, json={"description": None})).ok()
    await session.assert_not_received("GUILD_UPDATE")
    assert [change["key"] for change in (await guild.audit_entries(AuditLogAction.GUILD_UPDATE))[0]["changes"]] == [
        "description"
    ]
    (await guild.owner.delete(f"/channels/{guild.general}")).ok()
    assert (await bob.get(path)).ok()["welcome_channels"] == []
    (await bob.patch(path, json={})).rejected(403, 50013)
    (await stranger.patch(path, json={})).rejected(403, 50001)
    (await stranger.get("/guilds/1/welcome-screen")).rejected(404, 10004)


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"description": "x" * 141}, "description"),
        ({"welcome_channels": [{"channel_id": "1", "description": "x"}]}, "welcome_channels.0.channel_id"),
        ({"welcome_channels": [{"channel_id": "1", "description": ""}]}, "welcome_channels.0.description"),
        ({"welcome_channels": [{"channel_id": "1", "description": "x"}] * 6}, "welcome_channels"),
        (
            {"welcome_channels": [{"channel_id": "1", "description": "x", "emoji_id": "5"}]},
            "welcome_channels.0.emoji_id",
        ),
    ],
)
async def test_an_invalid_welcome_screen_names_the_invalid_field(world: World, body: Any, path: str) -> None:
    guild = await world.guild()
    assert (await guild.owner.patch(f"/guilds/{guild.id}/welcome-screen", json=body)).errors(path)


async def test_the_new_member_guide_is_empty_until_it_is_written(world: World) -> None:
    guild = await world.guild()
    path = f"/guilds/{guild.id}/new-member-welcome"
    bob = await guild.member()
    empty_response = await bob.get(path)
    assert (empty_response.status, empty_response.body) == (204, b"")
    body = {
        "enabled": True,
        "welcome_message": {"author_ids": [str(guild.owner.id)], "message": "be kind"},
        "new_member_actions": [
            {"channel_id": str(guild.general), "action_type": 1, "title": "say hello", "description": ""}
        ],
        "resource_channels": [{"channel_id": str(guild.general), "title": "rules", "description": "read"}],
    }
    assert (await guild.owner.put(path, json=body)).ok() == {"guild_id": str(guild.id), **body}
    assert (await bob.get(path)).ok() == {"guild_id": str(guild.id), **body}
    assert len(await guild.audit_entries(AuditLogAction.HOME_SETTINGS_CREATE)) == 1
    (await guild.owner.put(path, json={**body, "enabled": False})).ok()
    assert (await guild.audit_entries(AuditLogAction.HOME_SETTINGS_UPDATE))[0]["changes"] == [
        {"key": "enabled", "old_value": True, "new_value": False}
    ]
    invalid_body = {"resource_channels": [{"channel_id": "1", "title": "x"}]}
    assert (await guild.owner.put(path, json=invalid_body)).errors("resource_channels.0.channel_id")
    (await bob.put(path, json=body)).rejected(403, 50013)
    (await (await world.user()).get(path)).rejected(403, 50001)


# Onboarding


async def create_channels(guild: Guild, count: int = 7) -> list[str]:
    """Create channels and return their IDs."""
    return [str(await guild.channel(f"room-{number}")) for number in range(count)]


async def test_updating_onboarding_publishes_an_event_and_audit_entries(world: World) -> None:
    guild = await world.guild()
    session = await guild.owner.connect()
    path = f"/guilds/{guild.id}/onboarding"
    bob = await guild.member()
    empty_onboarding = {
        "guild_id": str(guild.id),
        "prompts": [],
        "default_channel_ids": [],
        "enabled": False,
        "mode": 0,
    }
    assert (await bob.get(path)).ok() == empty_onboarding
    role_id, channels = await guild.role("chess"), await create_channels(guild)
    option = {"title": "chess", "description": "a game", "role_ids": [str(role_id)], "channel_ids": channels[:1]}
    prompt = {"id": "0", "title": "What do you like?", "options": [{**option, "emoji_name": "♟"}], "required": True}
    body = {"prompts": [prompt], "default_channel_ids": channels, "enabled": True, "mode": 0}

    created_onboarding = (await guild.owner.put(path, json=body)).ok()

    assert (created_onboarding["enabled"], created_onboarding["default_channel_ids"]) == (True, channels)
    (created_prompt,) = created_onboarding["prompts"]
    assert (
        created_prompt["title"],
        created_prompt["required"],
        created_prompt["single_select"],
        created_prompt["type"],
    ) == (
        prompt["title"],
        True,
        False,
        0,
    )
    (created_option,) = created_prompt["options"]
    assert {key: created_option[key] for key in option} == option
    assert created_option["emoji"] == {"id": None, "name": "♟", "animated": False}
    assert (await bob.get(path)).ok() == created_onboarding
    guild_update = await session.next("GUILD_UPDATE")
    assert "GUILD_ONBOARDING" in guild_update["features"]
    assert len(await guild.audit_entries(AuditLogAction.ONBOARDING_CREATE)) == 1
    assert (await guild.audit_entries(AuditLogAction.ONBOARDING_PROMPT_CREATE))[0]["target_id"] == created_prompt["id"]

    updated_prompt = {**created_prompt, "title": "And now?", "options": [{"id": created_option["id"], "title": "go"}]}
    changed_onboarding = (await guild.owner.put(path, json={"prompts": [updated_prompt]})).ok()
    assert changed_onboarding["prompts"][0]["id"] == created_prompt["id"]
    assert changed_onboarding["prompts"][0]["options"][0]["id"] == created_option["id"]
    assert (await guild.audit_entries(AuditLogAction.ONBOARDING_PROMPT_UPDATE))[0]["target_id"] == created_prompt["id"]
    (await guild.owner.put(path, json={"prompts": None, "mode": 1})).ok()
    assert (await guild.audit_entries(AuditLogAction.ONBOARDING_PROMPT_DELETE))[0]["target_id"] == created_prompt["id"]
    assert (await guild.audit_entries(AuditLogAction.ONBOARDING_UPDATE))[0]["changes"] == [
        {"key": "mode", "old_value": 0, "new_value": 1}
    ]
    (await guild.owner.put(path, json={"enabled": False})).ok()
    assert "GUILD_ONBOARDING" not in (await session.next("GUILD_UPDATE"))["features"]


async def test_onboarding_requires_seven_channels_of_which_five_are_writable(world: World) -> None:
    guild = await world.guild()
    path = f"/guilds/{guild.id}/onboarding"
    channels = await create_channels(guild)
    (await guild.owner.put(path, json={"enabled": True})).rejected(400, 350000)
    (await guild.owner.put(path, json={"enabled": True, "default_channel_ids": channels[:6]})).rejected(400, 350000)
    for channel in channels[:3]:
        await guild.overwrite(int(channel), guild.id, deny=Permissions.SEND_MESSAGES, target_type=OverwriteType.ROLE)
    (await guild.owner.put(path, json={"enabled": True, "default_channel_ids": channels})).rejected(400, 350000)
    await guild.overwrite(int(channels[0]), guild.id, target_type=OverwriteType.ROLE)
    (await guild.owner.put(path, json={"enabled": True, "default_channel_ids": channels})).ok()
    (await guild.owner.put(path, json={"default_channel_ids": channels[:6]})).rejected(400, 350001)
    prompt = {"id": "0", "title": "more", "options": [{"title": "all", "channel_ids": channels[6:]}]}
    body = {"default_channel_ids": channels[:6], "prompts": [prompt]}
    (await guild.owner.put(path, json=body)).rejected(400, 350001)
    (await guild.owner.put(path, json={**body, "mode": 1})).ok()


@pytest.mark.one_postgres_case
@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"default_channel_ids": ["1"]}, "default_channel_ids.0"),
        ({"prompts": [{"id": "0", "title": "", "options": [{"title": "x"}]}]}, "prompts.0.title"),
        ({"prompts": [{"id": "0", "title": "x", "options": []}]}, "prompts.0.options"),
        ({"prompts": [{"id": "0", "title": "x", "options": [{"title": "x" * 51}]}]}, "prompts.0.options.0.title"),
        (
            {"prompts": [{"id": "0", "title": "x", "options": [{"title": "x", "role_ids": ["1"]}]}]},
            "prompts.0.options.0.role_ids.0",
        ),
        (
            {"prompts": [{"id": "0", "title": "x", "options": [{"title": "x", "channel_ids": ["1"]}]}]},
            "prompts.0.options.0.channel_ids.0",
        ),
        (
            {"prompts": [{"id": "0", "title": "x", "options": [{"title": "x", "emoji_id": "1"}]}]},
            "prompts.0.options.0.emoji_id",
        ),
        ({"prompts": [{"id": "0", "title": "x", "options": [{"title": "x"}]}] * 16}, "prompts"),
        ({"mode": 7}, "mode"),
    ],
)
async def test_an_invalid_onboarding_names_the_invalid_field(world: World, body: Any, path: str) -> None:
    guild = await world.guild()
    assert (await guild.owner.put(f"/guilds/{guild.id}/onboarding", json=body)).errors(path)


async def test_updating_onboarding_requires_manage_guild_and_manage_roles(world: World) -> None:
    guild = await world.guild()
    path = f"/guilds/{guild.id}/onboarding"
    stranger = await world.user()
    (await stranger.get(path)).rejected(403, 50001)
    (await stranger.put(path, json={})).rejected(403, 50001)
    for permissions in (Permissions.MANAGE_GUILD, Permissions.MANAGE_ROLES):
        (await (await guild.member(permissions)).put(path, json={})).rejected(403, 50013)
    manager = await guild.member(Permissions.MANAGE_GUILD | Permissions.MANAGE_ROLES)
    (await manager.put(path, json={})).ok()
    above_role_id = await guild.role("above")
    (await guild.owner.patch(f"/guilds/{guild.id}/roles", json=[{"id": str(above_role_id), "position": 9}])).ok()
    body = {"prompts": [{"id": "0", "title": "x", "options": [{"title": "x", "role_ids": [str(above_role_id)]}]}]}
    assert (await manager.put(path, json=body)).errors("prompts.0.options.0.role_ids.0")


# The vanity URL


async def test_a_vanity_url_is_an_invite_that_counts_its_uses(world: World) -> None:
    guild = await world.guild()
    session = await guild.owner.connect()
    path = f"/guilds/{guild.id}/vanity-url"
    (await guild.owner.get(path)).rejected(403, 50101)
    (await guild.owner.patch(path, json={"code": "town"})).rejected(403, 50101)
    await world.grant_to_guild(guild, "VANITY_URL")
    assert (await session.next("GUILD_UPDATE"))["features"] == ["VANITY_URL"]
    assert (await guild.owner.get(path)).ok() == {"code": None, "uses": 0}
    assert (await guild.owner.patch(path, json={"code": "Town-Square"})).ok() == {"code": "town-square", "uses": 0}
    assert (await session.next("GUILD_UPDATE"))["vanity_url_code"] == "town-square"
    audit_entry = (await guild.audit_entries(AuditLogAction.GUILD_UPDATE))[0]
    assert {"key": "vanity_url_code", "new_value": "town-square"} in audit_entry["changes"]
    bob = await world.user()
    invite = (await bob.get("/invites/TOWN-square")).ok()
    assert (invite["guild"]["id"], invite["channel"]["id"]) == (str(guild.id), str(guild.general))
    (await bob.post("/invites/town-square")).ok()
    assert (await guild.owner.get(path)).ok()["uses"] == 1
    (await guild.owner.delete("/invites/town-square")).rejected(404, 10006)
    assert (await guild.owner.get(f"/guilds/{guild.id}/invites")).ok() == []
    assert (await guild.owner.patch(path, json={"code": None})).ok() == {"code": None, "uses": 0}
    (await bob.get("/invites/town-square")).rejected(404, 10006)


async def test_a_vanity_url_must_be_unused_and_well_formed(world: World) -> None:
    guild, other_guild = await world.guild(), await world.guild()
    for vanity_guild in (guild, other_guild):
        await world.grant_to_guild(vanity_guild, "VANITY_URL")
    (await other_guild.owner.patch(f"/guilds/{other_guild.id}/vanity-url", json={"code": "taken"})).ok()
    path = f"/guilds/{guild.id}/vanity-url"
    for code in ("taken", "x", "no spaces", "-dash", "ünïcode"):
        (await guild.owner.patch(path, json={"code": code})).rejected(400, 50020)
    assert (await guild.owner.patch(path, json={"code": "x" * 33})).errors("code")
    (await other_guild.owner.delete(f"/guilds/{other_guild.id}")).ok()
    (await guild.owner.patch(path, json={"code": "taken"})).ok()
    bob, stranger = await guild.member(), await world.user()
    for actor, code in ((bob, 50013), (stranger, 50001)):
        (await actor.get(path)).rejected(403, code)
        (await actor.patch(path, json={"code": None})).rejected(403, code)


# The widget


async def test_a_widget_lists_online_members_anonymously(world: World) -> None:
    guild = await world.guild()
    path = f"/guilds/{guild.id}/widget"
    assert (await guild.owner.get(path)).ok() == {"enabled": False, "channel_id": None}
    for page in (f"{path}.json", f"{path}.png"):
        (await world.request("GET", page)).rejected(403, 50004)
    session = await guild.owner.connect(presence={"status": "idle", "activities": [{"name": "chess", "type": 0}]})
    (await guild.owner.patch(path, json={"enabled": True})).ok()
    assert (await session.next("GUILD_UPDATE"))["widget_enabled"] is True
    lounge_id = await guild.channel("Lounge", type=ChannelType.GUILD_VOICE)
    hidden_channel_id = await guild.channel("Den", type=ChannelType.GUILD_VOICE)
    await guild.overwrite(hidden_channel_id, guild.id, deny=Permissions.VIEW_CHANNEL, target_type=OverwriteType.ROLE)
    state = {"guild_id": str(guild.id), "channel_id": str(lounge_id), "self_mute": True, "self_deaf": False}
    await session.send(GatewayOpcode.VOICE_STATE_UPDATE, state)
    await session.next("VOICE_STATE_UPDATE")

    widget = (await world.request("GET", f"{path}.json")).ok()

    assert (widget["id"], widget["name"], widget["presence_count"]) == (str(guild.id), "Guild", 1)
    assert widget["instant_invite"] is None
    assert [channel["name"] for channel in widget["channels"]] == ["General", "Lounge"]
    (member,) = widget["members"]
    assert (member["id"], member["discriminator"], member["avatar"], member["status"]) == ("0", "0000", None, "idle")
    assert member["username"] == guild.owner.name
    assert member["activity"] == {"name": "chess"}
    assert (member["channel_id"], member["self_mute"], member["mute"]) == (str(lounge_id), True, False)
    avatar = await world.request("GET", member["avatar_url"])
    assert avatar.headers["Content-Type"] == "image/png"


async def test_a_widget_with_a_channel_creates_an_invite(world: World) -> None:
    guild = await world.guild()
    session = await guild.owner.connect()
    path = f"/guilds/{guild.id}/widget"
    (await guild.owner.patch(path, json={"enabled": True, "channel_id": str(guild.general)})).ok()
    (audit_entry,) = await guild.audit_entries(AuditLogAction.GUILD_UPDATE)
    assert {change["key"] for change in audit_entry["changes"]} == {"widget_enabled", "widget_channel_id"}
    invite_url = (await world.request("GET", f"{path}.json")).ok()["instant_invite"]
    code = invite_url.rpartition("/")[2]
    assert (await session.next("INVITE_CREATE"))["code"] == code
    assert await guild.audit_entries(AuditLogAction.INVITE_CREATE) == []
    assert (await world.request("GET", f"{path}.json")).ok()["instant_invite"] == invite_url
    (await (await world.user()).post(f"/invites/{code}")).ok()
    (await guild.owner.delete(f"/invites/{code}")).ok()
    assert (await world.request("GET", f"{path}.json")).ok()["instant_invite"] != invite_url
    assert (await guild.owner.patch(path, json={"channel_id": None})).ok() == {"enabled": True, "channel_id": None}
    assert (await world.request("GET", f"{path}.json")).ok()["instant_invite"] is None


async def test_a_manager_can_only_choose_channels_they_can_view(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)
    await guild.allow_permissions(bob, Permissions.MANAGE_GUILD)
    hidden_channel_id = await guild.channel("hidden")
    await guild.overwrite(hidden_channel_id, guild.id, deny=Permissions.VIEW_CHANNEL, target_type=OverwriteType.ROLE)
    guild_path = f"/guilds/{guild.id}"
    screen_body = {"welcome_channels": [{"channel_id": str(hidden_channel_id), "description": "x"}]}
    guide = {"resource_channels": [{"channel_id": str(hidden_channel_id), "title": "x"}]}
    settings = [
        ("/widget", {"enabled": True, "channel_id": str(hidden_channel_id)}),
        ("", {"system_channel_id": str(hidden_channel_id)}),
    ]

    for path, body in settings:
        (await bob.patch(guild_path + path, json=body)).rejected(403, 50001)
    response = await bob.patch(f"{guild_path}/welcome-screen", json=screen_body)
    assert response.errors("welcome_channels.0.channel_id") == ["CHANNEL_UNKNOWN"]
    response = await bob.put(f"{guild_path}/new-member-welcome", json=guide)
    assert response.errors("resource_channels.0.channel_id") == ["CHANNEL_UNKNOWN"]

    # A value that another manager chose may be sent back unchanged.
    for actor in (guild.owner, bob):
        for path, body in settings:
            (await actor.patch(guild_path + path, json=body)).ok()
        (await actor.patch(f"{guild_path}/welcome-screen", json=screen_body)).ok()
        (await actor.put(f"{guild_path}/new-member-welcome", json=guide)).ok()


async def test_widget_settings_require_manage_guild(world: World) -> None:
    guild, other_guild = await world.guild(), await world.guild()
    path = f"/guilds/{guild.id}/widget"
    bob, stranger = await guild.member(), await world.user()
    for actor, code in ((bob, 50013), (stranger, 50001)):
        (await actor.get(path)).rejected(403, code)
        (await actor.patch(path, json={})).rejected(403, code)
    (await guild.owner.patch(path, json={"channel_id": str(other_guild.general)})).rejected(404, 10003)
    category_id = guild.channels["Text Channels"]
    (await guild.owner.patch(path, json={"channel_id": str(category_id)})).rejected(400, 50024)
    assert (await guild.owner.patch(path, json={"enabled": 3})).errors("enabled")
    (await world.request("GET", "/guilds/1/widget.json")).rejected(404, 10004)


class TestRateLimits:
    """Tests with real rate limits."""

    @pytest.fixture
    def store_config(self) -> Config:
        """A configuration with real rate limits."""
        return small_config(rate_limits="real")

    async def test_widget_settings_change_once_in_ten_seconds(self, world: World) -> None:
        guild = await world.guild()
        path = f"/guilds/{guild.id}/widget"
        (await guild.owner.patch(path, json={"enabled": True})).ok()
        (await guild.owner.patch(path, json={"enabled": False})).rejected(429, 30042)
        world.clock.advance(10_000)
        (await guild.owner.patch(path, json={"enabled": False})).ok()


@pytest.mark.parametrize("style", [None, "shield", "banner1", "banner2", "banner3", "banner4"])
async def test_a_widget_is_available_as_an_image(world: World, style: str | None) -> None:
    guild = await world.guild(name="Häuser & Gärten of an exceedingly long name")
    (await guild.owner.patch(f"/guilds/{guild.id}/widget", json={"enabled": True})).ok()
    query = "" if style is None else f"?style={style}"
    response = await world.request("GET", f"/guilds/{guild.id}/widget.png{query}")
    assert (response.status, response.headers["Content-Type"]) == (200, "image/png")
    assert response.body.startswith(b"\x89PNG")
    # Each row of the image is a filter byte and one byte per pixel; the palette has three colors.
    width, height = struct.unpack(">II", response.body[16:24])
    chunk_start = response.body.index(b"IDAT")
    (chunk_length,) = struct.unpack(">I", response.body[chunk_start - 4 : chunk_start])
    pixels = zlib.decompress(response.body[chunk_start + 4 : chunk_start + 4 + chunk_length])
    assert len(pixels) == height * (width + 1)
    assert {0, 1, 2} == set(pixels)
    assert (await world.request("GET", f"/guilds/{guild.id}/widget.png?style=none")).errors("style")


def test_every_widget_style_fits_large_numbers() -> None:
    for style in image._LAYOUTS_BY_STYLE:
        assert image.draw_widget("x" * 100, 500_000, style)


# Integrations


async def test_deleting_an_integration_removes_its_bot(world: World) -> None:
    guild = await world.guild()
    session = await guild.owner.connect()
    bot = await world.bot(name="helper")
    path = f"/guilds/{guild.id}/integrations"
    assert (await guild.owner.get(path)).ok() == []
    await world.write(
        lambda call: members.membership.add(call, guild.id, bot.id, permissions=Permissions.ADMINISTRATOR),
        actor=guild.owner.id,
    )
    integration_create = await session.next("INTEGRATION_CREATE")
    assert await session.next("GUILD_INTEGRATIONS_UPDATE") == {"guild_id": str(guild.id)}
    (integration,) = (await guild.owner.get(path)).ok()
    assert integration_create == integration | {"guild_id": str(guild.id)}
    assert (integration["name"], integration["type"], integration["account"]["name"]) == ("helper", "discord", "helper")
    assert integration["application"]["bot"]["id"] == str(bot.id)
    (await bot.patch("/users/@me", json={"username": "butler"})).ok()
    assert (await session.next("INTEGRATION_UPDATE"))["application"]["bot"]["username"] == "butler"

    bot_session = await bot.connect()
    assert (await guild.owner.delete(f"{path}/{integration['id']}")).status == 204

    assert await session.next("INTEGRATION_DELETE") == {
        "id": integration["id"],
        "guild_id": str(guild.id),
        "application_id": str(bot.application_id),
    }
    await session.next("GUILD_INTEGRATIONS_UPDATE")
    assert (await session.next("GUILD_MEMBER_REMOVE"))["user"]["id"] == str(bot.id)
    await session.next("GUILD_ROLE_DELETE")
    assert (await bot_session.next("GUILD_DELETE"))["id"] == str(guild.id)
    assert (await guild.audit_entries(AuditLogAction.INTEGRATION_DELETE))[0]["target_id"] == integration["id"]
    log = (
        await guild.owner.get(f"/guilds/{guild.id}/audit-logs?action_type={AuditLogAction.INTEGRATION_DELETE:d}")
    ).ok()
    assert [referenced_integration["id"] for referenced_integration in log["integrations"]] == [integration["id"]]
    (kick_entry,) = await guild.audit_entries(AuditLogAction.MEMBER_KICK)
    assert (kick_entry["target_id"], kick_entry["options"]) == (str(bot.id), {"integration_type": "discord"})
    assert (await guild.owner.get(path)).ok() == []
    (await guild.owner.delete(f"{path}/{integration['id']}")).rejected(404, 10005)


async def test_integrations_require_manage_guild(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild)
    path = f"/guilds/{guild.id}/integrations"
    for actor, code in ((bot, 50013), (await world.user(), 50001)):
        (await actor.get(path)).rejected(403, code)
        (await actor.delete(f"{path}/{bot.application_id}")).rejected(403, code)
    uninstalled_bot = await world.bot()
    (await guild.owner.delete(f"{path}/{uninstalled_bot.application_id}")).rejected(404, 10005)


# Incident actions


async def test_incident_actions_disable_invites_until_they_expire(world: World) -> None:
    guild = await world.guild()
    session = await guild.owner.connect()
    path = f"/guilds/{guild.id}/incident-actions"
    end_timestamp = codec.timestamp(NOW_MS + HOUR_MS)
    body = {"invites_disabled_until": end_timestamp, "dms_disabled_until": None}
    assert (await guild.owner.put(path, json=body)).ok() == body
    assert (await session.next("GUILD_UPDATE"))["incidents_data"] == body
    assert (await guild.audit_entries(AuditLogAction.GUILD_UPDATE))[0]["changes"][0]["key"] == "incidents_data"
    invite = (await guild.owner.post(f"/channels/{guild.general}/invites", json={})).ok()
    bob = await world.user()
    (await bob.post(f"/invites/{invite['code']}")).rejected(400, 40006)
    dms_disabled = {"dms_disabled_until": end_timestamp}
    assert (await guild.owner.put(path, json=dms_disabled)).ok() == {**body, **dms_disabled}
    world.clock.advance(HOUR_MS)
    (await bob.post(f"/invites/{invite['code']}")).ok()
    no_actions = {"invites_disabled_until": None, "dms_disabled_until": None}
    assert (await guild.owner.put(path, json=no_actions)).ok() == no_actions
    assert (await guild.owner.get(f"/guilds/{guild.id}")).ok()["incidents_data"] is None


async def test_incident_actions_last_at_most_a_day(world: World) -> None:
    guild = await world.guild()
    path = f"/guilds/{guild.id}/incident-actions"
    one_day_later = codec.timestamp(NOW_MS + 24 * HOUR_MS)
    (await guild.owner.put(path, json={"invites_disabled_until": one_day_later})).ok()
    too_late = codec.timestamp(NOW_MS + 24 * HOUR_MS + 1)
    assert (await guild.owner.put(path, json={"dms_disabled_until": too_late})).errors("dms_disabled_until")
    assert (await guild.owner.put(path, json={"invites_disabled_until": "soon"})).errors("invites_disabled_until")
    bob, stranger = await guild.member(), await world.user()
    (await bob.put(path, json={})).rejected(403, 50013)
    (await stranger.put(path, json={})).rejected(403, 50001)


# Two-factor


async def test_the_owner_requires_two_factor_of_moderators(world: World) -> None:
    guild = await world.guild()
    session = await guild.owner.connect()
    path = f"/guilds/{guild.id}/mfa"
    (await guild.owner.post(path, json={"level": 1})).rejected(401, 60003)
    await world.write(lambda call: call.tx.run("UPDATE users SET mfa_enabled = 1 WHERE id = ?", guild.owner.id))
    (await guild.owner.post(path, json={"level": 2})).rejected(400, 50017)
    assert (await guild.owner.post(path, json={"level": 1})).ok() == {"level": 1}
    assert (await session.next("GUILD_UPDATE"))["mfa_level"] == 1
    assert {"key": "mfa_level", "old_value": 0, "new_value": 1} in (
        await guild.audit_entries(AuditLogAction.GUILD_UPDATE)
    )[0]["changes"]
    bob = await guild.member(Permissions.ADMINISTRATOR)
    (await bob.post(path, json={"level": 0})).rejected(403, 50013)
    (await bob.patch(f"/guilds/{guild.id}", json={"name": "Other"})).rejected(401, 60003)
    bot = await world.bot(guild)
    (await bot.post(path, json={"level": 0})).rejected(403, 20001)
    (await (await world.user()).post(path, json={"level": 0})).rejected(403, 50001)


# Integrations of connected accounts


async def test_connected_accounts_cannot_be_integrations(world: World) -> None:
    guild = await world.guild(owner := await world.user())
    bot = await world.bot(guild, permissions=Permissions.MANAGE_GUILD)
    integrations_path = f"/guilds/{guild.id}/integrations"
    requests = (
        ("POST", integrations_path, {"type": "twitch", "id": "1"}),
        ("PATCH", f"{integrations_path}/{bot.application_id}", {"expire_behavior": 0}),
        ("POST", f"{integrations_path}/{bot.application_id}/sync", None),
    )

    for method, path, body in requests:
        (await bot.request(method, path, json=body)).rejected(403, 20001)
        (await (await world.user()).request(method, path, json=body)).rejected(403, 50001)
    (await owner.post(integrations_path, json={"type": "twitch", "id": "1"})).rejected(404, 10005)
    (await owner.post(f"{integrations_path}/5/sync")).rejected(404, 10005)
    for method, path, body in requests[1:]:
        response = await owner.request(method, path, json=body)
        response.rejected(400, 50035)
        assert list(response.json["errors"]) == ["integration_id"]
