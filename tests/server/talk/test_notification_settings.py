"""Notification settings: levels and mutes, their effect on mention counts, and their sync between sessions."""

from typing import Any

import pytest

from hubbub.protocol.enums import ChannelType, NotificationLevel, OverwriteType
from hubbub.protocol.permissions import Permissions
from hubbub.server.core.call import Call
from tests.server.identity.accounts import PASSWORD, register_user
from tests.server.talk.private_channels import open_dm, send_message
from tests.server.talk.test_read_states import fetch_counts, send_text
from tests.world import Actor, Guild, World

DEFAULT_SETTINGS: dict[str, Any] = {
    "message_notifications": 3,
    "suppress_everyone": False,
    "suppress_roles": False,
    "muted": False,
    "mute_config": None,
    "mobile_push": True,
    "channel_overrides": [],
}

ALL_MESSAGES, ONLY_MENTIONS, NOTHING, INHERIT = NotificationLevel


async def change_settings(user: Actor, guild: Guild | None, **settings: Any) -> Any:
    """Change the settings of a user for a guild, or for private channels, and return the new settings."""
    return (await user.patch(settings_path(guild), json=settings)).ok()


def settings_path(guild: Guild | None) -> str:
    """Return the path of the settings for a guild, or for private channels."""
    return f"/users/@me/guilds/{'@me' if guild is None else guild.id}/settings"


async def test_settings_are_stored_and_reach_all_own_sessions(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice, bob)
    session, other_users_session = await alice.connect(), await bob.connect()
    assert session.ready["user_guild_settings"] == {"entries": [], "partial": False, "version": 0}

    settings = await change_settings(
        alice, guild, message_notifications=ONLY_MENTIONS, suppress_everyone=True, unknown=1
    )

    expected = {"message_notifications": 1, "suppress_everyone": True, "guild_id": str(guild.id), "version": 1}
    assert settings == DEFAULT_SETTINGS | expected
    assert await session.next("USER_GUILD_SETTINGS_UPDATE") == settings
    assert (await alice.connect()).ready["user_guild_settings"]["entries"] == [settings]
    await other_users_session.assert_not_received("USER_GUILD_SETTINGS_UPDATE")
    assert await change_settings(alice, guild, suppress_everyone=True) == settings
    await session.assert_not_received("USER_GUILD_SETTINGS_UPDATE")
    assert (await change_settings(alice, guild, message_notifications=None))["message_notifications"] == INHERIT


async def test_overrides_of_channels_have_their_own_levels_and_mutes(world: World) -> None:
    alice = await world.user()
    guild = await world.guild(alice)

    settings = await change_settings(
        alice,
        guild,
        channel_overrides={
            str(guild.general): {
                "message_notifications": NOTHING,
                "muted": True,
                "mute_config": None,
                "collapsed": True,
            }
        },
    )

    override = {"message_notifications": 2, "muted": True, "mute_config": None, "collapsed": True}
    assert settings["channel_overrides"] == [{"channel_id": str(guild.general)} | override]
    settings = await change_settings(alice, guild, channel_overrides={str(guild.general): {"muted": False}})
    assert settings["channel_overrides"] == [{"channel_id": str(guild.general)} | override | {"muted": False}]


async def test_a_mute_with_a_length_ends_by_itself(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice, bob)
    await send_text(alice, guild.general, "@everyone")

    settings = await change_settings(bob, guild, muted=True, mute_config={"selected_time_window": 900})

    assert settings["mute_config"]["selected_time_window"] == 900
    assert settings["mute_config"]["end_time"].startswith("2026-11-18T")
    assert await fetch_counts(bob) == {}
    world.clock.advance(901_000)
    assert await fetch_counts(bob) == {guild.general: 1}
    assert (await change_settings(bob, guild, muted=False))["mute_config"] is None


@pytest.mark.parametrize(
    ("settings", "count"),
    [
        ({}, 3),
        ({"message_notifications": ONLY_MENTIONS}, 3),
        ({"message_notifications": NOTHING}, 0),
        ({"suppress_everyone": True}, 2),
        ({"suppress_roles": True}, 2),
        ({"suppress_roles": True, "suppress_everyone": True}, 1),
        ({"muted": True}, 1),
    ],
)
async def test_settings_of_a_guild_decide_which_mentions_count(
    world: World, settings: dict[str, Any], count: int
) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice, bob)
    role_id = await guild.role("crew", mentionable=True)
    await guild.add_role(bob, role_id)
    for content in ("@everyone", f"<@&{role_id}>", f"<@{bob.id}>"):
        await send_text(alice, guild.general, content)

    await change_settings(bob, guild, **settings)

    assert await fetch_counts(bob) == ({guild.general: count} if count else {})


async def test_threads_inherit_from_channel_and_category(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice, bob)
    category_id = await guild.channel("area", type=ChannelType.GUILD_CATEGORY)
    channel_id = await guild.channel("inside", parent_id=str(category_id))
    thread_id = await alice.create_thread(channel_id)
    for target_id in (channel_id, thread_id):
        await send_text(alice, target_id, f"<@{bob.id}>")
    assert await fetch_counts(bob) == {channel_id: 1, thread_id: 1}

    await change_settings(bob, guild, channel_overrides={str(category_id): {"message_notifications": NOTHING}})
    assert await fetch_counts(bob) == {}
    await change_settings(bob, guild, channel_overrides={str(thread_id): {"message_notifications": ALL_MESSAGES}})
    assert await fetch_counts(bob) == {thread_id: 1}


async def test_a_muted_conversation_counts_only_mentions(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    private_channel_id = (await open_dm(alice, bob))["id"]
    await send_message(bob, private_channel_id)
    await send_text(bob, private_channel_id, f"<@{alice.id}>")
    assert await fetch_counts(alice) == {int(private_channel_id): 2}

    settings = await change_settings(alice, None, channel_overrides={private_channel_id: {"muted": True}})

    assert settings["guild_id"] is None
    assert await fetch_counts(alice) == {int(private_channel_id): 1}
    await change_settings(alice, None, channel_overrides={private_channel_id: {"message_notifications": NOTHING}})
    assert await fetch_counts(alice) == {}


async def test_invalid_settings_are_rejected_at_their_field(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    guild, other_guild = await world.guild(alice), await world.guild(bob)
    dm_id = (await open_dm(bob, await world.user()))["id"]
    bot = await world.bot(guild)

    async def errors(path: str, body: Any, guild: Guild | None = guild) -> list[str]:
        return (await alice.patch(settings_path(guild), json=body)).errors(path)

    assert await errors("message_notifications", {"message_notifications": 4})
    assert await errors("mute_config.selected_time_window", {"mute_config": {"selected_time_window": -2}})
    late_mute = {"muted": True, "mute_config": {"end_time": "2030-01-01T00:00:00Z"}}
    assert await errors("mute_config.end_time", late_mute) == ["MUTE_TOO_LONG"]
    foreign_overrides = {"channel_overrides": {str(other_guild.general): {"muted": True}}}
    assert await errors(f"channel_overrides.{other_guild.general}", foreign_overrides) == ["CHANNEL_UNKNOWN"]
    assert await errors(f"channel_overrides.{dm_id}", {"channel_overrides": {dm_id: {"muted": True}}}, None) == [
        "CHANNEL_UNKNOWN"
    ]
    too_many: Any = {"channel_overrides": {str(channel_id): {} for channel_id in range(101)}}
    assert await errors("channel_overrides", too_many)
    (await alice.patch(settings_path(other_guild), json={})).rejected(403, 50001)
    (await alice.patch("/users/@me/guilds/1/settings", json={})).rejected(404, 10004)
    (await bot.patch(settings_path(guild), json={})).rejected(403, 20001)


async def test_only_visible_channels_have_settings(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice, bob)
    hidden_channel_id = await guild.channel("hidden")
    hidden_thread_id = await alice.create_thread(hidden_channel_id)
    thread_id = await alice.create_thread(guild.general)
    await guild.overwrite(hidden_channel_id, guild.id, deny=Permissions.VIEW_CHANNEL, target_type=OverwriteType.ROLE)

    for channel_id in (hidden_channel_id, hidden_thread_id):
        body = {"channel_overrides": {str(channel_id): {"muted": True}}}
        assert (await bob.patch(settings_path(guild), json=body)).errors(f"channel_overrides.{channel_id}") == [
            "CHANNEL_UNKNOWN"
        ]
    settings = await change_settings(bob, guild, channel_overrides={str(thread_id): {"muted": True}})
    assert [override["channel_id"] for override in settings["channel_overrides"]] == [str(thread_id)]


async def test_settings_are_deleted_with_channel_guild_and_account(world: World) -> None:
    alice = await register_user(world, "alice")
    guild, other_guild = await world.guild(alice), await world.guild(await world.user(), alice)
    extra_channel_id = await guild.channel("extra")
    await change_settings(alice, guild, muted=True, channel_overrides={str(extra_channel_id): {"muted": True}})
    await change_settings(alice, other_guild, muted=True, channel_overrides={str(other_guild.general): {"muted": True}})
    export = (await alice.get("/users/@me/harvest")).ok()
    assert len(export["records"]["notification_settings"]) == 2

    async def count_rows() -> tuple[int, int]:
        def count(call: Call) -> tuple[int, int]:
            tables = ("notification_settings", "channel_notification_settings")
            guild_rows, channel_rows = (call.tx.value(f"SELECT COUNT(*) FROM {table}") for table in tables)
            return guild_rows, channel_rows

        return await world.write(count)

    (await alice.delete(f"/channels/{extra_channel_id}")).ok()
    assert await count_rows() == (2, 1)
    (await alice.delete(f"/guilds/{guild.id}")).ok()
    assert await count_rows() == (1, 1)
    (await alice.post("/users/@me/delete", json={"password": PASSWORD})).ok()
    assert await count_rows() == (0, 0)
